/* An ordered set of intervals of an address space, by (rank, begin), with the total size of those
 * after a position. Every call takes logarithmic time.
 *
 * A private generator of priorities keeps the tree balanced for any input. Pointers to nodes are
 * valid until the next tt_intervals_put. */
#ifndef TT_ANALYZE_CACHE_REUSE_H
#define TT_ANALYZE_CACHE_REUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tt_interval {
    uint64_t rank;
    uint64_t begin;
    uint64_t size; /* 0: the node is not used */
    uint64_t note; /* the caller's own */
    /* Private: */
    uint64_t sum; /* of the sizes in its subtree */
    uint32_t child[2];
    uint32_t priority;
} tt_interval;

/* Zero-filled is empty. */
typedef struct tt_intervals {
    tt_interval *nodes; /* the first stands for none */
    uint32_t n, capacity;
    uint32_t root, unused; /* 0: none */
    uint32_t random;
} tt_intervals;

void tt_intervals_free(tt_intervals *o);
/* Adds an interval with a new (rank, begin). False if out of memory. */
bool tt_intervals_put(tt_intervals *o, uint64_t rank, uint64_t begin, uint64_t size, uint64_t note);
/* Removes the interval with that rank and begin, if there is one. */
void tt_intervals_drop(tt_intervals *o, uint64_t rank, uint64_t begin);
/* The last interval at or before (rank, begin), the first one at or after it; NULL: none. */
tt_interval *tt_intervals_before(const tt_intervals *o, uint64_t rank, uint64_t begin);
tt_interval *tt_intervals_after(const tt_intervals *o, uint64_t rank, uint64_t begin);
/* The first or last interval; NULL if the set is empty. */
tt_interval *tt_intervals_end(const tt_intervals *o, bool last);
/* Total size of the intervals after (rank, begin), exclusive. */
uint64_t tt_intervals_above(const tt_intervals *o, uint64_t rank, uint64_t begin);

/* Reuse distances: how large an LRU cache must be for a read to hit.
 *
 * Reads are ranges of one address space, in order; within a read, addresses ascend. The distance of
 * a byte that is read again is the number of distinct bytes read since its last use, itself
 * included: the smallest LRU cache that still holds it. It is the same for all bytes of a range
 * that were last read together. Bytes may stand for pages. */

#define TT_REUSE_FIRST UINT64_MAX /* the distance of bytes that were never read before */

/* Zero-filled is ready: no reads so far. */
typedef struct tt_reuse {
    uint64_t reads;
    /* Private: the address space as intervals with the same last read. */
    tt_intervals places;    /* by address; the note is twice the slot, + 1 if the slot has several
                           intervals */
    tt_intervals fragments; /* by (slot, address): those that share a slot */
    uint64_t *sums;         /* a Fenwick tree of the sizes, by slot */
    uint64_t *number;       /* the read of a slot */
    uint32_t slots, next_slot;
    uint64_t total;
} tt_reuse;

/* Part of a read whose bytes were last read together. `last`: number of that read, from 0. */
typedef struct tt_reused {
    uint64_t begin;
    uint64_t size;
    uint64_t distance;
    uint64_t last;
} tt_reused;

typedef void tt_reuse_visit(void *context, const tt_reused *part);

/* Reads [begin, end) and visits its parts by ascending address. `hint`, one for each range that is
 * read repeatedly, 0 at first, makes it fast; NULL: none. False if out of memory. */
bool tt_reuse_read(tt_reuse *r, uint64_t begin, uint64_t end, uint32_t *hint, tt_reuse_visit *visit,
                   void *context);
void tt_reuse_free(tt_reuse *r);

#endif
