/* The pool of boost over time, and which ops waited for it: against the plainest way to find the
 * same, on reads that were made up. */
#include "tests.h"

#include "../golden/synth_trace.c"
#include "analyze/pool_lanes.h"
#include "analyze/pool_sums.h"
#include "analyze/pool_time.h"
#include "model/faults.h"

#include <math.h>
#include <stdlib.h>

#define READS 600u

typedef struct made {
    tt_bytes bytes;
    tt_model *m;
    double from, to; /* of the batches */
} made;

static uint64_t dice = 88172645463325252u;

static uint64_t roll(uint64_t below)
{
    dice ^= dice << 13;
    dice ^= dice >> 7;
    dice ^= dice << 17;
    return dice % below;
}

static void begin(made *x)
{
    synth_plan p = synth_default();
    p.pool = true;
    tt_bytes_init(&x->bytes, SIZE_MAX / 2);
    assert_true(synth_build(&p, &x->bytes));
    assert_int_equal(tt_model_open_memory(x->bytes.data, x->bytes.size, &x->m, NULL), TT_OK);
    assert_true(x->m->n_pool_states > 2 && x->m->n_pool_reads > 0);
    x->from = tt_model_ns(x->m, x->m->batches[0].begin_ticks);
    x->to = tt_model_ns(x->m, x->m->batches[x->m->n_batches - 1].end_ticks);
}

static void end(made *x)
{
    tt_model_close(x->m);
    tt_bytes_free(&x->bytes);
}

/* Reads anywhere in the time of the batches, and a little outside of it. */
static void make_up_reads(tt_model *m)
{
    const uint64_t first = m->batches[0].begin_ticks;
    const uint64_t length = m->batches[m->n_batches - 1].end_ticks - first;
    free(m->pool_reads);
    m->pool_reads = calloc(READS, sizeof *m->pool_reads);
    assert_non_null(m->pool_reads);
    m->n_pool_reads = READS;
    for (uint32_t i = 0; i < READS; i++) {
        tt_pool_read *r = &m->pool_reads[i];
        r->requested_ticks = first - 200 + roll(length + 400);
        r->begin_ticks = r->requested_ticks + roll(100);
        r->end_ticks = r->begin_ticks + (i % 10 ? roll(4000) : 0);
        r->size_bytes = 1 + roll(1u << 20);
        r->cause = (uint8_t)roll(TT_READ_CAUSES);
        r->waiters = (uint32_t)roll(4);
        r->thread = r->waiters ? 100 + (uint32_t)roll(2) : 0;
        r->waited_ticks = r->waiters ? roll(800) : 0;
    }
    m->pool_states[0].at.n = READS;
    m->pool_states[0].first_read = 0;
    for (uint32_t i = 1; i < m->n_pool_states; i++)
        m->pool_states[i].at.n = 0;
}

static double begin_of(const tt_model *m, uint32_t read)
{
    return tt_model_ns(m, m->pool_reads[read].begin_ticks);
}

static double end_of(const tt_model *m, uint32_t read)
{
    return tt_model_ns(m, m->pool_reads[read].end_ticks);
}

static double wait_of(const tt_model *m, uint32_t read)
{
    return tt_model_ns(m, m->pool_reads[read].end_ticks - m->pool_reads[read].waited_ticks);
}

static double overlap(double a, double b, double from, double to)
{
    return fmax(0, fmin(b, to) - fmax(a, from));
}

/* --- over time --- */

static void check_bins(const made *x, const tt_pool_time *t, double from, double to, uint32_t n)
{
    tt_pool_bin *bins = calloc(n, sizeof *bins);
    double expected[TT_READ_CAUSES] = {0}, got[TT_READ_CAUSES] = {0}, paused = 0, pauses = 0;
    assert_int_equal(tt_pool_time_bins(t, from, to, n, bins, NULL), TT_OK);
    for (uint32_t i = 0; i < READS; i++) {
        const double a = begin_of(x->m, i), b = end_of(x->m, i);
        const double share = b > a ? overlap(a, b, from, to) / (b - a) : a >= from && a < to;
        expected[x->m->pool_reads[i].cause] += share * (double)x->m->pool_reads[i].size_bytes;
    }
    for (uint32_t i = 0; i < t->n_pauses; i++)
        pauses += overlap(t->pauses[i].begin_ns, t->pauses[i].end_ns, from, to);
    for (uint32_t i = 0; i < n; i++)
        for (unsigned cause = 0; cause < TT_READ_CAUSES; cause++) {
            assert_true(bins[i].read_bytes[cause] >= 0);
            /* Of a bin no more than it has time. */
            assert_true(bins[i].pause_ns[cause] <= (to - from) / n * (1 + 1e-9));
            got[cause] += bins[i].read_bytes[cause];
            paused += bins[i].pause_ns[cause];
        }
    for (unsigned cause = 0; cause < TT_READ_CAUSES; cause++)
        assert_true(fabs(got[cause] - expected[cause]) <= 1e-6 * expected[cause] + 1e-3);
    assert_true(fabs(paused - pauses) <= 1e-6 * pauses + 1e-3);
    free(bins);
}

static void bytes_and_pauses_add_up(void **state)
{
    made x;
    tt_pool_time t;
    (void)state;
    begin(&x);
    make_up_reads(x.m);
    assert_int_equal(tt_pool_time_find(&t, x.m, NULL), TT_OK);
    static const uint32_t widths[] = {1, 2, 7, 100, TT_POOL_BUCKETS_MAX};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        check_bins(&x, &t, x.from - 1e6, x.to + 1e6, widths[i]);
        for (int k = 0; k < 20; k++) {
            const double from = x.from + (double)roll((uint64_t)(x.to - x.from));
            check_bins(&x, &t, from, from + 1 + (double)roll(5000), widths[i]);
        }
    }
    tt_pool_time_free(&t);
    end(&x);
}

/* The moment is in a pause when some wait covers it; then for the one of those that ends last. */
static void check_moment(const made *x, const tt_pool_time *t, double ns)
{
    double last = -INFINITY;
    const tt_pool_pause *found = NULL;
    for (uint32_t i = 0; i < READS; i++)
        if (x->m->pool_reads[i].waiters && wait_of(x->m, i) <= ns && ns < end_of(x->m, i))
            last = fmax(last, end_of(x->m, i));
    for (uint32_t i = 0; i < t->n_pauses; i++)
        if (t->pauses[i].begin_ns <= ns && ns < t->pauses[i].end_ns) found = &t->pauses[i];
    assert_int_equal(found != NULL, isfinite(last));
    if (found) assert_true(end_of(x->m, found->read) == last);
}

static void pauses_are_what_is_waited(void **state)
{
    made x;
    tt_pool_time t;
    (void)state;
    begin(&x);
    make_up_reads(x.m);
    assert_int_equal(tt_pool_time_find(&t, x.m, NULL), TT_OK);
    assert_true(t.n_pauses > 20);
    for (uint32_t i = 1; i < t.n_pauses; i++)
        assert_true(t.pauses[i].begin_ns >= t.pauses[i - 1].end_ns);
    for (int k = 0; k < 5000; k++)
        check_moment(&x, &t, x.from + (double)roll((uint64_t)(2 * (x.to - x.from))) / 2 + 0.25);
    tt_pool_time_free(&t);
    end(&x);
}

static void slots_and_windows(void **state)
{
    made x;
    tt_pool_time t;
    double latest[TT_POOL_SLOTS_MAX];
    uint32_t most = 0;
    (void)state;
    begin(&x);
    make_up_reads(x.m);
    assert_int_equal(tt_pool_time_find(&t, x.m, NULL), TT_OK);
    for (uint32_t i = 0; i < TT_POOL_SLOTS_MAX; i++)
        latest[i] = -INFINITY;
    for (uint32_t i = 0; i < t.n_reads; i++) {
        const tt_pool_span *s = &t.reads[i];
        uint32_t now = 0;
        assert_true(s->slot < t.slots && t.slots <= TT_POOL_SLOTS_MAX);
        assert_true(s->slot + 1u == TT_POOL_SLOTS_MAX || s->begin_ns >= latest[s->slot]);
        latest[s->slot] = fmax(latest[s->slot], s->end_ns);
        for (uint32_t k = 0; k <= i; k++)
            now += k == i || t.reads[k].end_ns > s->begin_ns;
        most = now > most ? now : most;
    }
    assert_int_equal(t.slots, most < TT_POOL_SLOTS_MAX ? most : TT_POOL_SLOTS_MAX);
    for (int k = 0; k < 300; k++) {
        const double from = x.from + (double)roll((uint64_t)(x.to - x.from));
        const double to = from + 1 + (double)roll(3000);
        uint32_t first, last, n = 0, expected = 0;
        tt_pool_time_reads(&t, from, to, &first, &last);
        for (uint32_t i = first; i < last; i++)
            n += t.reads[i].end_ns >= from;
        for (uint32_t i = 0; i < READS; i++)
            expected += begin_of(x.m, i) < to && end_of(x.m, i) >= from;
        assert_int_equal(n, expected);
    }
    tt_pool_time_free(&t);
    end(&x);
}

static void fullness_is_known_between_moments(void **state)
{
    made x;
    tt_pool_time t;
    tt_pool_bin bins[2];
    (void)state;
    begin(&x);
    const tt_pool_state *s = x.m->pool_states;
    assert_int_equal(tt_pool_time_find(&t, x.m, NULL), TT_OK);
    for (uint32_t i = 0; i + 1 < x.m->n_pool_states; i++) {
        const double a = tt_model_ns(x.m, s[i].at.ticks), b = tt_model_ns(x.m, s[i + 1].at.ticks);
        const double half = ((double)s[i].at.present_bytes + (double)s[i + 1].at.present_bytes) / 2;
        assert_int_equal(tt_pool_time_bins(&t, a, b, 2, bins, NULL), TT_OK);
        assert_true(fabs(bins[0].present_bytes - fmax(half, (double)s[i].at.present_bytes)) < 1e-3);
        assert_true(bins[1].budget_bytes == (double)s[i + 1].at.budget_bytes);
    }
    const double last = tt_model_ns(x.m, s[x.m->n_pool_states - 1].at.ticks);
    assert_int_equal(tt_pool_time_bins(&t, last + 1, last + 3, 2, bins, NULL), TT_OK);
    assert_true(isnan(bins[0].present_bytes) && isnan(bins[1].budget_bytes));
    tt_pool_time_free(&t);
    end(&x);
}

/* --- who waited --- */

/* A record of an op, the release of the one before it, and the thread. */
typedef struct record {
    uint32_t run, node, lane, thread;
    double before_ns, arrive_ns;
    double taken_ns; /* what ended until then was waited for by the op before */
} record;

static record *records_of(const tt_model *m, size_t *n)
{
    record *list = NULL;
    *n = 0;
    for (uint32_t run = 0; run < m->n_runs; run++) {
        const tt_piece *pieces;
        size_t n_pieces;
        uint32_t lane = TT_NONE;
        double before = 0, taken = 0;
        assert_int_equal(tt_pieces_of_run(m->pieces, m->runs[run].id, &pieces, &n_pieces, NULL),
                         TT_OK);
        for (size_t i = 0; i < n_pieces; i++) {
            tt_piece_ops p;
            uint32_t thread = 0;
            assert_int_equal(tt_pieces_get(m->pieces, &pieces[i], &p, NULL), TT_OK);
            assert_true(tt_model_thread_of(m, p.stream, p.start[0], &thread));
            if (p.lane != lane) before = taken = tt_model_ns(m, m->runs[run].begin_ticks);
            lane = p.lane;
            list = realloc(list, (*n + p.n) * sizeof *list);
            assert_non_null(list);
            for (size_t k = 0; k < p.n; k++) {
                const double arrive =
                    tt_model_ns(m, p.arrive[k]) + tt_model_span_ns(m, (uint64_t)1 << p.tick_shift);
                list[(*n)++] = (record){run, p.node[k], lane, thread, before, arrive, taken};
                before = tt_model_ns(m, p.release[k]);
                taken = arrive;
            }
        }
    }
    return list;
}

static bool holds(const record *r, double ns)
{
    return fmax(r->before_ns, r->taken_ns) < ns && ns <= r->arrive_ns;
}

/* What the record waited in all. */
static void naive_wait(const tt_model *m, const record *all, size_t n, const record *r,
                       double *from, double *to)
{
    *from = INFINITY;
    *to = -INFINITY;
    for (uint32_t i = 0; i < m->n_pool_reads; i++) {
        const tt_pool_read *read = &m->pool_reads[i];
        const record *first = NULL;
        uint32_t before = 0; /* lanes that waited, too, and are asked before this one */
        if (!read->waiters || !holds(r, end_of(m, i))) continue;
        for (size_t k = 0; k < n; k++)
            if (all[k].thread == read->thread && holds(&all[k], end_of(m, i))) first = &all[k];
        if (!first || first->run != r->run || first->node != r->node) continue;
        for (size_t k = 0; k < n; k++)
            before += &all[k] != first && all[k].run == r->run && all[k].node == r->node &&
                      all[k].lane < r->lane && holds(&all[k], end_of(m, i));
        if (r != first && before + 2 > read->waiters) continue;
        *from = fmin(*from, fmax(r->before_ns, wait_of(m, i)));
        *to = fmax(*to, end_of(m, i));
    }
}

static void waits_are_those_of_ops(void **state)
{
    made x;
    tt_pool_lanes p;
    size_t n, found = 0;
    (void)state;
    begin(&x);
    make_up_reads(x.m);
    record *all = records_of(x.m, &n);
    assert_int_equal(tt_pool_lanes_find(&p, x.m, NULL), TT_OK);
    assert_false(p.cut);
    for (size_t i = 0; i < n; i++) {
        double from, to;
        uint32_t first, last, at;
        naive_wait(x.m, all, n, &all[i], &from, &to);
        tt_pool_lanes_of_op(&p, all[i].run, all[i].node, &first, &last);
        for (at = first; at < last && p.list[p.by_op[at]].lane != all[i].lane;)
            at++;
        assert_int_equal(at < last, isfinite(from));
        if (at == last) continue;
        const tt_pool_wait *w = &p.list[p.by_op[at]];
        found++;
        assert_true(w->begin_ns == from && w->end_ns == to && end_of(x.m, w->read) == to);
        assert_int_equal(p.run_of_read[w->read], all[i].run);
        assert_int_equal(p.node_of_read[w->read], all[i].node);
    }
    assert_int_equal(found, p.n);
    assert_true(found > 50);
    free(all);
    tt_pool_lanes_free(&p);
    end(&x);
}

/* --- sums --- */

static void sums_of_batches(void **state)
{
    made x;
    tt_pool_report report;
    tt_pool_time t;
    tt_pool_sums all, one;
    (void)state;
    begin(&x);
    assert_int_equal(tt_pool_find(&report, x.m, NULL), TT_OK);
    assert_int_equal(tt_pool_time_find(&t, x.m, NULL), TT_OK);
    assert_int_equal(tt_pool_sums_make(&all, &report, &t, &(tt_filter){0}, NULL), TT_OK);
    assert_memory_equal(&all.total.budget_bytes, &report.total.budget_bytes,
                        sizeof report.total - offsetof(tt_pool_row, budget_bytes));
    uint64_t bytes = 0, reads = 0, tokens = 0;
    for (uint32_t b = 0; b < x.m->n_batches; b++) {
        const tt_filter f = {.has_batch = true, .batch_first = b, .batch_last = b};
        assert_int_equal(tt_pool_sums_make(&one, &report, NULL, &f, NULL), TT_OK);
        assert_int_equal(one.n, 1);
        assert_true(isnan(one.pause_ns));
        for (unsigned cause = 0; cause < TT_READ_CAUSES; cause++)
            bytes += one.causes[cause].read_bytes;
        reads += one.total.reads;
        tokens += one.tokens;
        tt_pool_sums_free(&one);
    }
    assert_int_equal(bytes, all.total.read_bytes);
    assert_int_equal(reads, x.m->n_pool_reads);
    assert_int_equal(tokens, all.tokens);
    tt_pool_sums_free(&all);
    tt_pool_time_free(&t);
    tt_pool_free(&report);
    end(&x);
}

/* --- what no recorder writes --- */

static void impossible_times(void **state)
{
    static const uint64_t odd[] = {0,         1, 1ull << 31, 1ull << 62, 1ull << 63, UINT64_MAX - 1,
                                   UINT64_MAX};
    made x;
    tt_pool_time t;
    tt_pool_lanes p;
    tt_pool_bin bins[64];
    (void)state;
    begin(&x);
    make_up_reads(x.m);
    for (uint32_t i = 0; i < READS; i++) {
        tt_pool_read *r = &x.m->pool_reads[i];
        r->begin_ticks = odd[roll(7)];
        r->end_ticks = r->begin_ticks + (roll(2) ? roll((UINT64_MAX - r->begin_ticks) | 1) : 0);
        r->waited_ticks = roll(2) ? r->end_ticks : 0;
        r->waiters = UINT32_MAX;
        r->size_bytes = UINT64_MAX;
    }
    for (uint32_t i = 0; i < x.m->n_pool_states; i++)
        x.m->pool_states[i].at.ticks = odd[roll(7)];
    assert_int_equal(tt_pool_time_find(&t, x.m, NULL), TT_OK);
    assert_true(isfinite(t.reading_ns));
    for (int k = 0; k < 50; k++) {
        const double from = k % 2 ? x.from : -1e21, to = k % 3 ? x.to : 1e21;
        assert_int_equal(tt_pool_time_bins(&t, from, to, 64, bins, NULL), TT_OK);
        for (int i = 0; i < 64; i++)
            for (unsigned cause = 0; cause < TT_READ_CAUSES; cause++)
                assert_true(isfinite(bins[i].read_bytes[cause]) &&
                            isfinite(bins[i].pause_ns[cause]));
    }
    assert_int_equal(tt_pool_lanes_find(&p, x.m, NULL), TT_OK);
    tt_pool_lanes_free(&p);
    tt_pool_time_free(&t);
    end(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_and_pauses_add_up),
        cmocka_unit_test(pauses_are_what_is_waited),
        cmocka_unit_test(slots_and_windows),
        cmocka_unit_test(fullness_is_known_between_moments),
        cmocka_unit_test(waits_are_those_of_ops),
        cmocka_unit_test(sums_of_batches),
        cmocka_unit_test(impossible_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
