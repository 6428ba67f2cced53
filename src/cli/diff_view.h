/* What `diff` says: sentences and tables, for the terminal and for a page. */
#ifndef TT_CLI_DIFF_VIEW_H
#define TT_CLI_DIFF_VIEW_H

#include "analyze/diff.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct tt_diff_view {
    const tt_diff *d;
    const char *const *paths; /* by file, of A first */
    uint64_t limit;           /* rows of a table; 0: all */
    bool strict;
} tt_diff_view;

/* What a verdict comes to; the process's exit code. */
int tt_diff_exit_code(const tt_diff_view *v);

#define TT_DIFF_SENTENCE 1024
/* The verdict: what differs in time, and where. */
char *tt_diff_say_times(const tt_diff_view *v, char out[TT_DIFF_SENTENCE]);
/* The verdict on what was computed. */
char *tt_diff_say_structure(const tt_diff_view *v, char out[TT_DIFF_SENTENCE]);
/* What a person has to know to read the figures: how many there are, and the i-th. False: the
 * i-th does not apply. */
#define TT_DIFF_NOTES 48u
bool tt_diff_note(const tt_diff_view *v, unsigned i, char out[TT_DIFF_SENTENCE]);

/* Likewise, of the marks in the tables of the verdict's phase; on a page, marked rows are bold. */
#define TT_DIFF_LEGEND 4u
bool tt_diff_legend(const tt_diff_view *v, unsigned i, bool page, char out[TT_DIFF_SENTENCE]);

/* "generate", "prompt"; "unknown phase" */
const char *tt_diff_phase_title(unsigned phase);
/* "+12.3 %", "2.31 x"; "" for NAN */
#define TT_DIFF_PERCENT 24
char *tt_diff_percent(char out[TT_DIFF_PERCENT], double change);
/* What differs in a node: "type f16 -> q8_0, fused differently". */
char *tt_diff_say_change(const tt_diff_change *c, char *out, size_t room);

typedef struct tt_diff_column {
    const char *title;
    bool right; /* numbers */
    bool wide;  /* may be cut short on a narrow terminal */
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

void tt_diff_tables(const tt_diff_view *v, const tt_diff_sink *sink);
/* Of diff_tables.c: what is around the ops. */
void tt_diff_around_tables(const tt_diff_view *v, const tt_diff_sink *sink);

/* Each returns false when the output failed. */
bool tt_diff_print_json(const tt_diff_view *v);
bool tt_diff_print_text(const tt_diff_view *v);
bool tt_diff_write_html(const tt_diff_view *v, FILE *out);

#endif
