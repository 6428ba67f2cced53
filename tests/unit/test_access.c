/* Which bytes of which weights an op reads, on graphs made by hand. */
#include "tests.h"

#include "analyze/access.h"
#include "hand_trace.h"

#include <math.h>

/* Weights have 16 slices of 4 rows of 16 bytes. Nodes and leafs of the graph: */
enum {
    ROWS,
    UP,
    DOWN,
    BIAS,
    PLAIN,
    VIEW,
    INNER,
    OF_INNER,
    N_NODES,
    W0 = N_NODES,
    W1,
    W2,
    INPUT,
    IDS,
    N_TENSORS
};
enum { TOKENS = 3, RANKS = 2 };

static void put_tensors(hand *h)
{
    tt_meta_tensor *t;
    t = hand_tensor(h, "rows", "GET_ROWS", 4, TOKENS, 1);
    hand_source(t, W0);
    hand_source(t, INPUT);
    t = hand_tensor(h, "up", "MUL_MAT_ID", 4, RANKS, TOKENS);
    hand_source(t, W1);
    hand_source(t, ROWS);
    hand_source(t, IDS);
    t = hand_tensor(h, "down", "MUL_MAT_ID", 4, RANKS, TOKENS);
    hand_source(t, W2);
    hand_source(t, UP);
    hand_source(t, IDS);
    t = hand_tensor(h, "bias", "ADD_ID", 4, RANKS, TOKENS);
    hand_source(t, DOWN);
    hand_source(t, W0);
    hand_source(t, IDS);
    t = hand_tensor(h, "plain", "MUL_MAT", 4, 4, 1);
    hand_source(t, VIEW);
    t = hand_tensor(h, "w1 (view)", "VIEW", 4, 4, 2);
    t->flags = 0;
    t->view_src = W1 + 1;
    t->view_offset_bytes = 128;
    t = hand_tensor(h, "w1 (view) (view)", "VIEW", 4, 2, 1);
    t->flags = 0;
    t->view_src = VIEW + 1;
    t->view_offset_bytes = 48;
    t = hand_tensor(h, "inner", "MUL_MAT", 4, 4, 1);
    hand_source(t, INNER);
    (void)hand_tensor(h, "w0", "NONE", 4, 64, 1); /* as a matrix: 64 rows */
    (void)hand_tensor(h, "w1", "NONE", 4, 4, 16);
    (void)hand_tensor(h, "w2", "NONE", 4, 4, 16);
    (void)hand_tensor(h, "inp_tokens", "NONE", TOKENS, 1, 1);
    (void)hand_tensor(h, "ids", "NONE", RANKS, TOKENS, 1);
}

static void put_batch(hand *h, uint32_t id, uint8_t flags)
{
    static const int32_t tokens[TOKENS] = {9, 2, 3};
    tt_meta_batch b = {.id = id, .n_tokens = TOKENS, .flags = flags};
    tt_meta_put_batch(&h->record, &b, tokens, NULL, NULL);
    hand_put(h, TT_META_BATCH);
}

/* Run 1 in batch 1, tokens known; run 2 in batch 2, not. */
static void begin(hand *h)
{
    hand_begin(h);
    hand_model(h, 1, "/m.gguf", 3);
    put_tensors(h);
    hand_graph(h, 1, N_NODES);
    put_batch(h, 1, TT_BATCH_TOKENS);
    put_batch(h, 2, 0);
    hand_run(h, 1, 1, 1);
    hand_run(h, 2, 2, 1);
}

typedef struct looked {
    tt_op op;
    const tt_access *list;
    size_t n;
} looked;

static looked look(const tt_model *m, tt_accesses *a, uint32_t node, uint32_t covers)
{
    looked l;
    tt_op_describe(m, &m->graphs[0], node, covers, &l.op);
    assert_int_equal(tt_accesses_of(a, &l.op, &l.list, &l.n, NULL), TT_OK);
    return l;
}

static void expect(const tt_access *a, uint32_t weight, uint64_t offset, uint64_t size,
                   int32_t expert, uint32_t uses)
{
    assert_int_equal(a->weight, weight);
    assert_int_equal(a->offset_bytes, 4096 + 1024 * weight + offset);
    assert_int_equal(a->size_bytes, size);
    assert_true(tt_access_is_placed(a));
    assert_int_equal(a->expert, expert);
    assert_int_equal(a->uses, uses);
    assert_false(a->at_most);
}

static void plain_ops_read_the_view(void **state)
{
    hand h;
    (void)state;
    begin(&h);
    tt_model *m = hand_open(&h, true);
    tt_accesses *a = tt_accesses_new(m);
    assert_int_equal(tt_accesses_run(a, 0, NULL), TT_OK);
    looked l = look(m, a, PLAIN, 0);
    assert_int_equal(l.n, 1);
    expect(l.list, 1, 128, 128, TT_EXPERT_NONE, 1);
    assert_int_equal(l.list->tensor, VIEW);
    assert_false(l.op.picks);
    /* A view of that view: both offsets, from the weight's begin. */
    l = look(m, a, OF_INNER, 0);
    assert_int_equal(l.n, 1);
    expect(l.list, 1, 128 + 48, 2 * 16, TT_EXPERT_NONE, 1);
    tt_accesses_free(a);
    hand_close(&h, m);
}

static void gathers_read_rows(void **state)
{
    static const int64_t rows[TOKENS] = {63, 5, 5};
    hand h;
    (void)state;
    begin(&h);
    hand_indices(&h, 2, INPUT, rows, TOKENS);
    tt_model *m = hand_open(&h, true);
    assert_int_equal(m->n_problems, 0);
    tt_accesses *a = tt_accesses_new(m);
    /* The tokens: 2 and 3 lie together. */
    assert_int_equal(tt_accesses_run(a, 0, NULL), TT_OK);
    looked l = look(m, a, ROWS, 0);
    assert_true(l.op.picks && l.op.at_most);
    assert_int_equal(l.n, 2);
    expect(&l.list[0], 0, 2 * 16, 2 * 16, TT_EXPERT_NONE, 2);
    expect(&l.list[1], 0, 9 * 16, 16, TT_EXPERT_NONE, 1);
    tt_access_apply(&l.op, l.list, l.n);
    assert_int_equal(l.op.weight_bytes, 48);
    assert_false(l.op.at_most);
    /* The row numbers, one of them twice. */
    assert_int_equal(tt_accesses_run(a, 1, NULL), TT_OK);
    l = look(m, a, ROWS, 0);
    assert_int_equal(l.n, 2);
    expect(&l.list[0], 0, 5 * 16, 16, TT_EXPERT_NONE, 2);
    expect(&l.list[1], 0, 63 * 16, 16, TT_EXPERT_NONE, 1);
    tt_accesses_free(a);
    hand_close(&h, m);
}

static void what_was_not_observed_is_a_bound(void **state)
{
    hand h;
    (void)state;
    begin(&h);
    tt_model *m = hand_open(&h, true);
    tt_accesses *a = tt_accesses_new(m);
    assert_int_equal(tt_accesses_run(a, 1, NULL), TT_OK);
    const uint32_t nodes[] = {ROWS, UP, BIAS};
    const uint64_t bounds[] = {3 * 16, 6 * 64, 6 * 16};
    for (size_t i = 0; i < 3; i++) {
        looked l = look(m, a, nodes[i], 0);
        assert_int_equal(l.n, 1);
        assert_true(l.list->at_most);
        assert_int_equal(l.list->span_bytes, 1024);
        assert_int_equal(l.list->size_bytes, bounds[i]);
        assert_false(tt_access_is_placed(l.list));
        tt_access_apply(&l.op, l.list, l.n);
        assert_true(l.op.at_most);
        assert_int_equal(l.op.weight_bytes, bounds[i]);
    }
    tt_accesses_free(a);
    hand_close(&h, m);
}

static void row_numbers_out_of_range_are_dropped(void **state)
{
    static const int64_t rows[TOKENS] = {64, -1, 7}, few[1] = {1};
    hand h;
    (void)state;
    begin(&h);
    hand_indices(&h, 1, INPUT, rows, TOKENS);
    hand_indices(&h, 2, INPUT, few, 1);
    tt_model *m = hand_open(&h, true);
    tt_accesses *a = tt_accesses_new(m);
    assert_int_equal(tt_accesses_run(a, 0, NULL), TT_OK);
    looked l = look(m, a, ROWS, 0);
    assert_int_equal(l.n, 1);
    expect(l.list, 0, 7 * 16, 16, TT_EXPERT_NONE, 1);
    /* Fewer than the tensor has: not what it held. */
    assert_int_equal(tt_accesses_run(a, 1, NULL), TT_OK);
    l = look(m, a, ROWS, 0);
    assert_true(l.n == 1 && l.list->at_most);
    tt_accesses_free(a);
    hand_close(&h, m);
}

static tt_detail chosen(uint32_t run, uint32_t node, uint32_t token, uint16_t a, uint16_t b)
{
    return (tt_detail){.run = run,
                       .place = tt_detail_place(node, 0, TT_DETAIL_EXPERTS),
                       .experts = {.token = token, .n = 2, .expert = {a, b}}};
}

static tt_detail weighed(uint32_t run, uint32_t node, uint32_t token, float a, float b)
{
    return (tt_detail){.run = run,
                       .place = tt_detail_place(node, 0, TT_DETAIL_WEIGHTS_F32),
                       .weights = {.token = token, .n = 2, .weight = {a, b}}};
}

static void experts_are_slices(void **state)
{
    hand h;
    size_t n;
    (void)state;
    begin(&h);
    const tt_detail list[] = {chosen(1, UP, 0, 5, 4), weighed(1, UP, 1, 0.75f, 0.25f),
                              chosen(1, UP, 1, 15, 5), chosen(1, UP, 2, 5, 0)};
    hand_details(&h, list, 4);
    tt_model *m = hand_open(&h, true);
    tt_accesses *a = tt_accesses_new(m);
    assert_int_equal(tt_access_router(m->graphs, DOWN), UP);
    assert_int_equal(tt_access_router(m->graphs, UP), UP);
    assert_int_equal(tt_access_router(m->graphs, BIAS), TT_NONE);
    assert_int_equal(tt_accesses_run(a, 0, NULL), TT_OK);
    assert_true(tt_accesses_router_known(a, UP));
    const tt_choice *c = tt_accesses_choices(a, &n);
    assert_int_equal(n, 6);
    assert_true(c[3].token == 1 && c[3].rank == 1 && c[3].expert == 5 && c[3].node == UP);
    assert_true(fabsf(c[3].weight - 0.25f) < 1e-6f);
    assert_true(isnan(c[0].weight));
    for (uint32_t node = UP; node <= DOWN; node++) {
        looked l = look(m, a, node, 0);
        assert_int_equal(l.n, 4);
        expect(&l.list[0], node, 0, 64, 0, 1);
        expect(&l.list[1], node, 4 * 64, 64, 4, 1); /* not merged with its neighbour */
        expect(&l.list[2], node, 5 * 64, 64, 5, 3);
        expect(&l.list[3], node, 15 * 64, 64, 15, 1);
        tt_access_apply(&l.op, l.list, l.n);
        assert_true(l.op.weight_bytes == 4 * 64 && !l.op.at_most);
    }
    looked l = look(m, a, BIAS, 0);
    assert_int_equal(l.n, 4);
    expect(&l.list[3], 0, 15 * 16, 16, 15, 1);
    /* Fused: both in the order of the sources. */
    l = look(m, a, DOWN, 1);
    assert_int_equal(l.n, 8);
    assert_true(l.list[0].weight == 2 && l.list[4].weight == 0);
    tt_accesses_free(a);
    hand_close(&h, m);
}

static void hostile_details_are_dropped(void **state)
{
    hand h;
    size_t n;
    (void)state;
    begin(&h);
    const tt_detail list[] = {chosen(1, UP, 0, 5, 16),        /* no such expert */
                              chosen(1, UP, 0, 5, 7),         /* again */
                              chosen(1, UP, 77, 1, 2),        /* no such row */
                              chosen(1, DOWN, 1, 1, 2),       /* not the router */
                              chosen(1, 500, 1, 1, 2),        /* no such node */
                              chosen(9, UP, 1, 1, 2),         /* no such run */
                              weighed(1, UP, 88, 1.0f, 2.0f), /* nothing to weigh */
                              weighed(1, PLAIN, 0, 1.0f, 2.0f)};
    hand_details(&h, list, sizeof list / sizeof *list);
    tt_model *m = hand_open(&h, false); /* cut off: no list of runs */
    tt_accesses *a = tt_accesses_new(m);
    assert_int_equal(tt_accesses_run(a, 0, NULL), TT_OK);
    const tt_choice *c = tt_accesses_choices(a, &n);
    assert_int_equal(n, 2);
    assert_true(c[0].expert == 5 && c[1].expert == 7 && c[1].rank == 1);
    assert_false(tt_accesses_router_known(a, UP));
    looked l = look(m, a, UP, 0);
    assert_true(l.n == 1 && l.list->at_most);
    tt_accesses_free(a);
    hand_close(&h, m);
}

static void details_come_run_by_run(void **state)
{
    hand h;
    const tt_detail *list;
    size_t n;
    (void)state;
    for (int with_index = 0; with_index < 2; with_index++) {
        begin(&h);
        const tt_detail first[] = {chosen(1, UP, 1, 1, 2), chosen(2, UP, 0, 3, 4)};
        const tt_detail second[] = {chosen(1, UP, 0, 5, 6), weighed(3, UP, 0, 1, 2)};
        hand_details(&h, first, 2);
        hand_details(&h, second, 2);
        tt_model *m = hand_open(&h, with_index);
        assert_false(tt_details_has(m->details, TT_DETAIL_FAULTS));
        assert_true(tt_details_has(m->details, TT_DETAIL_EXPERTS));
        assert_true(tt_details_has(m->details, TT_DETAIL_WEIGHTS_F32));
        assert_int_equal(tt_details_of_run(m->details, 1, &list, &n, NULL), TT_OK);
        assert_int_equal(n, 2);
        assert_int_equal(list[0].experts.token, 0);
        assert_int_equal(list[1].experts.token, 1);
        assert_int_equal(tt_details_of_run(m->details, 2, &list, &n, NULL), TT_OK);
        assert_true(n == 1 && list[0].experts.expert[1] == 4);
        assert_int_equal(tt_details_of_run(m->details, 4, &list, &n, NULL), TT_OK);
        assert_int_equal(n, 0);
        assert_int_equal(tt_details_damaged(m->details, NULL), 0);
        hand_close(&h, m);
    }
}

static void a_damaged_chunk_is_counted(void **state)
{
    hand h;
    const tt_detail *list;
    size_t n;
    tt_error err;
    (void)state;
    begin(&h);
    const tt_detail one[] = {chosen(1, UP, 1, 1, 2)}, two[] = {chosen(1, UP, 0, 3, 4)};
    size_t at = h.file.size + TT_CHUNK_HEADER_BYTES;
    hand_details(&h, one, 1);
    hand_details(&h, two, 1);
    h.file.data[at] ^= 0x55;
    tt_model *m = hand_open(&h, true);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(tt_details_of_run(m->details, 1, &list, &n, NULL), TT_OK);
        assert_int_equal(n, 1);
        assert_int_equal(list->experts.expert[0], 3);
        assert_int_equal(tt_details_damaged(m->details, &err), 1);
        assert_int_equal(err.status, TT_E_CHECKSUM);
    }
    hand_close(&h, m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_ops_read_the_view),
        cmocka_unit_test(gathers_read_rows),
        cmocka_unit_test(what_was_not_observed_is_a_bound),
        cmocka_unit_test(row_numbers_out_of_range_are_dropped),
        cmocka_unit_test(experts_are_slices),
        cmocka_unit_test(hostile_details_are_dropped),
        cmocka_unit_test(details_come_run_by_run),
        cmocka_unit_test(a_damaged_chunk_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
