/* Rows as Arrow arrays: the schema of a table, and a batch of its rows. */
#ifndef TT_ARROW_ARRAYS_H
#define TT_ARROW_ARRAYS_H

#include "export/tables/columns.h"

#include <tensortrace/arrow.h>

#include <stddef.h>
#include <stdint.h>

/* What a stream's batches have. */
typedef struct tt_arrow_shape {
    const tt_export_table *table;
    uint32_t columns[TT_COLUMNS_MAX]; /* those that are handed out, in their order */
    uint32_t n_columns;
    char run_id[33]; /* of the trace */
} tt_arrow_shape;

/* Sets the columns: keys with commas in between, NULL: all. TT_E_USAGE: there is no such column, or
 * it is named twice. */
tt_status tt_arrow_choose(tt_arrow_shape *shape, const char *columns, tt_error *err);
/* *out is released on failure. */
tt_status tt_arrow_schema(const tt_arrow_shape *shape, struct ArrowSchema *out, tt_error *err);
/* Gives the rows away: their arrays become those of *out. There is at least one. On failure *out is
 * released and the rows are gone. */
tt_status tt_arrow_batch(const tt_arrow_shape *shape, tt_rows *rows, struct ArrowArray *out,
                         tt_error *err);

#endif
