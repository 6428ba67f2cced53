/* The tensor types of ggml, as stored in GGUF files.
 *
 * Numbers, names and block layouts follow `enum ggml_type` and ggml-common.h of ggml (2023 to
 * August 2026). Types that ggml has removed but older files still contain (the row-interleaved
 * Q4_0 and IQ4_NL) are kept. */
#ifndef TT_GGUF_TYPES_H
#define TT_GGUF_TYPES_H

#include "base/bytes.h"

#include <stdbool.h>
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

/* The metadata of a GGUF file: key-value pairs in the file's own bytes.
 *
 * Nothing is copied: keys, strings and arrays point into the header that their tt_gguf owns, and
 * live as long as it does. */

/* `enum gguf_value_type` of the GGUF specification. */
typedef enum tt_gguf_kind {
    TT_GGUF_U8 = 0,
    TT_GGUF_I8 = 1,
    TT_GGUF_U16 = 2,
    TT_GGUF_I16 = 3,
    TT_GGUF_U32 = 4,
    TT_GGUF_I32 = 5,
    TT_GGUF_F32 = 6,
    TT_GGUF_BOOL = 7,
    TT_GGUF_STRING = 8,
    TT_GGUF_ARRAY = 9,
    TT_GGUF_U64 = 10,
    TT_GGUF_I64 = 11,
    TT_GGUF_F64 = 12
} tt_gguf_kind;

typedef struct tt_gguf_kv {
    tt_span key; /* not NUL-terminated */
    bool is_array;
    tt_gguf_kind kind; /* of the value, or of the array's elements */
    uint64_t count;    /* elements; 1 unless an array */
    tt_span value;     /* the stored bytes of the value, or of all elements */
    uint64_t offset;   /* of the key's length field in the file */
} tt_gguf_kv;

/* Bytes of one value of that kind; 0 for strings, arrays and unknown kinds. */
size_t tt_gguf_kind_size(tt_gguf_kind kind);
/* "u32", "str", ...; NULL for a kind that the specification lacks. */
const char *tt_gguf_kind_name(tt_gguf_kind kind);

/* The i-th integer (any width, or bool) of a value or an array; false when it is
 * not an integer, is negative, or i is past the end. */
bool tt_gguf_kv_u64(const tt_gguf_kv *kv, uint64_t i, uint64_t *out);
/* The string if the value is a single one; else a NULL span. */
tt_span tt_gguf_kv_string(const tt_gguf_kv *kv);
/* Iterates over a string array: start with *at = 0, call until false. */
bool tt_gguf_kv_next_string(const tt_gguf_kv *kv, size_t *at, tt_span *out);

#endif
