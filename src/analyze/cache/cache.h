/* Input of the cache simulators: reads of ranges of one address space, in time order.
 *
 * The space is counted in blocks, for example pages of 4 KiB, or bytes. */
#ifndef TT_ANALYZE_CACHE_CACHE_H
#define TT_ANALYZE_CACHE_CACHE_H

#include "policy/policy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tt_extent {
    uint64_t begin;
    uint64_t end; /* exclusive; > begin */
} tt_extent;

/* Reads from `first` up to the next section belong to one group, for example a token. */
typedef struct tt_section {
    size_t first;
    uint32_t group;
} tt_section;

/* The stream owns nothing. */
typedef struct tt_stream {
    const tt_extent *extents; /* distinct */
    uint32_t n_extents;
    const uint32_t *order; /* the extent of each read */
    size_t n;
    const tt_section *sections; /* the first one begins at read 0 */
    size_t n_sections;
    uint32_t n_groups;
    bool twice; /* replayed twice, and only the second round counts: a warm start */
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

/* Cache simulators: which reads of a stream hit a cache, and what must be fetched. Exact, as if
 * simulated block by block; lru, lfu, belady and pin-hot work on whole ranges.
 *
 * Every block that misses is fetched and added; if the cache is full, the policy (policy/policy.h)
 * chooses the block to evict. Among blocks of equal rank, lfu and pin-hot take the first. The
 * blocks of a read are read in ascending order. */

typedef struct tt_cache_job {
    const tt_stream *stream;
    tt_policy policy;
    /* Extents are kept and evicted as a whole; they do not overlap. Others are evicted until one
     * fits; one larger than the cache is not kept. (belady is then a good heuristic, not optimal;
     * pin-hot skips extents that do not fit.) */
    bool whole;
    const uint32_t *layers; /* of the extents, for least-stale and lfu-layer; NULL: one layer */
    const uint32_t *passes; /* of the groups, for least-stale: ascending; NULL: all of one pass */
    /* Not 0: instead of the policy, blocks are pages that Linux maps and evicts under a memory
     * limit, with readahead windows of this many pages (kernel.c). */
    uint32_t ahead;
    /* With ahead: */
    uint64_t block_bytes;   /* of a page */
    double page_ns;         /* time to fetch a page */
    const double *group_ns; /* computing time, by group; NULL: zero */
    bool populated;   /* the files are mapped with MAP_POPULATE before the first read; pages fetched
                         by that belong to no group */
    uint64_t *around; /* NULL, or like missed: blocks fetched around a missing one that were not
                         read before */
    const uint64_t *files; /* with ahead: the files' first blocks, then the end */
    size_t n_files;
    const uint64_t *capacities; /* in blocks */
    size_t n;
    uint64_t *missed; /* n x groups, filled in: blocks fetched */
} tt_cache_job;

/* Limit of the blocks of a simulation that needs memory for each. */
#define TT_CACHE_KERNEL_BLOCKS_MAX ((uint64_t)1 << 26)
#define TT_CACHE_POLICY_BLOCKS_MAX ((uint64_t)1 << 24)
uint64_t tt_cache_blocks_max(tt_policy policy, bool whole, uint32_t ahead);

/* False if out of memory. */
bool tt_cache_run(const tt_cache_job *job);
/* Blocks read, and blocks read for the first time, by group; arrays of n_groups. False if out of
 * memory. */
bool tt_cache_demand(const tt_stream *stream, uint64_t *read, uint64_t *first);

/* Two methods of tt_cache_run, one capacity after another. Any policy, of whole extents or block by
 * block: */
bool tt_cache_by_policy(const tt_cache_job *job);
/* With `ahead`: page by page (kernel.c). */
bool tt_cache_by_kernel(const tt_cache_job *job);

#endif
