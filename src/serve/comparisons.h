/* Comparisons of two served traces, each computed once and kept as the JSON that is answered. */
#ifndef TT_SERVE_COMPARISONS_H
#define TT_SERVE_COMPARISONS_H

#include "base/bytes.h"
#include "base/status.h"
#include "serve/comparison_make.h"
#include "serve/request.h"

/* Comparisons that are kept of one trace, with others or by other standards; of more, those that
 * were not asked for the longest are forgotten. */
#define TT_COMPARISONS_KEPT 4u
/* The JSON of one: some 70,000 rows. */
#define TT_COMPARISON_BYTES_MAX ((size_t)48 << 20)

/* Puts the JSON of that part of comparing q->m (A) with q->other (B) into *out. The first who asks
 * computes it, others wait. A failure is not kept. TT_E_NOT_FOUND when nothing can be compared. */
tt_status tt_comparison_get(tt_request *q, const tt_comparison_options *o, tt_comparison_part part,
                            tt_bytes *out, tt_error *err);

#endif
