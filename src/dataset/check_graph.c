/* graphs/token-NNNNN.json: nodes in order, edges between them, layers of the model. */
#include "dataset/verifier.h"

#include "base/order.h"

#include <inttypes.h>
#include <stdlib.h>

static void check_nodes(tt_dataset_verifier *v, const json_t *nodes)
{
    const json_t *n;
    size_t i;
    uint64_t number;
    json_array_foreach(nodes, i, n)
    {
        const char *id = tt_text_of(n, "id");
        bool right = tt_dataset_node_number(id, &number) && number == i;
        if (!TT_EXAMINE(v, TT_CHECK_GRAPHS, right))
            TT_OFFEND(v, TT_CHECK_GRAPHS, "nodes[%zu] has the id %.40s", i, id);
    }
}

static void check_edges(tt_dataset_verifier *v, const json_t *edges, size_t n_nodes)
{
    static const char *const ends[] = {"source", "target"};
    const json_t *e;
    size_t i;
    uint64_t number;
    json_array_foreach(edges, i, e)
    {
        for (unsigned k = 0; k < 2; k++) {
            const char *id = tt_text_of(e, ends[k]);
            bool right = tt_dataset_node_number(id, &number) && number < n_nodes;
            if (!TT_EXAMINE(v, TT_CHECK_GRAPHS, right))
                TT_OFFEND(v, TT_CHECK_GRAPHS, "edges[%zu]: there is no node %.40s", i, id);
        }
    }
}

static void check_layers(tt_dataset_verifier *v, const json_t *nodes, uint64_t told)
{
    const json_t *n;
    size_t i, n_ids = 0;
    uint64_t *ids = calloc(json_array_size(nodes) + 1, sizeof *ids), distinct = 0;
    v->no_memory |= !ids;
    if (!ids) return;
    json_array_foreach(nodes, i, n)
    {
        const json_t *layer = json_object_get(n, "layer_id");
        if (json_is_null(layer)) continue;
        uint64_t id = (uint64_t)json_integer_value(layer);
        ids[n_ids++] = id;
        if (!TT_EXAMINE(v, TT_CHECK_LAYERS, !v->has_layers || id < v->n_layers))
            TT_OFFEND(v, TT_CHECK_LAYERS, "nodes[%zu] is of layer %" PRIu64 "; there are %" PRIu64,
                      i, id, v->n_layers);
    }
    qsort(ids, n_ids, sizeof *ids, tt_by_u64);
    for (i = 0; i < n_ids; i++)
        distinct += i == 0 || ids[i] != ids[i - 1];
    free(ids);
    if (!TT_EXAMINE(v, TT_CHECK_LAYERS, told == distinct))
        TT_OFFEND(v, TT_CHECK_LAYERS, "metadata.layers is %" PRIu64 "; its nodes are of %" PRIu64,
                  told, distinct);
}

void tt_dataset_check_graph(tt_dataset_verifier *v, const json_t *file, uint32_t number)
{
    const json_t *m = json_object_get(file, "metadata");
    const json_t *nodes = json_object_get(file, "nodes"), *edges = json_object_get(file, "edges");
    size_t n = json_array_size(nodes);
    uint64_t token = tt_count_of(file, "token_id");
    if (!TT_EXAMINE(v, TT_CHECK_ORDER, token == number))
        TT_OFFEND(v, TT_CHECK_ORDER, "its token_id is %" PRIu64, token);
    tt_dataset_check_count(v, "total_nodes", tt_count_of(m, "total_nodes"), n);
    tt_dataset_check_count(v, "total_edges", tt_count_of(m, "total_edges"), json_array_size(edges));
    check_nodes(v, nodes);
    check_edges(v, edges, n);
    check_layers(v, nodes, tt_count_of(m, "layers"));
    v->has_graph = true;
    v->graph_token = number;
    v->graph_nodes = n;
    tt_dataset_ops_of(v, json_object_get(file, "nodes"));
}
