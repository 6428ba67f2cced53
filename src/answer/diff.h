/* The result of comparing two runs: sentences, and `tensortrace diff --json`. */
#ifndef TT_ANSWER_DIFF_H
#define TT_ANSWER_DIFF_H

#include "analyze/diff/columns.h"
#include "analyze/diff/diff.h"
#include "base/json.h"
#include "table/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tt_diff_view {
    const tt_diff *d;
    const char *const *paths; /* by file, of A first */
    uint64_t limit;           /* rows of a table; 0: all */
    bool strict;
} tt_diff_view;

/* The overall outcome. */
typedef enum tt_diff_outcome {
    TT_DIFF_ALIKE,
    TT_DIFF_DIFFERS, /* what was computed differs or, significantly, the times; with strict: not
                        significantly alike */
    TT_DIFF_UNKNOWN  /* too little was recorded */
} tt_diff_outcome;
tt_diff_outcome tt_diff_outcome_of(const tt_diff_view *v);

#define TT_DIFF_SENTENCE 1024
/* The unit of this phase's times: "generated token", if each batch was one; "generated batch",
 * "prompt batch", "computation". The short unit lacks the phase: "token", "batch". */
const char *tt_diff_unit(const tt_diff_phase *p);
const char *tt_diff_short_unit(const tt_diff_phase *p);
/* The verdict: what differs in time, and where. */
char *tt_diff_write_times(const tt_diff_view *v, char out[TT_DIFF_SENTENCE]);
/* The verdict on what was computed. */
char *tt_diff_write_structure(const tt_diff_view *v, char out[TT_DIFF_SENTENCE]);
/* Whether a side has fewer than the 5 runs that a test by their order takes on a busy machine. */
bool tt_diff_few_runs(const tt_diff_view *v);
/* Notes for reading the figures: the i-th of TT_DIFF_NOTES. False: it does not apply. */
#define TT_DIFF_NOTES 48u
bool tt_diff_note(const tt_diff_view *v, unsigned i, char out[TT_DIFF_SENTENCE]);

/* Likewise for the marks in the tables of the verdict's phase; on a page, marked rows are bold. */
#define TT_DIFF_LEGEND 3u
bool tt_diff_legend(const tt_diff_view *v, unsigned i, bool page, char out[TT_DIFF_SENTENCE]);

/* Writes one object. */
void tt_diff_json(tt_json *j, const tt_diff_view *v);

#endif
