/* The public reading calls, as a program outside the project would use them. */
#include "tests.h"

#include "../golden/synth_trace.c"

#include <tensortrace/read.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct seen {
    uint64_t n, limit, last_ns;
    uint32_t thread;
} seen;

static int visit(void *context, const tt_reader_op *op)
{
    seen *s = context;
    assert_true(op->start_ns <= op->arrive_ns && op->arrive_ns <= op->release_ns);
    if (op->thread == s->thread) assert_true(op->start_ns >= s->last_ns);
    s->thread = op->thread;
    s->last_ns = op->release_ns;
    return ++s->n == s->limit;
}

static int no_value(void *context, const tt_reader_value *value)
{
    (void)context;
    fail_msg("node %u has a value, and none was taken", value->node);
    return 0;
}

static void a_trace_is_walked(void **state)
{
    static const char path[] = "test_api.ttrace";
    synth_plan p = synth_default();
    tt_bytes b;
    tt_reader *r;
    tt_error err;
    tt_reader_summary sum;
    tt_reader_batch batch;
    tt_reader_run run;
    tt_reader_tensor t;
    uint64_t all = 0;
    (void)state;
    tt_bytes_init(&b, SIZE_MAX / 2);
    assert_true(synth_build(&p, &b));
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(b.data, 1, b.size, f), b.size);
    assert_int_equal(fclose(f), 0);
    tt_bytes_free(&b);
    assert_int_equal(tt_reader_open(&r, path, &err), TT_OK);
    (void)unlink(path);
    tt_reader_get_summary(r, &sum);
    assert_true(sum.complete && sum.has_times && sum.records == p.n_records);
    assert_string_equal(tt_reader_get_environment(r, "mode"), "hook");
    for (uint32_t i = 0; i < sum.runs; i++) {
        seen s = {0};
        assert_int_equal(tt_reader_get_run(r, i, &run), TT_OK);
        assert_int_equal(tt_reader_walk_ops(r, i, visit, &s, &err), TT_OK);
        assert_true(s.n == p.n_records / sum.runs);
        all += s.n;
    }
    assert_true(all == sum.records);
    assert_int_equal(tt_reader_get_batch(r, 0, &batch), TT_OK);
    assert_int_equal(batch.n_tokens, p.prompt_tokens);
    assert_int_equal(batch.phase, TT_PHASE_PROMPT);
    assert_int_equal(tt_reader_get_batch(r, sum.batches, &batch), TT_E_USAGE);
    uint32_t weights = 0, n = tt_reader_count_tensors(r, run.graph);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(tt_reader_get_tensor(r, run.graph, i, &t), TT_OK);
        weights += t.weight && strcmp(t.weight, t.name) == 0;
    }
    assert_int_equal(weights, sum.weights);
    assert_int_equal(tt_reader_get_tensor(r, run.graph, n, &t), TT_E_USAGE);
    assert_int_equal(tt_reader_walk_ops(r, sum.runs, visit, NULL, &err), TT_E_USAGE);
    assert_int_equal(tt_reader_walk_values(r, 0, no_value, NULL, &err), TT_OK);
    assert_int_equal(tt_reader_walk_values(r, sum.runs, no_value, NULL, &err), TT_E_USAGE);
    tt_reader_close(r);
}

static void errors_are_values(void **state)
{
    tt_reader *r;
    tt_error err;
    (void)state;
    assert_int_equal(tt_reader_open(&r, "/nonexistent", &err), TT_E_IO);
    assert_null(r);
    assert_true(err.message[0] != '\0');
    assert_int_equal(tt_reader_open(&r, "/dev/null", NULL), TT_E_TRUNCATED);
    tt_reader_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trace_is_walked),
        cmocka_unit_test(errors_are_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
