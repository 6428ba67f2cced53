/* Tables for people: columns that fit the terminal's width. */
#ifndef TT_CLI_TABLE_H
#define TT_CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct tt_table tt_table;

enum {
    TT_COLUMN_LEFT = 0,
    TT_COLUMN_RIGHT = 1,    /* numbers */
    TT_COLUMN_SHRINK = 2,   /* may be cut (with an ellipsis) when there is little room */
    TT_COLUMN_KEY = 4,      /* with SHRINK: tells the rows apart, so it is cut last, and where they
                             * differ      the least */
    TT_COLUMN_WIDE = 8,     /* left out where there is little room: the last of them first, ... */
    TT_COLUMN_WIDEST = 16,  /* ... but after those that are left out first */
    TT_COLUMN_IF_KNOWN = 32 /* left out when all its cells are empty or "-": unknown */
};

/* A table on `out`, as wide as COLUMNS or a terminal says; without either, in a file or a pipe,
 * nothing is cut or left out. NULL when out of memory. */
tt_table *tt_table_new(FILE *out);
void tt_table_column(tt_table *t, const char *title, int flags);
/* One row; as many texts as there are columns, each copied. NULL prints empty. */
void tt_table_row(tt_table *t, const char *const *cells);
/* Places in a line of a table on `out`; 0: no limit. For tables that leave columns
 * out where there is little room. */
size_t tt_table_width(FILE *out);
/* A line of text and its end, continued in further lines, `indent` places to the right, where it is
 * wider than tt_table_width. A word that is too long stays whole. */
void tt_table_text(FILE *out, size_t indent, const char *text);
/* Prints and frees. False when memory ran out or the output failed. */
bool tt_table_print(tt_table *t);

#endif
