/* Builds the header of a GGUF v3 file: pairs and tensor descriptions, in the order of adding.
 * The caller writes the tensors' data, at the offsets that the writer returns. */
#ifndef TT_GGUF_WRITER_H
#define TT_GGUF_WRITER_H

#include "base/bytes.h"
#include "gguf/reader.h"
#include "gguf/types.h"

typedef struct tt_gguf_writer {
    tt_bytes kvs;
    tt_bytes infos;
    uint64_t n_kvs;
    uint64_t n_tensors;
    uint64_t data_size; /* of the tensors so far, padding included */
} tt_gguf_writer;

/* Allocates nothing yet; free with tt_gguf_writer_free. tt_gguf_writer_header reports when
 * memory (or TT_GGUF_HEADER_MAX) was exceeded. */
void tt_gguf_writer_init(tt_gguf_writer *w);
void tt_gguf_writer_free(tt_gguf_writer *w);

void tt_gguf_writer_u16(tt_gguf_writer *w, const char *key, uint16_t v);
void tt_gguf_writer_u32(tt_gguf_writer *w, const char *key, uint32_t v);
void tt_gguf_writer_i32(tt_gguf_writer *w, const char *key, int32_t v);
void tt_gguf_writer_f32(tt_gguf_writer *w, const char *key, float v);
void tt_gguf_writer_bool(tt_gguf_writer *w, const char *key, bool v);
void tt_gguf_writer_string(tt_gguf_writer *w, const char *key, const char *v);
/* Begins an array of n elements of a kind; add their bytes with tt_gguf_writer_raw and, for
 * strings, tt_gguf_writer_element. */
void tt_gguf_writer_array(tt_gguf_writer *w, const char *key, tt_gguf_kind kind, uint64_t n);
void tt_gguf_writer_raw(tt_gguf_writer *w, const void *data, size_t n);
void tt_gguf_writer_element(tt_gguf_writer *w, const char *text);

/* Describes a tensor and returns its data offset, counted from the beginning of
 * the data section. `ne` holds n_dims (1 to 4) sizes, ne[0] whole blocks. */
uint64_t tt_gguf_writer_tensor(tt_gguf_writer *w, const char *name, const tt_ggml_type *type,
                               uint32_t n_dims, const uint64_t *ne, uint64_t *size_bytes);

/* Appends the header to `out`, padded to the start of the data. */
tt_status tt_gguf_writer_header(const tt_gguf_writer *w, tt_bytes *out, tt_error *err);

#endif
