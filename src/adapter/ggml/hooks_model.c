/* Hooks on model files and on llama.cpp's entry points. */
#include "adapter/ggml/abi.h"
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
#include <unistd.h>

void *gguf_init_from_file(const char *path, struct gguf_init_params params);
void *gguf_init_from_file_ptr(FILE *file, struct gguf_init_params params);
int llama_decode(void *context, struct llama_batch_mirror batch);
int llama_encode(void *context, struct llama_batch_mirror batch);

static tt_real real_init = {.name = "gguf_init_from_file"};
static tt_real real_init_ptr = {.name = "gguf_init_from_file_ptr"};
static tt_real real_decode = {.name = "llama_decode"};
static tt_real real_encode = {.name = "llama_encode"};

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

typedef int (*decode_function)(void *, struct llama_batch_mirror);

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

static int traced_decode(decode_function real, void *context,
                         const struct llama_batch_mirror *batch)
{
    tt_recorder *r = tt_process_recorder();
    bool wanted = r && tt_batches_may_follow(r, batch->n_tokens);
    if (wanted) tt_tokens_begin(r, *(void **)&real, context, batch);
    tt_meta_decode d = {.begin_ticks = tt_ticks()};
    d.status = real(context, *batch);
    d.end_ticks = tt_ticks();
    tt_tokens_end();
    d.n_tokens = batch->n_tokens > 0 ? (uint32_t)batch->n_tokens : 0;
    d.thread = tt_owner_thread();
    r = tt_process_recorder_if_open();
    if (r) record_call(r, &d, wanted);
    return (int)d.status;
}

TT_EXPORT int llama_decode(void *context, struct llama_batch_mirror batch)
{
    decode_function real;
    *(void **)&real = tt_real_get(&real_decode, TT_CALLER);
    return real ? traced_decode(real, context, &batch) : -1;
}

TT_EXPORT int llama_encode(void *context, struct llama_batch_mirror batch)
{
    decode_function real;
    *(void **)&real = tt_real_get(&real_encode, TT_CALLER);
    return real ? traced_decode(real, context, &batch) : -1;
}
