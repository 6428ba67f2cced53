#include "analyze/cache/cache.h"

#include "analyze/cache/cache_kinds.h"
#include "analyze/cache/reuse.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

/* What needs no clock: first reads, and a cache whose content is fixed beforehand.
 *
 * The space is cut at every bound of an extent. Nothing tells the blocks of such an atom
 * apart, and each is looked at once. */

typedef struct atoms {
    size_t n;
    uint64_t *bounds;   /* n + 1, ascending: atom i is bounds[i] .. bounds[i + 1] */
    uint32_t *first;    /* of each extent */
    uint32_t *last;     /* of each extent, not included */
    uint32_t *unread;   /* the first atom at or behind i that was not read yet, about */
    uint64_t *reads;    /* of each extent */
    uint64_t *count;    /* of each atom: times read */
    uint64_t *pinned;   /* of each atom: blocks kept; n */
    uint64_t *before;   /* blocks kept in all atoms before i; n + 1 */
    uint32_t *by_count; /* atoms, the one read most often first */
} atoms;

static uint32_t atom_at(const atoms *a, uint64_t bound)
{
    const uint64_t *found = bsearch(&bound, a->bounds, a->n + 1, sizeof bound, tt_by_u64);
    return (uint32_t)(found - a->bounds);
}

static void atoms_free(atoms *a)
{
    free(a->bounds);
    free(a->first);
    free(a->last);
    free(a->unread);
    free(a->reads);
    free(a->count);
    free(a->pinned);
    free(a->before);
    free(a->by_count);
}

static bool make_room(atoms *a, size_t extents)
{
    a->first = calloc(extents + 1, sizeof *a->first);
    a->last = calloc(extents + 1, sizeof *a->last);
    a->reads = calloc(extents + 1, sizeof *a->reads);
    a->unread = calloc(a->n + 2, sizeof *a->unread);
    a->count = calloc(a->n + 2, sizeof *a->count);
    a->pinned = calloc(a->n + 1, sizeof *a->pinned);
    a->before = calloc(a->n + 1, sizeof *a->before);
    a->by_count = calloc(a->n + 1, sizeof *a->by_count);
    return a->first && a->last && a->reads && a->unread && a->count && a->pinned && a->before &&
           a->by_count;
}

static bool atoms_make(const tt_stream *s, atoms *a)
{
    memset(a, 0, sizeof *a);
    a->bounds = calloc((size_t)s->n_extents * 2 + 1, sizeof *a->bounds);
    if (!a->bounds) return false;
    for (uint32_t i = 0; i < s->n_extents; i++) {
        a->bounds[2 * (size_t)i] = s->extents[i].begin;
        a->bounds[2 * (size_t)i + 1] = s->extents[i].end;
    }
    size_t n = 0;
    qsort(a->bounds, (size_t)s->n_extents * 2, sizeof *a->bounds, tt_by_u64);
    for (size_t i = 0; i < (size_t)s->n_extents * 2; i++)
        if (n == 0 || a->bounds[i] != a->bounds[n - 1]) a->bounds[n++] = a->bounds[i];
    a->n = n > 0 ? n - 1 : 0;
    if (a->n >= UINT32_MAX || !make_room(a, s->n_extents)) return false;
    for (uint32_t i = 0; i < s->n_extents; i++) {
        a->first[i] = atom_at(a, s->extents[i].begin);
        a->last[i] = atom_at(a, s->extents[i].end);
    }
    for (size_t i = 0; i <= a->n; i++)
        a->unread[i] = (uint32_t)i;
    return true;
}

/* Follows the links over what was read, and shortens them on the way. */
static uint32_t unread_at(atoms *a, uint32_t i)
{
    while (a->unread[i] != i) {
        a->unread[i] = a->unread[a->unread[i]];
        i = a->unread[i];
    }
    return i;
}

/* Marks the extent as read. Returns its blocks that were not yet; *kept: those of them that are
 * pinned. */
static uint64_t first_read(atoms *a, uint32_t extent, uint64_t *kept)
{
    uint64_t size = 0;
    *kept = 0;
    for (uint32_t i = unread_at(a, a->first[extent]); i < a->last[extent]; i = unread_at(a, i)) {
        size += a->bounds[i + 1] - a->bounds[i];
        *kept += a->pinned[i];
        a->unread[i] = i + 1;
    }
    return size;
}

bool tt_cache_demand(const tt_stream *s, uint64_t *read, uint64_t *first)
{
    atoms a;
    uint64_t kept;
    bool ok = atoms_make(s, &a);
    memset(read, 0, s->n_groups * sizeof *read);
    memset(first, 0, s->n_groups * sizeof *first);
    for (tt_stream_at at = {0}; ok && tt_stream_next(s, &at);) {
        uint64_t fresh = first_read(&a, (uint32_t)(at.extent - s->extents), &kept);
        if (!at.counts) continue;
        read[at.group] += at.extent->end - at.extent->begin;
        first[at.group] += fresh;
    }
    atoms_free(&a);
    return ok;
}

static int most_read_first(const void *x, const void *y, void *context)
{
    const uint64_t *count = context;
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    if (count[a] != count[b]) return count[a] > count[b] ? -1 : 1;
    return a < b ? -1 : a > b;
}

static void count_reads(const tt_stream *s, atoms *a)
{
    for (size_t i = 0; i < s->n; i++)
        a->reads[s->order[i]]++;
    /* Up where extents begin, down where they end, then summed. */
    for (uint32_t i = 0; i < s->n_extents; i++) {
        a->count[a->first[i]] += a->reads[i];
        a->count[a->last[i]] -= a->reads[i];
    }
    for (size_t i = 1; i < a->n; i++)
        a->count[i] += a->count[i - 1];
    for (size_t i = 0; i < a->n; i++)
        a->by_count[i] = (uint32_t)i;
    if (a->n) qsort_r(a->by_count, a->n, sizeof *a->by_count, most_read_first, a->count);
}

static void pin(atoms *a, uint64_t capacity)
{
    memset(a->pinned, 0, a->n * sizeof *a->pinned);
    for (size_t k = 0; k < a->n; k++) {
        uint32_t i = a->by_count[k];
        uint64_t size = a->bounds[i + 1] - a->bounds[i];
        if (a->count[i] == 0) break;
        a->pinned[i] = size < capacity ? size : capacity;
        capacity -= a->pinned[i];
    }
    for (size_t i = 0; i < a->n; i++)
        a->before[i + 1] = a->before[i] + a->pinned[i];
}

static bool cache_by_pins(const tt_cache_job *job)
{
    const tt_stream *s = job->stream;
    atoms a;
    bool ok = atoms_make(s, &a);
    if (ok) count_reads(s, &a);
    for (size_t k = 0; ok && k < job->n; k++) {
        uint64_t *missed = job->missed + k * s->n_groups;
        pin(&a, job->capacities[k]);
        for (size_t i = 0; i <= a.n; i++)
            a.unread[i] = (uint32_t)i;
        for (tt_stream_at at = {0}; tt_stream_next(s, &at);) {
            uint32_t e = (uint32_t)(at.extent - s->extents);
            uint64_t fresh;
            (void)first_read(&a, e, &fresh);
            if (at.counts)
                missed[at.group] += at.extent->end - at.extent->begin -
                                    (a.before[a.last[e]] - a.before[a.first[e]]) + fresh;
        }
    }
    atoms_free(&a);
    return ok;
}

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

/* lru of blocks, for all capacities at once, by reuse distances. */
static bool cache_by_distance(const tt_cache_job *job)
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

static bool goes_by_ranges(tt_policy policy)
{
    return policy == TT_POLICY_LRU || policy == TT_POLICY_LFU || policy == TT_POLICY_BELADY ||
           policy == TT_POLICY_PIN_HOT;
}

uint64_t tt_cache_blocks_max(tt_policy policy, bool whole, uint32_t ahead)
{
    if (ahead > 0) return TT_CACHE_KERNEL_BLOCKS_MAX;
    return whole || goes_by_ranges(policy) ? UINT64_MAX : TT_CACHE_POLICY_BLOCKS_MAX;
}

bool tt_cache_run(const tt_cache_job *job)
{
    memset(job->missed, 0, job->n * job->stream->n_groups * sizeof *job->missed);
    if (job->around) memset(job->around, 0, job->n * job->stream->n_groups * sizeof *job->around);
    if (job->ahead > 0) return tt_cache_by_kernel(job);
    if (job->whole || !goes_by_ranges(job->policy)) return tt_cache_by_policy(job);
    if (job->policy == TT_POLICY_LRU) return cache_by_distance(job);
    return job->policy == TT_POLICY_PIN_HOT ? cache_by_pins(job) : tt_cache_by_rank(job);
}
