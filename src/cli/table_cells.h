/* The cells of a table (cli/table.h), and how they fit into a line's width. */
#ifndef TT_CLI_TABLE_CELLS_H
#define TT_CLI_TABLE_CELLS_H

#include "cli/table.h"

#define TT_TABLE_COLUMNS_MAX 64
#define TT_TABLE_SEPARATOR "  "
#define TT_TABLE_SEPARATOR_WIDTH 2

/* Texts of cells, one after another. */
typedef struct tt_table_pool tt_table_pool;

typedef struct tt_table_cell {
    char *text; /* in a pool */
    size_t width;
} tt_table_cell;

/* The parts of a name cut in its middle that stay: at its start and end. */
typedef struct tt_table_place {
    size_t head, tail;
} tt_table_place;

/* Cells are kept until the end, because only then the widths are known: the ellipsis of a shortened
 * cell must be inserted before libsmartcols gets the text. */
struct tt_table {
    FILE *out;
    size_t columns;
    struct {
        tt_table_cell title;
        int flags;
        size_t full;  /* the width of its widest cell */
        size_t width; /* the width it gets */
        tt_table_place at;
        bool left_out;
    } column[TT_TABLE_COLUMNS_MAX];
    tt_table_cell *cells; /* rows x columns */
    size_t rows;
    size_t capacity; /* in rows */
    tt_table_pool *pools;
    bool plain; /* all texts are ASCII: one column per byte, no escapes */
    bool failed;
};

/* Room for n bytes; NULL if out of memory. */
char *tt_table_take(tt_table *t, size_t n);
/* A text's width on a terminal. libsmartcols shows bytes that are invalid in this locale as \xNN:
 * counted as four. */
size_t tt_table_text_width(const char *s);
/* Length of a text of which each byte has width 1, without escapes (libsmartcols escapes a
 * backslash); SIZE_MAX for others. */
size_t tt_table_plain_length(const char *s);
/* Bytes of the start of a text that is at most `width` wide; *used: how wide it is. */
size_t tt_table_head(const char *text, size_t width, size_t *used);

/* Chooses the columns that are shown, their widths, and where their names are cut. 0: no limit. */
void tt_table_fit(tt_table *t, size_t limit);
/* Shortens a cell of a column to the column's width. */
void tt_table_cut(tt_table *t, size_t column, tt_table_cell *c);

#endif
