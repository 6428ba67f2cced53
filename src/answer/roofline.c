#include "answer/roofline.h"

#include <math.h>

void tt_roofline_point_json(tt_json *j, const tt_peaks *peaks, const tt_rollup *r)
{
    double of;
    tt_bound bound = tt_bound_of(peaks, r, &of);
    tt_json_object(j);
    tt_json_kv_string(j, "op", r->key);
    tt_json_kv_string(j, "category", r->part);
    tt_json_kv_string(j, "phase", tt_phase_name(r->phase));
    tt_json_kv_bool(j, "integers", r->integers);
    tt_json_kv_u64(j, "count", r->count);
    tt_json_kv_u64(j, "timed", r->timed);
    tt_json_kv_double(j, "total_ns", r->timed ? r->wall_ns : NAN);
    tt_json_kv_double(j, "flops", r->flops_known ? r->flops : NAN);
    tt_json_kv_bool(j, "flops_at_most", r->flops_at_most);
    tt_json_kv_double(j, "moved_bytes", r->moved_bytes);
    tt_json_kv_double(j, "weight_bytes", r->weight_bytes);
    tt_json_kv_bool(j, "bytes_at_most", r->bytes_at_most);
    tt_json_kv_string(j, "bound", tt_bound_name(bound));
    tt_json_kv_double(j, "edge_share", bound == TT_BOUND_UNKNOWN ? NAN : of);
    tt_json_object_end(j);
}

void tt_roofline_json(tt_json *j, const char *path, const tt_rollups *points, const tt_peaks *peaks)
{
    uint64_t unknown_ops = 0;
    double all_ns = 0, unknown_ns = 0;
    tt_json_object(j);
    tt_json_kv_string(j, "file", path);
    tt_json_key(j, "ops");
    tt_json_array(j);
    for (size_t i = 0; i < points->n; i++) {
        const tt_rollup *r = &points->list[i];
        tt_roofline_point_json(j, peaks, r);
        all_ns += r->wall_ns;
        if (r->flops_known) continue;
        unknown_ops += r->count;
        unknown_ns += r->wall_ns;
    }
    tt_json_array_end(j);
    tt_json_kv_double(j, "total_ns", all_ns);
    tt_json_kv_u64(j, "flops_not_known", unknown_ops);
    tt_json_kv_double(j, "flops_not_known_ns", unknown_ns);
    tt_json_object_end(j);
}
