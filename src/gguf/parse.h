/* Parses one GGUF header. Internal to this directory: see reader.h. */
#ifndef TT_GGUF_PARSE_H
#define TT_GGUF_PARSE_H

#include "gguf/reader.h"

/* Parses the header at the start of `prefix` into *part and *tensors (malloc'ed, *n_tensors of
 * them, sorted by offset). part->path must be set; part->kvs point into `prefix`. If the header
 * exceeds `prefix` but the file of `file_size` bytes goes on, *more is set to the minimum of
 * bytes needed and the result is TT_E_TRUNCATED. On failure *part keeps its path only. */
tt_status tt_gguf_parse_header(tt_gguf_part *part, tt_gguf_tensor **tensors, size_t *n_tensors,
                               tt_span prefix, uint64_t file_size, uint64_t *more, tt_error *err);

/* Frees what parsing allocated for the part (not its path, not its header bytes). */
void tt_gguf_part_clear(tt_gguf_part *part);

/* A pair of that part by its key, or NULL. */
const tt_gguf_kv *tt_gguf_part_find(const tt_gguf_part *part, const char *key);

/* Fails with TT_E_FORMAT, naming both places, when two tensors have the same name. */
tt_status tt_gguf_check_names(const tt_gguf_part *parts, const tt_gguf_tensor *tensors,
                              size_t n_tensors, tt_error *err);

/* A text that is safe to print: control bytes become '?', long ones are cut. */
#define TT_GGUF_SHOWN 72

#endif
