/* heat and whatif on small models whose numbers can be worked out by hand, and against slow
 * counts on a made-up trace. */
#include "tests.h"

#include "../golden/synth_trace.c"
#include "analyze/cache/whatif.h"
#include "analyze/heat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The allocation that fails, counted down; below zero: none. Sanitizers have an allocator of their
 * own. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED
#endif
#ifndef SANITIZED
static int failing = -1;

void *__libc_calloc(size_t n, size_t size);

void *calloc(size_t n, size_t size)
{
    if (failing >= 0 && failing-- == 0) return NULL;
    return __libc_calloc(n, size);
}
#endif

/* A file of 100 bytes: a norm (0..9), an expert tensor of four (20..59), an embedding of
 * rows (60..99); 10..19 is padding and nobody's. */
enum { NORM, EXPERTS, ROWS };

static tt_weight weights[] = {
    {.name = "norm",
     .n_dims = 1,
     .ne = {10, 1, 1, 1},
     .offset_bytes = 0,
     .size_bytes = 10,
     .place = {0, "norm", "norm"}},
    {.name = "exps",
     .n_dims = 3,
     .ne = {2, 5, 4, 1},
     .offset_bytes = 20,
     .size_bytes = 40,
     .place = {0, "ffn", "exps"}},
    {.name = "rows",
     .n_dims = 2,
     .ne = {4, 10, 1, 1},
     .offset_bytes = 60,
     .size_bytes = 40,
     .place = {TT_LAYER_NONE, "input", "rows"}},
};

static tt_model_file files[] = {{.path = "dir/m.gguf", .size_bytes = 100, .n_weights = 3}};

static tt_batch batches[] = {
    {.n_tokens = 4, .phase = TT_PHASE_PROMPT, .ended = true, .begin_ticks = 0, .end_ticks = 1000},
    {.n_tokens = 1,
     .phase = TT_PHASE_GENERATE,
     .ended = true,
     .begin_ticks = 1000,
     .end_ticks = 1100},
    {.n_tokens = 1,
     .phase = TT_PHASE_GENERATE,
     .ended = true,
     .begin_ticks = 1100,
     .end_ticks = 1200},
};

static tt_model make_model(void)
{
    tt_model m = {0};
    m.weights = weights;
    m.n_weights = 3;
    m.files = files;
    m.n_files = 1;
    m.batches = batches;
    m.n_batches = 3;
    m.clock.known = true;
    m.clock.ns_per_tick = 1;
    return m;
}

static tt_read_range ranges[] = {
    {NORM, TT_EXPERT_NONE, 0, 10, 10, false, false},
    {EXPERTS, 0, 20, 10, 10, false, false},
    {EXPERTS, 1, 30, 10, 10, false, false},
    {EXPERTS, 2, 40, 10, 10, false, false},
    {ROWS, TT_EXPERT_NONE, 60, 12, 12, false, false},
    {ROWS, TT_EXPERT_NONE, 64, 4, 4, false, false},
    {EXPERTS, TT_EXPERT_NONE, 20, 20, 40, true, false}, /* two of them, or one twice */
    {ROWS, TT_EXPERT_NONE, 60, 4, 40, false, false},    /* one of them */
};

/* rows 0-2, norm, experts 0 1 | row 1, norm, expert 1 | row 1, norm, expert 2 */
static uint32_t order[] = {4, 0, 1, 2, 5, 0, 2, 5, 0, 3};
static tt_read_op ops[] = {
    {0, 0, true, 10, 5},        {1, 0, true, 20, 7},   {2, 0, true, 30, 100},
    {4, 1, true, 1010, 1},      {5, 1, true, 1020, 2}, {6, 1, true, 1030, 3},
    {7, 2, true, 1110, 1},      {8, 2, true, 1120, 2}, {9, 2, false, 1130, 0},
    {10, TT_NONE, false, 0, 0},
};

static tt_reads make_reads(void)
{
    return (tt_reads){
        .ranges = ranges, .order = order, .ops = ops, .n_ranges = 6, .n = 10, .n_ops = 9};
}

static const tt_heat_row *find(const tt_heat *h, uint32_t weight, int32_t expert)
{
    for (size_t i = 0; i < h->n_rows; i++)
        if (h->rows[i].weight == weight && h->rows[i].expert == expert) return &h->rows[i];
    fail_msg("no row of weight %u, expert %d", weight, expert);
    return NULL;
}

static void experts_by_hand(void **state)
{
    const tt_model m = make_model();
    const tt_reads r = make_reads();
    const tt_filter all = {0};
    tt_heat h;
    (void)state;
    assert_int_equal(tt_heat_measure(&m, &r, &all, TT_HEAT_EXPERT, &h, NULL), TT_OK);
    assert_int_equal(h.n_rows, 6);
    const tt_heat_row *norm = find(&h, NORM, TT_EXPERT_NONE), *one = find(&h, EXPERTS, 1);
    const tt_heat_row *three = find(&h, EXPERTS, 3), *rows = find(&h, ROWS, TT_EXPERT_NONE);
    assert_int_equal(norm->accesses, 3);
    assert_int_equal(norm->batches, 3);
    assert_int_equal(norm->read_bytes, 30);
    assert_true(fabs(norm->time_ns - 11) < 1e-9);
    /* norm, experts 0 and 1, row 1; then norm, expert 1, row 1. */
    assert_int_equal(norm->reuses, 2);
    assert_int_equal(norm->reuse_p50_bytes, 24);
    assert_int_equal(norm->reuse_max_bytes, 34);
    assert_true(fabs(norm->reuse_mean_bytes - 29) < 1e-9);
    assert_int_equal(one->accesses, 2);
    assert_int_equal(one->first_batch, 0);
    assert_int_equal(one->last_batch, 1);
    assert_int_equal(one->last_ticks, 1030);
    assert_int_equal(one->reuse_p50_bytes, 24);
    assert_int_equal(three->accesses, 0);
    assert_int_equal(three->size_bytes, 10);
    assert_int_equal(rows->touched_bytes, 12);
    assert_int_equal(rows->read_bytes, 20);
    assert_int_equal(find(&h, EXPERTS, 2)->timed, 0);
    /* Sets: the norm; rows 0-2 and experts 0-2; expert 3 and the other rows. */
    assert_int_equal(h.model_bytes, 90);
    assert_int_equal(h.every.units, 1);
    assert_int_equal(h.every.bytes, 10);
    assert_int_equal(h.some.units, 4);
    assert_int_equal(h.some.bytes, 42);
    assert_int_equal(h.never.units, 1);
    assert_int_equal(h.never.bytes, 38);
    assert_int_equal(h.partly, 1);
    assert_int_equal(h.of_phase[TT_PHASE_PROMPT].distinct_bytes, 42);
    assert_int_equal(h.of_phase[TT_PHASE_GENERATE].distinct_bytes, 48);
    assert_int_equal(h.of_phase[TT_PHASE_GENERATE].distinct_bytes_max, 24);
    /* 90 bytes were read; the norm (30 of 10) is the hottest, then expert 1 (20 of 10). */
    assert_int_equal(h.read_bytes, 90);
    assert_true(fabs(h.curve[0].weights - (10 + 7.5) / 90) < 1e-9);
    assert_true(fabs(h.curve[5].weights - 52.0 / 90) < 1e-9);
    const tt_heat_context context = {&m};
    const tt_rowset rowset = tt_heat_rowset(&context, &h, TT_HEAT_EXPERT);
    tt_listing l;
    assert_int_equal(tt_listing_make(&l, &rowset, &(tt_listing_wish){.sort = "first"}, NULL),
                     TT_OK);
    assert_int_equal(((const tt_heat_row *)tt_listing_row(&l, 0))->weight, ROWS);
    assert_int_equal(((const tt_heat_row *)tt_listing_row(&l, 5))->accesses, 0);
    tt_listing_free(&l);
    tt_heat_free(&h);
}

/* Rows that are sums: an op of two experts is one access. */
static void tensors_and_layers_by_hand(void **state)
{
    const tt_model m = make_model();
    const tt_reads r = make_reads();
    const tt_filter all = {0};
    tt_heat h;
    (void)state;
    assert_int_equal(tt_heat_measure(&m, &r, &all, TT_HEAT_TENSOR, &h, NULL), TT_OK);
    assert_int_equal(h.n_rows, 3);
    const tt_heat_row *exps = find(&h, EXPERTS, TT_EXPERT_NONE);
    assert_int_equal(exps->accesses, 3);
    assert_int_equal(exps->size_bytes, 40);
    assert_int_equal(exps->touched_bytes, 30);
    assert_int_equal(exps->read_bytes, 40);
    assert_int_equal(exps->reuses, 1);
    tt_heat_free(&h);
    assert_int_equal(tt_heat_measure(&m, &r, &all, TT_HEAT_LAYER, &h, NULL), TT_OK);
    assert_int_equal(h.n_rows, 2);
    assert_int_equal(find(&h, NORM, TT_EXPERT_NONE)->accesses, 6);
    tt_heat_free(&h);
}

/* Without memory for any part of it there is an error: nothing is zero that was not counted. */
static void no_memory_is_no_zero(void **state)
{
    (void)state;
#ifndef SANITIZED
    const tt_model m = make_model();
    const tt_reads r = make_reads();
    const tt_filter all = {0};
    tt_heat h;
    tt_status status = TT_E_MEMORY;
    for (int nth = 0; status != TT_OK; nth++) {
        failing = nth;
        status = tt_heat_measure(&m, &r, &all, TT_HEAT_EXPERT, &h, NULL);
        bool failed = failing < 0;
        failing = -1;
        assert_int_equal(status, failed ? TT_E_MEMORY : TT_OK);
        tt_heat_free(&h);
    }
#else
    skip();
#endif
}

/* A batch whose choices were lost may read any expert: of all of them two, of each one at most. */
static void what_was_not_observed(void **state)
{
    const tt_model m = make_model();
    const tt_filter all = {0};
    uint32_t mixed[] = {1, 6};
    tt_read_op mixed_ops[] = {{0, 0, true, 1, 1}, {1, 1, true, 2, 1}, {2, TT_NONE, false, 0, 0}};
    const tt_reads r = {.ranges = ranges,
                        .order = mixed,
                        .ops = mixed_ops,
                        .n_ranges = 7,
                        .n = 2,
                        .n_ops = 2,
                        .at_most = true};
    tt_heat h;
    (void)state;
    assert_int_equal(tt_heat_measure(&m, &r, &all, TT_HEAT_EXPERT, &h, NULL), TT_OK);
    assert_int_equal(find(&h, EXPERTS, 0)->accesses, 2);
    assert_int_equal(find(&h, EXPERTS, 3)->accesses, 1);
    assert_true(find(&h, EXPERTS, 3)->at_most && find(&h, EXPERTS, 3)->unplaced);
    assert_int_equal(find(&h, EXPERTS, 0)->read_bytes, 10 + 10);
    assert_int_equal(find(&h, EXPERTS, 3)->read_bytes, 10);
    assert_true(h.at_most);
    assert_int_equal(h.read_bytes, 10 + 20);
    tt_heat_free(&h);
    assert_int_equal(tt_heat_measure(&m, &r, &all, TT_HEAT_LAYER, &h, NULL), TT_OK);
    assert_int_equal(find(&h, NORM, TT_EXPERT_NONE)->read_bytes, 10 + 20);
    assert_int_equal(find(&h, NORM, TT_EXPERT_NONE)->touched_bytes, 40);
    tt_heat_free(&h);
}

/* One row of an unknown number in each batch, between reads of the norm: how much was read is
 * known; what was touched, and how far apart uses are, has a bound. */
static void amounts_without_places(void **state)
{
    const tt_model m = make_model();
    const tt_filter all = {0};
    uint32_t mixed[] = {7, 0, 7, 0, 7};
    tt_read_op mixed_ops[] = {{0, 0, true, 1, 1}, {1, 0, true, 2, 1}, {2, 1, true, 3, 1},
                              {3, 1, true, 4, 1}, {4, 2, true, 5, 1}, {5, TT_NONE, false, 0, 0}};
    const tt_reads r = {.ranges = ranges,
                        .order = mixed,
                        .ops = mixed_ops,
                        .n_ranges = 8,
                        .n = 5,
                        .n_ops = 5,
                        .unplaced = 3};
    tt_heat h;
    (void)state;
    assert_int_equal(tt_heat_measure(&m, &r, &all, TT_HEAT_TENSOR, &h, NULL), TT_OK);
    const tt_heat_row *rows = find(&h, ROWS, TT_EXPERT_NONE), *norm = find(&h, NORM, -1);
    assert_true(!rows->at_most && rows->unplaced && !norm->unplaced && !h.at_most);
    assert_int_equal(rows->read_bytes, 12);
    assert_int_equal(rows->touched_bytes, 12);
    assert_int_equal(rows->accesses, 3);
    assert_int_equal(rows->reuses, 0);
    /* The norm again: itself and a row in between. */
    assert_int_equal(norm->reuses, 1);
    assert_int_equal(norm->reuse_p50_bytes, 14);
    assert_true(norm->reuse_at_most);
    assert_int_equal(h.read_bytes, 32);
    assert_int_equal(h.touched_bytes, 22);
    assert_int_equal(h.of_phase[TT_PHASE_PROMPT].distinct_bytes, 14);
    assert_int_equal(h.of_phase[TT_PHASE_GENERATE].distinct_bytes, 14 + 4);
    assert_int_equal(h.steps.steps, 1); /* from the norm to itself */
    assert_int_equal(h.steps.again, 1);
    tt_heat_free(&h);
    /* As often as there are rows and more: no more than there is. */
    uint32_t often[11];
    tt_read_op often_ops[12];
    for (size_t i = 0; i < 11; i++) {
        often[i] = 7;
        often_ops[i] = (tt_read_op){i, 1, true, i, 1};
    }
    often_ops[11] = (tt_read_op){11, TT_NONE, false, 0, 0};
    const tt_reads again = {
        .ranges = ranges, .order = often, .ops = often_ops, .n_ranges = 8, .n = 11, .n_ops = 11};
    assert_int_equal(tt_heat_measure(&m, &again, &all, TT_HEAT_TENSOR, &h, NULL), TT_OK);
    assert_int_equal(find(&h, ROWS, TT_EXPERT_NONE)->read_bytes, 44);
    assert_int_equal(find(&h, ROWS, TT_EXPERT_NONE)->touched_bytes, 40);
    assert_int_equal(h.every.units, 0); /* it is not known to be read whole */
    tt_heat_free(&h);
}

/* With memory for all weights, a boosted run that begins warm reads nothing, and a cold one each
 * used byte once; with none, both read all. */
static void boost_begins_warm_or_cold(void **state)
{
    const tt_model m = make_model();
    const tt_reads r = make_reads();
    const uint64_t rams[] = {0, 1 << 20};
    (void)state;
    for (int warm = 0; warm < 2; warm++) {
        tt_whatif *w;
        tt_whatif_result results[2];
        const tt_whatif_plan plan = {.unit = TT_WHATIF_EXPERT,
                                     .reader = TT_WHATIF_DIRECT,
                                     .boost = true,
                                     .depth = 1,
                                     .warm = warm};
        assert_int_equal(tt_whatif_new(&m, &r, &plan, &w, NULL), TT_OK);
        assert_int_equal(tt_whatif_run(w, TT_POLICY_LRU, rams, 2, results, NULL), TT_OK);
        /* The norm three times, experts 0 and 1, 1, 2; rows are left to the page cache. */
        assert_int_equal(results[0].total.missed_bytes, 30 + 40);
        assert_int_equal(results[1].total.missed_bytes, warm ? 0 : 10 + 30);
        tt_whatif_free(w);
    }
}

/* Pages of a row whose number is not known are no pages: left out, and counted. */
static void replays_leave_out_unknown_places(void **state)
{
    const tt_model m = make_model();
    uint32_t mixed[] = {7, 0, 6, 7};
    tt_read_op mixed_ops[] = {{0, 1, true, 1, 1},
                              {1, 1, true, 2, 1},
                              {2, 1, true, 3, 1},
                              {3, 1, true, 4, 1},
                              {4, TT_NONE, false, 0, 0}};
    const tt_reads r = {
        .ranges = ranges, .order = mixed, .ops = mixed_ops, .n_ranges = 8, .n = 4, .n_ops = 4};
    tt_whatif *w;
    tt_whatif_result result;
    uint64_t ram = 1 << 20, bytes;
    (void)state;
    const tt_whatif_plan page = {.unit = TT_WHATIF_PAGE, .page_bytes = 4};
    assert_int_equal(tt_whatif_new(&m, &r, &page, &w, NULL), TT_OK);
    assert_int_equal(tt_whatif_left_out(w, &bytes), 2);
    assert_int_equal(bytes, 8);
    assert_int_equal(tt_whatif_run(w, TT_POLICY_LRU, &ram, 1, &result, NULL), TT_OK);
    assert_int_equal(result.total.asked_bytes, 4 + 10 + 20 + 4);
    /* The norm's three pages, and all ten of the experts: their bound is the whole tensor. */
    assert_int_equal(result.total.read_bytes, (3 + 10) * 4);
    tt_whatif_free(w);
    const tt_whatif_plan tensor = {.unit = TT_WHATIF_TENSOR};
    assert_int_equal(tt_whatif_new(&m, &r, &tensor, &w, NULL), TT_OK);
    assert_int_equal(tt_whatif_left_out(w, &bytes), 0);
    assert_int_equal(tt_whatif_run(w, TT_POLICY_LRU, &ram, 1, &result, NULL), TT_OK);
    assert_int_equal(result.total.read_bytes, 10 + 40 + 2 * 40);
    tt_whatif_free(w);
}

static void filters_name_what_is_missed(void **state)
{
    const tt_model m = make_model();
    const tt_reads none = {0};
    tt_heat h;
    (void)state;
    tt_filter f = {.has_layer = true, .layer = 0};
    assert_int_equal(tt_heat_measure(&m, &none, &f, TT_HEAT_TENSOR, &h, NULL), TT_OK);
    assert_int_equal(h.n_rows, 2);
    assert_int_equal(h.never.bytes, 50);
    tt_heat_free(&h);
    f = (tt_filter){.tensor = "ro*"};
    assert_int_equal(tt_heat_measure(&m, &none, &f, TT_HEAT_TENSOR, &h, NULL), TT_OK);
    assert_int_equal(h.n_rows, 1);
    tt_heat_free(&h);
    f = (tt_filter){.op = "MUL_MAT"};
    assert_int_equal(tt_heat_measure(&m, &none, &f, TT_HEAT_TENSOR, &h, NULL), TT_OK);
    assert_int_equal(h.n_rows, 0);
    assert_false(h.all_weights);
    tt_heat_free(&h);
}

static void steps_by_hand(void **state)
{
    static const tt_heat_location places[] = {
        {0, 0, 1000, 100000},       {0, 1000, 5000, 100000},   {0, 9095, 10000, 100000},
        {0, 14096, 20000, 100000},  {0, 14096, 20000, 100000}, {0, 5000, 6000, 100000},
        {0, 99000, 100000, 100000}, {0, 0, 1000, 100000},      {1, 1000, 2000, 5000},
    };
    tt_heat h = {0};
    (void)state;
    for (size_t i = 1; i < sizeof places / sizeof *places; i++)
        tt_heat_step(&h.steps, &places[i - 1], &places[i]);
    assert_int_equal(h.steps.steps, 8);
    assert_int_equal(h.steps.adjacent, 2);      /* at once, and behind 4095 bytes */
    assert_int_equal(h.steps.forward.count, 2); /* behind 4096, behind 93000 */
    assert_int_equal(h.steps.again, 1);
    assert_int_equal(h.steps.backward.count, 2); /* by 9096, by 99000 */
    assert_int_equal(h.steps.sweeps, 1);
    assert_int_equal(h.steps.other_file, 1);
    assert_int_equal((uint64_t)tt_quantiles_at(&h.steps.forward.lengths, 0.5), 4096);
    assert_int_equal((uint64_t)tt_quantiles_at(&h.steps.backward.lengths, 1), 99000);
    tt_heat_free(&h);
}

/* Of rows and the norm alone, when the experts were read in copies: back, on, back, on, back. */
static void copies_are_not_of_the_file(void **state)
{
    const tt_model m = make_model();
    const tt_filter all = {0};
    tt_read_range copied[sizeof ranges / sizeof *ranges];
    tt_reads r = make_reads();
    tt_heat h;
    (void)state;
    memcpy(copied, ranges, sizeof ranges);
    for (size_t i = 1; i <= 3; i++)
        copied[i].copied = true;
    r.ranges = copied;
    assert_int_equal(tt_heat_measure(&m, &r, &all, TT_HEAT_TENSOR, &h, NULL), TT_OK);
    assert_int_equal(h.copied_bytes, 40);
    assert_int_equal(find(&h, EXPERTS, TT_EXPERT_NONE)->copied_bytes, 40);
    assert_int_equal(find(&h, NORM, TT_EXPERT_NONE)->copied_bytes, 0);
    assert_int_equal(h.steps.steps, 9);
    assert_int_equal(h.file_steps.steps, 5);
    assert_int_equal(h.file_steps.adjacent, 2);
    assert_int_equal(h.file_steps.backward.count, 3);
    assert_int_equal(h.file_steps.backward.lengths.max, 64);
    assert_int_equal(h.file_steps.sweeps, 4);
    /* Four stretches of some bytes each. */
    assert_int_equal(h.file_steps.requests, 4);
    assert_int_equal(h.file_steps.requests_on, 0);
    tt_heat_free(&h);
}

static const char *json_of_offsets(const tt_heat *h, char out[4096])
{
    const tt_rowset summary = TT_ROWSET(&tt_heat_summary_schema, 0, NULL, h, 1);
    FILE *f = fmemopen(out, 4096, "w");
    tt_json j;
    tt_json_begin(&j, f, 0);
    tt_row_json(&j, NULL, summary.schema, NULL, h);
    assert_true(tt_json_end(&j));
    (void)fclose(f);
    const char *at = strstr(out, "\"offsets\"");
    assert_non_null(at);
    return at;
}

/* Bytes 0..9, 20..49 and 60..71 are read. Rows are the last: if which of them is unknown, so is the
 * last offset, unless another read ends there. Without the copies of the norm, the first is 20. */
static void offsets_by_hand(void **state)
{
    const tt_model m = make_model();
    const tt_filter all = {0};
    tt_read_range own[sizeof ranges / sizeof *ranges];
    tt_reads r = make_reads();
    char text[4096];
    tt_heat h;
    (void)state;
    memcpy(own, ranges, sizeof ranges);
    r.ranges = own;
    for (int turn = 0; turn < 3; turn++) {
        own[0].copied = turn > 0;
        own[4].at_most = turn > 0;
        own[5].size_bytes = own[5].span_bytes = turn > 1 ? 8 : 4;
        assert_int_equal(tt_heat_measure(&m, &r, &all, TT_HEAT_TENSOR, &h, NULL), TT_OK);
        assert_int_equal(h.file_steps.n_extents, 1);
        assert_int_equal(h.steps.extents[0].begin, 0);
        assert_int_equal(h.file_steps.extents[0].begin, turn > 0 ? 20 : 0);
        assert_int_equal(h.file_steps.extents[0].end, 72);
        assert_false(h.file_steps.extents[0].begin_at_most);
        assert_int_equal(h.file_steps.extents[0].end_at_most, turn == 1);
        const char *at = json_of_offsets(&h, text);
        assert_non_null(strstr(at, "\"model_file\":\"m.gguf\",\"least_offset_bytes\":0,"));
        assert_non_null(strstr(at, turn == 1 ? "\"greatest_offset_bytes\":null"
                                             : "\"greatest_offset_bytes\":71"));
        tt_heat_free(&h);
    }
}

/* Batches that are neither prompt nor generated have rows of their own. */
static void every_phase_is_told(void **state)
{
    tt_model m = make_model();
    const tt_reads r = make_reads();
    const tt_filter all = {0};
    const tt_whatif_plan plan = {.unit = TT_WHATIF_EXPERT};
    const uint64_t ram[] = {0};
    tt_batch own[8];
    tt_whatif_result got;
    tt_whatif *w;
    tt_heat h;
    (void)state;
    assert_true(m.n_batches >= 2 && m.n_batches <= 8);
    memcpy(own, m.batches, m.n_batches * sizeof *own);
    m.batches = own;
    for (unsigned phase = TT_PHASE_UNKNOWN; phase < TT_PHASES; phase++) {
        own[0].phase = (uint8_t)phase;
        own[1].phase = (uint8_t)((phase + 1) % TT_PHASES);
        assert_int_equal(tt_heat_measure(&m, &r, &all, TT_HEAT_TENSOR, &h, NULL), TT_OK);
        assert_int_equal(h.of_phase[phase].batches, 1 + (m.n_batches > 2 && own[2].phase == phase));
        assert_true(h.of_phase[(phase + 1) % TT_PHASES].batches >= 1);
        tt_heat_free(&h);
        assert_int_equal(tt_whatif_new(&m, &r, &plan, &w, NULL), TT_OK);
        assert_int_equal(tt_whatif_run(w, TT_POLICY_LRU, ram, 1, &got, NULL), TT_OK);
        uint64_t read = 0;
        for (unsigned i = 0; i < TT_PHASES; i++) {
            read += got.of_phase[tt_phase_listed(i)].read_bytes;
            if (i == phase) assert_true(got.of_phase[i].read_bytes > 0);
        }
        assert_int_equal(read, got.total.read_bytes);
        tt_whatif_free(w);
    }
}

static void whatif_by_hand(void **state)
{
    const tt_model m = make_model();
    const tt_reads r = make_reads();
    const tt_whatif_plan plan = {.unit = TT_WHATIF_EXPERT,
                                 .disk = {.bytes_per_s = 1e9},
                                 .reader = TT_WHATIF_DIRECT,
                                 .depth = 1};
    const uint64_t ram[] = {0, 30, 90};
    tt_whatif_result got[3];
    tt_whatif *w;
    (void)state;
    assert_int_equal(tt_whatif_new(&m, &r, &plan, &w, NULL), TT_OK);
    /* Whole: rows 40, norm 10, experts 0 1 2 of 10. */
    assert_int_equal(tt_whatif_touched(w), 80);
    assert_int_equal(tt_whatif_run(w, TT_POLICY_LRU, ram, 3, got, NULL), TT_OK);
    assert_int_equal(got[0].total.read_bytes, 190);
    assert_int_equal(got[0].total.asked_bytes, 90);
    assert_int_equal(got[0].total.missed_bytes, 190);
    assert_int_equal(got[0].total.first_bytes, 80);
    /* Into 30 the rows never fit; norm and expert 1 stay, then expert 2 comes. */
    assert_int_equal(got[1].of_phase[TT_PHASE_PROMPT].missed_bytes, 70);
    assert_int_equal(got[1].of_phase[TT_PHASE_GENERATE].missed_bytes, 40 + 50);
    assert_int_equal(got[1].steady.missed_bytes, 50);
    assert_int_equal(got[2].total.missed_bytes, 80);
    assert_int_equal(got[2].steady.missed_bytes, 10);
    /* 50 bytes at 1 byte a ns, and 100 ns of computing. */
    assert_true(fabs(tt_whatif_disk_ns(&got[1].steady) - 50) < 1e-9);
    assert_true(fabs(tt_whatif_compute_ns(&got[1].steady) - 100) < 1e-9);
    assert_true(fabs(tt_whatif_rate_apart(&got[1].steady) - 1e9 / 150) < 1e-3);
    assert_true(fabs(tt_whatif_rate_overlap(&got[1].steady) - 1e9 / 100) < 1e-3);
    /* Nothing is read ahead: computing and reading take turns. */
    assert_true(fabs(tt_whatif_rate(&got[1].steady) - 1e9 / 150) < 1e-3);
    assert_true(tt_whatif_rate_causal(&got[1].steady) >= tt_whatif_rate(&got[1].steady));
    assert_true(tt_whatif_rate_causal(&got[1].steady) <= tt_whatif_rate_overlap(&got[1].steady));
    assert_string_equal(tt_whatif_limit(&got[1].steady), "compute");
    assert_string_equal(tt_whatif_limit(&got[0].steady),
                        got[0].steady.missed_bytes > 100 ? "disk" : "compute");
    tt_whatif_free(w);
}

static void whatif_warm_and_by_page(void **state)
{
    const tt_model m = make_model();
    const tt_reads r = make_reads();
    tt_whatif_plan plan = {.unit = TT_WHATIF_PAGE, .page_bytes = 8, .warm = true};
    const uint64_t ram[] = {7, 1000};
    tt_whatif_result got[2];
    tt_whatif *w;
    (void)state;
    assert_int_equal(tt_whatif_new(&m, &r, &plan, &w, NULL), TT_OK);
    /* Pages 7 8 (rows), 0 1 (norm), 2 3, 3 4, 5 6 (experts). */
    assert_int_equal(tt_whatif_touched(w), 8 * 8 + 8);
    assert_int_equal(tt_whatif_run(w, TT_POLICY_LRU, ram, 2, got, NULL), TT_OK);
    assert_int_equal(got[0].total.missed_bytes, got[0].total.read_bytes);
    assert_int_equal(got[0].total.first_bytes, 0);
    assert_int_equal(got[1].total.missed_bytes, 0);
    tt_whatif_free(w);
}

/* A trace from end to end: what heat sums up is what the op list says. */
/* A weight that no file has room for has no pages: replaying a read of it is refused. */
static void whatif_outside_of_the_layout(void **state)
{
    tt_weight far[3];
    tt_model m = make_model();
    tt_whatif *w;
    tt_error err;
    const tt_reads r = make_reads();
    const tt_whatif_plan plan = {.unit = TT_WHATIF_PAGE, .page_bytes = 4, .readahead_bytes = 16};
    (void)state;
    memcpy(far, weights, sizeof far);
    far[ROWS].size_bytes = TT_READS_FILE_MAX;
    m.weights = far;
    assert_int_equal(tt_whatif_new(&m, &r, &plan, &w, &err), TT_E_FORMAT);
    assert_null(w);
    assert_non_null(strstr(err.message, "outside"));
}

/* In time order, reads of a weight whose end is behind what any file has are left out, also those
 * of a part in front of that. */
static void weights_too_far_away_are_not_read(void **state)
{
    static const tt_filter all;
    synth_plan p = synth_default();
    tt_bytes b;
    tt_model *m;
    tt_reads r;
    uint64_t ram = 1 << 16;
    tt_whatif *w;
    tt_whatif_result result;
    const tt_whatif_plan plan = {
        .unit = TT_WHATIF_PAGE, .page_bytes = 4096, .readahead_bytes = 1 << 17};
    (void)state;
    p.memory = true;
    tt_bytes_init(&b, SIZE_MAX / 2);
    assert_true(synth_build(&p, &b));
    assert_int_equal(tt_model_open_memory(b.data, b.size, &m, NULL), TT_OK);
    assert_int_equal(tt_reads_collect(m, &all, &r, NULL, NULL, NULL), TT_OK);
    uint64_t partial = 0;
    for (size_t i = 0; i < r.n; i++) {
        const tt_read_range *range = &r.ranges[r.order[i]];
        partial += range->size_bytes < m->weights[range->weight].size_bytes;
    }
    assert_true(partial > 0 && r.impossible == 0);
    const size_t before = r.n;
    tt_reads_free(&r);
    for (uint32_t i = 0; i < m->n_weights; i++)
        m->weights[i].offset_bytes = TT_READS_FILE_MAX - m->weights[i].size_bytes + 1;
    assert_int_equal(tt_reads_collect(m, &all, &r, NULL, NULL, NULL), TT_OK);
    assert_int_equal(r.n, 0);
    assert_int_equal(r.impossible, before);
    assert_int_equal(tt_whatif_new(m, &r, &plan, &w, NULL), TT_OK);
    assert_int_equal(tt_whatif_run(w, TT_POLICY_LRU, &ram, 1, &result, NULL), TT_OK);
    assert_int_equal(result.total.missed_bytes, 0);
    tt_whatif_free(w);
    tt_reads_free(&r);
    tt_model_close(m);
    tt_bytes_free(&b);
}

static void a_whole_trace(void **state)
{
    synth_plan p = synth_default();
    tt_bytes b;
    tt_model *m;
    tt_reads r;
    tt_heat h;
    const tt_filter all = {0};
    uint64_t read = 0, accesses = 0;
    (void)state;
    tt_bytes_init(&b, SIZE_MAX / 2);
    assert_true(synth_build(&p, &b));
    assert_int_equal(tt_model_open_memory(b.data, b.size, &m, NULL), TT_OK);
    assert_int_equal(tt_reads_collect(m, &all, &r, NULL, NULL, NULL), TT_OK);
    for (size_t i = 0; i < r.n; i++)
        read += r.ranges[r.order[i]].size_bytes;
    assert_true(r.n_ops > 0 && r.ops[r.n_ops].first == r.n);
    for (size_t i = 1; i < r.n_ops; i++)
        assert_true(r.ops[i].start_ticks >= r.ops[i - 1].start_ticks);
    assert_int_equal(tt_heat_measure(m, &r, &all, TT_HEAT_TENSOR, &h, NULL), TT_OK);
    assert_true(h.read_bytes == read);
    assert_true(h.every.bytes + h.some.bytes + h.never.bytes == h.model_bytes);
    assert_true(h.of_phase[TT_PHASE_PROMPT].read_bytes + h.of_phase[TT_PHASE_GENERATE].read_bytes +
                    h.of_phase[TT_PHASE_UNKNOWN].read_bytes ==
                read);
    read = 0;
    for (size_t i = 0; i < h.n_rows; i++) {
        read += h.rows[i].read_bytes;
        accesses += h.rows[i].accesses;
        assert_true(h.rows[i].touched_bytes <= h.rows[i].size_bytes);
    }
    assert_true(read == h.read_bytes && accesses >= h.ops);
    tt_heat_free(&h);
    tt_reads_free(&r);
    tt_model_close(m);
    tt_bytes_free(&b);
}

static void contexts_by_hand(void **state)
{
    tt_model m = make_model();
    const tt_reads r = make_reads();
    const tt_filter all = {0};
    tt_batch of[3];
    tt_heat h;
    (void)state;
    memcpy(of, batches, sizeof of);
    of[0].context = of[2].context = 1;
    of[1].context = 2;
    m.batches = of;
    assert_int_equal(tt_heat_measure(&m, &r, &all, TT_HEAT_CONTEXT, &h, NULL), TT_OK);
    assert_int_equal(h.n_rows, 2);
    /* rows 0-2, norm, experts 0 1 2; row 1, norm, expert 1 */
    assert_int_equal(h.rows[0].context, 1);
    assert_int_equal(h.rows[0].touched_bytes, 12 + 10 + 30);
    assert_int_equal(h.rows[0].size_bytes, 40 + 10 + 30);
    assert_int_equal(h.rows[1].context, 2);
    assert_int_equal(h.rows[1].touched_bytes, 4 + 10 + 10);
    assert_int_equal(h.rows[1].size_bytes, 40 + 10 + 10);
    tt_heat_free(&h);
}

/* Each context reads each expert: as many as the bound, and one context more. */
static void contexts_times_experts_are_bounded(void **state)
{
    enum { EXPERTS_OF_IT = TT_SLICES_MAX, CONTEXTS = TT_HEAT_OWNS_MAX / EXPERTS_OF_IT + 1 };
    static tt_batch own[CONTEXTS];
    static tt_read_op reading[CONTEXTS + 1];
    static uint32_t same[CONTEXTS];
    tt_weight w = {.name = "exps",
                   .n_dims = 3,
                   .ne = {1, 1, EXPERTS_OF_IT, 1},
                   .size_bytes = EXPERTS_OF_IT,
                   .place = {0, "ffn", "exps"}};
    tt_model_file file = {.path = "m.gguf", .size_bytes = EXPERTS_OF_IT, .n_weights = 1};
    tt_read_range of_it[] = {{0, TT_EXPERT_NONE, 0, 1, EXPERTS_OF_IT, true, false},
                             {0, 0, 0, 1, 1, false, false}};
    tt_model m = make_model();
    tt_reads r = {.ranges = of_it, .order = same, .ops = reading, .n_ranges = 2};
    const tt_filter all = {0};
    tt_heat h;
    tt_error err;
    (void)state;
    for (uint32_t i = 0; i < CONTEXTS; i++) {
        own[i].context = i;
        reading[i] = (tt_read_op){.first = i, .batch = i};
    }
    reading[CONTEXTS].first = CONTEXTS;
    m.weights = &w;
    m.files = &file;
    m.n_weights = 1;
    m.batches = own;
    for (uint32_t more = 0; more <= 1; more++) {
        m.n_batches = CONTEXTS - 1 + more;
        r.n = r.n_ops = m.n_batches;
        const tt_status status = tt_heat_measure(&m, &r, &all, TT_HEAT_CONTEXT, &h, &err);
        assert_int_equal(status, more ? TT_E_LIMIT : TT_OK);
        if (more) assert_non_null(strstr(err.message, "4194304"));
        if (!more) assert_int_equal(h.n_rows, CONTEXTS - 1);
        tt_heat_free(&h);
    }
}

/* Each file's own alignment, or GGUF's: 64 and 32. */
static void tensors_in_order_are_aligned_as_their_file_says(void **state)
{
    static const tt_file_kv said = {"general.alignment", "64", 0};
    static const uint64_t want[] = {64, 0, 32, 0};
    tt_model_file two[] = {{.size_bytes = 128, .kvs = &said, .n_kvs = 1}, {.size_bytes = 128}};
    tt_weight four[4];
    tt_model m = make_model();
    const tt_reads none = {0};
    (void)state;
    for (uint32_t i = 0; i < 4; i++)
        four[i] = (tt_weight){.file = i / 2,
                              .offset_bytes = i % 2 * 64,
                              .size_bytes = 10,
                              .place = {i % 2 ? 0 : 1, "ffn", "up"}};
    m.weights = four;
    m.n_weights = 4;
    m.files = two;
    m.n_files = 2;
    uint64_t *places = tt_tensor_order_places(&m, &none, TT_TENSORS_BY_LAYER);
    assert_non_null(places);
    assert_memory_equal(places, want, sizeof want);
    free(places);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_memory_is_no_zero),
        cmocka_unit_test(experts_by_hand),
        cmocka_unit_test(tensors_and_layers_by_hand),
        cmocka_unit_test(what_was_not_observed),
        cmocka_unit_test(amounts_without_places),
        cmocka_unit_test(replays_leave_out_unknown_places),
        cmocka_unit_test(boost_begins_warm_or_cold),
        cmocka_unit_test(filters_name_what_is_missed),
        cmocka_unit_test(steps_by_hand),
        cmocka_unit_test(offsets_by_hand),
        cmocka_unit_test(copies_are_not_of_the_file),
        cmocka_unit_test(every_phase_is_told),
        cmocka_unit_test(whatif_by_hand),
        cmocka_unit_test(whatif_warm_and_by_page),
        cmocka_unit_test(a_whole_trace),
        cmocka_unit_test(whatif_outside_of_the_layout),
        cmocka_unit_test(weights_too_far_away_are_not_read),
        cmocka_unit_test(contexts_by_hand),
        cmocka_unit_test(contexts_times_experts_are_bounded),
        cmocka_unit_test(tensors_in_order_are_aligned_as_their_file_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
