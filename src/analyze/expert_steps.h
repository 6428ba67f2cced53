/* Experts from token to token, and over a run: which follow which, and how their use changes. */
#ifndef TT_ANALYZE_EXPERT_STEPS_H
#define TT_ANALYZE_EXPERT_STEPS_H

#include "analyze/routers.h"
#include "base/status.h"
#include "table/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of tokens that chose one expert, those whose next token chose another, or it again. */
typedef struct tt_expert_step {
    const char *domain; /* of the tokens; NULL: of one trace */
    int32_t layer_id;
    uint32_t expert_id, next_expert_id;
    uint64_t count, followed; /* of so many tokens that have a next one */
    double share;             /* P(next | expert); NAN: none has */
    double lift;              /* of what it would be by chance: P(next); NAN likewise */
} tt_expert_step;

/* An expert in some batches one after the other; or in one of so many stretches of a domain's runs,
 * which are then added up. */
typedef struct tt_expert_span {
    const char *domain; /* NULL: of one trace */
    int32_t layer_id;
    uint32_t expert_id;
    uint32_t first_batch_id, last_batch_id; /* of one trace */
    uint32_t stretch;                       /* of a domain: from 0 */
    uint64_t tokens, count;                 /* that were routed, and of these that chose it */
    double share;                           /* of the choices; NAN without any */
} tt_expert_span;

/* All that occurred in the layer whose transitions were kept. *out is freed. */
tt_status tt_expert_steps_make(const tt_routers *r, tt_expert_step **out, size_t *n, tt_error *err);
/* Of `parts` stretches of the trace's batches that pass the filter, as equal as can be: all experts
 * of the filter's layer. Reads the trace. *out is freed. */
tt_status tt_expert_spans_make(const tt_model *m, const tt_filter *filter, uint32_t parts,
                               tt_expert_span **out, size_t *n, tt_error *err);

/* The batches of one of `parts` stretches, as a filter. False: there are fewer batches, and this
 * stretch has none of its own. */
bool tt_expert_stretch(const tt_model *m, const tt_filter *filter, uint32_t parts, uint32_t i,
                       tt_filter *out);
/* How often (count > 0) it follows, of `followed`; `uses` of all `tokens` chose the next expert. */
tt_expert_step tt_expert_step_of(uint64_t count, uint64_t followed, uint64_t uses, uint64_t tokens);

/* Kinds of rowset. */
enum { TT_EXPERTS_OF_TRACE = 1, TT_EXPERTS_OF_DOMAINS = 2 };
extern const tt_schema tt_expert_step_schema, tt_expert_span_schema;

#endif
