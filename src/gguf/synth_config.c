#include "gguf/synth_config.h"

#include "gguf/quantize.h"
#include "gguf/vocab.h"

#include <inttypes.h>
#include <string.h>

#define LAYERS_MAX 512u  /* llama.cpp's own limit */
#define EXPERTS_MAX 128u /* the limit of the oldest llama.cpp that is supported is 160 */
#define EMBD_MAX 65536u
#define FFN_MAX 262144u
#define HEADS_MAX 1024u
#define CTX_MAX 1048576u

static const struct {
    const char *summary;
    tt_synth_config config;
} presets[] = {
    {"a few megabytes: 4 layers of width 256, for tests",
     {.name = "tiny",
      .n_layers = 4,
      .n_embd = 256,
      .n_ffn = 512,
      .n_heads = 4,
      .n_heads_kv = 2,
      .n_vocab = 2048,
      .n_ctx = 512,
      .type = TT_GGML_Q4_K,
      .type_embd = TT_GGML_Q4_K,
      .type_output = TT_GGML_Q6_K,
      .type_attn_v = TT_GGML_Q6_K,
      .type_ffn_down = TT_GGML_Q6_K}},
    {"the shape of TinyLlama 1.1B: 22 layers of width 2048, 705 MB",
     {.name = "tinyllama",
      .n_layers = 22,
      .n_embd = 2048,
      .n_ffn = 5632,
      .n_heads = 32,
      .n_heads_kv = 4,
      .n_vocab = 32000,
      .n_ctx = 2048,
      .type = TT_GGML_Q4_K,
      .type_embd = TT_GGML_Q4_K,
      .type_output = TT_GGML_Q6_K,
      .type_attn_v = TT_GGML_Q6_K,
      .type_ffn_down = TT_GGML_Q6_K}},
    {"a mixture of 8 experts, 2 used a token: 4 layers of width 512",
     {.name = "moe",
      .n_layers = 4,
      .n_embd = 512,
      .n_ffn = 768,
      .n_heads = 8,
      .n_heads_kv = 4,
      .n_vocab = 4096,
      .n_ctx = 1024,
      .n_experts = 8,
      .n_experts_used = 2,
      .type = TT_GGML_Q4_K,
      .type_embd = TT_GGML_Q4_K,
      .type_output = TT_GGML_Q6_K,
      .type_attn_v = TT_GGML_Q6_K,
      .type_ffn_down = TT_GGML_Q6_K}},
};

#define PRESET_COUNT (sizeof presets / sizeof presets[0])

bool tt_synth_preset(tt_synth_config *c, const char *name)
{
    for (size_t i = 0; i < PRESET_COUNT; i++) {
        if (strcmp(presets[i].config.name, name) != 0) continue;
        *c = presets[i].config;
        c->seed = 1;
        c->n_parts = 1;
        return true;
    }
    return false;
}

bool tt_synth_preset_at(size_t i, const char **name, const char **summary)
{
    if (i >= PRESET_COUNT) return false;
    *name = presets[i].config.name;
    *summary = presets[i].summary;
    return true;
}

#define USAGE(...) tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, __VA_ARGS__)

static tt_status check_range(const char *what, uint32_t v, uint32_t min, uint32_t max,
                             tt_error *err)
{
    if (v >= min && v <= max) return TT_OK;
    return USAGE("%s must be %" PRIu32 " to %" PRIu32 ", not %" PRIu32, what, min, max, v);
}

/* A matrix whose rows hold `row` elements must consist of whole blocks. */
static tt_status check_type(const char *tensor, uint32_t type, const char *dimension, uint32_t row,
                            tt_error *err)
{
    const tt_ggml_type *t = tt_ggml_type_find(type);
    if (!t || !tt_quantize_supports(type))
        return USAGE("%s: type %s cannot be synthesised", tensor, t ? t->name : "(unknown)");
    if (row % t->block_elements == 0) return TT_OK;
    return USAGE("%s: %s %" PRIu32 " is not a multiple of %" PRIu32 ", the block size of %s",
                 tensor, dimension, row, t->block_elements, t->name);
}

static tt_status check_ranges(const tt_synth_config *c, tt_error *err)
{
    const struct {
        const char *what;
        uint32_t v, min, max;
    } ranges[] = {
        {"the number of layers", c->n_layers, 1, LAYERS_MAX},
        {"the width (embd)", c->n_embd, 2, EMBD_MAX},
        {"the feed-forward width (ffn)", c->n_ffn, 1, FFN_MAX},
        {"the number of heads", c->n_heads, 1, HEADS_MAX},
        {"the number of KV heads", c->n_heads_kv, 1, HEADS_MAX},
        {"the vocabulary", c->n_vocab, TT_VOCAB_MIN, TT_VOCAB_MAX},
        {"the context length", c->n_ctx, 1, CTX_MAX},
        {"the number of experts", c->n_experts, 0, EXPERTS_MAX},
        {"the number of parts", c->n_parts, 1, TT_SYNTH_PARTS_MAX},
        {"the number of threads", c->n_threads, 0, 256},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        tt_status status =
            check_range(ranges[i].what, ranges[i].v, ranges[i].min, ranges[i].max, err);
        if (status != TT_OK) return status;
    }
    return TT_OK;
}

static tt_status check_heads(const tt_synth_config *c, tt_error *err)
{
    if (c->n_embd % c->n_heads != 0)
        return USAGE("the width %" PRIu32 " is not a multiple of the %" PRIu32 " heads", c->n_embd,
                     c->n_heads);
    if (c->n_embd / c->n_heads % 2 != 0)
        return USAGE("a head of %" PRIu32 " elements (width %" PRIu32 " / %" PRIu32
                     " heads) cannot be rotated: it must be even",
                     c->n_embd / c->n_heads, c->n_embd, c->n_heads);
    if (c->n_heads % c->n_heads_kv != 0)
        return USAGE("the %" PRIu32 " heads cannot share %" PRIu32 " KV heads evenly", c->n_heads,
                     c->n_heads_kv);
    if (c->n_experts && (c->n_experts_used < 1 || c->n_experts_used > c->n_experts))
        return USAGE("of %" PRIu32 " experts 1 to %" PRIu32 " can be used a token, not %" PRIu32,
                     c->n_experts, c->n_experts, c->n_experts_used);
    if (!c->n_experts && c->n_experts_used)
        return USAGE("%" PRIu32 " experts cannot be used in a model that has none",
                     c->n_experts_used);
    return TT_OK;
}

tt_status tt_synth_check(const tt_synth_config *c, tt_error *err)
{
    tt_status status = check_ranges(c, err);
    if (status == TT_OK) status = check_heads(c, err);
    if (status == TT_OK) status = check_type("matrices", c->type, "width", c->n_embd, err);
    if (status == TT_OK) status = check_type("token_embd", c->type_embd, "width", c->n_embd, err);
    if (status == TT_OK) status = check_type("output", c->type_output, "width", c->n_embd, err);
    if (status == TT_OK) status = check_type("attn_v", c->type_attn_v, "width", c->n_embd, err);
    if (status == TT_OK)
        status = check_type("ffn_down", c->type_ffn_down, "feed-forward width", c->n_ffn, err);
    uint32_t n_tensors = 3 - c->tied + c->n_layers * (c->n_experts ? 10 : 9);
    if (status == TT_OK && c->n_parts > n_tensors)
        status = USAGE("%" PRIu32 " parts, but the model has only %" PRIu32 " tensors", c->n_parts,
                       n_tensors);
    return status;
}
