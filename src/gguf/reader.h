/* Reads GGUF v2 and v3 model files (little-endian), including split ones.
 *
 * Format: the GGUF specification of ggml (docs/gguf.md) and gguf.h. Only headers are read, never
 * weights. Input is untrusted: every count is checked against the remaining bytes before memory
 * is allocated, and nothing exceeds the limits below. Errors carry the byte offset of the wrong
 * field. */
#ifndef TT_GGUF_READER_H
#define TT_GGUF_READER_H

#include "base/bytes.h"
#include "base/status.h"
#include "gguf/types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_GGUF_VERSION 3u
#define TT_GGUF_DIMS_MAX 4u
#define TT_GGUF_NAME_MAX 255u           /* bytes of a tensor name; ggml itself allows 63 */
#define TT_GGUF_KEY_MAX 65535u          /* bytes of a key, per the specification */
#define TT_GGUF_KVS_MAX 65536u          /* pairs in a file */
#define TT_GGUF_TENSORS_MAX 1048576u    /* tensors in a model, all parts together */
#define TT_GGUF_NESTING_MAX 4u          /* arrays in arrays */
#define TT_GGUF_PARTS_MAX 4096u         /* files of a split model */
#define TT_GGUF_HEADER_MAX (512u << 20) /* bytes of one file's header */
#define TT_GGUF_ALIGNMENT_DEFAULT 32u

typedef struct tt_gguf_tensor {
    const char *name; /* NUL-terminated, without other NULs */
    const tt_ggml_type *type;
    uint32_t n_dims;               /* as stored, 0 to 4 */
    uint64_t ne[TT_GGUF_DIMS_MAX]; /* ggml order; unused ones are 1 */
    uint64_t offset;               /* absolute, in the file of `part` */
    uint64_t size_bytes;
    uint64_t info_offset; /* of its description in the header, for messages */
    uint32_t part;        /* index into tt_gguf.parts */
} tt_gguf_tensor;

/* One file of a model; a model that is not split has one. */
typedef struct tt_gguf_part {
    char *path;
    uint64_t size_bytes;
    uint32_t version;
    uint32_t alignment;
    uint64_t data_offset; /* absolute: start of the tensor data */
    uint64_t gap_bytes;   /* between tensors, beyond alignment padding */
    tt_gguf_kv *kvs;
    size_t n_kvs;
    uint8_t *header; /* kvs point into it; NULL when the caller owns the bytes */
    char *names;     /* its tensors' names point into it */
} tt_gguf_part;

typedef struct tt_gguf {
    tt_gguf_part *parts;
    size_t n_parts;
    tt_gguf_tensor *tensors; /* in file order: by part, then by offset */
    size_t n_tensors;
    uint64_t size_bytes; /* of all files together */
} tt_gguf;

/* The model's shape according to the metadata; unknown values are -1 and NULL spans. */
typedef struct tt_gguf_shape {
    tt_span architecture;
    tt_span name;
    int64_t n_layers;
    int64_t n_vocab;
    int64_t n_embd;
    int64_t n_heads; /* of the first layer, if layers differ */
    int64_t n_experts;
    int64_t n_experts_used;
} tt_gguf_shape;

/* Reads the model at `path`; for the first file of a split model ("NAME-00001-of-00003.gguf"),
 * its siblings too. *model is zeroed first and is empty on failure; close it with tt_gguf_close. */
tt_status tt_gguf_open(tt_gguf *model, const char *path, tt_error *err);

/* The same from memory, without looking for siblings. `data` holds the first `size` bytes of a
 * file of `file_size` bytes (equal when complete) and must outlive the model. `path` is only a
 * label. */
tt_status tt_gguf_parse(tt_gguf *model, const char *path, const void *data, size_t size,
                        uint64_t file_size, tt_error *err);

void tt_gguf_close(tt_gguf *model);

/* The first file's pair with that key, or NULL. */
const tt_gguf_kv *tt_gguf_find(const tt_gguf *model, const char *key);
/* The tensor with that name, or NULL. A linear search: build an index for many. */
const tt_gguf_tensor *tt_gguf_tensor_find(const tt_gguf *model, const char *name);
tt_gguf_shape tt_gguf_shape_of(const tt_gguf *model);

#endif
