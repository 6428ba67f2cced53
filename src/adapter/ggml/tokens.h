/* What the program passes to llama_decode, llama_encode and llama_process: which sequences its
 * tokens belong to, their texts, and whether they are a prompt's or generated.
 *
 * llama.cpp splits such a call into batches (its ubatches), whose graphs know a token's id and
 * position only. The call is under way on the same thread then, so its rows are found again by
 * id and position. */
#ifndef TT_ADAPTER_GGML_TOKENS_H
#define TT_ADAPTER_GGML_TOKENS_H

#include "adapter/ggml/abi.h"
#include "adapter/ggml/phases.h"
#include "format/meta.h"
#include "record/recorder.h"

#include <stdbool.h>
#include <stdint.h>

/* A call of the engine. */
typedef struct tt_tokens_call {
    const void *in_engine; /* an address in the library that the function is in */
    void *context;
    const struct llama_batch_mirror *batch;
    bool encodes;
    bool is_recorded; /* a batch of it may be: its texts are wanted */
} tt_tokens_call;

/* Before and after such a call on this thread. The batch is copied; texts of tokens that are new
 * are recorded. Begin takes tt_process_lock. */
void tt_tokens_begin(tt_recorder *r, const tt_tokens_call *a);
void tt_tokens_end(void);

/* The program has switched the context's warm-up mode, or frees it. Any thread. */
void tt_tokens_set_warmup(const void *context, bool on);

/* Whether such a call is under way on this thread. */
bool tt_tokens_in_call(void);

/* Decides what the tokens of the call under way are, once a call: before tt_tokens_match. p: of the
 * context that computes it. first_position: of the first row; -1: not known. */
void tt_tokens_judge(tt_phases *p, int32_t first_position);

/* The sequences of n rows of a batch with these ids and positions (each may be NULL: not known),
 * out of the call under way; rows are used up. False when there is none, or when some row is not
 * in it. *s is valid until the next call on this thread. counts: gets how many of the rows are of
 * each phase (enum tt_phase). */
bool tt_tokens_match(const int32_t *tokens, const int32_t *positions, uint32_t n,
                     tt_batch_sequences *s, uint32_t counts[TT_PHASES]);
/* The vocabulary of the call under way; 0 when it is not known. */
uint32_t tt_tokens_vocabulary(void);
/* This thread ends. */
void tt_tokens_thread_ends(void);
/* In a forked child: another thread of the parent may have held the lock. */
void tt_tokens_in_child(void);
/* A new trace has no texts yet. */
void tt_tokens_reset(void);

#endif
