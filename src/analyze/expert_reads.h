/* Bytes read from disk for each expert.
 *
 * The kernel counts per thread and op, and an expert matmul reads several experts: its bytes are
 * divided as in analyze/faults.h (TT_FAULTS_BY_EXPERT), so they are an estimate. */
#ifndef TT_ANALYZE_EXPERT_READS_H
#define TT_ANALYZE_EXPERT_READS_H

#include "analyze/over.h"
#include "analyze/routers.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct tt_expert_reads {
    bool observed;   /* of some op that read experts */
    uint64_t *bytes; /* by expert: at its layer's first_count + its number */
} tt_expert_reads;

/* For the ops whose token and phase pass the filter. Needs a clock. out->bytes is for free(), also
 * after an error. `over` may be NULL. */
tt_status tt_expert_reads_measure(const tt_model *m, const tt_filter *filter,
                                  const tt_router_layer *layers, size_t n_layers,
                                  const tt_over *over, tt_expert_reads *out, tt_error *err);

#endif
