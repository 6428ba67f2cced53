/* Graphs as runs computed them, and their pictures in Graphviz's language. */
#include "tests.h"

#include "../golden/synth_trace.c"
#include "analyze/topology.h"
#include "export/dot/dot.h"
#include "plan_trace.h"

#include <stdlib.h>
#include <string.h>

static tt_topology *make(const tt_model *m, uint32_t graph, uint32_t run)
{
    tt_topology *t;
    assert_int_equal(tt_topology_make(m, graph, run, &t, NULL), TT_OK);
    return t;
}

static uint64_t sum_of(const tt_topology_sums *s, bool count)
{
    uint64_t all = 0;
    for (uint32_t i = 0; i < s->n; i++)
        all += count ? s->list[i].count : s->list[i].ticks;
    return all;
}

/* What is found in one pass is what is found one by one. */
static void runs_are_found_for_all_at_once(void **state)
{
    opened o = open_plan(synth_default());
    uint32_t n;
    (void)state;
    o.m->runs[3].graph = TT_NONE;
    o.m->runs[1].batch = o.m->runs[2].batch; /* a batch of two, the first graph the larger */
    o.m->runs[0].batch = TT_NONE;
    uint32_t *run_of = tt_topology_run_of_each(o.m), *last = tt_topology_last_run_of_each(o.m);
    assert_non_null(run_of);
    assert_non_null(last);
    for (uint32_t i = 0; i < o.m->n_batches; i++)
        assert_int_equal(run_of[i], tt_topology_run_of(o.m, &(tt_filter){0}, i, &n));
    for (uint32_t i = 0; i < o.m->n_graphs; i++)
        assert_int_equal(last[i], tt_topology_last_run(o.m, i));
    assert_int_equal(run_of[o.m->runs[3].batch], TT_NONE);
    free(run_of);
    free(last);
    close_plan(&o);
}

static void a_run_tells_ops_and_fusions(void **state)
{
    opened o = open_plan(synth_default());
    uint32_t n;
    (void)state;
    uint32_t run = tt_topology_run_of(o.m, &(tt_filter){0}, 2, &n);
    assert_int_equal(n, 1);
    assert_int_equal(o.m->runs[run].batch, 2);
    tt_topology *t = make(o.m, o.m->runs[run].graph, run);
    const tt_graph *g = t->graph;
    /* Two norms a layer and one at the end, each with the MUL behind it. */
    assert_int_equal(t->n_fused_ops, 7);
    assert_int_equal(t->n_fused_nodes, 14);
    assert_int_equal(t->n_missing, 0);
    assert_int_equal(t->n_ops + 7, g->n_executed);
    assert_int_equal(t->n_views + g->n_executed, g->n_nodes);
    assert_int_equal(t->n_runs, 4);
    assert_int_equal(t->n_batches, 4);
    assert_int_equal(sum_of(&t->by_op, true), t->n_ops);
    assert_int_equal(sum_of(&t->by_layer, true), t->n_ops);
    assert_int_equal(sum_of(&t->by_backend, true), g->n_executed);
    assert_true(sum_of(&t->by_op, false) == t->total.ticks);
    assert_true(sum_of(&t->by_layer, false) == t->total.ticks);
    for (uint32_t i = 1; i < t->by_op.n; i++)
        assert_true(t->by_op.list[i].ticks <= t->by_op.list[i - 1].ticks);
    assert_int_equal(t->by_layer.n, 4);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const tt_topology_node *x = &t->nodes[i];
        bool executes = g->tensors[i].flags & TT_TENSOR_EXECUTES;
        assert_int_equal(x->op != TT_NONE, executes);
        if (!executes) continue;
        assert_true(x->timed);
        if (strcmp(g->tensors[i].op_name, "MUL") == 0) {
            assert_int_equal(x->op, i - 1);
            assert_int_equal(x->n_nodes, 2);
            assert_int_equal(x->ticks, 0);
        } else {
            assert_int_equal(x->op, i);
            assert_true(x->ticks > 0);
        }
    }
    tt_topology_free(t);
    close_plan(&o);
}

static void without_a_run_nothing_is_invented(void **state)
{
    opened o = open_plan(synth_default());
    (void)state;
    tt_topology *t = make(o.m, 0, TT_NONE);
    assert_int_equal(t->n_ops, 0);
    assert_int_equal(t->n_fused_ops, 0);
    assert_int_equal(t->n_missing, t->graph->n_executed);
    assert_int_equal(sum_of(&t->by_op, true), t->graph->n_executed);
    assert_int_equal(t->total.timed, 0);
    assert_int_equal(t->total.ticks, 0);
    for (uint32_t i = 0; i < t->graph->n_nodes; i++)
        assert_int_equal(t->nodes[i].op, TT_NONE);
    tt_topology_free(t);
    assert_int_equal(tt_topology_last_run(o.m, 1), 4);
    o.m->runs[4].graph = TT_NONE;
    assert_int_equal(tt_topology_last_run(o.m, 1), 3);
    uint32_t n;
    assert_int_equal(tt_topology_run_of(o.m, &(tt_filter){0}, 4, &n), TT_NONE);
    assert_int_equal(n, 0);
    close_plan(&o);
}

static void edges_are_sources_and_views(void **state)
{
    opened o = open_plan(synth_default());
    tt_edge edges[TT_EDGES_MAX];
    uint64_t all = 0;
    (void)state;
    tt_topology *t = make(o.m, 0, 0);
    const tt_graph *g = t->graph;
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        uint32_t n = tt_topology_edges(g, i, edges), views = 0;
        for (uint32_t k = 0; k < n; k++) {
            assert_int_equal(edges[k].target, i);
            views += edges[k].is_view;
        }
        assert_int_equal(views, g->tensors[i].view_src != TT_NONE);
        all += n;
    }
    assert_int_equal(all, t->n_edges);
    tt_topology_free(t);
    /* A tensor that is only viewed; one that is a source twice. */
    tt_tensor two[] = {{.view_src = TT_NONE, .root = 0},
                       {.view_src = 0, .root = 0, .n_src = 2, .src = {TT_NONE, 2}},
                       {.view_src = TT_NONE, .root = 2, .n_src = 2, .src = {0, 0}}};
    tt_graph small = {.tensors = two, .n_tensors = 3, .n_nodes = 3};
    assert_int_equal(tt_topology_edges(&small, 1, edges), 2);
    assert_int_equal(edges[0].slot, 1);
    assert_false(edges[0].is_view);
    assert_int_equal(edges[1].slot, TT_NONE);
    assert_true(edges[1].is_view);
    assert_int_equal(tt_topology_edges(&small, 2, edges), 2);
    close_plan(&o);
}

/* --- pictures --- */

static char *picture(const tt_topology *t, bool collapse, tt_graph_color color, bool layer)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    tt_graph_view v = {
        .path = "/x/a<b>&\".ttrace", .t = t, .color = color, .has_layer = layer, .layer = 1};
    assert_true(tt_graph_view_choose(&v));
    assert_true(collapse ? tt_graph_print_collapsed(&v, out) : tt_graph_print_dot(&v, out));
    tt_graph_view_free(&v);
    (void)fclose(out);
    return text;
}

static unsigned count(const char *text, const char *what)
{
    unsigned n = 0;
    for (; (text = strstr(text, what)); text += strlen(what))
        n++;
    return n;
}

/* Every statement is whole: quotes are balanced, and braces outside them. */
static void check_language(const char *text)
{
    int depth = 0;
    bool quoted = false;
    for (const char *c = text; *c; c++) {
        if (quoted && *c == '\\') {
            c++;
        } else if (*c == '"') {
            quoted = !quoted;
        } else if (!quoted) {
            depth += (*c == '{') - (*c == '}');
            assert_true(depth >= 0);
        } else {
            assert_true((unsigned char)*c >= 0x20);
        }
    }
    assert_false(quoted);
    assert_int_equal(depth, 0);
}

static void hostile_names_stay_names(void **state)
{
    static const char *const names[] = {"\"]; evil [label=\"",
                                        "back\\slash\\",
                                        "\\",
                                        "new\nline\ttab\x01",
                                        "\xff\xfe not UTF-8 \xc3",
                                        "&lt;b&gt; <b>",
                                        "} digraph {",
                                        "\\N \\G \\E",
                                        ""};
    opened o = open_plan(synth_default());
    (void)state;
    tt_graph *g = &o.m->graphs[0];
    for (uint32_t i = 0; i < g->n_tensors; i++)
        g->tensors[i].name = g->tensors[i].op_desc = g->tensors[i].type_name =
            names[i % (sizeof names / sizeof *names)];
    tt_topology *t = make(o.m, 0, 0);
    for (int color = TT_COLOR_NONE; color <= TT_COLOR_OP; color++) {
        char *text = picture(t, false, (tt_graph_color)color, color == TT_COLOR_OP);
        check_language(text);
        assert_null(strstr(text, "\n evil"));
        assert_non_null(strstr(text, "a&lt;b&gt;&amp;"));
        free(text);
        text =
            picture(t, true, color == TT_COLOR_OP ? TT_COLOR_NONE : (tt_graph_color)color, false);
        check_language(text);
        free(text);
    }
    tt_topology_free(t);
    close_plan(&o);
}

static void pictures_have_layers_and_frames(void **state)
{
    opened o = open_plan(synth_default());
    (void)state;
    tt_topology *t = make(o.m, 1, 2);
    char *text = picture(t, false, TT_COLOR_TIME, false);
    check_language(text);
    assert_int_equal(count(text, "subgraph cluster_layer_"), 3);
    assert_int_equal(count(text, "subgraph cluster_op_"), 7);
    assert_int_equal(count(text, " -> "), t->n_edges);
    assert_int_equal(count(text, "fillcolor=\"/ylgnbu9/"), t->n_ops + t->n_fused_nodes / 2);
    free(text);
    /* One layer: what it is joined to stands outside. */
    text = picture(t, false, TT_COLOR_OP, true);
    assert_int_equal(count(text, "subgraph cluster_layer_"), 1);
    assert_non_null(strstr(text, "l_out-0"));
    assert_null(strstr(text, "ffn_out-0"));
    assert_null(strstr(text, "ffn_inp-0"));
    free(text);
    text = picture(t, true, TT_COLOR_BYTES, false);
    assert_int_equal(count(text, " -> "), 4);
    assert_non_null(strstr(text, "[label=\" l_out-0, 256 B\"]"));
    free(text);
    tt_topology_free(t);
    close_plan(&o);
}

static void texts_are_cut_at_characters(void **state)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    (void)state;
    tt_dot_text(out, "a\xc3\xa9\xc3\xa9z", 3);
    tt_dot_text(out, "|", 3);
    tt_dot_html(out, "<&>\"", 4);
    (void)fclose(out);
    assert_string_equal(text, "a\xc3\xa9\xc3\xa9...|&lt;&amp;&gt;&quot;");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_are_found_for_all_at_once),
        cmocka_unit_test(a_run_tells_ops_and_fusions),
        cmocka_unit_test(without_a_run_nothing_is_invented),
        cmocka_unit_test(edges_are_sources_and_views),
        cmocka_unit_test(hostile_names_stay_names),
        cmocka_unit_test(pictures_have_layers_and_frames),
        cmocka_unit_test(texts_are_cut_at_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
