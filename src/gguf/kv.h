/* The metadata of a GGUF file: key-value pairs in the file's own bytes.
 *
 * Nothing is copied: keys, strings and arrays point into the header that their tt_gguf owns, and
 * live as long as it does. */
#ifndef TT_GGUF_KV_H
#define TT_GGUF_KV_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stdint.h>

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
