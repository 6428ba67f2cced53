/* Experts from token to token, and over a run: transitions, and how their use changes. */
#ifndef TT_ANALYZE_EXPERT_STEPS_H
#define TT_ANALYZE_EXPERT_STEPS_H

#include "analyze/routers.h"
#include "base/status.h"
#include "table/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of tokens that chose one expert, those whose next token chose another one, or the same. */
typedef struct tt_expert_step {
    const char *domain; /* of the tokens; NULL: a single trace */
    int32_t layer_id;
    uint32_t expert_id, next_expert_id;
    uint64_t count, followed; /* followed: tokens that have a next one */
    double share;             /* P(next | expert); NAN: none has */
    double lift;              /* relative to chance, P(next); NAN likewise */
} tt_expert_step;

/* An expert in consecutive batches of a trace; or in one of several intervals of a domain's runs,
 * added up. */
typedef struct tt_expert_span {
    const char *domain; /* NULL: a single trace */
    int32_t layer_id;
    uint32_t expert_id;
    uint32_t first_batch_id, last_batch_id; /* of one trace */
    uint32_t interval;                      /* of a domain: from 0 */
    uint64_t tokens, count;                 /* routed tokens, and those of them that chose it */
    double share;                           /* of the choices; NAN if there are none */
} tt_expert_span;

/* All transitions in the layer for which they were kept. The caller frees *out. */
tt_status tt_expert_steps_make(const tt_routers *r, tt_expert_step **out, size_t *n, tt_error *err);
/* Of `parts` intervals of nearly equal size of the trace's batches that pass the filter: all
 * experts of the filter's layer. Reads the trace. The caller frees *out. */
tt_status tt_expert_spans_make(const tt_model *m, const tt_filter *filter, uint32_t parts,
                               tt_expert_span **out, size_t *n, tt_error *err);

/* The batches of one of `parts` intervals, as a filter. False: there are fewer batches, and this
 * interval has none. */
bool tt_expert_interval(const tt_model *m, const tt_filter *filter, uint32_t parts, uint32_t i,
                        tt_filter *out);
/* It follows `count` > 0 times, of `followed`; `uses` of all `tokens` chose the next expert. */
tt_expert_step tt_expert_step_of(uint64_t count, uint64_t followed, uint64_t uses, uint64_t tokens);

/* Kinds of rowset. */
enum { TT_EXPERTS_OF_TRACE = 1, TT_EXPERTS_OF_DOMAINS = 2 };
extern const tt_schema tt_expert_step_schema, tt_expert_span_schema;

#endif
