/* The element types of values, and their conversion to 32-bit floats.
 *
 * The types that a node's output can have: plain numbers, and the block-quantised ones of a KV
 * cache. Block layouts: ggml's block_q8_0, block_q5_1, block_q5_0, block_q4_1, block_q4_0,
 * block_iq4_nl (ggml-common.h). */
#ifndef TT_VALUE_TYPE_H
#define TT_VALUE_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum tt_value_type {
    TT_VALUE_UNKNOWN = 0, /* bytes of unknown content */
    TT_VALUE_F32,
    TT_VALUE_F16,
    TT_VALUE_BF16,
    TT_VALUE_F64,
    TT_VALUE_I8,
    TT_VALUE_I16,
    TT_VALUE_I32,
    TT_VALUE_I64,
    TT_VALUE_Q8_0,
    TT_VALUE_Q5_1,
    TT_VALUE_Q5_0,
    TT_VALUE_Q4_1,
    TT_VALUE_Q4_0,
    TT_VALUE_IQ4_NL,
    TT_VALUE_TYPES
} tt_value_type;

/* The type with ggml's name ("f32", "q8_0"); TT_VALUE_UNKNOWN for others. */
tt_value_type tt_value_type_of(const char *name);
/* ggml's name of the type; "unknown". */
const char *tt_value_type_name(tt_value_type type);
/* Elements per block (1: not quantised), and bytes per block; both 0 for TT_VALUE_UNKNOWN. */
uint32_t tt_value_block_elements(tt_value_type type);
uint32_t tt_value_block_bytes(tt_value_type type);
/* Whether elements are whole numbers, which are never NaN or infinite. */
bool tt_value_is_integer(tt_value_type type);

/* Converts n elements (whole blocks) to floats; f64 and wide integers are rounded to nearest, as
 * by a cast. Reads n / block_elements * block_bytes bytes at `bytes`, aligned or not. The type
 * is not TT_VALUE_UNKNOWN. */
void tt_value_to_f32(tt_value_type type, const void *bytes, size_t n, float *out);

#define TT_VALUE_DIMS 4u

/* A tensor's data. Strides are ggml's nb: nb[0] is between blocks of dimension 0. */
typedef struct tt_value_data {
    tt_value_type type;
    uint64_t ne[TT_VALUE_DIMS];
    uint64_t nb[TT_VALUE_DIMS];
    const void *data;
    /* The rows selected in dimension 1 (those that SET_ROWS wrote): ne[1] signed integers of
     * rows_bytes (4 or 8) each, in units of nb[1], none negative. NULL: 0, 1, 2, ... */
    const void *rows;
    uint32_t rows_bytes;
} tt_value_data;

#endif
