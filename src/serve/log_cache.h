/* The most recently used indexes of a trace's log. */
#ifndef TT_SERVE_LOG_CACHE_H
#define TT_SERVE_LOG_CACHE_H

#include "analyze/log/index.h"
#include "analyze/log/top.h"
#include "serve/request.h"

/* Filters with a cached index. */
#define TT_LOG_CACHE_MAX 16u

typedef struct tt_log_cache tt_log_cache;
typedef struct tt_log_shared tt_log_shared;

/* An index that others may read concurrently, and that nobody changes until it is returned. */
typedef struct tt_log_lease {
    tt_log_cache *cache;
    tt_log_shared *shared;
    const tt_log_index *index;
    const uint32_t *order;
    tt_log_count count;
    bool has_top;
} tt_log_lease;

/* Rows of a sorted log that are kept. */
#define TT_LOG_CACHE_TOP 10000u

/* Counts rows of the request's trace under the filter for a fraction of a second, or until `rows`
 * of them are known, and lends the index. */
tt_status tt_log_cache_acquire(tt_request *q, const tt_filter *f, bool by_lane, uint64_t rows,
                               tt_log_lease *out, tt_error *err);
/* The first TT_LOG_CACHE_TOP rows of a lent index in another order. The last order of a filter is
 * kept. Nobody else uses *out until the lease is returned, after which it is not valid. */
tt_status tt_log_cache_top(tt_request *q, tt_log_lease *lease, tt_sort_key sort,
                           const tt_log_top **out, tt_error *err);
void tt_log_cache_release(tt_log_lease *lease);

#endif
