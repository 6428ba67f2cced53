/* A cache that drops what ranks lowest (lru, lfu) or highest (belady).
 *
 * What is in the cache is kept as intervals of one rank. An interval's blocks rank by address
 * among themselves, as they would have if they had been read one by one; so taking blocks from
 * one end of an interval is what a simulator of single blocks would do. */
#include "analyze/cache/cache_kinds.h"
#include "analyze/order.h"
#include "analyze/stream.h"
#include "base/array.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define TT_FUTURE_NEVER UINT32_MAX

/* A part of a read that is next read together. */
typedef struct tt_future_part {
    uint64_t size;
    uint32_t next; /* number of that read, over all rounds */
} tt_future_part;

/* From the back: the last part is that of read 0 with the lowest address; the parts of a read
 * add up to its extent. */
typedef struct tt_future {
    tt_future_part *parts;
    size_t n;
} tt_future;

typedef struct seer {
    tt_order places; /* what later reads read, by address; the note is the first of them */
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
    return begin >= end || tt_order_put(&s->places, 0, begin, end - begin, next);
}

/* From the end of the read down, so that all parts stand in the order of going back. */
static bool look(seer *s, const tt_extent *e, uint32_t read)
{
    uint64_t x = e->end;
    while (x > e->begin) {
        const tt_order_node *p = tt_order_before(&s->places, 0, x - 1);
        uint64_t from = p ? p->begin : 0, to = p ? p->begin + p->size : 0;
        uint32_t next = TT_FUTURE_NEVER;
        uint64_t low = to > e->begin ? to : e->begin; /* of a part that is never read again */
        if (to >= x) {
            next = (uint32_t)p->note;
            low = from > e->begin ? from : e->begin;
            tt_order_drop(&s->places, 0, from);
            if (!put(s, from, low, next) || !put(s, x, to, next)) return false;
        }
        if (!add(s, x - low, next)) return false;
        x = low;
    }
    return put(s, e->begin, e->end, read);
}

/* False without memory, or with 2^32 reads. future_free also then. */
static bool future_see(const tt_stream *s, tt_future *f)
{
    seer v = {.future = f};
    bool ok = tt_stream_length(s) < TT_FUTURE_NEVER;
    memset(f, 0, sizeof *f);
    for (size_t i = tt_stream_length(s); ok && i-- > 0;)
        ok = look(&v, &s->extents[s->order[i < s->n ? i : i - s->n]], (uint32_t)i);
    tt_order_free(&v.places);
    return ok;
}

#define FREQUENCY_ONE (1ull << 32) /* lfu's rank: times read, then number of the last read */

typedef struct cache {
    tt_policy policy;
    bool failed; /* memory ran out */
    uint64_t capacity, used;
    tt_order places; /* by address; the note is the rank */
    tt_order ranks;  /* the same by (rank, address) */
} cache;

static void keep(cache *c, uint64_t begin, uint64_t end, uint64_t rank)
{
    if (begin >= end) return;
    if (begin > 0) {
        /* Stretches that meet and rank the same are one, or they would never get fewer. */
        const tt_order_node *p = tt_order_before(&c->places, 0, begin - 1);
        if (p && p->note == rank && p->begin + p->size == begin) {
            begin = p->begin;
            tt_order_drop(&c->places, 0, begin);
            tt_order_drop(&c->ranks, rank, begin);
        }
    }
    if (!tt_order_put(&c->places, 0, begin, end - begin, rank) ||
        !tt_order_put(&c->ranks, rank, begin, end - begin, 0))
        c->failed = true;
}

static void drop(cache *c, uint64_t begin, uint64_t rank)
{
    tt_order_drop(&c->places, 0, begin);
    tt_order_drop(&c->ranks, rank, begin);
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

/* Takes n blocks out of the interval that goes first. */
static void evict(cache *c, const tt_order_node *victim, uint64_t n)
{
    const uint64_t begin = victim->begin, end = begin + victim->size, rank = victim->rank;
    drop(c, begin, rank);
    if (c->policy == TT_POLICY_BELADY)
        keep(c, begin, end - n, rank);
    else
        keep(c, begin + n, end, rank);
}

/* Whether that interval goes before the block x that was just fetched. */
static bool goes_first(const cache *c, const tt_order_node *victim, uint64_t rank, uint64_t x)
{
    bool below = victim->rank != rank ? victim->rank < rank : victim->begin < x;
    return below != (c->policy == TT_POLICY_BELADY);
}

/* Fetches blocks that are not in the cache, in ascending order. `held` of them are in the cache
 * at a time; they are only entered at the end. */
static void fetch(cache *c, uint64_t begin, uint64_t end, uint64_t rank)
{
    const uint64_t n = end - begin, space = c->capacity - c->used;
    uint64_t held = n < space ? n : space;
    uint64_t left = n - held;
    c->used += held;
    while (left > 0 && !c->failed) {
        const tt_order_node *victim = tt_order_end(&c->ranks, c->policy == TT_POLICY_BELADY);
        bool first = victim && goes_first(c, victim, rank, begin);
        if (!first && held > 0) break; /* the rest takes the place of what this fetched itself */
        if (!victim) return;           /* a cache of no size */
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
        /* Each block took the place of the one before it: the latest to be read again. */
        keep(c, begin, begin + held - 1, rank);
        keep(c, end - 1, end, rank);
    }
}

/* Reads blocks whose next read is the same; returns how many were not in the cache. */
static uint64_t read_blocks(cache *c, uint64_t begin, uint64_t end, uint32_t now, uint32_t next)
{
    uint64_t missed = 0, x = begin;
    while (x < end && !c->failed) {
        const tt_order_node *p = tt_order_before(&c->places, 0, x);
        if (!p || p->begin + p->size <= x) p = tt_order_behind(&c->places, 0, x);
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
static bool replay(const tt_cache_job *job, size_t which, const tt_future *future)
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
    tt_order_free(&c.places);
    tt_order_free(&c.ranks);
    return !c.failed;
}

bool tt_cache_by_rank(const tt_cache_job *job)
{
    tt_future future = {0};
    bool belady = job->policy == TT_POLICY_BELADY;
    bool ok =
        tt_stream_length(job->stream) < UINT32_MAX && (!belady || future_see(job->stream, &future));
    for (size_t i = 0; ok && i < job->n; i++)
        ok = replay(job, i, belady ? &future : NULL);
    future_free(&future);
    return ok;
}
