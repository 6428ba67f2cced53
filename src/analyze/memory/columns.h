/* The memory map (analyze/memory/layout.h), for the viewer. */
#ifndef TT_ANALYZE_MEMORY_COLUMNS_H
#define TT_ANALYZE_MEMORY_COLUMNS_H

#include "analyze/memory/layout.h"
#include "base/json.h"

#include <stdbool.h>
#include <stdint.h>

/* Most tensors listed for a region. */
#define TT_MEMORY_LIST_MAX 1000u

/* Further data of the trace about this memory. */
typedef struct tt_memory_observed {
    bool experts; /* chosen experts */
    bool faults;
    bool residency;
    bool pages;   /* fault events */
    bool loading; /* pages in RAM before the first batch */
} tt_memory_observed;

/* Writes one object: segments and regions, in columns. */
void tt_memory_json(tt_json *j, const tt_model *m, const tt_memory_layout *s,
                    const tt_memory_observed *observed);
/* Writes one object: the tensors that cover a region (< n_regions). */
void tt_memory_region_json(tt_json *j, const tt_model *m, const tt_memory_layout *s,
                           uint32_t region);

#endif
