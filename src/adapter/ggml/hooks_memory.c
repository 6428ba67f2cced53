/* Hooks on buffers: when memory comes and goes. */
#include "adapter/ggml/abi.h"
#include "adapter/ggml/buffers.h"
#include "adapter/ggml/process.h"
#include "adapter/ggml/resolve.h"

void *ggml_backend_buft_alloc_buffer(void *buffer_type, size_t size);
void ggml_backend_buffer_free(void *buffer);

static tt_real real_alloc = {.name = "ggml_backend_buft_alloc_buffer"};
static tt_real real_free = {.name = "ggml_backend_buffer_free"};

TT_EXPORT void *ggml_backend_buft_alloc_buffer(void *buffer_type, size_t size)
{
    void *(*real)(void *, size_t);
    *(void **)&real = tt_real_get(&real_alloc, TT_CALLER);
    void *buffer = real ? real(buffer_type, size) : NULL;
    tt_recorder *r = buffer && size > 0 ? tt_process_recorder() : NULL;
    const tt_engine *e = r ? tt_engine_get(TT_CALLER) : NULL;
    if (e) {
        (void)pthread_mutex_lock(&tt_process_lock);
        tt_buffers_allocated(r, e, buffer);
        (void)pthread_mutex_unlock(&tt_process_lock);
    }
    return buffer;
}

TT_EXPORT void ggml_backend_buffer_free(void *buffer)
{
    void (*real)(void *);
    *(void **)&real = tt_real_get(&real_free, TT_CALLER);
    tt_recorder *r = buffer ? tt_process_recorder_if_open() : NULL;
    if (r) {
        (void)pthread_mutex_lock(&tt_process_lock);
        tt_buffers_freed(r, buffer);
        (void)pthread_mutex_unlock(&tt_process_lock);
    }
    if (real) real(buffer);
}
