/* Times that are not what they seem: of threads that did not run, of ops without an end, and of ops
 * that end after their computation. */
#include "tests.h"

#include "analyze/log/log.h"
#include "analyze/off_cpu.h"
#include "analyze/off_cpu_bins.h"
#include "analyze/stats.h"
#include "analyze/timeline/timeline.h"
#include "analyze/work.h"
#include "export/tables/columns.h"
#include "format/ops.h"
#include "hand_trace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N_OPS 3

/* Two lanes of three ops in a run from 1,000 to 2,000,000; a tick is a nanosecond. */
static void put_ops(hand *h, const tt_op_record *records, size_t n, uint32_t stream)
{
    tt_bytes raw;
    tt_bytes_init(&raw, TT_CHUNK_PAYLOAD_MAX);
    assert_true(tt_ops_encode(&raw, records, n, 0));
    hand_chunk(h, (tt_chunk_header){.type = TT_CHUNK_OPS, .stream = stream, .count = (uint32_t)n},
               &raw, (tt_index_entry){.run_min = records->run, .run_max = records->run});
    tt_bytes_free(&raw);
}

static void put_environment(hand *h, const char *key, const char *value)
{
    tt_meta_pair pair = {hand_span(key), hand_span(value)};
    tt_meta_put_pairs(&h->record, &pair, 1);
    hand_put(h, TT_META_ENVIRONMENT);
}

/* A clock of nanoseconds, and the graph. */
static void begin(hand *h, const char *key, const char *value)
{
    static const char *const names[] = {"a", "b", "c"}, *const ops[] = {"ADD", "MUL", "RMS_NORM"};
    hand_begin(h);
    put_environment(h, key, value);
    for (uint64_t i = 0; i < 2; i++) {
        tt_meta_clock k = {i * 3000000, i * 3000000, i * 3000000};
        tt_meta_put_clock(&h->record, &k);
        hand_put(h, TT_META_CLOCK);
    }
    for (size_t i = 0; i < N_OPS; i++)
        (void)hand_tensor(h, names[i], ops[i], 4, 1, 1);
    hand_graph(h, 1, N_OPS);
}

static void put_run(hand *h, uint32_t id, uint8_t observed)
{
    tt_meta_end end = {.id = id, .ticks = 2000000};
    hand_run_as(h, id, 0, 1, observed);
    tt_meta_put_end(&h->record, &end);
    hand_put(h, TT_META_RUN_END);
}

/* records: of lane 0, then of lane 1. */
static tt_model *make(hand *h, const char *key, const char *value, const tt_op_record *records,
                      const tt_detail *details, size_t n_details)
{
    begin(h, key, value);
    put_run(h, 1, TT_OBSERVED_HOOK);
    hand_flush(h);
    put_ops(h, records, N_OPS, 1);
    put_ops(h, records + N_OPS, N_OPS, 2);
    if (n_details) hand_details(h, details, n_details);
    return hand_open(h, true);
}

#define OP(node, lane, start, arrive, release)                                                     \
    {                                                                                              \
        start, arrive, release, 1, (node) | (lane) << 20                                           \
    }

static const tt_op_record good[2 * N_OPS] = {
    OP(0u, 0u, 1000, 2000, 3000),        OP(1u, 0u, 3000, 503000, 504000),
    OP(2u, 0u, 504000, 505000, 1204000), OP(0u, 1u, 1000, 3000, 3000),
    OP(1u, 1u, 3000, 504000, 504000),    OP(2u, 1u, 504000, 1204000, 1204000),
};

static const tt_stats_row *row(tt_stats *s, const char *key)
{
    size_t n;
    const tt_stats_row *rows = tt_stats_rows(s, &n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(rows[i].key, key) == 0) return &rows[i];
    fail_msg("no row %s", key);
    return NULL;
}

static tt_stats *sum_up(const tt_model *m, tt_stats_by by)
{
    tt_stats *s = tt_stats_new(m, by, NULL);
    assert_non_null(s);
    assert_int_equal(tt_stats_walk(&s, 1, m, NULL, NULL, NULL), TT_OK);
    return s;
}

static void near(double wanted, double got)
{
    assert_true(fabs(wanted - got) < 2);
}

typedef struct off_cpu_sum {
    const tt_model *m;
    bool known;
    double ns;
} off_cpu_sum;

static bool add_off_cpu(void *context, const tt_log_op *op)
{
    off_cpu_sum *sum = context;
    assert_int_equal(op->off_cpu_known, sum->known);
    sum->ns += tt_model_span_ns(sum->m, op->off_cpu_ticks);
    return true;
}

static void check_log_off_cpu(const tt_model *m, bool by_lane, bool known, double wanted)
{
    const tt_filter all = {0};
    off_cpu_sum sum = {.m = m, .known = known};
    assert_int_equal(tt_log_walk(m, &all, by_lane, add_off_cpu, &sum, NULL), TT_OK);
    near(wanted, sum.ns);
}

/* wanted < 0: null in all rows. */
static void check_table_off_cpu(const tt_model *m, const char *name, double wanted)
{
    const tt_export_table *t = NULL;
    size_t n;
    const tt_export_table *const *list = tt_export_tables(&n);
    tt_rows rows = {0};
    size_t at = 0;
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i]->name, name) == 0) t = list[i];
    assert_non_null(t);
    assert_int_equal(t->fill(m, NULL, 0, &rows, NULL), TT_OK);
    assert_true(rows.n > 0);
    while (strcmp(t->columns[at].key, "off_cpu_ns") != 0)
        assert_true(++at < t->n_columns);
    for (size_t i = 0; i < rows.n; i++) {
        const tt_values *v = &rows.columns[at];
        assert_int_equal(!v->valid || v->valid[i], wanted >= 0);
        sum += (double)((const uint64_t *)v->values)[i];
    }
    if (wanted >= 0) near(wanted, sum);
    tt_rows_free(&rows);
}

/* RMS_NORM takes 700 us as lane 1 did not run for 699 of them, and works 2 us. */
static void a_thread_that_does_not_run_makes_no_share(void **state)
{
    const tt_detail off[] = {
        {.run = 1, .place = tt_detail_place(1, 0, TT_DETAIL_OFF_CPU), .off_cpu = {.ns = 20000}},
        {.run = 1, .place = tt_detail_place(1, 0, TT_DETAIL_OFF_CPU), .off_cpu = {.ns = 30000}},
        /* More than the op took: what came just before it. */
        {.run = 1, .place = tt_detail_place(2, 1, TT_DETAIL_OFF_CPU), .off_cpu = {.ns = 699000}},
        {.run = 1, .place = tt_detail_place(0, 1, TT_DETAIL_OFF_CPU), .off_cpu = {.ns = 50000}}};
    hand h;
    (void)state;
    tt_model *m = make(&h, "capture_off_cpu", "on", good, off, 4);
    tt_stats *s = sum_up(m, TT_BY_OP);
    const tt_stats_row *norm = row(s, "RMS_NORM"), *all = tt_stats_total(s);
    near(700000, norm->total_ns);
    near(699000, norm->off_cpu_ns);
    near(2000, norm->work_ns);
    near(701000, norm->busy_ns);
    near(50000, row(s, "MUL")->off_cpu_ns);
    near(2000, row(s, "ADD")->off_cpu_ns);
    assert_true(tt_stats_share(norm, all) < 0.01);
    size_t n;
    const tt_stats_row *rows = tt_stats_rows(s, &n);
    for (size_t i = 0; i < n; i++)
        assert_true(rows[i].work_ns <= row(s, "MUL")->work_ns);
    tt_stats_free(s);
    s = sum_up(m, TT_BY_THREAD);
    near(50000, row(s, "0")->off_cpu_ns);
    near(701000, row(s, "1")->off_cpu_ns);
    near(502000 - 50000, row(s, "0")->work_ns);
    tt_stats_free(s);
    hand_close(&h, m);
}

/* RMS_NORM's lane 1 waits for 600 of its 701 us inside the op. */
static void waits_inside_an_op_are_no_work(void **state)
{
    const tt_detail waits[] = {{.run = 1,
                                .place = tt_detail_place(2, 1, TT_DETAIL_WAIT_INSIDE),
                                .off_cpu = {.ticks = 600000}}};
    hand h;
    (void)state;
    tt_model *m = make(&h, "capture_off_cpu", "on", good, waits, 1);
    tt_stats *s = sum_up(m, TT_BY_OP);
    const tt_stats_row *norm = row(s, "RMS_NORM");
    near(701000, norm->busy_ns);
    near(101000, norm->work_ns);
    /* Whether others were recorded is not told by this trace. */
    assert_true(isnan(norm->wait_inside_ns));
    tt_stats_free(s);
    hand_close(&h, m);
}

/* The same of each row: of the log, of the tables, of a report's parts. */
static void time_on_no_processor_is_a_column(void **state)
{
    const tt_detail off[] = {
        {.run = 1, .place = tt_detail_place(2, 1, TT_DETAIL_OFF_CPU), .off_cpu = {.ns = 600000}}};
    hand h;
    (void)state;
    tt_model *m = make(&h, "capture_off_cpu", "on", good, off, 1);
    check_log_off_cpu(m, false, 1, 600000);
    check_log_off_cpu(m, true, 1, 600000);
    check_table_off_cpu(m, "ops", 600000);
    check_table_off_cpu(m, "lanes", 600000);
    tt_work w;
    tt_rollups by_op;
    assert_int_equal(tt_work_measure(m, &w, NULL, NULL, NULL), TT_OK);
    assert_true(tt_rollups_of(&w, m, TT_ROLLUP_OP, &by_op));
    double work = 0, off_cpu = 0;
    for (size_t i = 0; i < by_op.n; i++) {
        work += by_op.list[i].work_ns;
        off_cpu += by_op.list[i].compute_ns - by_op.list[i].work_ns;
        assert_true(i == 0 || by_op.list[i].work_ns <= by_op.list[i - 1].work_ns);
    }
    near(600000, off_cpu);
    assert_string_equal(by_op.list[0].key, "MUL");
    tt_stats *s = sum_up(m, TT_BY_OP);
    near(tt_stats_total(s)->work_ns, work);
    tt_stats_free(s);
    free(by_op.list);
    tt_work_free(&w);
    hand_close(&h, m);
    m = make(&h, "waits", "not observed: for a test", good, NULL, 0);
    check_log_off_cpu(m, false, 0, 0);
    check_log_off_cpu(m, true, 0, 0);
    check_table_off_cpu(m, "ops", -1);
    check_table_off_cpu(m, "lanes", -1);
    hand_close(&h, m);
}

static void what_was_not_observed_is_unknown(void **state)
{
    hand h;
    char text[TT_STATS_FLAWS_TEXT];
    (void)state;
    tt_model *m = make(&h, "waits", "not observed: for a test", good, NULL, 0);
    assert_string_equal(m->waits_unknown, "for a test");
    tt_stats *s = sum_up(m, TT_BY_OP);
    assert_true(isnan(tt_stats_total(s)->off_cpu_ns) && isnan(tt_stats_total(s)->wait_ns));
    near(tt_stats_total(s)->busy_ns, tt_stats_total(s)->work_ns);
    assert_false(tt_stats_flaws(tt_stats_total(s), text));
    tt_stats_free(s);
    hand_close(&h, m);
}

/* Lane 0 of a hooked run, and of one that was observed otherwise. */
static tt_model *make_two(hand *h, uint8_t observed)
{
    tt_op_record other[N_OPS];
    begin(h, "mode", "hook");
    put_run(h, 1, TT_OBSERVED_HOOK);
    put_run(h, 2, observed);
    hand_flush(h);
    memcpy(other, good, sizeof other);
    for (size_t i = 0; i < N_OPS; i++)
        other[i].run = 2;
    put_ops(h, good, N_OPS, 1);
    put_ops(h, other, N_OPS, 2);
    return hand_open(h, true);
}

/* Callbacks and programs tell of ops, not of threads that wait: also in traces of before. */
static void waits_are_known_of_hooked_computations(void **state)
{
    static const uint8_t others[] = {TT_OBSERVED_CALLBACK, TT_OBSERVED_PROGRAM};
    hand h;
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        tt_model *m = make_two(&h, others[i]);
        assert_null(m->waits_unknown);
        assert_false(m->waits_known);
        assert_true(tt_model_waits_known(m, &m->runs[0]));
        assert_false(tt_model_waits_known(m, &m->runs[1]));
        tt_stats *s = sum_up(m, TT_BY_OP);
        assert_true(isnan(tt_stats_total(s)->wait_ns));
        tt_stats_free(s);
        hand_close(&h, m);
        begin(&h, "mode", "callback");
        put_run(&h, 1, others[i]);
        hand_flush(&h);
        put_ops(&h, good, N_OPS, 1);
        m = hand_open(&h, true);
        assert_non_null(m->waits_unknown);
        hand_close(&h, m);
    }
    tt_model *m = make_two(&h, TT_OBSERVED_HOOK);
    assert_true(m->waits_known);
    hand_close(&h, m);
}

/* Each op on its own, all in one bucket, and the sums. */
static void pictures_show_no_wait_that_is_unknown(void **state)
{
    const tt_tile_query narrow = {.to_ns = 2000000, .n_buckets = 2000},
                        wide = {.to_ns = 2000000, .n_buckets = 1};
    float busy, wait;
    hand h;
    tt_timeline *t;
    tt_tile tile;
    (void)state;
    tt_model *m = make_two(&h, TT_OBSERVED_CALLBACK);
    assert_int_equal(tt_timeline_new(m, &t, NULL), TT_OK);
    assert_int_equal(tt_tile_make(t, m, &narrow, &tile, NULL), TT_OK);
    unsigned n[2] = {0, 0};
    for (uint32_t i = 0; i < tile.n_slices; i++) {
        assert_int_equal(isnan(tile.slices[i].wait_ns), tile.slices[i].run == 1);
        n[tile.slices[i].run]++;
    }
    assert_true(n[0] > 0 && n[1] > 0);
    tt_tile_free(&tile);
    assert_int_equal(tt_tile_make(t, m, &wide, &tile, NULL), TT_OK);
    assert_true(tile.n_merged > 0);
    for (uint32_t i = 0; i < tile.n_merged; i++)
        assert_true(isnan(tile.merged[i].wait_ns));
    tt_tile_free(&tile);
    assert_int_equal(tt_timeline_advance(t, m, 0, NULL), TT_OK);
    assert_int_equal(tt_timeline_load(t, 0, 2000000, 1, &busy, &wait, NULL), TT_OK);
    assert_true(busy > 0 && wait == -1);
    tt_timeline_free(t);
    hand_close(&h, m);
}

static void ops_without_an_end_and_beyond_their_run_are_told(void **state)
{
    tt_op_record records[2 * N_OPS];
    char text[TT_STATS_FLAWS_TEXT];
    hand h;
    (void)state;
    memcpy(records, good, sizeof good);
    records[2].arrive = records[2].release = 0;
    records[4].arrive = 2100000; /* after the run's end */
    records[4].release = 2100000;
    records[5].start = 2100000;
    records[5].arrive = records[5].release = 2100000;
    tt_model *m = make(&h, "waits", "observed", records, NULL, 0);
    tt_stats *s = sum_up(m, TT_BY_OP);
    const tt_stats_row *all = tt_stats_total(s);
    assert_int_equal(all->count, 3);
    assert_int_equal(all->timed, 2);
    assert_int_equal(all->bent, 1);
    assert_true(tt_stats_flaws(all, text));
    assert_non_null(strstr(text, "1 of 3 ops have no end"));
    assert_non_null(strstr(text, "1 of 3 ops have times outside of their graph computation"));
    tt_stats_free(s);
    hand_close(&h, m);
}

static double sum_of(const tt_off_cpu_bins *b, uint32_t track)
{
    double sum = 0;
    for (uint32_t i = 0; i < b->n_buckets; i++)
        sum += b->off_ns[(size_t)track * b->n_buckets + i];
    return sum;
}

/* 50 us of MUL on lane 0, 2 us of ADD and 699 of RMS_NORM (504 to 1,204) on lane 1: as ops, in
 * buckets, and in a part of the time that begins in the middle of RMS_NORM. */
static void time_off_cpu_is_whole_however_many_ops_have_it(void **state)
{
    const tt_detail off[] = {
        {.run = 1, .place = tt_detail_place(0, 1, TT_DETAIL_OFF_CPU), .off_cpu = {.ns = 50000}},
        {.run = 1, .place = tt_detail_place(1, 0, TT_DETAIL_OFF_CPU), .off_cpu = {.ns = 50000}},
        {.run = 1, .place = tt_detail_place(2, 1, TT_DETAIL_OFF_CPU), .off_cpu = {.ns = 699000}}};
    const double halfway[] = {1204000 - 700000 / 2, 1204000};
    hand h;
    tt_off_cpu_ops ops;
    tt_off_cpu_bins all, part;
    size_t first, end;
    (void)state;
    tt_model *m = make(&h, "capture_off_cpu", "on", good, off, 3);
    m->runs[0].threads = 2;
    const double from = tt_model_ns(m, (uint64_t)halfway[0]);
    const double to = tt_model_ns(m, (uint64_t)halfway[1]);
    assert_int_equal(tt_off_cpu_ops_find(&ops, m, -INFINITY, INFINITY, 3, NULL), TT_OK);
    assert_int_equal(ops.n, 3);
    assert_false(ops.cut);
    tt_off_cpu_ops_between(&ops, from, to, &first, &end);
    assert_true(first < end && ops.list[end - 1].node == 2);
    tt_off_cpu_ops_free(&ops);
    assert_int_equal(tt_off_cpu_ops_find(&ops, m, -INFINITY, INFINITY, 2, NULL), TT_OK);
    assert_true(ops.cut);
    tt_off_cpu_ops_free(&ops);
    assert_int_equal(tt_off_cpu_bins_find(&all, m, 4096, NULL), TT_OK);
    near(50000, sum_of(&all, 0));
    near(701000, sum_of(&all, 1));
    assert_int_equal(tt_off_cpu_bins_begin(&part, from, to, 7, all.n_tracks, UINT32_MAX, NULL),
                     TT_OK);
    tt_off_cpu_bins_cut(&all, &part);
    near(0, sum_of(&part, 0));
    assert_true(fabs(699000 / 2 - sum_of(&part, 1)) <
                2 * (all.to_ns - all.from_ns) / all.n_buckets);
    assert_true(fabs(part.off_ns[7] - part.off_ns[12]) < 2000); /* evenly */
    tt_off_cpu_bins_free(&part);
    tt_off_cpu_bins_free(&all);
    hand_close(&h, m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_that_does_not_run_makes_no_share),
        cmocka_unit_test(waits_inside_an_op_are_no_work),
        cmocka_unit_test(time_on_no_processor_is_a_column),
        cmocka_unit_test(what_was_not_observed_is_unknown),
        cmocka_unit_test(waits_are_known_of_hooked_computations),
        cmocka_unit_test(pictures_show_no_wait_that_is_unknown),
        cmocka_unit_test(time_off_cpu_is_whole_however_many_ops_have_it),
        cmocka_unit_test(ops_without_an_end_and_beyond_their_run_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
