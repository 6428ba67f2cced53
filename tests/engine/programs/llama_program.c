#include "llama_program.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MAX 1024

tt_engine_api program_api;

void program_fail(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    (void)vfprintf(stderr, fmt, args);
    va_end(args);
    (void)fputc('\n', stderr);
    exit(1);
}

void program_skip(const char *why)
{
    (void)fprintf(stderr, "skipped: %s\n", why);
    exit(77);
}

void program_open(const char *engine_dir)
{
    static tt_engine_found engine;
    static tt_engine_log log;
    tt_error err = {.message = ""};
    tt_engine_log_init(&log, NULL, NULL);
    if (tt_engine_find(engine_dir, &engine, &err) != TT_OK ||
        tt_engine_load(&engine, &log, &program_api, &err) != TT_OK)
        program_fail("%s", err.message);
}

void *program_find(const char *name, const char *old)
{
    /* Whether the engine has it: a preloaded library may, and comes first. */
    void *found = dlsym(program_api.handle, name);
    if (found && dlsym(RTLD_DEFAULT, name)) found = dlsym(RTLD_DEFAULT, name);
    return found || !old ? found : program_find(old, NULL);
}

static void set_unmapped(tt_engine_params *p)
{
    size_t at =
        program_api.load_mode_name ? tt_engine_params_load_mode(p) : tt_engine_params_mmap(p);
    if (at == TT_PARAM_NOT_FOUND) program_fail("this engine's use_mmap is not found");
    if (program_api.load_mode_name)
        tt_engine_params_set_u32(p, at, 0);
    else
        tt_engine_params_set_u8(p, at, 0);
}

struct tt_llama_model *program_model(const char *path, bool is_mapped, bool is_repacked)
{
    tt_engine_params p;
    tt_engine_params_fetch(&p, program_api.model_default_params);
    size_t extra = tt_engine_params_extra_bufts(&p, program_api.load_mode_name != NULL);
    if (!is_repacked && extra != TT_PARAM_NOT_FOUND) tt_engine_params_set_u8(&p, extra, 0);
    if (!is_mapped) set_unmapped(&p);
    struct tt_llama_model *model = program_api.model_load(path, p.blob);
    if (!model) program_fail("cannot load %s", path);
    return model;
}

/* embeddings, offload_kqv, no_perf, op_offload, swa_full, kv_unified: the last booleans. */
static void set_one_stream(tt_engine_params *p)
{
    static const uint8_t booleans[6] = {0, 1, 1, 1, 1, 0};
    size_t found = 0;
    for (size_t at = 64; at + sizeof booleans <= TT_ABI_BLOB_SIZE; at++) {
        bool same = memcmp(p->blob.u.bytes + at, booleans, sizeof booleans) == 0;
        for (size_t i = 0; i < sizeof booleans; i++)
            same = same && p->written[at + i];
        if (same) found = at + sizeof booleans - 1;
    }
    if (found) tt_engine_params_set_u8(p, found, 1);
}

struct tt_llama_context *program_context(struct tt_llama_model *model, const program_sizes *sizes)
{
    tt_engine_params p;
    tt_engine_params_fetch(&p, program_api.context_default_params);
    if (!tt_engine_params_sizes_ok(&p)) program_fail("unknown context parameters");
    tt_engine_params_set_u32(&p, 0, sizes->n_ctx);
    tt_engine_params_set_u32(&p, 4, sizes->n_batch);
    tt_engine_params_set_u32(&p, 8, sizes->n_ubatch);
    tt_engine_params_set_u32(&p, 12, sizes->n_sequences);
    /* Old engines have one cache for all sequences anyway. */
    if (!sizes->separate_streams) set_one_stream(&p);
    struct tt_llama_context *context = program_api.context_new(model, p.blob);
    if (!context) program_fail("no context");
    /* Tests that are not about threads have one: two spin for each other where processors are busy. */
    const int32_t threads = getenv("PROGRAM_ONE_THREAD") ? 1 : PROGRAM_THREADS;
    program_api.set_n_threads(context, threads, threads);
    return context;
}

/* cb_eval and its user data are two null pointers before type_k and type_v, both F16 (1). */
void program_set_callback(tt_engine_params *p, program_callback callback)
{
    static const uint8_t pattern[24] = {[16] = 1, [20] = 1};
    size_t found = 0;
    for (size_t at = 32; at + sizeof pattern <= TT_ABI_BLOB_SIZE; at += 8) {
        bool same = memcmp(p->blob.u.bytes + at, pattern, sizeof pattern) == 0;
        for (size_t i = 0; i < sizeof pattern; i++)
            same = same && p->written[at + i];
        if (same && found) program_fail("where is cb_eval?");
        if (same) found = at;
    }
    if (!found) program_fail("cb_eval is not found");
    memcpy(p->blob.u.bytes + found, &callback, sizeof(void *));
}

static const struct tt_llama_vocab *vocabulary(const struct tt_llama_model *model)
{
    return program_api.model_get_vocab ? program_api.model_get_vocab(model)
                                       : (const struct tt_llama_vocab *)model;
}

int32_t program_piece(const struct tt_llama_model *model, int32_t token, char *text, int32_t n_max)
{
    int32_t n = program_api.token_to_piece(vocabulary(model), token, text, n_max, 0, true);
    if (n < 0) program_fail("token %d has no text", (int)token);
    return n;
}

int32_t program_tokenize(const struct tt_llama_model *model, const char *text, int32_t *tokens,
                         int32_t n_max)
{
    int32_t n = program_api.tokenize(vocabulary(model), text, (int32_t)strlen(text), tokens, n_max,
                                     true, false);
    if (n < 1) program_fail("cannot tokenize: %d", (int)n);
    return n;
}

int32_t program_greedy(struct tt_llama_context *context, int32_t row)
{
    static struct tt_llama_sampler *sampler;
    if (!sampler) sampler = program_api.sampler_greedy();
    return program_api.sample(sampler, context, row);
}

void program_decode(struct tt_llama_context *context, int32_t *tokens, int32_t n)
{
    int32_t code = program_api.decode(context, program_api.batch_get_one(tokens, n, 0, 0));
    if (code != 0) program_fail("llama_decode returned %d", (int)code);
}

void program_forget(struct tt_llama_context *context, int32_t sequence, int32_t from)
{
    void *(*get_memory)(const struct tt_llama_context *) =
        (void *(*)(const struct tt_llama_context *))program_find("llama_get_memory", NULL);
    bool (*remove)(void *, int32_t, int32_t, int32_t) =
        (bool (*)(void *, int32_t, int32_t, int32_t))program_find(
            get_memory ? "llama_memory_seq_rm" : "llama_kv_cache_seq_rm", NULL);
    if (!remove) program_fail("no llama_memory_seq_rm");
    if (!remove(get_memory ? get_memory(context) : context, sequence, from, -1))
        program_fail("sequence %d cannot be removed", (int)sequence);
}

bool program_warmup(struct tt_llama_context *context, bool on)
{
    void (*set)(struct tt_llama_context *, bool) =
        (void (*)(struct tt_llama_context *, bool))program_find("llama_set_warmup", NULL);
    if (set) set(context, on);
    return set != NULL;
}

void *program_lora_load(struct tt_llama_model *model, const char *path)
{
    void *(*load)(struct tt_llama_model *, const char *) =
        (void *(*)(struct tt_llama_model *, const char *))program_find("llama_adapter_lora_init",
                                                                       "llama_lora_adapter_init");
    void *adapter = load ? load(model, path) : NULL;
    if (!adapter) program_fail("cannot load the adapter %s", path);
    return adapter;
}

void program_lora_apply(struct tt_llama_context *context, void *adapter, bool on)
{
    int32_t (*set_all)(struct tt_llama_context *, void **, size_t, float *) =
        (int32_t(*)(struct tt_llama_context *, void **, size_t, float *))program_find(
            "llama_set_adapters_lora", NULL);
    int32_t (*set)(struct tt_llama_context *, void *, float) =
        (int32_t(*)(struct tt_llama_context *, void *, float))program_find(
            "llama_set_adapter_lora", "llama_lora_adapter_set");
    void (*clear)(struct tt_llama_context *) = (void (*)(struct tt_llama_context *))program_find(
        "llama_clear_adapter_lora", "llama_lora_adapter_clear");
    float scale = 1;
    int32_t code = 0;
    if (set_all)
        code = set_all(context, &adapter, on ? 1 : 0, &scale);
    else if (on && set)
        code = set(context, adapter, scale);
    else if (!on && clear)
        clear(context);
    else
        program_fail("this engine's adapter calls are not known");
    if (code != 0) program_fail("the adapter cannot be applied: %d", (int)code);
}

/* struct llama_batch, the same since October 2024. */
typedef struct batch {
    int32_t n_tokens;
    int32_t *token;
    float *embd;
    int32_t *pos;
    int32_t *n_seq_id;
    int32_t **seq_id;
    int8_t *logits;
} batch;

/* Of n rows, some or other, for rows that are no tokens. */
static float *make_embeddings(struct tt_llama_context *context, int32_t n, size_t *n_embd)
{
    struct tt_llama_model *(*model_of)(struct tt_llama_context *) =
        (struct tt_llama_model * (*)(struct tt_llama_context *))
            program_find("llama_get_model", NULL);
    int32_t (*size)(struct tt_llama_model *) =
        (int32_t(*)(struct tt_llama_model *))program_find("llama_model_n_embd", "llama_n_embd");
    if (!model_of || !size) program_fail("the size of embeddings is not known");
    *n_embd = (size_t)size(model_of(context));
    size_t values = (size_t)n * *n_embd;
    float *out = malloc(values * sizeof *out);
    for (size_t i = 0; out && i < values; i++)
        out[i] = (float)(i % 7) / 7;
    return out;
}

static void print_rows(const program_row *rows, int32_t n)
{
    (void)printf("decode %d\n", (int)n);
    for (int32_t i = 0; i < n; i++) {
        (void)printf("row %d %d", (int)rows[i].token, (int)rows[i].position);
        for (int32_t k = 0; k < rows[i].n_sequences; k++)
            (void)printf("%c%d", k ? ',' : ' ', (int)rows[i].sequences[k]);
        (void)printf(" %c\n", rows[i].kind);
    }
}

/* --- llama_batch_ext, in llama.cpp since 2026 --- */

typedef struct embeddings {
    const float *data;
    size_t n_rows, n_embd;
} embeddings;

static struct {
    void *batch; /* NULL: llama_decode is used */
    void *(*init)(struct tt_llama_context *);
    void (*clear)(void *);
    int32_t (*add_token)(void *, int32_t, int32_t);
    int32_t (*add_embd)(void *, int32_t, embeddings);
    bool (*add_seq)(void *, int32_t, int32_t);
    bool (*set_pos)(void *, int32_t, const int32_t *);
    bool (*set_output)(void *, int32_t, bool);
    int32_t (*process)(struct tt_llama_context *, int, void *);
} ext;

static void find_ext(void *member, const char *name)
{
    void *found = program_find(name, NULL);
    if (!found) program_skip("the engine has no llama_process");
    memcpy(member, &found, sizeof found);
}

void program_by_process(struct tt_llama_context *context)
{
    find_ext(&ext.init, "llama_batch_ext_init");
    find_ext(&ext.clear, "llama_batch_ext_clear");
    find_ext(&ext.add_token, "llama_batch_ext_add_token");
    find_ext(&ext.add_embd, "llama_batch_ext_add_embd");
    find_ext(&ext.add_seq, "llama_batch_ext_add_seq");
    find_ext(&ext.set_pos, "llama_batch_ext_set_pos");
    find_ext(&ext.set_output, "llama_batch_ext_set_output_logits");
    find_ext(&ext.process, "llama_process");
    ext.batch = ext.init(context);
    if (!ext.batch) program_fail("no batch");
}

static void process_rows(struct tt_llama_context *context, const program_row *rows, int32_t n,
                         const float *values, size_t n_embd)
{
    ext.clear(ext.batch);
    /* What is refused leaves no row behind. */
    if (ext.add_token(ext.batch, 1 << 20, 5) >= 0) program_fail("an impossible sequence is taken");
    for (int32_t i = 0; i < n; i++) {
        const program_row *r = &rows[i];
        int32_t at = values ? ext.add_embd(ext.batch, r->sequences[0],
                                           (embeddings){values + (size_t)i * n_embd, 1, n_embd})
                            : ext.add_token(ext.batch, r->sequences[0], r->token);
        if (at != i) program_fail("row %d is numbered %d", (int)i, (int)at);
        for (int32_t k = 1; k < r->n_sequences; k++)
            if (!ext.add_seq(ext.batch, i, r->sequences[k])) program_fail("no sequence");
        if (!ext.set_pos(ext.batch, i, &r->position)) program_fail("no position");
        if (!ext.set_output(ext.batch, i, r->is_output)) program_fail("no output");
    }
    int32_t code = ext.process(context, 1, ext.batch);
    if (code != 0) program_fail("llama_process returned %d", (int)code);
}

void program_decode_rows(struct tt_llama_context *context, const program_row *rows, int32_t n)
{
    static int32_t token[ROWS_MAX], pos[ROWS_MAX], n_seq[ROWS_MAX], *seq[ROWS_MAX + 1];
    static int32_t ids[ROWS_MAX][PROGRAM_SEQUENCES_MAX];
    static int8_t logits[ROWS_MAX];
    if (n > ROWS_MAX) program_fail("too many rows");
    print_rows(rows, n);
    for (int32_t i = 0; i < n; i++) {
        token[i] = rows[i].token;
        pos[i] = rows[i].position;
        n_seq[i] = rows[i].n_sequences;
        memcpy(ids[i], rows[i].sequences, sizeof ids[i]);
        seq[i] = ids[i];
        logits[i] = rows[i].is_output;
    }
    seq[n] = NULL;
    tt_abi_blob blob = {0};
    size_t n_embd = 0;
    float *values = n > 0 && rows[0].token < 0 ? make_embeddings(context, n, &n_embd) : NULL;
    if (ext.batch) {
        process_rows(context, rows, n, values, n_embd);
        free(values);
        return;
    }
    const batch b = {n, values ? NULL : token, values, pos, n_seq, seq, logits};
    memcpy(blob.u.bytes, &b, sizeof b);
    int32_t code = program_api.decode(context, blob);
    free(values);
    if (code != 0) program_fail("llama_decode returned %d", (int)code);
}
