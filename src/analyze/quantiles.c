#include "analyze/quantiles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Values below 256 have a bucket each; above, every power of two has 128. */
#define SUB_BITS 7u
#define SUB (1u << SUB_BITS)
#define BUCKETS ((65u - SUB_BITS) * SUB)

static size_t bucket_of(uint64_t v)
{
    if (v < 2 * SUB) return (size_t)v;
    unsigned shift = 63u - SUB_BITS - (unsigned)__builtin_clzll(v);
    return ((size_t)shift << SUB_BITS) + (size_t)(v >> shift);
}

static double middle_of(size_t bucket)
{
    if (bucket < 2 * SUB) return (double)bucket;
    unsigned shift = (unsigned)(bucket >> SUB_BITS) - 1;
    double low = ldexp((double)(bucket - ((size_t)shift << SUB_BITS)), (int)shift);
    return low + (ldexp(1, (int)shift) - 1) / 2;
}

static void spill(tt_quantiles *q)
{
    q->buckets = calloc(BUCKETS, sizeof *q->buckets);
    if (!q->buckets) {
        q->failed = true;
        return;
    }
    for (size_t i = 0; i < TT_QUANTILES_EXACT; i++)
        q->buckets[bucket_of(q->values[i])]++;
    free(q->values);
    q->values = NULL;
}

static void keep(tt_quantiles *q, uint64_t value)
{
    if (q->n == q->capacity) {
        size_t more = q->capacity ? q->capacity * 2 : 16;
        uint64_t *values = reallocarray(q->values, more, sizeof *values);
        if (!values) {
            q->failed = true;
            return;
        }
        q->values = values;
        q->capacity = more;
    }
    q->values[q->n] = value;
}

void tt_quantiles_add(tt_quantiles *q, uint64_t value)
{
    if (!q->failed && !q->buckets) {
        if (q->n < TT_QUANTILES_EXACT)
            keep(q, value);
        else
            spill(q);
    }
    if (q->buckets) q->buckets[bucket_of(value)]++;
    if (value > q->max) q->max = value;
    q->sum += value;
    q->n++;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

double tt_quantiles_at(tt_quantiles *q, double share)
{
    if (q->n == 0 || q->failed) return 0;
    double rank = ceil(share * (double)q->n);
    uint64_t want = rank < 1 ? 1 : (uint64_t)rank;
    if (want > q->n) want = q->n;
    if (!q->buckets) {
        qsort(q->values, q->n, sizeof *q->values, compare);
        return (double)q->values[want - 1];
    }
    uint64_t seen = 0;
    size_t i = 0;
    while (i < BUCKETS - 1 && seen + q->buckets[i] < want)
        seen += q->buckets[i++];
    double middle = middle_of(i);
    return middle > (double)q->max ? (double)q->max : middle;
}

void tt_quantiles_free(tt_quantiles *q)
{
    free(q->values);
    free(q->buckets);
    memset(q, 0, sizeof *q);
}
