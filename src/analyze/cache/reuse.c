#include "analyze/cache/reuse.h"

#include "base/array.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

void tt_intervals_free(tt_intervals *o)
{
    free(o->nodes);
    memset(o, 0, sizeof *o);
}

static bool less(uint64_t rank, uint64_t begin, const tt_interval *n)
{
    return rank != n->rank ? rank < n->rank : begin < n->begin;
}

static void sum_up(tt_interval *nodes, uint32_t at)
{
    tt_interval *n = &nodes[at];
    n->sum = n->size + nodes[n->child[0]].sum + nodes[n->child[1]].sum;
}

static uint32_t take(tt_intervals *o)
{
    uint32_t at = o->unused;
    if (at) {
        o->unused = o->nodes[at].child[0];
        return at;
    }
    if (!tt_array_one_more(o->nodes, o->n, o->capacity)) return 0;
    if (o->n == 0) {
        memset(o->nodes, 0, sizeof *o->nodes);
        o->n = 1;
        o->random = 2463534242u;
    }
    return o->n++;
}

/* Splits a subtree at a position. */
static void split(tt_interval *nodes, uint32_t at, uint64_t rank, uint64_t begin, uint32_t *low,
                  uint32_t *high)
{
    if (!at) {
        *low = *high = 0;
        return;
    }
    if (less(rank, begin, &nodes[at])) {
        split(nodes, nodes[at].child[0], rank, begin, low, &nodes[at].child[0]);
        *high = at;
    } else {
        split(nodes, nodes[at].child[1], rank, begin, &nodes[at].child[1], high);
        *low = at;
    }
    sum_up(nodes, at);
}

static uint32_t merge(tt_interval *nodes, uint32_t low, uint32_t high)
{
    if (!low || !high) return low ? low : high;
    uint32_t top = nodes[low].priority > nodes[high].priority ? low : high;
    if (top == low)
        nodes[low].child[1] = merge(nodes, nodes[low].child[1], high);
    else
        nodes[high].child[0] = merge(nodes, low, nodes[high].child[0]);
    sum_up(nodes, top);
    return top;
}

bool tt_intervals_put(tt_intervals *o, uint64_t rank, uint64_t begin, uint64_t size, uint64_t note)
{
    uint32_t at = take(o);
    if (!at) return false;
    tt_interval *nodes = o->nodes;
    o->random ^= o->random << 13;
    o->random ^= o->random >> 17;
    o->random ^= o->random << 5;
    nodes[at] = (tt_interval){rank, begin, size, note, size, {0, 0}, o->random};
    uint32_t *link = &o->root;
    while (*link && nodes[*link].priority >= nodes[at].priority) {
        tt_interval *n = &nodes[*link];
        n->sum += size;
        link = &n->child[!less(rank, begin, n)];
    }
    split(nodes, *link, rank, begin, &nodes[at].child[0], &nodes[at].child[1]);
    sum_up(nodes, at);
    *link = at;
    return true;
}

void tt_intervals_drop(tt_intervals *o, uint64_t rank, uint64_t begin)
{
    tt_interval *there = tt_intervals_before(o, rank, begin), *nodes = o->nodes;
    if (!there || there->rank != rank || there->begin != begin) return;
    uint32_t *link = &o->root;
    while (&nodes[*link] != there) {
        tt_interval *n = &nodes[*link];
        n->sum -= there->size;
        link = &n->child[!less(rank, begin, n)];
    }
    uint32_t at = *link;
    *link = merge(nodes, there->child[0], there->child[1]);
    there->size = 0;
    there->child[0] = o->unused;
    o->unused = at;
}

tt_interval *tt_intervals_before(const tt_intervals *o, uint64_t rank, uint64_t begin)
{
    tt_interval *best = NULL;
    for (uint32_t at = o->root; at;) {
        bool beyond = less(rank, begin, &o->nodes[at]);
        if (!beyond) best = &o->nodes[at];
        at = o->nodes[at].child[!beyond];
    }
    return best;
}

tt_interval *tt_intervals_after(const tt_intervals *o, uint64_t rank, uint64_t begin)
{
    tt_interval *best = NULL;
    for (uint32_t at = o->root; at;) {
        tt_interval *n = &o->nodes[at];
        bool behind = n->rank != rank ? n->rank > rank : n->begin >= begin;
        if (behind) best = n;
        at = n->child[!behind];
    }
    return best;
}

tt_interval *tt_intervals_end(const tt_intervals *o, bool last)
{
    uint32_t at = o->root;
    while (at && o->nodes[at].child[last])
        at = o->nodes[at].child[last];
    return at ? &o->nodes[at] : NULL;
}

uint64_t tt_intervals_above(const tt_intervals *o, uint64_t rank, uint64_t begin)
{
    uint64_t sum = 0;
    for (uint32_t at = o->root; at;) {
        const tt_interval *n = &o->nodes[at];
        bool above = less(rank, begin, n);
        if (above) sum += n->size + o->nodes[n->child[1]].sum;
        at = n->child[!above];
    }
    return sum;
}

/* The order of the last reads is kept as numbered slots, later ones higher, with a Fenwick tree of
 * the sizes above a slot. Most intervals are alone in their slot; if a read removed the middle of
 * one, its pieces share it, and are kept in a tree. When the slots are used up, those in use are
 * renumbered. */

#define SLOTS_MIN 256u

void tt_reuse_free(tt_reuse *r)
{
    tt_intervals_free(&r->places);
    tt_intervals_free(&r->fragments);
    free(r->sums);
    free(r->number);
    memset(r, 0, sizeof *r);
}

static void add(tt_reuse *r, uint32_t slot, uint64_t size)
{
    r->total += size;
    for (uint32_t i = slot + 1; i <= r->slots; i += i & -i)
        r->sums[i] += size;
}

/* Total size in all later slots. */
static uint64_t behind(const tt_reuse *r, uint32_t slot)
{
    uint64_t sum = 0;
    for (uint32_t i = slot + 1; i > 0; i -= i & -i)
        sum += r->sums[i];
    return r->total - sum;
}

/* The slots in use, ascending, unique; *n is their number. For free(). */
static uint32_t *slots_in_use(const tt_reuse *r, size_t *n)
{
    size_t all = 0;
    uint32_t *used = malloc(((size_t)r->places.n + 1) * sizeof *used);
    if (!used) return NULL;
    for (const tt_interval *p = tt_intervals_end(&r->places, false); p;
         p = tt_intervals_after(&r->places, 0, p->begin + 1))
        used[all++] = (uint32_t)(p->note >> 1);
    if (all) qsort(used, all, sizeof *used, tt_by_u32);
    *n = 0;
    for (size_t i = 0; i < all; i++)
        if (*n == 0 || used[i] != used[*n - 1]) used[(*n)++] = used[i];
    return used;
}

/* Renumbers the intervals' slots: the index of each in `used`. */
static bool renumber(tt_reuse *r, const uint32_t *used, size_t n)
{
    tt_intervals_free(&r->fragments);
    for (tt_interval *p = tt_intervals_end(&r->places, false); p;
         p = tt_intervals_after(&r->places, 0, p->begin + 1)) {
        const uint32_t was = (uint32_t)(p->note >> 1);
        const uint32_t *at = bsearch(&was, used, n, sizeof was, tt_by_u32);
        const uint32_t slot = (uint32_t)(at - used);
        const bool shares = p->note & 1;
        p->note = 2 * (uint64_t)slot + shares;
        add(r, slot, p->size);
        if (shares && !tt_intervals_put(&r->fragments, slot, p->begin, p->size, 0)) return false;
    }
    return true;
}

/* Makes room for three times as many reads as there are slots in use. */
static bool make_slots(tt_reuse *r)
{
    size_t n;
    uint32_t *used = slots_in_use(r, &n);
    if (!used || n > UINT32_MAX / 8) {
        free(used);
        return false;
    }
    const uint32_t slots = n * 4 > SLOTS_MIN ? (uint32_t)n * 4 : SLOTS_MIN;
    uint64_t *sums = calloc((size_t)slots + 1, sizeof *sums);
    uint64_t *number = calloc(slots, sizeof *number);
    bool ok = sums && number;
    for (size_t i = 0; ok && i < n; i++)
        number[i] = r->number[used[i]];
    if (ok) {
        free(r->sums);
        free(r->number);
        r->sums = sums;
        r->number = number;
        r->slots = slots;
        r->next_slot = (uint32_t)n;
        r->total = 0;
        ok = renumber(r, used, n);
    } else {
        free(sums);
        free(number);
    }
    free(used);
    return ok;
}

static bool put(tt_reuse *r, uint64_t begin, uint64_t end, uint32_t slot, bool shares)
{
    if (begin >= end) return true;
    if (shares && !tt_intervals_put(&r->fragments, slot, begin, end - begin, 0)) return false;
    return tt_intervals_put(&r->places, 0, begin, end - begin, 2 * (uint64_t)slot + shares);
}

/* The interval that contains x, or else the first one after it. */
static const tt_interval *interval_at(const tt_reuse *r, uint64_t x)
{
    const tt_interval *p = tt_intervals_before(&r->places, 0, x);
    if (p && p->begin + p->size > x) return p;
    return tt_intervals_after(&r->places, 0, x);
}

/* Removes the part from the interval that contains it; the rest stays. False if out of memory. */
static bool take_out(tt_reuse *r, const tt_interval *p, tt_reused *part, uint64_t passed)
{
    const uint64_t from = p->begin, to = from + p->size, x = part->begin, end = x + part->size;
    const uint32_t slot = (uint32_t)(p->note >> 1);
    bool shares = p->note & 1;
    part->last = r->number[slot];
    /* Above x: later slots, what follows in its own, and what this read has passed. */
    part->distance = behind(r, slot) + (to - x) + passed;
    if (shares) {
        part->distance += tt_intervals_above(&r->fragments, slot, from) -
                          tt_intervals_above(&r->fragments, slot, UINT64_MAX);
        tt_intervals_drop(&r->fragments, slot, from);
    }
    add(r, slot, -part->size);
    tt_intervals_drop(&r->places, 0, from);
    shares |= from < x && end < to;
    return put(r, from, x, slot, shares) && put(r, end, to, slot, shares);
}

/* A range that is unchanged since its last read. */
static bool read_again(tt_reuse *r, uint64_t begin, uint64_t end, uint32_t hint, tt_reused *part)
{
    if (hint == 0 || hint >= r->places.n) return false;
    tt_interval *p = &r->places.nodes[hint];
    /* The size of an unused node is 0. */
    if (p->begin != begin || p->size != end - begin || (p->note & 1)) return false;
    const uint32_t slot = (uint32_t)(p->note >> 1);
    *part = (tt_reused){begin, p->size, behind(r, slot) + p->size, r->number[slot]};
    add(r, slot, -p->size);
    add(r, r->next_slot, p->size);
    p->note = 2 * (uint64_t)r->next_slot;
    return true;
}

bool tt_reuse_read(tt_reuse *r, uint64_t begin, uint64_t end, uint32_t *hint, tt_reuse_visit *visit,
                   void *context)
{
    tt_reused part;
    if (begin >= end) return true;
    if (r->next_slot == r->slots && !make_slots(r)) return false;
    r->number[r->next_slot] = r->reads++;
    if (hint && read_again(r, begin, end, *hint, &part)) {
        r->next_slot++;
        visit(context, &part);
        return true;
    }
    for (uint64_t x = begin; x < end; x += part.size) {
        const tt_interval *p = interval_at(r, x);
        part = (tt_reused){.begin = x, .distance = TT_REUSE_FIRST};
        if (!p || p->begin > x) {
            part.size = (p && p->begin < end ? p->begin : end) - x;
        } else {
            uint64_t to = p->begin + p->size;
            part.size = (to < end ? to : end) - x;
            if (!take_out(r, p, &part, x - begin)) return false;
        }
        visit(context, &part);
    }
    add(r, r->next_slot, end - begin);
    if (!put(r, begin, end, r->next_slot++, false)) return false;
    const tt_interval *now = tt_intervals_before(&r->places, 0, begin);
    if (hint) *hint = (uint32_t)(now - r->places.nodes);
    return true;
}
