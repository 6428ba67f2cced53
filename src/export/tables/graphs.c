/* The tables `nodes` and `edges`. */
#include "export/tables/tables.h"

#include "analyze/topology.h"

/* Tensors per part, over all graphs consecutively. */
#define TENSORS_EACH 16384u

/* Calls `put` for each tensor of the part. */
typedef tt_status put_tensor(tt_rows *rows, tt_tables_own *own, uint32_t graph, uint32_t tensor,
                             tt_error *err);

static uint32_t parts(const tt_model *m, const tt_filter *filter)
{
    uint64_t n = 0;
    (void)filter;
    for (uint32_t i = 0; i < m->n_graphs; i++)
        n += m->graphs[i].n_tensors;
    return tt_parts_of(n, TENSORS_EACH);
}

static tt_status fill(const tt_export_table *table, put_tensor *put, const tt_model *m,
                      uint32_t part, tt_rows *rows, tt_error *err)
{
    tt_tables_own *own;
    const uint64_t first = (uint64_t)part * TENSORS_EACH, end = first + TENSORS_EACH;
    uint64_t at = 0;
    tt_status status = tt_tables_begin(rows, table, m, &own, err);
    for (uint32_t g = 0; g < m->n_graphs && at < end && status == TT_OK; g++) {
        const uint64_t n = m->graphs[g].n_tensors;
        for (uint64_t i = at < first ? first - at : 0; i < n && at + i < end && status == TT_OK;
             i++)
            status = put(rows, own, g, (uint32_t)i, err);
        at += n;
    }
    if (status != TT_OK) return status;
    tt_tables_run_id(rows, 0, rows->n);
    return tt_tables_end(rows, err);
}

/* --- nodes --- */

enum {
    NODES_RUN_ID,
    NODES_GRAPH,
    NODES_NODE,
    NODES_KIND,
    NODES_PLACE,
    NODES_OP = NODES_PLACE + TT_PLACE_COLUMNS,
    NODES_OP_DESC,
    NODES_NE0,
    NODES_NB0 = NODES_NE0 + TT_DIMS,
    NODES_LAYER = NODES_NB0 + TT_DIMS,
    NODES_STACK,
    NODES_CATEGORY,
    NODES_COMPONENT,
    NODES_EXECUTES,
    NODES_INPUT,
    NODES_OUTPUT,
    NODES_BACKEND,
    NODES_SOURCES,
    NODES_VIEW_OF_ID,
    NODES_TENSOR,
    NODES_COLUMNS
};

static const tt_column nodes_columns[NODES_COLUMNS] = {
    [NODES_RUN_ID] = TT_EXPORT_COLUMN("run_id", TT_CELL_NAME, false, "the trace's id"),
    [NODES_GRAPH] = TT_EXPORT_COLUMN("graph_id", TT_CELL_U32, false,
                                     "the graph; identical graphs are listed once"),
    [NODES_NODE] =
        TT_EXPORT_COLUMN("node", TT_CELL_U32, false,
                         "its number in the graph: nodes in order of execution, then leafs"),
    [NODES_KIND] = TT_EXPORT_COLUMN("kind", TT_CELL_NAME, false, "node: computed; leaf: given"),
    [NODES_PLACE + TT_PLACE_NAME] = TT_EXPORT_COLUMN("name", TT_CELL_NAME, false, "its name"),
    [NODES_PLACE + TT_PLACE_VIEW_OF] =
        TT_EXPORT_COLUMN("view_of", TT_CELL_NAME, true, "the tensor whose bytes it shows"),
    [NODES_PLACE + TT_PLACE_TYPE] =
        TT_EXPORT_COLUMN("type", TT_CELL_NAME, false, "ggml's name of its type"),
    [NODES_PLACE + TT_PLACE_SIZE] = TT_EXPORT_COLUMN("size_bytes", TT_CELL_U64, false, "its size"),
    [NODES_PLACE + TT_PLACE_ORIGIN] = TT_EXPORT_COLUMN(
        "origin", TT_CELL_NAME, false, "file: in a mapping of the model file; buffer; unknown"),
    [NODES_PLACE + TT_PLACE_FILE] = TT_EXPORT_COLUMN(
        "model_file", TT_CELL_NAME, true, "of a weight, the model file that it comes from"),
    [NODES_PLACE + TT_PLACE_FILE_OFFSET] =
        TT_EXPORT_COLUMN("file_offset_bytes", TT_CELL_U64, true, "its offset in that file"),
    [NODES_PLACE + TT_PLACE_BUFFER] =
        TT_EXPORT_COLUMN("buffer_id", TT_CELL_U64, true, "buffer that holds it"),
    [NODES_PLACE + TT_PLACE_BUFFER_OFFSET] =
        TT_EXPORT_COLUMN("buffer_offset_bytes", TT_CELL_U64, true, "its offset in that buffer"),
    [NODES_OP] =
        TT_EXPORT_COLUMN("op", TT_CELL_NAME, false, "ggml's name of the op that computes it"),
    [NODES_OP_DESC] =
        TT_EXPORT_COLUMN("op_desc", TT_CELL_NAME, false, "the same, with the function of a UNARY"),
    [NODES_NE0] =
        TT_EXPORT_COLUMN("ne0", TT_CELL_U64, false, "shape, the contiguous dimension first"),
    [NODES_NE0 + 1] = TT_EXPORT_COLUMN("ne1", TT_CELL_U64, false, "second dimension"),
    [NODES_NE0 + 2] = TT_EXPORT_COLUMN("ne2", TT_CELL_U64, false, "third dimension"),
    [NODES_NE0 + 3] = TT_EXPORT_COLUMN("ne3", TT_CELL_U64, false, "fourth dimension"),
    [NODES_NB0] =
        TT_EXPORT_COLUMN("nb0", TT_CELL_U64, false, "distance in bytes along the first dimension"),
    [NODES_NB0 + 1] =
        TT_EXPORT_COLUMN("nb1", TT_CELL_U64, false, "distance in bytes along the second dimension"),
    [NODES_NB0 + 2] =
        TT_EXPORT_COLUMN("nb2", TT_CELL_U64, false, "distance in bytes along the third dimension"),
    [NODES_NB0 + 3] =
        TT_EXPORT_COLUMN("nb3", TT_CELL_U64, false, "distance in bytes along the fourth dimension"),
    [NODES_LAYER] = TT_EXPORT_COLUMN("layer_id", TT_CELL_I32, true, "layer; null: belongs to none"),
    [NODES_STACK] = TT_TABLES_STACK,
    [NODES_CATEGORY] = TT_EXPORT_COLUMN(
        "category", TT_CELL_NAME, false,
        "input, attention, ffn, norm, output, ssm, rwkv, conv, projector or other"),
    [NODES_COMPONENT] =
        TT_EXPORT_COLUMN("component", TT_CELL_NAME, false, "part of the layer, as attn_q"),
    [NODES_EXECUTES] = TT_EXPORT_COLUMN("executes", TT_CELL_BOOL, true,
                                        "it is computed, not a view; null for a leaf"),
    [NODES_INPUT] =
        TT_EXPORT_COLUMN("is_input", TT_CELL_BOOL, false, "the engine marks it as an input"),
    [NODES_OUTPUT] =
        TT_EXPORT_COLUMN("is_output", TT_CELL_BOOL, false, "the engine marks it as an output"),
    [NODES_BACKEND] = TT_EXPORT_COLUMN("backend", TT_CELL_NAME, true, "backend assigned to it"),
    [NODES_SOURCES] = TT_EXPORT_COLUMN("sources", TT_CELL_U32, false, "number of source slots"),
    [NODES_VIEW_OF_ID] =
        TT_EXPORT_COLUMN("view_of_id", TT_CELL_U32, true, "the node that it is a view of"),
    [NODES_TENSOR] =
        TT_EXPORT_COLUMN("tensor_id", TT_CELL_U32, true, "of a weight, its row in `tensors`"),
};

static void put_shape(tt_rows *rows, const tt_tensor *t)
{
    for (uint32_t d = 0; d < TT_DIMS; d++) {
        tt_rows_integer(rows, NODES_NE0 + d, t->ne[d]);
        tt_rows_integer(rows, NODES_NB0 + d, t->nb[d]);
    }
}

static tt_status put_node(tt_rows *rows, tt_tables_own *own, uint32_t graph, uint32_t tensor,
                          tt_error *err)
{
    const tt_graph *g = &own->m->graphs[graph];
    const tt_tensor *t = &g->tensors[tensor];
    const bool is_node = tensor < g->n_nodes;
    tt_status status = tt_rows_reserve(rows, rows->n + 1, err);
    if (status != TT_OK) return status;
    tt_rows_integer(rows, NODES_GRAPH, g->id);
    tt_rows_integer(rows, NODES_NODE, tensor);
    tt_rows_name(rows, NODES_KIND, is_node ? "node" : "leaf");
    tt_tables_place(rows, own, NODES_PLACE, graph, tensor);
    tt_rows_name(rows, NODES_OP, t->op_name);
    tt_rows_name(rows, NODES_OP_DESC, t->op_desc);
    put_shape(rows, t);
    tt_tables_put_layer(rows, NODES_LAYER, NODES_STACK, t->place.layer_id);
    tt_rows_name(rows, NODES_CATEGORY, t->place.category);
    tt_rows_name(rows, NODES_COMPONENT, t->place.component);
    tt_tables_put_known(rows, NODES_EXECUTES, is_node, (t->flags & TT_TENSOR_EXECUTES) != 0);
    tt_rows_integer(rows, NODES_INPUT, (t->flags & TT_TENSOR_INPUT) != 0);
    tt_rows_integer(rows, NODES_OUTPUT, (t->flags & TT_TENSOR_OUTPUT) != 0);
    tt_rows_name(rows, NODES_BACKEND, t->backend && t->backend[0] ? t->backend : NULL);
    tt_rows_integer(rows, NODES_SOURCES, t->n_src);
    tt_tables_put_known(rows, NODES_VIEW_OF_ID, t->view_src != TT_NONE, t->view_src);
    tt_tables_put_known(rows, NODES_TENSOR, t->weight != TT_NONE, t->weight);
    rows->n++;
    return TT_OK;
}

static tt_status fill_nodes(const tt_model *m, const tt_filter *filter, uint32_t part,
                            tt_rows *rows, tt_error *err)
{
    (void)filter;
    return fill(&tt_table_nodes, put_node, m, part, rows, err);
}

const tt_export_table tt_table_nodes = {
    .name = "nodes",
    .about = "A row for each tensor of each graph: nodes, which are computed, and leafs",
    .columns = nodes_columns,
    .n_columns = NODES_COLUMNS,
    .parts = parts,
    .fill = fill_nodes,
};

/* --- edges --- */

enum {
    EDGES_RUN_ID,
    EDGES_GRAPH,
    EDGES_SOURCE,
    EDGES_TARGET,
    EDGES_SLOT,
    EDGES_IS_VIEW,
    EDGES_COLUMNS
};

static const tt_column edges_columns[EDGES_COLUMNS] = {
    [EDGES_RUN_ID] = TT_EXPORT_COLUMN("run_id", TT_CELL_NAME, false, "the trace's id"),
    [EDGES_GRAPH] = TT_EXPORT_COLUMN("graph_id", TT_CELL_U32, false, "the graph"),
    [EDGES_SOURCE] =
        TT_EXPORT_COLUMN("source", TT_CELL_U32, false, "from this tensor: `nodes.node`"),
    [EDGES_TARGET] = TT_EXPORT_COLUMN("target", TT_CELL_U32, false,
                                      "to this one, computed from it or viewing it"),
    [EDGES_SLOT] =
        TT_EXPORT_COLUMN("slot", TT_CELL_U16, true,
                         "index among the target's sources; null: the target is only a view of it"),
    [EDGES_IS_VIEW] =
        TT_EXPORT_COLUMN("is_view", TT_CELL_BOOL, false, "the target shows the source's bytes"),
};

static tt_status put_edges(tt_rows *rows, tt_tables_own *own, uint32_t graph, uint32_t tensor,
                           tt_error *err)
{
    tt_edge edges[TT_EDGES_MAX];
    const tt_graph *g = &own->m->graphs[graph];
    const uint32_t n = tt_topology_edges(g, tensor, edges);
    tt_status status = tt_rows_reserve(rows, rows->n + n, err);
    for (uint32_t i = 0; status == TT_OK && i < n; i++, rows->n++) {
        tt_rows_integer(rows, EDGES_GRAPH, g->id);
        tt_rows_integer(rows, EDGES_SOURCE, edges[i].source);
        tt_rows_integer(rows, EDGES_TARGET, edges[i].target);
        tt_tables_put_known(rows, EDGES_SLOT, edges[i].slot != TT_NONE, edges[i].slot);
        tt_rows_integer(rows, EDGES_IS_VIEW, edges[i].is_view);
    }
    return status;
}

static tt_status fill_edges(const tt_model *m, const tt_filter *filter, uint32_t part,
                            tt_rows *rows, tt_error *err)
{
    (void)filter;
    return fill(&tt_table_edges, put_edges, m, part, rows, err);
}

const tt_export_table tt_table_edges = {
    .name = "edges",
    .about = "A row for each way from a tensor of a graph to another",
    .columns = edges_columns,
    .n_columns = EDGES_COLUMNS,
    .parts = parts,
    .fill = fill_edges,
};
