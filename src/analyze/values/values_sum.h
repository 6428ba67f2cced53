/* Several outputs taken as one: sums of what their fingerprints say. */
#ifndef TT_ANALYZE_VALUES_SUM_H
#define TT_ANALYZE_VALUES_SUM_H

#include "value/fingerprint.h"

#include <math.h>

/* Zero-filled is ready. */
typedef struct tt_values_sum {
    uint64_t finite; /* elements */
    double sum, squares;
    float min, max; /* when finite > 0 */
} tt_values_sum;

static inline void tt_values_sum_add(tt_values_sum *s, const tt_fingerprint *p)
{
    if (!p->has_range || p->n_nan + p->n_inf > p->n) return;
    const uint64_t n = p->n - p->n_nan - p->n_inf;
    if (!s->finite || p->min < s->min) s->min = p->min;
    if (!s->finite || p->max > s->max) s->max = p->max;
    s->finite += n;
    s->sum += p->mean * (double)n;
    s->squares += p->rms * p->rms * (double)n;
}

/* 0 when nothing is finite. */
static inline double tt_values_sum_mean(const tt_values_sum *s)
{
    return s->finite ? s->sum / (double)s->finite : 0;
}

static inline double tt_values_sum_rms(const tt_values_sum *s)
{
    return s->finite ? sqrt(s->squares / (double)s->finite) : 0;
}

#endif
