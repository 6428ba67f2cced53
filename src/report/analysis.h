/* Everything that a report shows of a trace, computed once. */
#ifndef TT_REPORT_ANALYSIS_H
#define TT_REPORT_ANALYSIS_H

#include "analyze/buffers.h"
#include "analyze/cache/whatif.h"
#include "analyze/faults.h"
#include "analyze/heat.h"
#include "analyze/kernel.h"
#include "analyze/loading.h"
#include "analyze/overview.h"
#include "analyze/pool_bounds.h"
#include "analyze/pool_sums.h"
#include "analyze/reads.h"
#include "analyze/routers.h"
#include "analyze/summary.h"
#include "analyze/values/first.h"
#include "analyze/values/grid.h"
#include "analyze/values/groups.h"
#include "analyze/work.h"
#include "machine/measure.h"
#include "model/model.h"
#include "table/table.h"

#include <stdbool.h>

/* Reads of weights are analysed for at most so many ops: some 30 MB and seconds of replaying.
 * For a longer trace, only the first batches. */
#define TT_ANALYSIS_READS_OPS_MAX 1000000u
#define TT_ANALYSIS_RAM_SIZES 10u
#define TT_ANALYSIS_OUTLIERS 12u
#define TT_ANALYSIS_DISK_BYTES_PER_S 2e9 /* the default: a common NVMe disk */

/* Where the roofline's limits come from. */
typedef enum tt_edges_from { TT_EDGES_NONE, TT_EDGES_MEASURED, TT_EDGES_GIVEN } tt_edges_from;

typedef struct tt_edges {
    tt_edges_from bandwidth_from, peak_from;
    double bytes_per_s;
    double flops_per_s;
    double int8_ops_per_s; /* 0: unknown; then flops_per_s counts for all */
    tt_machine machine;    /* with TT_EDGES_MEASURED */
    char why_not[320];     /* with TT_EDGES_NONE: why there is no measurement */
} tt_edges;

typedef struct tt_analysis_options {
    tt_edges edges;
    double disk_bytes_per_s; /* 0: not given */
    void (*progress)(void *context, uint64_t done, uint64_t total);
    void *context;
} tt_analysis_options;

typedef struct tt_bounds {
    double wall_ns[TT_BOUND_NEITHER + 1];
    double all_ns;
    double lost_ns; /* besides, in which ops did not end because a thread was off CPU */
    /* For the memory-bound ones: */
    double bytes, flops;
} tt_bounds;

typedef struct tt_layer_experts {
    int32_t layer_id;
    tt_router_sum sum;
    uint64_t expert_bytes;
} tt_layer_experts;

tt_layer_experts tt_layer_experts_of(const tt_router_layer *layer);
extern const tt_schema tt_layer_experts_schema;

typedef struct tt_analysis {
    const tt_model *m;
    const char *path;
    tt_analysis_options options;
    tt_summary summary;
    tt_overview overview;
    tt_work work;
    bool timed;      /* there is a clock; otherwise nothing needs times */
    double total_ns; /* over threads: compute + wait + idle + between batches x threads */
    double compute_ns, wait_ns, idle_ns, between_ns;
    double work_ns;        /* of compute_ns, without time known to be off the processor */
    uint32_t lanes;        /* the most of any window */
    bool waits_observed;   /* threads_observed, and their waits for each other */
    bool threads_observed; /* some runs were hooked; otherwise ops are seen as a whole, without
                              waits */
    tt_rollups by_part, by_op, by_layer, points; /* by own work, descending; layers ascending */
    tt_bounds bounds;                            /* of all tokens */
    tt_bounds generate;                          /* of generated tokens */
    uint64_t unknown_ops;                        /* executions of op kinds without a formula */
    double unknown_ns;                           /* their time */
    bool reads_cut;            /* reads were analysed for the first batches only */
    uint32_t reads_last_token; /* the last of them */
    tt_reads reads;
    bool has_reads;
    tt_heat heat;
    bool has_heat;
    bool has_whatif;
    uint64_t touched_bytes;
    double disk_bytes_per_s;
    tt_whatif_result lru[TT_ANALYSIS_RAM_SIZES], belady[TT_ANALYSIS_RAM_SIZES];
    tt_routers *routers;
    uint64_t expert_nodes;
    tt_faults *faults; /* by token; NULL: faults were not counted per op */
    tt_kernel *kernel;
    tt_kernel_sum kernel_batches, kernel_recording;
    tt_loading loading; /* no rows: it was not recorded */
    tt_buffers *buffers;
    bool has_pool; /* boost ran it, and there are times; if so: */
    tt_pool_report pool;
    tt_pool_time pool_time;
    tt_pool_sums pool_all, pool_generated;
    tt_pool_bounds pool_bounds;
    bool has_values; /* of outputs; if so: */
    tt_values_first values_first;
    tt_values_grid values_grid;
    tt_values_outliers values_outliers; /* the first TT_ANALYSIS_OUTLIERS */
} tt_analysis;

/* Free *a with tt_analysis_free, also after an error. m outlives it. */
tt_status tt_analysis_make(const tt_model *m, const char *path, const tt_analysis_options *options,
                           tt_analysis *a, tt_error *err);
void tt_analysis_free(tt_analysis *a);

/* roofline.c: sums, and what bounds them. */
bool tt_rollups_make(tt_analysis *a);
static inline tt_peaks tt_edges_peaks(const tt_edges *e)
{
    return (tt_peaks){e->bytes_per_s, e->flops_per_s, e->int8_ops_per_s};
}

#endif
