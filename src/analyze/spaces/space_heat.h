/* How regions of memory are used in a part of a trace: accesses, bytes, time, first and last use
 * of each unit of a map (spaces.h), weights, caches and compute buffers alike.
 *
 * An op that uses several pieces of a unit counts once for it; its whole time counts for each unit
 * that it uses. What is summed is what tt_heat_measure sums, for weights; memory is bounded by the
 * map and the graphs, however long the trace. */
#ifndef TT_ANALYZE_SPACE_HEAT_H
#define TT_ANALYZE_SPACE_HEAT_H

#include "analyze/filter.h"
#include "analyze/over.h"
#include "analyze/spaces/spaces.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct tt_unit_use {
    uint64_t accesses; /* ops that read or wrote some of it; 0: the rest means nothing */
    uint64_t read_bytes, written_bytes;
    uint64_t touched_bytes;           /* distinct ones that were read or written */
    uint64_t timed;                   /* ops whose end was seen ... */
    uint64_t ticks;                   /* ... and their time */
    uint64_t first_ticks, last_ticks; /* begin of the first and of the last op */
    uint32_t first_batch, last_batch; /* theirs; TT_NONE: outside any */
    bool at_most;                     /* rows or experts were not observed: upper bounds */
} tt_unit_use;

typedef struct tt_space_heat {
    tt_unit_use *units;  /* n_units of the map */
    uint64_t ops;        /* that passed the filter */
    uint64_t impossible; /* uses of places that no file or buffer has, left out */
} tt_space_heat;

/* Zero-filled, or freed with tt_space_heat_free, also after an error. Needs a clock when the filter
 * has times. `over` may be NULL. */
tt_status tt_space_heat_measure(const tt_model *m, const tt_spaces *s, const tt_filter *filter,
                                const tt_over *over, tt_space_heat *heat, tt_error *err);
void tt_space_heat_free(tt_space_heat *heat);

#endif
