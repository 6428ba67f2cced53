/* The order of reads and what each batch read: against slow counts over the list of all reads, and
 * heat's own sums. */
#include "tests.h"

#include "../golden/synth_trace.c"
#include "analyze/faults.h"
#include "analyze/heat.h"
#include "analyze/memory/path.h"
#include "analyze/memory/tokens.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct opened {
    tt_bytes bytes;
    tt_model *m;
    tt_reads reads;
    uint64_t *layout;
    tt_path_window all;
} opened;

static opened open_experts(bool page_faults)
{
    opened o = {.m = NULL};
    const tt_filter all = {0};
    synth_plan p = synth_default();
    p.experts = 8;
    p.experts_used = 2;
    p.memory = true;
    p.page_faults = page_faults;
    tt_bytes_init(&o.bytes, SIZE_MAX / 2);
    assert_true(synth_build(&p, &o.bytes));
    assert_int_equal(tt_model_open_memory(o.bytes.data, o.bytes.size, &o.m, NULL), TT_OK);
    assert_int_equal(tt_reads_collect(o.m, &all, &o.reads, NULL, NULL, NULL), TT_OK);
    assert_int_equal(tt_path_extent(o.m, &o.all, NULL), TT_OK);
    o.layout = tt_reads_layout(o.m, 1, NULL);
    assert_non_null(o.layout);
    assert_true(o.reads.n > 50);
    return o;
}

static void shut(opened *o)
{
    free(o->layout);
    tt_reads_free(&o->reads);
    tt_model_close(o->m);
    tt_bytes_free(&o->bytes);
}

/* A read of the list, as the path has it. */
typedef struct plain {
    double start, end;
    uint64_t from, to;
    uint32_t weight, batch;
} plain;

static plain read_at(const opened *o, size_t i)
{
    const tt_reads *r = &o->reads;
    size_t op = 0;
    while (r->ops[op + 1].first <= i)
        op++;
    const tt_read_range *range = &r->ranges[r->order[i]];
    const tt_read_op *of = &r->ops[op];
    const uint64_t from = o->layout[o->m->weights[range->weight].file] + range->offset_bytes;
    return (plain){.start = tt_model_ns(o->m, of->start_ticks),
                   .end = tt_model_ns(o->m, of->start_ticks + of->ticks),
                   .from = from,
                   .to = from + range->size_bytes,
                   .weight = range->weight,
                   .batch = of->batch};
}

static void single_reads_are_those_of_the_list(void **state)
{
    (void)state;
    opened o = open_experts(false);
    const tt_path_query query = {o.all, 100, 50, TT_PATH_READS_MAX};
    tt_path p;
    assert_int_equal(tt_path_find(o.m, &query, NULL, &p, NULL), TT_OK);
    assert_true(p.list && !p.cells);
    assert_int_equal(p.n, o.reads.n);
    uint64_t bytes = 0;
    for (size_t i = 0; i < p.n; i++) {
        const plain r = read_at(&o, i);
        assert_true(p.list[i].start_ns == r.start && p.list[i].end_ns == r.end);
        assert_true(p.list[i].offset_bytes == r.from && p.list[i].size_bytes == r.to - r.from);
        assert_int_equal(p.list[i].weight, r.weight);
        assert_int_equal(p.list[i].batch, r.batch);
        bytes += r.to - r.from;
    }
    assert_int_equal(p.read_bytes, bytes);
    tt_path_free(&p);
    shut(&o);
}

static void steps_are_those_of_heat(void **state)
{
    (void)state;
    opened o = open_experts(false);
    const tt_filter all = {0};
    const tt_path_query query = {o.all, 100, 50, 0};
    tt_heat heat;
    tt_path p;
    assert_int_equal(tt_heat_measure(o.m, &o.reads, &all, TT_HEAT_TENSOR, &heat, NULL), TT_OK);
    assert_int_equal(tt_path_find(o.m, &query, NULL, &p, NULL), TT_OK);
    const uint64_t *kinds = p.all_steps.kinds;
    assert_int_equal(kinds[TT_HEAT_STEP_FIRST], 1);
    assert_int_equal(kinds[TT_HEAT_STEP_ADJACENT], heat.steps.adjacent);
    assert_int_equal(kinds[TT_HEAT_STEP_FORWARD], heat.steps.forward.count);
    assert_int_equal(kinds[TT_HEAT_STEP_BACKWARD], heat.steps.backward.count);
    assert_int_equal(kinds[TT_HEAT_STEP_AGAIN], heat.steps.again);
    assert_int_equal(p.reads, heat.steps.steps + 1);
    assert_int_equal(p.copied_bytes, heat.copied_bytes);
    assert_true(kinds[TT_HEAT_STEP_FORWARD] > 0 && kinds[TT_HEAT_STEP_BACKWARD] > 0);
    tt_heat_free(&heat);
    tt_path_free(&p);
    shut(&o);
}

/* What the cell must hold, read by read. */
static tt_path_cell count_cell(const opened *o, const tt_path *p, uint32_t column, uint32_t row)
{
    const tt_path_window *w = &p->window;
    const double ns = (w->to_ns - w->from_ns) / p->columns;
    const double each = (double)(w->to_bytes - w->from_bytes) / p->rows;
    const double low = (double)w->from_bytes + row * each,
                 high = (double)w->from_bytes + (row + 1) * each;
    tt_path_cell c = {0};
    for (size_t i = 0; i < o->reads.n; i++) {
        const plain r = read_at(o, i);
        double at = floor((r.start - w->from_ns) / ns);
        if (r.end < w->from_ns || r.start > w->to_ns) continue;
        at = fmin(fmax(at, 0), p->columns - 1);
        if (at != column) continue;
        uint64_t n = 0;
        const uint64_t from = r.from > (uint64_t)ceil(low) ? r.from : (uint64_t)ceil(low),
                       to = r.to < (uint64_t)ceil(high) ? r.to : (uint64_t)ceil(high);
        n = to > from ? to - from : 0;
        c.reads += n > 0;
        c.read_bytes += n;
        c.prompt += n > 0 && o->m->batches[r.batch].phase == TT_PHASE_PROMPT;
    }
    return c;
}

static void grids_are_as_a_slow_count_says(void **state)
{
    (void)state;
    opened o = open_experts(false);
    const double size = o.all.to_ns - o.all.from_ns;
    const uint64_t bytes = o.all.to_bytes;
    const tt_path_window windows[] = {
        o.all,
        {o.all.from_ns + size * 0.31, o.all.from_ns + size * 0.62, 0, bytes},
        {o.all.from_ns + size * 0.5, o.all.from_ns + size * 0.9, bytes / 3, bytes / 2}};
    for (size_t k = 0; k < 3; k++) {
        const tt_path_query query = {windows[k], 13, 7, 0};
        tt_path p;
        uint64_t reads = 0;
        assert_int_equal(tt_path_find(o.m, &query, NULL, &p, NULL), TT_OK);
        assert_true(p.cells && !p.list);
        for (uint32_t y = 0; y < p.rows; y++)
            for (uint32_t x = 0; x < p.columns; x++) {
                const tt_path_cell want = count_cell(&o, &p, x, y),
                                   *got = &p.cells[y * p.columns + x];
                assert_int_equal(got->reads, want.reads);
                assert_int_equal(got->read_bytes, want.read_bytes);
                assert_int_equal(got->prompt, want.prompt);
                reads += want.reads;
            }
        assert_true(reads > 20);
        tt_path_free(&p);
    }
    shut(&o);
}

/* A part of a grid adds up to the same as the cells it is made of. */
static void cuts_add_up(void **state)
{
    (void)state;
    opened o = open_experts(false);
    const tt_path_query query = {o.all, 256, 64, 0};
    const double size = o.all.to_ns - o.all.from_ns;
    tt_path p, cut;
    assert_int_equal(tt_path_find(o.m, &query, NULL, &p, NULL), TT_OK);
    assert_true(tt_path_cut(&p, &o.all, 30, 10, &cut));
    assert_true(cut.columns <= 30 && cut.rows <= 10);
    assert_int_equal(cut.reads, p.reads);
    assert_int_equal(cut.read_bytes, p.read_bytes);
    for (size_t k = 0; k < TT_HEAT_STEPS; k++)
        assert_int_equal(cut.all_steps.kinds[k], p.all_steps.kinds[k]);
    tt_path_free(&cut);
    for (uint32_t columns = 1; columns < 40; columns += 3) {
        const tt_path_window w = {o.all.from_ns + size * 0.2, o.all.from_ns + size * 0.7,
                                  o.all.to_bytes / 4, o.all.to_bytes / 2};
        assert_true(tt_path_cut(&p, &w, columns, 5, &cut));
        assert_true(cut.columns <= columns && cut.rows <= 5);
        /* All that was asked for. */
        assert_true(cut.window.from_ns <= w.from_ns && cut.window.to_ns >= w.to_ns);
        assert_true(cut.window.from_bytes <= w.from_bytes && cut.window.to_bytes >= w.to_bytes);
        uint64_t bytes = 0, want = 0;
        const double ns = size / p.columns, each = (double)o.all.to_bytes / p.rows;
        for (size_t i = 0; i < (size_t)cut.columns * cut.rows; i++)
            bytes += cut.cells[i].read_bytes;
        for (uint32_t y = 0; y < p.rows; y++)
            for (uint32_t x = 0; x < p.columns; x++) {
                const double at = o.all.from_ns + (x + 0.5) * ns, byte = (y + 0.5) * each;
                if (at > cut.window.from_ns && at < cut.window.to_ns &&
                    byte > (double)cut.window.from_bytes && byte < (double)cut.window.to_bytes)
                    want += p.cells[y * p.columns + x].read_bytes;
            }
        assert_int_equal(bytes, want);
        tt_path_free(&cut);
    }
    tt_path_free(&p);
    shut(&o);
}

/* Inside of an op, its reads are still there. */
static void a_window_inside_an_op_shows_it(void **state)
{
    (void)state;
    opened o = open_experts(false);
    size_t i = o.reads.n / 2;
    plain r = read_at(&o, i);
    while (r.end - r.start < 100)
        r = read_at(&o, ++i);
    const double each = (r.end - r.start) / 10;
    const tt_path_query query = {{r.start + each, r.end - each, 0, o.all.to_bytes}, 10, 10, 100};
    tt_path p;
    bool found = false;
    assert_int_equal(tt_path_find(o.m, &query, NULL, &p, NULL), TT_OK);
    for (size_t k = 0; k < p.n; k++)
        found |= p.list[k].start_ns == r.start && p.list[k].offset_bytes == r.from;
    assert_true(found);
    assert_true(p.n < 20);
    tt_path_free(&p);
    shut(&o);
}

/* --- page faults --- */

static void faults_add_up_to_those_of_the_ops(bool page_faults)
{
    opened o = open_experts(page_faults);
    const tt_filter all = {0};
    const tt_path_query query = {o.all, 20, 20, 0};
    const tt_tokens_query by_file = {TT_TOKENS_BY_FILE, &all, 4, 30, 0, o.all.to_bytes};
    tt_path p;
    tt_tokens t;
    size_t n;
    uint64_t major = 0, minor = 0, want_major = 0, want_minor = 0, token_major = 0;
    tt_faults *f = tt_faults_new(o.m, TT_FAULTS_BY_TENSOR, &all);
    assert_non_null(f);
    assert_int_equal(tt_faults_sum(f, NULL, NULL, NULL), TT_OK);
    const tt_faults_row *rows = tt_faults_rows(f, &n);
    for (size_t i = 0; i < n; i++) {
        want_major += rows[i].weight != TT_NONE ? rows[i].counts.major : 0;
        want_minor += rows[i].weight != TT_NONE ? rows[i].counts.minor : 0;
    }
    assert_int_equal(tt_path_find(o.m, &query, NULL, &p, NULL), TT_OK);
    assert_int_equal(tt_tokens_find(o.m, &by_file, NULL, &t, NULL), TT_OK);
    assert_true(p.faults && t.faults);
    for (size_t i = 0; i < (size_t)p.columns * p.rows; i++) {
        major += p.cells[i].major_faults.value;
        minor += p.cells[i].minor_faults.value;
    }
    for (size_t i = 0; i < (size_t)t.columns * t.rows; i++)
        token_major += t.cells[i].major_faults.value;
    if (!page_faults) {
        assert_true(want_major + want_minor > 0);
        assert_int_equal(major, want_major);
        assert_int_equal(minor, want_minor);
    }
    assert_int_equal(token_major, major);
    tt_faults_free(f);
    tt_path_free(&p);
    tt_tokens_free(&t);
    shut(&o);
}

static void faults_add_up(void **state)
{
    (void)state;
    faults_add_up_to_those_of_the_ops(false);
    faults_add_up_to_those_of_the_ops(true);
}

/* --- tokens --- */

/* Bytes of the file that the row's batches read in [from, to), and the reads of weights whose layer
 * is that one, by a slow count. */
static void a_row_of_the_file_is_what_its_batches_read(void **state)
{
    (void)state;
    opened o = open_experts(false);
    const tt_filter all = {0};
    const tt_tokens_query query = {TT_TOKENS_BY_FILE, &all, 3, 11, 0, o.all.to_bytes};
    tt_tokens t;
    assert_int_equal(tt_tokens_find(o.m, &query, NULL, &t, NULL), TT_OK);
    assert_int_equal(t.n_batches, o.m->n_batches);
    assert_true(t.rows > 1 && t.rows <= 3 && t.each > 1);
    for (uint32_t row = 0; row < t.rows; row++)
        for (uint32_t column = 0; column < t.columns; column++) {
            const double each = (double)o.all.to_bytes / t.columns;
            const uint64_t low = (uint64_t)ceil(column * each),
                           high = (uint64_t)ceil((column + 1) * each);
            uint64_t bytes = 0;
            for (size_t i = 0; i < o.reads.n; i++) {
                const plain r = read_at(&o, i);
                uint32_t at = 0;
                while (t.batches[at] != r.batch)
                    at++;
                const uint64_t from = r.from > low ? r.from : low, to = r.to < high ? r.to : high;
                if (at / t.each == row && from < to) bytes += to - from;
            }
            assert_int_equal(t.cells[row * t.columns + column].read_bytes, bytes);
        }
    tt_tokens_free(&t);
    shut(&o);
}

/* A batch's row by layer, and by expert, is heat's sum of that batch. */
static void rows_are_heats_sums(void **state)
{
    (void)state;
    opened o = open_experts(false);
    const uint32_t number = tt_model_batch_number(o.m, o.m->n_batches - 1);
    const tt_filter one = {.has_batch = true, .batch_first = number, .batch_last = number};
    const tt_tokens_query layers = {.by = TT_TOKENS_BY_LAYER, .filter = &one, .rows = 5};
    tt_filter in_layer = one;
    in_layer.has_layer = true;
    in_layer.layer = 1;
    const tt_tokens_query experts = {.by = TT_TOKENS_BY_EXPERT, .filter = &in_layer, .rows = 5};
    tt_reads reads;
    tt_heat heat;
    tt_tokens t;
    assert_int_equal(tt_reads_collect(o.m, &one, &reads, NULL, NULL, NULL), TT_OK);
    assert_int_equal(tt_heat_measure(o.m, &reads, &one, TT_HEAT_LAYER, &heat, NULL), TT_OK);
    assert_int_equal(tt_tokens_find(o.m, &layers, NULL, &t, NULL), TT_OK);
    assert_int_equal(t.rows, 1);
    assert_int_equal(t.layers[0], -1);
    for (size_t i = 0; i < heat.n_rows; i++) {
        const int32_t layer = o.m->weights[heat.rows[i].weight].place.layer_id;
        const tt_tokens_cell *c = &t.cells[layer + 1];
        assert_int_equal(c->read_bytes, heat.rows[i].read_bytes);
        assert_int_equal(c->accesses, heat.rows[i].accesses);
        assert_true(fabs(tt_model_span_ns(o.m, c->ticks) - heat.rows[i].time_ns) < 1);
    }
    tt_tokens_free(&t);
    tt_heat_free(&heat);
    assert_int_equal(tt_heat_measure(o.m, &reads, &one, TT_HEAT_EXPERT, &heat, NULL), TT_OK);
    assert_int_equal(tt_tokens_find(o.m, &experts, NULL, &t, NULL), TT_OK);
    assert_true(t.experts);
    assert_int_equal(t.columns, 8);
    uint64_t chosen = 0;
    for (uint32_t e = 0; e < t.columns; e++) {
        uint64_t bytes = 0;
        for (size_t i = 0; i < heat.n_rows; i++)
            if (heat.rows[i].expert == (int32_t)e &&
                o.m->weights[heat.rows[i].weight].place.layer_id == 1)
                bytes += heat.rows[i].read_bytes;
        assert_int_equal(t.cells[e].read_bytes, bytes);
        chosen += bytes > 0;
    }
    assert_int_equal(chosen, 2);
    tt_tokens_free(&t);
    tt_heat_free(&heat);
    tt_reads_free(&reads);
    shut(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(single_reads_are_those_of_the_list),
        cmocka_unit_test(steps_are_those_of_heat),
        cmocka_unit_test(grids_are_as_a_slow_count_says),
        cmocka_unit_test(cuts_add_up),
        cmocka_unit_test(a_window_inside_an_op_shows_it),
        cmocka_unit_test(faults_add_up),
        cmocka_unit_test(a_row_of_the_file_is_what_its_batches_read),
        cmocka_unit_test(rows_are_heats_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
