/* Which ops waited for reads of `tensortrace boost`, and for which reads. A thread waits when its
 * op begins: after the release of the previous op, and before it arrives at its own barrier. The
 * trace names the first thread that waited for a read, and how many did; the others are those of
 * the same op, in lane order. */
#ifndef TT_ANALYZE_POOL_LANES_H
#define TT_ANALYZE_POOL_LANES_H

#include "model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Limit of waits, 40 bytes each. */
#define TT_POOL_WAITS_MAX (1u << 21)

/* The wait of an op on a lane. */
typedef struct tt_pool_wait {
    double begin_ns, end_ns; /* of all its reads */
    double latest_ns;        /* the latest end of this and all earlier ones */
    uint32_t run;            /* in tt_model.runs */
    uint32_t node;
    uint32_t read; /* in tt_model.pool_reads: the one that ended last */
    uint16_t lane;
} tt_pool_wait;

typedef struct tt_pool_lanes {
    tt_pool_wait *list; /* by start */
    uint32_t n;
    bool cut;              /* there are more, or the search took too long */
    uint32_t *by_op;       /* of the list, by run, node and lane */
    uint32_t *run_of_read; /* by tt_model.pool_reads: run of the op that waited; TT_NONE: none, or
                              unknown */
    uint32_t *node_of_read;
} tt_pool_lanes;

/* Walks the ops of all runs that waited. Freed with tt_pool_lanes_free, also after an error.
 * Immutable then. */
tt_status tt_pool_lanes_find(tt_pool_lanes *p, const tt_model *m, tt_error *err);
void tt_pool_lanes_free(tt_pool_lanes *p);

/* Waits that may overlap [from, to): *first .. *end - 1; skip those that end before `from`. */
void tt_pool_lanes_waits(const tt_pool_lanes *p, double from_ns, double to_ns, uint32_t *first,
                         uint32_t *end);
/* Those of an op: by_op[*first .. *end - 1]. */
void tt_pool_lanes_of_op(const tt_pool_lanes *p, uint32_t run, uint32_t node, uint32_t *first,
                         uint32_t *end);

#endif
