/* A made-up vocabulary for synthetic models, like SentencePiece ("llama" tokenizer): every piece
 * is unique, any text can be tokenised, and generated text looks like words. */
#ifndef TT_GGUF_SYNTH_H
#define TT_GGUF_SYNTH_H

#include "base/outfile.h"
#include "base/status.h"
#include "gguf/types.h"
#include "gguf/writer.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_VOCAB_MIN 354u /* 3 special tokens, 256 bytes, the space mark, 94 characters */
#define TT_VOCAB_MAX 1000000u

/* Adds the tokenizer.ggml.* pairs for `n` tokens (TT_VOCAB_MIN to TT_VOCAB_MAX). The same n
 * gives the same tokens, and a smaller vocabulary is a prefix of a larger one. */
tt_status tt_vocab_write(tt_gguf_writer *w, uint32_t n, tt_error *err);

/* Writes a synthetic llama model: valid GGUF v3 that engines load and run, with random weights
 * that keep every activation finite. The same configuration gives the same bytes, for any number
 * of threads. */

/* The shape of a synthetic model: presets, and limits of shapes. */

#define TT_SYNTH_PARTS_MAX 256u

typedef struct tt_synth_config {
    const char *name; /* general.name of the model; borrowed */
    uint32_t n_layers;
    uint32_t n_embd;
    uint32_t n_ffn;
    uint32_t n_heads;
    uint32_t n_heads_kv;
    uint32_t n_vocab;
    uint32_t n_ctx;
    uint32_t n_experts;      /* 0: a dense model */
    uint32_t n_experts_used; /* 0 if and only if n_experts is 0 */
    uint32_t type;           /* of matrices without their own type; ggml type numbers */
    uint32_t type_embd;
    uint32_t type_output;
    uint32_t type_attn_v;
    uint32_t type_ffn_down;
    bool tied; /* no separate output projection: the token embeddings are used */
    uint64_t seed;
    uint32_t n_parts;   /* files to split into; 1: not split */
    uint32_t n_threads; /* 0: the number of processors, at most 4 */
} tt_synth_config;

/* Fills *c from the named preset; false when there is none. */
bool tt_synth_preset(tt_synth_config *c, const char *name);
/* Name and description of preset i, from 0; false past the last. */
bool tt_synth_preset_at(size_t i, const char **name, const char **summary);

/* TT_E_USAGE with the first error and what would be valid. */
tt_status tt_synth_check(const tt_synth_config *c, tt_error *err);

/* GGUF files of random tensors, shared by synthetic models and adapters.
 *
 * Call init, add metadata and tensors, write, free. The same calls and seed give the same bytes,
 * for any number of threads. */

/* Progress, on the calling thread: the bytes written so far. */
typedef void tt_synth_progress(void *user, uint64_t done_bytes, uint64_t total_bytes);

/* Of a tensor's name, including NUL: ggml's own limit. */
#define TT_SYNTH_NAME_MAX 64u

typedef struct tt_synth_tensor {
    char name[TT_SYNTH_NAME_MAX];
    const tt_ggml_type *type;
    uint32_t n_dims;
    uint64_t ne[3];
    float sigma; /* standard deviation; 0: all ones, in F32 */
    uint32_t part;
    uint64_t offset; /* absolute, in its file, once that has been created */
    uint64_t size_bytes;
} tt_synth_tensor;

typedef struct tt_synth_part {
    tt_gguf_writer writer;
    tt_outfile file;
    bool open;
} tt_synth_part;

/* Threads take chunks by number from `next`; a chunk's content depends only on seed, tensor and
 * index. */
typedef struct tt_synth_file {
    uint64_t seed;
    uint32_t n_parts;
    uint32_t n_threads; /* 0: the number of processors, at most 4 */
    tt_synth_tensor *tensors;
    size_t n_tensors, tensors_max;
    tt_synth_part *parts;
    /* Private: */
    uint64_t *first_chunk; /* of each tensor, and finally the total */
    uint64_t data_bytes;
    atomic_uint_fast64_t next;
    atomic_uint_fast64_t done_bytes;
    atomic_int failed; /* errno of the first failed write */
    tt_synth_progress *progress;
    void *user;
} tt_synth_file;

/* Allocates room for up to tensors_max tensors in n_parts (at least 1) files. Free it with
 * tt_synth_file_free, also after a failure. */
tt_status tt_synth_file_init(tt_synth_file *f, size_t tensors_max, uint32_t n_parts, tt_error *err);
void tt_synth_file_free(tt_synth_file *f);

/* The writer for metadata: that of the first file. */
tt_gguf_writer *tt_synth_file_metadata(tt_synth_file *f);
/* Adds a tensor. Callers ensure that the name fits TT_SYNTH_NAME_MAX; a longer one is cut. ne[0]
 * is whole blocks of the type, n_dims 1 to 3. At most tensors_max are added. */
void tt_synth_file_add(tt_synth_file *f, const char *name, uint32_t type, float sigma,
                       uint32_t n_dims, const uint64_t *ne);

/* Writes everything to `path`; with n_parts > 1, to "NAME-00001-of-0000N.gguf" and its siblings,
 * where path is "NAME.gguf". Each file appears complete or not at all; existing ones are
 * TT_E_EXISTS unless `force`. progress may be NULL. *total_bytes (may be NULL): of all files. */
tt_status tt_synth_file_write(tt_synth_file *f, const char *path, bool force,
                              tt_synth_progress *progress, void *user, uint64_t *total_bytes,
                              tt_error *err);

/* Checks the configuration, then writes the model; path, force, progress and total_bytes as in
 * tt_synth_file_write. */
tt_status tt_synth_write(const tt_synth_config *c, const char *path, bool force,
                         tt_synth_progress *progress, void *user, uint64_t *total_bytes,
                         tt_error *err);

#endif
