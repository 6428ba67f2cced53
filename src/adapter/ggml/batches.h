/* Batches: the tokens of one graph computation by the scheduler. */
#ifndef TT_ADAPTER_GGML_BATCHES_H
#define TT_ADAPTER_GGML_BATCHES_H

#include "adapter/ggml/contexts.h"
#include "adapter/ggml/engine.h"
#include "record/recorder.h"

#include <stdint.h>

/* Records a BATCH for the graph that is about to be computed and returns its id; 0 if the batch is
 * only counted, because it was not selected or is past the trace's limit. Reads the graph's inputs
 * (inp_tokens, inp_pos), which have their values by then. layout: as in tt_graphs_identify.
 * tt_process_lock is held. */
uint32_t tt_batches_begin(tt_recorder *r, const tt_engine *e, tt_context *context,
                          struct ggml_cgraph *graph, uint64_t layout);
/* Whether recording continues; if so, every call of the engine affects the phases of the next
 * one. */
bool tt_batches_go_on(tt_recorder *r);
/* Whether a call of so many tokens may lead to a recorded batch; a call makes at most one batch
 * per token. */
bool tt_batches_may_follow(tt_recorder *r, int32_t n_tokens);
/* Checks whether sources of the node are inputs of its batch. */
void tt_batches_look(const tt_engine *e, const struct ggml_tensor *node, bool is_computed,
                     tt_batch_inputs *in);
/* The n 32-bit values of an input tensor, wherever it is stored, malloc'ed; NULL when they
 * cannot be read. */
int32_t *tt_batches_numbers(const tt_engine *e, const struct ggml_tensor *t, uint32_t n);
/* Whether source s of the node holds token ids. */
bool tt_batches_is_tokens(const tt_engine *e, const struct ggml_tensor *node, int s);
/* Whether the scheduler created the tensor ("BACKEND#NAME#N") to copy another one into while the
 * graph runs; before that it holds stale values. */
bool tt_batches_is_copy(const struct ggml_tensor *t);
/* Records what the phases have learned of earlier batches. tt_process_lock is held. */
void tt_batches_tell_fates(tt_phases *p);
void tt_batches_end(tt_recorder *r, uint32_t batch, int status);

#endif
