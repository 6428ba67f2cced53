/* In what order a file is read: one read after the other. */
#ifndef TT_ANALYZE_HEAT_STEPS_H
#define TT_ANALYZE_HEAT_STEPS_H

#include "analyze/heat.h"

/* The reads [begin, end) of a file, in order; `file` counts from 0. `span_bytes`: from the first to
 * the last byte that is read of that file. Zero-filled is ready; `last` is the read before. */
typedef struct tt_heat_place {
    uint32_t file;
    uint64_t begin, end;
    uint64_t span_bytes;
} tt_heat_place;

void tt_heat_step(tt_heat_steps *steps, const tt_heat_place *last, const tt_heat_place *next);

#endif
