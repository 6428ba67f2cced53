/* The rows of a log, one by one: as CSV, tab-separated text or JSON. */
#ifndef TT_ANSWER_LOG_H
#define TT_ANSWER_LOG_H

#include "analyze/log/columns.h"
#include "analyze/log/log.h"
#include "base/bytes.h"
#include "base/json.h"
#include "base/status.h"
#include "table/table.h"

#include <stdbool.h>
#include <stdio.h>

typedef enum tt_log_format {
    TT_LOG_TEXT, /* nothing is written: the caller shows `row` with the columns of `list` */
    TT_LOG_CSV,
    TT_LOG_TSV,
    TT_LOG_JSON
} tt_log_format;

typedef struct tt_log_writer {
    tt_log_format format;
    tt_log_row row; /* the last one; `places` and `hex` are the caller's */
    tt_listing list;
    /* Private: */
    FILE *out;
    tt_rowset set;
    tt_log_picks picks;
    tt_bytes text, cell;
    tt_json json;
} tt_log_writer;

/* TT_E_USAGE if there is no such column. columns: NULL: all, in text the listing's default. Free
 * with tt_log_writer_close in every case. It must not be moved, and m must outlive it. */
tt_status tt_log_writer_open(tt_log_writer *w, const tt_model *m, bool by_lane,
                             tt_log_format format, const char *columns, FILE *out, tt_error *err);
void tt_log_writer_close(tt_log_writer *w);
/* The following rows are of another share of the same model; m is NULL between the two. */
void tt_log_writer_model(tt_log_writer *w, const tt_model *m);

/* What is before the rows, with the trace's path; each row; what is behind them. more: rows are
 * left out. Errors of `out` are its own until the end. */
void tt_log_writer_begin(tt_log_writer *w, const char *path);
tt_status tt_log_writer_put(tt_log_writer *w, const tt_log_op *op, tt_error *err);
tt_status tt_log_writer_end(tt_log_writer *w, bool more, tt_error *err);

#endif
