/* The elements of a value in logical order, as intervals of memory. */
#ifndef TT_VALUE_WALK_H
#define TT_VALUE_WALK_H

#include "value/fingerprint.h"

/* Copies n elements from `first` on (whole blocks) to out; or, when they lie together, returns
 * where they are and copies nothing. */
const uint8_t *tt_value_gather(const tt_value_data *v, uint64_t first, uint64_t n, uint8_t *out);

#endif
