/* Two traces compared, as the JSON of diff and of diff/tokens. */
#ifndef TT_SERVE_COMPARISON_MAKE_H
#define TT_SERVE_COMPARISON_MAKE_H

#include "base/bytes.h"
#include "base/status.h"
#include "serve/request.h"

typedef enum tt_comparison_part {
    TT_COMPARISON_TABLES, /* as `tensortrace diff --json` prints it */
    TT_COMPARISON_TOKENS, /* the lines: docs/api-http.md, diff/tokens */
    TT_COMPARISON_PARTS
} tt_comparison_part;

/* Standards of a comparison, see analyze/diff.h. */
typedef struct tt_comparison_options {
    double threshold;
    double level;
} tt_comparison_options;

/* Compares q->m (A) with q->other (B) and appends the JSON to the parts, each within its limit.
 * TT_E_NOT_FOUND when there is nothing to compare, TT_E_IO when nobody waits for it any more. */
tt_status tt_comparison_make(tt_request *q, const tt_comparison_options *o,
                             tt_bytes parts[TT_COMPARISON_PARTS], tt_error *err);

#endif
