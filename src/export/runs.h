/* The graph computations of an export, in the order of their start, divided into parts. */
#ifndef TT_EXPORT_RUNS_H
#define TT_EXPORT_RUNS_H

#include "analyze/filter.h"
#include "base/status.h"
#include "model/model.h"

#include <stdint.h>

typedef struct tt_runs {
    uint32_t *order; /* in tt_model.runs: by start, then by id; those that the filter may select */
    uint32_t n;
    uint32_t *parts; /* n_parts + 1 indices in `order`: part i is parts[i] .. parts[i + 1] - 1 */
    uint32_t n_parts;
} tt_runs;

/* Divides so that each part has about that many records, and at least one run. filter NULL:
 * everything. Freed with tt_runs_free, also after a failure. */
tt_status tt_runs_divide(tt_runs *r, const tt_model *m, const tt_filter *filter,
                         uint64_t records_a_part, tt_error *err);
void tt_runs_free(tt_runs *r);

#endif
