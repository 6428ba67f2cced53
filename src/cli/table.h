/* Tables for people, fitted to the terminal's width. */
#ifndef TT_CLI_TABLE_H
#define TT_CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct tt_table tt_table;

/* Where there is not enough space, columns are left out: texts that are the same in all rows, then
 * WIDEST, then WIDE, then the others, each from the last one; then texts become narrower, and names
 * (KEY) last of all. Numbers are whole or not there. */
enum {
    TT_COLUMN_LEFT = 0,
    TT_COLUMN_RIGHT = 1,   /* numbers */
    TT_COLUMN_SHRINK = 2,  /* a text that may be shortened (with an ellipsis) */
    TT_COLUMN_KEY = 4,     /* identifies the row: never left out; with SHRINK shortened last, where
                              cells differ least */
    TT_COLUMN_WIDE = 8,    /* left out before others, ... */
    TT_COLUMN_WIDEST = 16, /* ... and these before those */
    TT_COLUMN_IF_KNOWN = 32, /* left out if all its cells are empty or "-": unknown */
    TT_COLUMN_KEEP = 64,     /* never left out */
    TT_COLUMN_WRAP = 128     /* sentences: continued in the next line, not left out or shortened */
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
/* Lines of text, wrapped to tt_table_width; continuation lines are indented by `indent`. Words that
 * are too long are not broken, nor is a number parted from its unit. */
void tt_table_text(FILE *out, size_t indent, const char *text);
void tt_table_printf(FILE *out, size_t indent, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Such a line, "what         the text": without control bytes, and continued below the text. */
void tt_table_line(FILE *out, const char *what, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Prints and frees. False if memory ran out or the output failed. */
bool tt_table_print(tt_table *t);

#endif
