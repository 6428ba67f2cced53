#include "analyze/cache/future.h"

#include "analyze/order.h"
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

typedef struct seer {
    tt_order places; /* what later reads read, by address; the note is the first of them */
    tt_future *future;
    size_t capacity;
} seer;

void tt_future_free(tt_future *f)
{
    free(f->parts);
    memset(f, 0, sizeof *f);
}

static bool add(seer *s, uint64_t size, uint32_t next)
{
    tt_future *f = s->future;
    if (!tt_array_one_more(f->parts, f->n, s->capacity)) return false;
    f->parts[f->n++] = (tt_future_part){size, next};
    return true;
}

static bool put(seer *s, uint64_t begin, uint64_t end, uint64_t next)
{
    return begin >= end || tt_order_put(&s->places, 0, begin, end - begin, next);
}

/* From the end of the read down, so that all parts stand in the order of going back. */
static bool look(seer *s, const tt_extent *e, uint32_t read)
{
    uint64_t x = e->end;
    while (x > e->begin) {
        const tt_order_node *p = tt_order_before(&s->places, 0, x - 1);
        uint64_t from = p ? p->begin : 0, to = p ? p->begin + p->size : 0;
        uint32_t next = TT_FUTURE_NEVER;
        uint64_t low = to > e->begin ? to : e->begin; /* of a part that is never read again */
        if (to >= x) {
            next = (uint32_t)p->note;
            low = from > e->begin ? from : e->begin;
            tt_order_drop(&s->places, 0, from);
            if (!put(s, from, low, next) || !put(s, x, to, next)) return false;
        }
        if (!add(s, x - low, next)) return false;
        x = low;
    }
    return put(s, e->begin, e->end, read);
}

bool tt_future_see(const tt_stream *s, tt_future *f)
{
    seer v = {.future = f};
    bool ok = tt_stream_length(s) < TT_FUTURE_NEVER;
    memset(f, 0, sizeof *f);
    for (size_t i = tt_stream_length(s); ok && i-- > 0;)
        ok = look(&v, &s->extents[s->order[i < s->n ? i : i - s->n]], (uint32_t)i);
    tt_order_free(&v.places);
    return ok;
}
