/* The columns of encoding 2 of OPS chunks: quotients by the chunk's granule, sparse or in frames,
 * and the remainders. Specified in docs/format.md. */
#ifndef TT_FORMAT_OPS_COLUMNS_H
#define TT_FORMAT_OPS_COLUMNS_H

#include "base/bytes.h"
#include "format/ops_granule.h"
#include "format/ops_layout.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Appends a column of n differences of times (signed, modulo 2^64), which stand in the layout's
 * order. The values are lost: they become the quotients. */
void tt_ops_column_put(tt_bytes *out, uint64_t *values, size_t n, const tt_ops_layout *l,
                       const tt_ops_granule *granule);
/* Reads one. Adds to *exception_bytes what stands outside of the frames and their packed values:
 * values of a sparse column, what did not fit into a frame's width, remainders. False
 * (c->failed is set) when the bytes break the format. */
bool tt_ops_column_get(tt_cursor *c, uint64_t *values, size_t n, const tt_ops_layout *l,
                       uint32_t granule, size_t *exception_bytes);

#endif
