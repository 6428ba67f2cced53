#include "model.h"

#include "dequant.h"
#include "ops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAYERS_MAX 512u
#define WIDTH_MAX (1u << 20)

static uint32_t dimension(const gguf *g, const char *key, uint32_t otherwise)
{
    double v = gguf_get(g, key, otherwise);
    return v >= 1 && v <= WIDTH_MAX ? (uint32_t)v : 0;
}

/* A weight of that shape: as it is in the file, or decoded into the model's memory. */
static const char *load(model *m, tensor *t, const char *name, uint32_t columns, uint32_t rows)
{
    const gguf_tensor *source = gguf_find(&m->file, name);
    if (!source) return "a weight is missing";
    if (source->ne[0] != columns || source->ne[1] != rows || source->ne[2] != 1 ||
        source->ne[3] != 1)
        return "a weight has another shape than the metadata says";
    size_t n = (size_t)columns * rows;
    *t = (tensor){.type = TYPE_F32, .ne = {columns, rows}, .source = source};
    snprintf(t->name, sizeof t->name, "%s", name);
    if (source->type == TYPE_F32 && (uintptr_t)source->data % sizeof(float) == 0) {
        t->data = (void *)(uintptr_t)source->data;
        return NULL;
    }
    t->data = m->decoded + m->n_decoded;
    m->n_decoded += n;
    dequantize(source->type, source->data, n, t->data);
    return NULL;
}

static const char *load_layer(model *m, model_layer *l, uint32_t number)
{
    uint32_t kv = m->n_heads_kv * m->head_size;
    const struct {
        const char *name;
        tensor *t;
        uint32_t columns, rows;
    } weights[] = {
        {"attn_norm", &l->attn_norm, m->n_embd, 1},
        {"attn_q", &l->attn_q, m->n_embd, m->n_embd},
        {"attn_k", &l->attn_k, m->n_embd, kv},
        {"attn_v", &l->attn_v, m->n_embd, kv},
        {"attn_output", &l->attn_output, m->n_embd, m->n_embd},
        {"ffn_norm", &l->ffn_norm, m->n_embd, 1},
        {"ffn_gate", &l->ffn_gate, m->n_embd, m->n_ffn},
        {"ffn_up", &l->ffn_up, m->n_embd, m->n_ffn},
        {"ffn_down", &l->ffn_down, m->n_ffn, m->n_embd},
    };
    for (size_t i = 0; i < sizeof weights / sizeof weights[0]; i++) {
        char name[GGUF_NAME_MAX];
        snprintf(name, sizeof name, "blk.%u.%s.weight", number, weights[i].name);
        const char *wrong = load(m, weights[i].t, name, weights[i].columns, weights[i].rows);
        if (wrong) return wrong;
    }
    return NULL;
}

static const char *read_dimensions(model *m)
{
    const gguf *g = &m->file;
    m->n_layers = dimension(g, "llama.block_count", 0);
    m->n_embd = dimension(g, "llama.embedding_length", 0);
    m->n_ffn = dimension(g, "llama.feed_forward_length", 0);
    m->n_ctx = dimension(g, "llama.context_length", 0);
    m->n_heads = dimension(g, "llama.attention.head_count", 0);
    m->n_heads_kv = dimension(g, "llama.attention.head_count_kv", m->n_heads);
    if (!m->n_layers || !m->n_embd || !m->n_ffn || !m->n_ctx || !m->n_heads || !m->n_heads_kv)
        return "not a model of the Llama architecture";
    if (m->n_layers > LAYERS_MAX || m->n_embd % m->n_heads || m->n_heads % m->n_heads_kv)
        return "the dimensions do not fit together";
    m->head_size = m->n_embd / m->n_heads;
    if (m->head_size > HEAD_MAX) return "the heads are too large";
    m->n_rot = dimension(g, "llama.rope.dimension_count", m->head_size);
    if (m->n_rot % 2 || m->n_rot > m->head_size) return "the dimensions do not fit together";
    m->rope_base = (float)gguf_get(g, "llama.rope.freq_base", 10000);
    m->epsilon = (float)gguf_get(g, "llama.attention.layer_norm_rms_epsilon", 1e-5);
    if (gguf_get(g, "llama.expert_count", 0) > 0) return "mixtures of experts are not supported";
    if (gguf_find(g, "rope_freqs.weight")) return "scaled rotations are not supported";
    const gguf_tensor *embd = gguf_find(g, "token_embd.weight");
    if (!embd || embd->ne[1] > UINT32_MAX) return "a weight is missing";
    m->n_vocab = (uint32_t)embd->ne[1];
    return NULL;
}

/* Of all tensors; that of the embeddings twice, as it may be the output matrix too. */
static size_t elements(const gguf *g)
{
    size_t n = 0;
    for (size_t i = 0; i < g->n_tensors; i++) {
        const gguf_tensor *t = &g->tensors[i];
        bool twice = strcmp(t->name, "token_embd.weight") == 0;
        n += (size_t)(t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3]) * (twice ? 2 : 1);
    }
    return n;
}

static const char *load_all(model *m)
{
    const char *wrong = read_dimensions(m);
    if (wrong) return wrong;
    m->layers = calloc(m->n_layers, sizeof *m->layers);
    m->decoded = malloc(elements(&m->file) * sizeof(float));
    if (!m->layers || !m->decoded) return "no memory for the weights";
    wrong = load(m, &m->token_embd, "token_embd.weight", m->n_embd, m->n_vocab);
    for (uint32_t i = 0; i < m->n_layers && !wrong; i++)
        wrong = load_layer(m, &m->layers[i], i);
    if (!wrong) wrong = load(m, &m->output_norm, "output_norm.weight", m->n_embd, 1);
    if (wrong) return wrong;
    /* Where the file has no output matrix, that of the embeddings is used once more. */
    const char *output =
        gguf_find(&m->file, "output.weight") ? "output.weight" : "token_embd.weight";
    return load(m, &m->output, output, m->n_embd, m->n_vocab);
}

const char *model_read(model *m, const gguf *file)
{
    *m = (model){.file = *file};
    const char *wrong = load_all(m);
    if (wrong) model_close(m);
    return wrong;
}

const char *model_open(model *m, const char *path)
{
    gguf file;
    const char *wrong = gguf_open(&file, path);
    return wrong ? wrong : model_read(m, &file);
}

void model_close(model *m)
{
    free(m->layers);
    free(m->decoded);
    gguf_close(&m->file);
    memset(m, 0, sizeof *m);
}
