/* The memory as a map (analyze/spaces/spaces.h), for the viewer. */
#ifndef TT_ANSWER_SPACES_H
#define TT_ANSWER_SPACES_H

#include "analyze/spaces/spaces.h"
#include "base/json.h"

#include <stdbool.h>
#include <stdint.h>

/* Tensors that are listed of one region, at most. */
#define TT_SPACES_LIST_MAX 1000u

/* What else the trace knows of this memory. */
typedef struct tt_spaces_observed {
    bool experts; /* which experts were chosen */
    bool faults;
    bool residency;
} tt_spaces_observed;

/* One object: spaces and regions, in columns. */
void tt_spaces_json(tt_json *j, const tt_model *m, const tt_spaces *s,
                    const tt_spaces_observed *observed);
/* One object: the tensors that cover a region (< n_regions). */
void tt_spaces_region_json(tt_json *j, const tt_model *m, const tt_spaces *s, uint32_t region);

#endif
