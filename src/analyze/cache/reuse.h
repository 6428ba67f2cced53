/* Reuse distances: how large a least-recently-used cache must be for a read to find its bytes.
 *
 * Reads are ranges of one address space, in order; within a read addresses ascend. The distance
 * of a byte that is read again is the number of distinct bytes read from its last use up to this
 * one, itself included: the smallest LRU cache in which it still is. It is the same for all
 * bytes of a range that were last read together. Bytes may stand for pages. */
#ifndef TT_ANALYZE_REUSE_H
#define TT_ANALYZE_REUSE_H

#include "analyze/order.h"

#include <stdbool.h>
#include <stdint.h>

#define TT_REUSE_FIRST UINT64_MAX /* the distance of bytes that were never read before */

/* Zero-filled is ready: nothing was read. */
typedef struct tt_reuse {
    uint64_t reads;
    /* Private: what was read as intervals of one last read each. */
    tt_order places;    /* by address; the note is twice the slot, + 1 when it is not alone in it */
    tt_order fragments; /* by (slot, address): those that share a slot */
    uint64_t *sums;     /* a Fenwick tree of the sizes, by slot */
    uint64_t *number;   /* of the read that a slot stands for */
    uint32_t slots, next_slot;
    uint64_t total;
} tt_reuse;

/* Part of a read whose bytes share their past. `last`: number of the read before, from 0. */
typedef struct tt_reused {
    uint64_t begin;
    uint64_t size;
    uint64_t distance;
    uint64_t last;
} tt_reused;

typedef void tt_reuse_visit(void *context, const tt_reused *part);

/* Reads [begin, end) and visits its parts by ascending address. `hint`, one for each range that
 * is read again and again, 0 at first, makes it fast; NULL: none. False without memory. */
bool tt_reuse_read(tt_reuse *r, uint64_t begin, uint64_t end, uint32_t *hint, tt_reuse_visit *visit,
                   void *context);
void tt_reuse_free(tt_reuse *r);

#endif
