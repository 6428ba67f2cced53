/* Threads of a graph that meet on a processor: here one thread that has two places among them. */
#include "tests.h"

#include "boost/apart.h"

#include <pthread.h>

static cpu_set_t allowed;
static tt_apart threads;
static tt_apart_self one, other;

static int begin(void **state)
{
    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    tt_apart_begin(&threads);
    one = other = (tt_apart_self){0};
    tt_apart_join(&threads, &one);
    tt_apart_join(&threads, &other);
    return 0;
}

static int end(void **state)
{
    (void)state;
    return sched_setaffinity(0, sizeof allowed, &allowed);
}

static void assert_may_use(const cpu_set_t *want)
{
    cpu_set_t now;
    assert_int_equal(sched_getaffinity(0, sizeof now, &now), 0);
    assert_true(CPU_EQUAL(&now, want));
}

static void test_goes_where_none_is(void **state)
{
    (void)state;
    if (CPU_COUNT(&allowed) < 2) skip();
    const int32_t here = sched_getcpu();
    tt_apart_moved(&threads, &one, here);
    assert_int_equal(one.processor, here);
    tt_apart_moved(&threads, &other, here);
    assert_int_not_equal(other.processor, here);
    assert_true(CPU_ISSET((size_t)other.processor, &allowed));
    assert_may_use(&allowed);
    /* The other one was there: it is where it is now. */
    tt_apart_moved(&threads, &one, other.processor);
    assert_int_not_equal(one.processor, other.processor);
}

static void test_stays_where_it_must(void **state)
{
    cpu_set_t only;
    (void)state;
    const int32_t here = sched_getcpu();
    CPU_ZERO(&only);
    CPU_SET((size_t)here, &only);
    assert_int_equal(sched_setaffinity(0, sizeof only, &only), 0);
    tt_apart_moved(&threads, &one, here);
    tt_apart_moved(&threads, &other, here);
    assert_int_equal(threads.processor[other.i], here);
    assert_may_use(&only);
}

static void *join(void *context)
{
    (void)context;
    tt_apart_join(&threads, &other);
    return NULL;
}

#define ROUNDS 100

/* A thread that waits for this one's processor begins before the kernel's next tick. */
static void test_lets_others_start(void **state)
{
    cpu_set_t only;
    pthread_t thread;
    int met = 0;
    (void)state;
    CPU_ZERO(&only);
    CPU_SET((size_t)sched_getcpu(), &only);
    assert_int_equal(sched_setaffinity(0, sizeof only, &only), 0);
    for (int i = 0; i < ROUNDS; i++) {
        tt_apart_begin(&threads);
        one = other = (tt_apart_self){0};
        tt_apart_join(&threads, &one);
        assert_int_equal(pthread_create(&thread, NULL, join, NULL), 0);
        tt_apart_wait(&threads, &one, 2);
        met += atomic_load(&threads.n) == 2;
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
    assert_true(met > ROUNDS / 2);
    /* It does not wait for ever. */
    tt_apart_wait(&threads, &one, 3);
    assert_may_use(&only);
}

static void test_more_than_it_knows(void **state)
{
    (void)state;
    tt_apart_self last = {0};
    for (uint32_t i = 2; i <= TT_APART_MAX; i++)
        tt_apart_join(&threads, &last);
    assert_int_equal(last.i, TT_APART_MAX);
    const int32_t here = sched_getcpu();
    tt_apart_moved(&threads, &one, here);
    tt_apart_op(&threads, &last);
    assert_int_equal(last.processor, -1);
    assert_may_use(&allowed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_goes_where_none_is, begin, end),
        cmocka_unit_test_setup_teardown(test_stays_where_it_must, begin, end),
        cmocka_unit_test_setup_teardown(test_lets_others_start, begin, end),
        cmocka_unit_test_setup_teardown(test_more_than_it_knows, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
