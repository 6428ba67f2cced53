/* Hooks on buffers: their allocation and release. */
#include "adapter/ggml/abi.h"
#include "adapter/ggml/buffers.h"
#include "adapter/ggml/process.h"
#include "adapter/ggml/resolve.h"
#include "base/path.h"

#include <dlfcn.h>
#include <string.h>

void *ggml_backend_buft_alloc_buffer(void *buffer_type, size_t size);
void *ggml_backend_dev_buffer_from_host_ptr(void *device, void *memory, size_t size,
                                            size_t max_tensor_size);
void ggml_backend_buffer_free(void *buffer);

static tt_real real_alloc = {.name = "ggml_backend_buft_alloc_buffer"};
static tt_real real_from_ptr = {.name = "ggml_backend_dev_buffer_from_host_ptr"};
static tt_real real_free = {.name = "ggml_backend_buffer_free"};

/* Asks the dynamic linker, whose lock must be taken before tt_process_lock. */
static const char *library_of(const void *caller)
{
    Dl_info info;
    if (!dladdr(caller, &info) || !info.dli_fname) return "";
    return tt_base_name(info.dli_fname);
}

static void *made(void *buffer, size_t size, enum tt_buffer_source source, const void *caller)
{
    tt_recorder *r = buffer && size > 0 ? tt_process_recorder() : NULL;
    if (r && atomic_load(&tt_recorder_area(r)->area->stopped)) return buffer;
    const tt_engine *e = r ? tt_engine_get(caller) : NULL;
    if (!e) return buffer;
    const char *allocator = library_of(caller);
    (void)pthread_mutex_lock(&tt_process_lock);
    tt_buffers_made(r, e, buffer, source, allocator);
    (void)pthread_mutex_unlock(&tt_process_lock);
    return buffer;
}

TT_EXPORT void *ggml_backend_buft_alloc_buffer(void *buffer_type, size_t size)
{
    void *(*real)(void *, size_t);
    *(void **)&real = tt_real_get(&real_alloc, TT_CALLER);
    return made(real ? real(buffer_type, size) : NULL, size, TT_BUFFER_ALLOCATED, TT_CALLER);
}

/* A buffer over existing memory: mapped weights. */
TT_EXPORT void *ggml_backend_dev_buffer_from_host_ptr(void *device, void *memory, size_t size,
                                                      size_t max_tensor_size)
{
    void *(*real)(void *, void *, size_t, size_t);
    *(void **)&real = tt_real_get(&real_from_ptr, TT_CALLER);
    return made(real ? real(device, memory, size, max_tensor_size) : NULL, size, TT_BUFFER_WRAPPED,
                TT_CALLER);
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
