/* Which outputs may hold the infinities of a mask, by what computes them. */
#ifndef TT_ANALYZE_VALUES_MASK_H
#define TT_ANALYZE_VALUES_MASK_H

#include "model/model.h"

#include <stdint.h>

/* By tensor of the graph: 1 when it may, by the rules in analyze/values/values_walk.h. malloc'ed;
 * NULL without memory. */
uint8_t *tt_values_mask_of(const tt_graph *g);

#endif
