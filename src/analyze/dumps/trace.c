/* A trace as a side of a comparison: its batches, and runs outside of batches, are the steps. */
#include "analyze/dumps/dump.h"
#include "analyze/dumps/stages.h"
#include "analyze/ops.h"
#include "analyze/texts.h"
#include "analyze/values/outputs.h"
#include "base/array.h"
#include "model/model.h"
#include "value/type.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct tt_dump_node {
    const char *stage; /* in the texts */
    int32_t layer;
    uint32_t n_producers; /* earlier nodes that computed what it reads, through views */
    uint32_t producers[TT_SRC_MAX];
    bool reads_cache; /* what earlier graphs wrote into a KV cache */
    const char *weight, *operand;
    const char *coarsest_type, *own_type; /* see tt_dump_value; own_type of this node only */
    uint32_t axes;                        /* bits: which of the plan's; see tt_dump_value.basis */
    const char *basis;
} tt_dump_node;

#define AXES_MAX 32u

typedef struct tt_dump_plan {
    const tt_graph *graph;
    tt_dump_node *nodes; /* graph->n_nodes */
} tt_dump_plan;

static void dump_plan_free(tt_dump_plan *p);

unsigned tt_type_coarseness(const char *type)
{
    static const struct {
        const char *begin;
        unsigned coarseness;
    } types[] = {
        {"f16", 1}, {"bf16", 2}, {"q8", 3},    {"i8", 0},    {"q6", 4}, {"q5", 4},
        {"q4", 5},  {"iq4", 5},  {"mxfp4", 5}, {"nvfp4", 5}, {"q3", 6}, {"q2", 6},
        {"iq3", 6}, {"iq2", 6},  {"iq1", 6},   {"tq", 6},    {"q1", 6},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strncmp(type, types[i].begin, strlen(types[i].begin)) == 0) return types[i].coarseness;
    }
    return 0;
}

bool tt_op_only_moves(const char *op)
{
    static const char *const ops[] = {"GET_ROWS", "SET_ROWS", "CPY",    "CONT",
                                      "DUP",      "CONCAT",   "REPEAT", "PAD"};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        if (strcmp(op, ops[i]) == 0) return true;
    }
    return false;
}

/* Each value is the next one of its layer and stage. Steps of a network have some thousand values,
 * but only a few per stage and layer. */
typedef struct key {
    int32_t layer;
    const char *stage;
    uint32_t value;
} key;

static int by_key(const void *left, const void *right)
{
    const key *a = left, *b = right;
    if (a->layer != b->layer) return a->layer < b->layer ? -1 : 1;
    int order = strcmp(a->stage, b->stage);
    if (order) return order;
    return a->value < b->value ? -1 : a->value > b->value;
}

static bool count_occurrences(tt_dump_step *s)
{
    key *keys = malloc((s->n ? s->n : 1) * sizeof *keys);
    if (!keys) return false;
    for (size_t i = 0; i < s->n; i++)
        keys[i] = (key){s->values[i].layer, s->values[i].stage, (uint32_t)i};
    qsort(keys, s->n, sizeof *keys, by_key);
    for (size_t i = 0; i < s->n; i++) {
        bool again = i && keys[i].layer == keys[i - 1].layer &&
                     strcmp(keys[i].stage, keys[i - 1].stage) == 0;
        s->values[keys[i].value].occurrence =
            again ? s->values[keys[i - 1].value].occurrence + 1 : 0;
    }
    free(keys);
    return true;
}

tt_status tt_dump_load(tt_dump *d, size_t step, tt_dump_step *out, tt_error *err)
{
    if (out->free_texts) out->free_texts(out->texts);
    out->texts = NULL;
    out->free_texts = NULL;
    out->n = 0;
    out->incomplete = 0;
    tt_status status = d->kind->load(d, step, out, err);
    if (status == TT_OK && !count_occurrences(out))
        status = tt_error_memory(err, "a step's values");
    return status;
}

tt_status tt_dump_data(tt_dump *d, const tt_dump_value *v, uint64_t first, size_t n, float *out,
                       tt_error *err)
{
    if (!d->kind->data || !(v->known & TT_KNOWN_DATA) || first > v->print.n ||
        n > v->print.n - first)
        return tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET, "no data was kept of %.100s",
                            v->name);
    tt_status status = d->kind->data(d, v, first, n, out, err);
    d->unreadable += status != TT_OK && status != TT_E_MEMORY;
    return status;
}

void tt_dump_close(tt_dump *d)
{
    if (!d) return;
    if (d->kind->close) d->kind->close(d->context);
    free(d->steps);
    free(d);
}

void tt_dump_step_free(tt_dump_step *s)
{
    if (s->free_texts) s->free_texts(s->texts);
    free(s->values);
    memset(s, 0, sizeof *s);
}

tt_dump *tt_dump_new(const tt_dump_kind *kind, void *context, const char *path,
                     const tt_stages *stages)
{
    tt_dump *d = calloc(1, sizeof *d);
    if (!d) return NULL;
    d->kind = kind;
    d->context = context;
    d->path = path;
    d->stages = stages;
    return d;
}

tt_dump_value *tt_dump_add(tt_dump_step *s)
{
    if (s->n == TT_DUMP_VALUES_MAX) return NULL;
    if (!tt_array_one_more(s->values, s->n, s->capacity)) return NULL;
    tt_dump_value *v = &s->values[s->n++];
    memset(v, 0, sizeof *v);
    v->stage = v->name = v->op = v->type = v->coarsest_type = v->own_type = v->basis = "";
    v->run = v->node = TT_NONE;
    return v;
}

/* State while a plan is made. */
typedef struct maker {
    const tt_model *m;
    const tt_graph *g;
    tt_dump_plan *plan;
    uint32_t *writers; /* by tensor that is no view: the last node so far that wrote into it */
    uint32_t axes[AXES_MAX]; /* inputs of the graph that are multiplied with */
    uint32_t n_axes;
} maker;

static bool is_cache(const maker *k, const tt_tensor *t)
{
    return t->buffer != TT_NONE && k->m->buffers[t->buffer].kind == TT_BUFFER_KV_CACHE;
}

static const char *coarser(const char *a, const char *b)
{
    return tt_type_coarseness(b) > tt_type_coarseness(a) ? b : a;
}

static void takes_in(tt_dump_node *n, const char *type)
{
    n->own_type = coarser(n->own_type, type);
    n->coarsest_type = coarser(n->coarsest_type, type);
}

/* An input of the graph: neither computed, nor a weight, nor a cache. */
static bool is_input(const maker *k, uint32_t root)
{
    const tt_tensor *t = &k->g->tensors[root];
    return root >= k->g->n_nodes && t->weight == TT_NONE && !is_cache(k, t);
}

/* The bit of a square matrix among the inputs. 0: there are too many. */
static uint32_t axes_of_input(maker *k, uint32_t root)
{
    for (uint32_t i = 0; i < k->n_axes; i++)
        if (k->axes[i] == root) return 1u << i;
    if (k->n_axes == AXES_MAX) return 0;
    k->axes[k->n_axes] = root;
    return 1u << k->n_axes++;
}

/* A product sums over an axis that both sides have: rotated alike, it is as if they were not. */
static void find_axes(maker *k, uint32_t node)
{
    const tt_tensor *t = &k->g->tensors[node];
    tt_dump_node *n = &k->plan->nodes[node];
    const bool product = strcmp(t->op_name, "MUL_MAT") == 0,
               attends = strcmp(t->op_name, "FLASH_ATTN_EXT") == 0;
    for (uint32_t s = 0; s < t->n_src && s < TT_SRC_MAX; s++) {
        if (t->src[s] == TT_NONE || t->src[s] >= k->g->n_tensors) continue;
        const tt_tensor *source = &k->g->tensors[t->src[s]];
        if (source->root >= k->g->n_tensors || tt_op_writes_into(k->g, node, s)) continue;
        const uint32_t writer = k->writers[source->root];
        uint32_t axes = writer == TT_NONE ? 0 : k->plan->nodes[writer].axes;
        if (product && s == 0 && writer == TT_NONE && is_input(k, source->root) &&
            source->ne[0] == source->ne[1] && source->ne[0] > 1)
            axes = axes_of_input(k, source->root);
        n->axes = product || attends ? n->axes ^ axes : n->axes | axes;
    }
}

static const char *basis_of(const maker *k, uint32_t axes, tt_texts *texts)
{
    char text[256] = "";
    for (uint32_t i = 0; i < k->n_axes; i++) {
        const size_t used = strlen(text);
        if (axes >> i & 1)
            (void)snprintf(text + used, sizeof text - used, "%s%.60s", used ? "+" : "",
                           k->g->tensors[k->axes[i]].name);
    }
    return axes ? tt_texts_keep(texts, text) : "";
}

/* The op of a node's output; "" for a separate value (tt_value()), whose op is unknown. */
static const char *dump_op_of(const tt_tensor *node)
{
    return strcmp(node->op_name, "VALUE") == 0 ? "" : node->op_name;
}

/* A layer for a node whose name has none: that of the last source with one. */
static void take_layer(tt_dump_node *n, bool own, int32_t layer)
{
    if (own || layer == TT_STAGE_LAYER_UNKNOWN) return;
    if (n->layer == TT_STAGE_LAYER_UNKNOWN || layer > n->layer) n->layer = layer;
}

static void add_producer(tt_dump_node *n, uint32_t node)
{
    for (uint32_t i = 0; i < n->n_producers; i++) {
        if (n->producers[i] == node) return;
    }
    n->producers[n->n_producers++] = node; /* at most one per source */
}

static void take_source(maker *k, uint32_t node, uint32_t src, bool has_layer)
{
    const tt_tensor *t = &k->g->tensors[node];
    const tt_tensor *source = &k->g->tensors[t->src[src]];
    tt_dump_node *n = &k->plan->nodes[node];
    if (source->root >= k->g->n_tensors || tt_op_writes_into(k->g, node, src)) return;
    const tt_tensor *root = &k->g->tensors[source->root];
    uint32_t writer = k->writers[source->root];
    if (writer != TT_NONE) {
        add_producer(n, writer);
        take_layer(n, has_layer, k->plan->nodes[writer].layer);
        n->coarsest_type = coarser(n->coarsest_type, k->plan->nodes[writer].coarsest_type);
    }
    if (source->root < k->g->n_nodes) return;
    if (source->weight != TT_NONE) {
        if (!n->weight) n->weight = k->m->weights[source->weight].name;
        takes_in(n, root->type_name);
    } else if (is_cache(k, root)) {
        n->reads_cache = true;
        takes_in(n, root->type_name);
    }
    tt_stage place;
    /* Inputs that the engine only numbers have no name. */
    if (tt_stage_strip(root->name, &place) && !n->operand && is_input(k, source->root) &&
        (strcmp(root->type_name, "f32") == 0 || strcmp(root->type_name, "f16") == 0))
        n->operand = root->name;
    take_layer(n, has_layer, place.layer);
}

/* The stage that the program reported, or the map's name for it. */
static const char *reported_stage(const tt_stages *stages, const char *reported, tt_stage *out)
{
    if (tt_stages_rank(stages, reported) != UINT32_MAX) return reported;
    *out = tt_stages_of(stages, reported, "");
    return tt_stages_rank(stages, out->name) == UINT32_MAX ? reported : out->name;
}

/* False if out of memory. Freed with dump_plan_free in every case. */
static bool dump_plan_make(const tt_model *m, const tt_graph *g, const tt_stages *stages,
                           tt_texts *texts, tt_dump_plan *out)
{
    maker k = {.m = m,
               .g = g,
               .plan = out,
               .writers = malloc((g->n_tensors ? g->n_tensors : 1) * sizeof *k.writers)};
    out->graph = g;
    out->nodes = calloc(g->n_nodes ? g->n_nodes : 1, sizeof *out->nodes);
    bool ok = out->nodes && k.writers;
    for (uint32_t t = 0; ok && t < g->n_tensors; t++)
        k.writers[t] = TT_NONE;
    for (uint32_t node = 0; ok && node < g->n_nodes; node++) {
        const tt_tensor *t = &g->tensors[node];
        tt_dump_node *n = &out->nodes[node];
        tt_stage stage = tt_stages_of(stages, t->name, dump_op_of(t));
        n->layer = t->stage ? t->stage_layer : stage.layer;
        n->stage =
            tt_texts_keep(texts, t->stage ? reported_stage(stages, t->stage, &stage) : stage.name);
        n->coarsest_type = n->own_type = t->type_name;
        ok = n->stage != NULL;
        bool has_layer = n->layer != TT_STAGE_LAYER_UNKNOWN;
        for (uint32_t s = 0; s < t->n_src && s < TT_SRC_MAX; s++) {
            if (t->src[s] != TT_NONE) take_source(&k, node, s, has_layer);
        }
        if (n->weight) n->operand = n->weight;
        find_axes(&k, node);
        n->basis = basis_of(&k, n->axes, texts);
        ok = ok && n->basis != NULL;
        if ((t->flags & TT_TENSOR_EXECUTES) && t->root < g->n_tensors) k.writers[t->root] = node;
    }
    free(k.writers);
    return ok;
}

static void dump_plan_free(tt_dump_plan *p)
{
    free(p->nodes);
    memset(p, 0, sizeof *p);
}

#define PLANS_MAX 8u /* cached; llama.cpp alternates between two or three graphs */

/* Measured values from which a node's output was computed, itself included. */
typedef struct reach {
    uint32_t n;
    uint32_t values[TT_DUMP_INPUTS_MAX];
    bool more, reads_cache;
    bool computes;                                    /* an unmeasured op on the way to them does */
    uint32_t n_between, between[TT_DUMP_BETWEEN_MAX]; /* nodes: the first of these */
    const char *own_type;                             /* the coarsest on the way to them */
} reach;

typedef struct trace {
    const tt_model *m;
    uint32_t *runs; /* by step */
    tt_texts texts;
    tt_dump_plan plans[PLANS_MAX];
    unsigned next_plan;
    tt_outputs outputs;
    reach *reaches; /* by node of a run */
    size_t reach_capacity;
} trace;

static void close_trace(void *context)
{
    trace *t = context;
    for (unsigned i = 0; i < PLANS_MAX; i++)
        dump_plan_free(&t->plans[i]);
    tt_texts_free(&t->texts);
    tt_outputs_free(&t->outputs);
    free(t->reaches);
    free(t->runs);
    free(t);
}

static const tt_dump_plan *plan_of(tt_dump *d, const tt_graph *g)
{
    trace *t = d->context;
    for (unsigned i = 0; i < PLANS_MAX; i++) {
        if (t->plans[i].graph == g) return &t->plans[i];
    }
    tt_dump_plan *p = &t->plans[t->next_plan];
    t->next_plan = (t->next_plan + 1) % PLANS_MAX;
    dump_plan_free(p);
    if (dump_plan_make(t->m, g, d->stages, &t->texts, p)) return p;
    dump_plan_free(p);
    return NULL;
}

static void reach_value(reach *r, uint32_t value)
{
    for (uint32_t i = 0; i < r->n; i++) {
        if (r->values[i] == value) return;
    }
    if (r->n == TT_DUMP_INPUTS_MAX)
        r->more = true;
    else
        r->values[r->n++] = value;
}

static void reach_between(reach *r, uint32_t node)
{
    for (uint32_t i = 0; i < r->n_between; i++)
        if (r->between[i] == node) return;
    if (r->n_between < TT_DUMP_BETWEEN_MAX) r->between[r->n_between++] = node;
}

/* A node's inputs: its producers, or what these were computed from. */
static void reach_of(const tt_dump_node *n, const reach *reaches, reach *out)
{
    memset(out, 0, sizeof *out);
    out->reads_cache = n->reads_cache;
    out->own_type = n->own_type;
    for (uint32_t p = 0; p < n->n_producers; p++) {
        const reach *r = &reaches[n->producers[p]];
        for (uint32_t i = 0; i < r->n; i++)
            reach_value(out, r->values[i]);
        out->more |= r->more;
        out->reads_cache |= r->reads_cache;
        out->computes |= r->computes;
        for (uint32_t i = 0; i < r->n_between; i++)
            reach_between(out, r->between[i]);
        if (tt_type_coarseness(r->own_type) > tt_type_coarseness(out->own_type))
            out->own_type = r->own_type;
    }
}

static unsigned known_of(const tt_model *m, uint32_t run, const tt_output *o)
{
    tt_output_data data;
    unsigned known = TT_KNOWN_STATS | TT_KNOWN_HASH;
    if (o->print.has_range) known |= TT_KNOWN_RMS;
    if (o->print.has_blake3) known |= TT_KNOWN_BLAKE3;
    if (o->print.n_prefix) known |= TT_KNOWN_PREFIX;
    if (o->print.n_samples) known |= TT_KNOWN_SAMPLES;
    tt_output_data_find(m, run, o->node, &data);
    if (data.n_parts && data.n_kept == data.n_parts && data.shape.type != TT_VALUE_UNKNOWN)
        known |= TT_KNOWN_DATA;
    return known;
}

static void fill(const trace *t, uint32_t run, const tt_output *o, const tt_dump_node *n,
                 const reach *from, tt_dump_value *v)
{
    const tt_graph *g = t->outputs.graph;
    const tt_tensor *tensor = &g->tensors[o->node];
    tt_output_shape shape;
    tt_output_shape_of(g, o->node, &shape);
    v->stage = n->stage;
    v->layer = n->layer;
    v->name = tensor->name;
    v->op = dump_op_of(tensor);
    v->type = tensor->type_name;
    v->n_dims = TT_VALUE_DIMS;
    memcpy(v->ne, shape.ne, sizeof shape.ne);
    v->known = known_of(t->m, run, o);
    v->print = o->print;
    v->n_inputs = from->n;
    memcpy(v->inputs, from->values, sizeof v->inputs);
    v->more_inputs = from->more;
    v->reads_cache = from->reads_cache;
    v->ops_between = from->computes;
    v->weight = n->weight;
    v->operand = n->operand;
    v->basis = n->basis;
    v->coarsest_type = n->coarsest_type;
    v->own_type = from->own_type;
    v->run = run;
    v->node = o->node;
}

static tt_status load_run(tt_dump *d, uint32_t run, tt_dump_step *out, tt_error *err)
{
    trace *t = d->context;
    uint64_t before = t->outputs.incomplete;
    tt_status status = tt_outputs_of_run(&t->outputs, t->m, run, err);
    if (status != TT_OK || !t->outputs.graph) return status;
    out->incomplete += t->outputs.incomplete - before;
    if (t->outputs.n == 0) return TT_OK;
    const tt_graph *g = t->outputs.graph;
    const tt_dump_plan *plan = plan_of(d, g);
    if (!plan || !tt_array_room(t->reaches, t->reach_capacity, g->n_nodes))
        return tt_error_memory(err, "a graph's values");
    size_t next = 0;
    for (uint32_t node = 0; node < g->n_nodes; node++) {
        reach from;
        reach_of(&plan->nodes[node], t->reaches, &from);
        t->reaches[node] = from;
        if (!tt_op_only_moves(g->tensors[node].op_name)) {
            t->reaches[node].computes = true;
            reach_between(&t->reaches[node], node);
        }
        if (next == t->outputs.n || t->outputs.list[next].node != node) continue;
        tt_dump_value *v = tt_dump_add(out);
        if (!v)
            return tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET,
                                "more values in a batch than memory, or than %zu",
                                TT_DUMP_VALUES_MAX);
        fill(t, run, &t->outputs.list[next++], &plan->nodes[node], &from, v);
        v->n_between = from.n_between;
        for (uint32_t i = 0; i < from.n_between; i++)
            v->between[i] = (tt_dump_op){g->tensors[from.between[i]].op_name,
                                         plan->nodes[from.between[i]].operand};
        t->reaches[node] = (reach){.n = 1, .values = {(uint32_t)(out->n - 1)}, .own_type = ""};
    }
    return TT_OK;
}

static tt_status load(tt_dump *d, size_t step, tt_dump_step *out, tt_error *err)
{
    const trace *t = d->context;
    const tt_dump_head *h = &d->steps[step];
    tt_status status = TT_OK;
    for (uint64_t i = 0; i < h->count && status == TT_OK; i++)
        status = load_run(d, t->runs[h->first + i], out, err);
    return status;
}

static tt_status data(tt_dump *d, const tt_dump_value *v, uint64_t first, size_t n, float *out,
                      tt_error *err)
{
    const trace *t = d->context;
    tt_value_type type = tt_value_type_of(v->type);
    uint32_t block = tt_value_block_elements(type), block_bytes = tt_value_block_bytes(type);
    if (!block || first % block || n % block)
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "elements of %.60s that are no blocks",
                            v->name);
    while (n) {
        uint64_t begin;
        tt_span bytes;
        uint32_t part = (uint32_t)(first / TT_VALUE_PART_ELEMENTS);
        tt_status status = tt_output_data_read(t->m, v->run, v->node, part, &begin, &bytes, err);
        if (status != TT_OK) return status;
        uint64_t within = first - begin, held = bytes.size / block_bytes * block;
        if (first < begin || within >= held)
            return tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET, "the data of %.60s is too short",
                                v->name);
        size_t take = held - within < n ? (size_t)(held - within) : n;
        tt_value_to_f32(type, bytes.data + within / block * block_bytes, take, out);
        out += take;
        first += take;
        n -= take;
    }
    return TT_OK;
}

static const tt_dump_kind kind = {"trace", load, data, close_trace};

static void head_of_batch(const tt_model *m, uint32_t batch, tt_dump_head *h)
{
    const tt_batch *b = &m->batches[batch];
    h->batch = batch;
    h->token = tt_model_batch_number(m, batch);
    h->phase = b->phase;
    h->n_tokens = b->n_tokens;
    h->tokens = b->tokens;
    h->positions = b->positions;
    if (b->positions && b->n_tokens) h->position = b->positions[0];
    if (b->sequence_first && b->n_tokens && b->sequence_first[1] > b->sequence_first[0])
        h->sequence = b->sequences[b->sequence_first[0]];
}

/* A step for each batch with runs, and for each run outside of batches, in the order of the
 * first. */
static bool list_steps(tt_dump *d)
{
    trace *t = d->context;
    const tt_model *m = t->m;
    uint32_t *step_of = malloc((m->n_batches + (size_t)1) * sizeof *step_of);
    d->steps = calloc((size_t)m->n_runs + 1, sizeof *d->steps);
    t->runs = malloc(((size_t)m->n_runs + 1) * sizeof *t->runs);
    bool ok = step_of && d->steps && t->runs;
    for (uint32_t b = 0; ok && b < m->n_batches; b++)
        step_of[b] = TT_NONE;
    for (uint32_t r = 0; ok && r < m->n_runs; r++) {
        uint32_t b = m->runs[r].batch;
        if (b != TT_NONE && step_of[b] != TT_NONE) {
            d->steps[step_of[b]].count++;
            continue;
        }
        tt_dump_head *h = &d->steps[d->n_steps];
        *h = (tt_dump_head){.position = TT_DUMP_POSITION_UNKNOWN,
                            .batch = TT_NONE,
                            .token = TT_NONE,
                            .first = r, /* until the runs are sorted */
                            .count = 1};
        if (b != TT_NONE) {
            head_of_batch(m, b, h);
            step_of[b] = (uint32_t)d->n_steps;
        }
        d->n_steps++;
    }
    uint64_t at = 0;
    for (size_t s = 0; ok && s < d->n_steps; s++) {
        tt_dump_head *h = &d->steps[s];
        uint32_t first = (uint32_t)h->first;
        h->first = at;
        at += h->count;
        h->count = 1;
        t->runs[h->first] = first;
    }
    for (uint32_t r = 0; ok && r < m->n_runs; r++) {
        uint32_t b = m->runs[r].batch;
        tt_dump_head *h = b == TT_NONE ? NULL : &d->steps[step_of[b]];
        if (h && t->runs[h->first] != r) t->runs[h->first + h->count++] = r;
    }
    free(step_of);
    return ok;
}

tt_status tt_dump_of_trace(const tt_model *m, const char *path, const tt_stages *stages,
                           tt_dump **out, tt_error *err)
{
    *out = NULL;
    trace *t = calloc(1, sizeof *t);
    tt_dump *d = t ? tt_dump_new(&kind, t, path, stages) : NULL;
    if (!d) {
        free(t);
        return tt_error_memory(err, "a trace's values");
    }
    t->m = m;
    d->model = m;
    d->has_order = d->has_inputs = true;
    if (tt_outputs_any(m) && !list_steps(d)) {
        tt_dump_close(d);
        return tt_error_memory(err, "a trace's values");
    }
    *out = d;
    return TT_OK;
}
