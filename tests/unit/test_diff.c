/* Two runs compared: alignment, the statistics by simulation, and whole comparisons of traces that
 * were made to differ in one thing. */
#include "tests.h"

#include "../golden/synth_trace.c"
#include "analyze/diff/diff.h"
#include "analyze/diff/structure.h"
#include "analyze/quantiles.h"
#include "base/json.h"
#include "cli/diff/view.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* --- alignment --- */

static void keys_of(const char *text, uint64_t *keys)
{
    for (size_t i = 0; text[i]; i++)
        keys[i] = (uint64_t)(unsigned char)text[i];
}

/* The matches as a text: for each of a the letter of b it got, '-' for none. */
static void expect_match(const char *a, const char *b, const char *want)
{
    uint64_t x[64], y[64];
    uint32_t match[64];
    char got[65] = "";
    keys_of(a, x);
    keys_of(b, y);
    for (size_t i = 0; a[i]; i++)
        match[i] = TT_NONE;
    assert_int_equal(tt_align(x, strlen(a), y, strlen(b), match, NULL), TT_OK);
    uint32_t last = 0;
    for (size_t i = 0; a[i]; i++) {
        got[i] = match[i] == TT_NONE ? '-' : b[match[i]];
        if (match[i] == TT_NONE) continue;
        assert_true(match[i] + 1 > last);
        last = match[i] + 1;
    }
    assert_string_equal(got, want);
}

static void sequences_align_in_order(void **state)
{
    (void)state;
    expect_match("abcdef", "abcdef", "abcdef");
    expect_match("abcdef", "abxcdef", "abcdef");
    expect_match("abcdef", "acdf", "a-cd-f");
    expect_match("abc", "xyz", "---");
    expect_match("", "xyz", "");
    /* Keys that repeat lie between anchors. */
    expect_match("nanbnc", "nanxbnc", "nanbnc");
    expect_match("annb", "anb", "an-b");
    /* Crossing ones: the longest order that both share. */
    expect_match("abcd", "dabc", "abc-");
}

static void long_sequences_align(void **state)
{
    enum { N = 20000 };
    uint64_t *a = malloc(N * sizeof *a), *b = malloc(N * sizeof *b);
    uint32_t *match = malloc(N * sizeof *match);
    (void)state;
    /* All alike: no table of 4 x 10^8 cells, and still everything has a partner. */
    for (uint32_t i = 0; i < N; i++) {
        a[i] = i == 0 ? 1 : 7;
        b[i] = i == 0 ? 2 : i == N - 1 ? 3 : 7;
        match[i] = TT_NONE;
    }
    assert_int_equal(tt_align(a, N, b, N, match, NULL), TT_OK);
    size_t n = 0;
    for (uint32_t i = 0; i < N; i++)
        n += match[i] != TT_NONE;
    assert_int_equal(n, N - 2);
    free(a);
    free(b);
    free(match);
}

/* --- numbers --- */

static uint64_t seed;

static double uniform(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return ((double)(seed >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
    double u = uniform(), v = uniform();
    return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

static void student_is_as_in_tables(void **state)
{
    (void)state;
    assert_true(fabs(tt_student_cdf(0, 3) - 0.5) < 1e-12);
    assert_true(fabs(tt_student_quantile(0.975, 10) - 2.228138852) < 1e-8);
    assert_true(fabs(tt_student_quantile(0.995, 2) - 9.924843201) < 1e-7);
    assert_true(fabs(tt_student_quantile(0.975, 1e6) - 1.959966) < 1e-5);
    assert_true(fabs(tt_student_quantile(0.0001, 5) + tt_student_quantile(0.9999, 5)) < 1e-9);
    assert_true(isnan(tt_student_quantile(0, 5)));
}

static void holm_steps_down(void **state)
{
    double p[] = {0.01, NAN, 0.04, 0.03, 0.005};
    (void)state;
    assert_true(tt_holm(p, 5));
    assert_true(fabs(p[4] - 0.02) < 1e-12);
    assert_true(fabs(p[0] - 0.03) < 1e-12);
    assert_true(fabs(p[3] - 0.06) < 1e-12);
    assert_true(fabs(p[2] - 0.06) < 1e-12); /* not less than the one before it */
    assert_true(isnan(p[1]));
}

/* d of two series, whose time order is kept. */
static void shift_between(tt_shift *s, const double *a, const double *b, size_t n)
{
    double x[512], y[512], low[2][TT_SHIFT_BLOCKS_MAX];
    assert_true(n <= 512);
    memcpy(x, a, n * sizeof *x);
    memcpy(y, b, n * sizeof *y);
    const size_t k = n ? tt_shift_blocks(x, n, low[0]) : 0;
    if (n) assert_int_equal(tt_shift_blocks(y, n, low[1]), k);
    tt_shift_of_tokens(s, low[0], low[1], k, n);
}

/* Figures of numpy 2 and scipy 1.15: low = quantile(x, 0.1) by block, each side's median of its 10
 * Walsh averages, d = low of b - low of a, se = sqrt(3 / 4) std(d, ddof=1), scipy.stats.t. */
static void a_shift_is_as_by_hand(void **state)
{
    const double a[] = {1.0, 1.2, 0.9, 1.1, 1.3, 1.0, 1.1, 1.2,
                        0.8, 1.0, 1.5, 0.9, 1.1, 1.2, 1.0, 1.4};
    const double b[] = {1.1, 1.3, 1.2, 1.5, 1.6, 1.2, 1.3, 1.25,
                        1.0, 1.1, 1.9, 1.2, 1.0, 1.4, 1.3, 1.2};
    double low, high;
    tt_shift s;
    (void)state;
    shift_between(&s, a, b, 16);
    assert_true(s.tested && s.n == 16 && s.blocks == 4 && s.df == 3);
    assert_true(fabs(s.estimate - 0.15375) < 1e-9);
    assert_true(fabs(s.se - 0.0717090475463) < 1e-9);
    assert_true(fabs(tt_shift_p(&s, 0) - 0.121384186021) < 1e-9);
    tt_shift_interval(&s, 0.05, &low, &high);
    assert_true(fabs(low - -0.0744601934192) < 1e-7 && fabs(high - 0.381960193419) < 1e-7);
    /* The other way round it is the negative. */
    tt_shift back;
    shift_between(&back, b, a, 16);
    assert_true(back.estimate == -s.estimate && fabs(back.se - s.se) < 1e-12);
    assert_true(fabs(tt_shift_p(&back, -0.1) - tt_shift_p(&s, 0.1)) < 1e-12);
    shift_between(&s, a, b, 0);
    assert_true(isnan(s.estimate) && !s.tested && isnan(tt_shift_p(&s, 0)));
    shift_between(&s, a, b, 5);
    assert_false(s.tested);
    shift_between(&s, a, b, 6);
    assert_true(s.tested && s.blocks == 3);
}

static void blocks_are_by_number_of_tokens(void **state)
{
    static const struct {
        size_t n, k;
    } cases[] = {{1, 1},  {2, 2},   {3, 3},   {6, 3},   {12, 3},  {15, 3},
                 {16, 4}, {63, 15}, {64, 16}, {68, 16}, {500, 16}};
    double x[512], low[TT_SHIFT_BLOCKS_MAX];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (size_t t = 0; t < cases[i].n; t++)
            x[t] = (double)t;
        assert_int_equal(tt_shift_blocks(x, cases[i].n, low), cases[i].k);
        for (size_t b = 1; b < cases[i].k; b++)
            assert_true(low[b] > low[b - 1]);
    }
}

static void equal_series_do_not_differ(void **state)
{
    double d[40] = {0}, low, high;
    tt_shift s;
    (void)state;
    shift_between(&s, d, d, 40);
    assert_true(s.tested && s.estimate == 0 && tt_shift_p(&s, 0) == 1);
    tt_shift_interval(&s, 0.01, &low, &high);
    assert_true(fabs(low) < 1e-6 && fabs(high) < 1e-6);
}

/* A run's log times: noise of `sd` of which `memory` is left from token to token, and a tenth of
 * the tokens with what others add. `bursts`: stretches of five tokens or so that take up to thrice
 * as long, which fill a fifth of the run. */
static void make_run(double *x, size_t n, double sd, double memory, bool bursts)
{
    double state = normal(), burst = 0;
    for (size_t i = 0; i < n; i++) {
        x[i] = sd * state + (uniform() < 0.1 ? fabs(2 * normal()) : 0);
        state = memory * state + sqrt(1 - memory * memory) * normal();
        if (!bursts) continue;
        if (burst > 0)
            burst = uniform() < 0.2 ? 0 : burst;
        else if (uniform() < 0.05)
            burst = log(1 + 2 * uniform());
        x[i] += burst;
    }
}

typedef struct rates {
    double sure;   /* of a shift that there is not */
    double beyond; /* ... and of more than 3 % */
    double found;  /* `shift`, as one of more than 3 % */
} rates;

static rates rates_of(size_t n, double sd, double memory, bool bursts, double shift)
{
    enum { REPEATS = 1000 };
    const double edge = 2 * asinh(0.03 / 2), level = 0.01;
    unsigned sure = 0, beyond = 0, found = 0;
    for (unsigned r = 0; r < REPEATS; r++) {
        double a[512], b[512];
        tt_shift s;
        make_run(a, n, sd, memory, bursts);
        make_run(b, n, sd, memory, bursts);
        shift_between(&s, a, b, n);
        sure += tt_shift_p(&s, 0) < level;
        const double from = copysign(edge, s.estimate);
        beyond += fabs(s.estimate) > edge && tt_shift_p(&s, from) < level;
        s.estimate += shift;
        found += s.estimate > edge && tt_shift_p(&s, edge) < level;
    }
    return (rates){(double)sure / REPEATS, (double)beyond / REPEATS, (double)found / REPEATS};
}

/* Of a thousand: 0.01 and three standard errors of it are 0.0194. */
static void noise_is_no_difference(void **state)
{
    static const size_t n[] = {16, 31, 64, 128, 256};
    static const double memory[] = {0, 0.5, 0.8};
    (void)state;
    seed = 2024;
    for (size_t i = 0; i < 5; i++)
        for (size_t k = 0; k < 3; k++)
            for (int bursts = 0; bursts < 2; bursts++) {
                const rates r = rates_of(n[i], 0.03, memory[k], bursts, 0);
                assert_true(r.sure <= 0.0194);
                assert_true(r.beyond <= 0.01);
            }
}

static void shifts_are_found(void **state)
{
    (void)state;
    seed = 99;
    /* 5 % where tokens differ by 1 %; 20 % where they differ by 3 % and in bursts. */
    assert_true(rates_of(128, 0.01, 0, false, log(1.05)).found >= 0.95);
    assert_true(rates_of(128, 0.01, 0.5, false, log(1.05)).found >= 0.95);
    assert_true(rates_of(256, 0.01, 0.5, false, log(1.05)).found >= 0.95);
    assert_true(rates_of(500, 0.03, 0.5, true, log(1.2)).found >= 0.95);
    assert_true(rates_of(500, 0.03, 0.8, true, log(1.2)).found >= 0.95);
    /* What is within the threshold is not found to be beyond it. */
    assert_true(rates_of(256, 0.03, 0, false, log(1.02)).found <= 0.01);
}

/* Others on the processor only add, to some tokens or all of a stretch: the estimate stays. */
static void what_others_add_is_not_in_the_estimate(void **state)
{
    double a[256], b[256];
    tt_shift s;
    (void)state;
    seed = 5;
    for (size_t i = 0; i < 256; i++) {
        a[i] = 0.01 * normal();
        b[i] = 0.01 * normal() + (i % 4 == 1 ? 2 : 0) + (i >= 96 && i < 160 && i % 8 ? 0.5 : 0);
    }
    shift_between(&s, a, b, 256);
    assert_true(fabs(s.estimate) < 0.02);
    assert_true(tt_shift_p(&s, 0) > 0.01);
}

static void runs_differ_by_more_than_their_noise(void **state)
{
    const double a[] = {0.00, 0.02, -0.02}, b[] = {0.10, 0.12, 0.11}, c[] = {0.2};
    double low, high;
    tt_shift s;
    (void)state;
    tt_shift_of_runs(&s, a, 3, b, 3);
    assert_true(s.tested && fabs(s.estimate - 0.11) < 1e-12);
    /* scipy.stats.ttest_ind([0, .02, -.02], [.1, .12, .11]): p = 0.00104091 */
    assert_true(fabs(tt_shift_p(&s, 0) - 0.00104091) < 1e-8);
    tt_shift_interval(&s, 0.05, &low, &high);
    assert_true(low > 0.07 && high < 0.15);
    tt_shift_of_runs(&s, a, 1, c, 1);
    assert_false(s.tested);
    tt_shift_of_runs(&s, a, 2, c, 1);
    assert_true(s.tested);
}

/* On a busy machine the order of the runs is what counts: 2 of 252 for five of each side. */
static void busy_runs_must_lie_apart(void **state)
{
    const double a[] = {0.00, 0.02, -0.02, 0.01, 0.5}, b[] = {0.60, 0.62, 0.64, 0.61, 1.5};
    double low, high;
    tt_shift s;
    (void)state;
    tt_shift_of_busy_runs(&s, a, 4, b, 4, 0.01);
    assert_false(s.tested); /* 2 of 70 */
    tt_shift_of_busy_runs(&s, a, 4, b, 4, 0.05);
    assert_true(s.tested && fabs(s.p_apart - 2.0 / 70) < 1e-12);
    assert_true(fabs(s.gap - 0.58) < 1e-12);
    assert_true(fabs(tt_shift_p(&s, 0) - 2.0 / 70) < 1e-12);
    assert_true(tt_shift_p(&s, 0.1) >= 2.0 / 70 && tt_shift_p(&s, 1) == 1);
    tt_shift_of_busy_runs(&s, b, 4, a, 4, 0.05);
    assert_true(fabs(s.gap + 0.58) < 1e-12);
    assert_true(fabs(tt_shift_p(&s, 0) - 2.0 / 70) < 1e-12 && tt_shift_p(&s, -1) == 1);
    tt_shift_of_busy_runs(&s, a, 5, b, 5, 0.01);
    assert_true(s.tested && fabs(s.p_apart - 2.0 / 252) < 1e-12 && fabs(s.gap - 0.1) < 1e-12);
    tt_shift_interval(&s, 0.01, &low, &high);
    assert_true(low <= 0.1 && high >= s.estimate);
    /* One of B's is among A's. */
    const double c[] = {0.60, 0.62, 0.4, 0.61, 1.5};
    tt_shift_of_busy_runs(&s, a, 5, c, 5, 0.01);
    assert_true(s.gap == 0 && tt_shift_p(&s, 0) == 1);
    tt_shift_interval(&s, 0.05, &low, &high);
    assert_true(low <= 0 && high >= 0);
}

/* The variances add up; nothing is added to what was not tested. */
static void unseen_noise_is_added(void **state)
{
    tt_shift s = {.tested = true, .estimate = 0.1, .se = 0.03, .df = 4};
    (void)state;
    tt_shift_allow(&s, 0.0016);
    assert_true(fabs(s.se - 0.05) < 1e-12);
    /* Satterthwaite: 0.0025^2 / (0.0009^2 / 4) */
    assert_true(fabs(s.df - 30.8641975309) < 1e-6);
    s = (tt_shift){.tested = true, .df = 3};
    tt_shift_allow(&s, 0.04);
    assert_true(fabs(s.se - 0.2) < 1e-12 && s.df >= 1e6);
}

/* --- whole traces --- */

typedef struct opened {
    tt_bytes bytes;
    tt_model *m;
} opened;

static uint64_t noise;
static uint8_t quicker[TT_OPS_NODE_MAX + 1]; /* nodes that take half the time */

/* Times with noise, of some nodes half of them: the lane then waits longer. */
static void make_noise(synth_plan *plan, synth_ring *rings)
{
    seed = noise;
    for (uint32_t l = 0; l < plan->lanes; l++)
        for (size_t i = 0; i < rings[l].n; i++) {
            tt_op_record *r = &rings[l].records[i];
            double busy = (double)(r->arrive - r->start) * exp(0.03 * normal());
            if (quicker[tt_op_node(r)]) busy /= 2;
            if (r->start + (uint64_t)busy < r->release) r->arrive = r->start + (uint64_t)busy;
        }
}

static opened open_plan(synth_plan p, bool noisy)
{
    opened o = {.m = NULL};
    if (noisy) p.edit_ops = make_noise;
    tt_bytes_init(&o.bytes, SIZE_MAX / 2);
    assert_true(synth_build(&p, &o.bytes));
    assert_int_equal(tt_model_open_memory(o.bytes.data, o.bytes.size, &o.m, NULL), TT_OK);
    return o;
}

static void close_plan(opened *o)
{
    tt_model_close(o->m);
    tt_bytes_free(&o->bytes);
}

static const tt_diff_options usual = {.threshold = 0.03, .level = 0.01};

static tt_diff *compare(const opened *a, const opened *b, const tt_diff_options *options)
{
    static const tt_model *files[2];
    tt_diff *d;
    tt_error err;
    files[0] = a->m;
    files[1] = b->m;
    assert_int_equal(tt_diff_make(files, 2, 1, options, &d, &err), TT_OK);
    return d;
}

static void a_run_is_equal_to_itself(void **state)
{
    (void)state;
    synth_plan p = synth_default();
    p.generate = 24;
    opened a = open_plan(p, false), b = open_plan(p, false);
    tt_diff *d = compare(&a, &b, &usual);
    const tt_diff_phase *g = tt_diff_main(d);
    assert_int_equal(g->phase, TT_PHASE_GENERATE);
    assert_int_equal(g->pairs.n, 24);
    assert_true(g->pairs.by_position);
    assert_int_equal(tt_diff_changes(d), 0);
    assert_true(tt_diff_common(d) > 0);
    assert_int_equal(g->verdict, TT_DIFF_SAME);
    assert_true(g->rows[TT_DIFF_TOTAL][0].identical);
    assert_false(tt_diff_times_differ(d));
    assert_int_equal(d->around.n_settings, 0);
    for (size_t i = 0; i < g->n_rows[TT_DIFF_OPS]; i++) {
        const tt_diff_row *r = &g->rows[TT_DIFF_OPS][i];
        assert_true(r->a.median_ns == r->b.median_ns && r->a.mean_ns == r->b.mean_ns);
        assert_true(r->a.weight_bytes == r->b.weight_bytes);
        assert_true(fabs(r->change) < 1e-6 || isnan(r->change));
    }
    tt_diff_free(d);
    close_plan(&a);
    close_plan(&b);
}

/* Parts, layers and ops are sums of the same samples as the whole. */
static void parts_add_up(void **state)
{
    (void)state;
    synth_plan p = synth_default();
    opened a = open_plan(p, false), b = open_plan(p, false);
    tt_diff *d = compare(&a, &b, &usual);
    const tt_diff_phase *g = tt_diff_main(d);
    double whole = 0, n = 0;
    tt_quantiles all = {0};
    for (uint32_t i = 0; i < a.m->n_batches; i++) {
        const tt_batch *batch = &a.m->batches[i];
        if (batch->phase != TT_PHASE_GENERATE) continue;
        whole += tt_model_span_ns(a.m, batch->end_ticks - batch->begin_ticks);
        tt_quantiles_add(&all, batch->end_ticks - batch->begin_ticks);
        n++;
    }
    assert_true(fabs(g->rows[TT_DIFF_TOTAL][0].a.mean_ns - whole / n) < 2);
    /* A median that was measured, as in `stats`, of an even number of tokens too. */
    assert_true((uint64_t)n % 2 == 0);
    assert_true(fabs(g->rows[TT_DIFF_TOTAL][0].a.median_ns -
                     tt_quantiles_at(&all, 0.5) * a.m->clock.ns_per_tick) < 1e-3);
    tt_quantiles_free(&all);
    for (int f = TT_DIFF_PARTS; f < TT_DIFF_FAMILIES; f++) {
        double mean = 0, bytes = 0;
        for (size_t i = 0; i < g->n_rows[f]; i++) {
            mean += g->rows[f][i].a.mean_ns;
            bytes += g->rows[f][i].a.weight_bytes;
        }
        assert_true(fabs(mean - g->rows[TT_DIFF_TOTAL][0].a.mean_ns) < 1e-6 * mean + 1e-9);
        assert_true(fabs(bytes - g->rows[TT_DIFF_TOTAL][0].a.weight_bytes) < 0.5);
    }
    tt_diff_free(d);
    close_plan(&a);
    close_plan(&b);
}

static void other_layers_are_added_or_gone(void **state)
{
    (void)state;
    synth_plan p = synth_default();
    opened a = open_plan(p, false);
    p.layers++;
    opened b = open_plan(p, false);
    tt_diff *d = compare(&a, &b, &usual);
    const tt_diff_structure *s = &tt_diff_main(d)->structure;
    assert_true(s->added > 0);
    assert_int_equal(s->removed, 0);
    assert_int_equal(s->common, s->nodes_a);
    assert_int_equal(s->added, s->nodes_b - s->nodes_a);
    for (size_t i = 0; i < s->n; i++)
        if (!s->list[i].a) assert_int_equal(s->list[i].b->place.layer_id, 3);
    tt_diff_free(d);
    d = compare(&b, &a, &usual);
    assert_true(tt_diff_main(d)->structure.removed > 0);
    assert_int_equal(tt_diff_main(d)->structure.added, 0);
    tt_diff_free(d);
    close_plan(&a);
    close_plan(&b);
}

static void another_width_is_another_shape(void **state)
{
    (void)state;
    synth_plan p = synth_default();
    opened a = open_plan(p, false);
    p.width *= 2;
    opened b = open_plan(p, false);
    tt_diff *d = compare(&a, &b, &usual);
    const tt_diff_structure *s = &tt_diff_main(d)->structure;
    assert_int_equal(s->added + s->removed, 0);
    assert_true(s->changed > 0);
    bool shapes = false;
    for (size_t i = 0; i < s->n; i++)
        shapes |= (s->list[i].what & TT_CHANGE_SHAPE) != 0;
    assert_true(shapes);
    tt_diff_free(d);
    close_plan(&a);
    close_plan(&b);
}

static void threads_change_no_structure(void **state)
{
    (void)state;
    synth_plan p = synth_default();
    opened a = open_plan(p, false);
    p.lanes = 1;
    opened b = open_plan(p, false);
    tt_diff *d = compare(&a, &b, &usual);
    assert_int_equal(tt_diff_changes(d), 0);
    assert_int_equal(d->around.n_settings, 1);
    assert_string_equal(d->around.settings[0].key, "threads");
    tt_diff_free(d);
    close_plan(&a);
    close_plan(&b);
}

static const tt_diff_setting *setting(const tt_diff *d, const char *key)
{
    for (size_t i = 0; i < d->around.n_settings; i++)
        if (strcmp(d->around.settings[i].key, key) == 0) return &d->around.settings[i];
    return NULL;
}

/* Engines have other numbers of libraries, models other architectures. */
static void settings_are_found_wherever_they_are(void **state)
{
    (void)state;
    tt_pair libraries[2][2] = {{{"engine_library_0", "/e/ggml-cpu/libllama.so"},
                                {"engine_library_1", "/e/libggml-cpu-zen4.so"}},
                               {{"engine_library_0", "/e/libggml-cpu-haswell.so"},
                                {"engine_library_3", "/e/libother.so"}}};
    const tt_file_kv kvs[2][2] = {
        {{"general.architecture", "llama", 8}, {"llama.block_count", "4", 4}},
        {{"general.architecture", "qwen2moe", 8}, {"qwen2moe.block_count", "24", 4}}};
    opened side[2] = {open_plan(synth_default(), false), open_plan(synth_default(), false)};
    tt_model kept[2];
    tt_model_file file[2];
    for (size_t i = 0; i < 2; i++) {
        kept[i] = *side[i].m;
        file[i] = side[i].m->files[0];
        side[i].m->environment = libraries[i];
        side[i].m->n_environment = 2;
        assert_true(side[i].m->n_files > 0);
        side[i].m->files[0].kvs = kvs[i];
        side[i].m->files[0].n_kvs = 2;
    }
    tt_diff *d = compare(&side[0], &side[1], &usual);
    const tt_diff_setting *cpu = setting(d, "engine_cpu_library"), *n = setting(d, "block_count");
    assert_non_null(cpu);
    assert_string_equal(cpu->a, "libggml-cpu-zen4.so");
    assert_string_equal(cpu->b, "libggml-cpu-haswell.so");
    assert_non_null(n);
    assert_string_equal(n->a, "4");
    assert_string_equal(n->b, "24");
    tt_diff_free(d);
    for (size_t i = 0; i < 2; i++) {
        *side[i].m = kept[i];
        side[i].m->files[0] = file[i];
        close_plan(&side[i]);
    }
}

/* --- model files --- */

typedef struct made {
    tt_model m;
    tt_model_file files[4];
    tt_weight weights[8];
} made;

static void made_file(made *x, const char *path, uint64_t head, const tt_file_kv *kvs, uint32_t n)
{
    x->files[x->m.n_files] = (tt_model_file){.path = path,
                                             .size_bytes = 1000 + head,
                                             .head_hash = head,
                                             .kvs = kvs,
                                             .n_kvs = n,
                                             .first_weight = x->m.n_weights};
    x->m.files = x->files;
    x->m.weights = x->weights;
    x->m.n_files++;
}

static void made_weight(made *x, const char *name, const char *type, uint64_t width)
{
    x->weights[x->m.n_weights++] = (tt_weight){.name = name,
                                               .type_name = type,
                                               .n_dims = 1,
                                               .ne = {width, 1, 1, 1},
                                               .size_bytes = 4 * width,
                                               .file = x->m.n_files - 1};
    x->files[x->m.n_files - 1].n_weights++;
}

static made main_model(const char *path, uint64_t head)
{
    made x = {.m = {.n_files = 0}};
    made_file(&x, path, head, NULL, 0);
    made_weight(&x, "token_embd.weight", "f16", 64);
    made_weight(&x, "output.weight", "f16", 64);
    return x;
}

static void expect_models(made *a, made *b, bool differ, const char *text)
{
    tt_diff_models got;
    a->m.files = a->files;
    a->m.weights = a->weights;
    b->m.files = b->files;
    b->m.weights = b->weights;
    assert_true(tt_diff_compare_models(&a->m, &b->m, &got));
    assert_string_equal(got.text, text);
    assert_int_equal(got.differ, differ);
}

/* What a run opens beside its model does not make it another model. */
static void models_are_known_by_their_content(void **state)
{
    static const tt_file_kv adapter[] = {{"general.architecture", "llama", 8},
                                         {"general.type", "adapter", 8}};
    static const tt_file_kv vector[] = {{"general.architecture", "controlvector", 8}};
    static const tt_file_kv clip[] = {{"general.architecture", "clip", 8}};
    made a = main_model("/x/m.gguf", 7), b = main_model("/y/other-name.gguf", 7);
    (void)state;
    expect_models(&a, &b, false, "");
    made_file(&b, "/y/lora.gguf", 20, adapter, 2);
    made_weight(&b, "output.weight.lora_a", "f16", 8);
    expect_models(&a, &b, false, "B also has lora.gguf (an adapter)");
    expect_models(&b, &a, false, "A also has lora.gguf (an adapter)");
    made_file(&a, "/x/cvec.gguf", 21, vector, 1);
    made_weight(&a, "direction.1", "f32", 8);
    expect_models(&a, &b, false,
                  "A also has cvec.gguf (a control vector); B also has lora.gguf (an adapter)");
    b = main_model("/x/m.gguf", 7);
    a = main_model("/x/m.gguf", 7);
    made_file(&b, "/y/mmproj.gguf", 22, clip, 1);
    made_weight(&b, "v.patch_embd.weight", "f16", 8);
    made_file(&b, "/y/draft.gguf", 23, NULL, 0);
    made_weight(&b, "token_embd.weight", "f16", 16);
    expect_models(
        &a, &b, false,
        "B also has mmproj.gguf (a projector of other media), draft.gguf (another model)");
    /* The same weights in parts, beside a draft. */
    made parts = {.m = {.n_files = 0}};
    made_file(&parts, "/x/m-00001-of-00002.gguf", 30, NULL, 0);
    made_weight(&parts, "token_embd.weight", "f16", 64);
    made_file(&parts, "/x/m-00002-of-00002.gguf", 31, NULL, 0);
    made_weight(&parts, "output.weight", "f16", 64);
    expect_models(&a, &parts, false, "the same tensors are in 1 file in A and 2 in B");
    made_file(&parts, "/y/draft.gguf", 23, NULL, 0);
    made_weight(&parts, "token_embd.weight", "f16", 16);
    expect_models(&a, &parts, false,
                  "the same tensors are in 1 file in A and 2 in B; B also has draft.gguf (another "
                  "model)");
    /* Another head: metadata, or what a fine-tune has changed. */
    b = main_model("/x/m.gguf", 8);
    expect_models(
        &a, &b, false,
        "the files have the same tensors, but begin differently: other metadata, or other "
        "weights");
    /* Another type, another shape, another name: another model, even of the same size. */
    b = main_model("/x/m.gguf", 8);
    b.weights[1].type_name = "bf16";
    expect_models(
        &a, &b, true,
        "of the tensors, 1 are alike, 1 have another type or shape, 0 are in A only, 0 in "
        "B only");
    b = main_model("/x/m.gguf", 8);
    b.weights[0].ne[0] = 32;
    b.weights[1].name = "output_norm.weight";
    expect_models(
        &a, &b, true,
        "of the tensors, 0 are alike, 1 have another type or shape, 1 are in A only, 1 in "
        "B only");
    /* Not observed is not different. */
    b.m.n_files = 0;
    expect_models(&a, &b, false, "");
}

/* --- sentences --- */

static const char *times_of(const tt_diff *d, tt_diff_phase *g, tt_diff_cause c, char *text)
{
    const char *paths[] = {"a.ttrace", "b.ttrace"};
    const tt_diff_view v = {d, paths, 0, false};
    g->verdict = TT_DIFF_SLOWER;
    g->n_causes = 1;
    g->causes[0] = c;
    return tt_diff_write_times(&v, text);
}

/* Two thirds, on both sides of each bound; and each run of neighbouring layers. */
static void causes_are_told_by_their_shares_and_layers(void **state)
{
    static const struct {
        double wait_ns;
        const char *said;
    } kinds[] = {{0, ", computing ("},
                 {0.329, ", computing ("},
                 {0.331, ", computing and waiting ("},
                 {0.5, ", computing and waiting ("},
                 {0.669, ", computing and waiting ("},
                 {0.671, ", waiting ("},
                 {1, ", waiting ("},
                 {NAN, "FFN Up ("}};
    static const struct {
        int32_t layers[6];
        uint32_t n;
        const char *said;
    } layers[] = {{{4}, 1, "FFN Up in layer 4, computing"},
                  {{1, 2}, 2, "FFN Up in layers 1, 2, computing"},
                  {{1, 2, 3}, 3, "FFN Up in layers 1 to 3, computing"},
                  {{1, 3}, 2, "FFN Up in layers 1, 3, computing"},
                  {{0, 1, 2, 5, 7, 8}, 6, "FFN Up in layers 0 to 2, 5, 7, 8, computing"}};
    char text[TT_DIFF_SENTENCE];
    (void)state;
    opened a = open_plan(synth_default(), false), b = open_plan(synth_default(), false);
    tt_diff *d = compare(&a, &b, &usual);
    tt_diff_phase *g = &d->phases[tt_diff_main(d) - d->phases];
    tt_diff_cause c = {.component = "ffn_up", .title = "FFN Up", .delta_ns = 1000};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        c.delta_wait_ns = 1000 * kinds[i].wait_ns;
        assert_non_null(strstr(times_of(d, g, c, text), kinds[i].said));
    }
    c.delta_wait_ns = 0;
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        c.layers = layers[i].layers;
        c.n_layers = layers[i].n;
        assert_non_null(strstr(times_of(d, g, c, text), layers[i].said));
    }
    c.all_layers = true;
    assert_non_null(strstr(times_of(d, g, c, text), "FFN Up in all layers, computing"));
    tt_diff_free(d);
    close_plan(&a);
    close_plan(&b);
}

static void structure_only_compares_no_times(void **state)
{
    (void)state;
    synth_plan p = synth_default();
    opened a = open_plan(p, false), b = open_plan(p, false);
    const tt_diff_options options = {.threshold = 0.03, .level = 0.01, .structure_only = true};
    tt_diff *d = compare(&a, &b, &options);
    assert_int_equal(tt_diff_changes(d), 0);
    assert_true(tt_diff_common(d) > 0);
    assert_int_equal(tt_diff_main(d)->n_rows[TT_DIFF_TOTAL], 0);
    assert_false(tt_diff_times_differ(d));
    tt_diff_free(d);
    close_plan(&a);
    close_plan(&b);
}

static void make_quicker(const opened *o, const char *name)
{
    const tt_graph *g = &o->m->graphs[o->m->runs[o->m->n_runs - 1].graph];
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (strcmp(g->tensors[i].name, name) == 0) quicker[i] = 1;
}

/* A batch takes as long, but two of its ops take half the time: parts have changed, the whole has
 * not, and the cause is named with its layers. */
static void a_change_is_found_and_noise_is_not(void **state)
{
    (void)state;
    synth_plan p = synth_default();
    p.generate = 200;
    noise = 1;
    opened a = open_plan(p, true);
    noise = 2;
    opened b = open_plan(p, true);
    tt_diff *d = compare(&a, &b, &usual);
    assert_false(tt_diff_times_differ(d));
    tt_diff_free(d);
    make_quicker(&a, "ffn_out-1");
    make_quicker(&a, "ffn_out-2");
    noise = 3;
    opened c = open_plan(p, true);
    memset(quicker, 0, sizeof quicker);
    /* They are some hundredths of a token. */
    const tt_diff_options fine = {.threshold = 0.003, .level = 0.01};
    d = compare(&a, &c, &fine);
    const tt_diff_phase *g = tt_diff_main(d);
    assert_int_equal(g->verdict, TT_DIFF_SHIFTED);
    const tt_diff_cause *cause = NULL;
    for (size_t i = 0; i < g->n_causes; i++)
        if (strcmp(g->causes[i].component, "ffn_down") == 0) cause = &g->causes[i];
    assert_non_null(cause);
    assert_true(cause->delta_ns < 0);
    assert_true(cause->significant);
    assert_string_equal(cause->title, "FFN Down");
    assert_int_equal(cause->n_layers, 2);
    assert_int_equal(cause->layers[0], 1);
    assert_int_equal(cause->layers[1], 2);
    tt_diff_free(d);
    close_plan(&a);
    close_plan(&b);
    close_plan(&c);
}

/* Repeats: each side's own spread is what a difference is measured by. */
static void repeats_are_compared_as_runs(void **state)
{
    (void)state;
    synth_plan p = synth_default();
    opened o[5];
    const tt_model *files[5];
    tt_diff *d;
    for (unsigned i = 0; i < 5; i++) {
        noise = 10 + i;
        o[i] = open_plan(p, true);
        files[i] = o[i].m;
    }
    assert_int_equal(tt_diff_make(files, 5, 2, &usual, &d, NULL), TT_OK);
    const tt_diff_row *r = &tt_diff_main(d)->rows[TT_DIFF_TOTAL][0];
    assert_true(r->shift.tested);
    assert_int_equal(r->shift.n, 5);
    assert_int_equal(tt_diff_main(d)->left_out, 0);
    assert_false(tt_diff_times_differ(d));
    tt_diff_free(d);
    for (unsigned i = 0; i < 5; i++)
        close_plan(&o[i]);
}

static void one_prompt_is_too_few_to_test(void **state)
{
    (void)state;
    synth_plan p = synth_default();
    opened a = open_plan(p, false);
    p.generate = 0;
    opened b = open_plan(p, true);
    tt_diff *d = compare(&a, &b, &usual);
    assert_int_equal(d->phases[0].pairs.n, 0);
    assert_int_equal(tt_diff_main(d)->phase, TT_PHASE_PROMPT);
    assert_int_equal(tt_diff_main(d)->verdict, TT_DIFF_UNTESTED);
    tt_diff_free(d);
    close_plan(&a);
    close_plan(&b);
}

/* That the whole changed does not show it of each place that it is said to be in. */
static void places_are_sure_by_themselves_or_not(void **state)
{
    (void)state;
    char text[TT_DIFF_SENTENCE];
    opened a = open_plan(synth_default(), false), b = open_plan(synth_default(), false);
    tt_diff *d = compare(&a, &b, &usual);
    const char *paths[] = {"a.ttrace", "b.ttrace"};
    const tt_diff_view v = {d, paths, 0, false};
    tt_diff_phase *g = &d->phases[tt_diff_main(d) - d->phases];
    g->verdict = TT_DIFF_FASTER;
    g->rows[TT_DIFF_TOTAL][0].change = -0.27;
    g->n_causes = 2;
    g->causes[0] = (tt_diff_cause){.component = "ffn_up", .title = "FFN Up", .delta_ns = -2e3};
    g->causes[1] = (tt_diff_cause){.component = "attn_q", .title = "Attention Q", .delta_ns = -1e3};
    (void)tt_diff_write_times(&v, text);
    assert_non_null(strstr(text, "B takes 27.0 % less time ("));
    assert_non_null(strstr(text, "Most of the difference is in FFN Up"));
    assert_non_null(strstr(text, "; none of these sure by itself"));
    g->causes[1].significant = true;
    assert_non_null(strstr(tt_diff_write_times(&v, text), "; sure by itself only Attention Q"));
    g->causes[0].significant = true;
    assert_non_null(strstr(tt_diff_write_times(&v, text), "; each sure by itself"));
    g->n_causes = 1;
    assert_non_null(strstr(tt_diff_write_times(&v, text), ", sure by itself"));
    g->verdict = TT_DIFF_SLOWER;
    g->rows[TT_DIFF_TOTAL][0].change = 0.12;
    assert_non_null(strstr(tt_diff_write_times(&v, text), "B takes 12.0 % more time ("));
    tt_diff_free(d);
    close_plan(&a);
    close_plan(&b);
}

/* Names are anybody's: in the page they are text, and the page stays UTF-8. */
static void hostile_names_stay_text(void **state)
{
    static const char hostile[] = "</td><script>alert('1')</script>\"&\n\x01\xff\xc0\xaf";
    (void)state;
    synth_plan p = synth_default();
    opened a = open_plan(p, false), b = open_plan(p, true);
    for (uint32_t g = 0; g < b.m->n_graphs; g++)
        for (uint32_t i = 0; i < b.m->graphs[g].n_tensors; i += 3) {
            tt_tensor *t = &b.m->graphs[g].tensors[i];
            t->name = t->type_name = t->op_name = t->place.component = hostile;
        }
    for (uint32_t i = 0; i < b.m->n_environment; i++)
        b.m->environment[i].value = hostile;
    tt_diff *d = compare(&a, &b, &usual);
    const char *paths[] = {hostile, "b.ttrace"};
    const tt_diff_view v = {d, paths, 0, false};
    char *page = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&page, &size);
    assert_true(tt_diff_write_html(&v, out));
    assert_int_equal(fclose(out), 0);
    assert_null(strstr(page, "<script"));
    assert_non_null(
        strstr(page, "&lt;/td&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&quot;&amp;"));
    assert_int_equal(strlen(page), size);
    for (size_t i = 0; i < size;) {
        size_t n = tt_utf8_length(page + i, size - i);
        assert_true(n > 0 && ((unsigned char)page[i] >= 0x20 || page[i] == '\n'));
        i += n;
    }
    free(page);
    tt_diff_free(d);
    close_plan(&a);
    close_plan(&b);
}

/* B computes two nodes in the other order: they are the same nodes. */
static void order_is_told_apart_from_new_and_gone(void **state)
{
    (void)state;
    synth_plan p = synth_default();
    opened a = open_plan(p, false), b = open_plan(p, false);
    for (uint32_t g = 0; g < b.m->n_graphs; g++) {
        tt_tensor *q = NULL, *k = NULL, *t = b.m->graphs[g].tensors;
        for (uint32_t i = 0; i < b.m->graphs[g].n_nodes; i++) {
            if (strcmp(t[i].op_name, "MUL_MAT") != 0) continue;
            if (strcmp(t[i].name, "Kcur-1") == 0) q = &t[i];
            if (strcmp(t[i].name, "Vcur-1") == 0) k = &t[i];
        }
        assert_true(q && k);
        const char *name = q->name;
        q->name = k->name;
        k->name = name;
    }
    tt_diff *d = compare(&a, &b, &usual);
    const tt_diff_structure *s = &tt_diff_main(d)->structure;
    assert_int_equal(s->added + s->removed, 0);
    assert_int_equal(s->changed, 1);
    assert_true(s->list[0].what & TT_CHANGE_ORDER);
    tt_diff_free(d);
    close_plan(&a);
    close_plan(&b);
}

static void sides_need_files(void **state)
{
    tt_diff *d;
    const tt_model *files[2] = {NULL, NULL};
    (void)state;
    assert_int_equal(tt_diff_make(files, 2, 0, &usual, &d, NULL), TT_E_USAGE);
    assert_int_equal(tt_diff_make(files, 2, 2, &usual, &d, NULL), TT_E_USAGE);
    assert_null(d);
}

static bool is_over(void *asked)
{
    *(atomic_uint *)asked += 1;
    return true;
}

static void what_nobody_waits_for_is_given_up(void **state)
{
    (void)state;
    opened a = open_plan(synth_default(), false), b = open_plan(synth_default(), false);
    const tt_model *files[2] = {a.m, b.m};
    atomic_uint asked = 0;
    tt_diff_options options = usual;
    options.over = (tt_over){is_over, &asked};
    tt_diff *d;
    assert_int_equal(tt_diff_make(files, 2, 1, &options, &d, NULL), TT_E_IO);
    assert_null(d);
    assert_true(asked > 0);
    close_plan(&a);
    close_plan(&b);
}

static void samples_are_bounded(void **state)
{
    (void)state;
    assert_int_equal(tt_profile_stride(0, 400), 1);
    assert_int_equal(tt_profile_stride(1024, 400), 1);
    assert_int_equal(tt_profile_stride(1025, 400), 2);
    assert_int_equal(tt_profile_stride(1000000, 400), 977);
    /* Large graphs keep fewer, but some. */
    assert_int_equal(tt_profile_stride(6400, 1u << 20), 100);
    assert_string_equal(tt_profile_name("node_21 (view)"), " (view)");
    assert_string_equal(tt_profile_name("node_x"), "node_x");
    assert_string_equal(tt_profile_name("Qcur-21"), "Qcur-21");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sequences_align_in_order),
        cmocka_unit_test(long_sequences_align),
        cmocka_unit_test(student_is_as_in_tables),
        cmocka_unit_test(holm_steps_down),
        cmocka_unit_test(a_shift_is_as_by_hand),
        cmocka_unit_test(blocks_are_by_number_of_tokens),
        cmocka_unit_test(equal_series_do_not_differ),
        cmocka_unit_test(noise_is_no_difference),
        cmocka_unit_test(shifts_are_found),
        cmocka_unit_test(what_others_add_is_not_in_the_estimate),
        cmocka_unit_test(busy_runs_must_lie_apart),
        cmocka_unit_test(unseen_noise_is_added),
        cmocka_unit_test(runs_differ_by_more_than_their_noise),
        cmocka_unit_test(a_run_is_equal_to_itself),
        cmocka_unit_test(parts_add_up),
        cmocka_unit_test(other_layers_are_added_or_gone),
        cmocka_unit_test(another_width_is_another_shape),
        cmocka_unit_test(threads_change_no_structure),
        cmocka_unit_test(settings_are_found_wherever_they_are),
        cmocka_unit_test(models_are_known_by_their_content),
        cmocka_unit_test(causes_are_told_by_their_shares_and_layers),
        cmocka_unit_test(structure_only_compares_no_times),
        cmocka_unit_test(a_change_is_found_and_noise_is_not),
        cmocka_unit_test(repeats_are_compared_as_runs),
        cmocka_unit_test(one_prompt_is_too_few_to_test),
        cmocka_unit_test(places_are_sure_by_themselves_or_not),
        cmocka_unit_test(hostile_names_stay_text),
        cmocka_unit_test(order_is_told_apart_from_new_and_gone),
        cmocka_unit_test(sides_need_files),
        cmocka_unit_test(what_nobody_waits_for_is_given_up),
        cmocka_unit_test(samples_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
