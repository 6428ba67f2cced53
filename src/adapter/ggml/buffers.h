/* The engine's buffers: what memory a tensor lives in. */
#ifndef TT_ADAPTER_GGML_BUFFERS_H
#define TT_ADAPTER_GGML_BUFFERS_H

#include "adapter/ggml/engine.h"
#include "record/recorder.h"

#include <stdint.h>

/* Where a tensor's bytes are: in a buffer (id, offset) or, id 0, at an address. */
typedef struct tt_location {
    uint64_t buffer;
    uint64_t at;
} tt_location;

/* All with tt_process_lock held. */

/* The location of the tensor's data; a buffer met for the first time is recorded. */
tt_location tt_buffers_locate(tt_recorder *r, const tt_engine *e, const struct ggml_tensor *t);
/* How the engine came to a buffer. */
enum tt_buffer_birth {
    TT_BUFFER_ALLOCATED, /* memory of its own */
    TT_BUFFER_WRAPPED,   /* over memory that was there already: of a mapping, maybe */
    TT_BUFFER_MET        /* was not seen: first met in a graph */
};

/* The engine has made `buffer` (not NULL). allocator: the file name of the library that asked for
 * it, "" when not known. */
void tt_buffers_made(tt_recorder *r, const tt_engine *e, void *buffer, enum tt_buffer_birth birth,
                     const char *allocator);
/* The engine is about to free it. */
void tt_buffers_freed(tt_recorder *r, void *buffer);
/* A buffer that is a mapping of that model file (by its path), if there is one: the address that
 * byte *offset_bytes of the file is mapped at, and how many bytes are. NULL without. */
uint8_t *tt_buffers_mapping(const char *path, uint64_t *offset_bytes, uint64_t *size_bytes);
/* Changes whenever a buffer comes or goes: until then an address means the same bytes. */
uint64_t tt_buffers_generation(void);

#endif
