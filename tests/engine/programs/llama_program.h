/* What the test programs that use libllama share: an engine opened at run time, models and
 * contexts with the settings that matter here, batches filled by hand as a server does.
 * Everything exits with 1 and a sentence when it fails. */
#ifndef TT_TESTS_LLAMA_PROGRAM_H
#define TT_TESTS_LLAMA_PROGRAM_H

#include "runner/engine_load.h"

#include <stdbool.h>
#include <stdint.h>

#define PROGRAM_THREADS 2
#define PROGRAM_SEQUENCES_MAX 16 /* of a context */

extern tt_engine_api program_api;

/* Once a process. */
void program_open(const char *engine_dir);
/* Ends with 77, the code of a skip. */
void program_skip(const char *why) __attribute__((noreturn));
void program_fail(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
/* A function of libllama by today's name or the one before; NULL when it has neither. */
void *program_find(const char *name, const char *old);

struct tt_llama_model *program_model(const char *path, bool is_mapped, bool is_repacked);

typedef struct program_sizes {
    uint32_t n_ctx, n_batch, n_ubatch, n_sequences;
    bool separate_streams; /* a cache for each sequence, where the engine knows such */
} program_sizes;

struct tt_llama_context *program_context(struct tt_llama_model *model, const program_sizes *sizes);
/* The engine's eval callback: asked (ask) which nodes it wants to see, then shown them. */
typedef bool (*program_callback)(void *tensor, bool ask, void *user);
/* Puts it into context parameters that are still the engine's defaults there. */
void program_set_callback(tt_engine_params *params, program_callback callback);
/* Tokens of a text, begin of text included. Returns how many. */
int32_t program_tokenize(const struct tt_llama_model *model, const char *text, int32_t *tokens,
                         int32_t n_max);
/* A token's text, at most n_max bytes; returns how many. */
int32_t program_piece(const struct tt_llama_model *model, int32_t token, char *text, int32_t n_max);
/* The likeliest token after row `row` of the last decode. */
int32_t program_greedy(struct tt_llama_context *context, int32_t row);
/* Decodes `n` tokens behind those before, in sequence 0. */
void program_decode(struct tt_llama_context *context, int32_t *tokens, int32_t n);

/* Forgets a sequence's keys and values, from this position on; -1: all. */
void program_forget(struct tt_llama_context *context, int32_t sequence, int32_t from);
/* Begins or ends the context's warm-up mode; false when the engine has none. */
bool program_warmup(struct tt_llama_context *context, bool on);

/* LoRA adapters: a handle, applied to a context with scale 1, or taken off. */
void *program_lora_load(struct tt_llama_model *model, const char *path);
void program_lora_apply(struct tt_llama_context *context, void *adapter, bool on);

/* A row of a batch. */
typedef struct program_row {
    int32_t token, position;
    int32_t sequences[PROGRAM_SEQUENCES_MAX];
    int32_t n_sequences;
    bool is_output;
    char kind; /* what the program knows it to be: p of a prompt, g generated, w warm-up */
} program_row;

/* Rows go to llama_process, in a batch of llama_batch_ext, from here on. Skips the test where the
 * engine has no such functions. */
void program_by_process(struct tt_llama_context *context);
/* llama_decode (or llama_process) of these rows, at most 1024; prints them first: "decode N", then
 * for each "row TOKEN POSITION SEQUENCE,SEQUENCE KIND". When the first token is -1, all are: the
 * rows are embeddings. */
void program_decode_rows(struct tt_llama_context *context, const program_row *rows, int32_t n);

#endif
