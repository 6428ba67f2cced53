/* The shape of a synthetic model: presets, and what makes a shape impossible. */
#ifndef TT_GGUF_SYNTH_CONFIG_H
#define TT_GGUF_SYNTH_CONFIG_H

#include "base/status.h"
#include "gguf/types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_SYNTH_PARTS_MAX 256u

typedef struct tt_synth_config {
    const char *name; /* general.name of the model; borrowed */
    uint32_t n_layers;
    uint32_t n_embd;
    uint32_t n_ffn;
    uint32_t n_heads;
    uint32_t n_heads_kv;
    uint32_t n_vocab;
    uint32_t n_ctx;
    uint32_t n_experts;      /* 0: a dense model */
    uint32_t n_experts_used; /* 0 exactly when n_experts is */
    uint32_t type;           /* of matrices without their own; ggml type numbers */
    uint32_t type_embd;
    uint32_t type_output;
    uint32_t type_attn_v;
    uint32_t type_ffn_down;
    bool tied; /* no output projection of its own: the token embeddings are used */
    uint64_t seed;
    uint32_t n_parts;   /* files to split into; 1: not split */
    uint32_t n_threads; /* 0: as many as there are processors, at most 4 */
} tt_synth_config;

/* Fills *c from the preset of that name; false when there is none. */
bool tt_synth_preset(tt_synth_config *c, const char *name);
/* The i-th preset's name and what it is, from 0; false past the last. */
bool tt_synth_preset_at(size_t i, const char **name, const char **summary);

/* TT_E_USAGE with the first thing that is wrong and what would be right. */
tt_status tt_synth_check(const tt_synth_config *c, tt_error *err);

#endif
