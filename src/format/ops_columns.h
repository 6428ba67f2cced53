/* The columns of encoding 2 of OPS chunks: quotients by the chunk's granule, sparse or in frames,
 * and the remainders. Specified in docs/format.md. */
#ifndef TT_FORMAT_OPS_COLUMNS_H
#define TT_FORMAT_OPS_COLUMNS_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The order of the values in an OPS chunk's columns: group by group, where a group is the values of
 * one position of one sequence over all segments that have it, in segment order (docs/format.md,
 * "transposed"). For encoder and decoder, both encodings. */

#define TT_OPS_ENCODING_1 1u /* read only */
#define TT_OPS_ENCODING_2 2u
#define TT_OPS_OPEN_LANE (1u << 16)
#define TT_OPS_SHIFT_MAX 32u

/* A segment in the layout. Positions number those of all sequences. */
typedef struct tt_ops_part {
    uint32_t first; /* index of its first record */
    uint32_t count;
    uint32_t position; /* of its first record */
} tt_ops_part;

typedef struct tt_ops_layout {
    size_t n_positions;
    uint32_t *ends; /* per position: index after its group's last value */
    uint32_t *next; /* per position: index of its next value; advanced by code that visits the
                       records in order */
} tt_ops_layout;

/* Fills the layout for parts whose positions are below n_positions (> 0). The caller provides the
 * arrays: `ends` of n_positions + 1, `next` of n_positions. */
void tt_ops_layout_fill(tt_ops_layout *l, const tt_ops_part *parts, size_t n_parts,
                        size_t n_positions);

/* Cuts an array of n items of `size` bytes off a block of memory. A chunk's arrays are one
 * allocation, because the kernel has to clear the pages of each large block that is freed and
 * allocated again. */
static inline void *tt_ops_cut(uint8_t **memory, size_t n, size_t size)
{
    void *array = *memory;
    *memory += (n * size + 7) & ~(size_t)7;
    return array;
}

/* The granule of a chunk's times: many processors' counters advance by several ticks at once, so
 * that almost all time differences are multiples of some number. Times are stored as multiples of
 * it and, if needed, a remainder: nothing is lost. */

typedef struct tt_ops_granule {
    uint32_t ticks;      /* 1: no granule */
    uint64_t reciprocal; /* 2^64 / ticks, rounded up: to divide by multiplication */
} tt_ops_granule;

/* ticks > 0. */
tt_ops_granule tt_ops_granule_of(uint32_t ticks);
/* The granule that makes n values of each of two columns smallest, estimated from a sample. */
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

/* Appends a column of n time differences (signed, modulo 2^64) in the layout's order. Overwrites
 * the values with their quotients. */
void tt_ops_column_put(tt_bytes *out, uint64_t *values, size_t n, const tt_ops_layout *l,
                       const tt_ops_granule *granule);
/* Reads one. Adds to *exception_bytes the size of values outside of frames: values of a sparse
 * column, values too wide for their frame, remainders. False (c->failed is set) if the bytes break
 * the format. */
bool tt_ops_column_get(tt_cursor *c, uint64_t *values, size_t n, const tt_ops_layout *l,
                       uint32_t granule, size_t *exception_bytes);

#endif
