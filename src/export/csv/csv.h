/* The format `csv`. */
#ifndef TT_EXPORT_CSV_CSV_H
#define TT_EXPORT_CSV_CSV_H

#include "base/bytes.h"
#include "base/status.h"
#include "export/export.h"
#include "export/tables/columns.h"

/* Rows of a table (columns.h) as CSV: RFC 4180, but lines end in LF. A missing value is an empty
 * field; an empty text is "". */

/* A thread's state for writing. */
typedef struct tt_csv tt_csv;

/* NULL if out of memory. */
tt_csv *tt_csv_new(void);
void tt_csv_free(tt_csv *c);
/* Appends the line of the columns' names. */
void tt_csv_header(const tt_export_table *table, tt_bytes *out);
/* Appends a line for each row. */
tt_status tt_csv_put(tt_csv *c, const tt_rows *rows, tt_bytes *out, tt_error *err);

extern const tt_export_format tt_format_csv;

#endif
