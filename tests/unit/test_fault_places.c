/* Whose page faults are, on a trace made by hand: of the tensor and of the expert at their
 * addresses, and of the op whose thread had them. */
#include "tests.h"

#include "export_trace.h"

#include "analyze/faults.h"
#include "analyze/verify/verify.h"
#include "analyze/why/why.h"

#include <string.h>

/* Weights of 1024 bytes from offset 4096 of the file; w1 has 16 experts of 64. */
enum { PLAIN, UP, N_NODES, W0 = N_NODES, W1, INPUT, IDS };
enum { MAPPED = 0x100000, THREAD = 7, W0_AT = 4096, W1_AT = W0_AT + 1024, EXPERT = 64 };

static const tt_page_fault faults[] = {
    /* In the first op, which reads w0: its first and its last byte, and the first one behind it. */
    {.ticks = 110, .address = MAPPED + W0_AT, .thread = THREAD, .major = true},
    {.ticks = 120, .address = MAPPED + W0_AT + 1023, .thread = THREAD},
    {.ticks = 130, .address = MAPPED + W1_AT, .thread = THREAD, .major = true},
    /* In the second op, which reads experts 3 and 5 of w1: the first and the last byte of 3, the
     * first one of 4, two of 5; and a byte before w1. Another thread's is nobody's. */
    {.ticks = 310, .address = MAPPED + W1_AT + 3 * EXPERT, .thread = THREAD, .major = true},
    {.ticks = 320, .address = MAPPED + W1_AT + 4 * EXPERT - 1, .thread = THREAD, .major = true},
    {.ticks = 330, .address = MAPPED + W1_AT + 4 * EXPERT, .thread = THREAD},
    {.ticks = 340, .address = MAPPED + W1_AT + 5 * EXPERT, .thread = THREAD, .major = true},
    {.ticks = 345, .address = MAPPED + W1_AT + 5 * EXPERT + 1, .thread = THREAD},
    /* Of the stack. */
    {.ticks = 348, .address = 0x7000, .thread = THREAD},
    {.ticks = 350, .address = MAPPED + W1_AT - 1, .thread = THREAD},
    {.ticks = 360, .address = MAPPED + W0_AT, .thread = THREAD + 1, .major = true},
    /* Between ops. */
    {.ticks = 450, .address = MAPPED + W0_AT, .thread = THREAD, .major = true},
};

/* counted: the kernel's counts are there, too, with bytes read. */
static tt_model *open_faults(hand *h, bool counted)
{
    hand_begin(h);
    hand_clock(h, 0, 0);
    hand_clock(h, 1000000, 1000000);
    tt_meta_put_ring(&h->record, &(tt_meta_ring){0, THREAD, 1});
    hand_put(h, TT_META_RING);
    hand_model(h, 1, "/m.gguf", 2);
    tt_meta_tensor *t = hand_tensor(h, "plain", "MUL_MAT", 4, 4, 16);
    hand_source(t, W0);
    t = hand_tensor(h, "up", "MUL_MAT_ID", 4, 2, 1);
    hand_source(t, W1);
    hand_source(t, INPUT);
    hand_source(t, IDS);
    (void)hand_tensor(h, "w0", "NONE", 4, 4, 16);
    (void)hand_tensor(h, "w1", "NONE", 4, 4, 16);
    (void)hand_tensor(h, "input", "NONE", 4, 1, 1);
    (void)hand_tensor(h, "ids", "NONE", 2, 1, 1);
    hand_graph(h, 1, N_NODES);
    tt_meta_mapping map = {
        .id = 1, .ticks = 1, .address = MAPPED, .size_bytes = 8192, .path = hand_span("/m.gguf")};
    tt_meta_put_mapping(&h->record, &map);
    hand_put(h, TT_META_MAPPING);
    hand_batch_at(h, 1, 1, 90);
    hand_run_at(h, 1, 1, 1, 95);
    tt_page_fault list[sizeof faults / sizeof *faults];
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        list[i] = faults[i];
        list[i].mapping = faults[i].address >= MAPPED; /* else 0: none */
    }
    tt_page_faults_put(&h->record, 50, 900, list, sizeof list / sizeof *list);
    hand_put(h, TT_META_PAGE_FAULTS);
    hand_end(h, TT_META_RUN_END, 1, 500);
    hand_end(h, TT_META_BATCH_END, 1, 510);
    const tt_op_record ops[] = {hand_op(1, PLAIN, 0, 100, 200, 200),
                                hand_op(1, UP, 0, 300, 400, 400)};
    hand_ops(h, 1, ops, 2);
    tt_detail d[3] = {{.run = 1,
                       .place = tt_detail_place(UP, 0, TT_DETAIL_EXPERTS),
                       .experts = {.token = 0, .n = 2, .expert = {5, 3}}},
                      {.run = 1,
                       .place = tt_detail_place(PLAIN, 0, TT_DETAIL_FAULTS),
                       .faults = {.minor = 1, .major = 2, .cpu_ns = 50, .read_bytes = 8192}},
                      {.run = 1,
                       .place = tt_detail_place(UP, 0, TT_DETAIL_FAULTS),
                       .faults = {.minor = 4, .major = 3, .cpu_ns = 40, .read_bytes = 30000}}};
    hand_details(h, d, counted ? 3 : 1);
    tt_model *m = hand_open(h, true);
    assert_int_equal(m->n_problems, 0);
    assert_int_equal(m->n_mappings, 1);
    m->mappings[0].file = 0; /* known by its inode elsewhere */
    return m;
}

static const tt_faults_row *find(const tt_faults *f, const char *key, int64_t number)
{
    size_t n;
    const tt_faults_row *rows = tt_faults_rows(f, &n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(rows[i].key, key) == 0 && rows[i].number == number) return &rows[i];
    return NULL;
}

static void expect(const tt_faults *f, const char *key, int64_t number, uint64_t major,
                   uint64_t minor)
{
    size_t n;
    uint64_t sums[2] = {0};
    const tt_faults_row *rows = tt_faults_rows(f, &n);
    assert_non_null(find(f, key, number));
    for (size_t i = 0; i < n; i++) {
        if (strcmp(rows[i].key, key) != 0 || rows[i].number != number) continue;
        sums[0] += rows[i].counts.major;
        sums[1] += rows[i].counts.minor;
    }
    assert_int_equal(sums[0], major);
    assert_int_equal(sums[1], minor);
}

static tt_faults *sum_up(const tt_model *m, tt_faults_by by, uint32_t node)
{
    tt_faults *f = tt_faults_new(m, by, &(tt_filter){0});
    assert_non_null(f);
    if (node != TT_NONE) tt_faults_only(f, 0, node);
    assert_int_equal(tt_faults_sum(f, NULL, NULL, NULL), TT_OK);
    return f;
}

static void faults_are_where_their_addresses_are(void **state)
{
    (void)state;
    for (int counted = 0; counted < 2; counted++) {
        hand h;
        tt_model *m = open_faults(&h, counted);
        tt_faults *f = sum_up(m, TT_FAULTS_BY_TENSOR, TT_NONE);
        expect(f, "w0", -1, 1, 2); /* also of the op that reads w1 */
        expect(f, "w1", -1, 4, 2); /* also of the op that reads w0 */
        expect(f, "(no weight)", -1, 0, 1);
        assert_int_equal(find(f, "w0", -1)->shared, false);
        tt_faults_free(f);
        f = sum_up(m, TT_FAULTS_BY_EXPERT, TT_NONE);
        expect(f, "w0", -1, 1, 2);
        expect(f, "w1", -1, 1, 0); /* of an op without experts */
        expect(f, "w1", 3, 2, 0);
        expect(f, "w1", 4, 0, 1); /* hit, though not chosen */
        expect(f, "w1", 5, 1, 1);
        expect(f, "(no weight)", -1, 0, 1);
        assert_null(find(f, "w1", 1));
        if (counted) {
            /* Bytes read go with the major faults: 2 of 3, 1 of 3; of w0's op 1 of 2 each. */
            assert_int_equal(find(f, "w1", 3)->counts.read_bytes, 20000);
            assert_int_equal(find(f, "w1", 5)->counts.read_bytes, 10000);
            assert_int_equal(find(f, "w0", -1)->counts.read_bytes, 4096);
            assert_int_equal(find(f, "w1", -1)->counts.read_bytes, 4096);
            assert_int_equal(find(f, "(no weight)", -1)->counts.read_bytes, 0);
        }
        tt_faults_free(f);
        hand_close(&h, m);
    }
}

static void faults_of_one_op_are_its_own(void **state)
{
    hand h;
    tt_why w;
    size_t n;
    (void)state;
    tt_model *m = open_faults(&h, false);
    tt_faults *f = sum_up(m, TT_FAULTS_BY_TENSOR, PLAIN);
    (void)tt_faults_rows(f, &n);
    assert_int_equal(n, 2);
    expect(f, "w0", -1, 1, 1);
    expect(f, "w1", -1, 1, 0);
    assert_int_equal(tt_faults_total(f)->count, 1);
    tt_faults_free(f);
    assert_int_equal(tt_why_op_at(m, 0, PLAIN, NULL, &w, NULL), TT_OK);
    assert_int_equal(w.n_faults, 2); /* of 6 and 5 in the batch: */
    assert_int_equal(w.faults[0].major + w.faults[1].major, 2);
    assert_int_equal(w.faults[0].minor + w.faults[1].minor, 1);
    tt_why_free(&w);
    /* A time holds the ops that begin in it. */
    const tt_filter later = {.has_from = true, .from_ns = 200};
    f = tt_faults_new(m, TT_FAULTS_BY_TENSOR, &later);
    assert_int_equal(tt_faults_sum(f, NULL, NULL, NULL), TT_OK);
    assert_int_equal(tt_faults_total(f)->count, 1);
    expect(f, "w0", -1, 0, 1);
    expect(f, "w1", -1, 3, 2);
    tt_faults_free(f);
    hand_close(&h, m);
}

/* Of two computations on two threads, one has the ops of one thread only; or both have. */
static void a_thread_without_ops_is_missed(void **state)
{
    (void)state;
    for (int lacking = 1; lacking <= 2; lacking++) {
        tt_check checks[TT_CHECKS_MAX];
        hand h;
        size_t n;
        hand_begin_whole(&h);
        hand_model(&h, 1, "/m.gguf", 1);
        hand_source(hand_tensor(&h, "plain", "MUL_MAT", 4, 4, 16), 1);
        (void)hand_tensor(&h, "w0", "NONE", 4, 4, 16);
        hand_graph(&h, 1, 1);
        for (uint32_t run = 1; run <= 2; run++) {
            tt_meta_run r = {.id = run, .graph = 1, .observed = TT_OBSERVED_HOOK, .threads = 2};
            r.ticks = 1000 * run;
            tt_meta_put_run(&h.record, &r);
            hand_put(&h, TT_META_RUN);
            hand_end(&h, TT_META_RUN_END, run, 1000 * run + 500);
        }
        const tt_op_record first[] = {hand_op(1, 0, 0, 1100, 1200, 1200),
                                      hand_op(2, 0, 0, 2100, 2200, 2200)},
                           second[] = {hand_op(1, 0, 1, 1100, 1200, 1200)};
        hand_ops(&h, 1, first, 2);
        if (lacking == 1) hand_ops(&h, 2, second, 1);
        tt_model *m = hand_open(&h, true);
        assert_int_equal(tt_verify(m, checks, &n, NULL, NULL, NULL), TT_OK);
        for (size_t i = 0; i < n; i++) {
            if (strcmp(checks[i].name, "graph-order") != 0) continue;
            assert_int_equal(checks[i].verdict, lacking == 1 ? TT_CHECK_FAILED : TT_CHECK_PASSED);
            assert_non_null(
                strstr(checks[i].detail,
                       lacking == 1 ? "run 2 was asked for on 2 threads, ops of 1 are there"
                                    : "2 runs were asked for on up to 2 threads, and 1 took part"));
        }
        hand_close(&h, m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_are_where_their_addresses_are),
        cmocka_unit_test(faults_of_one_op_are_its_own),
        cmocka_unit_test(a_thread_without_ops_is_missed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
