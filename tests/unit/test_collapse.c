/* Graphs collapsed by layer, and which layers are built alike. */
#include "tests.h"

#include "../golden/synth_trace.c"
#include "analyze/collapse.h"

#include <stdlib.h>
#include <string.h>

typedef struct opened {
    tt_bytes bytes;
    tt_model *m;
    tt_topology *t;
} opened;

static opened open_run(uint32_t layers, uint32_t run)
{
    synth_plan p = synth_default();
    opened o = {.m = NULL};
    if (layers) p.layers = layers;
    tt_bytes_init(&o.bytes, SIZE_MAX / 2);
    assert_true(synth_build(&p, &o.bytes));
    assert_int_equal(tt_model_open_memory(o.bytes.data, o.bytes.size, &o.m, NULL), TT_OK);
    assert_int_equal(tt_topology_make(o.m, o.m->runs[run].graph, run, &o.t, NULL), TT_OK);
    return o;
}

static void close_run(opened *o)
{
    tt_topology_free(o->t);
    tt_model_close(o->m);
    tt_bytes_free(&o->bytes);
}

static tt_collapse collapse(const opened *o)
{
    tt_collapse c;
    assert_int_equal(tt_collapse_make(o->t, &c, NULL), TT_OK);
    return c;
}

static void layers_are_parts_and_alike(void **state)
{
    opened o = open_run(6, 2);
    tt_collapse c = collapse(&o);
    uint64_t ops = 0, nodes = 0, ticks = 0, bytes = 0;
    (void)state;
    assert_int_equal(c.n_parts, 8);
    assert_int_equal(c.parts[0].layer_id, TT_LAYER_NONE);
    assert_false(c.parts[0].behind);
    assert_int_equal(c.parts[7].layer_id, TT_LAYER_NONE);
    assert_true(c.parts[7].behind);
    for (uint32_t i = 0; i < 8; i++) {
        if (i > 0 && i < 7) assert_int_equal(c.parts[i].layer_id, i - 1);
        /* The layers in between are one shape; input and output are others. */
        if (i > 1 && i < 6) assert_int_equal(c.parts[i].shape, c.parts[1].shape);
        ops += c.parts[i].n_ops;
        nodes += c.parts[i].n_nodes;
        ticks += c.parts[i].ticks;
        bytes += c.parts[i].weight_bytes;
    }
    assert_int_not_equal(c.parts[0].shape, c.parts[1].shape);
    assert_int_not_equal(c.parts[7].shape, c.parts[1].shape);
    assert_int_equal(ops, o.t->n_ops);
    assert_int_equal(nodes, o.t->graph->n_nodes);
    assert_true(ticks == o.t->total.ticks);
    assert_true(bytes == o.t->total.weight_bytes);
    assert_true(c.n_shapes >= 3 && c.n_shapes <= 4);
    for (uint32_t i = 0; i < c.n_parts; i++)
        assert_true(c.parts[i].shape < c.n_shapes);
    tt_collapse_free(&c);
    close_run(&o);
}

/* Recounted from the edges, pair by pair. */
static void passages_are_each_value_once(void **state)
{
    opened o = open_run(0, 2);
    tt_collapse c = collapse(&o);
    tt_edge edges[TT_EDGES_MAX];
    const tt_graph *g = o.t->graph;
    (void)state;
    assert_true(c.n_passages > 0);
    for (size_t i = 0; i < c.n_passages; i++) {
        const tt_passage *p = &c.passages[i];
        bool used = false;
        assert_int_equal(c.part_of[p->tensor], p->from);
        for (uint32_t k = 0; k < g->n_nodes; k++) {
            uint32_t n = tt_topology_edges(g, k, edges);
            for (uint32_t e = 0; e < n; e++)
                used |= c.part_of[k] == p->to && edges[e].source == p->tensor;
        }
        assert_true(used);
        for (size_t k = 0; k < i; k++)
            assert_false(c.passages[k].from == p->from && c.passages[k].to == p->to &&
                         c.passages[k].tensor == p->tensor);
    }
    for (uint32_t k = 0; k < g->n_nodes; k++) {
        uint32_t n = tt_topology_edges(g, k, edges);
        for (uint32_t e = 0; e < n; e++) {
            if (edges[e].source >= g->n_nodes) continue;
            bool found = c.part_of[edges[e].source] == c.part_of[k];
            for (size_t i = 0; i < c.n_passages && !found; i++)
                found = c.passages[i].tensor == edges[e].source && c.passages[i].to == c.part_of[k];
            assert_true(found);
        }
    }
    tt_collapse_free(&c);
    close_run(&o);
}

static uint32_t first_of_part(const tt_collapse *c, uint32_t part)
{
    uint32_t i = 0;
    while (c->part_of[i] != part)
        i++;
    return i;
}

/* What makes a layer another one: an op, what it is joined to, the fusions. What does not: sizes.
 */
static void shapes_tell_structure_only(void **state)
{
    opened o = open_run(6, 2);
    tt_collapse was = collapse(&o);
    (void)state;
    uint32_t node = first_of_part(&was, 3);
    tt_tensor *t = &o.m->graphs[o.m->runs[2].graph].tensors[node];
    tt_tensor kept = *t;
    tt_topology_node kept_node = o.t->nodes[node];

    t->ne[0] += 256;
    t->type_name = "q2_k";
    o.t->nodes[node].ticks += 99;
    tt_collapse c = collapse(&o);
    assert_int_equal(c.parts[3].shape, c.parts[2].shape);
    assert_true(c.structure == was.structure);
    tt_collapse_free(&c);
    *t = kept;

    t->op_desc = "OTHER";
    c = collapse(&o);
    assert_int_not_equal(c.parts[3].shape, c.parts[2].shape);
    assert_int_equal(c.parts[4].shape, c.parts[2].shape);
    assert_true(c.structure != was.structure);
    tt_collapse_free(&c);
    *t = kept;

    t->src[t->n_src++] = node + 1;
    c = collapse(&o);
    assert_int_not_equal(c.parts[3].shape, c.parts[2].shape);
    tt_collapse_free(&c);
    *t = kept;

    o.t->nodes[node].op = TT_NONE;
    c = collapse(&o);
    assert_int_not_equal(c.parts[3].shape, c.parts[2].shape);
    tt_collapse_free(&c);
    o.t->nodes[node] = kept_node;

    /* In another graph and run the layers are known by the same checksum. */
    opened other = open_run(3, 1);
    c = collapse(&other);
    assert_true(c.shapes[c.parts[2].shape] == was.shapes[was.parts[3].shape]);
    assert_true(c.structure != was.structure);
    tt_collapse_free(&c);
    close_run(&other);
    tt_collapse_free(&was);
    close_run(&o);
}

static uint32_t part_of_layerless(const int32_t *layers, const uint32_t *sources, uint32_t n,
                                  uint32_t node, tt_collapse_part *part)
{
    tt_tensor tensors[8];
    tt_topology_node nodes[8];
    tt_graph g = {.tensors = tensors, .n_nodes = n, .n_tensors = n};
    tt_topology t = {.graph = &g, .nodes = nodes};
    tt_collapse c;
    memset(tensors, 0, sizeof tensors);
    memset(nodes, 0, sizeof nodes);
    for (uint32_t i = 0; i < n; i++) {
        tensors[i] = (tt_tensor){.root = i, .view_src = TT_NONE, .weight = TT_NONE};
        if (sources[i] != TT_NONE) {
            tensors[i].n_src = 1;
            tensors[i].src[0] = sources[i];
        }
        nodes[i] = (tt_topology_node){.op = TT_NONE, .layer_id = layers[i]};
        t.n_edges += sources[i] != TT_NONE;
    }
    assert_int_equal(tt_collapse_make(&t, &c, NULL), TT_OK);
    uint32_t p = c.part_of[node], n_parts = c.n_parts;
    *part = c.parts[p];
    tt_collapse_free(&c);
    return n_parts;
}

static void nodes_without_a_layer_go_where_they_are_needed(void **state)
{
    tt_collapse_part p;
    (void)state;
    const uint32_t none = TT_NONE;
    /* Computed after a layer began, but of nothing in it: before the layers. */
    assert_int_equal(
        part_of_layerless((int32_t[]){0, -1, 1}, (uint32_t[]){none, none, 1}, 3, 1, &p), 3);
    assert_int_equal(p.layer_id, TT_LAYER_NONE);
    assert_false(p.behind);
    /* Between two layers: of the first. */
    assert_int_equal(
        part_of_layerless((int32_t[]){4, -1, -1, 5}, (uint32_t[]){none, 0, 1, 2}, 4, 2, &p), 2);
    assert_int_equal(p.layer_id, 4);
    assert_int_equal(p.n_nodes, 3);
    /* Of a layer, needed by none: behind. */
    assert_int_equal(part_of_layerless((int32_t[]){4, -1, -1}, (uint32_t[]){none, 0, 1}, 3, 1, &p),
                     2);
    assert_true(p.behind);
    assert_int_equal(p.n_nodes, 2);
    /* In a circle, and of itself: ends, and every node is somewhere. */
    assert_int_equal(part_of_layerless((int32_t[]){-1, -1, 2}, (uint32_t[]){1, 0, 2}, 3, 0, &p), 2);
    assert_int_equal(p.n_nodes, 2);
    /* No node at all. */
    tt_graph g = {.n_nodes = 0};
    tt_topology t = {.graph = &g};
    tt_collapse c;
    assert_int_equal(tt_collapse_make(&t, &c, NULL), TT_OK);
    assert_int_equal(c.n_parts, 0);
    tt_collapse_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_are_parts_and_alike),
        cmocka_unit_test(passages_are_each_value_once),
        cmocka_unit_test(shapes_tell_structure_only),
        cmocka_unit_test(nodes_without_a_layer_go_where_they_are_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
