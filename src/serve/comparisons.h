/* Comparisons of two served traces, each computed once and cached as its JSON reply. */
#ifndef TT_SERVE_COMPARISONS_H
#define TT_SERVE_COMPARISONS_H

#include "base/bytes.h"
#include "base/status.h"
#include "serve/request.h"

#include <stdbool.h>
#include <stdint.h>

/* Two traces compared, as the JSON of diff, of diff/batches and of diff/values. */

typedef enum tt_comparison_part {
    TT_COMPARISON_TABLES, /* as `tensortrace diff --json` prints it; for values, as `diff --values
                             --json` does, the only part */
    TT_COMPARISON_TOKENS, /* the lines: docs/api-http.md, diff/batches */
    TT_COMPARISON_PARTS
} tt_comparison_part;

/* Standards of a comparison, see analyze/diff/diff.h. */
typedef struct tt_comparison_options {
    double threshold;
    double level;
    bool values;    /* compares outputs, with the tolerances of their types, instead of times; the
                       two above are ignored */
    uint32_t items; /* for values: the number of unequal ones to list */
} tt_comparison_options;

/* Cached comparisons per trace, with others or other standards; the least recently used is
 * evicted. */
#define TT_COMPARISONS_KEPT 4u
/* The JSON of one: some 70,000 rows. */
#define TT_COMPARISON_BYTES_MAX ((size_t)48 << 20)

/* Puts the JSON of that part of comparing q->m (A) with q->other (B) into *out. The first request
 * computes it, others wait. Failures are not cached. TT_E_NOT_FOUND if nothing can be compared. */
tt_status tt_comparison_get(tt_request *q, const tt_comparison_options *o, tt_comparison_part part,
                            tt_bytes *out, tt_error *err);

#endif
