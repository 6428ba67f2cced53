#include "analyze/ranges.h"

#include "base/array.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 16u

void tt_ranges_free(tt_ranges *r)
{
    free(r->list);
    free(r->before);
    memset(r, 0, sizeof *r);
}

void tt_ranges_clear(tt_ranges *r)
{
    r->n = 0;
    r->failed = false;
}

TT_ORDER_BY(compare, tt_range, begin, end)

/* True for sets made from merged ones. */
static bool is_merged(const tt_ranges *r)
{
    for (size_t i = 1; i < r->n; i++)
        if (r->list[i].begin <= r->list[i - 1].end) return false;
    return true;
}

static void sort_and_join(tt_ranges *r)
{
    size_t n = 0;
    if (r->n < 2 || is_merged(r)) return;
    qsort(r->list, r->n, sizeof *r->list, compare);
    for (size_t i = 1; i < r->n; i++) {
        if (r->list[i].begin > r->list[n].end)
            r->list[++n] = r->list[i];
        else if (r->list[i].end > r->list[n].end)
            r->list[n].end = r->list[i].end;
    }
    r->n = n + 1;
}

static bool make_room(tt_ranges *r)
{
    if (r->n < r->capacity) return true;
    /* Repeated additions must not grow the list. */
    sort_and_join(r);
    if (r->n < r->capacity / 2) return true;
    return tt_array_room(r->list, r->capacity, r->capacity ? r->capacity * 2 : FIRST_CAPACITY);
}

void tt_ranges_add(tt_ranges *r, uint64_t begin, uint64_t end)
{
    if (end <= begin || r->failed) return;
    if (r->n > 0) {
        tt_range *last = &r->list[r->n - 1];
        if (begin >= last->begin && begin <= last->end) {
            if (end > last->end) last->end = end;
            return;
        }
    }
    if (make_room(r))
        r->list[r->n++] = (tt_range){begin, end};
    else
        r->failed = true;
}

void tt_ranges_merge(tt_ranges *r)
{
    uint64_t sum = 0;
    sort_and_join(r);
    if (!tt_array_room(r->before, r->before_capacity, r->n)) {
        r->failed = true;
        r->n = 0;
        return;
    }
    for (size_t i = 0; i < r->n; i++) {
        r->before[i] = sum;
        sum += r->list[i].end - r->list[i].begin;
    }
}

uint64_t tt_ranges_total(const tt_ranges *r)
{
    if (r->n == 0) return 0;
    return r->before[r->n - 1] + r->list[r->n - 1].end - r->list[r->n - 1].begin;
}

/* How many numbers of the set are below `limit`. */
static uint64_t below(const tt_ranges *r, uint64_t limit)
{
    size_t low;
    tt_lower_bound(low, r->n, r->list[low].begin < limit);
    if (low == 0) return 0;
    const tt_range *last = &r->list[low - 1];
    return r->before[low - 1] + (limit < last->end ? limit : last->end) - last->begin;
}

uint64_t tt_ranges_within(const tt_ranges *r, uint64_t begin, uint64_t end)
{
    return end <= begin ? 0 : below(r, end) - below(r, begin);
}

void tt_ranges_both(const tt_ranges *a, const tt_ranges *b, tt_ranges *out)
{
    tt_ranges_clear(out);
    for (size_t i = 0, k = 0; i < a->n && k < b->n;) {
        const tt_range *x = &a->list[i], *y = &b->list[k];
        tt_ranges_add(out, x->begin > y->begin ? x->begin : y->begin,
                      x->end < y->end ? x->end : y->end);
        if (x->end < y->end)
            i++;
        else
            k++;
    }
    tt_ranges_merge(out);
    out->failed |= a->failed || b->failed;
}

void tt_ranges_without(const tt_ranges *a, const tt_ranges *b, tt_ranges *out)
{
    tt_ranges_clear(out);
    for (size_t i = 0, k = 0; i < a->n; i++) {
        uint64_t begin = a->list[i].begin;
        const uint64_t end = a->list[i].end;
        while (k < b->n && b->list[k].end <= begin)
            k++;
        for (size_t j = k; j < b->n && b->list[j].begin < end; j++) {
            tt_ranges_add(out, begin, b->list[j].begin);
            begin = b->list[j].end;
        }
        tt_ranges_add(out, begin, end);
    }
    tt_ranges_merge(out);
    out->failed |= a->failed || b->failed;
}
