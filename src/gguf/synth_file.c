#include "gguf/synth_file.h"

#include "gguf/quantize.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHUNK_BYTES ((size_t)1 << 20)
#define THREADS_MAX 256u

tt_status tt_synth_file_init(tt_synth_file *f, size_t tensors_max, uint32_t n_parts, tt_error *err)
{
    memset(f, 0, sizeof *f);
    f->n_parts = n_parts;
    f->tensors_max = tensors_max;
    f->parts = calloc(n_parts, sizeof *f->parts);
    f->tensors = calloc(tensors_max ? tensors_max : 1, sizeof *f->tensors);
    if (!f->parts || !f->tensors)
        return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    for (uint32_t i = 0; i < n_parts; i++)
        tt_gguf_writer_init(&f->parts[i].writer);
    return TT_OK;
}

void tt_synth_file_free(tt_synth_file *f)
{
    for (uint32_t i = 0; f->parts && i < f->n_parts; i++) {
        if (f->parts[i].open) tt_outfile_abandon(&f->parts[i].file);
        tt_gguf_writer_free(&f->parts[i].writer);
    }
    free(f->parts);
    free(f->tensors);
    free(f->first_chunk);
}

tt_gguf_writer *tt_synth_file_metadata(tt_synth_file *f)
{
    return &f->parts[0].writer;
}

void tt_synth_file_add(tt_synth_file *f, const char *name, uint32_t type, float sigma,
                       uint32_t n_dims, const uint64_t *ne)
{
    if (f->n_tensors == f->tensors_max) return;
    tt_synth_tensor *t = &f->tensors[f->n_tensors++];
    (void)snprintf(t->name, sizeof t->name, "%s", name);
    t->type = tt_ggml_type_find(type);
    t->n_dims = n_dims;
    for (uint32_t i = 0; i < 3; i++)
        t->ne[i] = i < n_dims ? ne[i] : 1;
    t->sigma = sigma;
}

/* The name of part i: `path` itself, or "NAME-00001-of-00003.gguf". malloc'ed. */
static char *part_path(const char *path, uint32_t i, uint32_t n)
{
    char *out = NULL;
    size_t size = strlen(path);
    if (n == 1) return strdup(path);
    if (size > 5 && strcmp(path + size - 5, ".gguf") == 0) size -= 5;
    if (asprintf(&out, "%.*s-%05" PRIu32 "-of-%05" PRIu32 ".gguf", (int)size, path, i + 1, n) < 0)
        return NULL;
    return out;
}

/* Tensor descriptions, and what says that a file is a part; tensors get their data offsets. */
static void describe(tt_synth_file *f)
{
    uint32_t n_parts = f->n_parts;
    for (uint32_t i = 0; i < n_parts && n_parts > 1; i++) {
        tt_gguf_writer *w = &f->parts[i].writer;
        tt_gguf_writer_u16(w, "split.no", (uint16_t)i);
        tt_gguf_writer_u16(w, "split.count", (uint16_t)n_parts);
        tt_gguf_writer_i32(w, "split.tensors.count", (int32_t)f->n_tensors);
    }
    for (size_t i = 0; i < f->n_tensors; i++) {
        tt_synth_tensor *t = &f->tensors[i];
        t->part = (uint32_t)(i * n_parts / f->n_tensors);
        t->offset = tt_gguf_writer_tensor(&f->parts[t->part].writer, t->name, t->type, t->n_dims,
                                          t->ne, &t->size_bytes);
        f->data_bytes += t->size_bytes;
    }
}

/* Opens every part's file and writes its header; offsets become absolute. */
static tt_status begin_files(tt_synth_file *f, const char *path, bool force, uint64_t *total_bytes,
                             tt_error *err)
{
    tt_bytes header;
    tt_status status = TT_OK;
    tt_bytes_init(&header, TT_GGUF_HEADER_MAX);
    for (uint32_t i = 0; i < f->n_parts && status == TT_OK; i++) {
        tt_synth_part *p = &f->parts[i];
        char *name = part_path(path, i, f->n_parts);
        tt_bytes_clear(&header);
        status = tt_gguf_writer_header(&p->writer, &header, err);
        if (status == TT_OK && !name)
            status = tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
        if (status == TT_OK) status = tt_outfile_open(&p->file, name, force, err);
        p->open = status == TT_OK;
        if (p->open && (fwrite(header.data, 1, header.size, p->file.stream) != header.size ||
                        fflush(p->file.stream) != 0))
            status = tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot write %s: %s", name,
                                  strerror(errno));
        for (size_t k = 0; k < f->n_tensors; k++)
            if (f->tensors[k].part == i) f->tensors[k].offset += header.size;
        *total_bytes += header.size + p->writer.data_size;
        free(name);
    }
    tt_bytes_free(&header);
    return status;
}

static size_t chunk_blocks(const tt_synth_tensor *t)
{
    return CHUNK_BYTES / t->type->block_bytes;
}

static tt_status plan_chunks(tt_synth_file *f, tt_error *err)
{
    f->first_chunk = calloc(f->n_tensors + 1, sizeof *f->first_chunk);
    if (!f->first_chunk) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    for (size_t i = 0; i < f->n_tensors; i++) {
        const tt_synth_tensor *t = &f->tensors[i];
        uint64_t blocks = t->size_bytes / t->type->block_bytes;
        f->first_chunk[i + 1] =
            f->first_chunk[i] + (blocks + chunk_blocks(t) - 1) / chunk_blocks(t);
    }
    return TT_OK;
}

static bool write_all(int fd, const uint8_t *data, size_t n, uint64_t offset)
{
    while (n) {
        ssize_t put = pwrite(fd, data, n, (off_t)offset);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return false;
        data += put;
        n -= (size_t)put;
        offset += (uint64_t)put;
    }
    return true;
}

/* Chunk `k` of tensor `i`: made in `buffer`, written at its place, with the
 * padding behind the tensor's last one. */
static bool write_chunk(const tt_synth_file *f, size_t i, uint64_t k, uint8_t *buffer, size_t *size)
{
    const tt_synth_tensor *t = &f->tensors[i];
    tt_random r;
    uint64_t begin = k * chunk_blocks(t);
    uint64_t left = t->size_bytes / t->type->block_bytes - begin;
    size_t blocks = left < chunk_blocks(t) ? (size_t)left : chunk_blocks(t);
    *size = blocks * t->type->block_bytes;
    if (t->sigma > 0) {
        tt_random_init(&r, f->seed * 0x9e3779b97f4a7c15u ^ (uint64_t)i << 40 ^ k);
        (void)tt_quantize_random(t->type, buffer, blocks, t->sigma, &r);
    } else {
        const float one = 1;
        for (size_t b = 0; b < blocks; b++)
            memcpy(buffer + b * sizeof one, &one, sizeof one);
    }
    size_t padding = 0;
    if (blocks == left) padding = (size_t)(-(t->size_bytes) % TT_GGUF_ALIGNMENT_DEFAULT);
    memset(buffer + *size, 0, padding);
    return write_all(fileno(f->parts[t->part].file.stream), buffer, *size + padding,
                     t->offset + begin * t->type->block_bytes);
}

static void work(tt_synth_file *f, bool reports)
{
    uint8_t *buffer = malloc(CHUNK_BYTES + TT_GGUF_ALIGNMENT_DEFAULT);
    uint64_t chunks = f->first_chunk[f->n_tensors];
    size_t tensor_at = 0;
    int none = 0;
    if (!buffer) (void)atomic_compare_exchange_strong(&f->failed, &none, ENOMEM);
    while (atomic_load(&f->failed) == 0) {
        uint64_t chunk = atomic_fetch_add(&f->next, 1);
        size_t size = 0;
        if (chunk >= chunks) break;
        while (chunk >= f->first_chunk[tensor_at + 1])
            tensor_at++;
        if (!write_chunk(f, tensor_at, chunk - f->first_chunk[tensor_at], buffer, &size)) {
            (void)atomic_compare_exchange_strong(&f->failed, &none, errno ? errno : EIO);
            break;
        }
        uint64_t done = atomic_fetch_add(&f->done_bytes, size) + size;
        if (reports && f->progress) f->progress(f->user, done, f->data_bytes);
    }
    free(buffer);
}

static void *work_thread(void *arg)
{
    work(arg, false);
    return NULL;
}

static tt_status write_data(tt_synth_file *f, tt_error *err)
{
    pthread_t threads[THREADS_MAX];
    uint32_t wanted = f->n_threads;
    uint32_t n = 0;
    tt_status status = plan_chunks(f, err);
    if (status != TT_OK) return status;
    if (wanted == 0) {
        long processors = sysconf(_SC_NPROCESSORS_ONLN);
        wanted = processors < 1 ? 1 : processors > 4 ? 4 : (uint32_t)processors;
    }
    /* Fewer threads than wished for only take longer. */
    while (n + 1 < wanted && n < THREADS_MAX &&
           pthread_create(&threads[n], NULL, work_thread, f) == 0)
        n++;
    work(f, true);
    for (uint32_t i = 0; i < n; i++)
        (void)pthread_join(threads[i], NULL);
    int failed = atomic_load(&f->failed);
    if (failed)
        return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot write %s: %s",
                            f->parts[0].file.path, strerror(failed));
    return TT_OK;
}

static tt_status commit_files(tt_synth_file *f, tt_error *err)
{
    for (uint32_t i = 0; i < f->n_parts; i++) {
        tt_status status = tt_outfile_commit(&f->parts[i].file, err);
        f->parts[i].open = false;
        if (status != TT_OK) return status;
    }
    return TT_OK;
}

tt_status tt_synth_file_write(tt_synth_file *f, const char *path, bool force,
                              tt_synth_progress *progress, void *user, uint64_t *total_bytes,
                              tt_error *err)
{
    uint64_t total = 0;
    f->progress = progress;
    f->user = user;
    describe(f);
    tt_status status = begin_files(f, path, force, &total, err);
    if (status == TT_OK) status = write_data(f, err);
    if (status == TT_OK) status = commit_files(f, err);
    if (status == TT_OK && total_bytes) *total_bytes = total;
    return status;
}
