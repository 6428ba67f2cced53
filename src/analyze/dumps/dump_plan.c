#include "analyze/dumps/dump_plan.h"

#include "analyze/dumps/dump.h"
#include "analyze/dumps/stages_match.h"
#include "analyze/ops.h"

#include <stdlib.h>
#include <string.h>

/* What is being made. */
typedef struct maker {
    const tt_model *m;
    const tt_graph *g;
    tt_dump_plan *plan;
    uint32_t *writers; /* by tensor that is no view: the last node so far that wrote into it */
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

const char *tt_dump_op_of(const tt_tensor *node)
{
    return strcmp(node->op_name, "VALUE") == 0 ? "" : node->op_name;
}

/* A layer for a node whose name has none: the last one that it reads of. */
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
    n->producers[n->n_producers++] = node; /* at most one a source */
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
    (void)tt_stage_strip(root->name, &place);
    take_layer(n, has_layer, place.layer);
}

/* What the program told, in the map's word for it if it has another one. */
static const char *told_stage(const tt_stages *stages, const char *told, tt_stage *out)
{
    if (tt_stages_rank(stages, told) != UINT32_MAX) return told;
    *out = tt_stages_of(stages, told, "");
    return tt_stages_rank(stages, out->name) == UINT32_MAX ? told : out->name;
}

bool tt_dump_plan_make(const tt_model *m, const tt_graph *g, const tt_stages *stages,
                       tt_texts *texts, tt_dump_plan *out)
{
    maker k = {m, g, out, malloc((g->n_tensors ? g->n_tensors : 1) * sizeof *k.writers)};
    out->graph = g;
    out->nodes = calloc(g->n_nodes ? g->n_nodes : 1, sizeof *out->nodes);
    bool ok = out->nodes && k.writers;
    for (uint32_t t = 0; ok && t < g->n_tensors; t++)
        k.writers[t] = TT_NONE;
    for (uint32_t node = 0; ok && node < g->n_nodes; node++) {
        const tt_tensor *t = &g->tensors[node];
        tt_dump_node *n = &out->nodes[node];
        tt_stage stage = tt_stages_of(stages, t->name, tt_dump_op_of(t));
        n->layer = t->stage ? t->stage_layer : stage.layer;
        n->stage =
            tt_texts_keep(texts, t->stage ? told_stage(stages, t->stage, &stage) : stage.name);
        n->coarsest_type = n->own_type = t->type_name;
        ok = n->stage != NULL;
        bool has_layer = n->layer != TT_STAGE_LAYER_UNKNOWN;
        for (uint32_t s = 0; s < t->n_src && s < TT_SRC_MAX; s++) {
            if (t->src[s] != TT_NONE) take_source(&k, node, s, has_layer);
        }
        if ((t->flags & TT_TENSOR_EXECUTES) && t->root < g->n_tensors) k.writers[t->root] = node;
    }
    free(k.writers);
    return ok;
}

void tt_dump_plan_free(tt_dump_plan *p)
{
    free(p->nodes);
    memset(p, 0, sizeof *p);
}
