/* The engine's buffers: the memory that tensors are stored in. */
#ifndef TT_ADAPTER_GGML_BUFFERS_H
#define TT_ADAPTER_GGML_BUFFERS_H

#include "adapter/ggml/engine.h"
#include "record/recorder.h"

#include <stdatomic.h>
#include <stdint.h>

/* Where a tensor's bytes are: in a buffer (id, offset), or at an address when id is 0. */
typedef struct tt_location {
    uint64_t buffer;
    uint64_t at;
} tt_location;

/* tt_process_lock is held by callers of all functions here. */

/* The location of the tensor's data. Records a buffer that is seen for the first time. */
tt_location tt_buffers_locate(tt_recorder *r, const tt_engine *e, const struct ggml_tensor *t);
/* How a buffer was found. */
enum tt_buffer_source {
    TT_BUFFER_ALLOCATED, /* memory allocated for it */
    TT_BUFFER_WRAPPED,   /* over existing memory, possibly a mapping */
    TT_BUFFER_MET        /* first seen in a graph */
};

/* The engine has created `buffer` (not NULL). allocator: the file name of the library that
 * requested it; "" if unknown. */
void tt_buffers_made(tt_recorder *r, const tt_engine *e, void *buffer, enum tt_buffer_source source,
                     const char *allocator);
/* The engine is about to free it. */
void tt_buffers_freed(tt_recorder *r, void *buffer);
/* A recording begins, after a time in which nothing was observed: none is known. */
void tt_buffers_forget(void);
/* The buffer that maps the model file at `path`: returns the address of byte *offset_bytes of
 * the file, and how many bytes are mapped. NULL when there is none. */
uint8_t *tt_buffers_mapping(const char *path, uint64_t *offset_bytes, uint64_t *size_bytes);
/* Changes when a buffer is added or removed: until then an address refers to the same bytes. */
extern _Atomic uint64_t tt_buffers_changes;
static inline uint64_t tt_buffers_generation(void)
{
    return atomic_load_explicit(&tt_buffers_changes, memory_order_relaxed);
}

#endif
