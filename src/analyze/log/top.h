/* The rows of a log in another order than that of time: the first few thousand, found in one pass
 * over the records with a bounded heap. */
#ifndef TT_ANALYZE_LOG_TOP_H
#define TT_ANALYZE_LOG_TOP_H

#include "analyze/filter.h"
#include "analyze/log/log.h"
#include "analyze/over.h"
#include "base/status.h"
#include "model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Limit of rows: some 100 MB. */
#define TT_LOG_TOP_MAX 1000000u

typedef enum tt_log_by {
    TT_LOG_BY_DURATION,
    TT_LOG_BY_BUSY,
    TT_LOG_BY_WAIT,
    TT_LOG_BY_OFF_CPU,
    TT_LOG_BY_BYTES /* of weights, as the op read them */
} tt_log_by;

typedef struct tt_log_sort {
    tt_log_by by;
    bool ascending;
} tt_log_sort;

typedef struct tt_log_top_row {
    tt_log_item item;
    uint64_t value;
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

/* The keys that tt_log_sort_of reads; NULL: no more. */
const char *tt_log_sort_key(size_t i);
/* Reads the key of a column of the log, with "+" in front for the smallest first: "duration_ns",
 * "busy_ns", "wait_ns", "off_cpu_ns", "weight_bytes"; or the column's title in text. TT_E_USAGE if
 * it is another one (err may be NULL). */
tt_status tt_log_sort_of(const char *text, tt_log_sort *out, tt_error *err);

/* The first `limit` rows (1 to TT_LOG_TOP_MAX). order: tt_log_order. Free `out` with
 * tt_log_top_free, also after a failure. */
tt_status tt_log_top_find(const tt_model *m, const tt_filter *filter, bool by_lane,
                          const uint32_t *order, tt_log_sort sort, size_t limit,
                          const tt_over *over, tt_log_top *out, tt_error *err);
void tt_log_top_free(tt_log_top *t);

#endif
