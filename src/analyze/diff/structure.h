/* Two sequences put beside one another. */
#ifndef TT_ANALYZE_DIFF_STRUCTURE_H
#define TT_ANALYZE_DIFF_STRUCTURE_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/* The cells of a table that an interval without anchors may take; larger ones are aligned by how
 * often a key has come before. */
#define TT_ALIGN_CELLS_MAX ((size_t)4 << 20)

/* Matches elements with equal keys: match[i] of a's i-th element is an index in b, or TT_NONE.
 * Matches never cross, and those that are there already stay: between each two neighbouring ones,
 * keys that come once on each side are matched first, in the longest order they share (patience
 * diff); what is left between them by the longest common subsequence. n_a, n_b < TT_NONE. */
tt_status tt_align(const uint64_t *a, size_t n_a, const uint64_t *b, size_t n_b, uint32_t *match,
                   tt_error *err);

#endif
