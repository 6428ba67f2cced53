/* Bit-packed integers: `width` bits each, from the lowest bit of the first byte up, padded
 * with zero bits to a whole byte. Shared by the columns of OPS and DETAIL chunks. */
#ifndef TT_FORMAT_PACK_H
#define TT_FORMAT_PACK_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline unsigned tt_bits_width(uint64_t v)
{
    return 64u - (unsigned)__builtin_clzll(v | 1) - (v == 0); /* no branch */
}

static inline uint64_t tt_bits_mask(unsigned width)
{
    return width >= 64 ? UINT64_MAX : ((uint64_t)1 << width) - 1;
}

static inline size_t tt_bits_bytes(size_t n, unsigned width)
{
    return (n * width + 7) / 8;
}

/* Appends the low `width` (0 to 64) bits of n values. */
void tt_bits_put(tt_bytes *out, const uint64_t *values, size_t n, unsigned width);
/* Reads n values of `width` (0 to 64) bits: each times `factor` plus `base`, modulo 2^64.
 * `readable` bytes are at `from`: at least those of the values; eight more make it faster. */
void tt_bits_get(const uint8_t *from, size_t readable, uint64_t *values, size_t n, unsigned width,
                 uint64_t factor, uint64_t base);

/* Columns of integers in frames of bit-packed values: the OPS chunk's columns.
 * Specified in docs/format.md ("A column's values"). */

#define TT_PACK_FRAME 64u

/* Appends n values as frames; each frame takes the width that costs least. */
void tt_pack_column(tt_bytes *out, const uint64_t *values, size_t n);
/* Reads n values; false (c->failed is set) if the bytes break the format. */
bool tt_unpack_column(tt_cursor *c, uint64_t *values, size_t n);

#endif
