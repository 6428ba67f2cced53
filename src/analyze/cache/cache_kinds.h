/* Private to cache*.c: the ways to simulate. Each is called for what it can do. */
#ifndef TT_ANALYZE_CACHE_KINDS_H
#define TT_ANALYZE_CACHE_KINDS_H

#include "analyze/cache/cache.h"

/* lru, lfu, belady, of blocks or wholes: one capacity after the other. */
bool tt_cache_by_rank(const tt_cache_job *job);
/* lru of blocks with `ahead`: block by block, one capacity after the other. */
bool tt_cache_by_block(const tt_cache_job *job);

#endif
