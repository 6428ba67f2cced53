#include "engine.h"

#include "dequant.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tensortrace/record.h>

/* --- ops, as they are run and recorded --- */

/* A tensor in the words of the recorder. A weight is told as the model file has it, also where it
 * is a decoded copy that is read: which it is, is seen by the address. */
static tt_record_tensor described(const tensor *t)
{
    uint32_t type = t->source ? t->source->type : t->type;
    return (tt_record_tensor){.name = t->name,
                              .type = (tt_type)type,
                              .n_dims = 2,
                              .ne = {t->ne[0], t->ne[1]},
                              .data = t->data,
                              .layer = TT_NO_LAYER};
}

struct shared_op {
    const op *op;
    tt_node node;
};

static void share_of_op(void *context, uint32_t ith, uint32_t nth)
{
    const struct shared_op *s = context;
    tt_op_begin_lane(s->node, ith);
    op_compute(s->op, ith, nth);
    tt_op_end();
}

/* Everything that this engine tells of its work is told here, once for all ops. `out` is what is
 * looked at: of the memory of keys and values the new rows, else o->out. What is told of the output
 * is the same in each batch of that many tokens, so that such batches are of one graph. */
static void run_recorded(engine *e, const op *o, const tensor *out, const char *stage, int layer)
{
    tt_record_tensor output = described(out), sources[OP_INPUTS + 1];
    output.data = o->out->data;
    output.op = op_name(o->kind);
    output.stage = stage;
    output.layer = layer;
    for (unsigned i = 0; i < OP_INPUTS && o->in[i]; i++) {
        sources[i] = described(o->in[i]);
        output.sources[output.n_sources++] = &sources[i];
    }
    if (o->ids) { /* which rows are read is what is in this source */
        sources[OP_INPUTS] = (tt_record_tensor){.name = layer < 0 ? "tokens" : "last token",
                                                .type = TT_TYPE_I32,
                                                .n_dims = 1,
                                                .ne = {out->ne[1]},
                                                .data = o->ids,
                                                .layer = TT_NO_LAYER};
        output.sources[output.n_sources++] = &sources[OP_INPUTS];
    }
    struct shared_op s = {o, tt_op_add(&output)};
    team_run(e->team, share_of_op, &s);
    output.data = out->data;
    tt_op_taken(s.node, &output);
    tt_value(out->name, out->data, (tt_type)out->type, 2, output.ne, layer, stage, e->n_past);
}

static void run_op(engine *e, op o, const char *stage, int layer)
{
    if (layer >= 0)
        snprintf(o.out->name, sizeof o.out->name, "blk.%d.%s", layer, stage);
    else
        snprintf(o.out->name, sizeof o.out->name, "%s", stage);
    o.position = e->n_past;
    bug_apply(&e->settings.bug, &o, stage, layer, e->n_past == 0);
    tensor out = *o.out;
    if (o.kind == OP_SET_ROWS) {
        size_t element = out.type == TYPE_F16 ? sizeof(uint16_t) : sizeof(float);
        out.data = (char *)out.data + e->n_past * out.ne[0] * element;
        out.ne[1] = o.in[0]->ne[1];
    }
    run_recorded(e, &o, &out, stage, layer);
}

/* --- the network --- */

static void rms_norm(engine *e, tensor *out, const tensor *x, const tensor *weight,
                     const char *stage, int layer)
{
    out->ne[1] = x->ne[1];
    op o = {.kind = OP_RMS_NORM, .out = out, .in = {x, weight}, .epsilon = e->m->epsilon};
    run_op(e, o, stage, layer);
}

static void mul_mat(engine *e, tensor *out, const tensor *weight, const tensor *x,
                    const char *stage, int layer)
{
    out->ne[1] = x->ne[1];
    run_op(e, (op){.kind = OP_MUL_MAT, .out = out, .in = {weight, x}}, stage, layer);
}

static void rope(engine *e, tensor *out, const tensor *x, const char *stage, int layer)
{
    const model *m = e->m;
    out->ne[1] = x->ne[1];
    op o = {.kind = OP_ROPE,
            .out = out,
            .in = {x},
            .head_size = m->head_size,
            .n_rot = m->n_rot,
            .rope_base = m->rope_base};
    run_op(e, o, stage, layer);
}

static void two_inputs(engine *e, op_kind kind, tensor *out, const tensor *x, const tensor *y,
                       const char *stage, int layer)
{
    out->ne[1] = x->ne[1];
    run_op(e, (op){.kind = kind, .out = out, .in = {x, y}}, stage, layer);
}

static void get_rows(engine *e, tensor *out, const tensor *x, const uint32_t *ids, uint32_t n,
                     const char *stage, int layer)
{
    out->ne[1] = n;
    run_op(e, (op){.kind = OP_GET_ROWS, .out = out, .in = {x}, .ids = ids}, stage, layer);
}

static void attention(engine *e, uint32_t number, const tensor *x)
{
    const model *m = e->m;
    const model_layer *l = &m->layers[number];
    activations *a = &e->a;
    int il = (int)number;
    rms_norm(e, &a->norm, x, &l->attn_norm, "attn_norm", il);
    mul_mat(e, &a->q, &l->attn_q, &a->norm, "q_proj", il);
    mul_mat(e, &a->k, &l->attn_k, &a->norm, "k_proj", il);
    mul_mat(e, &a->v, &l->attn_v, &a->norm, "v_proj", il);
    rope(e, &a->q_rot, &a->q, "q_rope", il);
    rope(e, &a->k_rot, &a->k, "k_rope", il);
    run_op(e, (op){.kind = OP_SET_ROWS, .out = &e->keys[number], .in = {&a->k_rot}}, "k_cache", il);
    run_op(e, (op){.kind = OP_SET_ROWS, .out = &e->values[number], .in = {&a->v}}, "v_cache", il);
    a->heads.ne[1] = x->ne[1];
    op o = {.kind = OP_ATTENTION,
            .out = &a->heads,
            .in = {&a->q_rot, &e->keys[number], &e->values[number]},
            .head_size = m->head_size,
            .n_heads = m->n_heads,
            .n_heads_kv = m->n_heads_kv,
            .scale = 1 / sqrtf((float)m->head_size)};
    run_op(e, o, "attn_heads", il);
    mul_mat(e, &a->attn, &l->attn_output, &a->heads, "o_proj", il);
}

/* attn: what the layer's attention put out; x: what went into the layer, for the same rows. */
static void feed_forward(engine *e, uint32_t number, const tensor *attn, const tensor *x)
{
    const model_layer *l = &e->m->layers[number];
    activations *a = &e->a;
    int il = (int)number;
    two_inputs(e, OP_ADD, &a->residual, attn, x, "attn_residual", il);
    rms_norm(e, &a->ffn_norm, &a->residual, &l->ffn_norm, "ffn_norm", il);
    mul_mat(e, &a->gate, &l->ffn_gate, &a->ffn_norm, "gate_proj", il);
    mul_mat(e, &a->up, &l->ffn_up, &a->ffn_norm, "up_proj", il);
    two_inputs(e, OP_SWIGLU, &a->swiglu, &a->gate, &a->up, "ffn_act", il);
    mul_mat(e, &a->ffn, &l->ffn_down, &a->swiglu, "down_proj", il);
    two_inputs(e, OP_ADD, &a->out, &a->ffn, &a->residual, "layer_out", il);
}

static void forward(engine *e, const uint32_t *tokens, uint32_t n)
{
    const model *m = e->m;
    activations *a = &e->a;
    get_rows(e, &a->input, &m->token_embd, tokens, n, "embeddings", -1);
    const tensor *x = &a->input;
    for (uint32_t i = 0; i < m->n_layers; i++) {
        const tensor *attn = &a->attn;
        attention(e, i, x);
        /* Behind the last attention only the last token is needed: it has the logits asked for. */
        if (i + 1 == m->n_layers) {
            uint32_t last = n - 1;
            get_rows(e, &a->last_attn, attn, &last, 1, "get_rows", (int)i);
            get_rows(e, &a->last_input, x, &last, 1, "get_rows",
                     (int)i - 1); /* of the layer before */
            attn = &a->last_attn;
            x = &a->last_input;
        }
        feed_forward(e, i, attn, x);
        x = &a->out;
    }
    rms_norm(e, &a->final_norm, x, &m->output_norm, "final_norm", -2);
    mul_mat(e, &a->logits, &m->output, &a->final_norm, "logits", -1);
}

const float *engine_decode(engine *e, const uint32_t *tokens, uint32_t n)
{
    if (n < 1 || n > e->settings.n_batch || n > e->settings.n_positions - e->n_past) return NULL;
    int32_t ids[n], positions[n];
    for (uint32_t i = 0; i < n; i++) {
        if (tokens[i] >= e->m->n_vocab) return NULL;
        ids[i] = (int32_t)tokens[i];
        positions[i] = (int32_t)(e->n_past + i);
    }
    tt_record_batch batch = {.n_tokens = n,
                             .tokens = ids,
                             .positions = positions,
                             .phase = e->n_past ? TT_PHASE_GENERATE : TT_PHASE_PROMPT,
                             .n_threads = e->settings.n_threads};
    tt_batch_begin(&batch);
    forward(e, tokens, n);
    tt_batch_end(0);
    e->n_past += n;
    return e->a.logits.data;
}

/* --- memory --- */

struct place {
    tensor *t;
    uint32_t columns;
};

#define PLACES 20u

/* All tensors of `activations`, each with the width it has. */
static void places_of(engine *e, struct place out[PLACES])
{
    activations *a = &e->a;
    uint32_t d = e->m->n_embd, kv = e->m->n_heads_kv * e->m->head_size, f = e->m->n_ffn;
    const struct place all[PLACES] = {
        {&a->input, d},     {&a->norm, d},       {&a->q, d},          {&a->k, kv},
        {&a->v, kv},        {&a->q_rot, d},      {&a->k_rot, kv},     {&a->heads, d},
        {&a->attn, d},      {&a->residual, d},   {&a->ffn_norm, d},   {&a->gate, f},
        {&a->up, f},        {&a->swiglu, f},     {&a->ffn, d},        {&a->out, d},
        {&a->last_attn, d}, {&a->last_input, d}, {&a->final_norm, d}, {&a->logits, e->m->n_vocab},
    };
    memcpy(out, all, sizeof all);
}

/* One stretch of memory for what ops put out, one for keys and values. */
static const char *allocate(engine *e)
{
    const engine_settings *s = &e->settings;
    struct place places[PLACES];
    places_of(e, places);
    size_t columns = 0;
    for (size_t i = 0; i < PLACES; i++)
        columns += places[i].columns;
    size_t rows = s->n_batch, size_bytes = columns * rows * sizeof(float);
    float *at = e->memory = calloc(1, size_bytes);
    if (!at) return "no memory";
    tt_buffer_add("activations", at, size_bytes, TT_BUFFER_USE_COMPUTE);
    for (size_t i = 0; i < PLACES; at += rows * places[i++].columns)
        *places[i].t = (tensor){.type = TYPE_F32, .ne = {places[i].columns, 1}, .data = at};
    return NULL;
}

static const char *allocate_cache(engine *e)
{
    const engine_settings *s = &e->settings;
    uint32_t layers = e->m->n_layers, kv = e->m->n_heads_kv * e->m->head_size;
    size_t element = s->kv_f16 ? sizeof(uint16_t) : sizeof(float);
    size_t one = (size_t)kv * s->n_positions * element, size_bytes = 2 * layers * one;
    e->keys = calloc(layers, sizeof *e->keys);
    e->values = calloc(layers, sizeof *e->values);
    char *at = e->cache = calloc(1, size_bytes);
    if (!at || !e->keys || !e->values) return "no memory";
    tt_buffer_add("keys and values", at, size_bytes, TT_BUFFER_USE_ANY);
    tensor t = {.type = s->kv_f16 ? TYPE_F16 : TYPE_F32, .ne = {kv, s->n_positions}};
    for (uint32_t i = 0; i < layers; i++, at += 2 * one) {
        e->keys[i] = e->values[i] = t;
        e->keys[i].data = at;
        e->values[i].data = at + one;
    }
    return NULL;
}

const char *engine_open(engine *e, const model *m, const engine_settings *settings)
{
    memset(e, 0, sizeof *e);
    e->m = m;
    e->settings = *settings;
    const char *wrong = allocate(e);
    if (!wrong) wrong = allocate_cache(e);
    if (!wrong && !(e->team = team_start(settings->n_threads))) wrong = "no such number of threads";
    if (wrong) engine_close(e);
    return wrong;
}

void engine_close(engine *e)
{
    team_stop(e->team);
    tt_buffer_remove(e->memory);
    tt_buffer_remove(e->cache);
    free(e->memory);
    free(e->cache);
    free(e->keys);
    free(e->values);
    memset(e, 0, sizeof *e);
}
