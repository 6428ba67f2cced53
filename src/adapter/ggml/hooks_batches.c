/* Hooks on llama.cpp's opaque batches: what the program puts into them.
 * llama_batch_ext_set_embd_token and _set_embd_state are not hooked: they only add data to an
 * existing row. */
#include "adapter/ggml/abi.h"
#include "adapter/ggml/batch_ext.h"
#include "adapter/ggml/resolve.h"

#include <stddef.h>

/* struct llama_embd */
struct embeddings {
    const float *data;
    size_t n_rows, n_embd;
};

void *llama_batch_ext_init(void *context);
void llama_batch_ext_free(void *batch);
void llama_batch_ext_clear(void *batch);
int32_t llama_batch_ext_add(void *batch, int32_t sequence);
int32_t llama_batch_ext_add_token(void *batch, int32_t sequence, int32_t token);
int32_t llama_batch_ext_add_embd(void *batch, int32_t sequence, struct embeddings embeddings);
bool llama_batch_ext_add_seq(void *batch, int32_t index, int32_t sequence);
bool llama_batch_ext_set_pos(void *batch, int32_t index, const int32_t *position);
bool llama_batch_ext_set_output_logits(void *batch, int32_t index, bool value);
bool llama_batch_ext_set_output_embd(void *batch, int32_t index, bool value);

static tt_real real_init = {.name = "llama_batch_ext_init"};
static tt_real real_free = {.name = "llama_batch_ext_free"};
static tt_real real_clear = {.name = "llama_batch_ext_clear"};
static tt_real real_add = {.name = "llama_batch_ext_add"};
static tt_real real_add_token = {.name = "llama_batch_ext_add_token"};
static tt_real real_add_embd = {.name = "llama_batch_ext_add_embd"};
static tt_real real_add_seq = {.name = "llama_batch_ext_add_seq"};
static tt_real real_set_pos = {.name = "llama_batch_ext_set_pos"};
static tt_real real_set_logits = {.name = "llama_batch_ext_set_output_logits"};
static tt_real real_set_embd = {.name = "llama_batch_ext_set_output_embd"};

TT_EXPORT void *llama_batch_ext_init(void *context)
{
    void *(*real)(void *);
    *(void **)&real = tt_real_get(&real_init, TT_CALLER);
    void *batch = real ? real(context) : NULL;
    tt_batch_ext_init(batch);
    return batch;
}

TT_EXPORT void llama_batch_ext_free(void *batch)
{
    void (*real)(void *);
    *(void **)&real = tt_real_get(&real_free, TT_CALLER);
    /* The address may be reused for another batch. */
    tt_batch_ext_drop(batch);
    if (real) real(batch);
}

TT_EXPORT void llama_batch_ext_clear(void *batch)
{
    void (*real)(void *);
    *(void **)&real = tt_real_get(&real_clear, TT_CALLER);
    if (real) real(batch);
    tt_batch_ext_clear(batch);
}

TT_EXPORT int32_t llama_batch_ext_add(void *batch, int32_t sequence)
{
    int32_t (*real)(void *, int32_t);
    *(void **)&real = tt_real_get(&real_add, TT_CALLER);
    int32_t index = real ? real(batch, sequence) : -1;
    tt_batch_ext_add(batch, index, sequence, TT_BATCH_EXT_NO_TOKEN);
    return index;
}

TT_EXPORT int32_t llama_batch_ext_add_token(void *batch, int32_t sequence, int32_t token)
{
    int32_t (*real)(void *, int32_t, int32_t);
    *(void **)&real = tt_real_get(&real_add_token, TT_CALLER);
    int32_t index = real ? real(batch, sequence, token) : -1;
    tt_batch_ext_add(batch, index, sequence, token);
    return index;
}

TT_EXPORT int32_t llama_batch_ext_add_embd(void *batch, int32_t sequence,
                                           struct embeddings embeddings)
{
    int32_t (*real)(void *, int32_t, struct embeddings);
    *(void **)&real = tt_real_get(&real_add_embd, TT_CALLER);
    int32_t index = real ? real(batch, sequence, embeddings) : -1;
    tt_batch_ext_add(batch, index, sequence, TT_BATCH_EXT_NO_TOKEN);
    return index;
}

TT_EXPORT bool llama_batch_ext_add_seq(void *batch, int32_t index, int32_t sequence)
{
    bool (*real)(void *, int32_t, int32_t);
    *(void **)&real = tt_real_get(&real_add_seq, TT_CALLER);
    bool accepted = real ? real(batch, index, sequence) : false;
    if (accepted) tt_batch_ext_add_sequence(batch, index, sequence);
    return accepted;
}

TT_EXPORT bool llama_batch_ext_set_pos(void *batch, int32_t index, const int32_t *position)
{
    bool (*real)(void *, int32_t, const int32_t *);
    *(void **)&real = tt_real_get(&real_set_pos, TT_CALLER);
    bool accepted = real ? real(batch, index, position) : false;
    /* Of several numbers per row, the first is the position in the sequence. */
    if (accepted) tt_batch_ext_set_position(batch, index, *position);
    return accepted;
}

TT_EXPORT bool llama_batch_ext_set_output_logits(void *batch, int32_t index, bool value)
{
    bool (*real)(void *, int32_t, bool);
    *(void **)&real = tt_real_get(&real_set_logits, TT_CALLER);
    bool accepted = real ? real(batch, index, value) : false;
    if (accepted) tt_batch_ext_set_output(batch, index, value);
    return accepted;
}

TT_EXPORT bool llama_batch_ext_set_output_embd(void *batch, int32_t index, bool value)
{
    bool (*real)(void *, int32_t, bool);
    *(void **)&real = tt_real_get(&real_set_embd, TT_CALLER);
    bool accepted = real ? real(batch, index, value) : false;
    if (accepted) tt_batch_ext_set_output(batch, index, value);
    return accepted;
}
