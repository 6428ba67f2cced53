#include "adapter/program/memory.h"

#include "adapter/ggml/buffers.h"
#include "adapter/ggml/models.h"
#include "adapter/ggml/names.h"
#include "adapter/ggml/process.h"
#include "adapter/program/engine.h"
#include "adapter/program/thread.h"
#include "base/array.h"
#include "gguf/reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUFFERS_MAX 65536u

static tt_program_buffer **buffers;
static uint32_t n_buffers, capacity;

void *tt_program_buffer_of(const void *data, uint64_t size_bytes)
{
    uintptr_t at = (uintptr_t)data;
    for (uint32_t i = n_buffers; at && i-- > 0;) {
        uintptr_t base = (uintptr_t)buffers[i]->base;
        if (at >= base && at - base < buffers[i]->size_bytes &&
            size_bytes <= buffers[i]->size_bytes - (at - base))
            return buffers[i];
    }
    return NULL;
}

bool tt_program_buffer_is_there(const void *buffer)
{
    for (uint32_t i = 0; i < n_buffers; i++)
        if (buffers[i] == buffer) return true;
    return false;
}

static void drop(tt_recorder *r, const void *base)
{
    for (uint32_t i = 0; i < n_buffers; i++) {
        if (buffers[i]->base != base) continue;
        tt_buffers_freed(r, buffers[i]);
        free(buffers[i]);
        buffers[i] = buffers[--n_buffers];
        return;
    }
}

void(tt_buffer_add)(const char *name, const void *base, uint64_t size_bytes, tt_buffer_use use)
{
    tt_program_thread *self;
    tt_recorder *r = tt_program_recorder(&self);
    if (!r || !base || !size_bytes || size_bytes > INT64_MAX) return;
    (void)pthread_mutex_lock(&tt_process_lock);
    drop(r, base);
    tt_program_buffer *b = NULL;
    if (tt_array_one_more_within(buffers, n_buffers, capacity, BUFFERS_MAX * sizeof *buffers))
        b = calloc(1, sizeof *b);
    if (b) {
        (void)snprintf(b->name, sizeof b->name, "%s", name ? name : "");
        b->base = base;
        b->size_bytes = size_bytes;
        b->use = use == TT_BUFFER_USE_WEIGHTS || use == TT_BUFFER_USE_COMPUTE ? (int)use : 0;
        buffers[n_buffers++] = b;
        /* Wrapped: the adapter detects whether it maps a file. */
        tt_buffers_made(r, tt_program_engine(), b, TT_BUFFER_WRAPPED, "");
    }
    (void)pthread_mutex_unlock(&tt_process_lock);
}

void(tt_buffer_remove)(const void *base)
{
    tt_program_thread *self;
    tt_recorder *r = tt_program_recorder(&self);
    if (!r) return;
    (void)pthread_mutex_lock(&tt_process_lock);
    drop(r, base);
    (void)pthread_mutex_unlock(&tt_process_lock);
}

/* --- model files --- */

static tt_span text_of(const tt_gguf_kv *kv, char *text, size_t size)
{
    uint64_t n;
    int used = 0;
    if (kv->is_array)
        used = snprintf(text, size, "[%s x %" PRIu64 "]", tt_gguf_kind_name(kv->kind), kv->count);
    else if (kv->kind == TT_GGUF_STRING)
        return tt_gguf_kv_string(kv);
    else if (kv->kind == TT_GGUF_F32 && kv->value.size == sizeof(float)) {
        float f;
        memcpy(&f, kv->value.data, sizeof f);
        used = snprintf(text, size, "%.9g", (double)f);
    } else if (kv->kind == TT_GGUF_F64 && kv->value.size == sizeof(double)) {
        double d;
        memcpy(&d, kv->value.data, sizeof d);
        used = snprintf(text, size, "%.17g", d);
    } else if (tt_gguf_kv_u64(kv, 0, &n))
        used = snprintf(text, size, "%" PRIu64, n);
    return (tt_span){(const uint8_t *)text, used > 0 ? (size_t)used : 0};
}

typedef struct opened_part {
    const tt_gguf *model;
    uint32_t part;
} opened_part;

static void put_model(tt_recorder *r, tt_meta_model *m, void *context, tt_bytes *payload)
{
    const opened_part *of = context;
    const tt_gguf_part *p = &of->model->parts[of->part];
    const tt_engine *e = tt_program_engine();
    char text[64];
    uint32_t n = 0;
    m->data_offset_bytes = p->data_offset;
    m->n_kv = (uint32_t)p->n_kvs;
    tt_meta_put_model(payload, m);
    for (size_t i = 0; i < p->n_kvs; i++) {
        const tt_gguf_kv *kv = &p->kvs[i];
        tt_meta_kv out = {kv->key, kv->is_array ? TT_GGUF_ARRAY : kv->kind,
                          text_of(kv, text, sizeof text)};
        tt_meta_put_kv(payload, &out);
    }
    for (size_t i = 0; i < of->model->n_tensors; i++)
        n += of->model->tensors[i].part == of->part;
    tt_bytes_varint(payload, n);
    for (size_t i = 0; i < of->model->n_tensors; i++) {
        const tt_gguf_tensor *t = &of->model->tensors[i];
        if (t->part != of->part) continue;
        tt_meta_weight w = {.name = {(const uint8_t *)t->name, strlen(t->name)},
                            .type = t->type->id,
                            .n_dims = t->n_dims,
                            .offset_bytes = t->offset,
                            .size_bytes = t->size_bytes};
        w.type_name = tt_names_id(r, e->type_name((int)t->type->id));
        memcpy(w.ne, t->ne, sizeof w.ne);
        tt_meta_put_weight(payload, &w);
    }
}

tt_status(tt_record_model)(const char *path, tt_error *err)
{
    tt_program_thread *self;
    tt_gguf model;
    tt_recorder *r = TT_RECORDING() ? tt_program_recorder(&self) : NULL;
    if (!r) return TT_OK;
    if (!path) return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "no path of a model file");
    tt_status status = tt_gguf_open(&model, path, err);
    if (status != TT_OK) return status;
    for (uint32_t i = 0; i < model.n_parts && status == TT_OK; i++) {
        opened_part part = {&model, i};
        if (!tt_models_add(r, model.parts[i].path, put_model, &part))
            status =
                tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "%s cannot be read", model.parts[i].path);
    }
    tt_gguf_close(&model);
    return status;
}
