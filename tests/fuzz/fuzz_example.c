/* Bytes as a model of the example engine: must be read or refused, and what is read be there. */
#include "../../examples/engine/model.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile float looked_at; /* so that the compiler leaves the reading in */

static float sum_of(const tensor *t)
{
    float sum = 0;
    for (size_t i = 0; i < (size_t)t->ne[0] * t->ne[1]; i++)
        sum += ((const float *)t->data)[i];
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gguf file;
    model m;
    if (gguf_read(&file, data, size) || model_read(&m, &file)) return 0;
    if (m.head_size * m.n_heads != m.n_embd || m.n_rot > m.head_size) abort();
    looked_at = sum_of(&m.token_embd) + sum_of(&m.output_norm) + sum_of(&m.output);
    for (uint32_t i = 0; i < m.n_layers; i++)
        looked_at = sum_of(&m.layers[i].attn_norm) + sum_of(&m.layers[i].ffn_down);
    model_close(&m);
    return 0;
}
