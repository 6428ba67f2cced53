/* Writes a synthetic LoRA adapter for a model: a GGUF file for llama.cpp's
 * llama_adapter_lora_init. */
#ifndef TT_GGUF_LORA_H
#define TT_GGUF_LORA_H

#include "gguf/synth.h"

#define TT_LORA_RANK_MAX 4096u

typedef struct tt_lora_config {
    const char *model; /* path of the base model; of its first file if split */
    const char *name;  /* general.name; NULL: "lora" */
    uint32_t rank;     /* 1 to TT_LORA_RANK_MAX */
    float alpha;       /* the adapter's effect is scaled by alpha / rank */
    uint32_t type;     /* of the matrices: F32, F16 or BF16; ggml type numbers */
    uint64_t seed;
    uint32_t n_threads; /* 0: the number of processors, at most 4 */
} tt_lora_config;

/* Writes a pair NAME.lora_a [n_in, rank] and NAME.lora_b [rank, n_out] for each matrix of the
 * model's layers, including experts but not their router, the embeddings or the output, which
 * adapters do not change. The values are random, and at alpha = rank the adapter changes each
 * product by about a quarter of its size. The same configuration and model shape give the same
 * bytes. Files and progress as in tt_synth_file_write. TT_E_USAGE: an invalid rank or type;
 * TT_E_FORMAT: no model, or nothing in it to adapt. */
tt_status tt_lora_write(const tt_lora_config *c, const char *path, bool force,
                        tt_synth_progress *progress, void *user, uint64_t *total_bytes,
                        tt_error *err);

#endif
