#include "analyze/collapse.h"

#include "base/bytes.h"
#include "base/checksum.h"
#include "base/idmap.h"
#include "base/order.h"
#include "base/saturate.h"

#include <stdlib.h>
#include <string.h>

/* Of a name, for shapes: strings of a trace can have any length, and many tensors may share one. */
#define NAME_COMPARED_MAX 128u
/* A node's description in a shape is smaller; see put_node. */
#define NODE_BYTES_MAX 512u

/* State while parts are made. */
typedef struct maker {
    tt_collapse *c;
    const tt_graph *g;
    int32_t *reach; /* by node: the last layer it needs, its own for one that has one */
    bool *needed;   /* by node: a layer's node needs it */
    uint32_t *at;   /* by node: its position in its part */
    uint32_t *seen; /* by tensor: 1 + the part that last used it from outside, its position there */
    uint32_t *seen_at;
    bool *leaves; /* by node: it is used in another part */
    tt_idmap shape_of;
} maker;

/* --- parts --- */

TT_ORDER_BY(by_part, tt_collapse_part, behind, layer_id)

static void find_reach(maker *k)
{
    tt_edge edges[TT_EDGES_MAX];
    for (uint32_t i = 0; i < k->g->n_nodes; i++) {
        int32_t layer = k->c->t->nodes[i].layer_id;
        k->reach[i] = layer < 0 ? TT_LAYER_NONE : layer;
        if (layer >= 0) continue;
        uint32_t n = tt_topology_edges(k->g, i, edges);
        for (uint32_t e = 0; e < n; e++)
            if (edges[e].source < i && k->reach[edges[e].source] > k->reach[i])
                k->reach[i] = k->reach[edges[e].source];
    }
}

static void find_needed(maker *k)
{
    tt_edge edges[TT_EDGES_MAX];
    for (uint32_t i = k->g->n_nodes; i-- > 0;) {
        if (!k->needed[i] && k->c->t->nodes[i].layer_id < 0) continue;
        uint32_t n = tt_topology_edges(k->g, i, edges);
        for (uint32_t e = 0; e < n; e++)
            if (edges[e].source < i) k->needed[edges[e].source] = true;
    }
}

static tt_collapse_part key_of(const maker *k, uint32_t node)
{
    tt_collapse_part p = {.layer_id = k->reach[node]};
    if (k->c->t->nodes[node].layer_id < 0 && p.layer_id >= 0 && !k->needed[node])
        p = (tt_collapse_part){.layer_id = TT_LAYER_NONE, .behind = true};
    return p;
}

static void count_node(tt_collapse_part *to, const tt_topology *t, uint32_t i)
{
    const tt_topology_node *n = &t->nodes[i];
    to->n_nodes++;
    to->n_executed += (t->graph->tensors[i].flags & TT_TENSOR_EXECUTES) != 0;
    if (n->op != i) return;
    to->n_ops++;
    to->timed += n->timed;
    to->ticks = tt_plus(to->ticks, n->ticks);
    to->weight_bytes = tt_plus(to->weight_bytes, n->weight_bytes);
    to->at_most |= n->at_most;
}

static void find_parts(maker *k)
{
    tt_collapse *c = k->c;
    uint32_t n = k->g->n_nodes, kept = 0;
    find_reach(k);
    find_needed(k);
    for (uint32_t i = 0; i < n; i++)
        c->parts[i] = key_of(k, i);
    if (n) qsort(c->parts, n, sizeof *c->parts, by_part);
    for (uint32_t i = 0; i < n; i++)
        if (i == 0 || by_part(&c->parts[kept - 1], &c->parts[i]) != 0)
            c->parts[kept++] = c->parts[i];
    c->n_parts = kept;
    for (uint32_t i = 0; i < n; i++) {
        tt_collapse_part key = key_of(k, i);
        tt_collapse_part *p = bsearch(&key, c->parts, kept, sizeof *c->parts, by_part);
        c->part_of[i] = (uint32_t)(p - c->parts);
        k->at[i] = p->n_nodes;
        count_node(p, c->t, i);
    }
}

/* --- passages --- */

TT_ORDER_BY(by_ends, tt_passage, from, to, tensor)

static void find_passages(maker *k)
{
    tt_collapse *c = k->c;
    tt_edge edges[TT_EDGES_MAX];
    size_t kept = 0;
    for (uint32_t i = 0; i < k->g->n_nodes; i++) {
        uint32_t n = tt_topology_edges(k->g, i, edges);
        for (uint32_t e = 0; e < n; e++) {
            uint32_t from = edges[e].source;
            if (from >= k->g->n_nodes || c->part_of[from] == c->part_of[i]) continue;
            c->passages[c->n_passages++] = (tt_passage){c->part_of[from], c->part_of[i], from};
            k->leaves[from] = true;
        }
    }
    if (c->n_passages) qsort(c->passages, c->n_passages, sizeof *c->passages, by_ends);
    for (size_t i = 0; i < c->n_passages; i++)
        if (i == 0 || by_ends(&c->passages[kept - 1], &c->passages[i]) != 0)
            c->passages[kept++] = c->passages[i];
    c->n_passages = kept;
}

/* --- shapes --- */

static void put_name(tt_bytes *b, const char *name)
{
    tt_bytes_u64(b, name ? tt_checksum(name, strnlen(name, NAME_COMPARED_MAX)) : 0);
}

/* A source of a node: another node of the part by its position; outside ones by the order of their
 * first use. */
static void put_source(maker *k, tt_bytes *b, uint32_t part, uint32_t tensor, uint32_t *n_outside)
{
    const tt_tensor *t = &k->g->tensors[tensor];
    bool is_node = tensor < k->g->n_nodes;
    if (is_node && k->c->part_of[tensor] == part) {
        tt_bytes_u8(b, 'n');
        tt_bytes_varint(b, k->at[tensor]);
        return;
    }
    bool first = k->seen[tensor] != part + 1;
    if (first) {
        k->seen[tensor] = part + 1;
        k->seen_at[tensor] = (*n_outside)++;
    }
    tt_bytes_u8(b, is_node ? 'o' : t->weight != TT_NONE ? 'w' : 'l');
    tt_bytes_varint(b, k->seen_at[tensor]);
    if (first && !is_node) put_name(b, t->place.component);
}

static void put_node(maker *k, tt_bytes *b, uint32_t i, uint32_t *n_outside)
{
    const tt_tensor *t = &k->g->tensors[i];
    const tt_topology_node *x = &k->c->t->nodes[i];
    uint32_t part = k->c->part_of[i];
    tt_edge edges[TT_EDGES_MAX];
    put_name(b, t->op_desc);
    put_name(b, t->place.component);
    tt_bytes_u8(b, (uint8_t)((t->flags & TT_TENSOR_EXECUTES) != 0) |
                       (uint8_t)((uint8_t)k->leaves[i] << 1));
    /* A fused op's nodes can be in two parts. */
    tt_bytes_varint(b, x->op == TT_NONE               ? 0
                       : x->op == i                   ? 1
                       : k->c->part_of[x->op] == part ? 3 + (uint64_t)k->at[x->op]
                                                      : 2);
    uint32_t n = tt_topology_edges(k->g, i, edges);
    tt_bytes_u8(b, (uint8_t)n);
    for (uint32_t e = 0; e < n; e++) {
        tt_bytes_u8(b, (uint8_t)(edges[e].slot == TT_NONE ? TT_SRC_MAX : edges[e].slot));
        tt_bytes_u8(b, edges[e].is_view);
        put_source(k, b, part, edges[e].source, n_outside);
    }
}

static bool name_shape(maker *k, tt_collapse_part *p, const tt_bytes *b)
{
    uint64_t sum = tt_checksum(b->data, b->size);
    uint32_t was;
    if (!tt_idmap_add(&k->shape_of, sum, k->c->n_shapes, &was)) return false;
    p->shape = was == TT_NONE ? k->c->n_shapes : was;
    if (was == TT_NONE) k->c->shapes[k->c->n_shapes++] = sum;
    return true;
}

/* Nodes by part: nodes[first[p]] .. nodes[first[p + 1] - 1], each part's in order. */
static bool sort_nodes(const maker *k, uint32_t **first, uint32_t **nodes)
{
    const tt_collapse *c = k->c;
    *first = calloc((size_t)c->n_parts + 1, sizeof **first);
    *nodes = calloc((size_t)k->g->n_nodes + 1, sizeof **nodes);
    if (!*first || !*nodes) return false;
    for (uint32_t p = 0; p < c->n_parts; p++)
        (*first)[p + 1] = (*first)[p] + c->parts[p].n_nodes;
    for (uint32_t i = 0; i < k->g->n_nodes; i++)
        (*nodes)[(*first)[c->part_of[i]] + k->at[i]] = i;
    return true;
}

static bool find_shapes(maker *k)
{
    tt_collapse *c = k->c;
    uint32_t *first = NULL, *nodes = NULL;
    tt_bytes b;
    tt_bytes_init(&b, (size_t)NODE_BYTES_MAX * ((size_t)k->g->n_nodes + 1));
    bool ok = sort_nodes(k, &first, &nodes);
    for (uint32_t p = 0; p < c->n_parts && ok; p++) {
        uint32_t outside = 0;
        tt_bytes_clear(&b);
        for (uint32_t i = first[p]; i < first[p + 1]; i++)
            put_node(k, &b, nodes[i], &outside);
        ok = !b.failed && name_shape(k, &c->parts[p], &b);
    }
    tt_bytes_free(&b);
    free(first);
    free(nodes);
    return ok;
}

static bool find_structure(maker *k)
{
    tt_collapse *c = k->c;
    tt_bytes b;
    tt_bytes_init(&b, 32 * ((size_t)c->n_parts + c->n_passages + 1));
    for (uint32_t i = 0; i < c->n_parts; i++) {
        tt_bytes_u32(&b, (uint32_t)tt_layer_number(c->parts[i].layer_id));
        tt_bytes_u8(&b, c->parts[i].behind);
        tt_bytes_u64(&b, c->shapes[c->parts[i].shape]);
    }
    for (size_t i = 0; i < c->n_passages; i++) {
        tt_bytes_u32(&b, c->passages[i].from);
        tt_bytes_u32(&b, c->passages[i].to);
        tt_bytes_u32(&b, k->at[c->passages[i].tensor]);
    }
    c->structure = tt_checksum(b.data, b.size);
    bool ok = !b.failed;
    tt_bytes_free(&b);
    return ok;
}

static bool take_memory(maker *k)
{
    tt_collapse *c = k->c;
    size_t n = (size_t)k->g->n_nodes + 1, all = (size_t)k->g->n_tensors + 1;
    c->part_of = calloc(n, sizeof *c->part_of);
    c->parts = calloc(n, sizeof *c->parts);
    c->shapes = calloc(n, sizeof *c->shapes);
    c->passages = calloc((size_t)c->t->n_edges + 1, sizeof *c->passages);
    k->reach = calloc(n, sizeof *k->reach);
    k->needed = calloc(n, sizeof *k->needed);
    k->at = calloc(n, sizeof *k->at);
    k->leaves = calloc(n, sizeof *k->leaves);
    k->seen = calloc(all, sizeof *k->seen);
    k->seen_at = calloc(all, sizeof *k->seen_at);
    return c->part_of && c->parts && c->shapes && c->passages && k->reach && k->needed && k->at &&
           k->leaves && k->seen && k->seen_at;
}

tt_status tt_collapse_make(const tt_topology *t, tt_collapse *out, tt_error *err)
{
    *out = (tt_collapse){.t = t};
    maker k = {.c = out, .g = t->graph};
    bool ok = take_memory(&k);
    if (ok) {
        find_parts(&k);
        find_passages(&k);
        ok = find_shapes(&k) && find_structure(&k);
    }
    free(k.reach);
    free(k.needed);
    free(k.at);
    free(k.leaves);
    free(k.seen);
    free(k.seen_at);
    tt_idmap_free(&k.shape_of);
    return ok ? TT_OK : tt_error_memory(err, "collapsing the graph");
}

void tt_collapse_free(tt_collapse *c)
{
    free(c->part_of);
    free(c->parts);
    free(c->passages);
    free(c->shapes);
    *c = (tt_collapse){0};
}
