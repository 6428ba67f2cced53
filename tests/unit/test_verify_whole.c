/* The checks of `verify` on what was lost, counted, ended and measured: a good trace that is
 * changed in one place once it is open. */
#include "tests.h"

#include "../golden/synth_trace.c"
#include "analyze/verify/verify.h"

#include <string.h>

static tt_bytes bytes;

static tt_model *open_good(void)
{
    synth_plan p = synth_default();
    tt_model *m;
    p.memory = true;
    tt_bytes_init(&bytes, SIZE_MAX / 2);
    assert_true(synth_build(&p, &bytes));
    assert_int_equal(tt_model_open_memory(bytes.data, bytes.size, &m, NULL), TT_OK);
    return m;
}

static void set_count(tt_model *m, const char *name, uint64_t value)
{
    for (uint32_t i = 0; i < m->n_counts; i++)
        if (strcmp(m->counts[i].name, name) == 0) {
            m->counts[i].value = value;
            return;
        }
    m->counts[0] = (tt_count){name, value}; /* `ops`, which op-count then has not */
}

static void lose_ops(tt_model *m)
{
    set_count(m, "ops_unresolved", 7777);
}

static void lose_meta(tt_model *m)
{
    set_count(m, "meta_dropped", 7777);
}

static void lose_data(tt_model *m)
{
    set_count(m, "data_dropped", 7777);
}

static void count_runs(tt_model *m)
{
    set_count(m, "runs", m->n_runs + 1);
}

static void count_batches(tt_model *m)
{
    set_count(m, "batches", m->n_batches - 1);
}

static void count_graphs(tt_model *m)
{
    set_count(m, "graphs", 99);
}

static void count_calls(tt_model *m)
{
    set_count(m, "decode_calls", 99);
}

static void no_clock(tt_model *m)
{
    m->n_clocks = 0;
}

static void no_environment(tt_model *m)
{
    m->n_environment = 0;
}

static void no_rings(tt_model *m)
{
    m->n_rings = 0;
}

static void no_usage(tt_model *m)
{
    m->n_usages = 0;
}

static void no_residency(tt_model *m)
{
    m->n_residencies = 0;
}

static void clock_back(tt_model *m)
{
    m->n_clocks_back = 1;
}

static void no_run_ends(tt_model *m)
{
    for (uint32_t i = 0; i < m->n_runs; i++)
        m->runs[i].ended = false;
}

/* As a recovery leaves it that found the recorder's memory. */
static void no_run_ends_recovered(tt_model *m)
{
    m->trace.end_flags = TT_END_RECOVERED;
    no_run_ends(m);
}

/* As a trace is that was cut off. */
static void no_run_ends_cut(tt_model *m)
{
    m->trace.complete = false;
    no_run_ends(m);
}

static void count_texts(tt_model *m)
{
    set_count(m, "token_texts", m->n_token_texts);
    m->n_token_texts = 0;
}

static void count_row_numbers(tt_model *m)
{
    set_count(m, "row_numbers", m->n_indices);
    m->n_indices = 0;
}

/* A file of one record a moment, which may be looked at again, but not twice at once. */
static void pages_twice(tt_model *m)
{
    const tt_residency *r = &m->residencies[0];
    m->files[r->file].size_bytes = r->n_pages * r->page_bytes;
    m->n_residencies = 2;
    m->residencies[1] = m->residencies[0];
}

static void run_ends_early(tt_model *m)
{
    m->runs[1].end_ticks = m->runs[1].begin_ticks - 1;
}

static void no_batch_ends(tt_model *m)
{
    for (uint32_t i = 0; i < m->n_batches; i++)
        m->batches[i].ended = false;
}

static void batch_ends_early(tt_model *m)
{
    m->batches[1].end_ticks = m->batches[1].begin_ticks - 1;
}

static void batches_overlap(tt_model *m)
{
    m->batches[1].end_ticks = m->batches[2].begin_ticks + 1;
}

static void run_of_another_batch(tt_model *m)
{
    m->runs[1].batch = m->runs[2].batch;
}

static void fewer_threads(tt_model *m)
{
    m->runs[1].threads = 1;
}

static tt_tensor *some_node(tt_model *m)
{
    return &m->graphs[0].tensors[2];
}

static void its_own_source(tt_model *m)
{
    some_node(m)->n_src = 1;
    some_node(m)->src[0] = 2;
}

static void other_size(tt_model *m)
{
    some_node(m)->size_bytes += 4;
}

static void other_type(tt_model *m)
{
    some_node(m)->type = 8; /* Q8_0 */
}

static void small_buffer(tt_model *m)
{
    m->buffers[some_node(m)->buffer].size_bytes = 1;
}

static const struct {
    void (*change)(tt_model *m);
    const char *check, *says;
} wrong[] = {
    {lose_ops, "complete", "7777 ops could not be recorded"},
    {lose_meta, "complete", "7777 records of what was computed were lost"},
    {lose_data, "complete", "7777 parts of the data"},
    {count_runs, "counts", "graph computations, the trace holds"},
    {count_batches, "counts", "batches, the trace holds"},
    {count_graphs, "counts", "counted 99 graphs"},
    {count_calls, "counts", "counted 99 calls of llama_decode"},
    {no_clock, "kinds", "no CLOCK record"},
    {no_environment, "kinds", "no ENVIRONMENT record"},
    {no_rings, "kinds", "no RING record"},
    {no_usage, "kinds", "no USAGE record"},
    {no_residency, "kinds", "no RESIDENCY record"},
    {clock_back, "clock", "before the one before them"},
    {no_run_ends, "endings", "run 1 never ends"},
    {no_run_ends_recovered, "endings", "run 1 never ends"},
    {no_run_ends_cut, "endings", "run 1 never ends"},
    {count_texts, "counts", "texts of tokens, the trace holds 0"},
    {count_row_numbers, "counts", "records of row numbers, the trace holds 0"},
    {pages_twice, "residency", "are told twice"},
    {run_ends_early, "endings", "run 2 ends before it begins"},
    {no_batch_ends, "endings", "batch 0 never ends"},
    {batch_ends_early, "batches", "batch 1 ends before it begins"},
    {batches_overlap, "batches", "before batch 1 of its context ends"},
    {run_of_another_batch, "batches", "does not begin within batch"},
    {fewer_threads, "graph-order", "asked for on 1 thread, ops of 2"},
    {its_own_source, "tensors", "is computed from itself"},
    {other_size, "tensors", "which its shape and type do not"},
    {other_type, "tensors", "called"},
    {small_buffer, "tensors", "passes the end of buffer"},
};

static void each_is_noticed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tt_check checks[TT_CHECKS_MAX];
        tt_model *m = open_good();
        size_t n, at = 0;
        wrong[i].change(m);
        assert_int_equal(tt_verify(m, checks, &n, NULL, NULL, NULL), TT_OK);
        while (at < n && strcmp(checks[at].name, wrong[i].check) != 0)
            at++;
        if (at == n) fail_msg("no check %s", wrong[i].check);
        if (checks[at].verdict != TT_CHECK_FAILED || !strstr(checks[at].detail, wrong[i].says))
            fail_msg("%s is %s (\"%s\") where it has to say \"%s\"", wrong[i].check,
                     tt_verdict_name(checks[at].verdict), checks[at].detail, wrong[i].says);
        tt_model_close(m);
        tt_bytes_free(&bytes);
    }
}

static void nothing_is_noticed_in_a_good_one(void **state)
{
    tt_check checks[TT_CHECKS_MAX];
    tt_model *m = open_good();
    size_t n;
    (void)state;
    /* Asked for on more threads than took part, or on an unknown number. */
    m->runs[0].threads = 0;
    m->runs[1].threads = 99;
    assert_int_equal(tt_verify(m, checks, &n, NULL, NULL, NULL), TT_OK);
    bool said = false;
    for (size_t i = 0; i < n; i++) {
        if (checks[i].verdict == TT_CHECK_FAILED)
            fail_msg("%s: %s", checks[i].name, checks[i].detail);
        said |=
            strcmp(checks[i].name, "graph-order") == 0 &&
            strstr(checks[i].detail, "1 run was asked for on up to 99 threads, and 2 took part");
    }
    assert_true(said);
    tt_model_close(m);
    tt_bytes_free(&bytes);
}

/* Engines of 2024 tell a size below zero of a tensor without elements. */
static void what_has_no_elements_has_no_bytes(void **state)
{
    tt_check checks[TT_CHECKS_MAX];
    tt_model *m = open_good();
    size_t n;
    (void)state;
    some_node(m)->ne[1] = 0;
    some_node(m)->size_bytes = UINT64_MAX - 23;
    assert_int_equal(tt_verify(m, checks, &n, NULL, NULL, NULL), TT_OK);
    for (size_t i = 0; i < n; i++)
        if (strcmp(checks[i].name, "tensors") == 0 && checks[i].verdict == TT_CHECK_FAILED)
            fail_msg("%s: %s", checks[i].name, checks[i].detail);
    tt_model_close(m);
    tt_bytes_free(&bytes);
}

/* Records that come twice, and readings that go back, are seen while the trace is loaded. */
static void what_comes_twice_is_a_problem(void **state)
{
    static const uint8_t end[] = {1, 9, 0, 0, 0, 0, 0, 0, 0, 0};
    (void)state;
    tt_file_header file = {.major = TT_FORMAT_MAJOR};
    uint8_t head[TT_FILE_HEADER_BYTES], chunk_head[TT_CHUNK_HEADER_BYTES];
    tt_bytes meta, body, out;
    tt_model *m;
    tt_bytes_init(&meta, 4096);
    tt_bytes_init(&body, 4096);
    tt_bytes_init(&out, 8192);
    tt_meta_run r = {.id = 1, .observed = TT_OBSERVED_PROGRAM};
    tt_meta_put_run(&body, &r);
    tt_meta_put_record(&meta, TT_META_RUN, &body);
    for (unsigned i = 0; i < 2; i++) {
        tt_bytes_clear(&body);
        tt_bytes_put(&body, end, sizeof end);
        tt_meta_put_record(&meta, TT_META_RUN_END, &body);
    }
    for (unsigned i = 0; i < 3; i++) { /* the second one goes on with what the first one tells */
        tt_meta_buffer b = {.id = 7, .ticks = 50 + (i > 0), .size_bytes = 4096};
        tt_bytes_clear(&body);
        tt_meta_put_buffer(&body, &b);
        tt_meta_put_record(&meta, TT_META_BUFFER, &body);
    }
    for (unsigned i = 0; i < 3; i++) {
        tt_meta_clock k = {100 - i, 100, 100};
        tt_bytes_clear(&body);
        tt_meta_put_clock(&body, &k);
        tt_meta_put_record(&meta, TT_META_CLOCK, &body);
    }
    tt_chunk_header chunk = {.type = TT_CHUNK_META,
                             .stored_bytes = (uint32_t)meta.size,
                             .raw_bytes = (uint32_t)meta.size,
                             .count = 9};
    tt_file_header_encode(&file, head);
    tt_chunk_header_encode(&chunk, 0, meta.data, chunk_head);
    tt_bytes_put(&out, head, sizeof head);
    tt_bytes_put(&out, chunk_head, sizeof chunk_head);
    tt_bytes_put(&out, meta.data, meta.size);
    assert_int_equal(tt_model_open_memory(out.data, out.size, &m, NULL), TT_OK);
    assert_int_equal(m->meta_damage.status, TT_OK);
    assert_int_equal(m->n_problems, 2);
    assert_string_equal(m->problems[0].text, "run 1 ends twice");
    assert_string_equal(m->problems[1].text, "buffer 7 has two records of tick 51");
    assert_int_equal(m->n_clocks, 3);
    assert_int_equal(m->n_clocks_back, 2);
    tt_model_close(m);
    tt_bytes_free(&meta);
    tt_bytes_free(&body);
    tt_bytes_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_noticed),
        cmocka_unit_test(nothing_is_noticed_in_a_good_one),
        cmocka_unit_test(what_has_no_elements_has_no_bytes),
        cmocka_unit_test(what_comes_twice_is_a_problem),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
