/* The simulation of paging by hand, and against one that goes through time ns by ns. */
#include "tests.h"

#include "analyze/cache/paging.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const tt_disk_speed plain = {1e9, 0, 0, 0, 0, 0, false}; /* a byte a ns */

static double run(tt_paging_op *ops, size_t n, tt_paging_reader reader, tt_disk_speed disk)
{
    double sum = 0;
    assert_true(tt_paging_run(ops, n, &reader, &disk));
    for (size_t i = 0; i < n; i++) {
        assert_true(ops[i].wait_ns >= 0);
        assert_true(ops[i].transfer_ns >= 0 && ops[i].transfer_ns <= ops[i].wait_ns + 1e-6);
        sum += ops[i].before_ns + ops[i].compute_ns + ops[i].wait_ns;
    }
    return sum;
}

static void nothing_missed_nothing_waited_for(void **state)
{
    tt_paging_op ops[] = {{10, 100, 0, 0, TT_PAGING_ALWAYS, false, 0, 0, 0},
                          {0, 50, 0, 0, 1, false, 0, 0, 0}};
    (void)state;
    assert_true(run(ops, 2, (tt_paging_reader){100, 1, 0}, plain) == 160);
    assert_true(tt_paging_run(NULL, 0, &(tt_paging_reader){1, 1, 0}, &plain));
}

/* Nothing is requested before an op is to begin: computing and reading take turns. */
static void without_reading_ahead_times_add_up(void **state)
{
    tt_paging_op ops[] = {{10, 100, 0, 1000, 0, false, 0, 0, 0},
                          {5, 200, 0, 3000, 1, false, 0, 0, 0}};
    (void)state;
    assert_true(run(ops, 2, (tt_paging_reader){500, 8, 0}, plain) ==
                10 + 1000 + 100 + 5 + 3000 + 200);
    assert_true(ops[1].wait_ns == 3000 && ops[1].transfer_ns == 3000);
}

/* What is known always is read while there is computing before it; the rest is waited for. */
static void what_is_known_is_read_ahead(void **state)
{
    tt_paging_op ops[] = {{0, 1000, 0, 0, TT_PAGING_ALWAYS, false, 0, 0, 0},
                          {0, 100, 0, 700, TT_PAGING_ALWAYS, false, 0, 0, 0},
                          {0, 100, 0, 900, TT_PAGING_ALWAYS, false, 0, 0, 0}};
    (void)state;
    /* 1,600 bytes from time 0 on: 1,000 and 1,100 are when ops 1 and 2 could begin. */
    assert_true(run(ops, 3, (tt_paging_reader){100, 8, UINT64_MAX}, plain) == 1700);
    assert_true(ops[1].wait_ns == 0 && ops[2].wait_ns == 500);
    /* With room for 700 bytes op 2's are read from op 1's begin on. */
    assert_true(run(ops, 3, (tt_paging_reader){100, 8, 700}, plain) == 1000 + 900 + 100);
}

/* Experts: known with the first op of their layer, read together, and never before. */
static void experts_are_read_once_chosen(void **state)
{
    tt_paging_op ops[] = {{0, 1000, 0, 0, TT_PAGING_ALWAYS, false, 0, 0, 0},
                          {0, 100, 0, 300, 1, false, 0, 0, 0},
                          {0, 100, 0, 300, 1, false, 0, 0, 0},
                          {0, 100, 0, 50, TT_PAGING_ALWAYS, false, 0, 0, 0}};
    (void)state;
    assert_true(run(ops, 4, (tt_paging_reader){1000, 8, UINT64_MAX}, plain) ==
                1000 + 300 + 100 + 200 + 100 + 100);
    assert_true(ops[1].wait_ns == 300 && ops[2].wait_ns == 200 && ops[3].wait_ns == 0);
}

/* A thread that prepares a request reads nothing meanwhile, and computes nothing. */
static void preparing_is_waited_for(void **state)
{
    tt_paging_op ops[] = {{10, 100, 40, 1000, 0, false, 0, 0, 0},
                          {5, 200, 70, 0, 1, false, 0, 0, 0}};
    (void)state;
    assert_true(run(ops, 2, (tt_paging_reader){500, 8, 0}, plain) ==
                10 + 40 + 1000 + 100 + 5 + 70 + 200);
    assert_true(ops[0].wait_ns == 1040 && ops[0].transfer_ns == 1000 && ops[1].wait_ns == 70);
}

static void speeds_are_parsed(void **state)
{
    static const char *const wrong[] = {"",
                                        "1X",
                                        "2G,",
                                        "2G,fast",
                                        "2G,1us,",
                                        "2G,,1us,1us",
                                        "2G,1,1,1,1,1,1",
                                        "2G,1us,1us,1us,1us,1us,1us",
                                        "2G,1us,1us,1us,",
                                        "2G,1us,1us,1us,,"};
    tt_disk_speed s = {0};
    tt_error err;
    (void)state;
    assert_int_equal(tt_disk_speed_parse("2G,50us,10us,180us,300us", &s, &err), TT_OK);
    assert_true(s.bytes_per_s == 2e9 && s.latency_ns == 50e3 && s.request_ns == 10e3);
    assert_true(s.begin_ns == 180e3 && s.group_ns == 300e3 && s.move_ns == 0 && s.grouped);
    s = (tt_disk_speed){0};
    assert_int_equal(tt_disk_speed_parse("2G,50us,10us,180us,300us,40us", &s, &err), TT_OK);
    assert_true(s.group_ns == 300e3 && s.move_ns == 40e3 && s.grouped);
    s = (tt_disk_speed){0};
    assert_int_equal(tt_disk_speed_parse("2G,50us,10us,180us,,40us", &s, &err), TT_OK);
    assert_true(s.begin_ns == 180e3 && s.group_ns == 0 && s.move_ns == 40e3 && !s.grouped);
    s = (tt_disk_speed){0};
    assert_int_equal(tt_disk_speed_parse("500MB/s,1ms", &s, &err), TT_OK);
    assert_true(s.bytes_per_s == 5e8 && s.latency_ns == 1e6 && s.request_ns == 0 &&
                s.begin_ns == 0 && !s.grouped);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(tt_disk_speed_parse(wrong[i], &s, &err), TT_E_USAGE);
}

/* One request at a time has the latency in each; many have it once. */
static void depth_hides_latency(void **state)
{
    const tt_disk_speed disk = {1e9, 400, 10, 0, 0, 0, false};
    tt_paging_op op = {0, 0, 0, 1000, 0, false, 0, 0, 0};
    (void)state;
    assert_true(fabs(run(&op, 1, (tt_paging_reader){100, 1, 0}, disk) - 10 * (100 + 10 + 400)) <
                1e-6);
    assert_true(fabs(op.transfer_ns - 10 * 110) < 1e-6);
    assert_true(fabs(run(&op, 1, (tt_paging_reader){100, 32, 0}, disk) - (10 * 110 + 400)) < 1e-6);
}

/* Guesses take the disk's time until it is known what is needed, and nobody waits for them. */
static void guesses_are_dropped_when_it_is_known(void **state)
{
    tt_paging_op ops[] = {{0, 1000, 0, 0, TT_PAGING_ALWAYS, false, 0, 0, 0},
                          {0, 0, 0, 5000, 0, true, 0, 0, 0},
                          {0, 100, 0, 300, 2, false, 0, 0, 0}};
    (void)state;
    assert_true(run(ops, 3, (tt_paging_reader){100, 1, UINT64_MAX}, plain) == 1000 + 300 + 100);
    assert_true(ops[1].wait_ns == 0);
    /* With two requests at a time the second guess is under way. */
    assert_true(run(ops, 3, (tt_paging_reader){100, 2, UINT64_MAX}, plain) == 1000 + 400 + 100);
}

/* Two slices at a time arrive together; the next two are requested group_ns later. */
static void experts_are_read_in_groups(void **state)
{
    const tt_disk_speed disk = {
        .bytes_per_s = 1e3, .latency_ns = 50, .request_ns = 10, .group_ns = 300, .grouped = true};
    const uint64_t slice = 3 << 20;
    tt_paging_op ops[] = {{100, 1000, 0, 2 * slice, 0, false, slice, 0, 0},
                          {0, 1000, 0, 2 * slice, 0, false, slice, 0, 0},
                          {0, 1000, 0, slice, 0, false, slice, 0, 0}};
    const tt_paging_reader reader = {100, 8, UINT64_MAX};
    const double transfer = (double)slice * 1e6;
    (void)state;
    assert_true(tt_paging_run(ops, 3, &reader, &disk));
    assert_true(fabs(ops[0].wait_ns - (2 * (transfer + 10) + 50)) < 1);
    assert_true(fabs(ops[1].wait_ns - (300 + 2 * (transfer + 10) - 1000)) < 1);
    assert_true(fabs(ops[2].wait_ns - (300 + transfer + 10 - 1000)) < 1);
}

/* --- ns by ns --- */

typedef struct pending {
    size_t op;
    uint64_t size, left; /* ns of transfer left */
    uint64_t arrives;    /* once transferred; UINT64_MAX before */
    unsigned group;      /* 0: none */
    bool follows;        /* its group another */
} pending;

#define OPS_MAX 12
/* All is in units of 256 KiB, as a group has two requests, or more up to 2 MiB; the disk transfers
 * a unit in a ns. */
#define UNIT_BITS 18
#define PENDING_MAX 4096

typedef struct slow {
    const tt_paging_op *ops;
    size_t n, begun;
    tt_paging_reader reader;
    uint64_t latency, request, between;
    unsigned groups;
    bool grouping;        /* a group is on its way */
    uint64_t group_until; /* once it has arrived: when the next may begin */
    uint64_t asked[OPS_MAX], arrived[OPS_MAX];
    pending list[PENDING_MAX];
    size_t n_pending;
} slow;

/* The op to request for at this moment, or n. */
static size_t wanted(const slow *s)
{
    uint64_t ahead = 0;
    for (size_t i = s->begun; i < s->n; i++)
        ahead += s->asked[i];
    for (size_t i = 0; i < s->n; i++) {
        const uint32_t known = s->ops[i].known_at;
        if (s->asked[i] == s->ops[i].missed_bytes) continue;
        if (known != TT_PAGING_ALWAYS && known >= s->begun) continue;
        return i >= s->begun && ahead >= s->reader.ahead_bytes ? s->n : i;
    }
    return s->n;
}

/* Two requests, or more up to 2 MiB. False: not yet. */
static bool request_group(slow *s, uint64_t now)
{
    uint64_t sum = 0;
    if (s->grouping || now < s->group_until) return false;
    const bool follows = s->groups && now == s->group_until;
    s->grouping = true;
    s->groups++;
    for (int n = 0; n < 2 || sum < 2 << 20; n++) {
        size_t op = 0;
        while (op < s->n &&
               (s->ops[op].known_at >= s->begun || s->asked[op] == s->ops[op].missed_bytes))
            op++;
        if (op == s->n || !s->ops[op].group_request_bytes) break;
        uint64_t size = s->ops[op].missed_bytes - s->asked[op];
        if (size > s->ops[op].group_request_bytes) size = s->ops[op].group_request_bytes;
        s->asked[op] += size;
        sum += size;
        assert_true(s->n_pending < PENDING_MAX);
        const uint64_t left = (size >> UNIT_BITS) + s->request;
        s->list[s->n_pending++] = (pending){op, size, left, UINT64_MAX, s->groups, follows};
    }
    return true;
}

static void request_all(slow *s, uint64_t now)
{
    for (;;) {
        uint32_t under_way = 0;
        for (size_t i = 0; i < s->n_pending; i++)
            under_way += !s->list[i].group && s->list[i].arrives > now;
        const size_t op = wanted(s);
        if (op == s->n) return;
        if (s->ops[op].group_request_bytes) {
            if (!request_group(s, now)) return;
            continue;
        }
        if (under_way >= s->reader.depth) return;
        uint64_t size = s->ops[op].missed_bytes - s->asked[op];
        if (size > s->reader.request_bytes) size = s->reader.request_bytes;
        s->asked[op] += size;
        assert_true(s->n_pending < PENDING_MAX);
        s->list[s->n_pending++] =
            (pending){op, size, (size >> UNIT_BITS) + s->request, UINT64_MAX, 0, false};
    }
}

/* The disk works for the ns from `now` on. */
static void transfer_one(slow *s, uint64_t now)
{
    for (size_t i = 0; i < s->n_pending; i++) {
        pending *p = &s->list[i];
        if (!p->left) continue;
        if (--p->left || (p->group && i + 1 < s->n_pending && s->list[i + 1].group == p->group))
            return;
        p->arrives = now + 1 + (p->follows ? 0 : s->latency);
        if (!p->group) return;
        for (size_t k = 0; k <= i; k++)
            if (s->list[k].group == p->group) s->list[k].arrives = p->arrives;
        s->group_until = p->arrives + s->between;
        s->grouping = false;
        return;
    }
}

static void arrive(slow *s, uint64_t now)
{
    for (size_t i = 0; i < s->n_pending; i++)
        if (s->list[i].arrives == now) s->arrived[s->list[i].op] += s->list[i].size;
}

static uint64_t before_reading(const tt_paging_op *op)
{
    return (uint64_t)(op->before_ns + op->prepare_ns);
}

static uint64_t slow_run(slow *s)
{
    uint64_t now = 0, busy_until = before_reading(&s->ops[0]);
    size_t op = 0;
    bool computes = true; /* what stands before op, or op - 1 with that */
    for (;; now++) {
        arrive(s, now);
        /* What begins in this moment is known to what is requested in it. */
        for (bool changed = true; changed;) {
            changed = false;
            if (computes && now == busy_until) {
                if (op == s->n) return now;
                s->begun = op + 1;
                computes = false;
                changed = true;
            }
            if (!computes && s->arrived[op] == s->ops[op].missed_bytes) {
                busy_until = now + (uint64_t)s->ops[op].compute_ns;
                op++;
                if (op < s->n) busy_until += before_reading(&s->ops[op]);
                computes = true;
                changed = true;
            }
        }
        request_all(s, now);
        transfer_one(s, now);
        assert_true(now < 1000000);
    }
}

static void it_agrees_with_time_step_by_step(void **state)
{
    unsigned seed = 7;
    (void)state;
    for (int round = 0; round < 3000; round++) {
        tt_paging_op ops[OPS_MAX] = {{0}};
        const size_t n = 1 + (size_t)rand_r(&seed) % OPS_MAX;
        uint32_t chosen = 0;
        for (size_t i = 0; i < n; i++) {
            ops[i].before_ns = rand_r(&seed) % 3 ? 0 : rand_r(&seed) % 40;
            ops[i].compute_ns = rand_r(&seed) % 60;
            ops[i].prepare_ns = rand_r(&seed) % 4 ? 0 : rand_r(&seed) % 20;
            ops[i].missed_bytes =
                rand_r(&seed) % 3 ? (uint64_t)(rand_r(&seed) % 90) << UNIT_BITS : 0;
            ops[i].known_at = TT_PAGING_ALWAYS;
            if (rand_r(&seed) % 2) continue;
            chosen += (uint32_t)rand_r(&seed) % (uint32_t)(i - chosen + 1);
            ops[i].known_at = chosen;
            if (round % 2)
                ops[i].group_request_bytes = (uint64_t)(1 + rand_r(&seed) % 40) << UNIT_BITS;
        }
        slow s = {.ops = ops, .n = n, .latency = (uint64_t)rand_r(&seed) % 30};
        s.request = (uint64_t)rand_r(&seed) % 5;
        s.between = (uint64_t)rand_r(&seed) % 50;
        s.reader = (tt_paging_reader){
            (uint64_t)(1 + rand_r(&seed) % 40) << UNIT_BITS, 1 + (uint32_t)rand_r(&seed) % 6,
            rand_r(&seed) % 2 ? UINT64_MAX : (uint64_t)(rand_r(&seed) % 100) << UNIT_BITS};
        const uint64_t want = slow_run(&s);
        const tt_disk_speed disk = {.bytes_per_s = 1e9 * (1 << UNIT_BITS),
                                    .latency_ns = (double)s.latency,
                                    .request_ns = (double)s.request,
                                    .group_ns = (double)s.between,
                                    .grouped = true};
        const double got = run(ops, n, s.reader, disk);
        assert_true(fabs(got - (double)want) < 1e-6);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_missed_nothing_waited_for),
        cmocka_unit_test(without_reading_ahead_times_add_up),
        cmocka_unit_test(what_is_known_is_read_ahead),
        cmocka_unit_test(experts_are_read_once_chosen),
        cmocka_unit_test(preparing_is_waited_for),
        cmocka_unit_test(speeds_are_parsed),
        cmocka_unit_test(depth_hides_latency),
        cmocka_unit_test(guesses_are_dropped_when_it_is_known),
        cmocka_unit_test(experts_are_read_in_groups),
        cmocka_unit_test(it_agrees_with_time_step_by_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
