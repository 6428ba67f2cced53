/* What is computed of a served trace once, by whom, and when it goes. */
#include "tests.h"

#include "serve/generation.h"
#include "serve/request.h"
#include "serve/source.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#define TRACE TT_SOURCE_DIR "/tests/golden/good-experts.ttrace"
#define THREADS 8

static atomic_int makes, drops;
static atomic_bool fails;

typedef struct of_model {
    const tt_model *m;
    uint32_t n_batches;
} of_model;

static tt_status make(tt_model *m, void **out, tt_error *err)
{
    (void)atomic_fetch_add(&makes, 1);
    (void)usleep(20000); /* so that others come to wait */
    if (atomic_load(&fails)) return tt_error_set(err, TT_E_LIMIT, 17, "too much");
    of_model *made = malloc(sizeof *made);
    if (!made) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory");
    *made = (of_model){m, m->n_batches};
    *out = made;
    return TT_OK;
}

static void drop(void *made)
{
    const of_model *x = made;
    /* As the analyses do: what they were made with is still there. */
    assert_int_equal(x->m->n_batches, x->n_batches);
    (void)atomic_fetch_add(&drops, 1);
    free(made);
}

static const tt_source_memo memo = {make, drop}, another = {make, drop};

static tt_generation *open_trace(void)
{
    tt_model *m;
    tt_generation *g;
    assert_int_equal(tt_model_open(TRACE, &m, NULL), TT_OK);
    assert_int_equal(tt_generation_new(m, 5, &g, NULL), TT_OK);
    assert_int_equal(tt_generation_number(g), 5);
    assert_ptr_equal(tt_generation_model(g), m);
    return g;
}

typedef struct asked {
    tt_generation *g;
    const void *made;
    tt_status status;
    tt_error err;
} asked;

/* As a worker does. */
static void *ask(void *argument)
{
    asked *a = argument;
    tt_request q = {.client = -1, .source = a->g};
    tt_model *m = NULL;
    a->status = tt_generation_take(a->g, &m, &a->err);
    q.m = m;
    if (a->status == TT_OK) a->status = tt_source_get(&q, &memo, &a->made, &a->err);
    tt_generation_give(a->g, m);
    return NULL;
}

static void ask_at_once(tt_generation *g, asked all[THREADS])
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        all[i] = (asked){.g = g};
        assert_int_equal(pthread_create(&threads[i], NULL, ask, &all[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
}

static void test_once(void **state)
{
    asked all[THREADS];
    tt_generation *g = open_trace();
    (void)state;
    atomic_store(&makes, 0);
    atomic_store(&drops, 0);
    ask_at_once(g, all);
    ask_at_once(g, all);
    assert_int_equal(atomic_load(&makes), 1);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(all[i].status, TT_OK);
        assert_ptr_equal(all[i].made, all[0].made);
        assert_int_equal(((const of_model *)all[i].made)->n_batches,
                         tt_generation_model(g)->n_batches);
    }
    assert_int_equal(atomic_load(&drops), 0);
    tt_generation_unref(g);
    assert_int_equal(atomic_load(&drops), 1);
}

static void test_failure_is_not_kept(void **state)
{
    asked all[THREADS];
    tt_generation *g = open_trace();
    (void)state;
    atomic_store(&makes, 0);
    atomic_store(&drops, 0);
    atomic_store(&fails, true);
    ask_at_once(g, all);
    assert_in_range(atomic_load(&makes), 1, THREADS);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(all[i].status, TT_E_LIMIT);
        assert_string_equal(all[i].err.message, "too much");
        assert_int_equal(all[i].err.offset, 17);
        assert_null(all[i].made);
    }
    atomic_store(&fails, false);
    atomic_store(&makes, 0);
    ask_at_once(g, all);
    assert_int_equal(atomic_load(&makes), 1);
    assert_int_equal(all[3].status, TT_OK);
    tt_generation_unref(g);
    assert_int_equal(atomic_load(&drops), 1);
}

static void test_two_memos_two_traces(void **state)
{
    tt_generation *a = open_trace(), *b = open_trace();
    const void *of_a, *of_b, *more;
    tt_request q = {.client = -1, .source = a, .other_source = b};
    (void)state;
    atomic_store(&makes, 0);
    atomic_store(&drops, 0);
    assert_int_equal(tt_generation_take(a, &q.m, NULL), TT_OK);
    assert_int_equal(tt_generation_take(b, &q.other, NULL), TT_OK);
    assert_int_equal(tt_source_get(&q, &memo, &of_a, NULL), TT_OK);
    assert_int_equal(tt_source_get_other(&q, &memo, &of_b, NULL), TT_OK);
    assert_int_equal(tt_source_get(&q, &another, &more, NULL), TT_OK);
    assert_int_equal(atomic_load(&makes), 3);
    assert_true(of_a != of_b && of_a != more);
    tt_generation_give(a, q.m);
    tt_generation_give(b, q.other);
    tt_generation_unref(a);
    assert_int_equal(atomic_load(&drops), 2);
    tt_generation_unref(b);
    assert_int_equal(atomic_load(&drops), 3);
}

static void test_lives_while_held(void **state)
{
    tt_model *shares[THREADS];
    tt_generation *g = open_trace();
    (void)state;
    tt_generation_ref(g);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(tt_generation_take(g, &shares[i], NULL), TT_OK);
        assert_true(shares[i] != tt_generation_model(g));
        for (int k = 0; k < i; k++)
            assert_ptr_not_equal(shares[i], shares[k]);
    }
    tt_generation_unref(g); /* who served it, with a newer one */
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(tt_pieces_survey(shares[i]->pieces, NULL), TT_OK);
        tt_generation_give(g, shares[i]);
    }
    tt_generation_give(g, NULL);
    tt_generation_unref(g);
    tt_generation_unref(NULL);
}

/* More shares at once than are kept for later: the one that made something is not closed. */
static void test_maker_stays(void **state)
{
    tt_model *shares[THREADS];
    const void *made;
    tt_generation *g = open_trace();
    tt_request q = {.client = -1, .source = g};
    (void)state;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(tt_generation_take(g, &shares[i], NULL), TT_OK);
    q.m = shares[THREADS - 1];
    assert_int_equal(tt_source_get(&q, &memo, &made, NULL), TT_OK);
    for (int i = 0; i < THREADS; i++)
        tt_generation_give(g, shares[i]);
    const of_model *x = made;
    assert_int_equal(x->m->n_batches, x->n_batches);
    tt_generation_unref(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_once),
        cmocka_unit_test(test_failure_is_not_kept),
        cmocka_unit_test(test_two_memos_two_traces),
        cmocka_unit_test(test_lives_while_held),
        cmocka_unit_test(test_maker_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
