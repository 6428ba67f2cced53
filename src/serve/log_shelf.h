/* The indexes of a trace's log that were asked for last, kept for the next request. */
#ifndef TT_SERVE_LOG_SHELF_H
#define TT_SERVE_LOG_SHELF_H

#include "analyze/log/log_index.h"
#include "serve/request.h"

/* Filters whose indexes are kept. */
#define TT_LOG_SHELF_MAX 16u

typedef struct tt_log_shelf tt_log_shelf;
typedef struct tt_log_shared tt_log_shared;

/* An index that others may read at the same time, and that nobody changes until it is given back.
 */
typedef struct tt_log_loan {
    tt_log_shelf *shelf;
    tt_log_shared *shared;
    const tt_log_index *index;
    const uint32_t *order;
    tt_log_count count;
} tt_log_loan;

/* Counts rows of the request's trace under the filter for a while (a fraction of a second), or
 * until `rows` of them are known, and lends the index. */
tt_status tt_log_shelf_borrow(tt_request *q, const tt_filter *f, bool by_lane, uint64_t rows,
                              tt_log_loan *out, tt_error *err);
void tt_log_shelf_give(tt_log_loan *loan);

#endif
