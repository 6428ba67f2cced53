/* Cache simulators: what reads of a stream would find in a cache, and what they would have to
 * fetch. Exact, as if block by block, but at the cost of ranges.
 *
 * Every block that is read and is not in the cache is fetched and put into it, so that some
 * other block must go when it is full:
 *   lru      the one read longest ago
 *   lfu      the one read least often since it was fetched; of those the one read longest ago
 *   belady   the one that will be read again latest, or never: no other rule fetches less
 *   pin-hot  none: the blocks that the whole stream reads most often, of those the first, are
 *            kept from their first read on; the others never are
 * The blocks of a read are read in ascending order. */
#ifndef TT_ANALYZE_CACHE_H
#define TT_ANALYZE_CACHE_H

#include "analyze/stream.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum tt_policy {
    TT_POLICY_LRU,
    TT_POLICY_LFU,
    TT_POLICY_BELADY,
    TT_POLICY_PIN_HOT
} tt_policy;
#define TT_POLICIES 4

/* By tt_policy, as --policy has them. */
extern const char *const tt_policy_names[TT_POLICIES];

typedef struct tt_cache_job {
    const tt_stream *stream;
    tt_policy policy;
    /* Extents are kept and dropped as wholes; they do not overlap. Others are dropped until one
     * fits; one that is larger than the cache is not kept. (belady is then a good rule, not
     * the best one; pin-hot passes over those that do not fit.) */
    bool whole;
    /* lru of blocks only: a missing block b is fetched with those missing of the `ahead` blocks
     * from b - ahead / 2 on, within its file, as Linux does for mapped files. 0: b alone. */
    uint32_t ahead;
    const uint64_t *files; /* with ahead: where the files begin, and behind the last the end */
    size_t n_files;
    const uint64_t *capacities; /* in blocks */
    size_t n;
    uint64_t *missed; /* n x groups, filled in: blocks fetched */
} tt_cache_job;

/* With `ahead`, the space has at most so many blocks. */
#define TT_CACHE_AHEAD_BLOCKS_MAX ((uint64_t)1 << 26)

/* False without memory. */
bool tt_cache_run(const tt_cache_job *job);
/* Blocks read, and blocks read for the first time ever, by group; arrays of n_groups.
 * False without memory. */
bool tt_cache_demand(const tt_stream *stream, uint64_t *read, uint64_t *first);

#endif
