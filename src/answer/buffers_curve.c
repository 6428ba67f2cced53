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
