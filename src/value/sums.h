/* Sums, range and what is not finite, of floats. */
#ifndef TT_VALUE_SUMS_H
#define TT_VALUE_SUMS_H

#include <stddef.h>
#include <stdint.h>

#define TT_VALUE_LANES 16u

/* Element i goes to lane i % TT_VALUE_LANES, whatever the machine can do at once: so that sums,
 * which depend on the order, are the same everywhere. */
typedef struct tt_value_sums {
    double sum[TT_VALUE_LANES], squares[TT_VALUE_LANES];
    float min[TT_VALUE_LANES], max[TT_VALUE_LANES];
    uint64_t n; /* so far */
    uint64_t n_nan, n_inf;
    uint64_t first_bad; /* UINT64_MAX: none */
} tt_value_sums;

void tt_value_sums_begin(tt_value_sums *s);
/* n more; but for the last call n is a multiple of TT_VALUE_LANES. */
void tt_value_sums_add(tt_value_sums *s, const float *x, size_t n);

#endif
