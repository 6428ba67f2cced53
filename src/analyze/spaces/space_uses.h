/* Which units of a map (spaces.h) an executed op uses. */
#ifndef TT_ANALYZE_SPACE_USES_H
#define TT_ANALYZE_SPACE_USES_H

#include "analyze/access.h"
#include "analyze/spaces/spaces.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tt_unit_piece {
    uint32_t unit;
    bool writes;
    bool at_most;        /* rows or experts were not observed */
    bool placed;         /* begin, end hold: all of them were used */
    uint64_t bytes;      /* read or written of the unit */
    uint64_t begin, end; /* in the unit's space */
} tt_unit_piece;

/* A list of pieces; zero-filled is empty. A unit may be there several times. */
typedef struct tt_unit_pieces {
    tt_unit_piece *list;
    size_t n, capacity;
    uint64_t impossible; /* counts up: places that no file or buffer has */
    bool failed;         /* without memory */
} tt_unit_pieces;

void tt_unit_pieces_free(tt_unit_pieces *p);

/* Sets the list to what the op uses: `accesses` (tt_accesses_of) of weights, and the buffers that
 * its sources and its result lie in. */
void tt_unit_pieces_of(const tt_model *m, const tt_spaces *s, const tt_op *op,
                       const tt_access *accesses, size_t n_accesses, tt_unit_pieces *p);

#endif
