#include "answer/graph.h"

#include "base/checksum.h"
#include "base/idmap.h"
#include "base/units.h"
#include "table/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* Compared part of a name: engines cut at 64, but damaged traces may hold anything. */
#define TEXT_MAX 512u

/* The two rowsets: columns for the viewer, and for `graph --json`. */
enum { VIEWER = TT_EDGE_SLOTS, COMMAND = TT_EDGE_LABELS };

/* Interned texts: each is written once. */
typedef struct tt_graph_words {
    const char **list;
    uint32_t n;
    tt_idmap by_sum;
    bool no_memory;
} words;

typedef tt_graph_context graph_context;

static const graph_context *of(const void *context)
{
    return context;
}

static void set_span(const void *context, tt_cell *cell, bool known, uint64_t ticks)
{
    const tt_model *m = of(context)->m;
    tt_cell_ns(cell, known && m->clock.known, tt_model_span_ns(m, ticks));
}

static void set_u64(tt_cell *cell, bool known, uint64_t value)
{
    cell->known = known;
    cell->u64 = value;
}

/* --- the graph and its sums --- */

static void put_summary(tt_json *j, const graph_context *x)
{
    const tt_rowset set = TT_ROWSET(&tt_topology_schema, 0, x->t, x->t, 1);
    tt_rowset_json(j, &set, x->t);
}

/* --- edges --- */

/* All edges, to be freed by the caller. NULL: no memory. */
static tt_edge *edges_of(const tt_graph *g, size_t *n)
{
    tt_edge some[TT_EDGES_MAX];
    size_t all = 0;
    for (uint32_t i = 0; i < g->n_tensors; i++)
        all += tt_topology_edges(g, i, some);
    tt_edge *list = malloc((all + 1) * sizeof *list);
    *n = 0;
    for (uint32_t i = 0; list && i < g->n_tensors; i++) {
        uint32_t n_some = tt_topology_edges(g, i, some);
        for (uint32_t k = 0; k < n_some; k++)
            list[(*n)++] = some[k];
    }
    return list;
}

/* --- tensors and nodes --- */

static uint32_t index_of(const void *context, const tt_tensor *x)
{
    return (uint32_t)(x - of(context)->g->tensors);
}

static bool is_node(const void *context, const tt_tensor *x)
{
    return index_of(context, x) < of(context)->g->n_nodes;
}

/* The node of a tensor that is one. */
static const tt_topology_node *node_of(const void *context, const tt_tensor *x)
{
    return &of(context)->t->nodes[index_of(context, x)];
}

/* Whether the tensor is the first node of its op. */
static bool is_first(const void *context, const tt_tensor *x)
{
    return is_node(context, x) && node_of(context, x)->op == index_of(context, x);
}

static const tt_weight *weight_of(const void *context, const tt_tensor *x)
{
    return x->weight == TT_NONE ? NULL : &of(context)->m->weights[x->weight];
}

/* A text; for the viewer, its number in the list of texts. */
static void put_word(tt_json *j, const void *context, const char *text)
{
    words *all = of(context)->words;
    uint32_t was = TT_NONE;
    if (!text || !all) {
        tt_json_string(j, text);
        return;
    }
    /* If two texts share a checksum, the list only gets one more entry. */
    uint64_t sum = tt_checksum(text, strnlen(text, TEXT_MAX));
    if (!tt_idmap_add(&all->by_sum, sum, all->n, &was)) all->no_memory = true;
    if (was != TT_NONE && strncmp(all->list[was], text, TEXT_MAX) == 0) {
        tt_json_u64(j, was);
        return;
    }
    tt_json_u64(j, all->n);
    all->list[all->n++] = text;
}

static void set_text(tt_cell *cell, const char *text)
{
    if (!text) return;
    cell->known = true;
    cell->text.at = text;
    cell->text.n = strnlen(text, TEXT_MAX);
}

/* A view without an observed location is where the tensor that it views is. */
static uint32_t buffer_of(const void *context, const tt_tensor *x, uint64_t *offset)
{
    const tt_tensor *root = &of(context)->g->tensors[x->root];
    *offset = x->buffer != TT_NONE ? x->location : root->location + x->root_offset_bytes;
    return x->buffer != TT_NONE ? x->buffer : root->buffer;
}

static void put_list(tt_json *j, const uint64_t *list, size_t n)
{
    tt_json_array(j);
    for (size_t i = 0; i < n; i++)
        tt_json_u64(j, list[i]);
    tt_json_array_end(j);
}

static size_t sources_of(const tt_tensor *x, uint64_t list[TT_SRC_MAX])
{
    size_t n = 0;
    for (uint32_t k = 0; k < x->n_src; k++)
        if (x->src[k] != TT_NONE) list[n++] = x->src[k];
    return n;
}

/* The names of the sources. */
static void show_sources(const void *context, const void *row, char *out, size_t room)
{
    const tt_graph *g = of(context)->g;
    tt_edge edges[TT_EDGES_MAX];
    const uint32_t n = tt_topology_edges(g, index_of(context, row), edges);
    size_t used = 0;
    for (uint32_t k = 0; k < n && used < room - 1; k++) {
        char name[128];
        tt_cell_text_copy(name, sizeof name, g->tensors[edges[k].source].name);
        const int length = snprintf(out + used, room - used, "%s%s%s", k ? ", " : "", name,
                                    edges[k].is_view ? " [view]" : "");
        used += (size_t)length < room - used ? (size_t)length : room - used - 1;
    }
}

/* The op that computed the node: its own, or that of the covering node. */
static void show_duration(const void *context, const void *row, char *out, size_t room)
{
    const tt_model *m = of(context)->m;
    const tt_topology_node *n = node_of(context, row);
    if (!is_node(context, row)) return;
    if (n->op != TT_NONE && !is_first(context, row))
        (void)snprintf(out, room, "in %" PRIu32, n->op);
    else if (n->timed && m->clock.known)
        tt_units_ns(out, tt_model_span_ns(m, n->ticks));
}

/* The columns get_NAME and json_NAME of a text. */
#define WORD(name, text)                                                                           \
    TT_COLUMN_GET(get_##name, tt_tensor, x, set_text(cell, text);)                                 \
    TT_COLUMN_JSON(json_##name, tt_tensor, x, put_word(j, context, text);)
#define WORD_COLUMN(key_, title_, name, about_, ...)                                               \
    TT_COLUMN(key_, title_, NONE, about_, .type = TT_CELL_NAME, .get = get_##name,                 \
              .json = json_##name, __VA_ARGS__)

WORD(op, x->op_name)
WORD(op_desc, x->op_desc)
WORD(type, x->type_name)
WORD(origin, tt_origin_name(x->origin))
WORD(category, x->place.category)
WORD(component, x->place.component)
WORD(backend, is_node(context, x) && x->backend && x->backend[0] ? x->backend : NULL)

TT_COLUMN_VALUE(get_id, tt_tensor, x, u64, index_of(context, x))
TT_COLUMN_GET(get_kind, tt_tensor, x, tt_cell_text(cell, is_node(context, x) ? "node" : "leaf");)
TT_COLUMN_GET(get_name, tt_tensor, x, set_text(cell, x->name);)
TT_COLUMN_GET(get_root, tt_tensor, x, const tt_tensor *root = &of(context)->g->tensors[x->root];
              if (root != x) set_text(cell, root->name);)
TT_COLUMN_JSON(put_ne, tt_tensor, x,
               for (uint32_t k = 0; k < TT_DIMS; k++) tt_json_u64(j, x->ne[k]);)
TT_COLUMN_JSON(put_ne_list, tt_tensor, x, put_list(j, x->ne, TT_DIMS);)
TT_COLUMN_JSON(put_nb_list, tt_tensor, x, put_list(j, x->nb, TT_DIMS);)
TT_COLUMN_GET(get_shape, tt_tensor, x,
              tt_cell_text(cell, tt_graph_shape(x, cell->room, sizeof cell->room));)
TT_COLUMN_GET(get_layer, tt_tensor, x,
              tt_cell_id(cell, tt_graph_layer(of(context)->t, index_of(context, x)));)
TT_COLUMN_GET(get_flag, tt_tensor, x,
              tt_cell_text(cell, x->flags &TT_TENSOR_INPUT    ? "input"
                                 : x->flags &TT_TENSOR_OUTPUT ? "output"
                                                              : "");)
TT_COLUMN_JSON(put_flags, tt_tensor, x, tt_json_array(j);
               if (x->flags & TT_TENSOR_INPUT) tt_json_string(j, "input");
               if (x->flags & TT_TENSOR_OUTPUT) tt_json_string(j, "output"); tt_json_array_end(j);)
TT_COLUMN_VALUE(get_computed, tt_tensor, x, boolean, x->root < of(context)->g->n_nodes)
TT_COLUMN_GET(get_weight, tt_tensor, x,
              if (weight_of(context, x)) set_text(cell, weight_of(context, x)->name);)
TT_COLUMN_GET(get_file, tt_tensor, x,
              if (weight_of(context, x)) set_u64(cell, true, weight_of(context, x)->file);)
TT_COLUMN_GET(get_path, tt_tensor, x, const tt_weight *w = weight_of(context, x);
              if (w) tt_cell_text(cell, of(context)->m->files[w->file].path);)
TT_COLUMN_GET(get_file_offset, tt_tensor, x,
              if (weight_of(context, x))
                  set_u64(cell, true, weight_of(context, x)->offset_bytes + x->root_offset_bytes);)
TT_COLUMN_GET(get_buffer, tt_tensor, x, uint64_t offset;
              uint32_t buffer = buffer_of(context, x, &offset);
              set_u64(cell, buffer != TT_NONE, buffer);)
TT_COLUMN_GET(get_buffer_id, tt_tensor, x, uint64_t offset;
              uint32_t buffer = buffer_of(context, x, &offset);
              if (buffer != TT_NONE) set_u64(cell, true, of(context)->m->buffers[buffer].id);)
TT_COLUMN_GET(get_buffer_offset, tt_tensor, x, uint64_t offset;
              uint32_t buffer = buffer_of(context, x, &offset);
              set_u64(cell, buffer != TT_NONE, offset);)
/* Their numbers, in CSV. */
static void get_sources(const void *context, const void *row, tt_cell *cell)
{
    uint64_t list[TT_SRC_MAX];
    const size_t n = sources_of(row, list);
    size_t used = 0;
    (void)context;
    cell->room[0] = '\0';
    for (size_t i = 0; i < n; i++)
        used += (size_t)snprintf(cell->room + used, sizeof cell->room - used, "%s%" PRIu64,
                                 i ? " " : "", list[i]);
    tt_cell_text(cell, cell->room);
}

TT_COLUMN_JSON(put_sources, tt_tensor, x, uint64_t list[TT_SRC_MAX];
               put_list(j, list, sources_of(x, list));)
TT_COLUMN_GET(get_view_of, tt_tensor, x, set_u64(cell, x->view_src != TT_NONE, x->view_src);)
TT_COLUMN_VALUE(get_part, tt_tensor, x, u64, of(context)->c->part_of[index_of(context, x)])
TT_COLUMN_GET(get_executes, tt_tensor, x, cell->known = is_node(context, x);
              cell->boolean = (x->flags & TT_TENSOR_EXECUTES) != 0;)
TT_COLUMN_GET(
    get_fused_into, tt_tensor, x, if (is_node(context, x)) {
        uint32_t op = node_of(context, x)->op;
        set_u64(cell, op != TT_NONE && !is_first(context, x), op);
    })
TT_COLUMN_GET(get_op_nodes, tt_tensor, x,
              if (is_first(context, x)) set_u64(cell, true, node_of(context, x)->n_nodes);)
TT_COLUMN_GET(
    get_duration, tt_tensor, x, if (is_first(context, x)) {
        const tt_topology_node *n = node_of(context, x);
        set_span(context, cell, n->timed, n->ticks);
    })
TT_COLUMN_GET(get_weight_bytes, tt_tensor, x,
              if (is_first(context, x)) set_u64(cell, true, node_of(context, x)->weight_bytes);)
TT_COLUMN_VALUE(get_at_most, tt_tensor, x, boolean,
                is_first(context, x) && node_of(context, x)->at_most)
static tt_certainty bound_of_weights(const void *context, const void *row)
{
    return is_first(context, row) && node_of(context, row)->at_most ? TT_AT_MOST : TT_EXACT;
}

TT_COLUMN_GET(get_at_most_if, tt_tensor, x, get_at_most(context, x, cell);
              cell->known = cell->boolean;)

#define LISTED COMMAND
#define TENSORS VIEWER /* all tensors, for the viewer; and its nodes */
#define NODES 4u

static const tt_column tensor_columns[] = {
    TT_COLUMN("id", "ID", ID, "its number in the graph", .type = TT_CELL_U32, .get = get_id,
              .kinds = LISTED),
    TT_COLUMN("kind", NULL, NONE, "node, or leaf: a weight, a cache or an input",
              .type = TT_CELL_NAME, .get = get_kind, .kinds = LISTED),
    TT_COLUMN("name", "NODE", NONE, "its name", .type = TT_CELL_NAME, .get = get_name,
              .kinds = TENSORS | LISTED, .show = TT_SHOW_CUT | TT_SHOW_KEY),
    TT_COLUMN("view_of", NULL, NONE, "name of the tensor that it is a view of",
              .type = TT_CELL_NAME, .nullable = true, .get = get_root, .kinds = LISTED,
              .show = TT_SHOW_OMIT),
    WORD_COLUMN("type", "TYPE", type, "type of its elements", .kinds = TENSORS | LISTED),
    TT_COLUMN("size_bytes", NULL, BYTES, "its size", TT_MEMBER(tt_tensor, size_bytes),
              .kinds = TENSORS | LISTED),
    WORD_COLUMN("origin", NULL, origin, "where its bytes come from", .kinds = TENSORS | LISTED),
    TT_COLUMN("model_file", NULL, NONE, "model file of the weight that it is or views",
              .type = TT_CELL_NAME, .nullable = true, .get = get_path, .kinds = LISTED,
              .show = TT_SHOW_OMIT),
    TT_COLUMN("file_offset_bytes", NULL, ID, "its position in the file", .type = TT_CELL_U64,
              .nullable = true, .get = get_file_offset, .kinds = TENSORS | LISTED,
              .show = TT_SHOW_OMIT),
    TT_COLUMN("buffer_id", NULL, ID, "the buffer it lies in", .type = TT_CELL_U32, .nullable = true,
              .get = get_buffer_id, .kinds = LISTED, .show = TT_SHOW_OMIT),
    TT_COLUMN("buffer_offset_bytes", NULL, ID, "its position in the buffer", .type = TT_CELL_U64,
              .nullable = true, .get = get_buffer_offset, .kinds = TENSORS | LISTED,
              .show = TT_SHOW_OMIT),
    WORD_COLUMN("op", NULL, op, "the op", .kinds = TENSORS | LISTED),
    WORD_COLUMN("op_desc", "OP", op_desc, "the op in full", .kinds = TENSORS | LISTED,
                .show = TT_SHOW_CUT | TT_SHOW_KEY),
    TT_COLUMN("ne", NULL, NONE, "its four sizes", .type = TT_CELL_LIST, .json = put_ne_list,
              .kinds = LISTED),
    TT_COLUMN("nb", NULL, NONE, "bytes from one element to the next, for each of these",
              .type = TT_CELL_LIST, .json = put_nb_list, .kinds = LISTED),
    TT_COLUMN("shape", "SHAPE", NONE, "its sizes, without trailing ones", .type = TT_CELL_NAME,
              .get = get_shape, .kinds = LISTED, .show = TT_SHOW_FLAT),
    TT_COLUMN("layer_id", NULL, ID, "the layer; null: none", TT_LAYER, .get = get_layer,
              .kinds = TENSORS | LISTED),
    TT_STACK(.kinds = TENSORS | LISTED, .get = get_layer),
    WORD_COLUMN("category", NULL, category, "the part of the network", .kinds = TENSORS | LISTED),
    WORD_COLUMN("component", NULL, component, "role in its layer", .kinds = TENSORS | LISTED),
    TT_COLUMN("flags", NULL, NONE, "whether it is an input or output of the graph",
              .type = TT_CELL_NAME, .get = get_flag, .json = put_flags, .kinds = LISTED),
    WORD_COLUMN("backend", NULL, backend, "what computes a node; null: not observed",
                .nullable = true, .kinds = NODES | LISTED),
    TT_COLUMN("sources", "SOURCES", NONE, "tensors that it is computed from: in text their names",
              .type = TT_CELL_NAME, .get = get_sources, .text = show_sources, .json = put_sources,
              .kinds = LISTED, .show = TT_SHOW_CUT),
    TT_COLUMN("view_of_id", NULL, ID, "the tensor that it views", .type = TT_CELL_U32,
              .nullable = true, .get = get_view_of, .kinds = TENSORS | LISTED),
    TT_COLUMN("executes", NULL, NONE, "whether it computes something; null: a leaf",
              .type = TT_CELL_BOOL, .nullable = true, .get = get_executes, .kinds = NODES | LISTED),
    TT_COLUMN("fused_into", NULL, ID, "the node whose op computed it too", .type = TT_CELL_U32,
              .nullable = true, .get = get_fused_into, .kinds = NODES | LISTED),
    TT_COLUMN("op_nodes", NULL, COUNT, "nodes that its op computed", .type = TT_CELL_U32,
              .nullable = true, .get = get_op_nodes, .kinds = NODES | LISTED),
    TT_COLUMN("duration_ns", "TIME", NS, "of its op", .type = TT_CELL_I64, .nullable = true,
              .get = get_duration, .text = show_duration, .kinds = NODES | LISTED),
    TT_COLUMN("weight_bytes", NULL, BYTES, "of weights that its op read", .type = TT_CELL_U64,
              .nullable = true, .get = get_weight_bytes, .bound = bound_of_weights,
              .kinds = NODES | LISTED),
    TT_COLUMN("weight_bytes_at_most", NULL, NONE, "whether it is an upper bound",
              .type = TT_CELL_BOOL, .nullable = true, .get = get_at_most_if, .kinds = LISTED,
              .show = TT_SHOW_OMIT),
    /* For the viewer only. */
    TT_COLUMN("computed", NULL, NONE, "whether its bytes are what a node of this graph computes",
              .type = TT_CELL_BOOL, .get = get_computed, .kinds = TENSORS),
    TT_COLUMN("weight", NULL, NONE, "the weight that it is or views", .type = TT_CELL_NAME,
              .get = get_weight, .kinds = TENSORS),
    TT_COLUMN("model_file_id", NULL, ID, "the weight's model file", .type = TT_CELL_U32,
              .get = get_file, .kinds = TENSORS),
    TT_COLUMN("buffer", NULL, ID, "the buffer it lies in", .type = TT_CELL_U32, .get = get_buffer,
              .kinds = TENSORS),
    TT_COLUMN("ne", NULL, NONE, "its sizes, four for each tensor", .json = put_ne,
              .kinds = TENSORS),
    TT_COLUMN("flag", NULL, NONE, "input, output or nothing", .type = TT_CELL_NAME, .get = get_flag,
              .kinds = TENSORS),
    TT_COLUMN("part", NULL, ID, "the part it belongs to", .type = TT_CELL_U32, .get = get_part,
              .kinds = NODES),
    TT_COLUMN("weight_bytes_at_most", NULL, NONE, "whether it is an upper bound",
              .type = TT_CELL_BOOL, .get = get_at_most, .kinds = NODES),
};
#define FOR_VIEWER 8u
const tt_schema tt_graph_node_schema = {"nodes", "a node or leaf of a graph", tensor_columns,
                                        COUNT(tensor_columns) - FOR_VIEWER};
static const tt_schema viewer_schema = {"tensors", "a tensor of a graph", tensor_columns,
                                        COUNT(tensor_columns)};

/* --- `graph --json` --- */

void tt_graph_nodes_begin(tt_graph_nodes *n, const tt_graph_view *v)
{
    const tt_graph *g = v->t->graph;
    n->context = (graph_context){.m = v->t->m, .t = v->t, .g = g, .shown = v->shown};
    n->set = TT_ROWSET(&tt_graph_node_schema, LISTED, &n->context, g->tensors, g->n_tensors);
}

bool tt_graph_is_listed(const void *context, const void *row)
{
    return is_node(context, row) &&
           of(context)->shown[index_of(context, row)] == TT_GRAPH_SHOW_ASKED;
}

bool tt_graph_is_shown(const void *context, const void *row)
{
    return of(context)->shown[index_of(context, row)] != TT_GRAPH_SHOW_NOT;
}

static void put_edges(tt_json *j, const graph_context *c, const uint8_t *shown)
{
    tt_edge edges[TT_EDGES_MAX];
    tt_json_key(j, "edges");
    tt_json_array(j);
    for (uint32_t i = 0; i < c->g->n_tensors; i++) {
        if (shown[i] == TT_GRAPH_SHOW_NOT) continue;
        uint32_t n = tt_topology_edges(c->g, i, edges);
        const tt_rowset set = TT_ROWSET(&tt_edge_schema, COMMAND, c, &edges[0], n);
        for (uint32_t k = 0; k < n; k++) {
            if (shown[edges[k].source] == TT_GRAPH_SHOW_NOT) continue;
            tt_json_object(j);
            tt_rowset_json(j, &set, &edges[k]);
            tt_json_object_end(j);
        }
    }
    tt_json_array_end(j);
}

void tt_graph_json(tt_json *j, const tt_graph_view *v, const tt_listing *nodes)
{
    const graph_context *x = nodes->set->context;
    tt_json_object(j);
    tt_json_kv_string(j, "file", v->path);
    put_summary(j, x);
    tt_json_key(j, "nodes");
    tt_listing_json(j, nodes);
    put_edges(j, x, v->shown);
    tt_json_object_end(j);
}

/* --- parts --- */

/* 64-bit numbers exceed the precision of a reader's floating point. */
static void put_sum(tt_json *j, uint64_t sum)
{
    char text[17];
    (void)snprintf(text, sizeof text, "%016" PRIx64, sum);
    tt_json_string(j, text);
}

static void put_shapes(tt_json *j, const tt_collapse *c)
{
    tt_json_key(j, "shapes");
    tt_json_array(j);
    for (uint32_t i = 0; i < c->n_shapes; i++)
        put_sum(j, c->shapes[i]);
    tt_json_array_end(j);
    tt_json_key(j, "structure");
    put_sum(j, c->structure);
}

/* --- the run --- */

static void kv_span(tt_json *j, const graph_context *x, const char *key, bool known, uint64_t ticks)
{
    tt_json_kv_u64_or_null(j, key, known && x->m->clock.known,
                           tt_units_round_ns(tt_model_span_ns(x->m, ticks)));
}

static void put_critical(tt_json *j, const graph_context *x, const tt_critical *critical)
{
    tt_json_key(j, "critical_path");
    tt_json_object(j);
    tt_json_key(j, "nodes");
    tt_json_array(j);
    for (uint32_t i = 0; i < critical->n_ops; i++)
        tt_json_u64(j, critical->ops[i]);
    tt_json_array_end(j);
    kv_span(j, x, "total_ns", critical->n_ops > 0, critical->ticks);
    tt_json_kv_u64(j, "untimed_ops", critical->n_untimed);
    tt_json_kv_u64(j, "ignored_sources", critical->n_against);
    tt_json_object_end(j);
}

static bool has_ended(const tt_run *r)
{
    return r->ended && r->end_ticks >= r->begin_ticks;
}

TT_COLUMN_VALUE(get_run, tt_run, r, u64, (uint64_t)(r - of(context)->m->runs))
TT_COLUMN_VALUE(get_run_graph, tt_run, r, u64, of(context)->m->graphs[r->graph].id)
TT_COLUMN_VALUE(get_run_nodes, tt_run, r, u64, of(context)->m->graphs[r->graph].n_nodes)
TT_COLUMN_GET(get_run_ns, tt_run, r,
              set_span(context, cell, has_ended(r),
                       has_ended(r) ? r->end_ticks - r->begin_ticks : 0);)

static const tt_column run_columns[] = {
    TT_COLUMN("run", NULL, ID, "its number in the trace", .type = TT_CELL_U32, .get = get_run),
    TT_COLUMN("graph_run", NULL, ID, "its id", TT_MEMBER(tt_run, id)),
    TT_COLUMN("graph_id", NULL, ID, "number of its graph", .type = TT_CELL_U32,
              .get = get_run_graph),
    TT_COLUMN("nodes_total", NULL, COUNT, "nodes of the graph", .type = TT_CELL_U32,
              .get = get_run_nodes),
    TT_COLUMN("duration_ns", NULL, NS, "from its begin to its end", .type = TT_CELL_I64,
              .get = get_run_ns),
};
static const tt_schema run_schema = {"batch_runs", "a run of the batch", run_columns,
                                     COUNT(run_columns)};

/* Runs of the same batch: of a graph that was split, or of several backends. */
static bool is_sibling(const void *context, const void *row)
{
    const tt_run *r = row;
    uint32_t batch = tt_topology_batch(of(context)->t);
    return batch != TT_NONE && r->batch == batch && r->graph != TT_NONE;
}

static void put_run(tt_json *j, const graph_context *x)
{
    const tt_run *r = tt_topology_run(x->t);
    bool ended = r && has_ended(r), timed = r && x->m->clock.known;
    tt_json_kv_u64_or_null(j, "run", r != NULL, x->t->run);
    tt_json_kv_double_or_null(j, "start_relative_ns", timed,
                              timed ? tt_model_ns(x->m, r->begin_ticks) : 0);
    kv_span(j, x, "duration_ns", ended, ended ? r->end_ticks - r->begin_ticks : 0);
    kv_span(j, x, "total_ns", x->t->total.timed > 0, x->t->total.ticks);
    tt_json_kv_u64(j, "missing_ops", x->t->n_ops ? x->t->n_missing : 0);
    const tt_rowset runs = TT_ROWSET(&run_schema, 0, x, x->m->runs, x->m->n_runs);
    tt_rowset_json_rows(j, "batch_runs", &runs, is_sibling);
}

TT_COLUMN_GET(get_buffer_kind, tt_buffer, b, tt_cell_text(cell, tt_buffer_kind_name(b->kind));)

static const tt_column buffer_columns[] = {
    TT_COLUMN("name", NULL, NONE, "its name", TT_MEMBER(tt_buffer, name)),
    TT_COLUMN("kind", NULL, NONE, "what it is for", .type = TT_CELL_NAME, .get = get_buffer_kind),
};
static const tt_schema buffer_schema = {"buffers", "a buffer", buffer_columns,
                                        COUNT(buffer_columns)};

static void put_tensors(tt_json *j, const graph_context *x)
{
    const tt_rowset all = TT_ROWSET(&viewer_schema, TENSORS, x, x->g->tensors, x->g->n_tensors);
    const tt_rowset nodes = TT_ROWSET(&viewer_schema, NODES, x, x->g->tensors, x->g->n_nodes);
    tt_json_key(j, "tensors");
    tt_json_object(j);
    tt_rowset_json_columns(j, NULL, &all);
    tt_rowset_json_columns(j, NULL, &nodes);
    tt_json_object_end(j);
}

static void put_words(tt_json *j, const words *all)
{
    tt_json_key(j, "words");
    tt_json_array(j);
    for (uint32_t i = 0; i < all->n; i++)
        tt_json_string_n(j, all->list[i], strnlen(all->list[i], TEXT_MAX));
    tt_json_array_end(j);
}

bool tt_graph_columns_json(tt_json *j, const tt_collapse *c, const tt_critical *critical)
{
    const tt_graph *g = c->t->graph;
    size_t n_edges;
    tt_edge *edges = edges_of(g, &n_edges);
    /* Seven columns have words. */
    words all = {.list = calloc(7 * (size_t)g->n_tensors + 1, sizeof *all.list)};
    const graph_context x = {.m = c->t->m, .t = c->t, .g = g, .c = c, .words = &all};
    const bool room = edges && all.list;
    if (room) {
        tt_json_object(j);
        put_summary(j, &x);
        put_run(j, &x);
        put_tensors(j, &x);
        tt_rowset_json_columns(j, "edges", &TT_ROWSET(&tt_edge_schema, VIEWER, &x, edges, n_edges));
        tt_rowset_json_columns(j, "parts",
                               &TT_ROWSET(&tt_collapse_part_schema, 0, x.m, c->parts, c->n_parts));
        put_shapes(j, c);
        tt_rowset_json_columns(j, "passages",
                               &TT_ROWSET(&tt_passage_schema, 0, &x, c->passages, c->n_passages));
        put_critical(j, &x, critical);
        tt_rowset_json_rows(j, "buffers",
                            &TT_ROWSET(&buffer_schema, 0, &x, x.m->buffers, x.m->n_buffers), NULL);
        put_words(j, &all);
        tt_json_object_end(j);
    }
    free(edges);
    free(all.list);
    tt_idmap_free(&all.by_sum);
    return room && !all.no_memory;
}
