#include "crossval/bands.h"

#include <math.h>
#include <stddef.h>

tt_cosine_band tt_cosine_band_of(const tt_valuediff_item *item)
{
    double c = item->error.cosine;
    if (item->verdict == TT_VALUE_NAN) return TT_BAND_NAN;
    if (item->verdict == TT_VALUE_EQUAL) return TT_BAND_9999;
    if (item->verdict == TT_VALUE_SHAPE || item->verdict == TT_VALUE_UNMEASURED || isnan(c))
        return TT_BAND_UNKNOWN;
    if (c >= 0.9999) return TT_BAND_9999;
    if (c >= 0.999) return TT_BAND_999;
    if (c >= 0.99) return TT_BAND_99;
    return c >= 0.9 ? TT_BAND_9 : TT_BAND_BELOW;
}

tt_cosine_bands tt_cosine_bands_of(const tt_valuediff *d)
{
    tt_cosine_bands bands = {{0}};
    for (size_t i = 0; i < d->n_items; i++)
        bands.counts[tt_cosine_band_of(&d->items[i])]++;
    bands.counts[TT_BAND_UNKNOWN] += d->items_left_out;
    return bands;
}

tt_agreement tt_agreement_of(const int32_t *a, size_t n_a, const int32_t *b, size_t n_b)
{
    tt_agreement r = {.n_compared = n_a < n_b ? n_a : n_b};
    r.first_other = r.n_compared;
    for (size_t i = 0; i < r.n_compared; i++) {
        r.n_same += a[i] == b[i];
        if (a[i] != b[i] && r.first_other == r.n_compared) r.first_other = i;
    }
    return r;
}
