/* The rows of a log in another order than that of time: the first few thousand, found in one pass
 * over the records with a bounded heap. */
#ifndef TT_ANALYZE_LOG_TOP_H
#define TT_ANALYZE_LOG_TOP_H

#include "analyze/filter.h"
#include "analyze/log/log.h"
#include "analyze/over.h"
#include "base/status.h"
#include "model/model.h"
#include "table/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Limit of rows: some 100 MB. */
#define TT_LOG_TOP_MAX 1000000u

typedef struct tt_log_top_row {
    tt_log_item item;
    uint64_t value;    /* private: in the order of the cells */
    uint32_t run;      /* in m->runs */
    uint32_t position; /* of the run, in the order of time */
    bool known;        /* the value; else it comes after all others */
} tt_log_top_row;

typedef struct tt_log_top {
    tt_log_top_row *rows; /* in order; equal ones by time */
    size_t n;
    uint64_t n_all;    /* rows that pass the filter, as far as they can be read */
    tt_error ended_by; /* why later ones cannot be read */
} tt_log_top;

/* The first `limit` rows (1 to TT_LOG_TOP_MAX). sort: a column of tt_log_rowset. order:
 * tt_log_order. Free `out` with tt_log_top_free, also after a failure. */
tt_status tt_log_top_find(const tt_model *m, const tt_filter *filter, bool by_lane,
                          const uint32_t *order, tt_sort_key sort, size_t limit,
                          const tt_over *over, tt_log_top *out, tt_error *err);
void tt_log_top_free(tt_log_top *t);

#endif
