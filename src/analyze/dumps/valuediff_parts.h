/* Inside the comparison of values. */
#ifndef TT_ANALYZE_VALUEDIFF_PARTS_H
#define TT_ANALYZE_VALUEDIFF_PARTS_H

#include "analyze/dumps/valuediff.h"
#include "analyze/texts.h"

/* What the errors of two values are summed up from. */
typedef struct tt_error_sums {
    uint64_t n;
    double aa, bb, ab, dd; /* squares of a and b, their product, squares of a - b; finite ones */
    double max_abs;
    uint64_t worst;
    float worst_a, worst_b;
    bool apart; /* one is not finite, and the other is not the same */
} tt_error_sums;

void tt_error_sums_begin(tt_error_sums *s);
void tt_error_sums_add(tt_error_sums *s, uint64_t index, float a, float b);
/* rel_l2, cosine, max_abs and the worst one; nothing is set when there is no element. */
void tt_error_sums_end(const tt_error_sums *s, tt_value_error *out);

/* Whether values of these shapes hold the same elements in the same order: dimensions of 1 do not
 * count, and neighbours may be joined (heads x size of one, to the size of all). */
bool tt_shapes_agree(const tt_dump_value *a, const tt_dump_value *b);

/* All that is told of an error, and by what; TT_OK and basis TT_BASIS_NONE when nothing is known on
 * both sides. */
tt_status tt_value_measure(tt_dump *a, const tt_dump_value *va, tt_dump *b, const tt_dump_value *vb,
                           tt_value_error *out, tt_error *err);

/* Fills d->steps, by_order, tokens_known and where it stopped. False without memory. */
bool tt_valuediff_pair_steps(tt_valuediff *d, const tt_valuediff_options *o);

/* Rows and depth, value by value. */
typedef struct tt_valuediff_tally {
    size_t depth_capacity, layer_capacity, stage_capacity;
    bool behind;           /* a layer was met in this step */
    uint32_t rows_of_step; /* of depth; as `behind`, to be cleared before each step */
} tt_valuediff_tally;
/* False without memory. */
bool tt_valuediff_tally_item(tt_valuediff *d, tt_valuediff_tally *t, const tt_valuediff_item *i);
/* Rows by layer in the order of execution, after all steps. */
void tt_valuediff_tally_end(tt_valuediff *d);

/* The larger one; that which is no NAN. */
double tt_larger(double a, double b);
#endif
