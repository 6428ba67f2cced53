/* Tables for people, fitted to the terminal's width. */
#ifndef TT_CLI_TABLE_H
#define TT_CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct tt_table tt_table;

enum {
    TT_COLUMN_LEFT = 0,
    TT_COLUMN_RIGHT = 1,    /* numbers */
    TT_COLUMN_SHRINK = 2,   /* may be shortened (with an ellipsis) if there is not enough space */
    TT_COLUMN_KEY = 4,      /* with SHRINK: identifies the row, so it is shortened last, where cells
                               differ least */
    TT_COLUMN_WIDE = 8,     /* left out if there is not enough space: the last first, ... */
    TT_COLUMN_WIDEST = 16,  /* ... but after those that are left out first */
    TT_COLUMN_IF_KNOWN = 32 /* left out if all its cells are empty or "-": unknown */
};

/* A table on `out`, as wide as COLUMNS or the terminal; without either, in a file or a pipe,
 * nothing is shortened or left out. NULL if out of memory. */
tt_table *tt_table_new(FILE *out);
void tt_table_column(tt_table *t, const char *title, int flags);
/* One row; as many texts as there are columns, each copied. NULL prints empty. */
void tt_table_row(tt_table *t, const char *const *cells);
/* Columns of a line of a table on `out`; 0: no limit. For tables that leave out columns if there is
 * not enough space. */
size_t tt_table_width(FILE *out);
/* A line of text, wrapped to tt_table_width; continuation lines are indented by `indent`. Words
 * that are too long are not broken. */
void tt_table_text(FILE *out, size_t indent, const char *text);
/* Such a line, "what         the text": without control bytes, and continued below the text. */
void tt_table_line(FILE *out, const char *what, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Prints and frees. False if memory ran out or the output failed. */
bool tt_table_print(tt_table *t);

#endif
