/* The result of comparing two runs: sentences, and `tensortrace diff --json`. */
#ifndef TT_ANSWER_DIFF_H
#define TT_ANSWER_DIFF_H

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
    TT_DIFF_DIFFERS, /* what was computed or, for sure, the times; with strict: not surely alike */
    TT_DIFF_UNKNOWN  /* too little was recorded */
} tt_diff_outcome;
tt_diff_outcome tt_diff_outcome_of(const tt_diff_view *v);

#define TT_DIFF_SENTENCE 1024
/* The unit of this phase's times: "generated token", if each batch was one; "generated batch",
 * "prompt batch", "computation". The short unit lacks the phase: "token", "batch". */
const char *tt_diff_unit(const tt_diff_phase *p);
const char *tt_diff_short_unit(const tt_diff_phase *p);
/* The verdict: what differs in time, and where. */
char *tt_diff_say_times(const tt_diff_view *v, char out[TT_DIFF_SENTENCE]);
/* The verdict on what was computed. */
char *tt_diff_say_structure(const tt_diff_view *v, char out[TT_DIFF_SENTENCE]);
/* Notes for reading the figures: the i-th of TT_DIFF_NOTES. False: it does not apply. */
#define TT_DIFF_NOTES 48u
bool tt_diff_note(const tt_diff_view *v, unsigned i, char out[TT_DIFF_SENTENCE]);

/* Likewise for the marks in the tables of the verdict's phase; on a page, marked rows are bold. */
#define TT_DIFF_LEGEND 4u
bool tt_diff_legend(const tt_diff_view *v, unsigned i, bool page, char out[TT_DIFF_SENTENCE]);

/* "generate", "prompt"; "unknown phase" */
const char *tt_diff_phase_title(unsigned phase);
/* "+12.3 %", "2.31 x"; "" for NAN */
#define TT_DIFF_PERCENT 24
char *tt_diff_percent(char out[TT_DIFF_PERCENT], double change);
/* Describes a node's change: "type f16 -> q8_0, fused differently". */
char *tt_diff_say_change(const tt_diff_change *c, char *out, size_t room);

extern const tt_schema tt_diff_row_schema;
/* The rows of a phase's times; the phase must outlive them, as below. */
tt_rowset tt_diff_rowset(const tt_diff_phase *p, tt_diff_family family);
/* n phases from the i-th on; with time columns if the i-th has any. */
tt_rowset tt_diff_phases(const tt_diff *d, size_t i, size_t n);
/* Data besides the ops: of buffers, those that pass tt_diff_has_buffers; of faults, the first
 * row is the total. */
tt_rowset tt_diff_settings(const tt_diff_around *x);
tt_rowset tt_diff_buffers(const tt_diff_around *x);
tt_rowset tt_diff_faults(const tt_diff_around *x);
tt_rowset tt_diff_routing(const tt_diff_around *x);
bool tt_diff_has_buffers(const void *context, const void *row);
bool tt_diff_buffers_differ(const void *context, const void *row);

/* Writes one object. */
void tt_diff_json(tt_json *j, const tt_diff_view *v);

#endif
