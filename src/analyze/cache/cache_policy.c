#include "analyze/cache/cache_kinds.h"

#include <stdlib.h>

/* The units, of all extents one behind the other: an extent is one, or as many as it has blocks. */
typedef struct units {
    uint32_t n;
    uint64_t *size;  /* of wholes */
    uint32_t *layer; /* NULL: all of one */
    uint64_t *count; /* uses in all, where the policy needs them */
    uint64_t *next;  /* of each use: the number of the unit's next one, where the policy needs it */
    uint64_t n_uses;
} units;

static void units_free(units *u)
{
    free(u->size);
    free(u->layer);
    free(u->count);
    free(u->next);
}

/* The first unit of an extent, and behind its last one. Blocks are their own numbers. */
static uint32_t first_unit(const tt_cache_job *job, const tt_extent *e)
{
    return job->whole ? (uint32_t)(e - job->stream->extents) : (uint32_t)e->begin;
}

static uint32_t end_unit(const tt_cache_job *job, const tt_extent *e)
{
    return job->whole ? first_unit(job, e) + 1 : (uint32_t)e->end;
}

static bool count_uses(const tt_cache_job *job, units *u)
{
    u->count = calloc((size_t)u->n + 1, sizeof *u->count);
    for (size_t i = 0; u->count && i < job->stream->n; i++) {
        const tt_extent *e = &job->stream->extents[job->stream->order[i]];
        for (uint32_t k = first_unit(job, e); k < end_unit(job, e); k++)
            u->count[k]++;
    }
    return u->count != NULL;
}

/* From the last use back. */
static bool see_future(const tt_cache_job *job, units *u)
{
    const tt_stream *s = job->stream;
    uint64_t *at = malloc(((size_t)u->n + 1) * sizeof *at);
    for (size_t i = 0; i < s->n; i++) {
        const tt_extent *e = &s->extents[s->order[i]];
        u->n_uses += end_unit(job, e) - first_unit(job, e);
    }
    if (s->twice) u->n_uses *= 2;
    u->next = calloc(u->n_uses + 1, sizeof *u->next);
    for (uint32_t i = 0; at && i < u->n; i++)
        at[i] = TT_POLICY_NEVER;
    uint64_t use = u->n_uses;
    for (size_t i = tt_stream_length(s); at && u->next && i-- > 0;) {
        const tt_extent *e = &s->extents[s->order[i < s->n ? i : i - s->n]];
        for (uint32_t k = end_unit(job, e); k-- > first_unit(job, e);) {
            u->next[--use] = at[k];
            at[k] = use;
        }
    }
    free(at);
    return at && u->next;
}

static bool make_layers(const tt_cache_job *job, units *u)
{
    u->layer = malloc(((size_t)u->n + 1) * sizeof *u->layer);
    for (uint32_t i = 0; u->layer && i < u->n; i++)
        u->layer[i] = TT_POLICY_NO_LAYER;
    for (uint32_t i = 0; u->layer && i < job->stream->n_extents; i++) {
        const tt_extent *e = &job->stream->extents[i];
        for (uint32_t k = first_unit(job, e); k < end_unit(job, e); k++)
            u->layer[k] = job->layers[i];
    }
    return u->layer != NULL;
}

static bool units_make(const tt_cache_job *job, units *u)
{
    const tt_stream *s = job->stream;
    const tt_policy_info *needs = &tt_policies[job->policy];
    uint64_t end = job->whole ? s->n_extents : 0;
    for (uint32_t i = 0; !job->whole && i < s->n_extents; i++)
        if (s->extents[i].end > end) end = s->extents[i].end;
    if (end > TT_CACHE_POLICY_BLOCKS_MAX && !job->whole) return false;
    u->n = (uint32_t)end;
    if (job->whole) {
        u->size = calloc((size_t)u->n + 1, sizeof *u->size);
        for (uint32_t i = 0; u->size && i < u->n; i++)
            u->size[i] = s->extents[i].end - s->extents[i].begin;
        if (!u->size) return false;
    }
    return (!needs->needs_counts || count_uses(job, u)) &&
           (!needs->needs_future || see_future(job, u)) && (!job->layers || make_layers(job, u));
}

static bool replay(const tt_cache_job *job, const units *u, size_t which)
{
    const tt_policy_setup setup = {.policy = job->policy,
                                   .n_units = u->n,
                                   .capacity = job->capacities[which],
                                   .unit_size = u->size,
                                   .unit_layer = u->layer,
                                   .unit_count = u->count};
    uint64_t *missed = job->missed + which * job->stream->n_groups;
    tt_policy_cache *c;
    tt_error err;
    uint64_t number = 0;
    if (tt_policy_new(&setup, NULL, NULL, &c, &err) != TT_OK) return false;
    for (tt_stream_at a = {0}; tt_stream_next(job->stream, &a);) {
        const uint32_t end = end_unit(job, a.extent);
        for (uint32_t k = first_unit(job, a.extent); k < end; k++) {
            const tt_policy_use use = {.unit = k,
                                       .pass = job->passes ? job->passes[a.group] : 0,
                                       .next = u->next ? u->next[number++] : 0};
            if (!tt_policy_use_unit(c, &use) && a.counts)
                missed[a.group] += u->size ? u->size[k] : 1;
        }
    }
    tt_policy_free(c);
    return true;
}

bool tt_cache_by_policy(const tt_cache_job *job)
{
    units u = {0};
    bool ok = units_make(job, &u);
    for (size_t i = 0; ok && i < job->n; i++)
        ok = replay(job, &u, i);
    units_free(&u);
    return ok;
}
