/* FLOPs and bytes of ops, against figures worked out by hand. */
#include "tests.h"

#include "analyze/flops.h"

#include <string.h>

#define TENSORS 8

/* A graph of one node, the last tensor but leafs in front: node 0, sources 1.. */
typedef struct one {
    tt_tensor tensors[TENSORS];
    tt_graph graph;
} one;

static void set(tt_tensor *t, const char *type, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
                uint64_t size_bytes)
{
    *t = (tt_tensor){.name = "t",
                     .op_name = "NONE",
                     .op_desc = "NONE",
                     .type_name = type,
                     .ne = {a, b, c, d},
                     .size_bytes = size_bytes,
                     .weight = TT_NONE,
                     .buffer = TT_NONE,
                     .view_src = TT_NONE,
                     .place = {TT_LAYER_NONE, "other", "x"}};
    for (int i = 0; i < (int)TT_SRC_MAX; i++)
        t->src[i] = TT_NONE;
}

static void begin(one *o, const char *op, const char *desc, uint64_t a, uint64_t b, uint64_t c,
                  uint64_t d)
{
    memset(o, 0, sizeof *o);
    set(&o->tensors[0], "f32", a, b, c, d, a * b * c * d * 4);
    o->tensors[0].op_name = op;
    o->tensors[0].op_desc = desc;
    o->tensors[0].flags = TT_TENSOR_EXECUTES;
    o->graph = (tt_graph){.n_nodes = 1, .n_tensors = 1, .n_executed = 1, .tensors = o->tensors};
}

static tt_tensor *source(one *o, const char *type, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
                         uint64_t size_bytes)
{
    tt_tensor *node = &o->tensors[0], *t = &o->tensors[o->graph.n_tensors];
    set(t, type, a, b, c, d, size_bytes);
    t->root = o->graph.n_tensors;
    node->src[node->n_src++] = o->graph.n_tensors++;
    return t;
}

static uint64_t flops(one *o)
{
    tt_flops f = tt_flops_of_node(&o->graph, 0);
    assert_true(f.known);
    return f.flops;
}

static tt_cost cost(one *o)
{
    tt_op op;
    tt_cost c;
    tt_model m = {0};
    tt_op_describe(&m, &o->graph, 0, 0, &op);
    tt_cost_of(&op, &c);
    return c;
}

static void matrices(void **state)
{
    one o;
    (void)state;
    /* 2048 x 5632 times 10 columns: each of the 56,320 results takes 2,048 products and sums. */
    begin(&o, "MUL_MAT", "MUL_MAT", 5632, 10, 1, 1);
    source(&o, "q4_K", 2048, 5632, 1, 1, 2048 / 256 * 144 * 5632);
    source(&o, "f32", 2048, 10, 1, 1, 2048 * 10 * 4);
    assert_int_equal(flops(&o), 2ull * 2048 * 5632 * 10);
    tt_cost c = cost(&o);
    assert_int_equal(c.read_bytes, 2048 / 256 * 144 * 5632 + 2048 * 10 * 4);
    assert_int_equal(c.write_bytes, 5632 * 10 * 4);
    assert_false(c.at_most);
    /* 2 experts of 8 for each of 3 tokens. */
    begin(&o, "MUL_MAT_ID", "MUL_MAT_ID", 64, 2, 3, 1);
    source(&o, "f16", 32, 64, 8, 1, 32 * 64 * 8 * 2)->nb[2] = 32 * 64 * 2;
    source(&o, "f32", 32, 1, 3, 1, 32 * 3 * 4);
    source(&o, "i32", 2, 3, 1, 1, 24);
    assert_int_equal(flops(&o), 2 * 32 * 64 * 2 * 3);
    c = cost(&o);
    /* Six choices may be of six experts. */
    assert_int_equal(c.read_bytes, 6 * 32 * 64 * 2 + 32 * 3 * 4 + 24);
    assert_true(c.at_most);
    begin(&o, "OUT_PROD", "OUT_PROD", 6, 5, 1, 1);
    source(&o, "f32", 6, 7, 1, 1, 168);
    source(&o, "f32", 5, 7, 1, 1, 140);
    assert_int_equal(flops(&o), 2 * 7 * 30);
}

static void attention(void **state)
{
    one o;
    (void)state;
    /* 4 queries of 8 heads of size 64, 256 cells, values of 32. */
    begin(&o, "FLASH_ATTN_EXT", "FLASH_ATTN_EXT", 32, 8, 4, 1);
    source(&o, "f32", 64, 4, 8, 1, 64 * 4 * 8 * 4);
    /* A view of 2 heads in a larger cache: only its elements are read. */
    source(&o, "f16", 64, 256, 2, 1, 10000000);
    source(&o, "f16", 32, 256, 2, 1, 32 * 256 * 2 * 2);
    assert_int_equal(flops(&o), 4 * 8 * 256 * (2 * 64 + 2 * 32 + 5));
    assert_false(tt_flops_of_node(&o.graph, 0).at_most);
    source(&o, "f16", 256, 4, 1, 1, 256 * 4 * 2);
    assert_int_equal(flops(&o), 4 * 8 * 256 * (2 * 64 + 2 * 32 + 6));
    assert_true(tt_flops_of_node(&o.graph, 0).at_most);
    tt_cost c = cost(&o);
    assert_int_equal(c.read_bytes,
                     64 * 4 * 8 * 4 + 64 * 256 * 2 * 2 + 32 * 256 * 2 * 2 + 256 * 4 * 2);
    assert_true(c.at_most);
}

static void element_by_element(void **state)
{
    static const struct {
        const char *op, *desc;
        uint64_t each, a_row;
    } list[] = {
        {"ADD", "ADD", 1, 0},          {"MUL", "MUL", 1, 0},    {"SCALE", "SCALE", 1, 0},
        {"UNARY", "SILU", 4, 0},       {"UNARY", "RELU", 1, 0}, {"GLU", "SWIGLU", 5, 0},
        {"GLU", "GEGLU", 9, 0},        {"ROPE", "ROPE", 3, 0},  {"RMS_NORM", "RMS_NORM", 3, 3},
        {"NORM", "NORM", 6, 4},        {"CPY", "CPY", 0, 0},    {"CONT", "CONT", 0, 0},
        {"GET_ROWS", "GET_ROWS", 0, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        one o;
        begin(&o, list[i].op, list[i].desc, 100, 7, 2, 1);
        source(&o, "f32", 100, 7, 2, 1, 5600);
        assert_int_equal(flops(&o), list[i].each * 1400 + list[i].a_row * 14);
    }
    one o;
    begin(&o, "SOFT_MAX", "SOFT_MAX", 10, 3, 1, 1);
    source(&o, "f32", 10, 3, 1, 1, 120);
    assert_int_equal(flops(&o), 6 * 30);
    source(&o, "f32", 10, 3, 1, 1, 120);
    assert_int_equal(flops(&o), 7 * 30);
    begin(&o, "SUM_ROWS", "SUM_ROWS", 1, 3, 1, 1);
    source(&o, "f32", 10, 3, 1, 1, 120);
    assert_int_equal(flops(&o), 30);
}

static void what_is_not_known_is_not_counted(void **state)
{
    one o;
    (void)state;
    begin(&o, "RWKV_WKV7", "RWKV_WKV7", 10, 3, 1, 1);
    assert_false(tt_flops_of_node(&o.graph, 0).known);
    assert_false(cost(&o).flops.known);
    begin(&o, "UNARY", "SOMETHING_NEW", 10, 3, 1, 1);
    assert_false(tt_flops_of_node(&o.graph, 0).known);
    /* A matrix multiplication without its matrix: of a damaged trace. */
    begin(&o, "MUL_MAT", "MUL_MAT", 10, 3, 1, 1);
    assert_false(tt_flops_of_node(&o.graph, 0).known);
    /* Shapes that no memory has: the most there is, not a wrapped one. */
    begin(&o, "MUL_MAT", "MUL_MAT", UINT64_MAX, 2, 1, 1);
    source(&o, "f32", UINT64_MAX, 2, 1, 1, 8);
    assert_int_equal(flops(&o), UINT64_MAX);
}

static void what_is_written(void **state)
{
    one o;
    (void)state;
    /* 3 rows of 256 into a cache of 1,024: the cache is neither read nor written as a whole. */
    begin(&o, "SET_ROWS", "SET_ROWS", 256, 1024, 1, 1);
    o.tensors[0].type_name = "f16";
    o.tensors[0].size_bytes = 256 * 1024 * 2;
    source(&o, "f32", 256, 3, 1, 1, 256 * 3 * 4);
    source(&o, "i64", 3, 1, 1, 1, 24);
    source(&o, "f16", 256, 1024, 1, 1, 256 * 1024 * 2);
    o.tensors[0].root = 3; /* a view of it */
    tt_cost c = cost(&o);
    assert_int_equal(c.read_bytes, 256 * 3 * 4 + 24);
    assert_int_equal(c.write_bytes, 256 * 3 * 2);
    begin(&o, "CPY", "CPY", 64, 2, 1, 1);
    source(&o, "f16", 64, 2, 1, 1, 256);
    source(&o, "f32", 64, 2, 1, 1, 512); /* where it goes */
    o.tensors[0].root = 2;
    c = cost(&o);
    assert_int_equal(c.read_bytes, 256);
    assert_int_equal(c.write_bytes, 512);
}

static void integers_are_told(void **state)
{
    one o;
    tt_op op;
    tt_model m = {0};
    (void)state;
    const char *const types[] = {"q4_K", "f16", "q8_0", "no_such_type"};
    const bool integers[] = {true, false, true, false};
    for (size_t i = 0; i < 4; i++) {
        begin(&o, "MUL_MAT", "MUL_MAT", 5, 3, 1, 1);
        source(&o, types[i], 256, 5, 1, 1, 720);
        tt_op_describe(&m, &o.graph, 0, 0, &op);
        assert_int_equal(tt_flops_in_integers(&op), integers[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matrices),           cmocka_unit_test(attention),
        cmocka_unit_test(element_by_element), cmocka_unit_test(what_is_not_known_is_not_counted),
        cmocka_unit_test(what_is_written),    cmocka_unit_test(integers_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
