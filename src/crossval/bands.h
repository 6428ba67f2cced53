/* Counts how close the values of two sides are. */
#ifndef TT_CROSSVAL_BANDS_H
#define TT_CROSSVAL_BANDS_H

#include "analyze/dumps/valuediff.h"

#include <stdint.h>

/* By the cosine of the angle between the two sides of a value. */
typedef enum tt_cosine_band {
    TT_BAND_9999,   /* at least 0.9999; equal bits are 1 */
    TT_BAND_999,    /* at least 0.999 */
    TT_BAND_99,     /* at least 0.99 */
    TT_BAND_9,      /* at least 0.9 */
    TT_BAND_BELOW,  /* less */
    TT_BAND_NAN,    /* a NaN on either side */
    TT_BAND_UNKNOWN /* on one side only, of another shape, or nothing comparable is known */
} tt_cosine_band;
#define TT_COSINE_BANDS 7u

typedef struct tt_cosine_bands {
    uint64_t counts[TT_COSINE_BANDS];
} tt_cosine_bands;

tt_cosine_band tt_cosine_band_of(const tt_valuediff_item *item);
/* Of all items of a comparison made with keep_all. */
tt_cosine_bands tt_cosine_bands_of(const tt_valuediff *d);

/* Which tokens the sides would have generated, given the same previous ones. */
typedef struct tt_agreement {
    uint64_t n_compared; /* 0: unknown for a side */
    uint64_t n_same;
    uint64_t first_other; /* number of the first different token, from 0; n_compared: none */
} tt_agreement;

tt_agreement tt_agreement_of(const int32_t *a, size_t n_a, const int32_t *b, size_t n_b);

#endif
