/* The forward pass: tokens in, logits out. */
#ifndef ENGINE_H
#define ENGINE_H

#include "bugs.h"
#include "model.h"
#include "team.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct engine_settings {
    uint32_t n_threads;
    uint32_t n_positions; /* of the longest text */
    uint32_t n_batch;     /* tokens of the longest batch */
    bool kv_f16;          /* keys and values are kept as float16, as llama.cpp does */
    bug bug;
} engine_settings;

/* What the ops put out. Each layer uses the same memory again. */
typedef struct activations {
    tensor input, norm, q, k, v, q_rot, k_rot, heads, attn, residual;
    tensor ffn_norm, gate, up, swiglu, ffn, out, last_attn, last_input, final_norm, logits;
} activations;

typedef struct engine {
    const model *m;
    engine_settings settings;
    team *team;
    uint32_t n_past; /* positions that are in the memory of keys and values */
    activations a;
    tensor *keys, *values; /* one a layer */
    void *memory, *cache;  /* that of the activations, and that of keys and values */
} engine;

/* NULL, or what is wrong. The model is borrowed. */
const char *engine_open(engine *e, const model *m, const engine_settings *settings);
/* Logits of the last of n tokens, which follow those of the calls before: n_vocab of them, until
 * the next call. NULL: there is no room for so many tokens, or one is not in the vocabulary. */
const float *engine_decode(engine *e, const uint32_t *tokens, uint32_t n);
void engine_close(engine *e);

#endif
