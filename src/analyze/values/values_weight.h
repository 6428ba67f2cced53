/* The elements of a weight, as they are in the model's file: whether one is NaN or infinite. */
#ifndef TT_ANALYZE_VALUES_WEIGHT_H
#define TT_ANALYZE_VALUES_WEIGHT_H

#include "analyze/over.h"
#include "model/model.h"

#include <stdbool.h>
#include <stdint.h>

/* Zero-filled: not looked at, without a reason. */
typedef struct tt_values_weight {
    bool looked_at;
    const char *why_not; /* static; NULL when it was, or nobody asked */
    uint64_t elements;
    uint64_t n_bad; /* that are not finite */
    /* n_nan and n_inf hold. Of the quantised types that are not decoded (q4_K) only the scales are
     * looked at, and with one that is not finite no element of its block is. */
    bool told_apart;
    uint64_t n_nan, n_inf;
    uint64_t first_bad; /* with n_bad: its index, dimension 0 fastest */
    bool has_place;     /* the shape is known: first_bad_at holds */
    uint64_t first_bad_at[TT_DIMS];
} tt_values_weight;

/* Reads the weight piece by piece (some 200 KiB of memory), from the file at its path when the
 * trace was made, if that is still the one that was traced. That it is not, or cannot be read, is
 * no error but out->why_not. */
tt_status tt_values_weight_look(const tt_model *m, uint32_t weight, const tt_over *over,
                                tt_values_weight *out, tt_error *err);

#endif
