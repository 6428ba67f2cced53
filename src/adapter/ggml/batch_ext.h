/* The rows of llama.cpp's opaque batches (struct llama_batch_ext, since 2026): the struct cannot be
 * read, so what the program puts into each is noted, by the batch's address.
 *
 * A batch whose rows are not known for certain is never given out: one that was made before this
 * library saw it, one that did not number its rows as noted, one too many, or any at all when a
 * loaded library calls a function of this family that is not known here. All functions may be
 * called by several threads. */
#ifndef TT_ADAPTER_GGML_BATCH_EXT_H
#define TT_ADAPTER_GGML_BATCH_EXT_H

#include "adapter/ggml/abi.h"

#include <stdbool.h>
#include <stdint.h>

/* What llama_batch_ext_add and the like return for a row that they keep though it is no token:
 * llama_process refuses the batch then. */
#define TT_BATCH_EXT_INVALID (-2)
#define TT_BATCH_EXT_NO_TOKEN (-1) /* a row of embeddings */

/* A batch was made, emptied, is about to be freed. */
void tt_batch_ext_init(const void *batch);
void tt_batch_ext_clear(const void *batch);
void tt_batch_ext_drop(const void *batch);
/* A row was added: index is what the engine returned. */
void tt_batch_ext_add(const void *batch, int32_t index, int32_t sequence, int32_t token);
/* The engine has accepted it for the row. */
void tt_batch_ext_add_sequence(const void *batch, int32_t index, int32_t sequence);
void tt_batch_ext_set_position(const void *batch, int32_t index, int32_t position);
void tt_batch_ext_set_output(const void *batch, int32_t index, bool value);

/* The batch's rows as those of a struct llama_batch. Returns what holds them, for free(); NULL when
 * they are not known. */
void *tt_batch_ext_copy(const void *batch, struct llama_batch_mirror *out);

/* Around a fork, so that the child does not get tables that are half changed: held before it, given
 * back in the parent, made anew in the child. */
void tt_batch_ext_before_fork(void);
void tt_batch_ext_in_parent(void);
void tt_batch_ext_in_child(void);

#endif
