/* What the cache simulators replay: reads of ranges of one address space, in time order.
 *
 * The space is counted in blocks: pages of 4 KiB, say, or bytes. */
#ifndef TT_ANALYZE_CACHE_CACHE_H
#define TT_ANALYZE_CACHE_CACHE_H

#include "policy/policy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tt_extent {
    uint64_t begin;
    uint64_t end; /* not included; > begin */
} tt_extent;

/* Reads from `first` up to the next section's belong to a group: a token's, say. */
typedef struct tt_section {
    size_t first;
    uint32_t group;
} tt_section;

/* Nothing in it belongs to the stream. */
typedef struct tt_stream {
    const tt_extent *extents; /* distinct */
    uint32_t n_extents;
    const uint32_t *order; /* the extent of each read */
    size_t n;
    const tt_section *sections; /* the first one begins at read 0 */
    size_t n_sections;
    uint32_t n_groups;
    bool twice; /* replayed twice, and only the second time counts: a warm start */
} tt_stream;

/* Walks the reads: for (tt_stream_at a = {0}; tt_stream_next(s, &a);) ... */
typedef struct tt_stream_at {
    size_t next; /* reads taken, over both rounds */
    size_t section;
    const tt_extent *extent;
    uint32_t group;
    bool counts; /* false in the first of two rounds */
} tt_stream_at;

bool tt_stream_next(const tt_stream *s, tt_stream_at *a);
/* Reads over all rounds. */
size_t tt_stream_length(const tt_stream *s);

/* Cache simulators: what reads of a stream would find in a cache, and what they would have to
 * fetch. Exact, as if block by block; lru, lfu, belady and pin-hot at the cost of ranges.
 *
 * Every block that is read and is not in the cache is fetched and put into it, so that some
 * other block must go when it is full: which one is the policy's (policy/policy.h). lfu and pin-hot
 * of blocks take, of several that rank the same, the first. The blocks of a read are read in
 * ascending order. */

typedef struct tt_cache_job {
    const tt_stream *stream;
    tt_policy policy;
    /* Extents are kept and dropped as wholes; they do not overlap. Others are dropped until one
     * fits; one that is larger than the cache is not kept. (belady is then a good rule, not
     * the best one; pin-hot passes over those that do not fit.) */
    bool whole;
    const uint32_t *layers; /* of the extents, for least-stale and lfu-layer; NULL: one layer */
    const uint32_t *passes; /* of the groups, for least-stale: ascending; NULL: all of one pass */
    /* Not 0: blocks are pages that Linux maps and evicts under a memory limit, with reading ahead
     * in windows of so many pages, instead of the policy (kernel.c). */
    uint32_t ahead;
    /* With ahead: */
    uint64_t block_bytes;   /* of a page */
    double page_ns;         /* what fetching one takes */
    const double *group_ns; /* what computing takes, by group; NULL: nothing */
    bool populated;   /* the files are mapped with MAP_POPULATE before the first read; what that
                         fetches belongs to no group */
    uint64_t *around; /* NULL, or as missed: blocks fetched around a missing one, which nobody asked
                         for before */
    const uint64_t *files; /* with ahead: where the files begin, and behind the last the end */
    size_t n_files;
    const uint64_t *capacities; /* in blocks */
    size_t n;
    uint64_t *missed; /* n x groups, filled in: blocks fetched */
} tt_cache_job;

/* How many blocks the space may have: what goes block by block needs memory for each. */
#define TT_CACHE_KERNEL_BLOCKS_MAX ((uint64_t)1 << 26)
#define TT_CACHE_POLICY_BLOCKS_MAX ((uint64_t)1 << 24)
uint64_t tt_cache_blocks_max(tt_policy policy, bool whole, uint32_t ahead);

/* False without memory. */
bool tt_cache_run(const tt_cache_job *job);
/* Blocks read, and blocks read for the first time ever, by group; arrays of n_groups.
 * False without memory. */
bool tt_cache_demand(const tt_stream *stream, uint64_t *read, uint64_t *first);

/* Two of the ways that tt_cache_run takes, one capacity after the other. Any policy, of wholes, or
 * block by block: */
bool tt_cache_by_policy(const tt_cache_job *job);
/* With `ahead`: page by page (kernel.c). */
bool tt_cache_by_kernel(const tt_cache_job *job);

#endif
