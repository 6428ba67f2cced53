/* The log by row numbers against the log from its beginning (tt_log_walk): every filter, random
 * rows, runs one after the other and all at once, damaged traces. */
#include "tests.h"

#include "../golden/rechecksum.h"
#include "../golden/synth_trace.c"
#include "analyze/log/index.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

typedef struct row {
    uint32_t run, node, lane, lanes;
    uint64_t start, arrive, wait;
} row;

typedef struct rows {
    const tt_model *m;
    row *list;
    size_t n, capacity;
} rows;

static uint64_t random_state;

static uint64_t any_below(uint64_t n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (random_state >> 24) % n;
}

static bool keep(void *context, const tt_log_op *op)
{
    rows *r = context;
    if (r->n == r->capacity) {
        r->capacity = r->capacity ? r->capacity * 2 : 1024;
        r->list = reallocarray(r->list, r->capacity, sizeof *r->list);
        assert_non_null(r->list);
    }
    r->list[r->n++] = (row){(uint32_t)(op->run - r->m->runs),
                            op->op->node,
                            op->lane,
                            op->lanes,
                            op->start_ticks,
                            op->arrive_ticks,
                            op->wait_ticks};
    return true;
}

static row next_row(const tt_model *m, tt_log_cursor *c)
{
    tt_log_op op;
    rows one = {.m = m};
    assert_true(tt_log_cursor_op(c, &op));
    (void)keep(&one, &op);
    row r = one.list[0];
    free(one.list);
    return r;
}

/* Windows at the begin, at the end, behind it and anywhere. */
static void windows_match(const tt_model *m, const tt_log_index *x, const uint32_t *order,
                          bool by_lane, const rows *expected, unsigned tries)
{
    tt_log_cursor *c;
    assert_int_equal(tt_log_cursor_open(m, tt_log_index_filter(x), by_lane, order, &c, NULL),
                     TT_OK);
    for (unsigned t = 0; t < tries; t++) {
        uint64_t at = t == 0   ? 0
                      : t == 1 ? (expected->n ? expected->n - 1 : 0)
                      : t == 2 ? expected->n
                               : any_below(expected->n + 3);
        assert_int_equal(tt_log_index_seek(x, c, at, NULL), TT_OK);
        for (unsigned k = 0; k < 40; k++, at++) {
            bool more;
            assert_int_equal(tt_log_index_next(x, c, at, &more, NULL), TT_OK);
            assert_int_equal(more, at < expected->n);
            if (!more) break;
            row got = next_row(m, c);
            assert_memory_equal(&got, &expected->list[at], sizeof got);
        }
    }
    tt_log_cursor_close(c);
}

/* Each op is found at its row; the first one of those that are alike counts. */
static void ops_are_found(const tt_model *m, const tt_log_index *x, const rows *all,
                          const rows *expected, unsigned tries)
{
    for (unsigned t = 0; t < tries && all->n; t++) {
        const row *r = &all->list[any_below(all->n)];
        uint64_t at;
        bool found;
        size_t first = 0;
        while (first < expected->n &&
               (expected->list[first].run != r->run || expected->list[first].node != r->node))
            first++;
        assert_int_equal(tt_log_index_locate_op(x, m, r->run, r->node, &at, &found, NULL), TT_OK);
        assert_int_equal(found, first < expected->n);
        if (found) assert_int_equal(at, first);
        if (!found) assert_in_range(at, 0, expected->n);
    }
}

static void times_are_found(const tt_model *m, const tt_log_index *x, const rows *all,
                            const rows *expected, unsigned tries)
{
    for (unsigned t = 0; t < tries && all->n && m->clock.known; t++) {
        double ns = tt_model_ns(m, all->list[any_below(all->n)].start) + (t % 2 ? 0 : 0.25);
        uint64_t at;
        size_t first = 0;
        while (first < expected->n && tt_model_ns(m, expected->list[first].start) < ns)
            first++;
        assert_int_equal(tt_log_index_locate_time(x, m, ns, &at, NULL), TT_OK);
        assert_int_equal(at, first);
    }
}

static unsigned ended_early; /* walks that could not be ended */

static void check_filter(const tt_model *m, tt_log_survey *s, const tt_filter *f, bool by_lane,
                         const rows *all, unsigned tries)
{
    rows expected = {.m = m};
    tt_log_index *x;
    tt_log_count count = {0};
    tt_error walked = {0}, err;
    tt_status status = tt_log_walk(m, f, by_lane, keep, &expected, &walked);
    tt_status made = tt_log_index_new(m, s, f, by_lane, &x, &err);
    if (made != TT_OK) {
        assert_int_equal(made, status); /* no clock */
        free(expected.list);
        return;
    }
    uint64_t before = 0;
    for (unsigned i = 0; !count.done; i++) {
        assert_true(i < 1000000);
        assert_int_equal(tt_log_index_extend(x, m, i % 7 ? 1 + any_below(5000) : 1, &err), TT_OK);
        tt_log_index_count(x, &count);
        assert_true(count.rows >= before && count.runs_done <= count.runs);
        before = count.rows;
    }
    assert_int_equal(count.rows, expected.n);
    assert_int_equal(count.ended_by.status, status);
    ended_early += status != TT_OK;
    const uint32_t *order = tt_log_survey_order(s);
    windows_match(m, x, order, by_lane, &expected, tries);
    if (status == TT_OK) {
        ops_are_found(m, x, all, &expected, tries / 2);
        times_are_found(m, x, all, &expected, tries / 2);
    }
    tt_log_index_free(x);
    free(expected.list);
}

static double ns_of(const rows *all, size_t i)
{
    return all->n ? tt_model_ns(all->m, all->list[i].start) : 0;
}

static void check_model(const tt_model *m, unsigned tries)
{
    rows all = {.m = m};
    tt_log_survey *s = tt_log_survey_new(m);
    assert_non_null(s);
    (void)tt_log_walk(m, &(tt_filter){0}, false, keep, &all, NULL);
    const row *middle = all.n ? &all.list[all.n / 2] : NULL;
    const double took = middle ? tt_model_span_ns(m, middle->arrive - middle->start) : 0;
    const double early = ns_of(&all, all.n / 3), late = ns_of(&all, all.n * 2 / 3);
    const tt_filter filters[] = {
        {0},
        {.has_batch = true, .batch_first = 1, .batch_last = 2},
        {.has_batch = true, .batch_first = 1000000, .batch_last = 1000001},
        {.has_layer = true, .layer = 1},
        {.has_layer = true, .layer = TT_LAYER_NONE},
        {.op = "mul_mat"},
        {.op = "nothing"},
        {.tensor = "blk.?.attn_q.weight"},
        {.tensor = "cache_k_l1"},
        {.text = "FFN"},
        {.text = "output.weight"},
        {.phase = TT_PHASE_PROMPT},
        {.origin = TT_ORIGIN_FILE},
        {.has_lane = true, .lane = 1},
        {.has_from = true, .from_ns = early, .has_to = true, .to_ns = late},
        {.has_from = true, .from_ns = late, .op = "MUL_MAT"},
        {.has_from = true, .from_ns = early, .has_to = true, .to_ns = late, .overlaps = true},
        {.has_from = true, .from_ns = early, .has_to = true, .to_ns = early + 1, .overlaps = true},
        {.has_to = true, .to_ns = early},
        {.has_least = true, .least_ns = 3000},
        {.has_most = true, .most_ns = 3000, .text = "attn"},
        {.has_least = true, .least_ns = 1e12},
        {.has_least = true, .least_ns = took, .has_most = true, .most_ns = took},
        {.has_lane = true, .lane = 0, .has_layer = true, .layer = 0, .text = "q"},
    };
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
        check_filter(m, s, &filters[i], false, &all, tries);
        if (i % 3 == 0) check_filter(m, s, &filters[i], true, &all, tries);
    }
    tt_log_survey_free(s);
    free(all.list);
}

static void check_bytes(const void *data, size_t size, unsigned tries)
{
    tt_model *m;
    if (tt_model_open_memory(data, size, &m, NULL) != TT_OK) return;
    check_model(m, tries);
    tt_model_close(m);
}

static void check_plan(synth_plan p, unsigned tries)
{
    tt_bytes b;
    tt_bytes_init(&b, SIZE_MAX / 2);
    assert_true(synth_build(&p, &b));
    check_bytes(b.data, b.size, tries);
    tt_bytes_free(&b);
}

static void runs_one_after_the_other(void **state)
{
    synth_plan p = synth_default();
    (void)state;
    check_plan(p, 40);
    p.experts = 8;
    p.experts_used = 2;
    p.lanes = 3;
    check_plan(p, 20);
    p.generate = 200; /* more than one place of the index */
    check_plan(p, 20);
}

/* Moves each op of the run by as much as `by` says. */
static void move(synth_ring *rings, uint64_t (*by)(uint32_t run))
{
    for (size_t r = 0; r < SYNTH_RINGS_MAX; r++) {
        for (size_t i = 0; i < rings[r].n; i++) {
            tt_op_record *o = &rings[r].records[i];
            uint64_t ticks = by(o->run);
            o->start += ticks;
            o->arrive += ticks;
            if (o->release) o->release += ticks;
        }
    }
}

static uint64_t every_third_late(uint32_t run)
{
    return run % 3 == 0 ? 400000 : 0;
}

static uint64_t all_to_the_end(uint32_t run)
{
    return 40000000 - run * 100;
}

static uint64_t anywhere(uint32_t run)
{
    return (run * 2654435761u) % 5000000;
}

/* The last ops of each run come after the first ones of the next. */
static void ends_late(synth_plan *plan, synth_ring *rings)
{
    (void)plan;
    for (size_t r = 0; r < SYNTH_RINGS_MAX; r++) {
        for (size_t i = 0; i < rings[r].n; i++) {
            tt_op_record *o = &rings[r].records[i];
            if (i + 5 < rings[r].n && o[5].run == o->run) continue;
            o->start += 300000;
            o->arrive += 300000;
            if (o->release) o->release += 300000;
        }
    }
}

/* The same nodes, but in every other run one fused op is told to cover no other. */
static void fused_or_not(synth_plan *plan, synth_ring *rings)
{
    (void)plan;
    for (size_t r = 0; r < SYNTH_RINGS_MAX; r++)
        for (size_t i = 0; i < rings[r].n; i++)
            if (rings[r].records[i].run % 2) rings[r].records[i].place &= 0x1fffffffu;
}

static void two_at_once(synth_plan *plan, synth_ring *rings)
{
    (void)plan;
    move(rings, every_third_late);
}

static void all_at_once(synth_plan *plan, synth_ring *rings)
{
    (void)plan;
    move(rings, all_to_the_end);
}

static void without_order(synth_plan *plan, synth_ring *rings)
{
    (void)plan;
    move(rings, anywhere);
}

static void runs_that_overlap(void **state)
{
    void (*const edits[])(synth_plan *, synth_ring *) = {two_at_once, all_at_once, without_order,
                                                         ends_late};
    (void)state;
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        synth_plan p = synth_default();
        p.edit_ops = edits[i];
        check_plan(p, 20);
        p.generate = 300; /* also more than may be under way at once */
        check_plan(p, 6);
    }
}

static void traces_that_are_wrong(void **state)
{
    (void)state;
    synth_plan fused = synth_default();
    fused.edit_ops = fused_or_not;
    check_plan(fused, 10);
    for (unsigned i = 0; i < 6; i++) {
        synth_plan p = synth_default();
        p.no_clock_end = i == 0;
        p.no_model = i == 1;
        p.last_run_open = i == 2;
        p.no_index = i == 3;
        p.bad_run = i == 4;
        p.bad_source = i == 5;
        check_plan(p, 10);
    }
}

/* Bytes changed behind right checksums, so that the damage reaches what is tested here. */
static void damage(bool no_index, unsigned n)
{
    synth_plan p = synth_default();
    tt_bytes b;
    p.codec = 0;
    p.chunk_records = 64;
    p.no_index = no_index;
    tt_bytes_init(&b, SIZE_MAX / 2);
    assert_true(synth_build(&p, &b));
    uint8_t *bytes = malloc(b.size);
    assert_non_null(bytes);
    for (unsigned i = 0; i < n; i++) {
        memcpy(bytes, b.data, b.size);
        for (unsigned k = 0; k <= i % 4; k++)
            bytes[TT_FILE_HEADER_BYTES + any_below(b.size - TT_FILE_HEADER_BYTES)] ^=
                (uint8_t)(1 + any_below(255));
        if (i % 3) rechecksum(bytes, b.size);
        check_bytes(bytes, i % 5 ? b.size : 1 + any_below(b.size), 4);
    }
    free(bytes);
    tt_bytes_free(&b);
}

static void damaged_traces(void **state)
{
    (void)state;
    damage(false, 150);
    damage(true, 150);
    assert_true(ended_early > 0);
}

/* What the walk and the index have in common, worked out by hand. */
static void durations_and_texts(void **state)
{
    synth_plan p = synth_default();
    tt_bytes b;
    tt_model *m;
    (void)state;
    tt_bytes_init(&b, SIZE_MAX / 2);
    assert_true(synth_build(&p, &b));
    assert_int_equal(tt_model_open_memory(b.data, b.size, &m, NULL), TT_OK);
    rows all = {.m = m}, some = {.m = m}, named = {.m = m}, upper = {.m = m};
    assert_int_equal(tt_log_walk(m, &(tt_filter){0}, false, keep, &all, NULL), TT_OK);
    const row *one = &all.list[all.n / 2];
    const double took = tt_model_span_ns(m, one->arrive - one->start);
    tt_filter f = {.has_least = true, .least_ns = took, .has_most = true, .most_ns = took * 2};
    assert_int_equal(tt_log_walk(m, &f, false, keep, &some, NULL), TT_OK);
    size_t expected = 0;
    for (size_t i = 0; i < all.n; i++) {
        double ns = tt_model_span_ns(m, all.list[i].arrive - all.list[i].start);
        expected += ns >= took && ns <= took * 2;
    }
    assert_true(expected > 0 && expected < all.n);
    assert_int_equal(some.n, expected);
    /* A text is found wherever the tensor's pattern would find it, in any case. */
    f = (tt_filter){.tensor = "*attn_q*"};
    assert_int_equal(tt_log_walk(m, &f, false, keep, &named, NULL), TT_OK);
    f = (tt_filter){.text = "ATTN_Q"};
    assert_int_equal(tt_log_walk(m, &f, false, keep, &upper, NULL), TT_OK);
    assert_true(named.n > 0 && named.n < all.n);
    assert_int_equal(named.n, upper.n);
    free(all.list);
    free(some.list);
    free(named.list);
    free(upper.list);
    tt_model_close(m);
    tt_bytes_free(&b);
}

static void golden_traces(void **state)
{
    static const char folder[] = TT_SOURCE_DIR "/tests/golden";
    DIR *d = opendir(folder);
    unsigned n = 0;
    (void)state;
    assert_non_null(d);
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        char path[512];
        tt_model *m;
        const char *dot = strrchr(e->d_name, '.');
        if (!dot || strcmp(dot, ".ttrace") != 0) continue;
        (void)snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (tt_model_open(path, &m, NULL) != TT_OK) continue;
        check_model(m, 10);
        tt_model_close(m);
        n++;
    }
    closedir(d);
    assert_true(n > 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_one_after_the_other), cmocka_unit_test(runs_that_overlap),
        cmocka_unit_test(traces_that_are_wrong),    cmocka_unit_test(damaged_traces),
        cmocka_unit_test(durations_and_texts),      cmocka_unit_test(golden_traces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
