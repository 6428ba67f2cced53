/* An ordered set of intervals of an address space, by (rank, begin), that knows the size of all
 * that lies above a place. Every call takes logarithmic time.
 *
 * Priorities come from a generator of its own, so that no input makes the tree deep. Pointers
 * to nodes are valid until the next tt_order_put. */
#ifndef TT_ANALYZE_CACHE_REUSE_H
#define TT_ANALYZE_CACHE_REUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tt_order_node {
    uint64_t rank;
    uint64_t begin;
    uint64_t size; /* 0 of a node that is not used */
    uint64_t note; /* the caller's own */
    /* Private: */
    uint64_t sum; /* of the sizes in its subtree */
    uint32_t child[2];
    uint32_t priority;
} tt_order_node;

/* Zero-filled is empty. */
typedef struct tt_order {
    tt_order_node *nodes; /* the first stands for none */
    uint32_t n, capacity;
    uint32_t root, unused; /* 0: none */
    uint32_t random;
} tt_order;

void tt_order_free(tt_order *o);
/* Adds an interval whose (rank, begin) is not there yet. False without memory. */
bool tt_order_put(tt_order *o, uint64_t rank, uint64_t begin, uint64_t size, uint64_t note);
/* Removes the interval with that rank and begin, when there is one. */
void tt_order_drop(tt_order *o, uint64_t rank, uint64_t begin);
/* The last interval at or before (rank, begin), the first one at or behind it; NULL: none. */
tt_order_node *tt_order_before(const tt_order *o, uint64_t rank, uint64_t begin);
tt_order_node *tt_order_behind(const tt_order *o, uint64_t rank, uint64_t begin);
/* The very first or last interval; NULL of an empty set. */
tt_order_node *tt_order_end(const tt_order *o, bool last);
/* Sizes of all intervals behind (rank, begin), itself not counted. */
uint64_t tt_order_above(const tt_order *o, uint64_t rank, uint64_t begin);

/* Reuse distances: how large a least-recently-used cache must be for a read to find its bytes.
 *
 * Reads are ranges of one address space, in order; within a read addresses ascend. The distance
 * of a byte that is read again is the number of distinct bytes read from its last use up to this
 * one, itself included: the smallest LRU cache in which it still is. It is the same for all
 * bytes of a range that were last read together. Bytes may stand for pages. */

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
