/* Tables for people: columns that fit the terminal's width. */
#ifndef TT_CLI_TABLE_H
#define TT_CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct tt_table tt_table;

enum {
    TT_COLUMN_LEFT = 0,
    TT_COLUMN_RIGHT = 1, /* numbers */
    TT_COLUMN_SHRINK = 2 /* may be cut (with an ellipsis) when the terminal is narrow */
};

/* A table on `out`. When `out` is a terminal its width (or COLUMNS) is kept; in a file
 * or a pipe nothing is cut. NULL when out of memory. */
tt_table *tt_table_new(FILE *out);
void tt_table_column(tt_table *t, const char *title, int flags);
/* One row; as many texts as there are columns, each copied. NULL prints empty. */
void tt_table_row(tt_table *t, const char *const *cells);
/* Places in a line of a table on `out`; 0: no limit. For tables that leave columns
 * out where there is little room. */
size_t tt_table_width(FILE *out);
/* Prints and frees. False when memory ran out or the output failed. */
bool tt_table_print(tt_table *t);

#endif
