#include "tests.h"

#include "../golden/synth_trace.c"
#include "export/workers.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#define PARTS 200u

typedef struct sample {
    uint32_t taken;
    uint32_t fail_make, fail_take; /* at this part; TT_NONE: never */
    atomic_uint made, opened, closed, held, most_held;
    uint64_t progress;
    size_t part_bytes;
    pthread_t caller;
    enum { ALL_OPEN, CALLER_ALONE, CALLER_NOT } opens;
} sample;

static tt_model *m;

static int open_model(void **state)
{
    static tt_bytes b;
    synth_plan p = synth_default();
    (void)state;
    tt_bytes_init(&b, SIZE_MAX / 2);
    return synth_build(&p, &b) && tt_model_open_memory(b.data, b.size, &m, NULL) == TT_OK ? 0 : -1;
}

static int close_model(void **state)
{
    (void)state;
    tt_model_close(m);
    return 0;
}

static void *open_own(void *context)
{
    sample *s = context;
    bool is_caller = pthread_equal(pthread_self(), s->caller);
    if (s->opens == CALLER_ALONE && !is_caller) return NULL;
    if (s->opens == CALLER_NOT && is_caller) return NULL;
    atomic_fetch_add(&s->opened, 1);
    return s;
}

static void close_own(void *own)
{
    sample *s = own;
    atomic_fetch_add(&s->closed, 1);
}

static tt_status make(void *context, void *own, const tt_model *share, uint32_t part, tt_bytes *out,
                      tt_error *err)
{
    sample *s = context;
    assert_true(own == s);
    assert_true(share != m && share->pieces && share->pieces != m->pieces);
    assert_true(out->size == 0);
    if (part == s->fail_make) return tt_error_set(err, TT_E_FORMAT, part, "cannot make");
    unsigned held = atomic_fetch_add(&s->held, 1) + 1;
    for (unsigned most = atomic_load(&s->most_held);
         held > most && !atomic_compare_exchange_weak(&s->most_held, &most, held);)
        ;
    atomic_fetch_add(&s->made, 1);
    tt_bytes_u32(out, part);
    for (size_t i = 4; i < s->part_bytes; i++)
        tt_bytes_u8(out, 0);
    return TT_OK;
}

static tt_status take(void *context, uint32_t part, const tt_bytes *made, tt_error *err)
{
    sample *s = context;
    uint32_t content;
    assert_true(part == s->taken);
    assert_true(made->size >= sizeof content);
    memcpy(&content, made->data, sizeof content);
    assert_true(content == part);
    if (part == s->fail_take) return tt_error_set(err, TT_E_IO, part, "cannot take");
    s->taken++;
    atomic_fetch_sub(&s->held, 1);
    return TT_OK;
}

static void note_progress(void *context, uint64_t done, uint64_t total)
{
    sample *s = context;
    assert_true(total == PARTS && done > s->progress);
    s->progress = done;
}

static tt_status run(sample *s, uint32_t parts, unsigned threads, tt_error *err)
{
    tt_workers_plan plan = {.n_parts = parts,
                            .threads = threads,
                            .make = make,
                            .take = take,
                            .open = open_own,
                            .close = close_own,
                            .context = s,
                            .limit_bytes = 1024,
                            .progress = note_progress,
                            .progress_context = s};
    return tt_workers_run(m, &plan, err);
}

static sample whole(void)
{
    return (sample){.fail_make = TT_NONE, .fail_take = TT_NONE, .caller = pthread_self()};
}

static void parts_are_taken_in_order(void **state)
{
    (void)state;
    for (unsigned threads = 0; threads < 9; threads++) {
        sample s = whole();
        assert_int_equal(run(&s, PARTS, threads, NULL), TT_OK);
        assert_int_equal(s.taken, PARTS);
        assert_int_equal(s.progress, PARTS);
        assert_int_equal(s.made, PARTS);
        assert_int_equal(s.opened, s.closed);
        assert_true(s.most_held <= 2 * tt_workers_threads(threads));
    }
    sample none = whole();
    assert_int_equal(run(&none, 0, 4, NULL), TT_OK);
    assert_int_equal(none.opened, 0);
}

static void the_first_error_ends_it(void **state)
{
    (void)state;
    for (unsigned threads = 1; threads < 9; threads++) {
        tt_error err;
        sample a = whole(), b = whole(), c = whole();
        a.fail_make = 57;
        assert_int_equal(run(&a, PARTS, threads, &err), TT_E_FORMAT);
        assert_string_equal(err.message, "cannot make");
        assert_true(a.taken <= 57 && a.made < PARTS);
        b.fail_take = 31;
        assert_int_equal(run(&b, PARTS, threads, &err), TT_E_IO);
        assert_int_equal(b.taken, 31);
        assert_true(b.made <= 32 + 2 * threads);
        c.part_bytes = 1025; /* more than a part may have */
        assert_int_equal(run(&c, PARTS, threads, &err), TT_E_MEMORY);
        assert_int_equal(c.taken, 0);
    }
}

/* Other threads are a help; without the calling one nothing is certain. */
static void threads_without_memory_leave_it_to_the_others(void **state)
{
    (void)state;
    for (unsigned threads = 1; threads < 9; threads++) {
        tt_error err;
        sample a = whole(), b = whole();
        a.opens = CALLER_ALONE;
        assert_int_equal(run(&a, PARTS, threads, &err), TT_OK);
        assert_int_equal(a.taken, PARTS);
        assert_int_equal(a.opened, 1);
        b.opens = CALLER_NOT;
        assert_int_equal(run(&b, PARTS, threads, &err), TT_E_MEMORY);
        assert_int_equal(b.opened, b.closed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_taken_in_order),
        cmocka_unit_test(the_first_error_ends_it),
        cmocka_unit_test(threads_without_memory_leave_it_to_the_others),
    };
    return cmocka_run_group_tests(tests, open_model, close_model);
}
