#include "analyze/reuse.h"

#include <string.h>

void tt_reuse_free(tt_reuse *r)
{
    tt_order_free(&r->places);
    tt_order_free(&r->recency);
    memset(r, 0, sizeof *r);
}

static bool put(tt_reuse *r, uint64_t begin, uint64_t end, uint64_t last)
{
    return begin >= end || (tt_order_put(&r->places, 0, begin, end - begin, last) &&
                            tt_order_put(&r->recency, last, begin, end - begin, 0));
}

/* The stretch that holds x, or else the first one behind it. */
static const tt_order_node *stretch_at(const tt_reuse *r, uint64_t x)
{
    const tt_order_node *p = tt_order_before(&r->places, 0, x);
    if (p && p->begin + p->size > x) return p;
    return tt_order_behind(&r->places, 0, x);
}

bool tt_reuse_read(tt_reuse *r, uint64_t begin, uint64_t end, tt_reuse_visit *visit, void *context)
{
    uint64_t x = begin;
    while (x < end) {
        const tt_order_node *p = stretch_at(r, x);
        tt_reused part = {.begin = x, .distance = TT_REUSE_FIRST};
        if (!p || p->begin > x) {
            part.size = (p && p->begin < end ? p->begin : end) - x;
        } else {
            const uint64_t from = p->begin, to = from + p->size, last = p->note;
            part.size = (to < end ? to : end) - x;
            part.last = last;
            tt_order_drop(&r->places, 0, from);
            tt_order_drop(&r->recency, last, from);
            if (!put(r, from, x, last) || !put(r, x + part.size, to, last)) return false;
            /* What this read has passed is more recent, too, though not yet in the list. */
            part.distance = tt_order_above(&r->recency, last, x) + (x - begin) + part.size;
        }
        visit(context, &part);
        x += part.size;
    }
    return put(r, begin, end, r->reads++);
}
