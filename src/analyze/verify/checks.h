/* The checks of `verify`. Private to this room: each fills a tt_check whose name, what and verdict
 * (passed) are set. They return an error only if out of memory. */
#ifndef TT_ANALYZE_VERIFY_CHECKS_H
#define TT_ANALYZE_VERIFY_CHECKS_H

#include "analyze/verify/verify.h"

/* Counts a violation; the first one is described. */
void tt_check_offend(tt_check *c, uint64_t offset, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* False if the trace was cut off: missing data may have been after the cut. */
bool tt_check_has_end(const tt_model *m);
/* Why it has no end: `cut` unless the trace is a snapshot. */
const char *tt_check_no_end(const tt_model *m, const char *cut);
void tt_check_not_observed(tt_check *c, const char *why);
/* The trace has no such data: gives the reason, if the recorder wrote it under that environment key
 * (NULL: it has none). */
void tt_check_not_captured(const tt_model *m, const char *key, tt_check *c);

/* ops.c: */
tt_status tt_check_graph_order(const tt_model *m, tt_check *c, tt_error *err);
tt_status tt_check_times(const tt_model *m, tt_check *c, tt_error *err);
tt_status tt_check_op_count(const tt_model *m, tt_check *c, tt_error *err);
tt_status tt_check_no_zero(const tt_model *m, tt_check *c, tt_error *err);
tt_status tt_check_weights(const tt_model *m, tt_check *c, tt_error *err);
tt_status tt_check_details(const tt_model *m, tt_check *c, tt_error *err);
/* values.c: */
tt_status tt_check_values(const tt_model *m, tt_check *c, tt_error *err);
/* whole.c: */
tt_status tt_check_complete(const tt_model *m, tt_check *c, tt_error *err);
tt_status tt_check_counts(const tt_model *m, tt_check *c, tt_error *err);
tt_status tt_check_kinds(const tt_model *m, tt_check *c, tt_error *err);
tt_status tt_check_clock(const tt_model *m, tt_check *c, tt_error *err);
tt_status tt_check_endings(const tt_model *m, tt_check *c, tt_error *err);
tt_status tt_check_batches(const tt_model *m, tt_check *c, tt_error *err);
tt_status tt_check_tensors(const tt_model *m, tt_check *c, tt_error *err);
tt_status tt_check_usage(const tt_model *m, tt_check *c, tt_error *err);
tt_status tt_check_residency(const tt_model *m, tt_check *c, tt_error *err);
tt_status tt_check_text(const tt_model *m, tt_check *c, tt_error *err);
tt_status tt_check_indices(const tt_model *m, tt_check *c, tt_error *err);

#endif
