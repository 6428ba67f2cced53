/* The batches of a series, put into buckets. */
#include "analyze/stats.h"

tt_stats_axis tt_stats_axis_of(const tt_model *m, const tt_filter *filter, uint32_t n_buckets)
{
    tt_stats_axis x = {0};
    uint32_t last = 0;
    for (uint32_t i = 0; i < m->n_batches; i++) {
        if (!tt_filter_batch(filter, m, i)) continue;
        if (x.n_batches++ == 0) x.first = i;
        last = i;
    }
    if (x.n_batches == 0) return x;
    x.n_batches = last - x.first + 1;
    x.n_buckets = n_buckets < x.n_batches ? n_buckets : x.n_batches;
    if (x.n_buckets > TT_STATS_SERIES_BUCKETS_MAX) x.n_buckets = TT_STATS_SERIES_BUCKETS_MAX;
    return x;
}

uint32_t tt_stats_bucket(const tt_stats_axis *x, uint32_t batch)
{
    if (batch == TT_NONE || batch < x->first || batch - x->first >= x->n_batches) return TT_NONE;
    return (uint32_t)((uint64_t)(batch - x->first) * x->n_buckets / x->n_batches);
}

uint32_t tt_stats_bucket_begin(const tt_stats_axis *x, uint32_t bucket)
{
    if (x->n_buckets == 0) return x->first;
    uint64_t scaled = (uint64_t)bucket * x->n_batches + x->n_buckets - 1;
    return x->first + (uint32_t)(scaled / x->n_buckets);
}
