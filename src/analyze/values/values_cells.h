/* Which bytes of memory that outlives a run (a KV cache) may hold NaN or infinities: those that a bad
 * output wrote, until a finite one wrote over them. */
#ifndef TT_ANALYZE_VALUES_CELLS_H
#define TT_ANALYZE_VALUES_CELLS_H

#include "model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_VALUES_CELLS_MAX 4096u /* stretches that are kept apart */

/* Zero-filled is empty. */
typedef struct tt_values_cells {
    struct tt_values_stretch *list; /* ascending, apart from each other */
    size_t n, capacity;
    bool unknown; /* more than is in the list: it never gets empty */
} tt_values_cells;

/* What that node wrote in that run is bad, or (after) is finite. Both: false without memory. */
bool tt_values_cells_add(tt_values_cells *c, const tt_model *m, uint32_t run, const tt_graph *g,
                         uint32_t node);
bool tt_values_cells_clear(tt_values_cells *c, const tt_model *m, uint32_t run, const tt_graph *g,
                           uint32_t node);
bool tt_values_cells_empty(const tt_values_cells *c);
void tt_values_cells_free(tt_values_cells *c);

#endif
