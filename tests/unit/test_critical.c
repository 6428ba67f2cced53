/* The critical path, against trying all paths. */
#include "tests.h"

#include "../golden/synth_trace.c"
#include "analyze/topology.h"

#include <stdlib.h>
#include <string.h>

#define NODES_MAX 10u
#define LEAFS 3u

typedef struct small {
    tt_tensor tensors[NODES_MAX + LEAFS];
    tt_topology_node nodes[NODES_MAX];
    tt_graph graph;
    tt_topology t;
} small;

static uint64_t seed = 1;

static uint32_t below(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

static void empty_graph(small *s, uint32_t n_nodes, uint32_t n_leafs)
{
    memset(s, 0, sizeof *s);
    for (uint32_t i = 0; i < n_nodes + n_leafs; i++)
        s->tensors[i] = (tt_tensor){.root = i, .view_src = TT_NONE, .weight = TT_NONE};
    for (uint32_t i = 0; i < n_nodes; i++) {
        s->tensors[i].flags = TT_TENSOR_EXECUTES;
        s->nodes[i] = (tt_topology_node){.op = i, .n_nodes = 1, .timed = true};
    }
    s->graph =
        (tt_graph){.n_nodes = n_nodes, .n_tensors = n_nodes + n_leafs, .tensors = s->tensors};
    s->t = (tt_topology){.graph = &s->graph, .nodes = s->nodes};
}

static void add_source(small *s, uint32_t node, uint32_t source)
{
    s->tensors[node].src[s->tensors[node].n_src++] = source;
}

/* --- all paths --- */

typedef struct brute {
    const small *s;
    bool needs[NODES_MAX][NODES_MAX]; /* unit, unit */
    uint32_t last[NODES_MAX];
} brute;

static uint32_t unit_of_node(const small *s, uint32_t node)
{
    return s->nodes[node].op == TT_NONE ? node : s->nodes[node].op;
}

static bool writes(const small *s, uint32_t unit, uint32_t root)
{
    for (uint32_t i = 0; i < s->graph.n_nodes; i++)
        if (unit_of_node(s, i) == unit && s->tensors[i].flags & TT_TENSOR_EXECUTES &&
            s->tensors[i].root != i && s->tensors[i].root == root)
            return true;
    return false;
}

static void brute_source(brute *b, uint32_t unit, uint32_t source)
{
    const small *s = b->s;
    uint32_t root = s->tensors[source].root, writer = TT_NONE;
    if (source < s->graph.n_nodes) {
        uint32_t other = unit_of_node(s, source);
        if (b->last[other] < b->last[unit]) b->needs[unit][other] = true;
    }
    for (uint32_t w = 0; w < s->graph.n_nodes; w++) {
        if (unit_of_node(s, w) != w || !writes(s, w, root) || b->last[w] >= b->last[unit]) continue;
        if (writer == TT_NONE || b->last[w] > b->last[writer]) writer = w;
    }
    if (writer != TT_NONE) b->needs[unit][writer] = true;
}

static uint64_t longest_to(const brute *b, uint32_t unit)
{
    uint64_t best = 0;
    for (uint32_t u = 0; u < b->s->graph.n_nodes; u++) {
        if (!b->needs[unit][u]) continue;
        uint64_t length = longest_to(b, u);
        if (length > best) best = length;
    }
    return best + b->s->nodes[unit].ticks;
}

static uint64_t brute_force(brute *b, const small *s)
{
    uint64_t best = 0;
    memset(b, 0, sizeof *b);
    b->s = s;
    for (uint32_t i = 0; i < s->graph.n_nodes; i++)
        b->last[unit_of_node(s, i)] = i;
    for (uint32_t i = 0; i < s->graph.n_nodes; i++) {
        const tt_tensor *t = &s->tensors[i];
        for (uint32_t k = 0; k < t->n_src; k++)
            if (t->src[k] != TT_NONE) brute_source(b, unit_of_node(s, i), t->src[k]);
        if (t->view_src != TT_NONE) brute_source(b, unit_of_node(s, i), t->view_src);
    }
    for (uint32_t i = 0; i < s->graph.n_nodes; i++) {
        if (unit_of_node(s, i) != i) continue;
        uint64_t length = longest_to(b, i);
        if (length > best) best = length;
    }
    return best;
}

static bool reaches(const brute *b, uint32_t from, uint32_t to)
{
    if (b->needs[to][from]) return true;
    for (uint32_t u = 0; u < b->s->graph.n_nodes; u++)
        if (b->needs[to][u] && reaches(b, from, u)) return true;
    return false;
}

static void random_graph(small *s)
{
    uint32_t n = 1 + below(NODES_MAX), all = n + LEAFS;
    empty_graph(s, n, LEAFS);
    for (uint32_t i = 0; i < n; i++) {
        tt_tensor *t = &s->tensors[i];
        if (below(5) == 0) t->flags = 0;
        for (uint32_t k = below(4); k > 0; k--)
            /* One in six from anywhere: itself, or what is computed later. */
            add_source(s, i,
                       below(6) == 0             ? below(all)
                       : below(3) == 0 || i == 0 ? n + below(LEAFS)
                                                 : below(i));
        if (below(4) == 0) {
            t->view_src = i && below(2) ? below(i) : n + below(LEAFS);
            t->root = s->tensors[t->view_src].root;
        }
        s->nodes[i].ticks = below(20);
        s->nodes[i].timed = s->nodes[i].ticks > 0;
        if (!(t->flags & TT_TENSOR_EXECUTES) || below(8) == 0) {
            s->nodes[i] = (tt_topology_node){.op = TT_NONE, .n_nodes = 1};
        } else if (i && below(4) == 0) {
            uint32_t first = s->nodes[below(i)].op;
            if (first != TT_NONE) s->nodes[i] = (tt_topology_node){.op = first, .timed = true};
        }
    }
}

static void longest_of_all_paths(void **state)
{
    (void)state;
    unsigned paths = 0, against = 0, fused = 0;
    for (unsigned round = 0; round < 20000; round++) {
        small s;
        brute b;
        tt_critical c;
        random_graph(&s);
        uint64_t best = brute_force(&b, &s), sum = 0;
        assert_int_equal(tt_critical_find(&s.t, &c, NULL), TT_OK);
        assert_true(c.ticks == best);
        for (uint32_t i = 0; i < c.n_ops; i++) {
            sum += s.nodes[c.ops[i]].ticks;
            assert_int_equal(s.nodes[c.ops[i]].op, c.ops[i]);
            /* Each needs the one before it, perhaps through views. */
            if (i > 0) assert_true(reaches(&b, c.ops[i - 1], c.ops[i]));
        }
        assert_true(sum == c.ticks);
        paths += c.n_ops > 2;
        against += c.n_against > 0;
        for (uint32_t i = 0; i < s.graph.n_nodes; i++)
            fused += s.nodes[i].op != TT_NONE && s.nodes[i].op != i;
        tt_critical_free(&c);
    }
    /* The graphs were worth it. */
    assert_true(paths > 5000 && against > 5000 && fused > 5000);
}

static void what_is_written_is_needed_by_its_readers(void **state)
{
    small s;
    tt_critical c;
    (void)state;
    /* 0 computes, 1 writes it into the leaf 5 (a cache), 2 views that leaf, 3 reads the view;
     * 4 is longer than 3 alone, but stands for itself. */
    empty_graph(&s, 5, 1);
    const uint64_t ticks[] = {10, 5, 0, 7, 20};
    for (uint32_t i = 0; i < 5; i++)
        s.nodes[i].ticks = ticks[i];
    add_source(&s, 1, 0);
    s.tensors[1].view_src = s.tensors[2].view_src = 5;
    s.tensors[1].root = s.tensors[2].root = 5;
    s.tensors[2].flags = 0;
    s.nodes[2].op = TT_NONE;
    add_source(&s, 2, 5);
    add_source(&s, 3, 2);
    assert_int_equal(tt_critical_find(&s.t, &c, NULL), TT_OK);
    assert_int_equal(c.ticks, 22);
    assert_int_equal(c.n_ops, 3);
    assert_int_equal(c.ops[0], 0);
    assert_int_equal(c.ops[1], 1);
    assert_int_equal(c.ops[2], 3);
    assert_int_equal(c.n_untimed, 0);
    tt_critical_free(&c);
}

static void nothing_timed_is_no_path(void **state)
{
    small s;
    tt_critical c;
    (void)state;
    empty_graph(&s, 3, 0);
    for (uint32_t i = 0; i < 3; i++)
        s.nodes[i] = (tt_topology_node){.op = i == 1 ? 1 : TT_NONE, .n_nodes = 1};
    add_source(&s, 1, 0);
    assert_int_equal(tt_critical_find(&s.t, &c, NULL), TT_OK);
    assert_int_equal(c.n_ops, 0);
    assert_int_equal(c.n_untimed, 3);
    tt_critical_free(&c);
    empty_graph(&s, 0, 0);
    assert_int_equal(tt_critical_find(&s.t, &c, NULL), TT_OK);
    assert_int_equal(c.n_ops, 0);
    tt_critical_free(&c);
    /* Ticks that a damaged trace claims do not overflow. */
    empty_graph(&s, 2, 0);
    s.nodes[0].ticks = s.nodes[1].ticks = UINT64_MAX - 1;
    add_source(&s, 1, 0);
    assert_int_equal(tt_critical_find(&s.t, &c, NULL), TT_OK);
    assert_true(c.ticks == UINT64_MAX);
    tt_critical_free(&c);
}

/* A trace, with fused ops and a KV cache. */
static void of_a_run(void **state)
{
    synth_plan p = synth_default();
    tt_bytes bytes;
    tt_model *m;
    tt_topology *t;
    tt_critical c;
    uint64_t sum = 0;
    uint32_t n;
    (void)state;
    tt_bytes_init(&bytes, SIZE_MAX / 2);
    assert_true(synth_build(&p, &bytes));
    assert_int_equal(tt_model_open_memory(bytes.data, bytes.size, &m, NULL), TT_OK);
    uint32_t run = tt_topology_run_of(m, &(tt_filter){0}, 2, &n);
    assert_int_equal(tt_topology_make(m, m->runs[run].graph, run, &t, NULL), TT_OK);
    assert_int_equal(tt_critical_find(t, &c, NULL), TT_OK);
    assert_true(c.n_ops > 10 && c.n_ops <= t->n_ops);
    assert_true(c.ticks <= t->total.ticks);
    assert_true(c.ticks <= m->runs[run].end_ticks - m->runs[run].begin_ticks);
    for (uint32_t i = 0; i < c.n_ops; i++) {
        assert_int_equal(t->nodes[c.ops[i]].op, c.ops[i]);
        if (i > 0) assert_true(c.ops[i] > c.ops[i - 1]);
        sum += t->nodes[c.ops[i]].ticks;
    }
    assert_true(sum == c.ticks);
    assert_int_equal(c.n_against, 0);
    tt_critical_free(&c);
    tt_topology_free(t);
    tt_model_close(m);
    tt_bytes_free(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(longest_of_all_paths),
        cmocka_unit_test(what_is_written_is_needed_by_its_readers),
        cmocka_unit_test(nothing_timed_is_no_path),
        cmocka_unit_test(of_a_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
