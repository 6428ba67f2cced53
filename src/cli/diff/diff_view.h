/* What `diff` says in tables, for the terminal and for a page. */
#ifndef TT_CLI_DIFF_VIEW_H
#define TT_CLI_DIFF_VIEW_H

#include "answer/diff.h"
#include "report/page.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct tt_diff_column {
    const char *title;
    bool right; /* numbers */
    bool wide;  /* may be cut short on a narrow terminal */
    int drop;   /* left out there, as TT_COLUMN_WIDE or TT_COLUMN_WIDEST say; 0: never */
} tt_diff_column;

/* Where sentences and tables go. */
typedef struct tt_diff_sink {
    void *context;
    void (*heading)(void *context, const char *text);
    void (*line)(void *context, const char *text);
    /* full_bar: what a bar of 1 stands for ("2.16 ms"); NULL: the rows have no bars. */
    void (*table)(void *context, const tt_diff_column *columns, size_t n, const char *full_bar);
    /* n texts; bar: -1 .. 1, how much of the largest change in the table; NAN: no bar. `marked`:
     * it matters. */
    void (*row)(void *context, const char *const *cells, double bar, bool marked);
    /* Before the rows that --limit would leave out, n of them ("kinds", or "" for rows): whether
     * they are wanted all the same. */
    bool (*more)(void *context, size_t n, const char *what);
    void (*table_end)(void *context);
} tt_diff_sink;

/* What is said, and of what. */
typedef void tt_diff_say(const void *view, const tt_diff_sink *sink);

/* On a terminal, or as plain text in a file. False when the output failed. */
bool tt_diff_print(FILE *out, tt_diff_say *say, const void *view);
/* As a page: its title, `n` sentences of the verdict (`same`: a good one), what `say` says after
 * what `above` (or NULL) puts there as markup, and at the end the points of "To read this".
 * False when the output failed. */
typedef struct tt_diff_page {
    const char *title;
    const char *const *verdict;
    size_t n;
    bool same;
    void (*above)(const void *view, FILE *out);
    tt_diff_say *say;
    tt_diff_say *points; /* a line a point */
} tt_diff_page;
bool tt_diff_write_page(const tt_diff_page *p, const void *view, FILE *out);

/* What `diff` says. `file`: for a page by itself, which names the runs. Opened here; closed by the
 * caller, and the view outlives it. */
void tt_diff_page_make(tt_page *p, const tt_diff_view *v, bool file);
/* That page as HTML. False when the output failed or memory ran out. */
bool tt_diff_write_html(const tt_diff_view *v, FILE *out);

#endif
