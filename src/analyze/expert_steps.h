/* Experts from token to token, and over a run: which follow which, and how their use changes. */
#ifndef TT_ANALYZE_EXPERT_STEPS_H
#define TT_ANALYZE_EXPERT_STEPS_H

#include "analyze/routers.h"
#include "base/status.h"
#include "table/table.h"

#include <stddef.h>
#include <stdint.h>

/* Of tokens that chose one expert, those whose next token chose another, or it again. */
typedef struct tt_expert_step {
    int32_t layer_id;
    uint32_t expert_id, next_expert_id;
    uint64_t count, followed; /* of so many tokens that have a next one */
    double share;             /* P(next | expert); NAN: none has */
    double lift;              /* of what it would be by chance: P(next); NAN likewise */
} tt_expert_step;

/* An expert in some batches one after the other. */
typedef struct tt_expert_span {
    int32_t layer_id;
    uint32_t expert_id, first_batch_id, last_batch_id;
    uint64_t tokens, count; /* that were routed, and of these that chose it */
    double share;           /* of the choices; NAN without any */
} tt_expert_span;

/* All that occurred in the layer whose transitions were kept. *out is freed. */
tt_status tt_expert_steps_make(const tt_routers *r, tt_expert_step **out, size_t *n, tt_error *err);
/* Of `parts` stretches of the trace's batches that pass the filter, as equal as can be: all experts
 * of the filter's layer. Reads the trace. *out is freed. */
tt_status tt_expert_spans_make(const tt_model *m, const tt_filter *filter, uint32_t parts,
                               tt_expert_span **out, size_t *n, tt_error *err);

extern const tt_schema tt_expert_step_schema, tt_expert_span_schema;

#endif
