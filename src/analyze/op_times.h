/* One op over the batches: how long it took each time, for its distribution and its outliers.
 *
 * The same op of another graph is the one whose node has the same name and op. */
#ifndef TT_ANALYZE_OP_TIMES_H
#define TT_ANALYZE_OP_TIMES_H

#include "analyze/filter.h"
#include "analyze/over.h"
#include "base/status.h"
#include "model/model.h"
#include "table/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_OP_TIMES_BARS 48u

typedef struct tt_op_time {
    uint32_t run; /* in m->runs */
    uint32_t node;
    uint64_t ticks;
    double time_ns; /* from the first thread's start to the end of the last one's work */
    double wait_ns; /* of all threads; NAN: not observed */
    double ratio;   /* to the median */
} tt_op_time;

/* Times from from_ns up to, and without, to_ns; the last bar has the longest. Each is wider than
 * the one before by the same factor. */
typedef struct tt_op_bar {
    double from_ns, to_ns;
    uint64_t count;
} tt_op_bar;

typedef struct tt_op_times {
    const char *name; /* of the node */
    tt_op_time *list; /* in the order of time */
    size_t n;
    double min_ns, p25_ns, median_ns, p75_ns, p95_ns, max_ns, mean_ns;
    tt_op_bar bars[TT_OP_TIMES_BARS];
    uint32_t n_bars;
    uint32_t own;  /* the wanted one, in the list; TT_NONE: not there */
    uint32_t rank; /* how many took longer than it */
    /* Private: */
    size_t capacity;
} tt_op_times;

/* The times of the op at `node` of the run (in m->runs), in all runs that pass the filter.
 * TT_E_NOT_FOUND if there is no such op. Needs a clock. Free *out with tt_op_times_free, also after
 * a failure. */
tt_status tt_op_times_find(const tt_model *m, const tt_filter *filter, uint32_t run, uint32_t node,
                           const tt_over *over, tt_op_times *out, tt_error *err);
void tt_op_times_free(tt_op_times *t);

extern const tt_schema tt_op_times_schema, tt_op_bars_schema;

#endif
