/* Quantiles of many values in bounded memory: exact for the first 512 values, then
 * from a histogram of buckets 1/128 wide, whose middles are off by at most 0.4 %. */
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
    bool failed;       /* memory ran out: quantiles are unknown */
} tt_quantiles;

void tt_quantiles_add(tt_quantiles *q, uint64_t value);
/* The smallest value that at least share (0..1) of all values do not pass; 0 of none. */
double tt_quantiles_at(tt_quantiles *q, double share);
void tt_quantiles_free(tt_quantiles *q);

#endif
