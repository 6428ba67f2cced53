#include "analyze/quantiles.h"

#include "base/array.h"
#include "base/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SUB_BITS TT_QUANTILES_SUB_BITS
#define SUB (1u << SUB_BITS)
#define BUCKETS ((65u - SUB_BITS) * SUB)

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
    for (size_t i = 0; i < q->n; i++)
        q->buckets[tt_quantiles_bucket(q->values[i])]++;
    free(q->values);
    q->values = NULL;
}

void tt_quantiles_keep(tt_quantiles *q, uint64_t value)
{
    if (q->failed) return;
    if (q->n == TT_QUANTILES_EXACT) {
        spill(q);
        return;
    }
    if (!tt_array_one_more(q->values, q->n, q->capacity)) {
        q->failed = true;
        return;
    }
    q->values[q->n] = value;
}

void tt_quantiles_merge(tt_quantiles *q, const tt_quantiles *from)
{
    q->failed |= from->failed;
    if (!from->buckets && !from->failed) {
        for (uint64_t i = 0; i < from->n; i++)
            tt_quantiles_add(q, from->values[i]);
        return;
    }
    if (!q->buckets && !q->failed) spill(q);
    for (size_t i = 0; i < BUCKETS && q->buckets && from->buckets; i++)
        q->buckets[i] += from->buckets[i];
    if (from->max > q->max) q->max = from->max;
    q->sum += from->sum;
    q->n += from->n;
}

/* From 1 on. */
static uint64_t nearest_rank(uint64_t n, double share)
{
    double rank = ceil(share * (double)n);
    uint64_t want = rank < 1 ? 1 : (uint64_t)rank;
    return want > n ? n : want;
}

double tt_quantiles_sorted(const double *values, uint64_t n, double share)
{
    return values[nearest_rank(n, share) - 1];
}

double tt_quantiles_at(tt_quantiles *q, double share)
{
    if (q->n == 0 || q->failed) return 0;
    uint64_t want = nearest_rank(q->n, share);
    if (!q->buckets) {
        qsort(q->values, q->n, sizeof *q->values, tt_by_u64);
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
