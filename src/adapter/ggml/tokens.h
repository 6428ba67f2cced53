/* What the program passes to llama_decode: which sequences its tokens belong to, and their texts.
 *
 * llama.cpp splits such a call into batches (its ubatches), whose graphs know a token's id and
 * position only. The call is under way on the same thread then, so its rows are found again by
 * id and position. */
#ifndef TT_ADAPTER_GGML_TOKENS_H
#define TT_ADAPTER_GGML_TOKENS_H

#include "adapter/ggml/abi.h"
#include "format/meta.h"
#include "record/recorder.h"

#include <stdbool.h>
#include <stdint.h>

/* Before and after the engine's llama_decode or llama_encode on this thread. The batch is copied;
 * texts of tokens that are new are recorded. in_engine: an address in the library that llama_decode
 * is in. Begin takes tt_process_lock. */
void tt_tokens_begin(tt_recorder *r, const void *in_engine, void *context,
                     const struct llama_batch_mirror *batch);
void tt_tokens_end(void);

/* Whether such a call is under way on this thread. */
bool tt_tokens_in_call(void);

/* The sequences of n rows of a batch with these ids and positions (each may be NULL: not known),
 * out of the call under way; rows are used up. False when there is none, or when some row is not
 * in it. *s is valid until the next call on this thread. */
bool tt_tokens_match(const int32_t *tokens, const int32_t *positions, uint32_t n,
                     tt_batch_sequences *s);
/* The vocabulary of the call under way; 0 when it is not known. */
uint32_t tt_tokens_vocabulary(void);
/* This thread ends. */
void tt_tokens_thread_ends(void);
/* In a forked child: the new trace has no texts yet. */
void tt_tokens_forget(void);

#endif
