/* The granule of a chunk's times: many processors' counters advance by several ticks at once, so
 * that almost all differences of times are multiples of some number. Times are stored as
 * multiples of it and, where there is one, a remainder: nothing is lost. */
#ifndef TT_FORMAT_OPS_GRANULE_H
#define TT_FORMAT_OPS_GRANULE_H

#include <stddef.h>
#include <stdint.h>

typedef struct tt_ops_granule {
    uint32_t ticks;      /* 1: there is none */
    uint64_t reciprocal; /* 2^64 / ticks, rounded up: to divide by multiplication */
} tt_ops_granule;

/* ticks > 0. */
tt_ops_granule tt_ops_granule_of(uint32_t ticks);
/* The one that makes n values of each of two columns smallest, from a sample of them. */
tt_ops_granule tt_ops_granule_find(const uint64_t *busy, const uint64_t *wait, size_t n);

/* The quotient, rounded down, of the signed difference v; *remainder is 0 to ticks - 1. */
static inline uint64_t tt_ops_granule_split(const tt_ops_granule *g, uint64_t v,
                                            uint64_t *remainder)
{
    uint64_t quotient;
    if (v <= UINT32_MAX && g->reciprocal) {
        /* Exact for 32 bits: D. Lemire, O. Kaser, N. Kurz, "Faster remainder by direct
         * computation", Software: Practice and Experience 49(6), 2019. */
        quotient = (uint64_t)((unsigned __int128)g->reciprocal * v >> 64);
    } else {
        int64_t whole = (int64_t)v / g->ticks;
        quotient = (uint64_t)(whole * g->ticks > (int64_t)v ? whole - 1 : whole);
    }
    *remainder = v - quotient * g->ticks;
    return quotient;
}

#endif
