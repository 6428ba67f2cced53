/* The memory as a map (analyze/memory/memory_layout.h), for the viewer. */
#ifndef TT_ANSWER_MEMORY_H
#define TT_ANSWER_MEMORY_H

#include "analyze/memory/memory_layout.h"
#include "base/json.h"

#include <stdbool.h>
#include <stdint.h>

/* Tensors that are listed of one region, at most. */
#define TT_MEMORY_LIST_MAX 1000u

/* What else the trace knows of this memory. */
typedef struct tt_memory_observed {
    bool experts; /* which experts were chosen */
    bool faults;
    bool residency;
} tt_memory_observed;

/* One object: segments and regions, in columns. */
void tt_memory_json(tt_json *j, const tt_model *m, const tt_memory_layout *s,
                    const tt_memory_observed *observed);
/* One object: the tensors that cover a region (< n_regions). */
void tt_memory_region_json(tt_json *j, const tt_model *m, const tt_memory_layout *s,
                           uint32_t region);

#endif
