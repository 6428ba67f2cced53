/* What the elements of a value are, and their numbers as 32-bit floats.
 *
 * Types that a node's output can have: plain numbers, and the block-quantised ones of a KV cache.
 * Layouts of blocks: ggml's block_q8_0, block_q5_1, block_q5_0, block_q4_1, block_q4_0,
 * block_iq4_nl (ggml-common.h). */
#ifndef TT_VALUE_TYPE_H
#define TT_VALUE_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum tt_value_type {
    TT_VALUE_UNKNOWN = 0, /* bytes of which nothing is known but how many there are */
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

/* By ggml's name of it ("f32", "q8_0"); TT_VALUE_UNKNOWN for another one. */
tt_value_type tt_value_type_of(const char *name);
/* ggml's name of it; "unknown". */
const char *tt_value_type_name(tt_value_type type);
/* Elements of a block (1: it is plain), and the bytes of one; both 0 for TT_VALUE_UNKNOWN. */
uint32_t tt_value_block_elements(tt_value_type type);
uint32_t tt_value_block_bytes(tt_value_type type);
/* Whether each element is a whole number, which neither is NaN nor infinite. */
bool tt_value_is_integer(tt_value_type type);

/* n elements, whole blocks, as floats: f64 and wide integers are rounded to nearest, as a cast
 * does. Reads n / block_elements * block_bytes bytes at `bytes`, aligned or not. The type is not
 * TT_VALUE_UNKNOWN. */
void tt_value_to_f32(tt_value_type type, const void *bytes, size_t n, float *out);

#endif
