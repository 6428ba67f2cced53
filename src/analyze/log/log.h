/* The ops of a trace in the order in which they began, over all runs and threads. */
#ifndef TT_ANALYZE_LOG_H
#define TT_ANALYZE_LOG_H

#include "analyze/filter.h"
#include "model/model.h"

#include <stdbool.h>
#include <stdint.h>

/* Runs that may be under way at one moment; beyond it, order is best effort. */
#define TT_LOG_RUNS_MAX 256u

typedef struct tt_log_op {
    const tt_op *op;
    void **note; /* the visitor's, of this op: NULL at first; freed with free, when it pleases */
    const tt_run *run;
    uint32_t lane;  /* TT_NONE: all lanes of the op together */
    uint32_t lanes; /* how many executed it */
    bool open;      /* its end was not seen: only start is meaningful */
    uint64_t start_ticks;
    uint64_t arrive_ticks;  /* of all lanes: the last */
    uint64_t release_ticks; /* of all lanes: the last */
    uint64_t busy_ticks;    /* of all lanes: the sum */
    uint64_t wait_ticks;    /* of all lanes: the sum */
    uint64_t off_cpu_ticks; /* of busy_ticks, on no processor */
    bool off_cpu_known;     /* else it was not observed */
} tt_log_op;

/* Called per op; false ends the walk. */
typedef bool tt_log_visit(void *context, const tt_log_op *op);

/* by_lane: one visit per record instead of one per op; a filter by lane implies it.
 * Needs a clock when the filter has times. */
tt_status tt_log_walk(const tt_model *m, const tt_filter *filter, bool by_lane, tt_log_visit *visit,
                      void *context, tt_error *err);

#endif
