/* graphs/token-NNNNN.json: the graphs that a batch computed. Most batches compute the same ones, so
 * a thread caches the last text. */
#include "analyze/topology.h"
#include "base/array.h"
#include "export/dataset/tokens.h"

#include <stdlib.h>
#include <string.h>

#define KEPT_TENSORS_MAX 65536u /* of graphs whose text is cached */
#define LAYERS_MAX 65536u

/* Totals of the graphs of a batch, over all its runs. */
typedef struct sums {
    uint64_t nodes, edges;
    uint32_t layers;
    uint8_t seen[LAYERS_MAX]; /* by layer */
} sums;

typedef struct keeper {
    const tt_dataset *d;
    sums sums;
    uint32_t *graphs; /* of `text`, by run */
    size_t n_graphs, capacity;
    char *text; /* of the lists; NULL: nothing is cached */
    size_t n;
    tt_json json;
} keeper;

static void *open_keeper(tt_dataset *d)
{
    keeper *k = calloc(1, sizeof *k);
    if (k) k->d = d;
    return k;
}

static void free_text(keeper *k)
{
    free(k->text);
    k->text = NULL;
}

static void close_keeper(void *own)
{
    keeper *k = own;
    free(k->graphs);
    free(k->text);
    free(k);
}

/* --- one graph --- */

static int32_t layer_of(const tt_topology *t, uint32_t i)
{
    int32_t layer =
        i < t->graph->n_nodes ? t->nodes[i].layer_id : t->graph->tensors[i].place.layer_id;
    return tt_layer_number(layer) < (int32_t)LAYERS_MAX ? tt_layer_number(layer) : TT_LAYER_NONE;
}

static const char *node_type(const tt_graph *g, uint32_t i)
{
    const tt_tensor *t = &g->tensors[i];
    if (i < g->n_nodes) return t->flags & TT_TENSOR_EXECUTES ? "op" : "view";
    if (t->weight != TT_NONE) return "weight";
    return t->flags & TT_TENSOR_INPUT ? "input" : "leaf";
}

static void put_shape(tt_json *j, const tt_tensor *t)
{
    unsigned n = TT_DIMS;
    while (n > 1 && t->ne[n - 1] == 1)
        n--;
    tt_json_key(j, "shape");
    tt_json_array(j);
    for (unsigned i = 0; i < n; i++)
        tt_json_u64(j, t->ne[i]);
    tt_json_array_end(j);
}

static void put_id(tt_json *j, const char *key, uint64_t node)
{
    char text[32];
    (void)snprintf(text, sizeof text, "node_%llu", (unsigned long long)node);
    tt_json_kv_string(j, key, text);
}

static void put_nodes(tt_json *j, const tt_model *m, const tt_topology *t, uint64_t first)
{
    for (uint32_t i = 0; i < t->graph->n_tensors; i++) {
        const tt_tensor *x = &t->graph->tensors[i];
        int32_t layer = layer_of(t, i);
        tt_json_object(j);
        put_id(j, "id", first + i);
        tt_dataset_address(j, "address", m, x);
        tt_json_kv_string(j, "label", x->name);
        tt_json_kv_string(j, "operation", x->op_name);
        put_shape(j, x);
        tt_json_kv_string(j, "dtype", tt_dataset_dtype(x));
        tt_dataset_known(j, "layer_id", layer >= 0, (uint64_t)(layer >= 0 ? layer : 0));
        tt_json_kv_string(j, "category", x->place.category);
        tt_json_kv_string(j, "node_type", node_type(t->graph, i));
        tt_json_object_end(j);
    }
}

static void put_edges(tt_json *j, const tt_graph *g, uint64_t first)
{
    tt_edge edges[TT_EDGES_MAX];
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        uint32_t n = tt_topology_edges(g, i, edges);
        for (uint32_t k = 0; k < n; k++) {
            char label[16] = "view";
            if (edges[k].slot != TT_NONE)
                (void)snprintf(label, sizeof label, "src %u", (unsigned)edges[k].slot);
            tt_json_object(j);
            put_id(j, "source", first + edges[k].source);
            put_id(j, "target", first + edges[k].target);
            tt_json_kv_string(j, "label", label);
            tt_json_object_end(j);
        }
    }
}

static void count(sums *s, const tt_topology *t)
{
    s->nodes += t->graph->n_tensors;
    s->edges += t->n_edges;
    for (uint32_t i = 0; i < t->graph->n_tensors; i++) {
        int32_t layer = layer_of(t, i);
        if (layer < 0 || s->seen[layer]) continue;
        s->seen[layer] = 1;
        s->layers++;
    }
}

/* --- those of a batch --- */

typedef enum what { COUNTS, NODES, EDGES } what;

/* Visits the graphs of the batch; their nodes are numbered consecutively. */
static tt_status each_graph(keeper *k, const tt_model *m, uint32_t batch, what w, tt_json *j,
                            tt_error *err)
{
    uint64_t first = 0;
    tt_status status = TT_OK;
    for (uint32_t r = k->d->first_run[batch]; r != TT_NONE; r = k->d->next_run[r]) {
        tt_topology *t;
        uint32_t graph = m->runs[r].graph;
        if (graph == TT_NONE) continue;
        if (w == EDGES) {
            put_edges(j, &m->graphs[graph], first);
        } else {
            status = tt_topology_make(m, graph, TT_NONE, &t, err);
            if (status != TT_OK) return status;
            if (w == COUNTS)
                count(&k->sums, t);
            else
                put_nodes(j, m, t, first);
            tt_topology_free(t);
        }
        first += m->graphs[graph].n_tensors;
    }
    return status;
}

static tt_status put_lists(keeper *k, const tt_model *m, uint32_t batch, tt_json *j, tt_error *err)
{
    tt_json_key(j, "nodes");
    tt_json_array(j);
    tt_status status = each_graph(k, m, batch, NODES, j, err);
    tt_json_array_end(j);
    tt_json_key(j, "edges");
    tt_json_array(j);
    if (status == TT_OK) status = each_graph(k, m, batch, EDGES, j, err);
    tt_json_array_end(j);
    return status;
}

static bool is_kept(const keeper *k, const tt_model *m, uint32_t batch)
{
    size_t n = 0;
    if (!k->text) return false;
    for (uint32_t r = k->d->first_run[batch]; r != TT_NONE; r = k->d->next_run[r]) {
        if (m->runs[r].graph == TT_NONE) continue;
        if (n == k->n_graphs || k->graphs[n++] != m->runs[r].graph) return false;
    }
    return n == k->n_graphs;
}

static bool note_graphs(keeper *k, const tt_model *m, uint32_t batch)
{
    k->n_graphs = 0;
    for (uint32_t r = k->d->first_run[batch]; r != TT_NONE; r = k->d->next_run[r]) {
        if (m->runs[r].graph == TT_NONE) continue;
        if (!tt_array_one_more(k->graphs, k->n_graphs, k->capacity)) return false;
        k->graphs[k->n_graphs++] = m->runs[r].graph;
    }
    return true;
}

/* Renders the lists as they follow other members of an object: ,"nodes":... */
static tt_status keep(keeper *k, const tt_model *m, uint32_t batch, tt_error *err)
{
    tt_json j;
    if (!note_graphs(k, m, batch)) return tt_error_memory(err, "a graph's text");
    FILE *out = open_memstream(&k->text, &k->n);
    if (!out) return tt_error_memory(err, "a graph's text");
    tt_json_begin(&j, out, 0);
    tt_json_object(&j);
    tt_status status = put_lists(k, m, batch, &j, err);
    tt_json_object_end(&j);
    bool ok = tt_json_end(&j);
    if ((fclose(out) != 0 || !ok) && status == TT_OK)
        status = tt_error_memory(err, "a graph's text");
    if (status != TT_OK) {
        free_text(k);
        return status;
    }
    k->text[0] = ',';
    k->n -= 2; /* the brace and the line end */
    return TT_OK;
}

static void put_front(const keeper *k, const tt_model *m, uint32_t batch, tt_json *j)
{
    char time[TT_DATASET_TIME_TEXT];
    bool timed = tt_dataset_time(tt_dataset_unix_ns(m, m->batches[batch].begin_ticks), time);
    tt_json_kv_string(j, "experiment_id", k->d->id);
    tt_json_kv_u64(j, "token_id", batch);
    tt_json_key(j, "metadata");
    tt_json_object(j);
    tt_json_kv_u64(j, "total_nodes", k->sums.nodes);
    tt_json_kv_u64(j, "total_edges", k->sums.edges);
    tt_json_kv_u64(j, "layers", k->sums.layers);
    tt_json_kv_string(j, "timestamp_generated", timed ? time : NULL);
    tt_json_object_end(j);
}

static tt_status write_graphs(const tt_dataset *d, void *own, const tt_model *m, uint32_t batch,
                              tt_dataset_file *file, uint64_t *n_items, tt_error *err)
{
    keeper *k = own;
    tt_status status = TT_OK;
    (void)d;
    if (!is_kept(k, m, batch)) {
        free_text(k);
        memset(&k->sums, 0, sizeof k->sums);
        status = each_graph(k, m, batch, COUNTS, NULL, err);
        if (status == TT_OK && k->sums.nodes <= KEPT_TENSORS_MAX) status = keep(k, m, batch, err);
    }
    FILE *out = status == TT_OK ? tt_dataset_file_stream(file) : NULL;
    if (!out) return status == TT_OK ? tt_error_memory(err, "a graph's text") : status;
    *n_items = k->sums.nodes;
    tt_json_begin(&k->json, out, 0);
    tt_json_object(&k->json);
    put_front(k, m, batch, &k->json);
    if (k->text)
        tt_json_again(&k->json, k->text, k->n);
    else
        status = put_lists(k, m, batch, &k->json, err);
    tt_json_object_end(&k->json);
    (void)tt_json_end(&k->json);
    (void)fclose(out);
    return status;
}

tt_status tt_dataset_graphs(tt_dataset *d, tt_dataset_sum *sum, tt_error *err)
{
    static const tt_dataset_kind kind = {"graphs", open_keeper, close_keeper, write_graphs};
    return tt_dataset_write_tokens(d, &kind, sum, err);
}
