/* Single ops: the rows of `tensortrace log`. */
#ifndef TT_ANALYZE_LOG_COLUMNS_H
#define TT_ANALYZE_LOG_COLUMNS_H

#include "analyze/access.h"
#include "analyze/log/log.h"
#include "base/bytes.h"
#include "base/json.h"
#include "table/table.h"

typedef struct tt_log_row {
    const tt_log_op *row;
    const tt_op *op;           /* the row's op, with its observed selections applied */
    const tt_access *accesses; /* to its weights, if it selects rows or experts */
    size_t n_accesses;
    bool places;    /* in text: locations and sizes of sources and destination */
    bool hex;       /* offsets in hexadecimal, except in JSON */
    tt_bytes *text; /* the caller's: for composed CSV columns, one at a time */
} tt_log_row;

extern const tt_schema tt_log_schema;
/* One row, which the caller may refill; listings of it stay valid. by_lane: a row per thread. */
tt_rowset tt_log_rowset(const tt_model *m, const tt_log_row *row, bool by_lane);

/* Writes an op as an object. op: the row's, with its observed selections applied; accesses: to its
 * weights, if it selects rows or experts. */
void tt_log_json_op(tt_json *j, const tt_model *m, const tt_log_op *row, const tt_op *op,
                    const tt_access *accesses, size_t n);

#endif
