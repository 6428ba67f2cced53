#include "report/analysis.h"

static void add_bound(tt_bounds *b, tt_bound bound, const tt_rollup *r)
{
    b->wall_ns[bound] += r->quiet_ns;
    b->all_ns += r->quiet_ns;
    b->lost_ns += r->wall_ns - r->quiet_ns;
    if (bound != TT_BOUND_MEMORY) return;
    b->bytes += r->moved_bytes;
    b->flops += r->flops;
}

bool tt_rollups_make(tt_analysis *a)
{
    const tt_peaks peaks = tt_edges_peaks(&a->options.edges);
    if (!tt_rollups_of(&a->work, a->m, TT_ROLLUP_PART, &a->by_part) ||
        !tt_rollups_of(&a->work, a->m, TT_ROLLUP_OP, &a->by_op) ||
        !tt_rollups_of(&a->work, a->m, TT_ROLLUP_LAYER, &a->by_layer) ||
        !tt_rollups_of(&a->work, a->m, TT_ROLLUP_POINT, &a->points))
        return false;
    for (size_t i = 0; i < a->points.n; i++) {
        const tt_rollup *r = &a->points.list[i];
        double share;
        tt_bound bound = tt_bound_of(&peaks, r, &share);
        add_bound(&a->bounds, bound, r);
        if (r->phase == TT_PHASE_GENERATE) add_bound(&a->generate, bound, r);
        if (r->flops_known) continue;
        a->unknown_ops += r->count;
        a->unknown_ns += r->quiet_ns;
    }
    return true;
}
