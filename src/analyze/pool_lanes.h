/* Which ops waited for reads of `tensortrace boost`, and for which. A thread waits as its op
 * begins: behind the release of the op before, and before it arrives at the barrier behind its own.
 * The trace names the first thread that waited for a read, and how many did; the others are those
 * of the same op, in the order of lanes. */
#ifndef TT_ANALYZE_POOL_LANES_H
#define TT_ANALYZE_POOL_LANES_H

#include "model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Waits that are kept: 40 bytes each. */
#define TT_POOL_WAITS_MAX (1u << 21)

/* What an op on a lane waited. */
typedef struct tt_pool_wait {
    double begin_ns, end_ns; /* of all its reads */
    double latest_ns;        /* the latest end of this and all before it */
    uint32_t run;            /* in tt_model.runs */
    uint32_t node;
    uint32_t read; /* in tt_model.pool_reads: the one that ended last */
    uint16_t lane;
} tt_pool_wait;

typedef struct tt_pool_lanes {
    tt_pool_wait *list; /* by begin */
    uint32_t n;
    bool cut;        /* there are more, or the search took too long */
    uint32_t *by_op; /* of the list, by run, node and lane */
    uint32_t
        *run_of_read; /* of tt_model.pool_reads: whose op waited; TT_NONE: none, or not known */
    uint32_t *node_of_read;
} tt_pool_lanes;

/* Walks the ops of all runs that waited. Freed with tt_pool_lanes_free, also after an error. Then
 * immutable. */
tt_status tt_pool_lanes_find(tt_pool_lanes *p, const tt_model *m, tt_error *err);
void tt_pool_lanes_free(tt_pool_lanes *p);

/* Waits that may have time in [from, to): *first .. *end - 1, of which those that end before `from`
 * are to be passed over. */
void tt_pool_lanes_waits(const tt_pool_lanes *p, double from_ns, double to_ns, uint32_t *first,
                         uint32_t *end);
/* Those of an op: by_op[*first .. *end - 1]. */
void tt_pool_lanes_of_op(const tt_pool_lanes *p, uint32_t run, uint32_t node, uint32_t *first,
                         uint32_t *end);

#endif
