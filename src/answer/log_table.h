/* Rows of the log as lines of a table: CSV (RFC 4180, lines ending in LF alone), or tab-separated
 * values, where a tab, a line end or a backslash in a text is \t, \n, \r, \\. What was not observed
 * is an empty field. The columns are called as the keys of tt_log_json_op. */
#ifndef TT_ANSWER_LOG_TABLE_H
#define TT_ANSWER_LOG_TABLE_H

#include "analyze/log/log.h"
#include "base/bytes.h"

typedef enum tt_log_table { TT_LOG_CSV, TT_LOG_TSV } tt_log_table;

void tt_log_table_header(tt_bytes *out, tt_log_table format, bool by_lane);
/* op: the row's, with what was observed of its picks applied. Failure is out->failed. */
void tt_log_table_row(tt_bytes *out, tt_log_table format, const tt_model *m, const tt_log_op *row,
                      const tt_op *op);

#endif
