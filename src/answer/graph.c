#include "answer/graph.h"

#include "answer/log.h"
#include "base/units.h"

#include <stdio.h>

static void put_dims(tt_json *j, const char *key, const uint64_t dims[TT_DIMS])
{
    tt_json_key(j, key);
    tt_json_array(j);
    for (uint32_t i = 0; i < TT_DIMS; i++)
        tt_json_u64(j, dims[i]);
    tt_json_array_end(j);
}

static void put_flags(tt_json *j, const tt_tensor *x)
{
    tt_json_key(j, "flags");
    tt_json_array(j);
    if (x->flags & TT_TENSOR_INPUT) tt_json_string(j, "input");
    if (x->flags & TT_TENSOR_OUTPUT) tt_json_string(j, "output");
    tt_json_array_end(j);
}

/* What the run tells: null where it recorded nothing. */
static void put_run(tt_json *j, const tt_topology *t, uint32_t i)
{
    const tt_topology_node *n = &t->nodes[i];
    bool first = n->op == i, fused = n->op != TT_NONE && !first;
    tt_json_kv_bool(j, "executes", t->graph->tensors[i].flags & TT_TENSOR_EXECUTES);
    tt_json_kv_u64_or_null(j, "fused_into", fused, n->op);
    tt_json_kv_u64_or_null(j, "op_nodes", first, n->n_nodes);
    tt_json_kv_u64_or_null(j, "duration_ns", first && n->timed && t->m->clock.known,
                           tt_units_round_ns(tt_model_span_ns(t->m, n->ticks)));
    tt_json_kv_u64_or_null(j, "weight_bytes", first, n->weight_bytes);
    if (first && n->at_most) tt_json_kv_bool(j, "weight_bytes_at_most", true);
}

static void put_tensor(tt_json *j, const tt_topology *t, uint32_t i)
{
    const tt_tensor *x = &t->graph->tensors[i];
    bool is_node = i < t->graph->n_nodes;
    int32_t layer = tt_graph_layer(t, i);
    tt_json_object(j);
    tt_json_kv_u64(j, "id", i);
    tt_json_kv_string(j, "kind", is_node ? "node" : "leaf");
    tt_log_json_place(j, t->m, t->graph, i);
    tt_json_kv_string(j, "op", x->op_name);
    tt_json_kv_string(j, "op_desc", x->op_desc);
    put_dims(j, "ne", x->ne);
    put_dims(j, "nb", x->nb);
    tt_json_kv_u64_or_null(j, "layer_id", layer >= 0, (uint64_t)(layer >= 0 ? layer : 0));
    tt_json_kv_string(j, "category", x->place.category);
    tt_json_kv_string(j, "component", x->place.component);
    put_flags(j, x);
    if (is_node) tt_json_kv_string(j, "backend", x->backend && x->backend[0] ? x->backend : NULL);
    tt_json_key(j, "sources");
    tt_json_array(j);
    for (uint32_t k = 0; k < x->n_src; k++)
        if (x->src[k] != TT_NONE) tt_json_u64(j, x->src[k]);
    tt_json_array_end(j);
    tt_json_kv_u64_or_null(j, "view_of_id", x->view_src != TT_NONE, x->view_src);
    if (is_node) put_run(j, t, i);
    tt_json_object_end(j);
}

static void put_edge(tt_json *j, const tt_edge *e)
{
    char label[32] = "view";
    if (e->slot != TT_NONE) (void)snprintf(label, sizeof label, "src %u", (unsigned)e->slot);
    tt_json_object(j);
    tt_json_kv_u64(j, "source", e->source);
    tt_json_kv_u64(j, "target", e->target);
    tt_json_kv_string(j, "label", label);
    tt_json_kv_bool(j, "is_view", e->is_view);
    tt_json_object_end(j);
}

static void put_edges(tt_json *j, const tt_graph_view *v)
{
    tt_edge edges[TT_EDGES_MAX];
    tt_json_key(j, "edges");
    tt_json_array(j);
    for (uint32_t i = 0; i < v->t->graph->n_tensors; i++) {
        if (v->shown[i] == TT_GRAPH_SHOW_NOT) continue;
        uint32_t n = tt_topology_edges(v->t->graph, i, edges);
        for (uint32_t k = 0; k < n; k++)
            if (v->shown[edges[k].source] != TT_GRAPH_SHOW_NOT) put_edge(j, &edges[k]);
    }
    tt_json_array_end(j);
}

static void put_sums(tt_json *j, const tt_topology *t, const char *key,
                     const tt_topology_sums *sums, bool layers)
{
    tt_json_key(j, key);
    tt_json_array(j);
    for (uint32_t i = 0; i < sums->n; i++) {
        const tt_topology_sum *s = &sums->list[i];
        tt_json_object(j);
        if (layers)
            tt_json_kv_u64_or_null(j, "layer_id", s->layer_id >= 0,
                                   (uint64_t)(s->layer_id >= 0 ? s->layer_id : 0));
        else
            tt_json_kv_string(j, "op", s->key);
        tt_json_kv_u64(j, "count", s->count);
        tt_json_kv_u64_or_null(j, "total_ns", s->timed && t->m->clock.known,
                               tt_units_round_ns(tt_model_span_ns(t->m, s->ticks)));
        tt_json_kv_u64(j, "weight_bytes", s->weight_bytes);
        tt_json_kv_bool(j, "weight_bytes_at_most", s->at_most);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
}

void tt_graph_json_summary(tt_json *j, const tt_topology *t)
{
    const tt_run *r = t->run == TT_NONE ? NULL : &t->m->runs[t->run];
    bool in_batch = r && r->batch != TT_NONE;
    tt_json_kv_u64(j, "graph_id", t->graph->id);
    tt_json_kv_u64_or_null(j, "batch_id", in_batch,
                           in_batch ? tt_model_batch_number(t->m, r->batch) : 0);
    tt_json_kv_string(j, "phase",
                      tt_phase_name(in_batch ? t->m->batches[r->batch].phase : TT_PHASE_UNKNOWN));
    tt_json_kv_u64_or_null(j, "run_id", r != NULL, r ? r->id : 0);
    tt_json_kv_u64(j, "runs", t->n_runs);
    tt_json_kv_u64(j, "tokens", t->n_batches);
    tt_json_kv_u64(j, "nodes_total", t->graph->n_nodes);
    tt_json_kv_u64(j, "leafs_total", t->n_leafs);
    tt_json_kv_u64(j, "edges_total", t->n_edges);
    tt_json_kv_u64(j, "views_total", t->n_views);
    tt_json_kv_u64(j, "ops_recorded", t->n_ops);
    tt_json_kv_u64_or_null(j, "fused_ops", t->n_ops > 0, t->n_fused_ops);
    tt_json_kv_u64_or_null(j, "fused_nodes", t->n_ops > 0, t->n_fused_nodes);
    tt_json_kv_u64(j, "weights_size_bytes", t->weights_size_bytes);
    put_sums(j, t, "ops", &t->by_op, false);
    put_sums(j, t, "layers", &t->by_layer, true);
}

void tt_graph_json(tt_json *j, const tt_graph_view *v)
{
    tt_json_object(j);
    tt_json_kv_string(j, "file", v->path);
    tt_graph_json_summary(j, v->t);
    tt_json_key(j, "nodes");
    tt_json_array(j);
    for (uint32_t i = 0; i < v->t->graph->n_tensors; i++)
        if (v->shown[i] != TT_GRAPH_SHOW_NOT) put_tensor(j, v->t, i);
    tt_json_array_end(j);
    put_edges(j, v);
    tt_json_object_end(j);
}
