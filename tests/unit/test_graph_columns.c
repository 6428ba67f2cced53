/* A graph as columns, read back with somebody else's JSON reader; finding tensors in it. */
#include "tests.h"

#include "../golden/synth_trace.c"
#include "analyze/find.h"
#include "answer/graph.h"
#include "plan_trace.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static json_t *columns_of(const tt_topology *t)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    tt_collapse c;
    tt_critical critical;
    tt_json j;
    assert_int_equal(tt_collapse_make(t, &c, NULL), TT_OK);
    assert_int_equal(tt_critical_find(t, &critical, NULL), TT_OK);
    tt_json_begin(&j, out, 0);
    assert_true(tt_graph_columns_json(&j, &c, &critical));
    assert_true(tt_json_end(&j));
    (void)fclose(out);
    tt_critical_free(&critical);
    tt_collapse_free(&c);
    json_t *read = json_loads(text, 0, NULL);
    free(text);
    assert_non_null(read);
    return read;
}

static size_t length(const json_t *all, const char *table, const char *column)
{
    const json_t *list = json_object_get(json_object_get(all, table), column);
    assert_true(json_is_array(list));
    return json_array_size(list);
}

static const json_t *cell(const json_t *all, const char *table, const char *column, size_t i)
{
    return json_array_get(json_object_get(json_object_get(all, table), column), i);
}

static const char *word(const json_t *all, const char *column, size_t i)
{
    const json_t *at = cell(all, "tensors", column, i);
    return json_string_value(
        json_array_get(json_object_get(all, "words"), (size_t)json_integer_value(at)));
}

static void every_tensor_and_edge_is_there_once(void **state)
{
    opened o = open_plan(synth_default());
    tt_topology *t;
    tt_edge edges[TT_EDGES_MAX];
    size_t at = 0;
    (void)state;
    assert_int_equal(tt_topology_make(o.m, o.m->runs[2].graph, 2, &t, NULL), TT_OK);
    json_t *all = columns_of(t);
    const tt_graph *g = t->graph;
    const char *key;
    json_t *list;
    json_object_foreach(json_object_get(all, "tensors"), key, list)
    {
        size_t n = json_array_size(list);
        if (strcmp(key, "ne") == 0)
            assert_int_equal(n, 4 * g->n_tensors);
        else
            assert_true(n == g->n_tensors || n == g->n_nodes);
    }
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        assert_string_equal(json_string_value(cell(all, "tensors", "name", i)), g->tensors[i].name);
        assert_string_equal(word(all, "op_desc", i), g->tensors[i].op_desc);
        assert_string_equal(word(all, "type", i), g->tensors[i].type_name);
        uint32_t n = tt_topology_edges(g, i, edges);
        for (uint32_t k = 0; k < n; k++, at++) {
            assert_int_equal(json_integer_value(cell(all, "edges", "source", at)), edges[k].source);
            assert_int_equal(json_integer_value(cell(all, "edges", "target", at)), i);
            assert_int_equal(json_is_true(cell(all, "edges", "is_view", at)), edges[k].is_view);
        }
    }
    assert_int_equal(length(all, "edges", "source"), at);
    assert_int_equal(json_integer_value(json_object_get(all, "edges_total")), at);
    assert_int_equal(length(all, "parts", "shape"), 5);
    json_decref(all);
    tt_topology_free(t);
    close_plan(&o);
}

static void a_run_tells_times_and_where_operands_lie(void **state)
{
    opened o = open_plan(synth_default());
    tt_topology *t;
    double sum = 0;
    unsigned disk = 0, copies = 0, fused = 0;
    (void)state;
    assert_int_equal(tt_topology_make(o.m, o.m->runs[2].graph, 2, &t, NULL), TT_OK);
    json_t *all = columns_of(t);
    for (uint32_t i = 0; i < t->graph->n_tensors; i++) {
        const json_t *file = cell(all, "tensors", "file_offset_bytes", i);
        const tt_tensor *x = &t->graph->tensors[i];
        bool node = i < t->graph->n_nodes;
        assert_int_equal(json_is_true(cell(all, "tensors", "computed", i)),
                         x->root < t->graph->n_nodes);
        assert_int_equal(json_is_null(file), x->weight == TT_NONE);
        if (x->weight != TT_NONE && x->root == i)
            assert_int_equal(json_integer_value(file), o.m->weights[x->weight].offset_bytes);
        disk += strcmp(word(all, "origin", i), "file") == 0;
        copies += x->weight != TT_NONE && strcmp(word(all, "origin", i), "buffer") == 0;
        if (!node) continue;
        const json_t *time = cell(all, "tensors", "duration_ns", i);
        const json_t *into = cell(all, "tensors", "fused_into", i);
        /* What is part of a fused op has no time of its own, and views none. */
        assert_int_equal(json_is_null(time), t->nodes[i].op != i);
        fused += !json_is_null(into);
        if (!json_is_null(into)) assert_int_equal(json_integer_value(into), t->nodes[i].op);
        sum += json_number_value(time);
    }
    assert_true(disk > 0 && copies > 0);
    assert_int_equal(fused, t->n_fused_nodes - t->n_fused_ops);
    const json_t *total = json_object_get(all, "total_ns");
    assert_true(json_is_integer(total));
    /* Each is rounded to a nanosecond. */
    assert_true(sum > json_number_value(total) - t->n_ops);
    assert_true(sum < json_number_value(total) + t->n_ops);
    const json_t *critical = json_object_get(all, "critical_path");
    assert_true(json_number_value(json_object_get(critical, "total_ns")) <=
                json_number_value(json_object_get(all, "duration_ns")));
    json_decref(all);
    tt_topology_free(t);
    close_plan(&o);
}

static void without_a_run_times_are_null(void **state)
{
    opened o = open_plan(synth_default());
    tt_topology *t;
    (void)state;
    assert_int_equal(tt_topology_make(o.m, 0, TT_NONE, &t, NULL), TT_OK);
    json_t *all = columns_of(t);
    assert_true(json_is_null(json_object_get(all, "run")));
    assert_true(json_is_null(json_object_get(all, "duration_ns")));
    assert_true(json_is_null(json_object_get(all, "total_ns")));
    assert_int_equal(json_array_size(json_object_get(all, "batch_runs")), 0);
    assert_true(json_is_null(json_object_get(json_object_get(all, "critical_path"), "total_ns")));
    for (uint32_t i = 0; i < t->graph->n_nodes; i++) {
        assert_true(json_is_null(cell(all, "tensors", "duration_ns", i)));
        assert_true(json_is_null(cell(all, "tensors", "weight_bytes", i)));
    }
    for (size_t i = 0; i < length(all, "parts", "total_ns"); i++) {
        assert_true(json_is_null(cell(all, "parts", "total_ns", i)));
        assert_true(json_is_null(cell(all, "parts", "weight_bytes", i)));
    }
    json_decref(all);
    tt_topology_free(t);
    close_plan(&o);
}

static void the_runs_of_a_token_are_listed(void **state)
{
    opened o = open_plan(synth_default());
    tt_topology *t;
    (void)state;
    o.m->runs[1].batch = o.m->runs[2].batch;
    assert_int_equal(tt_topology_make(o.m, o.m->runs[2].graph, 2, &t, NULL), TT_OK);
    json_t *all = columns_of(t);
    const json_t *runs = json_object_get(all, "batch_runs");
    assert_int_equal(json_array_size(runs), 2);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(runs, 0), "run")), 1);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(runs, 1), "run")), 2);
    json_decref(all);
    tt_topology_free(t);
    close_plan(&o);
}

static void names_are_cut_and_never_broken(void **state)
{
    opened o = open_plan(synth_default());
    tt_topology *t;
    static char name[100000];
    (void)state;
    memset(name, 'x', sizeof name - 1);
    tt_graph *g = &o.m->graphs[0];
    for (uint32_t i = 0; i < g->n_tensors; i++)
        g->tensors[i].name = g->tensors[i].op_desc = i % 2 ? name : "</script>\"\\\n\xff";
    assert_int_equal(tt_topology_make(o.m, 0, TT_NONE, &t, NULL), TT_OK);
    json_t *all = columns_of(t);
    assert_string_equal(json_string_value(cell(all, "tensors", "name", 0)),
                        "</script>\"\\\n\xef\xbf\xbd");
    assert_int_equal(strlen(json_string_value(cell(all, "tensors", "name", 1))), 512);
    json_decref(all);
    tt_topology_free(t);
    close_plan(&o);
}

static void tensors_are_found_by_words(void **state)
{
    opened o = open_plan(synth_default());
    const tt_graph *g = &o.m->graphs[0];
    uint32_t found[4], rows = 0, total;
    (void)state;
    for (uint32_t i = 0; i < g->n_tensors; i++)
        rows += strcmp(g->tensors[i].op_name, "SET_ROWS") == 0;
    total = tt_graph_search(g, "set_rows", found, 4);
    assert_true(total >= rows && rows > 0);
    for (uint32_t i = 0; i < total && i < 4; i++)
        assert_non_null(strstr(g->tensors[found[i]].op_name, "SET_ROWS"));
    /* Every word counts, in any order and in any place. */
    uint32_t norms = tt_graph_search(g, "norm", found, 4);
    uint32_t both = tt_graph_search(g, "  1 NORM ", found, 4);
    assert_true(both > 0 && both < norms);
    for (uint32_t i = 0; i < both && i < 4; i++)
        assert_non_null(strchr(g->tensors[found[i]].name, '1'));
    assert_int_equal(tt_graph_search(g, "norm nowhere", found, 4), 0);
    assert_int_equal(tt_graph_search(g, "", found, 4), 0);
    assert_int_equal(tt_graph_search(g, " \t ", found, 4), 0);
    assert_int_equal(tt_graph_search(g, "norm", NULL, 0), norms);
    close_plan(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_tensor_and_edge_is_there_once),
        cmocka_unit_test(a_run_tells_times_and_where_operands_lie),
        cmocka_unit_test(without_a_run_times_are_null),
        cmocka_unit_test(the_runs_of_a_token_are_listed),
        cmocka_unit_test(names_are_cut_and_never_broken),
        cmocka_unit_test(tensors_are_found_by_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
