/* "blk.0.ffn_down_exps.weight[2]": expert 2 of that weight, the way `heat` writes it, as a filter.
 *
 * Which experts an op read differs from run to run, so that the op's node alone does not tell
 * (analyze/filter.h); this asks what was observed of the run. Where the choices were not observed,
 * an op may have read any expert: it passes. */
#ifndef TT_ANALYZE_SLICE_FILTER_H
#define TT_ANALYZE_SLICE_FILTER_H

#include "analyze/access.h"
#include "analyze/filter.h"

#include <stdbool.h>
#include <stddef.h>

/* Whether the text ends with "[N]", N in decimal: *length is that of what stands before it. */
bool tt_slice_name(const char *text, size_t *length, int32_t *expert);
/* Whether `name` matches the fnmatch pattern `pattern`, or, where that ends with "[N]", what stands
 * before it. */
bool tt_slice_name_matches(const char *pattern, const char *name);

/* Zero-filled but for the first two fields is ready; freed with tt_slice_filter_free. Without a
 * pattern everything passes. */
typedef struct tt_slice_filter {
    const tt_model *m;
    const char *pattern; /* as tt_filter.tensor; belongs to the caller */
    tt_accesses *accesses;
    uint32_t run_plus_1; /* that the accesses are of */
} tt_slice_filter;

/* Of the filter's `tensor`, where that names an expert. */
tt_slice_filter tt_slice_filter_of(const tt_model *m, const tt_filter *filter);
/* Whether the op of that run (in m->runs), whose names match, also read what the pattern asks for:
 * that expert, when it ends with "[N]". */
tt_status tt_slice_filter_passes(tt_slice_filter *f, uint32_t run, uint32_t node, uint8_t covers,
                                 bool *passes, tt_error *err);
void tt_slice_filter_free(tt_slice_filter *f);

#endif
