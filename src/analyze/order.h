/* An ordered set of intervals of an address space, by (rank, begin), that knows the size of all
 * that lies above a place. Every call takes logarithmic time.
 *
 * Priorities come from a generator of its own, so that no input makes the tree deep. Pointers
 * to nodes are valid until the next tt_order_put. */
#ifndef TT_ANALYZE_ORDER_H
#define TT_ANALYZE_ORDER_H

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

#endif
