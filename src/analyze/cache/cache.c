#include "analyze/cache/cache.h"

#include "analyze/cache/cache_kinds.h"
#include "analyze/cache/reuse.h"

#include <stdlib.h>
#include <string.h>

typedef struct by_distance {
    const tt_cache_job *job;
    uint32_t group;
    bool counts;
} by_distance;

static void add_part(void *context, const tt_reused *part)
{
    const by_distance *d = context;
    const tt_cache_job *job = d->job;
    if (!d->counts) return;
    for (size_t i = 0; i < job->n; i++)
        if (part->distance > job->capacities[i])
            job->missed[i * job->stream->n_groups + d->group] += part->size;
}

bool tt_cache_by_distance(const tt_cache_job *job)
{
    tt_reuse reuse = {0};
    uint32_t *hints = calloc((size_t)job->stream->n_extents + 1, sizeof *hints);
    bool ok = hints != NULL;
    by_distance d = {.job = job};
    for (tt_stream_at a = {0}; ok && tt_stream_next(job->stream, &a);) {
        d.group = a.group;
        d.counts = a.counts;
        ok = tt_reuse_read(&reuse, a.extent->begin, a.extent->end,
                           hints + (a.extent - job->stream->extents), add_part, &d);
    }
    free(hints);
    tt_reuse_free(&reuse);
    return ok;
}

bool tt_cache_run(const tt_cache_job *job)
{
    memset(job->missed, 0, job->n * job->stream->n_groups * sizeof *job->missed);
    if (job->policy == TT_POLICY_PIN_HOT) return tt_cache_by_pins(job);
    if (job->ahead > 0) return tt_cache_by_block(job);
    if (job->policy == TT_POLICY_LRU && !job->whole) return tt_cache_by_distance(job);
    return tt_cache_by_rank(job);
}
