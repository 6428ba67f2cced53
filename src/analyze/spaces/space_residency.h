/* How much of each unit of a map (spaces.h) was in RAM at a moment: of model files, and of buffers
 * that are mappings of them. Pages are counted in whole bytes, see residency.h. */
#ifndef TT_ANALYZE_SPACE_RESIDENCY_H
#define TT_ANALYZE_SPACE_RESIDENCY_H

#include "analyze/spaces/spaces.h"

#include <stdbool.h>
#include <stdint.h>

/* The moment: the last sample of each file ... */
typedef struct tt_space_moment {
    bool has_batch;
    uint32_t token; /* ... of this batch (its number) or before it */
    bool has_ns;
    double ns; /* ... that began at this time, since the trace's first batch, or before it */
} tt_space_moment;

typedef struct tt_unit_residency {
    uint64_t observed_bytes; /* of the unit: pages that were looked at; 0: nothing is known */
    uint64_t resident_bytes;
} tt_unit_residency;

typedef struct tt_space_residency {
    tt_unit_residency *units; /* n_units of the map */
    uint32_t *samples;        /* by model file: its sample's first record, in tt_model.residencies,
                                 or TT_NONE: there was none yet */
} tt_space_residency;

/* Zero-filled, or freed with tt_space_residency_free, also after an error. */
tt_status tt_space_residency_find(const tt_model *m, const tt_spaces *s,
                                  const tt_space_moment *moment, tt_space_residency *out,
                                  tt_error *err);
void tt_space_residency_free(tt_space_residency *r);

#endif
