#include "analyze/cache/cache.h"

#include "analyze/cache/reuse.h"
#include "base/array.h"
#include "base/order.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

size_t tt_stream_length(const tt_stream *s)
{
    return s->twice ? 2 * s->n : s->n;
}

bool tt_stream_next(const tt_stream *s, tt_stream_at *a)
{
    if (a->next >= tt_stream_length(s)) return false;
    size_t at = a->next < s->n ? a->next : a->next - s->n;
    if (at == 0) a->section = 0;
    while (a->section + 1 < s->n_sections && s->sections[a->section + 1].first <= at)
        a->section++;
    a->group = s->sections[a->section].group;
    a->extent = &s->extents[s->order[at]];
    a->counts = !s->twice || a->next >= s->n;
    a->next++;
    return true;
}

/* The units of all extents, one after another: an extent is one unit, or one per block. */
typedef struct units {
    uint32_t n;
    uint64_t *size;  /* of whole extents */
    uint32_t *layer; /* NULL: one layer */
    uint64_t *count; /* total uses, if the policy needs them */
    uint64_t *next;  /* per use: the number of the unit's next one, if the policy needs it */
    uint64_t n_uses;
} units;

static void units_free(units *u)
{
    free(u->size);
    free(u->layer);
    free(u->count);
    free(u->next);
}

/* An extent's first unit, and the one after its last. Blocks are numbered by themselves. */
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

/* Backwards from the last use. */
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

static bool replay_units(const tt_cache_job *job, const units *u, size_t which)
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
        ok = replay_units(job, &u, i);
    units_free(&u);
    return ok;
}

/* A cache that evicts the block of the lowest (lru, lfu) or highest rank (belady).
 *
 * Its content is stored as intervals of one rank. Within an interval, blocks rank by address, as if
 * they had been read one by one; so taking blocks from one end of an interval gives the same result
 * as simulating single blocks. */

#define TT_FUTURE_NEVER UINT32_MAX

/* A part of a read that is next read by the same read. */
typedef struct tt_future_part {
    uint64_t size;
    uint32_t next; /* number of that read, over all rounds */
} tt_future_part;

/* In reverse order: the last part is that of read 0 with the lowest address; the parts of a read
 * add up to its extent. */
typedef struct tt_future {
    tt_future_part *parts;
    size_t n;
} tt_future;

typedef struct seer {
    tt_intervals places; /* reads by later reads, by address; the note is the first of these */
    tt_future *future;
    size_t capacity;
} seer;

static void future_free(tt_future *f)
{
    free(f->parts);
    memset(f, 0, sizeof *f);
}

static bool add(seer *s, uint64_t size, uint32_t next)
{
    tt_future *f = s->future;
    if (!tt_array_one_more(f->parts, f->n, s->capacity)) return false;
    f->parts[f->n++] = (tt_future_part){size, next};
    return true;
}

static bool put(seer *s, uint64_t begin, uint64_t end, uint64_t next)
{
    return begin >= end || tt_intervals_put(&s->places, 0, begin, end - begin, next);
}

/* From the end of the read down, so that all parts are in reverse order. */
static bool look(seer *s, const tt_extent *e, uint32_t read)
{
    uint64_t x = e->end;
    while (x > e->begin) {
        const tt_interval *p = tt_intervals_before(&s->places, 0, x - 1);
        uint64_t from = p ? p->begin : 0, to = p ? p->begin + p->size : 0;
        uint32_t next = TT_FUTURE_NEVER;
        uint64_t low = to > e->begin ? to : e->begin; /* of a part that is never read again */
        if (to >= x) {
            next = (uint32_t)p->note;
            low = from > e->begin ? from : e->begin;
            tt_intervals_drop(&s->places, 0, from);
            if (!put(s, from, low, next) || !put(s, x, to, next)) return false;
        }
        if (!add(s, x - low, next)) return false;
        x = low;
    }
    return put(s, e->begin, e->end, read);
}

/* False if out of memory, or with 2^32 reads; call future_free then too. */
static bool future_see(const tt_stream *s, tt_future *f)
{
    seer v = {.future = f};
    bool ok = tt_stream_length(s) < TT_FUTURE_NEVER;
    memset(f, 0, sizeof *f);
    for (size_t i = tt_stream_length(s); ok && i-- > 0;)
        ok = look(&v, &s->extents[s->order[i < s->n ? i : i - s->n]], (uint32_t)i);
    tt_intervals_free(&v.places);
    return ok;
}

#define FREQUENCY_ONE (1ull << 32) /* lfu's rank: number of reads, then number of the last read */

typedef struct cache {
    tt_policy policy;
    bool failed; /* out of memory */
    uint64_t capacity, used;
    tt_intervals places; /* by address; the note is the rank */
    tt_intervals ranks;  /* the same by (rank, address) */
} cache;

static void keep(cache *c, uint64_t begin, uint64_t end, uint64_t rank)
{
    if (begin >= end) return;
    if (begin > 0) {
        /* Adjacent intervals of equal rank are merged, or their number would never decrease. */
        const tt_interval *p = tt_intervals_before(&c->places, 0, begin - 1);
        if (p && p->note == rank && p->begin + p->size == begin) {
            begin = p->begin;
            tt_intervals_drop(&c->places, 0, begin);
            tt_intervals_drop(&c->ranks, rank, begin);
        }
    }
    if (!tt_intervals_put(&c->places, 0, begin, end - begin, rank) ||
        !tt_intervals_put(&c->ranks, rank, begin, end - begin, 0))
        c->failed = true;
}

static void drop(cache *c, uint64_t begin, uint64_t rank)
{
    tt_intervals_drop(&c->places, 0, begin);
    tt_intervals_drop(&c->ranks, rank, begin);
}

static uint64_t first_rank(const cache *c, uint32_t now, uint32_t next)
{
    if (c->policy == TT_POLICY_BELADY) return next;
    return c->policy == TT_POLICY_LFU ? FREQUENCY_ONE + now : now;
}

static uint64_t next_rank(const cache *c, uint64_t rank, uint32_t now, uint32_t next)
{
    if (c->policy != TT_POLICY_LFU) return first_rank(c, now, next);
    return (rank & ~(FREQUENCY_ONE - 1)) + FREQUENCY_ONE + now;
}

/* Removes n blocks from the interval that is evicted first. */
static void evict(cache *c, const tt_interval *victim, uint64_t n)
{
    const uint64_t begin = victim->begin, end = begin + victim->size, rank = victim->rank;
    drop(c, begin, rank);
    if (c->policy == TT_POLICY_BELADY)
        keep(c, begin, end - n, rank);
    else
        keep(c, begin + n, end, rank);
}

/* Whether that interval is evicted before the block x that was just fetched. */
static bool goes_first(const cache *c, const tt_interval *victim, uint64_t rank, uint64_t x)
{
    bool below = victim->rank != rank ? victim->rank < rank : victim->begin < x;
    return below != (c->policy == TT_POLICY_BELADY);
}

/* Fetches blocks that are not in the cache, in ascending order. `held` of them are in the cache at
 * a time; they are only added at the end. */
static void fetch(cache *c, uint64_t begin, uint64_t end, uint64_t rank)
{
    const uint64_t n = end - begin, space = c->capacity - c->used;
    uint64_t held = n < space ? n : space;
    uint64_t left = n - held;
    c->used += held;
    while (left > 0 && !c->failed) {
        const tt_interval *victim = tt_intervals_end(&c->ranks, c->policy == TT_POLICY_BELADY);
        bool first = victim && goes_first(c, victim, rank, begin);
        if (!first && held > 0) break; /* the rest replaces what this call fetched */
        if (!victim) return;           /* the capacity is 0 */
        uint64_t take = first ? victim->size : 1;
        if (take > left) take = left;
        evict(c, victim, take);
        held += take;
        left -= take;
    }
    if (c->failed) return;
    if (left == 0 || c->policy != TT_POLICY_BELADY) {
        keep(c, end - held, end, rank);
    } else {
        /* Each block replaced the previous one: the latest to be read again. */
        keep(c, begin, begin + held - 1, rank);
        keep(c, end - 1, end, rank);
    }
}

/* Reads blocks whose next read is the same; returns the number of misses. */
static uint64_t read_blocks(cache *c, uint64_t begin, uint64_t end, uint32_t now, uint32_t next)
{
    uint64_t missed = 0, x = begin;
    while (x < end && !c->failed) {
        const tt_interval *p = tt_intervals_before(&c->places, 0, x);
        if (!p || p->begin + p->size <= x) p = tt_intervals_after(&c->places, 0, x);
        if (!p || p->begin > x) {
            uint64_t to = p && p->begin < end ? p->begin : end;
            missed += to - x;
            fetch(c, x, to, first_rank(c, now, next));
            x = to;
            continue;
        }
        const uint64_t from = p->begin, behind = from + p->size, rank = p->note;
        const uint64_t to = behind < end ? behind : end;
        drop(c, from, rank);
        keep(c, from, x, rank);
        keep(c, to, behind, rank);
        keep(c, x, to, next_rank(c, rank, now, next));
        x = to;
    }
    return missed;
}

/* `future` is NULL unless the policy is belady. */
static bool replay_ranked(const tt_cache_job *job, size_t which, const tt_future *future)
{
    cache c = {.policy = job->policy, .capacity = job->capacities[which]};
    uint64_t *missed = job->missed + which * job->stream->n_groups;
    size_t part = future ? future->n : 0;
    for (tt_stream_at a = {0}; !c.failed && tt_stream_next(job->stream, &a);) {
        const uint32_t now = (uint32_t)(a.next - 1);
        uint64_t x = a.extent->begin, count = 0;
        while (x < a.extent->end && !c.failed) {
            uint64_t end = a.extent->end;
            uint32_t next = 0;
            if (future) {
                next = future->parts[--part].next;
                end = x + future->parts[part].size;
            }
            count += read_blocks(&c, x, end, now, next);
            x = end;
        }
        if (a.counts) missed[a.group] += count;
    }
    tt_intervals_free(&c.places);
    tt_intervals_free(&c.ranks);
    return !c.failed;
}

/* lfu, belady, of blocks: one capacity after another. */
static bool cache_by_rank(const tt_cache_job *job)
{
    tt_future future = {0};
    bool belady = job->policy == TT_POLICY_BELADY;
    bool ok =
        tt_stream_length(job->stream) < UINT32_MAX && (!belady || future_see(job->stream, &future));
    for (size_t i = 0; ok && i < job->n; i++)
        ok = replay_ranked(job, i, belady ? &future : NULL);
    future_free(&future);
    return ok;
}

/* What needs no clock: first reads, and a cache with fixed content.
 *
 * The space is cut at every bound of an extent. The blocks of such an atom are equivalent, and each
 * is visited once. */

typedef struct atoms {
    size_t n;
    uint64_t *bounds;   /* n + 1, ascending: atom i is bounds[i] .. bounds[i + 1] */
    uint32_t *first;    /* of each extent */
    uint32_t *last;     /* of each extent, exclusive */
    uint32_t *unread;   /* the first atom from i on that was not read yet, approximately */
    uint64_t *reads;    /* of each extent */
    uint64_t *count;    /* per atom: number of reads */
    uint64_t *pinned;   /* per atom: pinned blocks; n */
    uint64_t *before;   /* pinned blocks in all atoms before i; n + 1 */
    uint32_t *by_count; /* atoms, the most read first */
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

/* Follows the links over read atoms, and shortens them. */
static uint32_t unread_at(atoms *a, uint32_t i)
{
    while (a->unread[i] != i) {
        a->unread[i] = a->unread[a->unread[i]];
        i = a->unread[i];
    }
    return i;
}

/* Marks the extent as read. Returns its newly read blocks; *kept: the pinned ones of these. */
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
    /* +1 where extents begin, -1 where they end, then summed. */
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
    return job->policy == TT_POLICY_PIN_HOT ? cache_by_pins(job) : cache_by_rank(job);
}
