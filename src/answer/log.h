/* Ops, one by one: the rows of `tensortrace log`. */
#ifndef TT_ANSWER_LOG_H
#define TT_ANSWER_LOG_H

#include "analyze/access.h"
#include "analyze/log/log.h"
#include "base/bytes.h"
#include "base/json.h"
#include "table/table.h"

typedef struct tt_log_row {
    const tt_log_op *row;
    const tt_op *op;           /* the row's, with what was observed of its picks applied */
    const tt_access *accesses; /* of its weights, when it picks rows or experts */
    size_t n_accesses;
    tt_bytes *text; /* of the caller: for columns of CSV that are put together, one at a time */
} tt_log_row;

extern const tt_schema tt_log_schema;
/* One row, which the caller may fill anew; lists of it stay. by_lane: a row a thread. */
tt_rowset tt_log_rowset(const tt_model *m, const tt_log_row *row, bool by_lane);

/* One op as an object. op: the row's, with what was observed of its picks applied; accesses: of
 * its weights, when it picks rows or experts. */
void tt_log_json_op(tt_json *j, const tt_model *m, const tt_log_op *row, const tt_op *op,
                    const tt_access *accesses, size_t n);
/* Keys of the object under way: what a tensor is and where its bytes lie. */
void tt_log_json_place(tt_json *j, const tt_model *m, const tt_graph *g, uint32_t tensor);

#endif
