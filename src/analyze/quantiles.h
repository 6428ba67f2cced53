/* Quantiles of many values in bounded memory: exact for the first 512 values, then from a histogram
 * of buckets of relative width 1/128, whose middles are off by at most 0.4 %. */
#ifndef TT_ANALYZE_QUANTILES_H
#define TT_ANALYZE_QUANTILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_QUANTILES_EXACT 512u

/* Zero-filled is empty. */
typedef struct tt_quantiles {
    uint64_t n;
    uint64_t max;
    uint64_t sum;
    uint64_t *values;  /* the first ones, while n <= TT_QUANTILES_EXACT */
    uint64_t *buckets; /* afterwards: counts */
    size_t capacity;   /* of values */
    bool failed;       /* out of memory: quantiles are unknown */
} tt_quantiles;

/* Private: values below 256 have a bucket each; above, every power of two has 128. */
#define TT_QUANTILES_SUB_BITS 7u

static inline size_t tt_quantiles_bucket(uint64_t v)
{
    if (v < 2u << TT_QUANTILES_SUB_BITS) return (size_t)v;
    unsigned shift = 63u - TT_QUANTILES_SUB_BITS - (unsigned)__builtin_clzll(v);
    return ((size_t)shift << TT_QUANTILES_SUB_BITS) + (size_t)(v >> shift);
}

/* Private: while there are no buckets. */
void tt_quantiles_keep(tt_quantiles *q, uint64_t value);

static inline void tt_quantiles_add(tt_quantiles *q, uint64_t value)
{
    if (!q->buckets) tt_quantiles_keep(q, value);
    if (q->buckets) q->buckets[tt_quantiles_bucket(value)]++;
    if (value > q->max) q->max = value;
    q->sum += value;
    q->n++;
}

/* As if all values of `from` were added to q. */
void tt_quantiles_merge(tt_quantiles *q, const tt_quantiles *from);
/* The smallest value that is at least a share (0..1) of all values (nearest rank; no
 * interpolation); 0 if there are none. */
double tt_quantiles_at(tt_quantiles *q, double share);
/* The same for n > 0 values in ascending order. */
double tt_quantiles_sorted(const double *values, uint64_t n, double share);
void tt_quantiles_free(tt_quantiles *q);

#endif
