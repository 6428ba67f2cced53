/* Alignment of two sequences. */
#ifndef TT_ANALYZE_DIFF_STRUCTURE_H
#define TT_ANALYZE_DIFF_STRUCTURE_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/* Table cells for an interval without anchors; larger ones are aligned by each key's occurrence
 * number. */
#define TT_ALIGN_CELLS_MAX ((size_t)4 << 20)

/* Matches elements with equal keys: match[i] of a's i-th element is an index in b, or TT_NONE.
 * Matches never cross, and existing ones stay. Between neighbouring matches, keys that occur once
 * on each side are matched first, in their longest common order (patience diff); then the gaps by
 * the longest common subsequence. n_a, n_b < TT_NONE. */
tt_status tt_align(const uint64_t *a, size_t n_a, const uint64_t *b, size_t n_b, uint32_t *match,
                   tt_error *err);

#endif
