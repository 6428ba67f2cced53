/* Internals of the comparison of values. */
#ifndef TT_ANALYZE_DUMPS_VALUEDIFF_PARTS_H
#define TT_ANALYZE_DUMPS_VALUEDIFF_PARTS_H

#include "analyze/dumps/valuediff.h"
#include "analyze/texts.h"

/* The sums behind the error of two values. */
typedef struct tt_error_sums {
    uint64_t n;
    double aa, bb, ab, dd; /* squares of a and b, their product, squares of a - b; finite ones */
    double max_abs;
    uint64_t worst;
    float worst_a, worst_b;
    bool apart; /* one is not finite, and the other is not the same */
} tt_error_sums;

/* Fills d->steps, by_order, tokens_known and where it stopped. False if out of memory. */
bool tt_valuediff_pair_steps(tt_valuediff *d, const tt_valuediff_options *o);

/* Collects rows and depth, value by value. */
typedef struct tt_valuediff_tally {
    size_t depth_capacity, layer_capacity, stage_capacity;
    bool behind;           /* a layer was seen in this step */
    uint32_t rows_of_step; /* of depth; like `behind`, cleared before each step */
} tt_valuediff_tally;
/* False if out of memory. */
bool tt_valuediff_tally_item(tt_valuediff *d, tt_valuediff_tally *t, const tt_valuediff_item *i);
/* Call it after all steps: sorts rows by layer in execution order. */
void tt_valuediff_tally_end(tt_valuediff *d);

/* The larger one; NAN is ignored. */
double tt_larger(double a, double b);
#endif
