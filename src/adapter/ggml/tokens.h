/* What the program passes to llama_decode, llama_encode and llama_process: the sequences and texts
 * of its tokens, and whether they are part of a prompt or generated.
 *
 * llama.cpp splits a call into batches (its ubatches), whose graphs hold only a token's id and
 * position. The call is active on the same thread then, so its rows are found by id and
 * position. */
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
    const void *in_engine; /* an address in the function's library */
    void *context;
    const struct llama_batch_mirror *batch;
    bool encodes;
    bool is_recorded; /* one of its batches may be recorded, so texts are wanted */
} tt_tokens_call;

/* Before and after such a call on this thread. The batch is copied; texts of new tokens are
 * recorded. Begin takes tt_process_lock. */
void tt_tokens_begin(tt_recorder *r, const tt_tokens_call *a);
void tt_tokens_end(void);

/* The program has switched the context's warm-up mode, or frees it. Any thread. */
void tt_tokens_set_warmup(const void *context, bool on);

/* The program is a benchmark that runs each context once before it measures, up to where it clears
 * it. */
void tt_tokens_set_benchmark(bool on);

/* The program trains a model on this thread, which computes without such calls; or has ended it. */
void tt_tokens_set_training(bool on);
bool tt_tokens_in_training(void);
/* Whether such a call is active on this thread. */
bool tt_tokens_in_call(void);

/* Decides the phases of the current call's tokens, once per call, before tt_tokens_match. p: of
 * the context that computes it. first_position: of the first row; -1: unknown. */
void tt_tokens_assign_phases(tt_phases *p, int32_t first_position);

/* Finds the sequences of n rows of a batch with these ids and positions (each may be NULL: unknown)
 * in the current call; each row is found once. False if there is no call, or it lacks a row. *s is
 * valid until the next call on this thread. counts: gets the number of rows of each phase (enum
 * tt_phase). p, whose last_batch is this one, gets its drafts. */
bool tt_tokens_match(const int32_t *tokens, const int32_t *positions, uint32_t n, tt_phases *p,
                     tt_batch_sequences *s, uint32_t counts[TT_PHASES]);
/* The vocabulary of the current call; 0 when unknown. */
uint32_t tt_tokens_vocabulary(void);
/* Call when this thread ends. */
void tt_tokens_thread_ends(void);
/* Call in a forked child: another thread of the parent may have held the lock. */
void tt_tokens_in_child(void);
/* Call for a new trace, which has no texts yet. */
void tt_tokens_reset(void);

#endif
