/* The rows of llama.cpp's opaque batches (struct llama_batch_ext, since 2026). The struct cannot be
 * read, so this table notes what the program puts into each batch, by the batch's address.
 *
 * A batch whose rows are not known for certain is never returned: one made before this library
 * was loaded, one whose row numbers differ from those noted, one beyond the limits, and every
 * batch when a loaded library calls an unknown function of this family. All functions are
 * thread-safe. */
#ifndef TT_ADAPTER_GGML_BATCH_EXT_H
#define TT_ADAPTER_GGML_BATCH_EXT_H

#include "adapter/ggml/abi.h"

#include <stdbool.h>
#include <stdint.h>

/* Returned by llama_batch_ext_add and similar functions for a row that they keep although it has no
 * token; llama_process rejects such a batch. */
#define TT_BATCH_EXT_INVALID (-2)
#define TT_BATCH_EXT_NO_TOKEN (-1) /* a row of embeddings */

/* A batch was made, was emptied, or is about to be freed. */
void tt_batch_ext_init(const void *batch);
void tt_batch_ext_clear(const void *batch);
void tt_batch_ext_drop(const void *batch);
/* A row was added; index: the engine's return value. */
void tt_batch_ext_add(const void *batch, int32_t index, int32_t sequence, int32_t token);
/* The engine accepted the sequence for the row. */
void tt_batch_ext_add_sequence(const void *batch, int32_t index, int32_t sequence);
void tt_batch_ext_set_position(const void *batch, int32_t index, int32_t position);
void tt_batch_ext_set_output(const void *batch, int32_t index, bool value);

/* The batch's rows as a struct llama_batch. Returns the memory that holds them, to be freed with
 * free(); NULL when the rows are not known. */
void *tt_batch_ext_copy(const void *batch, struct llama_batch_mirror *out);

/* Call these around a fork, so that the child does not inherit half-changed tables: before locks
 * them, in_parent unlocks them, in_child recreates them. */
void tt_batch_ext_before_fork(void);
void tt_batch_ext_in_parent(void);
void tt_batch_ext_in_child(void);

#endif
