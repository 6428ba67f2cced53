#include "analyze/cache/cache_kinds.h"

#include <stdlib.h>
#include <string.h>

#define ABSENT UINT32_MAX

/* The cache, from the block used last (after the ring's anchor) to the one used longest ago. The
 * links of absent blocks are ABSENT. */
typedef struct ring {
    uint32_t *next, *before;
    uint32_t anchor; /* the number behind the last block */
    uint64_t used, capacity;
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

/* What is fetched for a missing block: where mm/filemap.c, do_sync_mmap_readahead, begins, and as
 * far; clipped to the block's file. */
static tt_extent window_of(const tt_cache_job *job, uint32_t block)
{
    size_t low = 0, high = job->n_files;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (job->files[middle] <= block)
            low = middle;
        else
            high = middle;
    }
    const uint64_t begin = job->files[low], half = job->ahead / 2;
    tt_extent w = {block - begin > half ? block - half : begin, 0};
    w.end = w.begin + job->ahead;
    if (w.end > job->files[low + 1]) w.end = job->files[low + 1];
    /* Of an odd window, or one of a single block, the block itself is always part. */
    if (w.end <= block) w.end = block + 1;
    return w;
}

/* Blocks fetched. The one that was asked for ends up as used last. */
static uint64_t fetch(ring *r, const tt_cache_job *job, uint32_t block)
{
    const tt_extent w = window_of(job, block);
    uint64_t fetched = 0;
    for (uint64_t b = w.begin; b < w.end; b++) {
        if (r->next[b] != ABSENT) continue;
        bring_in(r, (uint32_t)b);
        fetched++;
    }
    /* In a cache that is smaller than the window it may be gone again. */
    if (r->next[block] != ABSENT) take_out(r, block);
    bring_in(r, block);
    return fetched;
}

static void empty(ring *r, uint64_t capacity)
{
    memset(r->next, 0xff, r->anchor * sizeof *r->next);
    r->next[r->anchor] = r->before[r->anchor] = r->anchor;
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
    bool ok = r.next && r.before;
    for (size_t i = 0; ok && i < job->n; i++) {
        empty(&r, job->capacities[i]);
        replay(&r, job, job->missed + i * job->stream->n_groups);
    }
    free(r.next);
    free(r.before);
    return ok;
}
