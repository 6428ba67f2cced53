/* Private to cache*.c: the ways to simulate. Each is called for what it can do. */
#ifndef TT_ANALYZE_CACHE_KINDS_H
#define TT_ANALYZE_CACHE_KINDS_H

#include "analyze/cache/cache.h"

/* Any policy, of wholes, or block by block: one capacity after the other. */
bool tt_cache_by_policy(const tt_cache_job *job);
/* lfu, belady, of blocks: one capacity after the other. */
bool tt_cache_by_rank(const tt_cache_job *job);
/* With `ahead`: page by page, one capacity after the other. */
bool tt_cache_by_kernel(const tt_cache_job *job);

#endif
