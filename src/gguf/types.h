/* The tensor types of ggml, as stored in GGUF files.
 *
 * Numbers, names and block layouts follow `enum ggml_type` and ggml-common.h of ggml (2023 to
 * August 2026). Types that ggml has removed but older files still contain (the row-interleaved
 * Q4_0 and IQ4_NL) are kept. */
#ifndef TT_GGUF_TYPES_H
#define TT_GGUF_TYPES_H

#include <stddef.h>
#include <stdint.h>

/* Type numbers that this project writes or treats specially. */
enum {
    TT_GGML_F32 = 0,
    TT_GGML_F16 = 1,
    TT_GGML_Q4_0 = 2,
    TT_GGML_Q4_1 = 3,
    TT_GGML_Q5_0 = 6,
    TT_GGML_Q5_1 = 7,
    TT_GGML_Q8_0 = 8,
    TT_GGML_Q2_K = 10,
    TT_GGML_Q3_K = 11,
    TT_GGML_Q4_K = 12,
    TT_GGML_Q5_K = 13,
    TT_GGML_Q6_K = 14,
    TT_GGML_IQ4_NL = 20,
    TT_GGML_BF16 = 30,
    TT_GGML_TQ2_0 = 35,
    TT_GGML_MXFP4 = 39
};

typedef struct tt_ggml_type {
    uint32_t id;
    const char *name;        /* as ggml spells it, in upper case: "Q4_K" */
    uint32_t block_elements; /* elements stored together; a row is whole blocks */
    uint32_t block_bytes;
} tt_ggml_type;

/* The type with that number, or NULL when it is unknown. Static storage. */
const tt_ggml_type *tt_ggml_type_find(uint32_t id);
/* The type with that name in any case ("q4_k"), or NULL. Static storage. */
const tt_ggml_type *tt_ggml_type_parse(const char *name);
/* The i-th known type, from 0; NULL past the last. For listings. */
const tt_ggml_type *tt_ggml_type_at(size_t i);

#endif
