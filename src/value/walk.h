/* Reads a value's elements in logical order, as memory intervals. */
#ifndef TT_VALUE_WALK_H
#define TT_VALUE_WALK_H

#include "value/type.h"

/* Copies n elements from `first` on (whole blocks) to out; if they are contiguous, returns their
 * address instead and copies nothing. */
const uint8_t *tt_value_gather(const tt_value_data *v, uint64_t first, uint64_t n, uint8_t *out);

#endif
