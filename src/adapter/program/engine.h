/* The program as an engine: the ops, types and buffers that it reports, behind the functions that
 * the rest of the adapter calls of an engine. */
#ifndef TT_ADAPTER_PROGRAM_ENGINE_H
#define TT_ADAPTER_PROGRAM_ENGINE_H

#include "adapter/ggml/engine.h"

#include <stdbool.h>
#include <stdint.h>

/* Longest name of an op. */
#define TT_PROGRAM_OP_MAX 63u

/* A buffer of the program; the argument of tt_engine's buffer functions. */
typedef struct tt_program_buffer {
    char name[256];
    const void *base;
    uint64_t size_bytes;
    int use; /* enum tt_buffer_use */
} tt_program_buffer;

const tt_engine *tt_program_engine(void);
/* The number of the op with that name; too many ops share one number. NULL or "": no op.
 * tt_process_lock is held. */
int32_t tt_program_op(const char *name);
/* Strides without gaps; false, and all zero, if the shape does not fit the type or 64 bits.
 * Elements of unknown types take no bytes. */
bool tt_program_strides(struct ggml_tensor *t);
/* Sets stage (a string id; 0: none) and layer of the tensor, as reported by the program. */
void tt_program_set_stage(struct ggml_tensor *t, uint32_t stage, int32_t layer);

#endif
