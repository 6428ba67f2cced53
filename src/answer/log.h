/* Ops, one by one: the rows of `tensortrace log --json`. */
#ifndef TT_ANSWER_LOG_H
#define TT_ANSWER_LOG_H

#include "analyze/access.h"
#include "analyze/log/log.h"
#include "base/json.h"

/* One op as an object. op: the row's, with what was observed of its picks applied; accesses: of
 * its weights, when it picks rows or experts. */
void tt_log_json_op(tt_json *j, const tt_model *m, const tt_log_op *row, const tt_op *op,
                    const tt_access *accesses, size_t n);
/* Keys of the object under way: what a tensor is and where its bytes lie. */
void tt_log_json_place(tt_json *j, const tt_model *m, const tt_graph *g, uint32_t tensor);

#endif
