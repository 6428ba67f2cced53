#include "adapter/program/memory.h"

#include "adapter/ggml/buffers.h"
#include "adapter/ggml/models.h"
#include "adapter/ggml/process.h"
#include "adapter/program/engine.h"
#include "adapter/program/thread.h"
#include "base/array.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define BUFFERS_MAX 65536u

static tt_program_buffer **buffers;
static _Atomic uint32_t n_buffers;
static uint32_t capacity;

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

bool tt_program_has_buffers(void)
{
    return atomic_load_explicit(&n_buffers, memory_order_relaxed) > 0;
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

tt_status(tt_record_model)(const char *path, tt_error *err)
{
    tt_program_thread *self;
    tt_recorder *r = TT_RECORDING() ? tt_program_recorder(&self) : NULL;
    if (!r) return TT_OK;
    if (!path) return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "no path of a model file");
    return tt_models_read(r, path, tt_program_engine()->type_name, err);
}
