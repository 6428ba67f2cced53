/* The columns of a graph, its edges and its parts, for every output. */
#include "analyze/collapse.h"
#include "base/units.h"

#include <stdio.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* m: the columns' context. */
static void set_span(const tt_model *m, tt_cell *cell, bool known, uint64_t ticks)
{
    tt_cell_ns(cell, known && m->clock.known, tt_model_span_ns(m, ticks));
}

TT_COLUMN_GET(get_sum_op, tt_topology_sum, s, tt_cell_text(cell, s->key);)
TT_COLUMN_GET(get_sum_layer, tt_topology_sum, s, tt_cell_id(cell, s->layer_id);)
TT_COLUMN_GET(get_sum_ns, tt_topology_sum, s, const tt_topology *t = context;
              set_span(t->m, cell, s->timed > 0, s->ticks);)
TT_COLUMN_GET(get_sum_share, tt_topology_sum, s, const tt_topology *t = context;
              cell->known = s->timed > 0 && t->m->clock.known && t->total.ticks;
              if (cell->known) cell->f64 = (double)s->ticks / (double)t->total.ticks;)
TT_COLUMN_SHOW(show_sum_weights, tt_topology_sum, s, char size[TT_UNITS_TEXT];
               if (s->weight_bytes)(void) snprintf(out, room, "%s%s", s->at_most ? "<= " : "",
                                                   tt_units_bytes(size, s->weight_bytes));)

static const tt_column sum_columns[] = {
    TT_COLUMN("op", "OP", NONE, "the op", .type = TT_CELL_NAME, .get = get_sum_op,
              .kinds = TT_TOPOLOGY_BY_OP, .show = TT_SHOW_CUT | TT_SHOW_KEY),
    TT_COLUMN("layer_id", "LAYER", ID, "the layer", TT_LAYER, .get = get_sum_layer,
              .kinds = TT_TOPOLOGY_BY_LAYER, .show = TT_SHOW_DASH | TT_SHOW_KEY),
    TT_STACK(.kinds = TT_TOPOLOGY_BY_LAYER, .get = get_sum_layer),
    TT_COLUMN("count", "OPS", COUNT, "its ops", TT_MEMBER(tt_topology_sum, count)),
    TT_COLUMN("total_ns", "TOTAL", NS, "their time", .type = TT_CELL_I64, .get = get_sum_ns),
    TT_COLUMN("share", "SHARE", SHARE, "of all ops' time", .type = TT_CELL_F64,
              .get = get_sum_share, .show = TT_SHOW_TEXT),
    TT_COLUMN("weight_bytes", "WEIGHTS", BYTES, "of weights that they read",
              TT_MEMBER(tt_topology_sum, weight_bytes), .text = show_sum_weights),
    TT_COLUMN("weight_bytes_at_most", NULL, NONE, "whether it is an upper bound",
              TT_MEMBER(tt_topology_sum, at_most)),
};
static const tt_schema sum_schema = {"sums", "ops of one kind or layer", sum_columns,
                                     COUNT(sum_columns)};

tt_rowset tt_topology_sums_rowset(const tt_topology *t, uint8_t kind)
{
    const tt_topology_sums *sums = kind == TT_TOPOLOGY_BY_OP ? &t->by_op : &t->by_layer;
    return TT_ROWSET(&sum_schema, kind, t, sums->list, sums->n);
}

static unsigned phase_of(const tt_topology *t)
{
    return tt_topology_batch(t) == TT_NONE ? TT_PHASE_UNKNOWN
                                           : t->m->batches[tt_topology_batch(t)].phase;
}

TT_COLUMN_KNOWN(has_ops, tt_topology, t, t->n_ops > 0)
TT_COLUMN_VALUE(get_graph_id, tt_topology, t, u64, t->graph->id)
TT_COLUMN_GET(get_batch_id, tt_topology, t, cell->known = tt_topology_batch(t) != TT_NONE;
              if (cell->known) cell->u64 = tt_model_batch_number(t->m, tt_topology_batch(t));)
TT_COLUMN_GET(get_phase, tt_topology, t, tt_cell_text(cell, tt_phase_name(phase_of(t)));)
TT_COLUMN_GET(get_run_id, tt_topology, t, cell->known = tt_topology_run(t) != NULL;
              if (cell->known) cell->u64 = tt_topology_run(t)->id;)
TT_COLUMN_GET(get_model, tt_topology, t, tt_cell_text(cell, tt_model_path(t->m, t->graph->model));)
TT_COLUMN_GET(get_context, tt_topology, t, cell->known = tt_topology_batch(t) != TT_NONE;
              if (cell->known) cell->u64 = t->m->batches[tt_topology_batch(t)].context;)
TT_COLUMN_VALUE(get_nodes, tt_topology, t, u64, t->graph->n_nodes)

TT_COLUMN_ROWSET(rows_by_op, tt_topology, t, tt_topology_sums_rowset(t, TT_TOPOLOGY_BY_OP))
TT_COLUMN_ROWSET(rows_by_layer, tt_topology, t, tt_topology_sums_rowset(t, TT_TOPOLOGY_BY_LAYER))

static const tt_column graph_columns[] = {
    TT_COLUMN("graph_id", NULL, ID, "the graph", .type = TT_CELL_U32, .get = get_graph_id),
    TT_COLUMN("batch_id", NULL, ID, "the batch of the run", .type = TT_CELL_U32,
              .get = get_batch_id),
    TT_COLUMN("phase", NULL, NONE, "phase of the batch", .type = TT_CELL_NAME, .get = get_phase),
    TT_COLUMN("context_id", NULL, ID, "the engine's context of the batch", .type = TT_CELL_U32,
              .get = get_context),
    TT_COLUMN("model_file", NULL, NONE, "path of its model", .type = TT_CELL_NAME,
              .get = get_model),
    TT_COLUMN("graph_run", NULL, ID, "what is shown", .type = TT_CELL_U32, .get = get_run_id),
    TT_COLUMN("runs", NULL, COUNT, "that computed this graph", TT_MEMBER(tt_topology, n_runs)),
    TT_COLUMN("batches", NULL, COUNT, "batches of these runs", TT_MEMBER(tt_topology, n_batches)),
    TT_COLUMN("nodes_total", NULL, COUNT, "nodes", .type = TT_CELL_U32, .get = get_nodes),
    TT_COLUMN("leafs_total", NULL, COUNT, "leafs", TT_MEMBER(tt_topology, n_leafs)),
    TT_COLUMN("edges_total", NULL, COUNT, "edges", TT_MEMBER(tt_topology, n_edges)),
    TT_COLUMN("views_total", NULL, COUNT, "views", TT_MEMBER(tt_topology, n_views)),
    TT_COLUMN("ops_recorded", NULL, COUNT, "ops of the run", TT_MEMBER(tt_topology, n_ops)),
    TT_COLUMN("fused_ops", NULL, COUNT, "ops that compute several nodes",
              TT_MEMBER(tt_topology, n_fused_ops), .known = has_ops),
    TT_COLUMN("fused_nodes", NULL, COUNT, "the nodes of these",
              TT_MEMBER(tt_topology, n_fused_nodes), .known = has_ops),
    TT_COLUMN("weights_size_bytes", NULL, BYTES, "of the weights among the leafs",
              TT_MEMBER(tt_topology, weights_size_bytes)),
    TT_COLUMN("ops", NULL, NONE, "sums by op", .type = TT_CELL_ROWS, .inner = &sum_schema,
              .rows = rows_by_op),
    TT_COLUMN("layers", NULL, NONE, "sums by layer", .type = TT_CELL_ROWS, .inner = &sum_schema,
              .rows = rows_by_layer),
};
const tt_schema tt_topology_schema = {"graph", "a graph and its counts", graph_columns,
                                      COUNT(graph_columns)};

TT_COLUMN_GET(get_slot, tt_edge, e, cell->known = e->slot != TT_NONE; cell->u64 = e->slot;)
TT_COLUMN_GET(get_label, tt_edge, e, if (e->slot == TT_NONE) tt_cell_text(cell, "view");
              else tt_cell_format(cell, "src %u", (unsigned)e->slot);)

static const tt_column edge_columns[] = {
    TT_COLUMN("source", NULL, ID, "the tensor it comes from", TT_MEMBER(tt_edge, source)),
    TT_COLUMN("target", NULL, ID, "the tensor it goes to", TT_MEMBER(tt_edge, target)),
    TT_COLUMN("slot", NULL, ID, "of the target's sources", .type = TT_CELL_U32, .get = get_slot,
              .kinds = TT_EDGE_SLOTS),
    TT_COLUMN("label", NULL, NONE, "the slot in words", .type = TT_CELL_NAME, .get = get_label,
              .kinds = TT_EDGE_LABELS),
    TT_COLUMN("is_view", NULL, NONE, "whether the target is a view", TT_MEMBER(tt_edge, is_view)),
};
const tt_schema tt_edge_schema = {"edges", "an edge", edge_columns, COUNT(edge_columns)};

TT_COLUMN_KNOWN(part_has_ops, tt_collapse_part, p, p->n_ops > 0)
TT_COLUMN_GET(get_part_layer, tt_collapse_part, p, tt_cell_id(cell, p->layer_id);)
TT_COLUMN_GET(get_part_ns, tt_collapse_part, p, set_span(context, cell, p->timed > 0, p->ticks);)

static const tt_column part_columns[] = {
    TT_COLUMN("layer_id", NULL, ID, "the layer", TT_LAYER, .get = get_part_layer),
    TT_STACK(.get = get_part_layer),
    TT_COLUMN("behind", NULL, NONE, "whether it comes after the layers",
              TT_MEMBER(tt_collapse_part, behind)),
    TT_COLUMN("shape", NULL, ID, "parts with the same one are built alike",
              TT_MEMBER(tt_collapse_part, shape)),
    TT_COLUMN("nodes", NULL, COUNT, "its nodes", TT_MEMBER(tt_collapse_part, n_nodes)),
    TT_COLUMN("executes", NULL, COUNT, "nodes that compute something",
              TT_MEMBER(tt_collapse_part, n_executed)),
    TT_COLUMN("ops", NULL, COUNT, "its recorded ops", TT_MEMBER(tt_collapse_part, n_ops)),
    TT_COLUMN("total_ns", NULL, NS, "their time", .type = TT_CELL_I64, .get = get_part_ns),
    TT_COLUMN("weight_bytes", NULL, BYTES, "of weights that they read",
              TT_MEMBER(tt_collapse_part, weight_bytes), .known = part_has_ops),
    TT_COLUMN("weight_bytes_at_most", NULL, NONE, "whether it is an upper bound",
              TT_MEMBER(tt_collapse_part, at_most)),
};
const tt_schema tt_collapse_part_schema = {"parts", "a part of a graph", part_columns,
                                           COUNT(part_columns)};

static const tt_column passage_columns[] = {
    TT_COLUMN("source", NULL, ID, "the part that computes it", TT_MEMBER(tt_passage, from)),
    TT_COLUMN("target", NULL, ID, "the part that uses it", TT_MEMBER(tt_passage, to)),
    TT_COLUMN("id", NULL, ID, "the tensor", TT_MEMBER(tt_passage, tensor)),
};
const tt_schema tt_passage_schema = {"passages", "a tensor used in another part", passage_columns,
                                     COUNT(passage_columns)};
