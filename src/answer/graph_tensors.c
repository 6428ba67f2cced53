#include "answer/graph_columns_inside.h"
#include "base/checksum.h"
#include "export/dot/graph_view.h"

#include <string.h>

static void word(tt_graph_writer *w, const char *text)
{
    tt_graph_words *all = &w->words;
    uint32_t was = TT_NONE;
    if (!text) {
        tt_json_null(w->j);
        return;
    }
    /* A checksum that two texts share costs a place in the list, no more. */
    uint64_t sum = tt_checksum(text, strnlen(text, TT_GRAPH_TEXT_MAX));
    if (!tt_idmap_add(&all->by_sum, sum, all->n, &was)) w->no_memory = true;
    if (was != TT_NONE && strncmp(all->list[was], text, TT_GRAPH_TEXT_MAX) == 0) {
        tt_json_u64(w->j, was);
        return;
    }
    tt_json_u64(w->j, all->n);
    all->list[all->n++] = text;
}

static const tt_tensor *tensor(const tt_graph_writer *w, uint32_t i)
{
    return &w->g->tensors[i];
}

static const tt_topology_node *node(const tt_graph_writer *w, uint32_t i)
{
    return i < w->g->n_nodes ? &w->t->nodes[i] : NULL;
}

static void put_text(const tt_graph_writer *w, const char *text)
{
    tt_json_string_n(w->j, text, strnlen(text, TT_GRAPH_TEXT_MAX));
}

static void put_name(tt_graph_writer *w, uint32_t i)
{
    put_text(w, tensor(w, i)->name);
}

static void put_op(tt_graph_writer *w, uint32_t i)
{
    word(w, tensor(w, i)->op_name);
}

static void put_op_desc(tt_graph_writer *w, uint32_t i)
{
    word(w, tensor(w, i)->op_desc);
}

static void put_type(tt_graph_writer *w, uint32_t i)
{
    word(w, tensor(w, i)->type_name);
}

static void put_category(tt_graph_writer *w, uint32_t i)
{
    word(w, tensor(w, i)->place.category);
}

static void put_component(tt_graph_writer *w, uint32_t i)
{
    word(w, tensor(w, i)->place.component);
}

static void put_backend(tt_graph_writer *w, uint32_t i)
{
    const char *backend = node(w, i) ? tensor(w, i)->backend : NULL;
    word(w, backend && backend[0] ? backend : NULL);
}

static void put_ne(tt_graph_writer *w, uint32_t i)
{
    for (uint32_t k = 0; k < TT_DIMS; k++)
        tt_json_u64(w->j, tensor(w, i)->ne[k]);
}

static void put_layer(tt_graph_writer *w, uint32_t i)
{
    int32_t layer = tt_graph_layer(w->t, i);
    tt_json_u64_or_null(w->j, layer >= 0, (uint64_t)(layer >= 0 ? layer : 0));
}

static void put_part_of(tt_graph_writer *w, uint32_t i)
{
    tt_json_u64(w->j, w->c->part_of[i]);
}

static void put_size(tt_graph_writer *w, uint32_t i)
{
    tt_json_u64(w->j, tensor(w, i)->size_bytes);
}

static void put_executes(tt_graph_writer *w, uint32_t i)
{
    tt_json_bool(w->j, tensor(w, i)->flags & TT_TENSOR_EXECUTES);
}

static void put_fused_into(tt_graph_writer *w, uint32_t i)
{
    uint32_t op = node(w, i)->op;
    tt_json_u64_or_null(w->j, op != TT_NONE && op != i, op);
}

static void put_op_nodes(tt_graph_writer *w, uint32_t i)
{
    tt_json_u64_or_null(w->j, node(w, i)->op == i, node(w, i)->n_nodes);
}

static void put_duration(tt_graph_writer *w, uint32_t i)
{
    tt_graph_span_or_null(w, node(w, i)->op == i && node(w, i)->timed, node(w, i)->ticks);
}

static void put_weight_bytes(tt_graph_writer *w, uint32_t i)
{
    tt_json_u64_or_null(w->j, node(w, i)->op == i, node(w, i)->weight_bytes);
}

static void put_at_most(tt_graph_writer *w, uint32_t i)
{
    tt_json_bool(w->j, node(w, i)->op == i && node(w, i)->at_most);
}

static void put_origin(tt_graph_writer *w, uint32_t i)
{
    word(w, tt_origin_name(tensor(w, i)->origin));
}

/* Its bytes are what a node of this graph computes, not a leaf's. */
static void put_computed(tt_graph_writer *w, uint32_t i)
{
    tt_json_bool(w->j, tensor(w, i)->root < w->g->n_nodes);
}

static void put_weight(tt_graph_writer *w, uint32_t i)
{
    uint32_t weight = tensor(w, i)->weight;
    if (weight != TT_NONE)
        put_text(w, w->m->weights[weight].name);
    else
        tt_json_null(w->j);
}

static void put_file(tt_graph_writer *w, uint32_t i)
{
    uint32_t weight = tensor(w, i)->weight;
    tt_json_u64_or_null(w->j, weight != TT_NONE,
                        weight != TT_NONE ? w->m->weights[weight].file : 0);
}

static void put_file_offset(tt_graph_writer *w, uint32_t i)
{
    const tt_tensor *t = tensor(w, i);
    tt_json_u64_or_null(
        w->j, t->weight != TT_NONE,
        t->weight != TT_NONE ? w->m->weights[t->weight].offset_bytes + t->root_offset_bytes : 0);
}

/* A view lies where what it views does, when its own place was not observed. */
static uint32_t buffer_of(const tt_graph_writer *w, uint32_t i, uint64_t *offset)
{
    const tt_tensor *t = tensor(w, i), *root = tensor(w, t->root);
    *offset = t->buffer != TT_NONE ? t->location : root->location + t->root_offset_bytes;
    return t->buffer != TT_NONE ? t->buffer : root->buffer;
}

static void put_buffer(tt_graph_writer *w, uint32_t i)
{
    uint64_t offset;
    uint32_t buffer = buffer_of(w, i, &offset);
    tt_json_u64_or_null(w->j, buffer != TT_NONE, buffer);
}

static void put_buffer_offset(tt_graph_writer *w, uint32_t i)
{
    uint64_t offset;
    uint32_t buffer = buffer_of(w, i, &offset);
    tt_json_u64_or_null(w->j, buffer != TT_NONE, offset);
}

static void put_view_of(tt_graph_writer *w, uint32_t i)
{
    tt_json_u64_or_null(w->j, tensor(w, i)->view_src != TT_NONE, tensor(w, i)->view_src);
}

static void put_flags(tt_graph_writer *w, uint32_t i)
{
    uint32_t flags = tensor(w, i)->flags;
    tt_json_string(w->j, flags & TT_TENSOR_INPUT    ? "input"
                         : flags & TT_TENSOR_OUTPUT ? "output"
                                                    : "");
}

void tt_graph_put_tensors(tt_graph_writer *w)
{
    uint32_t all = w->g->n_tensors, nodes = w->g->n_nodes;
    tt_json_key(w->j, "tensors");
    tt_json_object(w->j);
    tt_graph_column(w, "name", all, put_name);
    tt_graph_column(w, "op", all, put_op);
    tt_graph_column(w, "op_desc", all, put_op_desc);
    tt_graph_column(w, "type", all, put_type);
    tt_graph_column(w, "ne", all, put_ne);
    tt_graph_column(w, "layer_id", all, put_layer);
    tt_graph_column(w, "category", all, put_category);
    tt_graph_column(w, "component", all, put_component);
    tt_graph_column(w, "flag", all, put_flags);
    tt_graph_column(w, "size_bytes", all, put_size);
    tt_graph_column(w, "origin", all, put_origin);
    tt_graph_column(w, "computed", all, put_computed);
    tt_graph_column(w, "weight", all, put_weight);
    tt_graph_column(w, "file", all, put_file);
    tt_graph_column(w, "file_offset_bytes", all, put_file_offset);
    tt_graph_column(w, "buffer", all, put_buffer);
    tt_graph_column(w, "buffer_offset_bytes", all, put_buffer_offset);
    tt_graph_column(w, "view_of_id", all, put_view_of);
    tt_graph_column(w, "backend", nodes, put_backend);
    tt_graph_column(w, "part", nodes, put_part_of);
    tt_graph_column(w, "executes", nodes, put_executes);
    tt_graph_column(w, "fused_into", nodes, put_fused_into);
    tt_graph_column(w, "op_nodes", nodes, put_op_nodes);
    tt_graph_column(w, "duration_ns", nodes, put_duration);
    tt_graph_column(w, "weight_bytes", nodes, put_weight_bytes);
    tt_graph_column(w, "weight_bytes_at_most", nodes, put_at_most);
    tt_json_object_end(w->j);
}

/* --- edges --- */

enum edge_field { EDGE_SOURCE, EDGE_TARGET, EDGE_SLOT, EDGE_IS_VIEW };

static void edge_column(tt_graph_writer *w, const char *key, enum edge_field field)
{
    tt_edge edges[TT_EDGES_MAX];
    tt_json_key(w->j, key);
    tt_json_array(w->j);
    for (uint32_t i = 0; i < w->g->n_tensors; i++) {
        uint32_t n = tt_topology_edges(w->g, i, edges);
        for (uint32_t k = 0; k < n; k++) {
            const tt_edge *e = &edges[k];
            if (field == EDGE_IS_VIEW)
                tt_json_bool(w->j, e->is_view);
            else if (field == EDGE_SLOT)
                tt_json_u64_or_null(w->j, e->slot != TT_NONE, e->slot);
            else
                tt_json_u64(w->j, field == EDGE_SOURCE ? e->source : e->target);
        }
    }
    tt_json_array_end(w->j);
}

void tt_graph_put_edges(tt_graph_writer *w)
{
    tt_json_key(w->j, "edges");
    tt_json_object(w->j);
    edge_column(w, "source", EDGE_SOURCE);
    edge_column(w, "target", EDGE_TARGET);
    edge_column(w, "slot", EDGE_SLOT);
    edge_column(w, "is_view", EDGE_IS_VIEW);
    tt_json_object_end(w->j);
}
