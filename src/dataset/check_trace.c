/* traces/token-NNNNN.json: entries in execution order, sources at their declared offsets. */
#include "base/order.h"
#include "dataset/verifier.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void dataset_ops_of(tt_dataset_verifier *v, json_t *nodes);

/* graphs/token-NNNNN.json: nodes in order, edges between them, layers of the model. */

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

static void check_layers(tt_dataset_verifier *v, const json_t *nodes, uint64_t declared)
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
    if (!TT_EXAMINE(v, TT_CHECK_LAYERS, declared == distinct))
        TT_OFFEND(v, TT_CHECK_LAYERS, "metadata.layers is %" PRIu64 "; its nodes are of %" PRIu64,
                  declared, distinct);
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
    dataset_ops_of(v, json_object_get(file, "nodes"));
}

/* A token's entries against its graph: each is of a computing node with the graph's op, and every
 * computing node has one. */

void tt_dataset_ops_free(tt_dataset_verifier *v)
{
    json_decref(v->nodes);
    free(v->ops);
    v->nodes = NULL;
    v->ops = NULL;
    v->n_ops = 0;
}

/* The graph's computing nodes; marks those with an entry (false if the graph has no such op there);
 * reports those without. */
static void dataset_ops_of(tt_dataset_verifier *v, json_t *nodes)
{
    const json_t *n;
    size_t i;
    tt_dataset_ops_free(v);
    v->ops = calloc(json_array_size(nodes) + 1, sizeof *v->ops);
    v->no_memory |= !v->ops;
    if (!v->ops) return;
    v->nodes = json_incref(nodes);
    json_array_foreach(nodes, i, n)
    {
        if (strcmp(tt_text_of(n, "node_type"), "op") == 0)
            v->ops[v->n_ops++] = (tt_dataset_op){.node = i};
    }
}

static int by_node(const void *key, const void *element)
{
    const uint64_t *node = key;
    const tt_dataset_op *op = element;
    return *node < op->node ? -1 : *node > op->node;
}

static bool dataset_op_entry(tt_dataset_verifier *v, uint64_t node, const char *operation)
{
    tt_dataset_op *op = bsearch(&node, v->ops, v->n_ops, sizeof *v->ops, by_node);
    const char *end = operation + strlen(operation);
    if (!op) return false;
    /* A fused op's parts are the nodes before its last one: "RMS_NORM+MUL". */
    for (;; op--) {
        const char *part = end;
        while (part > operation && part[-1] != '+')
            part--;
        const char *is = tt_text_of(json_array_get(v->nodes, op->node), "operation");
        if (strlen(is) != (size_t)(end - part) || memcmp(is, part, (size_t)(end - part)) != 0)
            return false;
        op->seen = true;
        if (part == operation) return true;
        if (op == v->ops) return false;
        end = part - 1;
    }
}

static void dataset_ops_seen(tt_dataset_verifier *v)
{
    uint64_t missing = 0, first = 0;
    for (size_t i = 0; i < v->n_ops; i++) {
        v->checks[TT_CHECK_GRAPHS].examined++;
        if (v->ops[i].seen) continue;
        if (missing++ == 0) first = v->ops[i].node;
    }
    if (missing)
        TT_OFFEND(v, TT_CHECK_GRAPHS,
                  "no entry of %" PRIu64 " of the %zu ops of its graph, the first node_%" PRIu64,
                  missing, v->n_ops, first);
}

/* The current entry. */
typedef struct place {
    tt_dataset_verifier *v;
    uint32_t number; /* of the token */
    size_t entry;
} place;

#define OFFEND(p, check, format, ...)                                                              \
    TT_OFFEND((p)->v, check, "entries[%zu]" format, (p)->entry, __VA_ARGS__)

/* --- sources --- */

static void check_offset(const place *p, const json_t *s, size_t i, uint64_t offset)
{
    tt_dataset_verifier *v = p->v;
    const char *file = tt_text_of(s, "file"), *name = tt_text_of(s, "view_of");
    uint64_t size = tt_count_of(s, "size_bytes"), end, file_size;
    if (!name) name = tt_text_of(s, "name");
    if (!v->has_map) return;
    v->checks[TT_CHECK_OFFSETS].examined++;
    bool fits = !__builtin_add_overflow(offset, size, &end);
    if (!fits || !tt_dataset_file_size(v, file, &file_size) || end > file_size) {
        OFFEND(p, TT_CHECK_OFFSETS,
               ".sources[%zu]: byte %" PRIu64 " and the %" PRIu64
               " behind it are not in the model file",
               i, offset, size);
        return;
    }
    const tt_map_tensor *t = tt_dataset_find_tensor(v, v->n_files > 1 ? file : NULL, name);
    if (!t)
        OFFEND(p, TT_CHECK_OFFSETS, ".sources[%zu]: %.80s is no tensor of the memory map", i, name);
    else if (offset < t->start || end > t->end)
        OFFEND(p, TT_CHECK_OFFSETS,
               ".sources[%zu]: bytes %" PRIu64 " to %" PRIu64 " are not in %.80s, which is %" PRIu64
               " to %" PRIu64,
               i, offset, end, name, t->start, t->end);
}

static void check_buffer(const place *p, size_t i, const json_t *id)
{
    tt_dataset_verifier *v = p->v;
    uint64_t key = (uint64_t)json_integer_value(id);
    if (json_is_null(id) || !v->has_buffers) return;
    v->checks[TT_CHECK_BUFFERS].examined++;
    if (v->n_buffers == 0 || !bsearch(&key, v->buffers, v->n_buffers, sizeof key, tt_by_u64))
        OFFEND(p, TT_CHECK_BUFFERS, ".sources[%zu]: buffer %" PRIu64 " is not in the timeline", i,
               key);
}

static void check_layer(const place *p, const json_t *layer)
{
    tt_dataset_verifier *v = p->v;
    uint64_t id = (uint64_t)json_integer_value(layer);
    if (json_is_null(layer)) return;
    if (!TT_EXAMINE(v, TT_CHECK_LAYERS, !v->has_layers || id < v->n_layers))
        OFFEND(p, TT_CHECK_LAYERS, ": layer %" PRIu64 "; there are %" PRIu64, id, v->n_layers);
}

/* Which of the keys is present depends on where the bytes are. */
static void check_source(const place *p, const json_t *s, size_t i)
{
    const char *where = tt_text_of(s, "memory_source");
    const json_t *offset = json_object_get(s, "disk_offset");
    const json_t *buffer = json_object_get(s, "buffer_id");
    const json_t *copied = json_object_get(s, "file_offset_bytes");
    bool on_disk = where && strcmp(where, "DISK") == 0;
    p->v->checks[TT_CHECK_KEYS].examined++;
    if (on_disk ? !offset || buffer : offset || (where && !buffer))
        OFFEND(p, TT_CHECK_KEYS, ".sources[%zu]: a source in %s has %s", i, where ? where : "null",
               on_disk ? "disk_offset and no buffer_id" : "buffer_id and no disk_offset");
    if (offset) check_offset(p, s, i, (uint64_t)json_integer_value(offset));
    if (copied) check_offset(p, s, i, (uint64_t)json_integer_value(copied));
    if (buffer) check_buffer(p, i, buffer);
    check_layer(p, json_object_get(s, "layer_id"));
}

/* --- experts --- */

static void check_experts(const place *p, const json_t *e)
{
    tt_dataset_verifier *v = p->v;
    const json_t *ids = json_object_get(e, "expert_ids"), *id;
    const json_t *first = json_array_get(json_object_get(e, "sources"), 0);
    const json_t *num_experts = json_object_get(e, "num_experts");
    size_t i;
    if (json_is_null(ids) != json_is_null(num_experts) ||
        (json_is_array(ids) && tt_count_of(e, "num_experts") != json_array_size(ids)))
        OFFEND(p, TT_CHECK_COUNTS, ": num_experts is not how many expert_ids there are%s", "");
    if (!v->has_map || !first) return;
    const char *name = tt_text_of(first, "view_of");
    const tt_map_tensor *t =
        tt_dataset_find_tensor(v, v->n_files > 1 ? tt_text_of(first, "file") : NULL,
                               name ? name : tt_text_of(first, "name"));
    if (!t || t->slices == 0) return; /* the map does not list experts */
    json_array_foreach(ids, i, id)
    {
        uint64_t n = (uint64_t)json_integer_value(id);
        if (!TT_EXAMINE(v, TT_CHECK_EXPERTS, n < t->slices))
            OFFEND(p, TT_CHECK_EXPERTS, ": expert %" PRIu64 " of %.80s, which has %u", n, t->name,
                   (unsigned)t->slices);
    }
}

/* --- times --- */

static void check_threads(const place *p, const json_t *e, uint64_t start)
{
    const json_t *t;
    size_t i;
    bool begun = false;
    json_array_foreach(json_object_get(e, "threads"), i, t)
    {
        const json_t *arrive = json_object_get(t, "arrive_ns");
        const json_t *release = json_object_get(t, "release_ns");
        uint64_t from = tt_count_of(t, "start_ns");
        begun |= from == start && tt_count_of(t, "thread_id") == tt_count_of(e, "thread_id");
        bool right = from >= start && json_is_null(arrive) == json_is_null(release);
        if (right && !json_is_null(arrive))
            right = (uint64_t)json_integer_value(arrive) >= from &&
                    json_integer_value(release) >= json_integer_value(arrive);
        if (!right)
            OFFEND(p, TT_CHECK_ORDER, ".threads[%zu]: start, arrive and release do not ascend", i);
    }
    if (!begun) OFFEND(p, TT_CHECK_ORDER, ": no thread of it begins at its timestamp_ns%s", "");
}

static void check_place(const place *p, const json_t *e, uint64_t before, uint64_t start)
{
    uint64_t at = tt_count_of(e, "timestamp_ns");
    double ms = tt_number_of(e, "timestamp_relative_ms");
    p->v->checks[TT_CHECK_ORDER].examined++;
    if (tt_count_of(e, "entry_id") != p->entry)
        OFFEND(p, TT_CHECK_ORDER, " has the entry_id %" PRIu64, tt_count_of(e, "entry_id"));
    if (tt_count_of(e, "token_id") != p->number)
        OFFEND(p, TT_CHECK_ORDER, " has the token_id %" PRIu64, tt_count_of(e, "token_id"));
    if (at < before)
        OFFEND(p, TT_CHECK_ORDER, " begins before the one before it: %" PRIu64 " < %" PRIu64, at,
               before);
    if (at < start || fabs(ms - (double)(at - start) / 1e6) > 1e-6)
        OFFEND(p, TT_CHECK_ORDER,
               ": timestamp_relative_ms is %.6f; it is %.6f ms behind timestamp_start_ns", ms,
               ((double)at - (double)start) / 1e6);
    check_threads(p, e, at);
}

/* --- the file --- */

static void check_entry(const place *p, const json_t *e)
{
    tt_dataset_verifier *v = p->v;
    const json_t *sources = json_object_get(e, "sources"), *s;
    const char *node = tt_text_of(e, "node_id");
    uint64_t number;
    size_t i;
    if (!TT_EXAMINE(v, TT_CHECK_COUNTS, tt_count_of(e, "num_sources") == json_array_size(sources)))
        OFFEND(p, TT_CHECK_COUNTS, ": num_sources is %" PRIu64 "; there are %zu",
               tt_count_of(e, "num_sources"), json_array_size(sources));
    json_array_foreach(sources, i, s) check_source(p, s, i);
    check_layer(p, json_object_get(e, "layer_id"));
    check_experts(p, e);
    if (!node || !v->has_graph || v->graph_token != p->number) return;
    bool right = tt_dataset_node_number(node, &number) && number < v->graph_nodes;
    if (!TT_EXAMINE(v, TT_CHECK_GRAPHS, right))
        OFFEND(p, TT_CHECK_GRAPHS, ": its graph has no node %.40s", node);
    else if (!dataset_op_entry(v, number, tt_text_of(e, "operation_type")))
        OFFEND(p, TT_CHECK_GRAPHS, ": %.40s of its graph is no %.80s", node,
               tt_text_of(e, "operation_type"));
}

void tt_dataset_check_trace(tt_dataset_verifier *v, const json_t *file, uint32_t number)
{
    const json_t *entries = json_object_get(file, "entries"), *e;
    const json_t *m = json_object_get(file, "metadata");
    uint64_t start = tt_count_of(m, "timestamp_start_ns"), before = 0;
    uint64_t token = tt_count_of(file, "token_id");
    place p = {.v = v, .number = number};
    bool named = true; /* all entries name their nodes */
    if (!TT_EXAMINE(v, TT_CHECK_ORDER, token == number))
        TT_OFFEND(v, TT_CHECK_ORDER, "its token_id is %" PRIu64, token);
    tt_dataset_check_count(v, "total_entries", tt_count_of(m, "total_entries"),
                           json_array_size(entries));
    json_array_foreach(entries, p.entry, e)
    {
        check_place(&p, e, before, start);
        before = tt_count_of(e, "timestamp_ns");
        check_entry(&p, e);
        named &= json_object_get(e, "node_id") != NULL;
    }
    if (named && !v->may_lack && v->has_graph && v->graph_token == number) dataset_ops_seen(v);
    e = json_array_get(entries, 0);
    if (e && tt_count_of(e, "timestamp_ns") != start)
        TT_OFFEND(v, TT_CHECK_ORDER,
                  "timestamp_start_ns is %" PRIu64 "; its first entry begins at %" PRIu64, start,
                  tt_count_of(e, "timestamp_ns"));
    if (e && tt_number_of(m, "duration_ms") + 1e-6 < (double)(before - start) / 1e6)
        TT_OFFEND(v, TT_CHECK_ORDER,
                  "its last entry begins %.6f ms after the first; duration_ms "
                  "is %.6f",
                  (double)(before - start) / 1e6, tt_number_of(m, "duration_ms"));
}
