/* The result of comparing values: sentences, and `tensortrace diff --values --json`. */
#ifndef TT_ANSWER_VALUEDIFF_H
#define TT_ANSWER_VALUEDIFF_H

#include "analyze/dumps/valuediff.h"
#include "analyze/dumps/valuediff_columns.h"
#include "base/json.h"
#include "table/table.h"

#include <stdbool.h>
#include <stddef.h>

/* The overall outcome. */
typedef enum tt_valuediff_outcome {
    TT_VALUEDIFF_EQUAL,   /* all compared values are equal */
    TT_VALUEDIFF_CLOSE,   /* within the tolerances */
    TT_VALUEDIFF_TOKENS,  /* within the tolerances until the tokens differ */
    TT_VALUEDIFF_DIFFERS, /* a value diverges (tt_value_diverges) */
    TT_VALUEDIFF_NOTHING  /* nothing was compared */
} tt_valuediff_outcome;
tt_valuediff_outcome tt_valuediff_outcome_of(const tt_valuediff *d);
const char *tt_valuediff_outcome_name(
    tt_valuediff_outcome o); /* "equal" "close" "tokens" "differs" "nothing" */

#define TT_VALUEDIFF_SENTENCE 1024
/* The verdict: the first divergence and where its error is made; or that there is none, and the
 * largest error; or why nothing was compared. */
char *tt_valuediff_text(const tt_valuediff *d, char out[TT_VALUEDIFF_SENTENCE]);
/* The number of values per verdict. */
char *tt_valuediff_write_counts(const tt_valuediff *d, char out[TT_VALUEDIFF_SENTENCE]);
/* Notes for reading the result: the i-th of TT_VALUEDIFF_NOTES. False: it does not apply. */
#define TT_VALUEDIFF_NOTES 12u
bool tt_valuediff_note(const tt_valuediff *d, unsigned i, char out[TT_VALUEDIFF_SENTENCE]);
/* Writes one object. `paths`: of A and B. */
void tt_valuediff_json(tt_json *j, const tt_valuediff *d, const char *const paths[2]);

#endif
