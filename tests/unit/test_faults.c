/* Faults and choices of a whole trace, against the same sums taken from its details alone. */
#include "tests.h"

#include "../golden/synth_trace.c"
#include "analyze/faults.h"
#include "analyze/kernel.h"
#include "analyze/routers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static tt_model *open_memory_plan(synth_plan *p, tt_bytes *b)
{
    tt_model *m;
    tt_bytes_init(b, SIZE_MAX / 2);
    assert_true(synth_build(p, b));
    assert_int_equal(tt_model_open_memory(b->data, b->size, &m, NULL), TT_OK);
    return m;
}

static synth_plan memory_plan(void)
{
    synth_plan p = synth_default();
    p.memory = true;
    return p;
}

static void add_detail(tt_fault_counts *c, const tt_detail_faults *f)
{
    c->observed++;
    c->minor += f->minor;
    c->major += f->major;
    c->cpu_ns += f->cpu_ns;
    if (f->read_bytes == UINT64_MAX) return;
    c->observed_reads++;
    c->read_bytes += f->read_bytes;
}

/* All FAULTS details; of one lane, batch or node's layer only, where not negative. */
static tt_fault_counts slow_counts(const tt_model *m, int64_t lane, int64_t batch)
{
    tt_fault_counts c = {0};
    for (uint32_t r = 0; r < m->n_runs; r++) {
        const tt_detail *list;
        size_t n;
        if (batch >= 0 && m->runs[r].batch != (uint32_t)batch) continue;
        assert_int_equal(tt_details_of_run(m->details, m->runs[r].id, &list, &n, NULL), TT_OK);
        for (size_t i = 0; i < n; i++)
            if (tt_detail_kind_of(&list[i]) == TT_DETAIL_FAULTS &&
                (lane < 0 || tt_detail_lane(&list[i]) == (uint32_t)lane))
                add_detail(&c, &list[i].faults);
    }
    return c;
}

static void assert_counts(const tt_fault_counts *a, const tt_fault_counts *b)
{
    assert_int_equal(a->observed, b->observed);
    assert_int_equal(a->minor, b->minor);
    assert_int_equal(a->major, b->major);
    assert_int_equal(a->cpu_ns, b->cpu_ns);
    assert_int_equal(a->read_bytes, b->read_bytes);
    assert_int_equal(a->observed_reads, b->observed_reads);
}

static tt_faults *sum_up(const tt_model *m, tt_faults_by by, tt_filter filter)
{
    tt_faults *f = tt_faults_new(m, by, &filter);
    assert_non_null(f);
    assert_int_equal(tt_faults_sum(f, NULL, NULL, NULL), TT_OK);
    return f;
}

static void every_dimension_sums_to_the_same(void **state)
{
    synth_plan p = memory_plan();
    tt_bytes b;
    (void)state;
    tt_model *m = open_memory_plan(&p, &b);
    const tt_fault_counts all = slow_counts(m, -1, -1);
    assert_true(all.major > 0 && all.read_bytes > 0 && all.observed_reads < all.observed);
    for (tt_faults_by by = TT_FAULTS_BY_TENSOR; by <= TT_FAULTS_BY_EXPERT; by++) {
        size_t n;
        uint64_t minor = 0, major = 0, read = 0, cpu = 0;
        tt_faults *f = sum_up(m, by, (tt_filter){0});
        const tt_faults_row *rows = tt_faults_rows(f, &n);
        for (size_t i = 0; i < n; i++) {
            minor += rows[i].counts.minor;
            major += rows[i].counts.major;
            read += rows[i].counts.read_bytes;
            cpu += rows[i].counts.cpu_ns;
            assert_true(i == 0 || by == TT_FAULTS_BY_EXPERT ||
                        rows[i - 1].number <= rows[i].number);
        }
        assert_counts(&tt_faults_total(f)->counts, &all);
        assert_true(minor == all.minor && major == all.major && read == all.read_bytes &&
                    cpu == all.cpu_ns);
        assert_int_equal(tt_faults_orphan(f), 0);
        assert_int_equal(tt_faults_total(f)->count, p.n_records / p.lanes);
        tt_faults_free(f);
    }
    tt_model_close(m);
    tt_bytes_free(&b);
}

static void rows_of_threads_and_tokens(void **state)
{
    synth_plan p = memory_plan();
    tt_bytes b;
    size_t n;
    (void)state;
    tt_model *m = open_memory_plan(&p, &b);
    tt_faults *f = sum_up(m, TT_FAULTS_BY_THREAD, (tt_filter){0});
    const tt_faults_row *rows = tt_faults_rows(f, &n);
    assert_int_equal(n, p.lanes);
    for (size_t i = 0; i < n; i++) {
        const tt_fault_counts c = slow_counts(m, (int64_t)i, -1);
        assert_int_equal(rows[i].number, i);
        assert_counts(&rows[i].counts, &c);
    }
    tt_faults_free(f);
    f = sum_up(m, TT_FAULTS_BY_BATCH, (tt_filter){0});
    rows = tt_faults_rows(f, &n);
    assert_int_equal(n, m->n_batches);
    for (size_t i = 0; i < n; i++) {
        const tt_fault_counts c = slow_counts(m, -1, (int64_t)i);
        assert_counts(&rows[i].counts, &c);
        assert_true(tt_ranges_total(&rows[i].batches) == 1);
    }
    tt_faults_free(f);
    tt_model_close(m);
    tt_bytes_free(&b);
}

/* --- bytes used --- */

typedef struct used {
    const tt_model *m;
    uint8_t *bytes; /* of the one file: 1 used, 2 in a mapping; 4, 8 likewise, maybe */
    uint64_t accessed, unplaced, unplaced_mapped;
} used;

static bool mark(void *context, const tt_fault_op *op)
{
    used *u = context;
    for (size_t i = 0; i < op->n_accesses; i++) {
        u->accessed += op->accesses[i].size_bytes;
        const tt_access *a = &op->accesses[i];
        bool copied = op->op->graph->tensors[a->tensor].origin == TT_ORIGIN_BUFFER;
        const bool placed = !a->at_most && a->size_bytes == a->span_bytes;
        for (uint64_t k = 0; k < a->span_bytes; k++)
            u->bytes[a->offset_bytes + k] |= (uint8_t)((copied ? 1 : 3) << (placed ? 0 : 2));
        if (placed) continue;
        u->unplaced += a->size_bytes;
        u->unplaced_mapped += copied ? 0 : a->size_bytes;
    }
    return true;
}

static void each_used_byte_counts_once(void **state)
{
    synth_plan p = memory_plan();
    tt_bytes b;
    size_t n;
    uint64_t expected = 0, mapped = 0, by_tensor = 0, may = 0, may_mapped = 0;
    (void)state;
    p.experts = 6;
    tt_model *m = open_memory_plan(&p, &b);
    const uint64_t size = m->files[0].size_bytes;
    used u = {.m = m, .bytes = calloc(1, size)};
    tt_faults_walker w = {.filter = &(tt_filter){0}, .visit = mark, .context = &u};
    assert_int_equal(tt_faults_walk(m, &w, NULL), TT_OK);
    for (uint64_t i = 0; i < size; i++)
        expected += u.bytes[i] & 1u, mapped += u.bytes[i] >> 1 & 1u, may += (u.bytes[i] & 5u) != 0,
            may_mapped += (u.bytes[i] & 10u) != 0;
    expected = expected + u.unplaced < may ? expected + u.unplaced : may;
    mapped = mapped + u.unplaced_mapped < may_mapped ? mapped + u.unplaced_mapped : may_mapped;
    tt_faults *f = sum_up(m, TT_FAULTS_BY_TENSOR, (tt_filter){0});
    const tt_faults_row *rows = tt_faults_rows(f, &n);
    uint64_t last = 0;
    for (size_t i = 0; i < n; i++) {
        by_tensor += rows[i].used_bytes;
        if (rows[i].weight == TT_NONE) continue;
        assert_true(m->weights[rows[i].weight].offset_bytes >= last);
        last = m->weights[rows[i].weight].offset_bytes;
        assert_true(rows[i].used_bytes <= m->weights[rows[i].weight].size_bytes);
    }
    assert_int_equal(tt_faults_total(f)->used_bytes, expected);
    assert_int_equal(tt_faults_total(f)->mapped_bytes, mapped);
    assert_true(mapped > 0 && mapped < expected);
    assert_int_equal(by_tensor, expected);
    assert_int_equal(tt_faults_total(f)->accessed_bytes, u.accessed);
    assert_true(expected < u.accessed);
    tt_faults_free(f);
    free(u.bytes);
    tt_model_close(m);
    tt_bytes_free(&b);
}

static void parts_add_up_to_the_whole(void **state)
{
    static const uint64_t totals[] = {0, 1, 2, 7, 1000, UINT64_MAX};
    static const uint64_t sizes[][4] = {
        {1, 1, 1, 1}, {3, 0, 5, 0}, {UINT64_MAX / 2, 1, 1, UINT64_MAX / 4}, {0, 0, 0, 0}};
    (void)state;
    for (size_t t = 0; t < 6; t++)
        for (size_t s = 0; s < 4; s++) {
            uint64_t all = 0, before = 0, sum = 0;
            for (size_t i = 0; i < 4; i++)
                all += sizes[s][i];
            for (size_t i = 0; i < (all ? 4 : 1); i++) {
                sum += tt_faults_share(totals[t], before, sizes[s][i], all);
                before += sizes[s][i];
            }
            assert_int_equal(sum, totals[t]);
        }
    assert_int_equal(tt_faults_share(100, 0, 1, 4), 25);
    assert_int_equal(tt_faults_share(100, 1, 3, 4), 75);
}

/* What the process did beside the ops is what synth_memory.c adds to each total. */
static void the_kernel_agrees(void **state)
{
    synth_plan p = memory_plan();
    tt_bytes b;
    tt_kernel_sum s;
    (void)state;
    tt_model *m = open_memory_plan(&p, &b);
    const tt_filter one = {.has_batch = true, .batch_first = 3, .batch_last = 3};
    tt_filter narrow = one;
    narrow.has_layer = true;
    narrow.layer = 1;
    tt_kernel *k = tt_kernel_new(m);
    tt_faults *f = sum_up(m, TT_FAULTS_BY_TENSOR, narrow);
    const tt_fault_counts *ops = tt_faults_batches(f), slow = slow_counts(m, -1, 3);
    assert_counts(ops, &slow);
    assert_true(tt_faults_total(f)->counts.observed < ops->observed);
    tt_kernel_batches(k, &one, &s);
    assert_true(s.windows == 1 && s.has_faults && s.has_io);
    assert_int_equal(s.minor - ops->minor, 3);
    assert_int_equal(s.major, ops->major);
    tt_faults_free(f);
    tt_kernel_free(k);
    tt_model_close(m);
    tt_bytes_free(&b);
}

/* --- experts --- */

static void choices_reach_their_layers(void **state)
{
    synth_plan p = memory_plan();
    tt_bytes b;
    size_t n;
    uint64_t left_out;
    (void)state;
    p.experts = 10;
    p.experts_used = 3;
    tt_model *m = open_memory_plan(&p, &b);
    tt_routers *r = tt_routers_new(m, &(tt_filter){0}, TT_PHASE_PROMPT);
    assert_int_equal(tt_routers_walk(r, NULL, NULL, NULL), TT_OK);
    const tt_router_layer *layers = tt_routers_layers(r, &n);
    assert_int_equal(n, p.layers);
    const uint64_t tokens = p.prompt_tokens + p.generate;
    for (size_t i = 0; i < n; i++) {
        tt_router_sum s;
        tt_router_sum_up(layers[i].router, &s);
        assert_int_equal(layers[i].layer_id, i);
        assert_int_equal(s.experts, 10);
        assert_int_equal(s.chosen_most, 3);
        assert_int_equal(s.tokens, tokens);
        assert_int_equal(s.choices, 3 * tokens);
        assert_int_equal(s.batches, 1 + p.generate);
        assert_int_equal(layers[i].n_slices, 2);
        assert_int_equal(layers[i].unplaced, 0);
        uint64_t bytes = 0;
        for (uint32_t k = 0; k < layers[i].n_slices; k++)
            bytes += m->weights[layers[i].slices[k].weight].size_bytes / 10;
        assert_int_equal(layers[i].expert_bytes, bytes);
    }
    const tt_router_text *texts = tt_routers_texts(r, &n, &left_out);
    uint64_t of_texts = 0, in_texts = 0;
    for (size_t i = 0; i < n; i++) {
        of_texts += texts[i].tokens;
        for (size_t k = 0; k < texts[i].n_counts; k++)
            in_texts += texts[i].counts[k];
    }
    assert_int_equal(left_out, 0);
    /* The first token is of two sequences. */
    assert_int_equal(n, 2);
    assert_int_equal(of_texts, p.prompt_tokens + 1);
    assert_int_equal(in_texts, 3ull * (p.prompt_tokens + 1) * p.layers);
    assert_true(tt_routers_same_shape(r, r));
    tt_routers_free(r);
    tt_model_close(m);
    tt_bytes_free(&b);
}

static void the_furthest_read_ahead_counts(void **state)
{
    (void)state;
    tt_pair pairs[] = {{"device_8:0_read_ahead_bytes", "131072"},
                       {"device_254:0_read_ahead_bytes", "8388608"},
                       {"device_8:1_read_ahead_bytes", "no number"},
                       {"device_read_ahead_bytes", "1"},
                       {"device_", "99999999999"},
                       {"x_read_ahead_bytes", "99999999999"},
                       {"device_8:2_read_ahead_bytes_", "99999999999"}};
    tt_model m = {.environment = pairs, .n_environment = sizeof pairs / sizeof *pairs};
    assert_int_equal(tt_kernel_readahead(&m), 8388608);
    m.n_environment = 0;
    assert_int_equal(tt_kernel_readahead(&m), 0);
}

static bool is_over(void *asked)
{
    ++*(unsigned *)asked;
    return true;
}

static void what_nobody_waits_for_is_given_up(void **state)
{
    synth_plan p = memory_plan();
    tt_bytes b;
    unsigned asked = 0;
    tt_filter all = {0};
    (void)state;
    tt_model *m = open_memory_plan(&p, &b);
    tt_faults *f = tt_faults_new(m, TT_FAULTS_BY_TENSOR, &all);
    tt_faults_until(f, (tt_over){is_over, &asked});
    assert_int_equal(tt_faults_sum(f, NULL, NULL, NULL), TT_E_IO);
    assert_int_equal(asked, 1);
    tt_faults_free(f);
    tt_model_close(m);
    tt_bytes_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_dimension_sums_to_the_same),
        cmocka_unit_test(rows_of_threads_and_tokens),
        cmocka_unit_test(each_used_byte_counts_once),
        cmocka_unit_test(parts_add_up_to_the_whole),
        cmocka_unit_test(the_kernel_agrees),
        cmocka_unit_test(the_furthest_read_ahead_counts),
        cmocka_unit_test(choices_reach_their_layers),
        cmocka_unit_test(what_nobody_waits_for_is_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
