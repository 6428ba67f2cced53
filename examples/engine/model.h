/* A model of the Llama architecture: its dimensions and its weights, as 32-bit floats. */
#ifndef MODEL_H
#define MODEL_H

#include "gguf.h"
#include "tensor.h"

typedef struct model_layer {
    tensor attn_norm, attn_q, attn_k, attn_v, attn_output;
    tensor ffn_norm, ffn_gate, ffn_up, ffn_down;
} model_layer;

typedef struct model {
    gguf file;
    uint32_t n_layers, n_embd, n_ffn, n_vocab, n_ctx;
    uint32_t n_heads, n_heads_kv, head_size;
    uint32_t n_rot; /* elements of a head that are rotated */
    float rope_base, epsilon;
    float *decoded; /* weights that are not float32 in the file */
    size_t n_decoded;
    tensor token_embd, output_norm, output;
    model_layer *layers;
} model;

/* NULL, or what is wrong with the model; then neither it nor the file, which becomes the model's,
 * needs closing. */
const char *model_read(model *m, const gguf *file);
const char *model_open(model *m, const char *path);
void model_close(model *m);

#endif
