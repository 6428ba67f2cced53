#include "gguf/synth.h"

#include "base/outfile.h"
#include "gguf/quantize.h"
#include "gguf/vocab.h"
#include "gguf/writer.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CHUNK_BYTES ((size_t)1 << 20)
#define THREADS_MAX 256u
#define TENSOR_NAME 64u

/* Standard deviations, times 1/sqrt(fan in): 1 keeps the size of what a matrix
 * maps. Queries and keys are larger so that attention prefers some positions, and
 * the output so that some tokens are likelier than others: what is generated then
 * depends on the whole text and does not run in circles. */
#define GAIN_QK 2.0f
#define GAIN_OUTPUT 4.0f
#define GAIN_ROUTER 2.0f
#define GAIN_PLAIN 1.0f

typedef struct tensor {
    char name[TENSOR_NAME];
    const tt_ggml_type *type;
    uint32_t n_dims;
    uint64_t ne[3];
    float sigma; /* 0: all ones */
    uint32_t part;
    uint64_t offset; /* absolute, in its file */
    uint64_t size_bytes;
} tensor;

typedef struct part {
    tt_gguf_writer writer;
    tt_outfile file;
    bool open;
} part;

/* A model being written. Threads take chunks by number from `next`; a chunk's
 * content depends on seed, tensor and place alone. */
typedef struct job {
    const tt_synth_config *c;
    tensor *tensors;
    size_t n_tensors;
    part *parts;
    uint64_t *first_chunk; /* of each tensor, and the total behind the last */
    uint64_t data_bytes;
    atomic_uint_fast64_t next;
    atomic_uint_fast64_t done_bytes;
    atomic_int failed; /* errno of the first write that failed */
    tt_synth_progress *progress;
    void *user;
} job;

static tensor *add_tensor(job *j, const char *name, uint32_t type, float gain, uint32_t n_dims,
                          const uint64_t ne[3])
{
    tensor *t = &j->tensors[j->n_tensors++];
    (void)snprintf(t->name, sizeof t->name, "%s.weight", name);
    t->type = tt_ggml_type_find(type);
    t->n_dims = n_dims;
    for (uint32_t i = 0; i < 3; i++)
        t->ne[i] = i < n_dims ? ne[i] : 1;
    t->sigma = gain / sqrtf((float)ne[0]);
    return t;
}

static void add_matrix(job *j, const char *name, uint32_t type, float gain, uint64_t ne0,
                       uint64_t ne1)
{
    (void)add_tensor(j, name, type, gain, 2, (const uint64_t[3]){ne0, ne1, 1});
}

static void add_norm(job *j, const char *name)
{
    add_tensor(j, name, TT_GGML_F32, 0, 1, (const uint64_t[3]){j->c->n_embd, 1, 1})->sigma = 0;
}

static const char *layer_name(char out[TENSOR_NAME - 8], uint32_t layer, const char *what)
{
    (void)snprintf(out, TENSOR_NAME - 8, "blk.%" PRIu32 ".%s", layer, what);
    return out;
}

static void add_ffn(job *j, uint32_t layer)
{
    const tt_synth_config *c = j->c;
    char n[TENSOR_NAME - 8];
    if (c->n_experts == 0) {
        add_matrix(j, layer_name(n, layer, "ffn_gate"), c->type, GAIN_PLAIN, c->n_embd, c->n_ffn);
        add_matrix(j, layer_name(n, layer, "ffn_down"), c->type_ffn_down, GAIN_PLAIN, c->n_ffn,
                   c->n_embd);
        add_matrix(j, layer_name(n, layer, "ffn_up"), c->type, GAIN_PLAIN, c->n_embd, c->n_ffn);
        return;
    }
    const uint64_t in[3] = {c->n_embd, c->n_ffn, c->n_experts};
    const uint64_t out[3] = {c->n_ffn, c->n_embd, c->n_experts};
    /* The router stays F32, as real quantisers leave it. */
    add_matrix(j, layer_name(n, layer, "ffn_gate_inp"), TT_GGML_F32, GAIN_ROUTER, c->n_embd,
               c->n_experts);
    (void)add_tensor(j, layer_name(n, layer, "ffn_gate_exps"), c->type, GAIN_PLAIN, 3, in);
    (void)add_tensor(j, layer_name(n, layer, "ffn_down_exps"), c->type_ffn_down, GAIN_PLAIN, 3,
                     out);
    (void)add_tensor(j, layer_name(n, layer, "ffn_up_exps"), c->type, GAIN_PLAIN, 3, in);
}

static void add_tensors(job *j)
{
    const tt_synth_config *c = j->c;
    uint64_t kv_width = (uint64_t)c->n_embd / c->n_heads * c->n_heads_kv;
    char n[TENSOR_NAME - 8];
    add_matrix(j, "token_embd", c->type_embd, sqrtf((float)c->n_embd), c->n_embd, c->n_vocab);
    for (uint32_t i = 0; i < c->n_layers; i++) {
        add_norm(j, layer_name(n, i, "attn_norm"));
        add_matrix(j, layer_name(n, i, "attn_q"), c->type, GAIN_QK, c->n_embd, c->n_embd);
        add_matrix(j, layer_name(n, i, "attn_k"), c->type, GAIN_QK, c->n_embd, kv_width);
        add_matrix(j, layer_name(n, i, "attn_v"), c->type_attn_v, GAIN_PLAIN, c->n_embd, kv_width);
        add_matrix(j, layer_name(n, i, "attn_output"), c->type, GAIN_PLAIN, c->n_embd, c->n_embd);
        add_norm(j, layer_name(n, i, "ffn_norm"));
        add_ffn(j, i);
    }
    add_norm(j, "output_norm");
    add_matrix(j, "output", c->type_output, GAIN_OUTPUT, c->n_embd, c->n_vocab);
}

/* `enum llama_ftype` for a model that is mostly of that type; llama.cpp only shows it. */
static uint32_t file_type(uint32_t type)
{
    static const struct {
        uint32_t type, file_type;
    } known[] = {
        {TT_GGML_F32, 0},     {TT_GGML_F16, 1},   {TT_GGML_Q4_0, 2},   {TT_GGML_Q4_1, 3},
        {TT_GGML_Q8_0, 7},    {TT_GGML_Q5_0, 8},  {TT_GGML_Q5_1, 9},   {TT_GGML_Q2_K, 10},
        {TT_GGML_Q3_K, 12},   {TT_GGML_Q4_K, 15}, {TT_GGML_Q5_K, 17},  {TT_GGML_Q6_K, 18},
        {TT_GGML_IQ4_NL, 25}, {TT_GGML_BF16, 32}, {TT_GGML_TQ2_0, 37}, {TT_GGML_MXFP4, 38}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].type == type) return known[i].file_type;
    return 0;
}

static tt_status write_metadata(tt_gguf_writer *w, const tt_synth_config *c, tt_error *err)
{
    uint32_t head = c->n_embd / c->n_heads;
    tt_gguf_writer_string(w, "general.architecture", "llama");
    tt_gguf_writer_string(w, "general.type", "model");
    tt_gguf_writer_string(w, "general.name", c->name);
    tt_gguf_writer_string(w, "general.description", "random weights, made by tensortrace synth");
    tt_gguf_writer_u32(w, "llama.block_count", c->n_layers);
    tt_gguf_writer_u32(w, "llama.context_length", c->n_ctx);
    tt_gguf_writer_u32(w, "llama.embedding_length", c->n_embd);
    tt_gguf_writer_u32(w, "llama.feed_forward_length", c->n_ffn);
    tt_gguf_writer_u32(w, "llama.attention.head_count", c->n_heads);
    tt_gguf_writer_u32(w, "llama.attention.head_count_kv", c->n_heads_kv);
    tt_gguf_writer_f32(w, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
    tt_gguf_writer_u32(w, "llama.rope.dimension_count", head);
    tt_gguf_writer_f32(w, "llama.rope.freq_base", 10000.0f);
    tt_gguf_writer_u32(w, "llama.vocab_size", c->n_vocab);
    if (c->n_experts) {
        tt_gguf_writer_u32(w, "llama.expert_count", c->n_experts);
        tt_gguf_writer_u32(w, "llama.expert_used_count", c->n_experts_used);
    }
    tt_gguf_writer_u32(w, "general.file_type", file_type(c->type));
    tt_gguf_writer_u32(w, "general.quantization_version", 2);
    return tt_vocab_write(w, c->n_vocab, err);
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

/* Metadata and tensor descriptions of every part; tensors get their data offsets. */
static tt_status describe(job *j, tt_error *err)
{
    uint32_t n_parts = j->c->n_parts;
    for (uint32_t i = 0; i < n_parts; i++) {
        tt_gguf_writer *w = &j->parts[i].writer;
        tt_status status = i == 0 ? write_metadata(w, j->c, err) : TT_OK;
        if (status != TT_OK) return status;
        if (n_parts == 1) continue;
        tt_gguf_writer_u16(w, "split.no", (uint16_t)i);
        tt_gguf_writer_u16(w, "split.count", (uint16_t)n_parts);
        tt_gguf_writer_i32(w, "split.tensors.count", (int32_t)j->n_tensors);
    }
    for (size_t i = 0; i < j->n_tensors; i++) {
        tensor *t = &j->tensors[i];
        t->part = (uint32_t)(i * n_parts / j->n_tensors);
        t->offset = tt_gguf_writer_tensor(&j->parts[t->part].writer, t->name, t->type, t->n_dims,
                                          t->ne, &t->size_bytes);
        j->data_bytes += t->size_bytes;
    }
    return TT_OK;
}

/* Opens every part's file and writes its header; offsets become absolute. */
static tt_status begin_files(job *j, const char *path, bool force, uint64_t *total_bytes,
                             tt_error *err)
{
    tt_bytes header;
    tt_status status = TT_OK;
    tt_bytes_init(&header, TT_GGUF_HEADER_MAX);
    for (uint32_t i = 0; i < j->c->n_parts && status == TT_OK; i++) {
        part *p = &j->parts[i];
        char *name = part_path(path, i, j->c->n_parts);
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
        for (size_t k = 0; k < j->n_tensors; k++)
            if (j->tensors[k].part == i) j->tensors[k].offset += header.size;
        *total_bytes += header.size + p->writer.data_size;
        free(name);
    }
    tt_bytes_free(&header);
    return status;
}

static size_t chunk_blocks(const tensor *t)
{
    return CHUNK_BYTES / t->type->block_bytes;
}

static tt_status plan_chunks(job *j, tt_error *err)
{
    j->first_chunk = calloc(j->n_tensors + 1, sizeof *j->first_chunk);
    if (!j->first_chunk) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    for (size_t i = 0; i < j->n_tensors; i++) {
        const tensor *t = &j->tensors[i];
        uint64_t blocks = t->size_bytes / t->type->block_bytes;
        j->first_chunk[i + 1] =
            j->first_chunk[i] + (blocks + chunk_blocks(t) - 1) / chunk_blocks(t);
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
static bool write_chunk(const job *j, size_t i, uint64_t k, uint8_t *buffer, size_t *size)
{
    const tensor *t = &j->tensors[i];
    tt_random r;
    uint64_t begin = k * chunk_blocks(t);
    uint64_t left = t->size_bytes / t->type->block_bytes - begin;
    size_t blocks = left < chunk_blocks(t) ? (size_t)left : chunk_blocks(t);
    *size = blocks * t->type->block_bytes;
    if (t->sigma > 0) {
        tt_random_init(&r, j->c->seed * 0x9e3779b97f4a7c15u ^ (uint64_t)i << 40 ^ k);
        (void)tt_quantize_random(t->type, buffer, blocks, t->sigma, &r);
    } else {
        const float one = 1;
        for (size_t b = 0; b < blocks; b++)
            memcpy(buffer + b * sizeof one, &one, sizeof one);
    }
    size_t padding = 0;
    if (blocks == left) padding = (size_t)(-(t->size_bytes) % TT_GGUF_ALIGNMENT_DEFAULT);
    memset(buffer + *size, 0, padding);
    return write_all(fileno(j->parts[t->part].file.stream), buffer, *size + padding,
                     t->offset + begin * t->type->block_bytes);
}

static void work(job *j, bool reports)
{
    uint8_t *buffer = malloc(CHUNK_BYTES + TT_GGUF_ALIGNMENT_DEFAULT);
    uint64_t chunks = j->first_chunk[j->n_tensors];
    size_t tensor_at = 0;
    int none = 0;
    if (!buffer) (void)atomic_compare_exchange_strong(&j->failed, &none, ENOMEM);
    while (atomic_load(&j->failed) == 0) {
        uint64_t chunk = atomic_fetch_add(&j->next, 1);
        size_t size = 0;
        if (chunk >= chunks) break;
        while (chunk >= j->first_chunk[tensor_at + 1])
            tensor_at++;
        if (!write_chunk(j, tensor_at, chunk - j->first_chunk[tensor_at], buffer, &size)) {
            (void)atomic_compare_exchange_strong(&j->failed, &none, errno ? errno : EIO);
            break;
        }
        uint64_t done = atomic_fetch_add(&j->done_bytes, size) + size;
        if (reports && j->progress) j->progress(j->user, done, j->data_bytes);
    }
    free(buffer);
}

static void *work_thread(void *arg)
{
    work(arg, false);
    return NULL;
}

static tt_status write_data(job *j, tt_error *err)
{
    pthread_t threads[THREADS_MAX];
    uint32_t wanted = j->c->n_threads;
    uint32_t n = 0;
    tt_status status = plan_chunks(j, err);
    if (status != TT_OK) return status;
    if (wanted == 0) {
        long processors = sysconf(_SC_NPROCESSORS_ONLN);
        wanted = processors < 1 ? 1 : processors > 4 ? 4 : (uint32_t)processors;
    }
    /* Fewer threads than wished for only take longer. */
    while (n + 1 < wanted && n < THREADS_MAX &&
           pthread_create(&threads[n], NULL, work_thread, j) == 0)
        n++;
    work(j, true);
    for (uint32_t i = 0; i < n; i++)
        (void)pthread_join(threads[i], NULL);
    int failed = atomic_load(&j->failed);
    if (failed)
        return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot write %s: %s",
                            j->parts[0].file.path, strerror(failed));
    return TT_OK;
}

static tt_status commit_files(job *j, tt_error *err)
{
    for (uint32_t i = 0; i < j->c->n_parts; i++) {
        tt_status status = tt_outfile_commit(&j->parts[i].file, err);
        j->parts[i].open = false;
        if (status != TT_OK) return status;
    }
    return TT_OK;
}

static void free_job(job *j)
{
    for (uint32_t i = 0; j->parts && i < j->c->n_parts; i++) {
        if (j->parts[i].open) tt_outfile_abandon(&j->parts[i].file);
        tt_gguf_writer_free(&j->parts[i].writer);
    }
    free(j->parts);
    free(j->tensors);
    free(j->first_chunk);
}

tt_status tt_synth_write(const tt_synth_config *c, const char *path, bool force,
                         tt_synth_progress *progress, void *user, uint64_t *total_bytes,
                         tt_error *err)
{
    job j = {.c = c, .progress = progress, .user = user};
    uint64_t total = 0;
    tt_status status = tt_synth_check(c, err);
    if (status != TT_OK) return status;
    j.parts = calloc(c->n_parts, sizeof *j.parts);
    j.tensors = calloc(3 + (size_t)c->n_layers * 10, sizeof *j.tensors);
    if (!j.parts || !j.tensors) {
        status = tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    } else {
        for (uint32_t i = 0; i < c->n_parts; i++)
            tt_gguf_writer_init(&j.parts[i].writer);
        add_tensors(&j);
        status = describe(&j, err);
    }
    if (status == TT_OK) status = begin_files(&j, path, force, &total, err);
    if (status == TT_OK) status = write_data(&j, err);
    if (status == TT_OK) status = commit_files(&j, err);
    if (status == TT_OK && total_bytes) *total_bytes = total;
    free_job(&j);
    return status;
}
