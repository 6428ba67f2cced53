/* How much memory there was, moment by moment, in a bounded number of points. */
#include "analyze/buffers.h"

#include <stdlib.h>
#include <string.h>

typedef struct walk {
    const tt_model *m;
    const tt_buffers *b;
    uint64_t bytes[TT_BACKINGS][TT_BUFFER_KINDS]; /* after the event at hand */
} walk;

/* Sums of sizes that a file claims may pass 64 bits; then they stay at the most there is. */
static void apply(walk *w, const tt_buffer_event *e)
{
    const tt_buffer *b = &w->m->buffers[e->buffer];
    uint64_t *sum = &w->bytes[tt_buffer_backing(b)][b->kind];
    if (e->is_free)
        *sum = *sum > b->size_bytes ? *sum - b->size_bytes : 0;
    else if (__builtin_add_overflow(*sum, b->size_bytes, sum))
        *sum = UINT64_MAX;
}

static double total(const tt_buffer_event *e)
{
    double sum = 0;
    for (unsigned k = 0; k < TT_BACKINGS; k++)
        sum += (double)e->bytes[k];
    return sum;
}

static void put(const walk *w, uint32_t event, tt_buffers_point *out)
{
    out->ticks = w->b->events[event].ticks;
    out->event = event;
    memcpy(out->bytes, w->bytes, sizeof out->bytes);
}

tt_status tt_buffers_curve(const tt_buffers *b, const tt_model *m, uint64_t from_ticks,
                           uint64_t to_ticks, uint32_t most, tt_buffers_point **out, uint32_t *n,
                           tt_error *err)
{
    walk w = {.m = m, .b = b};
    uint32_t i = 0, in_range = 0;
    const uint32_t room = most < 4 ? 4 : most;
    *n = 0;
    *out = calloc((size_t)room + 1, sizeof **out);
    if (!*out) return tt_error_memory(err, "the buffers");
    for (; i < b->n_events && b->events[i].ticks < from_ticks; i++)
        apply(&w, &b->events[i]);
    if (i > 0) put(&w, i - 1, &(*out)[(*n)++]);
    for (uint32_t k = i; k < b->n_events && b->events[k].ticks <= to_ticks; k++)
        in_range++;
    /* Of each interval of events the one with the most is shown, and the last. */
    const uint32_t intervals = (room - 1) / 2;
    const uint32_t each = in_range <= room - 1 ? 1 : (in_range + intervals - 1) / intervals;
    for (const uint32_t end = i + in_range; i < end;) {
        const uint32_t last = end - i < each ? end - 1 : i + each - 1;
        uint32_t top = i;
        for (uint32_t k = i; k <= last; k++)
            if (total(&b->events[k]) > total(&b->events[top])) top = k;
        for (; i <= last; i++) {
            apply(&w, &b->events[i]);
            if (i == top || i == last) put(&w, i, &(*out)[(*n)++]);
        }
    }
    return TT_OK;
}
