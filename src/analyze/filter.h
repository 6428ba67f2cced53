/* Which ops a person asked for. */
#ifndef TT_ANALYZE_FILTER_H
#define TT_ANALYZE_FILTER_H

#include "analyze/ops.h"
#include "model/model.h"

#include <stdbool.h>
#include <stdint.h>

/* Zero-filled passes everything. Texts belong to the caller. */
typedef struct tt_filter {
    bool has_token;
    uint32_t token_first; /* of tt_model_token */
    uint32_t token_last;
    bool has_layer;
    int32_t layer;
    bool has_lane;
    uint32_t lane;
    unsigned phase;     /* enum tt_phase; 0: any */
    tt_origin origin;   /* of any source; TT_ORIGIN_UNKNOWN: any */
    const char *op;     /* name in any case, or one part of a fused op's; NULL: any */
    const char *tensor; /* fnmatch pattern for a node's or a source's name; NULL: any */
    bool has_from, has_to;
    double from_ns, to_ns; /* of the op's start, since the trace's first batch */
} tt_filter;

/* Whether the batch (in m->batches, or TT_NONE: none) passes: token, phase. */
bool tt_filter_batch(const tt_filter *f, const tt_model *m, uint32_t batch);
/* Whether the run can hold ops that pass (token, phase, time). */
bool tt_filter_run(const tt_filter *f, const tt_model *m, const tt_run *run);
/* Whether the op passes, time and lane aside. */
bool tt_filter_op(const tt_filter *f, const tt_op *op);
bool tt_filter_time(const tt_filter *f, double start_ns);

#endif
