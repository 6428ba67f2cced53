/* What a thread was off CPU in an op, which is not what it was off CPU before it; and what it reads
 * of the kernel keeps no other thread waiting. */
#include "tests.h"

#include "adapter/ggml/lane.h"
#include "adapter/ggml/process.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000ull
#define LEAST_NS 10000u /* what is shorter is not recorded */

static const tt_process_part parts[] = {{.prepare = tt_lanes_prepare, .reset = tt_lanes_reset}};
static char folder[] = "lane-XXXXXX", trace[64];
static uint64_t per_us; /* ticks */

static int begin(void **state)
{
    tt_lane *l = &tt_lane_self;
    (void)state;
    if (!mkdtemp(folder)) return -1;
    (void)snprintf(trace, sizeof trace, "%s/t.ttrace", folder);
    const tt_process_setup setup = {.recorder = {.path = trace, .ring_bytes = 1 << 20}};
    if (tt_process_begin(&setup, parts, 1, NULL) != TT_OK || !tt_process_recorder() ||
        !tt_lane_claim(l) || !tt_lane_claim_details(l))
        return -1;
    per_us = tt_recorder_area(tt_process_recorder())->area->tick_hz / 1000000;
    return per_us ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    const bool ok = tt_process_end(NULL) == TT_OK;
    (void)unlink(trace);
    (void)rmdir(folder);
    return ok ? 0 : -1;
}

static uint64_t clock_of(clockid_t id)
{
    struct timespec t;
    (void)clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* What the details from `from` on say; there is at most one. */
static uint64_t off_ns(const tt_lane *l, uint64_t from)
{
    uint64_t sum = 0, n = 0;
    for (uint64_t i = from; i < l->details.head; i++) {
        const tt_detail *d = &l->details.slots[i & l->details.mask];
        if (tt_detail_kind_of(d) != TT_DETAIL_OFF_CPU) continue;
        assert_int_equal(d->run, 7);
        assert_int_equal(d->place, tt_detail_place(3, 1, TT_DETAIL_OFF_CPU));
        sum += d->off_cpu.ns;
        n++;
    }
    assert_true(n <= 1);
    return sum;
}

static void expect(uint64_t got, uint64_t least, uint64_t most)
{
    if (got < least || got > most)
        fail_msg("%.3f ms, not %.3f to %.3f", (double)got / 1e6, (double)least / 1e6,
                 (double)most / 1e6);
}

typedef struct given {
    uint64_t before_ms, in_ms; /* since the last reading, and since the op's start */
    uint64_t ran_ms;           /* of both */
    uint64_t wanted_ms;
    bool is_first; /* there was no reading before */
} given;

/* The readings are made up: what the test itself takes comes in addition. */
static void only_the_excess_is_the_ops(void **state)
{
    static const given list[] = {
        {130, 20, 20, 0, false},  /* off before the op, computing in it */
        {130, 20, 150, 0, false}, /* never off */
        {130, 20, 130, 0, false}, /* off for 20 ms, which may all have been before the op */
        {130, 20, 0, 20, false},  /* off all the time */
        {130, 20, 5, 15, false},  /* 5 ms of computing are somewhere in it */
        {0, 20, 0, 20, false},    {0, 20, 15, 5, false}, {20, 130, 0, 130, false},
        {20, 130, 130, 0, false}, {130, 20, 0, 0, true},
    };
    tt_lane *l = &tt_lane_self;
    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        const given *g = &list[i];
        const uint64_t all_ns = (g->before_ms + g->in_ms) * MS;
        const uint64_t head = l->details.head, ticks = tt_ticks();
        const uint64_t wall = clock_of(CLOCK_MONOTONIC), cpu = clock_of(CLOCK_THREAD_CPUTIME_ID);
        l->asked = g->is_first ? 0 : ticks - per_us * all_ns / 1000;
        l->wall_ns = wall - all_ns;
        l->cpu_ns = cpu - g->ran_ms * MS;
        const tt_op_record op = {
            .run = 7, .place = tt_op_place(3, 1, 0), .start = ticks - per_us * g->in_ms * 1000};
        tt_lane_ask(l, tt_ticks(), &op);
        const uint64_t ran = clock_of(CLOCK_THREAD_CPUTIME_ID) - cpu;
        const uint64_t took = clock_of(CLOCK_MONOTONIC) - wall, wanted = g->wanted_ms * MS;
        const uint64_t least = wanted > ran + LEAST_NS ? wanted - ran - LEAST_NS : 0;
        expect(off_ns(l, head), least, g->is_first ? 0 : wanted + took);
    }
}

static void sleep_ms(uint64_t ms)
{
    struct timespec t = {0, (long)(ms * MS)};
    while (nanosleep(&t, &t) != 0)
        ;
}

/* The thread sleeps between two ops and in the second one, for known times at least. */
static void a_sleep_before_an_op_is_not_in_it(void **state)
{
    static const uint64_t in_ms[] = {0, 20};
    tt_lane *l = &tt_lane_self;
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const uint64_t head = l->details.head, cpu = clock_of(CLOCK_THREAD_CPUTIME_ID);
        tt_lane_ask(l, tt_ticks(), NULL);
        const uint64_t asked = clock_of(CLOCK_MONOTONIC);
        sleep_ms(100);
        const uint64_t before = clock_of(CLOCK_MONOTONIC);
        const tt_op_record op = {.run = 7, .place = tt_op_place(3, 1, 0), .start = tt_ticks()};
        if (in_ms[i]) sleep_ms(in_ms[i]);
        tt_lane_ask(l, tt_ticks(), &op);
        const uint64_t took = clock_of(CLOCK_MONOTONIC) - before;
        /* Ticks are turned into time by their whole number a microsecond. */
        const uint64_t wrong = (before - asked) / per_us + LEAST_NS;
        const uint64_t ran = clock_of(CLOCK_THREAD_CPUTIME_ID) - cpu;
        const uint64_t wanted = in_ms[i] * MS;
        expect(off_ns(l, head), wanted > ran + wrong ? wanted - ran - wrong : 0, took + LEAST_NS);
    }
}

/* Between ops nothing is recorded, and the next op begins with that reading. */
static void between_ops_it_is_nobodys(void **state)
{
    tt_lane *l = &tt_lane_self;
    const uint64_t head = l->details.head;
    (void)state;
    l->asked = tt_ticks() - per_us * 100000;
    l->wall_ns = clock_of(CLOCK_MONOTONIC) - 100 * MS;
    l->cpu_ns = clock_of(CLOCK_THREAD_CPUTIME_ID);
    const uint64_t wall = clock_of(CLOCK_MONOTONIC);
    tt_lane_ask(l, tt_ticks(), NULL);
    assert_int_equal(off_ns(l, head), 0);
    const tt_op_record op = {.run = 7, .place = tt_op_place(3, 1, 0), .start = l->asked};
    tt_lane_ask(l, tt_ticks(), &op);
    expect(off_ns(l, head), 0, clock_of(CLOCK_MONOTONIC) - wall);
}

/* --- a run begins and ends while a thread reads its counts --- */

#define GIVE_UP_S 60

static const tt_engine engine = {.op_mul_mat_id = -1};
static struct ggml_tensor op_of_first = {.op = 1, .ne = {1, 1, 1, 1}},
                          op_of_second = {.op = 1, .ne = {1, 1, 1, 1}};
static bool watches_readings;
static unsigned readings, overtaken;

static void *another_run(void *argument)
{
    struct ggml_tensor *const node = &op_of_second;
    (void)argument;
    if (tt_lanes_run_begin(9, &node, 1, 0, __builtin_frame_address(0), &engine))
        (void)tt_lanes_run_end(9);
    return NULL;
}

/* In place of the system call, which is slow where the machine is. */
int getrusage(__rusage_who_t who, struct rusage *usage)
{
    static int (*real)(__rusage_who_t who, struct rusage * usage);
    pthread_t thread;
    struct timespec until;
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "getrusage");
    if (watches_readings && ++readings && pthread_create(&thread, NULL, another_run, NULL) == 0) {
        (void)clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += GIVE_UP_S;
        overtaken += pthread_timedjoin_np(thread, NULL, &until) == 0;
    }
    return real(who, usage);
}

static void readings_hold_no_lock(void **state)
{
    struct ggml_tensor *const node = &op_of_first;
    tt_lane *l = &tt_lane_self;
    (void)state;
    assert_true(tt_lanes_run_begin(8, &node, 1, 0, __builtin_frame_address(0), &engine));
    l->counts.ticks = 0; /* long ago */
    watches_readings = true;
    const bool found = tt_lane_attach(l, &op_of_first);
    watches_readings = false;
    assert_true(found);
    assert_int_equal(readings, 1);
    assert_int_equal(overtaken, 1);
    assert_true(tt_lanes_run_end(8));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_excess_is_the_ops),
        cmocka_unit_test(a_sleep_before_an_op_is_not_in_it),
        cmocka_unit_test(between_ops_it_is_nobodys),
        cmocka_unit_test(readings_hold_no_lock),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
