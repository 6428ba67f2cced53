/* /api/v1/traces/ID/buffers: the engine's buffers; /buffers_curve: memory over time. */
#include "answer/buffers.h"
#include "base/order.h"
#include "serve/endpoints.h"
#include "serve/source.h"
#include "serve/traces.h"

#include <stdlib.h>

#define POINTS_DEFAULT 1000u
#define POINTS_MAX 20000u

typedef struct about {
    tt_buffers *buffers;
    tt_kv *kv;
} about;

static void release(about *a)
{
    tt_buffers_free(a->buffers);
    tt_kv_free(a->kv);
}

static tt_status find(about *a, tt_model *m, tt_error *err)
{
    tt_status status = tt_buffers_analyze(m, &a->buffers, err);
    return status == TT_OK ? tt_kv_analyze(m, &a->kv, err) : status;
}

TT_SOURCE_MEMO(memo, about, "the buffers", find, release)

/* All buffers, or the largest ones, in the order of the trace; and the first events. */
tt_status tt_answer_buffers(tt_request *q, tt_reply *r, tt_error *err)
{
    const void *made = NULL;
    tt_listing_wish largest = {.sort = "-size_bytes"}, first = {0};
    tt_listing buffers, events = {0};
    if (!tt_request_u64(q, "limit", 1, POINTS_MAX, POINTS_DEFAULT, &largest.limit, err))
        return TT_E_USAGE;
    tt_status status = tt_source_get(q, &memo, &made, err);
    if (status != TT_OK) return status;
    const about *a = made;
    const tt_buffers_context x = {q->m, a->buffers, a->kv, largest.limit};
    const tt_rowset all = TT_ROWSET(&tt_buffer_schema, 0, &x, q->m->buffers, q->m->n_buffers);
    const tt_rowset moments =
        TT_ROWSET(&tt_buffer_event_schema, 0, &x, a->buffers->events, a->buffers->n_events);
    first.limit = largest.limit;
    status = tt_listing_make(&buffers, &all, &largest, err);
    if (status == TT_OK) status = tt_listing_make(&events, &moments, &first, err);
    if (status == TT_OK) {
        qsort(buffers.order, buffers.n, sizeof *buffers.order, tt_by_u64);
        tt_buffers_json(tt_reply_json(r), tt_traces_path(q->traces, q->trace_id), &x, &buffers,
                        &events);
    }
    tt_listing_free(&buffers);
    tt_listing_free(&events);
    return status;
}

/* A time since the trace's origin, in ticks. */
static uint64_t ticks_of(const tt_model *m, double ns)
{
    const double ticks = ns / m->clock.ns_per_tick;
    if (ticks >= 0)
        return ticks < (double)(UINT64_MAX - m->clock.zero_ticks)
                   ? m->clock.zero_ticks + (uint64_t)ticks
                   : UINT64_MAX;
    return -ticks < (double)m->clock.zero_ticks ? m->clock.zero_ticks - (uint64_t)-ticks : 0;
}

tt_status tt_answer_buffers_curve(tt_request *q, tt_reply *r, tt_error *err)
{
    const void *made = NULL;
    uint64_t points_most;
    double from, to;
    tt_buffers_point *points = NULL;
    uint32_t n = 0;
    if (!tt_request_u64(q, "points", 4, POINTS_MAX, POINTS_DEFAULT, &points_most, err) ||
        !tt_request_double(q, "from_ns", -1e18, 1e18, -1e18, &from, err) ||
        !tt_request_double(q, "to_ns", -1e18, 1e18, 1e18, &to, err))
        return TT_E_USAGE;
    if (tt_model_need_clock(q->m, err) != TT_OK) return err->status;
    tt_status status = tt_source_get(q, &memo, &made, err);
    if (status != TT_OK) return status;
    const about *a = made;
    status = tt_buffers_curve(a->buffers, q->m, from <= -1e18 ? 0 : ticks_of(q->m, from),
                              to >= 1e18 ? UINT64_MAX : ticks_of(q->m, to), (uint32_t)points_most,
                              &points, &n, err);
    if (status == TT_OK) tt_buffers_curve_json(tt_reply_json(r), q->m, a->buffers, points, n);
    free(points);
    return status;
}
