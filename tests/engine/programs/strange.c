/* A library that calls a function of llama_batch_ext's family which no version has: as one of a
 * later llama.cpp would, through its procedure linkage table. */
#include <stdint.h>

#define EXPORTED __attribute__((visibility("default"), noinline))

int32_t llama_batch_ext_add_tokens(void *batch, const int32_t *tokens, int32_t n);
int32_t strange_add(void *batch);

EXPORTED int32_t llama_batch_ext_add_tokens(void *batch, const int32_t *tokens, int32_t n)
{
    return batch && tokens ? n : -1;
}

EXPORTED int32_t strange_add(void *batch)
{
    const int32_t token = 5;
    return llama_batch_ext_add_tokens(batch, &token, 1);
}
