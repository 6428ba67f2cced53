/* Pictures of the timeline against the records, one by one. */
#include "tests.h"

#include "../golden/synth_trace.c"
#include "analyze/timeline/timeline.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the slow way finds in a window: by track and bucket. */
typedef struct slow {
    double *busy, *wait;
    uint64_t *count;
    uint64_t orphan;
    uint32_t n_buckets, n_tracks;
} slow;

typedef struct record {
    double start, arrive, release; /* ns */
    uint32_t track;
} record;

static tt_model *open_plan(synth_plan *p, tt_bytes *b)
{
    tt_model *m;
    tt_bytes_init(b, SIZE_MAX / 2);
    assert_true(synth_build(p, b));
    assert_int_equal(tt_model_open_memory(b->data, b->size, &m, NULL), TT_OK);
    return m;
}

static tt_model *open_golden(const char *name)
{
    char path[512];
    tt_model *m;
    tt_error err;
    (void)snprintf(path, sizeof path, "%s/tests/golden/%s", TT_SOURCE_DIR, name);
    assert_int_equal(tt_model_open(path, &m, &err), TT_OK);
    return m;
}

/* All records with a known place, each read on its own. */
static record *all_records(const tt_timeline *t, const tt_model *m, size_t *n)
{
    size_t n_pieces, capacity = 1;
    assert_int_equal(tt_pieces_survey(m->pieces, NULL), TT_OK);
    const tt_piece *list = tt_pieces_list(m->pieces, &n_pieces);
    for (size_t i = 0; i < n_pieces; i++)
        capacity += list[i].count;
    record *all = calloc(capacity, sizeof *all);
    assert_non_null(all);
    *n = 0;
    for (size_t i = 0; i < n_pieces; i++) {
        tt_piece_ops p;
        uint32_t run = tt_model_run(m, list[i].run);
        if (run == TT_NONE || m->runs[run].graph == TT_NONE ||
            tt_pieces_get(m->pieces, &list[i], &p, NULL) != TT_OK)
            continue;
        uint32_t track = tt_timeline_track_of(t, run, p.lane);
        for (size_t k = 0; k < p.n; k++) {
            if (track == TT_NONE || p.node[k] >= m->graphs[m->runs[run].graph].n_nodes) continue;
            record *r = &all[(*n)++];
            r->track = track;
            r->start = tt_model_ns(m, p.start[k]);
            r->arrive = p.open ? r->start : tt_model_ns(m, p.arrive[k]);
            r->release = p.open ? r->start : tt_model_ns(m, p.release[k]);
        }
    }
    return all;
}

static double overlap(double a, double b, double from, double to)
{
    double low = a > from ? a : from, high = b < to ? b : to;
    return high > low ? high - low : 0;
}

static slow slowly(const record *all, size_t n, uint32_t n_tracks, double from, double to,
                   uint32_t n_buckets)
{
    slow s = {.n_buckets = n_buckets, .n_tracks = n_tracks};
    const double width = (to - from) / n_buckets;
    s.busy = calloc((size_t)n_tracks * n_buckets, sizeof *s.busy);
    s.wait = calloc((size_t)n_tracks * n_buckets, sizeof *s.wait);
    s.count = calloc((size_t)n_tracks * n_buckets, sizeof *s.count);
    for (size_t i = 0; i < n; i++) {
        const record *r = &all[i];
        for (uint32_t b = 0; b < n_buckets; b++) {
            double low = from + b * width, high = low + width;
            size_t at = (size_t)r->track * n_buckets + b;
            s.busy[at] += overlap(r->start, r->arrive, low, high);
            s.wait[at] += overlap(r->arrive, r->release, low, high);
            s.count[at] += r->start >= low && r->start < high;
        }
    }
    return s;
}

static void free_slow(slow *s)
{
    free(s->busy);
    free(s->wait);
    free(s->count);
}

/* The picture's pieces put back into buckets. A tick more or less is rounding of edges: ops that
 * cross one lose and win the same. */
static slow painted(const tt_tile *tile, uint32_t n_tracks)
{
    slow s = {.n_buckets = tile->n_buckets, .n_tracks = n_tracks, .orphan = tile->orphan};
    const double width = (tile->to_ns - tile->from_ns) / tile->n_buckets;
    s.busy = calloc((size_t)n_tracks * s.n_buckets, sizeof *s.busy);
    s.wait = calloc((size_t)n_tracks * s.n_buckets, sizeof *s.wait);
    s.count = calloc((size_t)n_tracks * s.n_buckets, sizeof *s.count);
    for (uint32_t i = 0; i < tile->n_slices; i++) {
        const tt_tile_slice *x = &tile->slices[i];
        assert_true(x->track < n_tracks);
        assert_true(x->kind < tile->n_kinds && x->name < tile->n_names);
        for (uint32_t b = 0; b < s.n_buckets; b++) {
            double low = tile->from_ns + b * width, high = low + width;
            size_t at = (size_t)x->track * s.n_buckets + b;
            double arrive = x->start_ns + x->busy_ns;
            s.busy[at] += overlap(x->start_ns, arrive, low, high);
            s.wait[at] += overlap(arrive, arrive + x->wait_ns, low, high);
            s.count[at] += x->start_ns >= low && x->start_ns < high;
        }
    }
    for (uint32_t i = 0; i < tile->n_merged; i++) {
        const tt_tile_merged *x = &tile->merged[i];
        assert_true(x->track < n_tracks && x->bucket < s.n_buckets && x->kind < tile->n_kinds);
        size_t at = (size_t)x->track * s.n_buckets + x->bucket;
        double parts = 0;
        for (uint32_t k = 0; k < TT_TIMELINE_CATEGORIES; k++)
            parts += (double)x->category_ns[k];
        assert_true(fabs(parts - x->busy_ns) <= 1e-4 * x->busy_ns);
        s.busy[at] += x->busy_ns;
        s.wait[at] += x->wait_ns;
        s.count[at] += x->count;
    }
    return s;
}

static void assert_same(const slow *a, const slow *b, double tick)
{
    assert_int_equal(a->n_buckets, b->n_buckets);
    for (size_t i = 0; i < (size_t)a->n_tracks * a->n_buckets; i++) {
        /* Edges fall on whole ticks. */
        assert_true(fabs(a->busy[i] - b->busy[i]) <= 2 * tick + 1e-6 * a->busy[i]);
        assert_true(fabs(a->wait[i] - b->wait[i]) <= 2 * tick + 1e-6 * a->wait[i]);
        assert_int_equal(a->count[i], b->count[i]);
    }
}

static void check_window(const tt_timeline *t, const tt_model *m, const record *all, size_t n,
                         double from, double to, uint32_t n_buckets)
{
    tt_tile tile;
    const uint32_t n_tracks = tt_timeline_tracks(t, NULL);
    tt_tile_query q = {.from_ns = from, .to_ns = to, .n_buckets = n_buckets};
    assert_int_equal(tt_tile_make(t, m, &q, &tile, NULL), TT_OK);
    slow expected = slowly(all, n, n_tracks, from, to, n_buckets), is = painted(&tile, n_tracks);
    assert_same(&expected, &is, m->clock.ns_per_tick);
    /* As wide as a bucket: on its own. */
    const double width = (to - from) / n_buckets;
    uint64_t wide = 0, slices = 0;
    for (size_t i = 0; i < n; i++)
        wide += all[i].release - all[i].start >= width + m->clock.ns_per_tick &&
                all[i].start < to - m->clock.ns_per_tick &&
                all[i].release > from + m->clock.ns_per_tick;
    for (uint32_t i = 0; i < tile.n_slices; i++)
        slices += tile.slices[i].busy_ns + tile.slices[i].wait_ns >= width + m->clock.ns_per_tick;
    assert_true(slices >= wide);
    free_slow(&expected);
    free_slow(&is);
    tt_tile_free(&tile);
}

static void check_model(const tt_model *m)
{
    static const uint32_t widths[] = {1, 7, 64, 1000};
    tt_timeline *t;
    double from, to;
    size_t n;
    assert_int_equal(tt_timeline_new(m, &t, NULL), TT_OK);
    tt_timeline_extent(t, &from, &to);
    record *all = all_records(t, m, &n);
    const double span = to - from;
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
        check_window(t, m, all, n, from, to + 1, widths[w]);
        check_window(t, m, all, n, from + span * 0.31, from + span * 0.377, widths[w]);
        check_window(t, m, all, n, from + span * 0.5, from + span * 0.5003, widths[w]);
        check_window(t, m, all, n, from - span, to + span, widths[w]);
        check_window(t, m, all, n, to + span, to + 2 * span, widths[w]);
    }
    free(all);
    tt_timeline_free(t);
}

static void pictures_of_real_traces(void **state)
{
    static const char *const names[] = {"good-plain.ttrace", "good-killed.ttrace",
                                        "good-flight.ttrace", "good-experts.ttrace",
                                        "good-old-shift.ttrace"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        tt_model *m = open_golden(names[i]);
        check_model(m);
        tt_model_close(m);
    }
}

static void pictures_of_many_lanes(void **state)
{
    synth_plan p = synth_default();
    tt_bytes b;
    (void)state;
    p.lanes = 5;
    p.last_run_open = true;
    tt_model *m = open_plan(&p, &b);
    check_model(m);
    tt_model_close(m);
    tt_bytes_free(&b);
}

/* The overview in steps, and what it says against the records. */
static void the_overview_is_the_records(void **state)
{
    synth_plan p = synth_default();
    tt_bytes b;
    tt_timeline *t;
    uint64_t done, total, steps = 0;
    double from, to, until, busy_ns = 0, expected_ns = 0;
    float busy[500], wait[500];
    size_t n;
    (void)state;
    p.generate = 60;
    tt_model *m = open_plan(&p, &b);
    assert_int_equal(tt_timeline_new(m, &t, NULL), TT_OK);
    tt_timeline_extent(t, &from, &to);
    assert_int_equal(tt_timeline_load(t, from, to, 500, busy, wait, NULL), TT_OK);
    assert_true(busy[0] < 0 && busy[499] < 0); /* nothing is known yet: not 0 */
    do {
        assert_int_equal(tt_timeline_advance(t, m, 1, NULL), TT_OK);
        tt_timeline_progress(t, &done, &total, &until);
        if (done < total && done > total / 2) {
            assert_int_equal(tt_timeline_load(t, from, to, 500, busy, wait, NULL), TT_OK);
            assert_true(busy[0] >= 0 && busy[499] < 0);
            assert_true(until > from && until < to);
        }
        assert_true(++steps < 1000);
    } while (done < total);
    assert_true(steps > 1);
    assert_true(isinf(until));
    assert_int_equal(tt_timeline_orphan(t), 0);
    assert_int_equal(tt_timeline_load(t, from, to, 500, busy, wait, NULL), TT_OK);
    record *all = all_records(t, m, &n);
    for (size_t i = 0; i < n; i++)
        expected_ns += all[i].arrive - all[i].start;
    for (int i = 0; i < 500; i++) {
        assert_true(busy[i] >= 0 && busy[i] + wait[i] <= 1.001F);
        busy_ns += (double)busy[i] * (to - from) / 500 * 2;
    }
    assert_true(fabs(busy_ns - expected_ns) < expected_ns * 1e-4);
    free(all);
    tt_timeline_free(t);
    tt_model_close(m);
    tt_bytes_free(&b);
}

/* More records than are decoded for one picture. */
static void a_wide_window_comes_from_the_overview(void **state)
{
    synth_plan p = synth_default();
    tt_bytes b;
    tt_timeline *t;
    tt_tile tile;
    size_t n;
    double from, to;
    (void)state;
    p.generate = 1400;
    p.layers = 4;
    tt_model *m = open_plan(&p, &b);
    assert_true(tt_pieces_records(m->pieces) > 150000);
    assert_int_equal(tt_timeline_new(m, &t, NULL), TT_OK);
    assert_int_equal(tt_timeline_advance(t, m, 0, NULL), TT_OK);
    tt_timeline_extent(t, &from, &to);
    const double width = tt_timeline_bucket_ns(t) * 512, begin = floor(from / width) * width;
    const uint32_t n_buckets = (uint32_t)((to - begin) / width) + 1;
    tt_tile_query q = {.from_ns = begin, .to_ns = begin + n_buckets * width, n_buckets};
    assert_int_equal(tt_tile_make(t, m, &q, &tile, NULL), TT_OK);
    assert_true(tile.from_overview && !tile.marks_known);
    assert_int_equal(tile.n_slices, 0);
    record *all = all_records(t, m, &n);
    slow expected = slowly(all, n, 2, q.from_ns, q.to_ns, n_buckets), is = painted(&tile, 2);
    assert_same(&expected, &is, m->clock.ns_per_tick);
    free_slow(&expected);
    free_slow(&is);
    tt_tile_free(&tile);
    free(all);
    tt_timeline_free(t);
    tt_model_close(m);
    tt_bytes_free(&b);
}

static void marks_and_tracks(void **state)
{
    tt_tile tile;
    tt_timeline *t;
    double from, to;
    uint64_t marked = 0;
    const uint8_t tracks[2] = {0, 1};
    (void)state;
    tt_model *m = open_golden("good-plain.ttrace");
    assert_int_equal(tt_timeline_new(m, &t, NULL), TT_OK);
    tt_timeline_extent(t, &from, &to);
    assert_int_equal(tt_timeline_tracks(t, NULL), 2);
    tt_tile_query q = {.from_ns = from, .to_ns = to, .n_buckets = 8192, .tracks = tracks};
    q.tensor = "blk.1.attn_q.weight";
    assert_int_equal(tt_tile_make(t, m, &q, &tile, NULL), TT_OK);
    for (uint32_t i = 0; i < tile.n_slices; i++) {
        assert_int_equal(tile.slices[i].track, 1);
        if (!(tile.slices[i].flags & TT_SLICE_MARKED)) continue;
        marked++;
        assert_int_equal(tile.slices[i].layer_id, 1);
        assert_string_equal(tt_timeline_category_name(tile.kinds[tile.slices[i].kind].category),
                            "attention");
    }
    for (uint32_t i = 0; i < tile.n_merged; i++)
        marked += tile.merged[i].marked;
    assert_int_equal(marked, m->n_runs);
    tt_tile_free(&tile);
    tt_timeline_free(t);
    tt_model_close(m);
}

/* Ops marked for a name, on all lanes. */
static uint64_t marked_for(const tt_timeline *t, const tt_model *m, const char *name)
{
    tt_tile tile;
    uint64_t marked = 0;
    tt_tile_query q = {.n_buckets = 8192, .tensor = name};
    tt_timeline_extent(t, &q.from_ns, &q.to_ns);
    assert_int_equal(tt_tile_make(t, m, &q, &tile, NULL), TT_OK);
    for (uint32_t i = 0; i < tile.n_slices; i++)
        marked += tile.slices[i].flags & TT_SLICE_MARKED ? 1 : 0;
    for (uint32_t i = 0; i < tile.n_merged; i++)
        marked += tile.merged[i].marked;
    tt_tile_free(&tile);
    return marked;
}

/* The golden trace has 9 batches on 2 lanes; 7 of them choose expert 2 of layer 0, 8 expert 1. */
static void marks_of_one_expert(void **state)
{
    tt_timeline *t;
    (void)state;
    tt_model *m = open_golden("good-memory-experts.ttrace");
    assert_int_equal(tt_timeline_new(m, &t, NULL), TT_OK);
    assert_int_equal(marked_for(t, m, "blk.0.ffn_up_exps.weight"), 2 * 9);
    assert_int_equal(marked_for(t, m, "blk.0.ffn_up_exps.weight[1]"), 2 * 8);
    assert_int_equal(marked_for(t, m, "blk.0.ffn_up_exps.weight[2]"), 2 * 7);
    assert_int_equal(marked_for(t, m, "blk.0.ffn_up_exps.weight[16]"), 0);
    tt_timeline_free(t);
    tt_model_close(m);
}

static void a_selection_adds_up(void **state)
{
    tt_timeline *t;
    tt_timeline_sums sums;
    double from, to, busy = 0, wait = 0;
    size_t n;
    uint64_t count = 0;
    const uint8_t tracks[2] = {1, 0};
    (void)state;
    tt_model *m = open_golden("good-plain.ttrace");
    assert_int_equal(tt_timeline_new(m, &t, NULL), TT_OK);
    tt_timeline_extent(t, &from, &to);
    const double a = from + 0.2 * (to - from), b = from + 0.63 * (to - from);
    record *all = all_records(t, m, &n);
    for (size_t i = 0; i < n; i++) {
        if (all[i].track != 0 || all[i].start >= b || all[i].release <= a) continue;
        count++;
        busy += overlap(all[i].start, all[i].arrive, a, b);
        wait += overlap(all[i].arrive, all[i].release, a, b);
    }
    assert_int_equal(tt_timeline_aggregate(t, m, a, b, tracks, NULL, &sums, NULL), TT_OK);
    assert_int_equal(sums.total.count, count);
    assert_true(fabs(sums.total.busy_ns - busy) < 4 * m->clock.ns_per_tick + busy * 1e-9);
    assert_true(fabs(sums.total.wait_ns - wait) < 4 * m->clock.ns_per_tick + wait * 1e-9);
    assert_true(sums.total.weight_bytes > 0 && sums.n > 3);
    assert_true(sums.first_ns < sums.last_ns && sums.last_ns < b);
    for (uint32_t i = 1; i < sums.n; i++)
        assert_true(sums.list[i - 1].busy_ns >= sums.list[i].busy_ns);
    tt_timeline_sums_free(&sums);
    free(all);
    tt_timeline_free(t);
    tt_model_close(m);
}

/* From the first op of a lane to its last one and back. */
static void steps_meet_each_op_once(void **state)
{
    tt_timeline *t;
    tt_timeline_step before, behind;
    size_t n, there = 1, back = 0, expected = 0;
    (void)state;
    tt_model *m = open_golden("good-plain.ttrace");
    assert_int_equal(tt_timeline_new(m, &t, NULL), TT_OK);
    record *all = all_records(t, m, &n);
    for (size_t i = 0; i < n; i++)
        expected += all[i].track == 1;
    const tt_piece *pieces;
    size_t n_pieces;
    tt_piece_ops p;
    assert_int_equal(tt_pieces_of_run(m->pieces, m->runs[0].id, &pieces, &n_pieces, NULL), TT_OK);
    assert_int_equal(tt_pieces_get(m->pieces, &pieces[0], &p, NULL), TT_OK);
    uint32_t run = 0, node = p.node[0];
    double last = -INFINITY;
    for (;; there++) {
        assert_int_equal(tt_timeline_neighbours(t, m, run, node, 1, &before, &behind, NULL), TT_OK);
        if (there == 1) assert_int_equal(before.run, TT_NONE);
        if (behind.run == TT_NONE) break;
        assert_true(behind.start_ns >= last);
        last = behind.start_ns;
        run = behind.run;
        node = behind.node;
    }
    assert_int_equal(there, expected);
    for (; before.run != TT_NONE; back++)
        assert_int_equal(
            tt_timeline_neighbours(t, m, before.run, before.node, 1, &before, &behind, NULL),
            TT_OK);
    assert_int_equal(back, expected - 1);
    free(all);
    tt_timeline_free(t);
    tt_model_close(m);
}

/* Whatever opens is shown, or refused with a reason. */
static void damaged_traces(void **state)
{
    static const char *const names[] = {"bad-times.ttrace",         "bad-chunk.ttrace",
                                        "bad-index.ttrace",         "bad-other-run.ttrace",
                                        "bad-memory-detail.ttrace", "bad-no-clock.ttrace",
                                        "bad-repeated.ttrace",      "bad-cut.ttrace"};
    uint32_t opened = 0;
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[512];
        tt_model *m;
        tt_timeline *t;
        tt_tile tile;
        tt_error err;
        double from, to;
        float load[64];
        (void)snprintf(path, sizeof path, "%s/tests/golden/%s", TT_SOURCE_DIR, names[i]);
        if (tt_model_open(path, &m, &err) != TT_OK) continue;
        tt_status status = tt_timeline_new(m, &t, &err);
        assert_true((status == TT_OK) == m->clock.known);
        if (status == TT_OK) {
            opened++;
            (void)tt_timeline_advance(t, m, 0, &err);
            tt_timeline_extent(t, &from, &to);
            assert_true(from < to);
            assert_int_equal(tt_timeline_load(t, from, to, 32, load, load + 32, &err), TT_OK);
            const tt_tile_query q = {
                .from_ns = from, .to_ns = to, .n_buckets = 777, .layers = true};
            (void)tt_tile_make(t, m, &q, &tile, &err);
            tt_tile_free(&tile);
            tt_timeline_free(t);
        }
        tt_model_close(m);
    }
    assert_true(opened > 3);
}

static void nonsense_is_refused(void **state)
{
    tt_tile tile;
    tt_timeline *t;
    tt_error err;
    const tt_tile_query bad[] = {{.from_ns = 5, .to_ns = 5, .n_buckets = 10},
                                 {.from_ns = 5, .to_ns = NAN, .n_buckets = 10},
                                 {.from_ns = 0, .to_ns = INFINITY, .n_buckets = 10},
                                 {.from_ns = 0, .to_ns = 10, .n_buckets = 0},
                                 {.from_ns = 0, .to_ns = 10, .n_buckets = 8193}};
    (void)state;
    tt_model *m = open_golden("good-plain.ttrace");
    assert_int_equal(tt_timeline_new(m, &t, NULL), TT_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(tt_tile_make(t, m, &bad[i], &tile, &err), TT_E_USAGE);
        tt_tile_free(&tile);
    }
    /* Far away, and finer than ticks. */
    const tt_tile_query odd[] = {{.from_ns = -1e300, .to_ns = 1e300, .n_buckets = 8192},
                                 {.from_ns = 1e6, .to_ns = 1e6 + 1e-3, .n_buckets = 8192}};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        assert_int_equal(tt_tile_make(t, m, &odd[i], &tile, &err), TT_OK);
        tt_tile_free(&tile);
    }
    tt_timeline_free(t);
    tt_model_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pictures_of_real_traces),
        cmocka_unit_test(pictures_of_many_lanes),
        cmocka_unit_test(the_overview_is_the_records),
        cmocka_unit_test(a_wide_window_comes_from_the_overview),
        cmocka_unit_test(marks_and_tracks),
        cmocka_unit_test(marks_of_one_expert),
        cmocka_unit_test(a_selection_adds_up),
        cmocka_unit_test(steps_meet_each_op_once),
        cmocka_unit_test(damaged_traces),
        cmocka_unit_test(nonsense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
