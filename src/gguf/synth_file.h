/* GGUF files of random tensors: what synthetic models and adapters have in common.
 *
 * init, metadata and tensors, write, free. The same calls and seed give the same
 * bytes, whatever the number of threads. */
#ifndef TT_GGUF_SYNTH_FILE_H
#define TT_GGUF_SYNTH_FILE_H

#include "base/outfile.h"
#include "gguf/writer.h"

#include <stdatomic.h>

/* Called from the calling thread now and then with the bytes written so far. */
typedef void tt_synth_progress(void *user, uint64_t done_bytes, uint64_t total_bytes);

/* Of a tensor's name, with the NUL: ggml's own limit. */
#define TT_SYNTH_NAME_MAX 64u

typedef struct tt_synth_tensor {
    char name[TT_SYNTH_NAME_MAX];
    const tt_ggml_type *type;
    uint32_t n_dims;
    uint64_t ne[3];
    float sigma; /* standard deviation; 0: all ones, in F32 */
    uint32_t part;
    uint64_t offset; /* absolute, in its file, once that is begun */
    uint64_t size_bytes;
} tt_synth_tensor;

typedef struct tt_synth_part {
    tt_gguf_writer writer;
    tt_outfile file;
    bool open;
} tt_synth_part;

/* Threads take chunks by number from `next`; a chunk's content depends on seed,
 * tensor and place alone. */
typedef struct tt_synth_file {
    uint64_t seed;
    uint32_t n_parts;
    uint32_t n_threads; /* 0: as many as there are processors, at most 4 */
    tt_synth_tensor *tensors;
    size_t n_tensors, tensors_max;
    tt_synth_part *parts;
    /* Private: */
    uint64_t *first_chunk; /* of each tensor, and the total behind the last */
    uint64_t data_bytes;
    atomic_uint_fast64_t next;
    atomic_uint_fast64_t done_bytes;
    atomic_int failed; /* errno of the first write that failed */
    tt_synth_progress *progress;
    void *user;
} tt_synth_file;

/* Room for up to tensors_max tensors in n_parts (at least 1) files. Free it with
 * tt_synth_file_free, also after a failure. */
tt_status tt_synth_file_init(tt_synth_file *f, size_t tensors_max, uint32_t n_parts, tt_error *err);
void tt_synth_file_free(tt_synth_file *f);

/* Where the metadata go: the first file's writer. */
tt_gguf_writer *tt_synth_file_metadata(tt_synth_file *f);
/* Adds a tensor; the name is cut to TT_SYNTH_NAME_MAX, which callers rule out. ne[0] is
 * whole blocks of the type, n_dims 1 to 3. No more than tensors_max are added. */
void tt_synth_file_add(tt_synth_file *f, const char *name, uint32_t type, float sigma,
                       uint32_t n_dims, const uint64_t *ne);

/* Writes everything to `path`, or, with n_parts > 1, to "NAME-00001-of-0000N.gguf" and
 * its siblings where path is "NAME.gguf". Each file appears whole or not at all; existing
 * ones are TT_E_EXISTS unless `force`. progress may be NULL. *total_bytes (may be NULL):
 * of all files. */
tt_status tt_synth_file_write(tt_synth_file *f, const char *path, bool force,
                              tt_synth_progress *progress, void *user, uint64_t *total_bytes,
                              tt_error *err);

#endif
