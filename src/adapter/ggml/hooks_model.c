/* Hooks on model files and on llama.cpp's entry points. */
#include "adapter/ggml/abi.h"
#include "adapter/ggml/batch_ext.h"
#include "adapter/ggml/batches.h"
#include "adapter/ggml/capture.h"
#include "adapter/ggml/models.h"
#include "adapter/ggml/owner.h"
#include "adapter/ggml/process.h"
#include "adapter/ggml/residency.h"
#include "adapter/ggml/resolve.h"
#include "adapter/ggml/tokens.h"
#include "base/clock.h"
#include "format/meta.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *gguf_init_from_file(const char *path, struct gguf_init_params params);
void *gguf_init_from_file_ptr(FILE *file, struct gguf_init_params params);
int llama_decode(void *context, struct llama_batch_mirror batch);
int llama_encode(void *context, struct llama_batch_mirror batch);
/* enum llama_process_type */
enum process_type { PROCESS_ENCODE, PROCESS_DECODE };
int32_t llama_process(void *context, enum process_type type, void *batch);
void llama_set_warmup(void *context, bool warmup);

static tt_real real_init = {.name = "gguf_init_from_file"};
static tt_real real_init_ptr = {.name = "gguf_init_from_file_ptr"};
static tt_real real_decode = {.name = "llama_decode"};
static tt_real real_encode = {.name = "llama_encode"};
static tt_real real_process = {.name = "llama_process"};
static tt_real real_set_warmup = {.name = "llama_set_warmup"};

static void opened(const void *caller, const char *path, void *gguf, void **tensors)
{
    if (!gguf || !path) return;
    tt_process_saw_model();
    tt_recorder *r = tt_process_recorder();
    if (!r) return;
    tt_models_opened(r, caller, path, gguf, tensors ? *tensors : NULL);
    if (!tt_capture_options.residency_every) return;
    (void)pthread_mutex_lock(&tt_process_lock);
    tt_residency_begin(r);
    (void)pthread_mutex_unlock(&tt_process_lock);
}

TT_EXPORT void *gguf_init_from_file(const char *path, struct gguf_init_params params)
{
    void *(*real)(const char *, struct gguf_init_params);
    *(void **)&real = tt_real_get(&real_init, TT_CALLER);
    void *gguf = real ? real(path, params) : NULL;
    opened(TT_CALLER, path, gguf, params.ctx);
    return gguf;
}

TT_EXPORT void *gguf_init_from_file_ptr(FILE *file, struct gguf_init_params params)
{
    void *(*real)(FILE *, struct gguf_init_params);
    char link[64], path[PATH_MAX];
    *(void **)&real = tt_real_get(&real_init_ptr, TT_CALLER);
    void *gguf = real ? real(file, params) : NULL;
    if (!file || !gguf) return gguf;
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fileno(file));
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n > 0) {
        path[n] = '\0';
        opened(TT_CALLER, path, gguf, params.ctx);
    }
    return gguf;
}

/* A call of the engine, by any of its functions. */
typedef struct engine_call {
    void *function;
    void *context;
    const struct llama_batch_mirror *batch; /* NULL: not observed */
    int (*real)(const struct engine_call *c);
    enum process_type type;
    void *opaque; /* llama_process: its batch */
    void *rows;   /* the memory of `batch`: for free() */
} engine_call;

static void record_call(tt_recorder *r, const tt_meta_decode *d, bool wanted)
{
    tt_area_counts *counts = &tt_recorder_area(r)->area->counts;
    tt_bytes payload;
    atomic_fetch_add(&counts->decode_calls, 1);
    if (d->status == 0) atomic_fetch_add(&counts->decode_tokens, d->n_tokens);
    if (!wanted) return;
    tt_bytes_init(&payload, 64);
    tt_meta_put_decode(&payload, d);
    (void)tt_process_put(r, TT_META_DECODE, &payload);
}

static int unseen_call(const engine_call *c)
{
    int status = c->real(c);
    tt_recorder *r = tt_process_recorder_if_open();
    if (r) atomic_fetch_add(&tt_recorder_area(r)->area->counts.decode_unseen, 1);
    return status;
}

static int traced_call(const engine_call *c)
{
    tt_tokens_end(); /* of an earlier call that was left by an exception */
    if (!c->batch) return unseen_call(c);
    tt_recorder *r = tt_process_recorder();
    bool wanted = r && tt_batches_may_follow(r, c->batch->n_tokens);
    if (r && tt_batches_go_on(r))
        tt_tokens_begin(r, &(tt_tokens_call){.in_engine = c->function,
                                             .context = c->context,
                                             .batch = c->batch,
                                             .encodes = c->type == PROCESS_ENCODE,
                                             .is_recorded = wanted});
    tt_meta_decode d = {.n_tokens = c->batch->n_tokens > 0 ? (uint32_t)c->batch->n_tokens : 0};
    d.begin_ticks = tt_ticks();
    d.status = c->real(c);
    d.end_ticks = tt_ticks();
    tt_tokens_end();
    d.thread = tt_owner_thread();
    r = tt_process_recorder_if_open();
    if (r) record_call(r, &d, wanted);
    return (int)d.status;
}

static int call_with_batch(const engine_call *c)
{
    int (*real)(void *, struct llama_batch_mirror);
    memcpy(&real, &c->function, sizeof real);
    return real(c->context, *c->batch);
}

static int call_process(const engine_call *c)
{
    int32_t (*real)(void *, enum process_type, void *);
    memcpy(&real, &c->function, sizeof real);
    /* Free before the call: the engine may leave by an exception. */
    free(c->rows);
    return real(c->context, c->type, c->opaque);
}

TT_EXPORT int llama_decode(void *context, struct llama_batch_mirror batch)
{
    void *real = tt_real_get(&real_decode, TT_CALLER);
    return real ? traced_call(&(engine_call){.function = real,
                                             .context = context,
                                             .batch = &batch,
                                             .real = call_with_batch,
                                             .type = PROCESS_DECODE})
                : -1;
}

TT_EXPORT int llama_encode(void *context, struct llama_batch_mirror batch)
{
    void *real = tt_real_get(&real_encode, TT_CALLER);
    return real ? traced_call(&(engine_call){.function = real,
                                             .context = context,
                                             .batch = &batch,
                                             .real = call_with_batch,
                                             .type = PROCESS_ENCODE})
                : -1;
}

TT_EXPORT int32_t llama_process(void *context, enum process_type type, void *batch)
{
    struct llama_batch_mirror rows;
    void *real = tt_real_get(&real_process, TT_CALLER);
    if (!real) return -1;
    void *held = tt_batch_ext_copy(batch, &rows);
    return traced_call(&(engine_call){.function = real,
                                      .context = context,
                                      .batch = held ? &rows : NULL,
                                      .real = call_process,
                                      .type = type,
                                      .opaque = batch,
                                      .rows = held});
}

TT_EXPORT void llama_set_warmup(void *context, bool warmup)
{
    void (*real)(void *, bool);
    *(void **)&real = tt_real_get(&real_set_warmup, TT_CALLER);
    tt_tokens_set_warmup(context, warmup);
    if (real) real(context, warmup);
}
