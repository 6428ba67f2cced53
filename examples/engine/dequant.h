/* The element types of a model file, as 32-bit floats.
 *
 * Layouts: the GGUF specification (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md) and
 * its page on quantised blocks. */
#ifndef DEQUANT_H
#define DEQUANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* GGUF's numbers of the types that this engine reads. */
enum {
    TYPE_F32 = 0,
    TYPE_F16 = 1,
    TYPE_Q4_0 = 2,
    TYPE_Q8_0 = 8,
    TYPE_Q4_K = 12,
    TYPE_Q6_K = 14,
    TYPE_BF16 = 30
};

typedef struct type_layout {
    uint32_t type;
    const char *name;        /* as ggml writes it: "q4_K" */
    uint32_t block_elements; /* 1: the type is plain */
    uint32_t block_bytes;
} type_layout;

/* NULL: not a type that this engine reads. */
const type_layout *type_find(uint32_t type);
/* n elements, whole blocks, from bytes that may be unaligned. */
void dequantize(uint32_t type, const uint8_t *bytes, size_t n, float *out);

float half_to_float(uint16_t h);
/* Rounds to nearest, ties to even; too large becomes infinite. */
uint16_t half_of_float(float v);

#endif
