#include "answer/buffers.h"

#include "answer/whole_ns.h"

static void times(tt_json *j, const tt_model *m, const tt_buffers_point *points, uint32_t n)
{
    tt_json_key(j, "time_relative_ns");
    tt_json_array(j);
    for (uint32_t i = 0; i < n; i++)
        tt_answer_whole_ns(j, m->clock.known, tt_model_ns(m, points[i].ticks));
    tt_json_array_end(j);
}

static bool any(const tt_buffers_point *points, uint32_t n, unsigned backing, unsigned kind)
{
    for (uint32_t i = 0; i < n; i++)
        if (points[i].bytes[backing][kind]) return true;
    return false;
}

void tt_buffers_curve_json(tt_json *j, const tt_model *m, const tt_buffers *buffers,
                           const tt_buffers_point *points, uint32_t n)
{
    tt_json_object(j);
    times(j, m, points, n);
    tt_json_key(j, "series");
    tt_json_array(j);
    for (unsigned b = 0; b < TT_BACKINGS; b++) {
        for (unsigned k = 0; k < TT_BUFFER_KINDS; k++) {
            if (!any(points, n, b, k)) continue;
            tt_json_object(j);
            tt_json_kv_string(j, "kind", tt_buffer_kind_name((tt_buffer_kind)k));
            tt_json_kv_string(j, "backing", tt_backing_name((tt_backing)b));
            tt_json_key(j, "size_bytes");
            tt_json_array(j);
            for (uint32_t i = 0; i < n; i++)
                tt_json_u64(j, points[i].bytes[b][k]);
            tt_json_array_end(j);
            tt_json_object_end(j);
        }
    }
    tt_json_array_end(j);
    tt_json_kv_u64(j, "events_total", buffers->n_events);
    tt_json_object_end(j);
}

static void put_peak(tt_json *j, const tt_buffers_context *x, unsigned backing)
{
    const uint32_t *peak = &x->buffers->peak[backing];
    const tt_rowset set = TT_ROWSET(&tt_buffer_peak_schema, 0, x, peak, 1);
    tt_json_key(j, tt_backing_name((tt_backing)backing));
    if (*peak == TT_NONE) {
        tt_json_null(j);
        return;
    }
    tt_json_object(j);
    tt_rowset_json(j, &set, peak);
    tt_json_object_end(j);
}

void tt_buffers_json(tt_json *j, const char *path, const tt_buffers_context *x,
                     const tt_listing *buffers, const tt_listing *events)
{
    const tt_rowset caches = TT_ROWSET(&tt_kv_cache_schema, 0, x, x->kv->caches, x->kv->n_caches);
    tt_json_object(j);
    tt_json_kv_string(j, "file", path);
    tt_json_key(j, "buffers");
    tt_listing_json(j, buffers);
    tt_json_kv_u64(j, "buffers_total", buffers->n_all);
    tt_json_key(j, "events");
    tt_listing_json(j, events);
    tt_json_kv_u64(j, "events_total", events->n_all);
    tt_json_key(j, "peak");
    tt_json_object(j);
    for (unsigned k = 0; k < TT_BACKINGS; k++)
        put_peak(j, x, k);
    tt_json_object_end(j);
    tt_rowset_json_rows(j, "kv_caches", &caches, NULL);
    tt_json_object_end(j);
}
