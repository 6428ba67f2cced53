/* Counters in buckets against what was put into the trace. */
#include "tests.h"

#include "../golden/synth_trace.c"
#include "analyze/buffers.h"
#include "analyze/counters.h"

#include <math.h>
#include <stdlib.h>

static tt_model *open_plan(synth_plan *p, tt_bytes *b)
{
    tt_model *m;
    tt_bytes_init(b, SIZE_MAX / 2);
    assert_true(synth_build(p, b));
    assert_int_equal(tt_model_open_memory(b->data, b->size, &m, NULL), TT_OK);
    return m;
}

/* From the begin of the first batch to the end of the last one. */
static void span_of(const tt_model *m, double *from, double *to)
{
    *from = INFINITY;
    *to = -INFINITY;
    for (uint32_t i = 0; i < m->n_batches; i++) {
        *from = fmin(*from, tt_model_ns(m, m->batches[i].begin_ticks));
        *to = fmax(*to, tt_model_ns(m, m->batches[i].end_ticks));
    }
}

static double sum_of(const tt_counters *c, tt_counter counter, double from, double to, uint32_t n)
{
    double *values = calloc(n, sizeof *values), sum = 0;
    assert_true(tt_counters_get(c, counter, from, to, n, values));
    for (uint32_t i = 0; i < n; i++)
        if (!isnan(values[i])) sum += values[i] * (to - from) / n / 1e9;
    free(values);
    return sum;
}

/* However fine the buckets are, they add up to the tokens there were. */
static void tokens_add_up(void **state)
{
    synth_plan p = synth_default();
    static const uint32_t widths[] = {1, 2, 7, 100, 4096};
    tt_bytes b;
    tt_counters *c;
    double from, to, tokens = 0;
    (void)state;
    tt_model *m = open_plan(&p, &b);
    for (uint32_t i = 0; i < m->n_batches; i++)
        tokens += m->batches[i].n_tokens;
    assert_int_equal(tt_counters_new(m, &c, NULL), TT_OK);
    span_of(m, &from, &to);
    assert_true(tt_counters_has(c, TT_COUNTER_TOKENS_PER_S));
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        double sum = sum_of(c, TT_COUNTER_TOKENS_PER_S, from, to, widths[i]);
        assert_true(fabs(sum - tokens) < 1e-6 * tokens);
    }
    double outside[4];
    assert_true(tt_counters_get(c, TT_COUNTER_TOKENS_PER_S, to + 10, to + 20, 4, outside));
    assert_true(isnan(outside[0]) && isnan(outside[3])); /* not 0: nothing is known of it */
    tt_counters_free(c);
    tt_model_close(m);
    tt_bytes_free(&b);
}

/* Without the kernel's counters there are none, which is not the same as none counted. */
static void what_was_not_observed_is_not_there(void **state)
{
    synth_plan p = synth_default();
    tt_bytes b;
    tt_counters *c;
    (void)state;
    tt_model *m = open_plan(&p, &b);
    assert_int_equal(m->n_usages, 0);
    assert_int_equal(tt_counters_new(m, &c, NULL), TT_OK);
    assert_false(tt_counters_has(c, TT_COUNTER_MAJOR_FAULTS_PER_S));
    assert_false(tt_counters_has(c, TT_COUNTER_CPU_THREADS));
    assert_false(tt_counters_has(c, TT_COUNTER_READ_BYTES_PER_S));
    tt_counters_free(c);
    tt_model_close(m);
    tt_bytes_free(&b);
}

/* Growth of a total between the observations that have it, by the shortest way. */
static double growth(const tt_model *m, uint64_t (*total)(const tt_meta_usage *), uint8_t flag)
{
    double sum = 0;
    for (uint32_t i = 1; i < m->n_usages; i++) {
        const tt_meta_usage *a = &m->usages[i - 1], *z = &m->usages[i];
        assert_true(a->ticks <= z->ticks);
        if (a->flags & z->flags & flag && total(z) >= total(a) && z->ticks > a->ticks)
            sum += (double)(total(z) - total(a));
    }
    return sum;
}

static uint64_t minor_of(const tt_meta_usage *u)
{
    return u->minor;
}

static uint64_t read_of(const tt_meta_usage *u)
{
    return u->read_bytes;
}

static void the_kernels_counters_add_up(void **state)
{
    synth_plan p = synth_default();
    tt_bytes b;
    tt_counters *c;
    (void)state;
    p.memory = true;
    tt_model *m = open_plan(&p, &b);
    assert_true(m->n_usages > 2);
    assert_int_equal(tt_counters_new(m, &c, NULL), TT_OK);
    double from = tt_model_ns(m, m->usages[0].ticks) - 1000,
           to = tt_model_ns(m, m->usages[m->n_usages - 1].ticks) + 1000;
    double minor = growth(m, minor_of, TT_USAGE_FAULTS), read = growth(m, read_of, TT_USAGE_IO);
    assert_true(minor > 0 && read > 0);
    /* A bucket that is only partly known says what the rate was in that part. */
    double is = sum_of(c, TT_COUNTER_MINOR_FAULTS_PER_S, from, to, 4096);
    assert_true(fabs(is - minor) < 0.01 * minor);
    is = sum_of(c, TT_COUNTER_READ_BYTES_PER_S, from, to, 4096);
    assert_true(fabs(is - read) < 0.01 * read);
    double edge[2];
    assert_true(tt_counters_get(c, TT_COUNTER_MINOR_FAULTS_PER_S, from - 2e6, from, 2, edge));
    assert_true(isnan(edge[0]) && isnan(edge[1]));
    tt_counters_free(c);
    tt_model_close(m);
    tt_bytes_free(&b);
}

/* The most of each bucket: a short peak is in any picture. */
static void levels_keep_their_peaks(void **state)
{
    synth_plan p = synth_default();
    tt_bytes b;
    tt_buffers *buffers;
    tt_counters *c;
    double one, many[333], most = 0, end = -INFINITY;
    (void)state;
    tt_model *m = open_plan(&p, &b);
    assert_int_equal(tt_buffers_analyze(m, &buffers, NULL), TT_OK);
    assert_int_equal(tt_counters_new(m, &c, NULL), TT_OK);
    assert_true(buffers->n_events > 1);
    double begin = tt_model_ns(m, buffers->events[0].ticks);
    for (uint32_t i = 0; i < buffers->n_events; i++) {
        most = fmax(most, (double)buffers->events[i].bytes[TT_BACKING_ALLOCATED]);
        end = fmax(end, tt_model_ns(m, buffers->events[i].ticks));
    }
    assert_true(most > 0);
    assert_true(tt_counters_get(c, TT_COUNTER_ALLOCATED_BYTES, begin, end + 1, 1, &one));
    assert_true(one == most);
    assert_true(tt_counters_get(c, TT_COUNTER_ALLOCATED_BYTES, begin - 1e6, end + 1, 333, many));
    assert_true(isnan(many[0]));
    double found = 0;
    for (int i = 0; i < 333; i++)
        if (!isnan(many[i])) found = fmax(found, many[i]);
    assert_true(found == most);
    tt_counters_free(c);
    tt_buffers_free(buffers);
    tt_model_close(m);
    tt_bytes_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_add_up),
        cmocka_unit_test(what_was_not_observed_is_not_there),
        cmocka_unit_test(the_kernels_counters_add_up),
        cmocka_unit_test(levels_keep_their_peaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
