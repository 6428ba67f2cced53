/* The critical path of a run: the chain of ops, each of which needs what the one before it
 * computed, that takes the longest. However many ops ran side by side, the graph could not be
 * computed faster than that.
 *
 * An op needs another one when one of its nodes has a source that a node of the other computes,
 * directly or through views. It also needs the op that last wrote, before it, into the tensor that
 * it reads: keys and values are written into the cache by one op and read through a view of the
 * cache by another, which no source of that one tells. (The whole of the tensor counts as written.)
 */
#ifndef TT_ANALYZE_CRITICAL_H
#define TT_ANALYZE_CRITICAL_H

#include "analyze/topology.h"
#include "base/status.h"

#include <stdint.h>

typedef struct tt_critical {
    uint32_t *ops;      /* the first node of each, in the order they were computed */
    uint32_t n_ops;     /* 0: nothing in the graph has a time */
    uint64_t ticks;     /* of all of these ops; saturating */
    uint32_t n_untimed; /* ops of the graph without a time: they count as taking none, so that the
                           path may be longer than found */
    uint64_t n_against; /* sources computed later than what needs them (a damaged trace): ignored */
} tt_critical;

/* Time and memory grow with nodes and edges. *out is freed with tt_critical_free, also after a
 * failure. Of several paths that take the longest, the one whose ops come first. */
tt_status tt_critical_find(const tt_topology *t, tt_critical *out, tt_error *err);
void tt_critical_free(tt_critical *c);

#endif
