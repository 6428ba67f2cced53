#include "adapter/ggml/graphs.h"

#include "adapter/ggml/batches.h"
#include "adapter/ggml/buffers.h"
#include "adapter/ggml/capture.h"
#include "adapter/ggml/names.h"
#include "adapter/ggml/process.h"
#include "base/array.h"
#include "base/checksum.h"
#include "base/idmap.h"
#include "format/meta.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* What identifies a tensor: everything up to the end of its name. */
#define IDENTITY_BYTES (offsetof(struct ggml_tensor, name) + GGML_MIRROR_NAME)
#define OP_NONE 0            /* GGML_OP_NONE: a leaf, unless it is a view */
#define GRAPHS_MAX 16384u    /* known at one time */
#define ADDRESSES_MAX 65536u /* graphs by address, known at one time */
#define KEPT_PART 8u         /* known graphs take at most this part of a flight recorder's size */
#define KEPT_MIN_BYTES 262144u
#define PREFETCH_AHEAD 4
#define LAID_OUT 64u   /* a power of two */
#define NODES_AT 4096u /* likewise */
#define MARKING_MAX 4  /* engines in a process: ggml, the program, both */

/* What is kept for a recorded graph. */
typedef struct recorded {
    tt_graph_input *inputs;
    uint32_t n_inputs;
} recorded;

static recorded *graphs; /* by id - 1 - graphs_before */
static uint32_t graphs_capacity;
static uint32_t graphs_before; /* ids of graphs that have been forgotten */
static uint32_t ended;         /* ids that the trace declares as ended */
static uint64_t known_bytes;   /* of the records of known graphs */
/* Ids of graphs by hash: of addresses and contents (cheap, valid while no buffer is added or
 * removed), and of the recorded topology. */
static tt_idmap by_address, by_topology;
static uint64_t by_address_generation;
static uint32_t last_graph;
/* Graphs in layouts that may still be valid, by address; a new one replaces the old. */
static struct {
    struct ggml_tensor **nodes;
    int n_nodes;
    uint32_t id;
    uint64_t layout, generation;
} laid_out[LAID_OUT];

static uint32_t known_as(const tt_idmap *m, uint64_t hash)
{
    const uint32_t id = tt_idmap_get(m, hash);
    return id == TT_NONE ? 0 : id;
}

static void know(tt_idmap *m, uint64_t hash, uint32_t id)
{
    uint32_t was;
    /* Graphs still in use will be added again. */
    if (m->n >= ADDRESSES_MAX / 2) tt_idmap_clear(m);
    if (tt_idmap_add(m, hash, id, &was) && was != TT_NONE) (void)tt_idmap_set(m, hash, id);
}

/* Drops all graphs; one that is computed again gets a new id. */
static void forget_known(void)
{
    tt_idmap_free(&by_address);
    tt_idmap_free(&by_topology);
    memset(laid_out, 0, sizeof laid_out);
    for (uint32_t i = 0; i < graphs_capacity; i++)
        free(graphs[i].inputs);
    free(graphs);
    graphs = NULL;
    graphs_capacity = 0;
    graphs_before = last_graph;
    known_bytes = 0;
}

bool tt_graphs_knows(uint32_t graph)
{
    return graph > graphs_before && graph <= last_graph;
}

void tt_graphs_reset(void)
{
    forget_known();
    graphs_before = last_graph = ended = 0;
}

/* Bounds the memory for programs that keep making new graphs. The graphs dropped last time are
 * declared ended only now, when none of their runs can still be written to the trace. */
static void keep_bounded(tt_recorder *r, size_t next_bytes)
{
    uint64_t most = tt_process_options()->keep_bytes / KEPT_PART;
    if (most && most < KEPT_MIN_BYTES) most = KEPT_MIN_BYTES;
    bool many = last_graph - graphs_before >= GRAPHS_MAX;
    bool large = most && known_bytes && known_bytes + next_bytes > most;
    if (!many && !large) return;
    if (ended) {
        tt_bytes payload;
        tt_bytes_init(&payload, 64);
        tt_meta_put_graphs_end(&payload, &(tt_meta_graphs_end){ended});
        (void)tt_process_put(r, TT_META_GRAPHS_END, &payload);
    }
    ended = last_graph;
    forget_known();
}

bool tt_graphs_marked(const tt_engine *e, struct ggml_tensor *const *nodes, int n_nodes)
{
    static _Atomic(const tt_engine *) marking[MARKING_MAX];
    int n = 0;
    for (const tt_engine *known; n < MARKING_MAX && (known = atomic_load(&marking[n])); n++)
        if (known == e) return true;
    for (int i = 0; i < n_nodes; i++) {
        if (!(nodes[i]->flags & GGML_MIRROR_FLAG_COMPUTE)) continue;
        if (n < MARKING_MAX) atomic_store(&marking[n], e);
        return true;
    }
    return false;
}

bool tt_graphs_executes(const struct ggml_tensor *t, bool marked)
{
    if (tt_engine_op_is_empty(t->op)) return false;
    if (marked && !(t->flags & GGML_MIRROR_FLAG_COMPUTE)) return false;
    return !tt_graphs_is_empty(t);
}

/* --- numbers of a graph's tensors: nodes first, then their other sources, and what those are views
 * of, in order of first use --- */

typedef struct numbering {
    const struct ggml_tensor **list;
    uint32_t n, capacity;
    const struct ggml_tensor **key; /* hash table: tensor to number */
    uint32_t *number;
    uint32_t size;
} numbering;

static uint32_t hash_pointer(const void *p, uint32_t size)
{
    return (uint32_t)(((uint64_t)(uintptr_t)p >> 4) * 0x9e3779b97f4a7c15u >> 32) & (size - 1);
}

/* The tensor's number; a new tensor gets the next one. UINT32_MAX when full. */
static uint32_t number_of(numbering *g, const struct ggml_tensor *t)
{
    uint32_t i = hash_pointer(t, g->size);
    while (g->key[i] && g->key[i] != t)
        i = (i + 1) & (g->size - 1);
    if (g->key[i]) return g->number[i];
    if (g->n == g->capacity) return UINT32_MAX;
    g->key[i] = t;
    g->number[i] = g->n;
    g->list[g->n] = t;
    return g->n++;
}

static bool numbering_begin(numbering *g, struct ggml_tensor *const *nodes, uint32_t n_nodes)
{
    memset(g, 0, sizeof *g);
    g->capacity = n_nodes * (GGML_MIRROR_SRC + 2) + 1;
    if (g->capacity > 4 * n_nodes + 1024) g->capacity = 4 * n_nodes + 1024;
    g->size = 64;
    while (g->size < g->capacity * 2)
        g->size *= 2;
    g->list = malloc(g->capacity * sizeof *g->list);
    g->number = malloc(g->size * sizeof *g->number);
    g->key = calloc(g->size, sizeof *g->key);
    if (!g->list || !g->number || !g->key) return false;
    for (uint32_t i = 0; i < n_nodes; i++)
        if (number_of(g, nodes[i]) != i)
            return false; /* a node occurs twice: not a supported graph */
    return true;
}

static void numbering_end(numbering *g)
{
    free(g->list);
    free(g->number);
    free(g->key);
}

static bool is_remote(const tt_engine *e, void *sched, const struct ggml_tensor *node)
{
    return sched && e->sched_tensor_backend &&
           tt_engine_is_remote(e, e->sched_tensor_backend(sched, node));
}

static void describe_tensor(tt_recorder *r, const tt_engine *e, numbering *g, uint32_t index,
                            uint32_t n_nodes, bool marked, void *sched, tt_bytes *out)
{
    const struct ggml_tensor *t = g->list[index];
    tt_meta_tensor m = {.op = (uint32_t)t->op, .type = (uint32_t)t->type};
    size_t length;
    const char *name = tt_tensor_name(t, &length);
    m.name = tt_names_id_n(r, name, length);
    m.op_name = tt_names_id(r, e->op_name(t->op));
    m.op_desc = tt_names_id(r, e->op_desc(t));
    m.type_name = tt_names_id(r, e->type_name(t->type));
    if (index < n_nodes && tt_graphs_executes(t, marked))
        m.flags |= TT_TENSOR_EXECUTES | (is_remote(e, sched, t) ? TT_TENSOR_UNTIMED : 0);
    if (t->flags & GGML_MIRROR_FLAG_INPUT) m.flags |= TT_TENSOR_INPUT;
    if (t->flags & GGML_MIRROR_FLAG_OUTPUT) m.flags |= TT_TENSOR_OUTPUT;
    for (uint32_t i = 0; i < TT_DIMS; i++) {
        m.ne[i] = (uint64_t)t->ne[i];
        m.nb[i] = t->nb[i];
    }
    /* For a tensor without elements, engines of 2024 return a negative size. */
    m.size_bytes = tt_graphs_is_empty(t) ? 0 : e->nbytes(t);
    /* What another graph computes is a leaf here, wherever it comes from. */
    for (uint32_t i = 0; i < GGML_MIRROR_SRC && index < n_nodes; i++) {
        if (!t->src[i]) continue;
        m.src[i] = number_of(g, t->src[i]) + 1;
        m.n_src = i + 1;
    }
    if (t->view_src) {
        m.view_src = number_of(g, t->view_src) + 1;
        m.view_offset_bytes = t->view_offs;
    }
    tt_location where = tt_buffers_locate(r, e, t);
    m.buffer = where.buffer;
    m.location = where.at;
    tt_meta_put_tensor(out, &m);
}

/* --- inputs --- */

const struct ggml_tensor *tt_graphs_input_leaf(const struct ggml_tensor *node)
{
    const struct ggml_tensor *t = node->src[1];
    while (t && t->view_src)
        t = t->view_src;
    return t;
}

/* Whether the row numbers may be token ids: of any table of the model except those of positions
 * and token types. */
static bool may_be_tokens(const tt_engine *e, const struct ggml_tensor *node)
{
    const struct ggml_tensor *table = node->src[0];
    if (tt_batches_is_tokens(e, node, 1)) return true;
    if (!table || table->op != OP_NONE || strcmp(e->op_name(node->op), "GET_ROWS") != 0)
        return false;
    return !memmem(table->name, sizeof table->name, "position_embd", 13) &&
           !memmem(table->name, sizeof table->name, "token_types", 11);
}

/* Whether the node is a GET_ROWS or SET_ROWS whose row numbers exist before the graph runs. Values
 * scattered one by one (a transposed cache) are left out: their numbers would outweigh everything
 * else. split: the scheduler has made its copies for the graph. */
static bool takes_rows(const tt_engine *e, const struct ggml_tensor *node, bool split)
{
    const char *op = node->src[1] ? e->op_name(node->op) : "";
    if (strcmp(op, "GET_ROWS") != 0 && strcmp(op, "SET_ROWS") != 0) return false;
    const struct ggml_tensor *leaf = tt_graphs_input_leaf(node);
    if (leaf->op != OP_NONE || leaf->flags & GGML_MIRROR_FLAG_OUTPUT) return false;
    if (!split && tt_batches_is_copy(leaf)) return false;
    if (op[0] == 'S' && node->ne[0] <= 1) return false;
    return tt_capture_options.text || !may_be_tokens(e, node);
}

/* Collects the leafs that hold row numbers, each once. False if out of memory. */
static bool find_inputs(const tt_engine *e, numbering *g, uint32_t n_nodes, bool marked, bool split,
                        recorded *out)
{
    for (uint32_t i = 0; i < n_nodes; i++) {
        bool known = !tt_graphs_executes(g->list[i], marked) || !takes_rows(e, g->list[i], split);
        uint32_t leaf = known ? 0 : number_of(g, tt_graphs_input_leaf(g->list[i]));
        for (uint32_t k = 0; !known && k < out->n_inputs; k++)
            known = out->inputs[k].tensor == leaf;
        if (known) continue;
        tt_graph_input *more = realloc(out->inputs, (out->n_inputs + 1) * sizeof *more);
        if (!more) return false;
        out->inputs = more;
        out->inputs[out->n_inputs++] = (tt_graph_input){i, leaf};
    }
    return true;
}

static void keep_recorded(uint32_t id, recorded *what)
{
    uint32_t at = id - graphs_before;
    if (!tt_array_room_zeroed(graphs, graphs_capacity, at)) return;
    graphs[at - 1] = *what;
    *what = (recorded){0};
}

const tt_graph_input *tt_graphs_inputs(uint32_t graph, uint32_t *n)
{
    bool known = graph > graphs_before && graph - graphs_before <= graphs_capacity;
    const recorded *kept = known ? &graphs[graph - graphs_before - 1] : NULL;
    *n = known ? kept->n_inputs : 0;
    return known ? kept->inputs : NULL;
}

/* --- backends --- */

static const char *backend_of(const tt_engine *e, void *sched, const struct ggml_tensor *node)
{
    if (!sched) return "CPU";
    if (!e->sched_tensor_backend || !e->backend_name) return "";
    void *backend = e->sched_tensor_backend(sched, node);
    return backend ? e->backend_name(backend) : "";
}

static void put_backends(tt_recorder *r, const tt_engine *e, void *sched,
                         struct ggml_tensor *const *nodes, uint32_t n_nodes, tt_bytes *out)
{
    uint32_t n = 0, begin = 0, last = 0;
    tt_bytes intervals;
    tt_bytes_init(&intervals, TT_META_RECORD_MAX);
    for (uint32_t i = 0; i <= n_nodes; i++) {
        uint32_t name = i < n_nodes ? tt_names_id(r, backend_of(e, sched, nodes[i])) : 0;
        if (i == 0) last = name;
        if (i < n_nodes && name == last) continue;
        tt_bytes_varint(&intervals, last);
        tt_bytes_varint(&intervals, i - begin);
        begin = i;
        last = name;
        n++;
    }
    tt_bytes_varint(out, n);
    tt_bytes_put(out, intervals.data, intervals.size);
    out->failed |= intervals.failed;
    tt_bytes_free(&intervals);
}

static void put_stages(const tt_engine *e, struct ggml_tensor *const *nodes, uint32_t n_nodes,
                       tt_bytes *out)
{
    uint32_t n = 0, stage;
    int32_t layer;
    for (uint32_t i = 0; i < n_nodes; i++)
        n += e->stage(nodes[i], &stage, &layer);
    tt_bytes_varint(out, n);
    for (uint32_t i = 0; i < n_nodes; i++)
        if (e->stage(nodes[i], &stage, &layer))
            tt_meta_put_stage(out, &(tt_meta_stage){i, stage, layer});
}

/* Everything of the GRAPH payload after the id. */
static bool describe(tt_recorder *r, const tt_engine *e, struct ggml_tensor **nodes,
                     uint32_t n_nodes, void *sched, tt_bytes *out, recorded *keep)
{
    numbering g;
    bool marked = tt_graphs_marked(e, nodes, (int)n_nodes);
    tt_bytes tensors;
    tt_bytes_init(&tensors, TT_META_RECORD_MAX);
    bool ok = numbering_begin(&g, nodes, n_nodes);
    /* Describing a tensor may number new leafs, which the loop describes in turn. */
    for (uint32_t i = 0; ok && i < g.n; i++)
        describe_tensor(r, e, &g, i, n_nodes, marked, sched, &tensors);
    if (ok) ok = find_inputs(e, &g, n_nodes, marked, !sched, keep);
    if (ok) {
        tt_bytes_varint(out, n_nodes);
        tt_bytes_varint(out, g.n);
        tt_bytes_put(out, tensors.data, tensors.size);
        put_backends(r, e, sched, nodes, n_nodes, out);
        if (e->stage) put_stages(e, nodes, n_nodes, out);
        ok = !tensors.failed && !out->failed;
    }
    numbering_end(&g);
    tt_bytes_free(&tensors);
    return ok;
}

static uint32_t record_graph(tt_recorder *r, const tt_engine *e, struct ggml_tensor **nodes,
                             uint32_t n_nodes, void *sched)
{
    tt_bytes body, payload;
    recorded keep = {0};
    uint32_t id = 0;
    tt_bytes_init(&body, TT_META_RECORD_MAX);
    tt_bytes_init(&payload, TT_META_RECORD_MAX);
    if (describe(r, e, nodes, n_nodes, sched, &body, &keep)) {
        uint64_t hash = tt_checksum(body.data, body.size);
        id = known_as(&by_topology, hash);
        if (!id) {
            keep_bounded(r, body.size);
            tt_bytes_varint(&payload, last_graph + 1);
            tt_bytes_put(&payload, body.data, body.size);
            if (tt_process_put(r, TT_META_GRAPH, &payload)) {
                id = ++last_graph;
                known_bytes += body.size;
                know(&by_topology, hash, id);
                keep_recorded(id, &keep);
                atomic_fetch_add(&tt_recorder_area(r)->area->counts.graphs, 1);
            }
        }
    }
    free(keep.inputs);
    tt_bytes_free(&body);
    tt_bytes_free(&payload);
    return id;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 32;
}

/* Includes the rest of long names: graphs may differ only there. */
static uint64_t hash_tensor(const struct ggml_tensor *t)
{
    uint64_t hash = tt_checksum(t, IDENTITY_BYTES);
    if (__builtin_expect(tt_engine_name_bytes == GGML_MIRROR_NAME, 1)) return hash;
    size_t length;
    const char *name = tt_tensor_name(t, &length);
    return length < GGML_MIRROR_NAME ? hash : mix(hash, tt_checksum(name, length));
}

/* Hashes the node's address and content, and the content of its sources that are not nodes of the
 * graph: the engine reuses addresses for other tensors. `at`: by address, the index of a node that
 * was hashed before, if nodes[that] is the one; a source that another node has displaced is hashed
 * again, the same way each time. */
static uint64_t hash_node(struct ggml_tensor *const *nodes, uint32_t index, uint64_t hash)
{
    static uint32_t at[NODES_AT];
    const struct ggml_tensor *t = nodes[index];
    hash = mix(hash, hash_tensor(t) + (uint64_t)(uintptr_t)t);
    for (int i = 0; i < GGML_MIRROR_SRC; i++) {
        const struct ggml_tensor *s = t->src[i];
        if (!s) continue;
        const uint32_t known = s->op == OP_NONE ? index : at[hash_pointer(s, NODES_AT)];
        if (known < index && nodes[known] == s) continue;
        hash = mix(hash, hash_tensor(s));
        if (s->view_src) hash = mix(hash, hash_tensor(s->view_src));
    }
    at[hash_pointer(t, NODES_AT)] = index;
    return hash;
}

/* Between two batches the weights have displaced everything else from the caches. */
static void prefetch(const struct ggml_tensor *t)
{
    for (size_t at = 0; at < IDENTITY_BYTES; at += 64)
        __builtin_prefetch((const uint8_t *)t + at);
}

static uint32_t identify(tt_recorder *r, const tt_engine *e, struct ggml_tensor **nodes,
                         int n_nodes, void *sched)
{
    if (by_address_generation != tt_buffers_generation()) {
        tt_idmap_free(&by_address);
        by_address_generation = tt_buffers_generation();
    }
    uint64_t hash = (uint64_t)n_nodes;
    for (int i = 0; i < n_nodes; i++) {
        if (i + PREFETCH_AHEAD < n_nodes) prefetch(nodes[i + PREFETCH_AHEAD]);
        hash = hash_node(nodes, (uint32_t)i, hash);
    }
    uint32_t id = known_as(&by_address, hash);
    if (id) return id;
    id = record_graph(r, e, nodes, (uint32_t)n_nodes, sched);
    /* Describing the graph may have added buffers. */
    if (by_address_generation != tt_buffers_generation()) {
        tt_idmap_free(&by_address);
        by_address_generation = tt_buffers_generation();
    }
    if (id) know(&by_address, hash, id);
    return id;
}

uint32_t tt_graphs_identify(tt_recorder *r, const tt_engine *e, struct ggml_tensor **nodes,
                            int n_nodes, void *sched, uint64_t layout)
{
    if (n_nodes <= 0 || (uint32_t)n_nodes > TT_OPS_NODE_MAX) return 0;
    uint32_t at = hash_pointer(nodes, LAID_OUT);
    if (layout && laid_out[at].layout == layout && laid_out[at].nodes == nodes &&
        laid_out[at].n_nodes == n_nodes && laid_out[at].generation == tt_buffers_generation())
        return laid_out[at].id;
    uint32_t id = identify(r, e, nodes, n_nodes, sched);
    laid_out[at].nodes = nodes;
    laid_out[at].n_nodes = n_nodes;
    laid_out[at].id = id;
    laid_out[at].layout = id ? layout : 0;
    laid_out[at].generation = tt_buffers_generation();
    return id;
}
