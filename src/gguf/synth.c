#include "gguf/synth.h"

#include "gguf/vocab.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* Standard deviations, times 1/sqrt(fan in): 1 keeps the size of what a matrix
 * maps. Queries and keys are larger so that attention prefers some positions, and
 * the output so that some tokens are likelier than others: what is generated then
 * depends on the whole text and does not run in circles. */
#define GAIN_QK 2.0f
#define GAIN_OUTPUT 4.0f
#define GAIN_ROUTER 2.0f
#define GAIN_PLAIN 1.0f

/* A model whose tensors are being listed. */
typedef struct job {
    const tt_synth_config *c;
    tt_synth_file file;
} job;

static void add_tensor(job *j, const char *name, uint32_t type, float gain, uint32_t n_dims,
                       const uint64_t ne[3])
{
    char full[TT_SYNTH_NAME_MAX];
    (void)snprintf(full, sizeof full, "%s.weight", name);
    tt_synth_file_add(&j->file, full, type, gain / sqrtf((float)ne[0]), n_dims, ne);
}

static void add_matrix(job *j, const char *name, uint32_t type, float gain, uint64_t ne0,
                       uint64_t ne1)
{
    add_tensor(j, name, type, gain, 2, (const uint64_t[3]){ne0, ne1, 1});
}

static void add_norm(job *j, const char *name)
{
    add_tensor(j, name, TT_GGML_F32, 0, 1, (const uint64_t[3]){j->c->n_embd, 1, 1});
}

static const char *layer_name(char out[TT_SYNTH_NAME_MAX - 8], uint32_t layer, const char *what)
{
    (void)snprintf(out, TT_SYNTH_NAME_MAX - 8, "blk.%" PRIu32 ".%s", layer, what);
    return out;
}

static void add_ffn(job *j, uint32_t layer)
{
    const tt_synth_config *c = j->c;
    char n[TT_SYNTH_NAME_MAX - 8];
    if (c->n_experts == 0) {
        add_matrix(j, layer_name(n, layer, "ffn_gate"), c->type, GAIN_PLAIN, c->n_embd, c->n_ffn);
        add_matrix(j, layer_name(n, layer, "ffn_down"), c->type_ffn_down, GAIN_PLAIN, c->n_ffn,
                   c->n_embd);
        add_matrix(j, layer_name(n, layer, "ffn_up"), c->type, GAIN_PLAIN, c->n_embd, c->n_ffn);
        return;
    }
    const uint64_t in[3] = {c->n_embd, c->n_ffn, c->n_experts};
    const uint64_t out[3] = {c->n_ffn, c->n_embd, c->n_experts};
    /* The router stays F32, as real quantisers leave it. */
    add_matrix(j, layer_name(n, layer, "ffn_gate_inp"), TT_GGML_F32, GAIN_ROUTER, c->n_embd,
               c->n_experts);
    add_tensor(j, layer_name(n, layer, "ffn_gate_exps"), c->type, GAIN_PLAIN, 3, in);
    add_tensor(j, layer_name(n, layer, "ffn_down_exps"), c->type_ffn_down, GAIN_PLAIN, 3, out);
    add_tensor(j, layer_name(n, layer, "ffn_up_exps"), c->type, GAIN_PLAIN, 3, in);
}

static void add_tensors(job *j)
{
    const tt_synth_config *c = j->c;
    uint64_t kv_width = (uint64_t)c->n_embd / c->n_heads * c->n_heads_kv;
    char n[TT_SYNTH_NAME_MAX - 8];
    add_matrix(j, "token_embd", c->type_embd, sqrtf((float)c->n_embd), c->n_embd, c->n_vocab);
    for (uint32_t i = 0; i < c->n_layers; i++) {
        add_norm(j, layer_name(n, i, "attn_norm"));
        add_matrix(j, layer_name(n, i, "attn_q"), c->type, GAIN_QK, c->n_embd, c->n_embd);
        add_matrix(j, layer_name(n, i, "attn_k"), c->type, GAIN_QK, c->n_embd, kv_width);
        add_matrix(j, layer_name(n, i, "attn_v"), c->type_attn_v, GAIN_PLAIN, c->n_embd, kv_width);
        add_matrix(j, layer_name(n, i, "attn_output"), c->type, GAIN_PLAIN, c->n_embd, c->n_embd);
        add_norm(j, layer_name(n, i, "ffn_norm"));
        add_ffn(j, i);
    }
    add_norm(j, "output_norm");
    if (!c->tied)
        add_matrix(j, "output", c->type_output, GAIN_OUTPUT, c->n_embd, c->n_vocab);
}

/* `enum llama_ftype` for a model that is mostly of that type; llama.cpp only shows it. */
static uint32_t file_type(uint32_t type)
{
    static const struct {
        uint32_t type, file_type;
    } known[] = {
        {TT_GGML_F32, 0},     {TT_GGML_F16, 1},   {TT_GGML_Q4_0, 2},   {TT_GGML_Q4_1, 3},
        {TT_GGML_Q8_0, 7},    {TT_GGML_Q5_0, 8},  {TT_GGML_Q5_1, 9},   {TT_GGML_Q2_K, 10},
        {TT_GGML_Q3_K, 12},   {TT_GGML_Q4_K, 15}, {TT_GGML_Q5_K, 17},  {TT_GGML_Q6_K, 18},
        {TT_GGML_IQ4_NL, 25}, {TT_GGML_BF16, 32}, {TT_GGML_TQ2_0, 37}, {TT_GGML_MXFP4, 38}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].type == type) return known[i].file_type;
    return 0;
}

static tt_status write_metadata(tt_gguf_writer *w, const tt_synth_config *c, tt_error *err)
{
    uint32_t head = c->n_embd / c->n_heads;
    tt_gguf_writer_string(w, "general.architecture", "llama");
    tt_gguf_writer_string(w, "general.type", "model");
    tt_gguf_writer_string(w, "general.name", c->name);
    tt_gguf_writer_string(w, "general.description", "random weights, made by tensortrace synth");
    tt_gguf_writer_u32(w, "llama.block_count", c->n_layers);
    tt_gguf_writer_u32(w, "llama.context_length", c->n_ctx);
    tt_gguf_writer_u32(w, "llama.embedding_length", c->n_embd);
    tt_gguf_writer_u32(w, "llama.feed_forward_length", c->n_ffn);
    tt_gguf_writer_u32(w, "llama.attention.head_count", c->n_heads);
    tt_gguf_writer_u32(w, "llama.attention.head_count_kv", c->n_heads_kv);
    tt_gguf_writer_f32(w, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
    tt_gguf_writer_u32(w, "llama.rope.dimension_count", head);
    tt_gguf_writer_f32(w, "llama.rope.freq_base", 10000.0f);
    tt_gguf_writer_u32(w, "llama.vocab_size", c->n_vocab);
    if (c->n_experts) {
        tt_gguf_writer_u32(w, "llama.expert_count", c->n_experts);
        tt_gguf_writer_u32(w, "llama.expert_used_count", c->n_experts_used);
    }
    tt_gguf_writer_u32(w, "general.file_type", file_type(c->type));
    tt_gguf_writer_u32(w, "general.quantization_version", 2);
    return tt_vocab_write(w, c->n_vocab, err);
}

tt_status tt_synth_write(const tt_synth_config *c, const char *path, bool force,
                         tt_synth_progress *progress, void *user, uint64_t *total_bytes,
                         tt_error *err)
{
    job j = {.c = c};
    tt_status status = tt_synth_check(c, err);
    if (status != TT_OK) return status;
    status = tt_synth_file_init(&j.file, 3 + (size_t)c->n_layers * 10, c->n_parts, err);
    j.file.seed = c->seed;
    j.file.n_threads = c->n_threads;
    if (status == TT_OK) status = write_metadata(tt_synth_file_metadata(&j.file), c, err);
    if (status == TT_OK) {
        add_tensors(&j);
        status = tt_synth_file_write(&j.file, path, force, progress, user, total_bytes, err);
    }
    tt_synth_file_free(&j.file);
    return status;
}
