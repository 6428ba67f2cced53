#include "analyze/cache/cache_kinds.h"

#include <stdlib.h>
#include <string.h>

#define ABSENT UINT32_MAX

/* The cache, from the block used last (after the ring's anchor) to the one used longest ago. The
 * links of absent blocks are ABSENT. */
typedef struct ring {
    uint32_t *next, *before;
    uint8_t *marked; /* bits, of blocks whose use fetches the window behind the one fetched last */
    uint32_t anchor; /* the number behind the last block */
    uint64_t used, capacity;
    uint64_t last_end; /* of the window fetched last */
    uint64_t expected; /* the block of it that was marked */
} ring;

static void take_out(ring *r, uint32_t block)
{
    r->next[r->before[block]] = r->next[block];
    r->before[r->next[block]] = r->before[block];
    r->next[block] = ABSENT;
    r->used--;
}

static void put_first(ring *r, uint32_t block)
{
    uint32_t second = r->next[r->anchor];
    r->next[block] = second;
    r->before[block] = r->anchor;
    r->before[second] = block;
    r->next[r->anchor] = block;
    r->used++;
}

static void bring_in(ring *r, uint32_t block)
{
    if (r->capacity == 0) return;
    if (r->used == r->capacity) take_out(r, r->before[r->anchor]);
    put_first(r, block);
}

static size_t file_of(const tt_cache_job *job, uint32_t block)
{
    size_t low = 0, high = job->n_files;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (job->files[middle] <= block)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* What is fetched for a missing block: where mm/filemap.c, do_sync_mmap_readahead, begins, and as
 * far; clipped to the block's file. */
static tt_extent window_of(const tt_cache_job *job, uint32_t block)
{
    const size_t file = file_of(job, block);
    const uint64_t begin = job->files[file], half = job->ahead / 2;
    tt_extent w = {block - begin > half ? block - half : begin, 0};
    w.end = w.begin + job->ahead;
    if (w.end > job->files[file + 1]) w.end = job->files[file + 1];
    /* Of an odd window, or one of a single block, the block itself is always part. */
    if (w.end <= block) w.end = block + 1;
    return w;
}

static bool is_marked(const ring *r, uint64_t block)
{
    return r->marked[block / 8] >> block % 8 & 1;
}

static void mark(ring *r, uint64_t block, bool on)
{
    const uint8_t bit = (uint8_t)(1u << block % 8);
    r->marked[block / 8] = (uint8_t)(on ? r->marked[block / 8] | bit : r->marked[block / 8] & ~bit);
}

/* Blocks fetched; of these, the one to be marked is. */
static uint64_t fetch_window(ring *r, tt_extent w, uint64_t marked)
{
    uint64_t fetched = 0;
    for (uint64_t b = w.begin; b < w.end; b++) {
        if (r->next[b] != ABSENT) continue;
        bring_in(r, (uint32_t)b);
        mark(r, b, b == marked);
        fetched++;
    }
    r->last_end = w.end;
    r->expected = marked;
    return fetched;
}

/* Blocks fetched. The one that was asked for ends up as used last. */
static uint64_t fetch(ring *r, const tt_cache_job *job, uint32_t block)
{
    const tt_extent w = window_of(job, block);
    const uint64_t fetched = fetch_window(r, w, w.end - (w.end - w.begin) / 4);
    /* In a cache that is smaller than the window it may be gone again. */
    if (r->next[block] != ABSENT) take_out(r, block);
    bring_in(r, block);
    return fetched;
}

/* The use of a marked block: the window behind the last one, or behind the block what is missing
 * first; mm/readahead.c, page_cache_async_ra. */
static uint64_t fetch_next(ring *r, const tt_cache_job *job, uint32_t block)
{
    const uint64_t end = job->files[file_of(job, block) + 1];
    uint64_t begin = r->last_end;
    mark(r, block, false);
    if (block != r->expected) {
        begin = block + 1;
        while (begin < end && begin - block <= job->ahead && r->next[begin] != ABSENT)
            begin++;
        if (begin - block > job->ahead) return 0;
    }
    if (begin >= end) return 0;
    const tt_extent w = {begin, begin + job->ahead < end ? begin + job->ahead : end};
    return fetch_window(r, w, w.begin);
}

static void empty(ring *r, uint64_t capacity)
{
    memset(r->next, 0xff, r->anchor * sizeof *r->next);
    r->next[r->anchor] = r->before[r->anchor] = r->anchor;
    memset(r->marked, 0, r->anchor / 8 + 1);
    r->expected = UINT64_MAX;
    r->used = 0;
    r->capacity = capacity;
}

static void replay(ring *r, const tt_cache_job *job, uint64_t *missed)
{
    for (tt_stream_at a = {0}; tt_stream_next(job->stream, &a);) {
        uint64_t fetched = 0;
        for (uint64_t b = a.extent->begin; b < a.extent->end; b++) {
            if (r->next[b] == ABSENT) {
                fetched += fetch(r, job, (uint32_t)b);
                continue;
            }
            take_out(r, (uint32_t)b);
            put_first(r, (uint32_t)b);
            if (is_marked(r, b)) fetched += fetch_next(r, job, (uint32_t)b);
        }
        if (a.counts) missed[a.group] += fetched;
    }
}

bool tt_cache_by_block(const tt_cache_job *job)
{
    const uint64_t blocks = job->files[job->n_files];
    if (blocks > TT_CACHE_AHEAD_BLOCKS_MAX) return false;
    ring r = {.anchor = (uint32_t)blocks};
    r.next = malloc(((size_t)blocks + 1) * sizeof *r.next);
    r.before = malloc(((size_t)blocks + 1) * sizeof *r.before);
    r.marked = malloc((size_t)blocks / 8 + 1);
    bool ok = r.next && r.before && r.marked;
    for (size_t i = 0; ok && i < job->n; i++) {
        empty(&r, job->capacities[i]);
        replay(&r, job, job->missed + i * job->stream->n_groups);
    }
    free(r.next);
    free(r.before);
    free(r.marked);
    return ok;
}
