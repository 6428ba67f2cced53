/* Where the threads' time went, against sums worked out the slow way. */
#include "tests.h"

#include "../golden/synth_trace.c"
#include "analyze/stats.h"
#include "analyze/work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static tt_model *open_plan(synth_plan *p, tt_bytes *b)
{
    tt_model *m;
    tt_bytes_init(b, SIZE_MAX / 2);
    assert_true(synth_build(p, b));
    assert_int_equal(tt_model_open_memory(b->data, b->size, &m, NULL), TT_OK);
    return m;
}

static uint64_t cells_sum(const tt_work *w, uint64_t *busy, uint64_t *wait)
{
    uint64_t count = 0;
    *busy = *wait = 0;
    for (size_t i = 0; i < w->n_cells; i++) {
        count += w->cells[i].count;
        *busy += w->cells[i].busy_ticks;
        *wait += w->cells[i].wait_ticks;
    }
    return count;
}

static void the_parts_are_the_whole(void **state)
{
    synth_plan p = synth_default();
    tt_bytes b;
    tt_work w;
    (void)state;
    tt_model *m = open_plan(&p, &b);
    assert_int_equal(tt_work_measure(m, &w, NULL, NULL, NULL), TT_OK);
    uint64_t busy, wait, all = 0, covered = 0;
    tt_stats *s = tt_stats_new(m, TT_BY_OP, NULL);
    assert_int_equal(tt_stats_walk(&s, 1, m, NULL, NULL, NULL), TT_OK);
    const tt_stats_row *total = tt_stats_total(s);
    assert_int_equal(cells_sum(&w, &busy, &wait), total->count);
    assert_true(fabs(tt_model_span_ns(m, busy) - total->busy_ns) < 1e-3);
    assert_true(fabs(tt_model_span_ns(m, wait) - total->wait_ns) < 1e-3);
    assert_int_equal(w.n_windows, m->n_batches);
    for (size_t i = 0; i < w.n_windows; i++) {
        const tt_batch *batch = &m->batches[w.windows[i].batch];
        assert_int_equal(w.windows[i].lanes, 2);
        assert_int_equal(w.windows[i].begin_ticks, batch->begin_ticks);
        assert_int_equal(w.windows[i].end_ticks, batch->end_ticks);
        covered += batch->end_ticks - batch->begin_ticks;
        all += 2 * (batch->end_ticks - batch->begin_ticks);
    }
    assert_int_equal(w.busy_ticks, busy);
    assert_int_equal(w.wait_ticks, wait);
    assert_true(w.idle_ticks > 0);
    assert_int_equal(w.busy_ticks + w.wait_ticks + w.idle_ticks, all);
    assert_int_equal(w.between_ticks + covered, w.span_ticks);
    assert_int_equal(w.overlap_ticks, 0);
    tt_stats_free(s);
    tt_work_free(&w);
    tt_model_close(m);
    tt_bytes_free(&b);
}

/* Each record again, alone: who arrived last at its op, and what it waited. */
static void slow_waits(const tt_model *m, uint64_t *waits, uint32_t lanes, uint64_t *last)
{
    size_t n;
    assert_int_equal(tt_pieces_survey(m->pieces, NULL), TT_OK);
    const tt_piece *list = tt_pieces_list(m->pieces, &n);
    for (size_t i = 0; i < n; i++) {
        tt_piece_ops p;
        assert_int_equal(tt_pieces_get(m->pieces, &list[i], &p, NULL), TT_OK);
        for (size_t k = 0; k < p.n; k++) {
            uint32_t node = p.node[k], lane = p.lane, of = lane, run = p.run;
            uint64_t wait = p.release[k] - p.arrive[k], most = p.arrive[k];
            for (size_t j = 0; j < n; j++) {
                tt_piece_ops q;
                if (list[j].run != run) continue;
                assert_int_equal(tt_pieces_get(m->pieces, &list[j], &q, NULL), TT_OK);
                for (size_t l = 0; l < q.n; l++) {
                    if (q.node[l] != node || q.arrive[l] < most) continue;
                    if (q.arrive[l] == most && q.lane > of) continue;
                    most = q.arrive[l];
                    of = q.lane;
                }
            }
            assert_int_equal(tt_pieces_get(m->pieces, &list[i], &p, NULL), TT_OK);
            waits[lane * lanes + of] += wait;
            last[of] += of == lane;
        }
    }
}

static void who_waited_for_whom(void **state)
{
    synth_plan p = synth_default();
    tt_bytes b;
    tt_work w;
    uint64_t waits[16] = {0}, last[4] = {0}, barriers = 0;
    (void)state;
    p.lanes = 4;
    p.layers = 2;
    p.generate = 2;
    tt_model *m = open_plan(&p, &b);
    slow_waits(m, waits, 4, last);
    assert_int_equal(tt_work_measure(m, &w, NULL, NULL, NULL), TT_OK);
    assert_int_equal(w.n_lanes, 4);
    assert_non_null(w.waits);
    for (int i = 0; i < 16; i++)
        assert_int_equal(w.waits[i], waits[i]);
    for (int i = 0; i < 4; i++) {
        uint64_t row = 0;
        for (int k = 0; k < 4; k++)
            row += w.waits[4 * i + k];
        assert_int_equal(w.lanes[i].last, last[i]);
        assert_int_equal(w.lanes[i].wait_ticks, row);
        barriers += last[i];
    }
    assert_int_equal(w.barriers, barriers);
    tt_work_free(&w);
    tt_model_close(m);
    tt_bytes_free(&b);
}

static void one_thread_waits_for_nobody(void **state)
{
    synth_plan p = synth_default();
    tt_bytes b;
    tt_work w;
    (void)state;
    p.lanes = 1;
    tt_model *m = open_plan(&p, &b);
    assert_int_equal(tt_work_measure(m, &w, NULL, NULL, NULL), TT_OK);
    assert_int_equal(w.n_lanes, 1);
    assert_null(w.waits);
    assert_int_equal(w.barriers, 0);
    tt_work_free(&w);
    tt_model_close(m);
    tt_bytes_free(&b);
}

/* A run that was cut off: its open ops have no times, and its batch lasts as long as was seen. */
static void what_has_no_end(void **state)
{
    synth_plan p = synth_default();
    tt_bytes b;
    tt_work w;
    (void)state;
    p.last_run_open = true;
    tt_model *m = open_plan(&p, &b);
    assert_int_equal(tt_work_measure(m, &w, NULL, NULL, NULL), TT_OK);
    const tt_work_window *v = &w.windows[w.n_windows - 1];
    assert_true(v->open);
    assert_true(v->end_ticks > v->begin_ticks);
    assert_true(w.open_records > 0);
    uint64_t all = 0;
    for (size_t i = 0; i < w.n_windows; i++)
        all += w.windows[i].lanes * (w.windows[i].end_ticks - w.windows[i].begin_ticks);
    assert_int_equal(w.busy_ticks + w.wait_ticks + w.idle_ticks, all);
    tt_work_free(&w);
    tt_model_close(m);
    tt_bytes_free(&b);
}

/* Experts: what an expert matmul moves are the slices that were chosen, run by run. */
static void bytes_are_those_of_the_run(void **state)
{
    synth_plan p = synth_default();
    tt_bytes b;
    tt_work w;
    double weights = 0;
    (void)state;
    p.experts = 16;
    p.experts_used = 2;
    p.memory = true;
    tt_model *m = open_plan(&p, &b);
    assert_int_equal(tt_work_measure(m, &w, NULL, NULL, NULL), TT_OK);
    tt_stats *s = tt_stats_new(m, TT_BY_OP, NULL);
    assert_int_equal(tt_stats_walk(&s, 1, m, NULL, NULL, NULL), TT_OK);
    for (size_t i = 0; i < w.n_cells; i++) {
        weights += w.cells[i].weight_bytes;
        if (strcmp(w.cells[i].op, "MUL_MAT_ID") != 0) continue;
        assert_true(w.cells[i].flops > 0);
        assert_false(w.cells[i].bytes_at_most);
        assert_true(w.cells[i].moved_bytes > w.cells[i].weight_bytes);
    }
    assert_true(weights > 0 && weights == (double)tt_stats_total(s)->weight_bytes);
    tt_stats_free(s);
    tt_work_free(&w);
    tt_model_close(m);
    tt_bytes_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_parts_are_the_whole),     cmocka_unit_test(who_waited_for_whom),
        cmocka_unit_test(one_thread_waits_for_nobody), cmocka_unit_test(what_has_no_end),
        cmocka_unit_test(bytes_are_those_of_the_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
