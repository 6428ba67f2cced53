#include "answer/roofline.h"

/* The context is the machine's limits. */
static tt_bound bound_of(const void *context, const tt_rollup *r, double *share)
{
    return tt_bound_of(context, r, share);
}

TT_COLUMN_KNOWN(is_timed, tt_rollup, r, r->timed > 0)
TT_COLUMN_KNOWN(has_flops, tt_rollup, r, r->flops_known)
TT_COLUMN_GET(get_phase, tt_rollup, r, tt_cell_text(cell, tt_phase_name(r->phase));)
TT_COLUMN_GET(get_bound, tt_rollup, r, double share;
              tt_cell_text(cell, tt_bound_name(bound_of(context, r, &share)));)
TT_COLUMN_GET(get_share, tt_rollup, r,
              cell->known = bound_of(context, r, &cell->f64) != TT_BOUND_UNKNOWN;)

static const tt_column point_columns[] = {
    TT_FIELD("op", "kind of op", TT_MEMBER(tt_rollup, key)),
    TT_FIELD("category", "part of the network", TT_MEMBER(tt_rollup, part)),
    TT_FIELD("phase", "of its batches", .type = TT_CELL_NAME, .get = get_phase),
    TT_FIELD("integers", "it multiplies integers", TT_MEMBER(tt_rollup, integers)),
    TT_FIELD("count", "executions", TT_MEMBER(tt_rollup, count)),
    TT_FIELD("timed", "executions with a time", TT_MEMBER(tt_rollup, timed)),
    TT_FIELD("total_ns", "of these, without time off CPU", TT_MEMBER(tt_rollup, quiet_ns),
             .known = is_timed),
    TT_FIELD("flops", "operations", TT_MEMBER(tt_rollup, flops), .known = has_flops),
    TT_FIELD("flops_at_most", "flops is an upper bound", TT_MEMBER(tt_rollup, flops_at_most)),
    TT_FIELD("moved_bytes", "read and written", TT_MEMBER(tt_rollup, moved_bytes)),
    TT_FIELD("weight_bytes", "of weights, of these", TT_MEMBER(tt_rollup, weight_bytes)),
    TT_FIELD("bytes_at_most", "the bytes are upper bounds", TT_MEMBER(tt_rollup, bytes_at_most)),
    TT_FIELD("bound", "what it is bound by", .type = TT_CELL_NAME, .get = get_bound),
    TT_FIELD("edge_share", "of what the machine can do there", .type = TT_CELL_F64,
             .get = get_share),
};
const tt_schema tt_roofline_point_schema = TT_SCHEMA("ops", "points of a roofline", point_columns);

typedef struct roofline {
    const char *path;
    const tt_rollups *points;
    double all_ns, unknown_ns;
    uint64_t unknown_ops;
} roofline;

TT_COLUMN_ROWS(points, roofline, r, r->points->list, r->points->n)

static const tt_column columns[] = {
    TT_FIELD("file", "the trace", TT_MEMBER(roofline, path)),
    TT_FIELD("ops", "the points", .type = TT_CELL_ROWS, .inner = &tt_roofline_point_schema,
             .rows = points),
    TT_FIELD("total_ns", "of all ops, likewise", TT_MEMBER(roofline, all_ns)),
    TT_FIELD("flops_not_known", "executions", TT_MEMBER(roofline, unknown_ops)),
    TT_FIELD("flops_not_known_ns", "of these", TT_MEMBER(roofline, unknown_ns)),
};
static const tt_schema schema = TT_SCHEMA("roofline", "operations and bytes of ops", columns);

void tt_roofline_json(tt_json *j, const char *path, const tt_rollups *points, const tt_peaks *peaks)
{
    roofline all = {.path = path, .points = points};
    for (size_t i = 0; i < points->n; i++) {
        const tt_rollup *r = &points->list[i];
        all.all_ns += r->quiet_ns;
        if (r->flops_known) continue;
        all.unknown_ops += r->count;
        all.unknown_ns += r->quiet_ns;
    }
    tt_row_json(j, NULL, &schema, peaks, &all);
}
