/* Columns of integers in frames of bit-packed values: the OPS chunk's columns.
 * Specified in docs/format.md ("A column's values"). */
#ifndef TT_FORMAT_PACK_H
#define TT_FORMAT_PACK_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_PACK_FRAME 64u

/* Appends n values as frames; each frame takes the cheapest of its widths. */
void tt_pack_column(tt_bytes *out, const uint64_t *values, size_t n);
/* Reads n values; false (c->failed is set) when the bytes break the format. */
bool tt_unpack_column(tt_cursor *c, uint64_t *values, size_t n);

#endif
