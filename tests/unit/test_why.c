/* Why batches take their time, in traces put together tick by tick: the parts, and the causes. */
#include "tests.h"

#include "analyze/cache/whatif.h"
#include "analyze/cache/whatif_columns.h"
#include "analyze/overview.h"
#include "analyze/stats.h"
#include "analyze/why/why.h"
#include "export_trace.h"
#include "report/analysis.h"
#include "report/page.h"
#include "report/render.h"
#include "report/sections.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BATCHES 20u
#define MANY 1000u
#define OPS 4u
#define MS 1000000ull
#define ODD 12u /* the batch that differs */

enum {
    PLAIN,
    OFF_CPU,
    STOPPED,
    STUCK,
    LATE,
    UNEVEN,
    GAP,
    PAUSE,
    SHORT_PAUSE,
    OTHER_OFF,
    DISK,
    PROMPT,
    SLOW_WORK,
    CONTEXT,
    SAME_CONTEXT,
    GROWING,
    /* With the kernel's counts of threads: */
    PROCESSOR,
    THROTTLED,
    STOP,
    BLOCKED,
    KERNEL,
    CROWDED,
    HALF,
    SPREAD,
    HELD,        /* lane 0 waits inside an op for lane 1, which has no processor */
    HELD_ITSELF, /* it lost its own processor there */
    INSIDE,      /* lane 1 has more to do before their barrier inside the op */
    LOST         /* in every batch, for lost_ns */
};

/* The tensor of attention without a weight. */
static const char *const names[OPS] = {"attn_norm-0", "kq-0", "ffn_up-0", "ffn_down-1"};

static bool is_counted(int odd)
{
    return odd >= PROCESSOR;
}

static void put_pair(hand *h, const char *key, const char *value)
{
    const tt_meta_pair pair = {hand_span(key), hand_span(value)};
    tt_meta_put_pairs(&h->record, &pair, 1);
    hand_put(h, TT_META_ENVIRONMENT);
}

static void put_environment(hand *h, int odd)
{
    put_pair(h, "capture_off_cpu", "on");
    put_pair(h, "capture_waits_inside", "on");
    if (is_counted(odd)) put_pair(h, "capture_delay", "on");
    if (is_counted(odd)) put_pair(h, "usable_processors", odd == CROWDED ? "1" : "2");
}

static void put_batch(hand *h, uint32_t id, uint64_t ticks, int odd)
{
    const bool prompt = odd == PROMPT && id == ODD + 1;
    const tt_meta_batch b = {.id = id,
                             .context = 1,
                             .ticks = ticks,
                             .n_tokens = prompt ? 33 : 1,
                             .n_generate = prompt ? 1 : 0,
                             .phase = prompt ? TT_PHASE_MIXED : TT_PHASE_GENERATE,
                             .flags = TT_BATCH_POSITIONS};
    const int32_t position = odd == CONTEXT && id == ODD + 1 ? 40 * (int32_t)id : (int32_t)id;
    int32_t positions[33];
    for (uint32_t i = 0; i < b.n_tokens; i++)
        positions[i] = position + (int32_t)i;
    tt_meta_put_batch(&h->record, &b, NULL, positions, NULL);
    hand_put(h, TT_META_BATCH);
}

/* Of what put_faults and make record. */
static bool reads_are_counted = true; /* bytes; the kernel's events have none */
static uint32_t counted_lanes = 2;
static uint64_t process_read_bytes; /* by the kernel, over all batches; 0: not recorded */
static uint64_t lost_ns;            /* whole us */
static bool reads_weights;          /* the op that may be off CPU, of a model's only one */

static void put_usage(hand *h, uint32_t batch, uint8_t moment, uint64_t ticks, uint64_t read_bytes)
{
    const tt_meta_usage u = {.batch = batch,
                             .moment = moment,
                             .ticks = ticks,
                             .flags = TT_USAGE_IO,
                             .read_bytes = read_bytes};
    tt_meta_put_usage(&h->record, &u);
    hand_put(h, TT_META_USAGE);
}

typedef struct made {
    hand h;
    tt_model *m;
    tt_op_record lanes[2][MANY * OPS];
    tt_detail details[BATCHES * OPS * 2 + 2];
    size_t n, n_details;
    uint64_t at; /* ticks, which are ns */
} made;

static void put_off(made *x, uint32_t run, uint32_t node, uint32_t lane, uint64_t ns)
{
    x->details[x->n_details++] = (tt_detail){
        .run = run, .place = tt_detail_place(node, lane, TT_DETAIL_OFF_CPU), .off_cpu = {.ns = ns}};
}

/* A reading of the kernel's counts that covers 31 ms. */
static void put_thread(made *x, uint32_t run, uint32_t node, uint32_t lane, uint64_t delay_ns,
                       uint64_t system_ns)
{
    x->details[x->n_details++] =
        (tt_detail){.run = run,
                    .place = tt_detail_place(node, lane, TT_DETAIL_THREAD),
                    .thread = {.elapsed_us = 31000,
                               .user_us = (uint32_t)(1000 - system_ns / 1000),
                               .system_us = (uint32_t)(system_ns / 1000),
                               .delay_us = (uint32_t)(delay_ns / 1000)}};
}

/* What keeps lane 1 from running for 30 ms from `from` on. */
static void put_reason(made *x, uint32_t run, uint32_t node, int odd, uint64_t from)
{
    hand *h = &x->h;
    const uint64_t delay = odd == STOP || odd == BLOCKED ? 0 : odd == HALF ? 14 * MS : 30 * MS;
    put_off(x, run, node, 1, 30 * MS);
    put_thread(x, run, node, 1, delay, 0);
    if (odd == STOP) {
        tt_meta_put_pause(&h->record, &(tt_meta_pause){from - MS, from + MS, from + 31 * MS, 1000});
        hand_put(h, TT_META_PAUSE);
    }
}

/* Lane 0 waited inside the op for 30 ms, of these off CPU for so many. */
static void put_wait(made *x, uint32_t run, uint32_t node, uint64_t off_ns)
{
    x->details[x->n_details++] =
        (tt_detail){.run = run,
                    .place = tt_detail_place(node, 0, TT_DETAIL_WAIT_INSIDE),
                    .off_cpu = {.ns = off_ns, .ticks = 30 * MS}};
}

/* Lane 0 arrives last, after a barrier inside the op. */
static void wait_inside(made *x, uint32_t run, uint32_t node, int odd, uint64_t arrive[2])
{
    put_wait(x, run, node, odd == HELD_ITSELF ? 30 * MS : 0);
    arrive[0] += 30 * MS + 1000;
    if (odd != HELD_ITSELF) arrive[1] += 30 * MS;
    if (odd == HELD) put_off(x, run, node, 1, 30 * MS);
    if (odd == HELD) put_thread(x, run, node, 1, 30 * MS, 0);
    if (odd == HELD_ITSELF) put_thread(x, run, node, 0, 30 * MS, 0);
}

static void put_throttled(hand *h, uint32_t batch, enum tt_moment moment, uint64_t at, uint64_t ns)
{
    tt_meta_put_throttled(&h->record, &(tt_meta_throttled){.batch = batch,
                                                           .moment = (uint8_t)moment,
                                                           .ticks = at,
                                                           .throttled_ns = ns});
    hand_put(h, TT_META_THROTTLED);
}

/* An op of 1 ms on both lanes, 10 us after the one before, and a barrier of 1 us. */
static void put_op(made *x, uint32_t run, uint32_t node, int odd)
{
    uint64_t start[2], arrive[2];
    x->at += 10000;
    if (odd == GAP && node == 2) x->at += 30 * MS;
    for (int lane = 0; lane < 2; lane++) {
        start[lane] = x->at;
        arrive[lane] = x->at + MS;
    }
    if (odd == LATE && node == 2) start[1] += 30 * MS, arrive[1] += 30 * MS;
    /* The thread that arrives last was never off CPU: the other one was, which nobody waited for.
     */
    if (odd == OTHER_OFF && node == 2) {
        arrive[1] += 30 * MS;
        arrive[0] += 5 * MS;
        put_off(x, run, node, 0, 5 * MS);
    }
    if (odd == UNEVEN) arrive[1] += 10 * MS;
    if (odd == PROMPT || odd == SLOW_WORK) arrive[0] += 10 * MS, arrive[1] += 10 * MS;
    if (odd == GROWING && run == ODD + 1 && node == 2) {
        arrive[1] += 5 * MS;
        put_off(x, run, node, 1, 5 * MS);
    }
    if (odd == GROWING && node == 1) arrive[0] += run * 10000ull, arrive[1] += run * 10000ull;
    if ((odd == CONTEXT || odd == SAME_CONTEXT) && node == 1)
        arrive[0] += 10 * MS, arrive[1] += 10 * MS;
    const bool counted =
        node == 2 && is_counted(odd) && odd != KERNEL && odd != SPREAD && odd < HELD;
    if (odd >= HELD && odd <= INSIDE && node == 2) wait_inside(x, run, node, odd, arrive);
    if (odd == LOST && node == 2) {
        arrive[0] += lost_ns;
        put_off(x, run, node, 0, lost_ns);
        put_thread(x, run, node, 0, lost_ns, 0);
        arrive[1] += lost_ns / 2; /* for which nobody waited */
        put_off(x, run, node, 1, lost_ns / 2);
    }
    const bool off = node == 2 && (odd == OFF_CPU || odd == STOPPED || odd == DISK);
    if (counted) put_reason(x, run, node, odd, arrive[1]);
    if (counted) arrive[1] += 30 * MS;
    if (odd == SPREAD) arrive[0] += run * MS, arrive[1] += run * MS;
    if (odd == KERNEL) arrive[0] += 6 * MS, arrive[1] += 6 * MS;
    /* Of the four ops' 28 ms, 24 in the kernel: 24 of each 28. */
    if (odd == KERNEL && node == 3) put_thread(x, run, node, 1, 0, 31 * MS * 24 / 28);
    if (off) arrive[1] += 30 * MS;
    if (off && odd == STOPPED) arrive[0] += 30 * MS;
    if (off && odd != DISK) put_off(x, run, node, 1, 30 * MS);
    if (off && odd == STOPPED) put_off(x, run, node, 0, 30 * MS);
    const uint64_t end = arrive[0] > arrive[1] ? arrive[0] : arrive[1];
    x->at = end + 1000 + (odd == STUCK && node == 2 ? 30 * MS : 0);
    for (uint32_t lane = 0; lane < 2; lane++)
        x->lanes[lane][x->n] = hand_op(run, node, lane, start[lane], arrive[lane], x->at);
    x->n++;
}

/* Fault counts of every op: only then are there none, if there are none. */
static void put_faults(made *x, int odd)
{
    for (size_t i = 0; i < x->n; i++)
        for (uint32_t lane = 2 - counted_lanes; lane < 2; lane++) {
            const tt_op_record *r = &x->lanes[lane][i];
            const bool read = odd == DISK && r->run == ODD + 1 && tt_op_node(r) == 2 && lane == 1;
            x->details[x->n_details++] =
                (tt_detail){.run = r->run,
                            .place = tt_detail_place(tt_op_node(r), lane, TT_DETAIL_FAULTS),
                            .faults = {.major = read ? 3 : 0,
                                       .cpu_ns = r->arrive - r->start - (read ? 30 * MS : 0),
                                       .read_bytes = !reads_are_counted ? UINT64_MAX
                                                     : read             ? 65536
                                                                        : 0}};
        }
}

static void make(made *x, uint32_t batches, int odd, bool faults)
{
    memset(x, 0, sizeof *x);
    hand_begin(&x->h);
    put_environment(&x->h, odd);
    hand_clock(&x->h, 1, 1);
    hand_clock(&x->h, 1 + 1000 * MS, 1 + 1000 * MS);
    if (reads_weights) hand_model(&x->h, 1, "model.gguf", 1);
    for (uint32_t i = 0; i < OPS; i++)
        (void)hand_tensor(&x->h, names[i], i == 0 ? "RMS_NORM" : "MUL_MAT", 4, 1, 1);
    if (reads_weights) {
        hand_source(&x->h.tensors[2], OPS);
        hand_source(&x->h.tensors[2], 0);
        (void)hand_tensor(&x->h, "w0", "NONE", 4, 4, 16);
    }
    hand_graph(&x->h, 1, OPS);
    x->at = MS;
    for (uint32_t b = 0; b < batches; b++) {
        const int is = b == ODD || odd == GROWING || odd == SPREAD || odd == LOST ? odd : PLAIN;
        x->at += 100000 + (is == PAUSE ? 50 * MS : is == SHORT_PAUSE ? 200000 : 0);
        put_batch(&x->h, b + 1, x->at, odd);
        if (process_read_bytes)
            put_usage(&x->h, b + 1, TT_AT_BATCH_BEGIN, x->at, b * (process_read_bytes / batches));
        if (is == THROTTLED) put_throttled(&x->h, b + 1, TT_AT_BATCH_BEGIN, x->at, 7);
        x->at += 20000;
        hand_run_at(&x->h, b + 1, b + 1, 1, x->at);
        for (uint32_t node = 0; node < OPS; node++)
            put_op(x, b + 1, node, is);
        hand_end(&x->h, TT_META_RUN_END, b + 1, x->at);
        x->at += 5000;
        if (is == THROTTLED) put_throttled(&x->h, b + 1, TT_AT_BATCH_END, x->at, 7 + 20 * MS);
        hand_end(&x->h, TT_META_BATCH_END, b + 1, x->at);
        if (process_read_bytes)
            put_usage(&x->h, b + 1, TT_AT_BATCH_END, x->at,
                      (b + 1) * (process_read_bytes / batches));
    }
    if (faults) put_faults(x, odd);
    hand_flush(&x->h);
    for (uint32_t lane = 0; lane < 2; lane++)
        hand_ops(&x->h, lane + 1, x->lanes[lane], x->n);
    if (x->n_details) hand_details(&x->h, x->details, x->n_details);
    x->m = hand_open(&x->h, true);
}

static void unmake(made *x)
{
    hand_close(&x->h, x->m);
    free(x);
}

static made *of(uint32_t batches, int odd, bool faults)
{
    made *x = malloc(sizeof *x);
    assert_non_null(x);
    make(x, batches, odd, faults);
    return x;
}

static double part(const tt_why *w, tt_part_kind kind)
{
    for (size_t i = 0; i < w->n_parts; i++)
        if (w->parts[i].part == kind) return w->parts[i].time_ns;
    return 0;
}

static void near(double wanted, double got)
{
    if (fabs(wanted - got) > 2) fail_msg("wanted %f, got %f", wanted, got);
}

/* Each batch's parts add up to the time between its begin and end. */
static void check_sums(const made *x)
{
    for (uint32_t i = 0; i < x->m->n_batches; i++) {
        tt_why w;
        double sum = 0;
        const tt_batch *b = &x->m->batches[i];
        assert_int_equal(tt_why_batch(x->m, i, NULL, &w, NULL), TT_OK);
        for (size_t k = 0; k < w.n_parts; k++)
            sum += w.parts[k].time_ns;
        near((double)(b->end_ticks - b->begin_ticks), sum);
        near(sum, w.time_ns);
        if (i != ODD && w.slow) fail_msg("batch %u is blamed: %s", i, w.text.list[0]);
        assert_true(w.text.n > 0);
        tt_why_free(&w);
    }
}

static void plain_parts(void **state)
{
    made *x = of(BATCHES, PLAIN, true);
    tt_why w;
    (void)state;
    check_sums(x);
    assert_int_equal(tt_why_batch(x->m, 5, NULL, &w, NULL), TT_OK);
    near(4 * MS, part(&w, TT_PART_WORK));
    near(4 * 1000, part(&w, TT_PART_WAIT));
    near(0, part(&w, TT_PART_OFF_CPU));
    near(20000 + 4 * 10000 + 5000, part(&w, TT_PART_BETWEEN_OPS));
    near(100000, w.before_ns);
    assert_true(tt_usual_known(&w.usual));
    assert_int_equal(w.usual.n, BATCHES - 1); /* not the first, but itself */
    near(w.time_ns, w.usual.median_ns);
    assert_false(w.slow);
    assert_int_equal(w.cause, TT_CAUSE_UNKNOWN);
    tt_why_free(&w);
    unmake(x);
}

typedef struct expected {
    int odd;
    bool faults;
    tt_cause cause;
    tt_part_kind most;
    double most_ns;
} expected;

static void causes(void **state)
{
    static const expected list[] = {
        {OFF_CPU, false, TT_CAUSE_OFF_CPU, TT_PART_OFF_CPU, 30 * MS},
        {STOPPED, false, TT_CAUSE_STOPPED, TT_PART_OFF_CPU, 30 * MS},
        {STUCK, false, TT_CAUSE_STOPPED, TT_PART_OFF_CPU, 30 * MS + 1000},
        {LATE, true, TT_CAUSE_OFF_CPU, TT_PART_OFF_CPU, 30 * MS},
        {UNEVEN, true, TT_CAUSE_WAITS, TT_PART_WAIT, 4 * 5 * MS + 4 * 1000},
        {GAP, true, TT_CAUSE_BETWEEN_OPS, TT_PART_BETWEEN_OPS, 30 * MS + 65000},
        {PAUSE, true, TT_CAUSE_BETWEEN_BATCHES, TT_PART_WORK, 4 * MS},
        {DISK, true, TT_CAUSE_DISK, TT_PART_DISK, 30 * MS},
        {PROMPT, true, TT_CAUSE_LONG_PROMPT, TT_PART_WORK, 44 * MS},
        {SLOW_WORK, true, TT_CAUSE_UNKNOWN, TT_PART_WORK, 44 * MS},
        {CONTEXT, true, TT_CAUSE_CONTEXT, TT_PART_WORK, 14 * MS},
        /* Attention took longer, but its context is none. */
        {SAME_CONTEXT, true, TT_CAUSE_UNKNOWN, TT_PART_WORK, 14 * MS},
        {PROCESSOR, false, TT_CAUSE_PROCESSOR, TT_PART_PROCESSOR, 30 * MS},
        {CROWDED, false, TT_CAUSE_MORE_THREADS, TT_PART_PROCESSOR, 30 * MS},
        {THROTTLED, false, TT_CAUSE_THROTTLED, TT_PART_THROTTLED, 20 * MS},
        {STOP, false, TT_CAUSE_STOPPED, TT_PART_STOPPED, 30 * MS},
        {BLOCKED, false, TT_CAUSE_OFF_CPU, TT_PART_OFF_CPU, 30 * MS},
        /* Of 30 ms, 14 are known to be a wait for a processor: 16 are not. */
        {HALF, false, TT_CAUSE_OFF_CPU, TT_PART_OFF_CPU, 16 * MS},
    };
    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        const expected *e = &list[i];
        made *x = of(BATCHES, e->odd, e->faults);
        tt_why w;
        check_sums(x);
        assert_int_equal(tt_why_batch(x->m, ODD, NULL, &w, NULL), TT_OK);
        if (w.cause != e->cause || !w.slow)
            fail_msg("case %d: cause %s: %s", e->odd, tt_cause_name(w.cause), w.text.list[0]);
        near(e->most_ns, part(&w, e->most));
        tt_why_free(&w);
        unmake(x);
    }
}

/* Only what the last thread did is in an op's time; and a pause that is short against a token makes
 * it no late one, however regular the pauses are. */
static void not_told(void **state)
{
    made *x = of(BATCHES, OTHER_OFF, false);
    tt_why w;
    (void)state;
    check_sums(x);
    assert_int_equal(tt_why_batch(x->m, ODD, NULL, &w, NULL), TT_OK);
    near(0, part(&w, TT_PART_OFF_CPU));
    assert_int_equal(w.cause, TT_CAUSE_WAITS);
    tt_why_free(&w);
    unmake(x);
    x = of(BATCHES, SHORT_PAUSE, true);
    assert_int_equal(tt_why_batch(x->m, ODD, NULL, &w, NULL), TT_OK);
    near(300000, w.before_ns);
    assert_false(w.slow);
    tt_why_free(&w);
    unmake(x);
}

/* Of 28 ms that the ops took, the kernel counted 24 of each 28 as its own. */
/* A thread that spins at a barrier inside an op is on a processor, and does nothing: it is not own
 * work, but what the thread did for which it waits; its own 1 ms of each op is. */
static void waits_inside_ops(void **state)
{
    static const struct {
        int odd;
        tt_part_kind part;
        tt_cause cause;
        double work;
    } all[] = {{HELD, TT_PART_PROCESSOR, TT_CAUSE_PROCESSOR, 4},
               {HELD_ITSELF, TT_PART_PROCESSOR, TT_CAUSE_PROCESSOR, 4},
               /* Lane 1 computes for 31 ms, lane 0 for 1: 16 if that were divided evenly. */
               {INSIDE, TT_PART_WAIT, TT_CAUSE_UNKNOWN, 4}};
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        made *x = of(BATCHES, all[i].odd, false);
        tt_why w;
        check_sums(x);
        assert_int_equal(tt_why_batch(x->m, ODD, NULL, &w, NULL), TT_OK);
        /* Nothing rules out that the other thread had no processor. */
        assert_int_equal(w.cause, all[i].cause);
        if (fabs(part(&w, all[i].part) - 30 * MS) > 20000)
            fail_msg("%zu: %f", i, part(&w, all[i].part));
        if (fabs(part(&w, TT_PART_WORK) - all[i].work * MS) > 20000)
            fail_msg("%zu: %f", i, part(&w, TT_PART_WORK));
        tt_why_free(&w);
        unmake(x);
    }
}

/* Of 4 ms, one tick of the kernel's timer: 1 ms of them in the kernel is nothing that is known. */
static void short_times_in_the_kernel_are_not_told(void **state)
{
    double ns[TT_PARTS] = {[TT_PART_WORK] = 3 * MS, [TT_PART_KERNEL] = 1 * MS};
    double usual[TT_PARTS] = {[TT_PART_WORK] = 5 * MS, [TT_PART_KERNEL] = 2 * MS};
    (void)state;
    assert_false(tt_parts_tell_kernel(ns, usual));
    near(4 * MS, ns[TT_PART_WORK]);
    near(0, ns[TT_PART_KERNEL]);
    near(7 * MS, usual[TT_PART_WORK]);
    /* Of 4 s they are 250 of 1,000 ticks, with a deviation of 14. */
    double many[TT_PARTS] = {[TT_PART_WORK] = 3000 * MS, [TT_PART_KERNEL] = 1000 * MS};
    assert_true(tt_parts_tell_kernel(many, NULL));
    near(1000 * MS, many[TT_PART_KERNEL]);
}

static void in_the_kernel(void **state)
{
    made *x = of(BATCHES, KERNEL, false);
    tt_why w;
    (void)state;
    check_sums(x);
    assert_int_equal(tt_why_batch(x->m, ODD, NULL, &w, NULL), TT_OK);
    assert_int_equal(w.cause, TT_CAUSE_KERNEL);
    near(28 * MS, part(&w, TT_PART_WORK) + part(&w, TT_PART_KERNEL));
    const double wanted = w.time_ns * 24 / 28;
    if (fabs(part(&w, TT_PART_KERNEL) - wanted) > 2000) fail_msg("%f", part(&w, TT_PART_KERNEL));
    tt_why_free(&w);
    unmake(x);
}

/* Ten batches of ever more work: the longest of all is neither unusual nor as usual. */
static void beyond(void **state)
{
    double ten[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    const tt_usual_value u = tt_usual_of(ten, 10);
    (void)state;
    /* Whatever the deviation: one of ten is not unusual, and the longest is not among eight of ten.
     */
    assert_true(u.slow_ns >= u.high_ns);
    near(9.1, u.high_ns);
    made *x = of(BATCHES, SPREAD, true);
    tt_why w;
    assert_int_equal(tt_why_batch(x->m, BATCHES - 1, NULL, &w, NULL), TT_OK);
    assert_false(w.slow);
    assert_true(w.time_ns > w.usual.high_ns);
    assert_null(strstr(w.text.list[0], "as usual"));
    assert_non_null(strstr(w.text.list[0], "more than 9 of 10"));
    tt_why_free(&w);
    unmake(x);
}

/* What the answer names: the op, its median, the faults' weight, what it excludes. */
static void evidence(void **state)
{
    made *x = of(BATCHES, DISK, true);
    tt_why w;
    (void)state;
    assert_int_equal(tt_why_batch(x->m, ODD, NULL, &w, NULL), TT_OK);
    assert_true(w.n_ops > 0);
    assert_string_equal(w.ops[0].name, "ffn_up-0");
    near(31 * MS, w.ops[0].time_ns);
    near(MS, w.ops[0].usual_ns);
    near(30 * MS, w.ops[0].excess_ns);
    assert_int_equal(w.n_faults, 1);
    assert_int_equal(w.faults[0].major, 3);
    assert_int_equal(w.faults[0].read_bytes, 65536);
    assert_true(w.excluded.n > 0);
    assert_int_equal(w.not_known.n, 0);
    tt_why_free(&w);
    unmake(x);
    x = of(BATCHES, OFF_CPU, false);
    assert_int_equal(tt_why_batch(x->m, ODD, NULL, &w, NULL), TT_OK);
    assert_true(w.not_known.n > 0); /* disk */
    tt_why_free(&w);
    unmake(x);
}

static void few_batches(void **state)
{
    made *x = of(TT_USUAL_LEAST, PLAIN, true);
    tt_why w;
    (void)state;
    assert_int_equal(tt_why_batch(x->m, 2, NULL, &w, NULL), TT_OK);
    assert_false(tt_usual_known(&w.usual));
    assert_false(w.slow);
    assert_non_null(strstr(w.text.list[0], "not known"));
    tt_why_free(&w);
    unmake(x);
}

static void layers_and_ops(void **state)
{
    made *x = of(BATCHES, OFF_CPU, true);
    tt_why w;
    uint32_t batch;
    (void)state;
    assert_int_equal(
        tt_why_layer(x->m, &(tt_filter){.has_layer = true, .layer = 1}, TT_NONE, NULL, &w, NULL),
        TT_OK);
    near(MS, w.time_ns);
    tt_why_free(&w);
    assert_int_equal(
        tt_why_layer(x->m, &(tt_filter){.has_layer = true, .layer = 0}, ODD, NULL, &w, NULL),
        TT_OK);
    near(33 * MS, w.time_ns);
    near(30 * MS, part(&w, TT_PART_OFF_CPU));
    tt_why_free(&w);
    assert_int_equal(
        tt_why_layer(x->m, &(tt_filter){.has_layer = true, .layer = 7}, TT_NONE, NULL, &w, NULL),
        TT_E_NOT_FOUND);
    tt_why_free(&w);
    assert_int_equal(tt_why_op_named(x->m, "ffn_up-0", &(tt_filter){0}, TT_NONE, NULL, &w, NULL),
                     TT_OK);
    near(MS, w.usual.median_ns);
    near((31.0 + (BATCHES - 1)) / BATCHES * MS, w.time_ns);
    assert_int_equal(w.ops[0].batch, ODD);
    tt_why_free(&w);
    assert_int_equal(tt_why_op_named(x->m, "ffn_up-0", &(tt_filter){0}, ODD, NULL, &w, NULL),
                     TT_OK);
    near(31 * MS, w.time_ns);
    assert_int_equal(w.cause, TT_CAUSE_OFF_CPU);
    assert_int_equal(w.run, ODD);
    tt_why_free(&w);
    assert_int_equal(tt_why_op_at(x->m, 3, 99, NULL, &w, NULL), TT_E_NOT_FOUND);
    tt_why_free(&w);
    assert_int_equal(tt_why_op_named(x->m, "nothing", &(tt_filter){0}, TT_NONE, NULL, &w, NULL),
                     TT_E_NOT_FOUND);
    tt_why_free(&w);
    assert_int_equal(tt_why_find_batch(x->m, 99, &batch, NULL), TT_E_NOT_FOUND);
    unmake(x);
}

static const tt_finding *finding(const tt_overview *o, const char *kind)
{
    for (size_t i = 0; i < o->n_findings; i++)
        if (strcmp(o->findings[i].kind, kind) == 0) return &o->findings[i];
    return NULL;
}

static void the_run(void **state)
{
    made *x = of(BATCHES, STOPPED, true);
    tt_overview o;
    double sum = 0, answers = 0;
    (void)state;
    assert_int_equal(tt_overview_make(x->m, NULL, NULL, NULL, NULL, &o, NULL), TT_OK);
    for (size_t i = 0; i < o.n_parts; i++)
        sum += o.parts[i].time_ns;
    near(sum, o.total_ns);
    near(o.summary.elapsed_ns, o.total_ns);
    /* The batches' own parts add up to the run's. */
    for (uint32_t i = 0; i < x->m->n_batches; i++) {
        tt_why w;
        assert_int_equal(tt_why_batch(x->m, i, NULL, &w, NULL), TT_OK);
        answers += w.time_ns;
        tt_why_free(&w);
    }
    near((BATCHES - 1) * 100000.0, o.total_ns - answers);
    assert_int_equal(o.n_slow, 1);
    assert_int_equal(o.slow[0].batch, ODD);
    assert_int_equal(o.slow[0].cause, TT_CAUSE_STOPPED);
    const tt_finding *slow = finding(&o, "slow_tokens");
    assert_non_null(slow);
    assert_string_equal(slow->text, "1 of 19 tokens took unusually long or began late.");
    assert_int_equal(slow->select.batch_id, ODD);
    assert_non_null(finding(&o, "off_cpu"));
    assert_null(finding(&o, "cut"));
    assert_non_null(strstr(o.headline, "nothing came from disk"));
    for (unsigned i = 0; i < TT_OVERVIEW_TILES; i++)
        assert_true((o.tiles[i].why_not != NULL) == isnan(o.tiles[i].value));
    tt_overview_free(&o);
    unmake(x);
}

static void check_disk(const char *headline, const char *found, const char *answer)
{
    made *x = of(BATCHES, DISK, true);
    tt_overview o;
    tt_why w;
    assert_int_equal(tt_overview_make(x->m, NULL, NULL, NULL, NULL, &o, NULL), TT_OK);
    assert_int_equal(tt_why_batch(x->m, ODD, NULL, &w, NULL), TT_OK);
    const tt_finding *f = finding(&o, "disk");
    assert_non_null(f);
    if (!strstr(o.headline, headline)) fail_msg("%s", o.headline);
    if (!strstr(f->text, found)) fail_msg("%s", f->text);
    if (!strstr(w.text.list[1], answer)) fail_msg("%s", w.text.list[1]);
    assert_null(strstr(o.headline, " 0 B"));
    assert_null(strstr(f->text, " 0 B"));
    for (size_t i = 0; i < w.text.n; i++)
        assert_null(strstr(w.text.list[i], " 0 B"));
    tt_overview_free(&o);
    tt_why_free(&w);
    unmake(x);
}

/* Three major faults read 64 KiB. What of it was recorded is said, and nothing else. */
static void what_came_from_disk(void **state)
{
    (void)state;
    check_disk("; 64.0 KiB came from disk.", "3 major page faults, and 64.0 KiB came from disk.",
               "3 major page faults and read 64.0 KiB,");
    counted_lanes = 1;
    check_disk("; at least 64.0 KiB came from disk.", "at least 3 major page faults, and at least",
               "at least 3 major page faults and read at least 64.0 KiB,");
    counted_lanes = 2;
    reads_are_counted = false;
    check_disk("waiting for disk 26 %.", "3 major page faults, and how many bytes came from disk",
               "3 major page faults, ");
    process_read_bytes = BATCHES * 4096ull;
    check_disk("; the process read 80.0 KiB from disk.", "the process read 80.0 KiB from disk.",
               "; the process read 4.0 KiB");
    process_read_bytes = 0;
    reads_are_counted = true;
}

static void put_buffer(hand *h, uint32_t id, uint64_t size_bytes, uint8_t flags)
{
    const tt_meta_buffer b = {
        .id = id, .ticks = 2, .base = 4096ull * id, .size_bytes = size_bytes, .flags = flags};
    tt_meta_put_buffer(&h->record, &b);
    hand_put(h, TT_META_BUFFER);
}

/* Two layers of 16 experts: of the first one's 2 were chosen, the second one's choice is of a token
 * that the batch does not have, so nothing is known of it; and two buffers, of which one is not
 * known to be allocated: it counts. */
static void what_was_recorded_in_part(void **state)
{
    const tt_detail chosen[] = {{.run = 1,
                                 .place = tt_detail_place(0, 0, TT_DETAIL_EXPERTS),
                                 .experts = {.n = 2, .expert = {5, 4}}},
                                {.run = 1,
                                 .place = tt_detail_place(1, 0, TT_DETAIL_EXPERTS),
                                 .experts = {.token = 7, .n = 2, .expert = {5, 4}}}};
    const tt_op_record ops[] = {hand_op(1, 0, 0, MS, 2 * MS, 2 * MS),
                                hand_op(1, 1, 0, 2 * MS, 3 * MS, 3 * MS)};
    hand h;
    tt_overview o;
    (void)state;
    hand_begin(&h);
    hand_clock(&h, 1, 1);
    hand_clock(&h, 1 + 1000 * MS, 1 + 1000 * MS);
    hand_model(&h, 1, "model.gguf", 3);
    put_buffer(&h, 1, 100 << 20, 0);
    put_buffer(&h, 2, 28 << 20, TT_BUFFER_PLACE_UNKNOWN);
    for (uint32_t i = 0; i < 2; i++) {
        tt_meta_tensor *t =
            hand_tensor(&h, i ? "ffn_moe_up-1" : "ffn_moe_up-0", "MUL_MAT_ID", 4, 2, 1);
        hand_source(t, 2 + i);
        hand_source(t, 4);
        hand_source(t, 5 + i);
    }
    (void)hand_tensor(&h, "w1", "NONE", 4, 4, 16);
    (void)hand_tensor(&h, "w2", "NONE", 4, 4, 16);
    (void)hand_tensor(&h, "x", "NONE", 4, 1, 1);
    (void)hand_tensor(&h, "ids-0", "NONE", 2, 1, 1);
    (void)hand_tensor(&h, "ids-1", "NONE", 2, 1, 1);
    hand_graph(&h, 1, 2);
    hand_batch_at(&h, 1, 1, MS);
    hand_run_at(&h, 1, 1, 1, MS);
    hand_end(&h, TT_META_RUN_END, 1, 3 * MS);
    hand_end(&h, TT_META_BATCH_END, 1, 3 * MS);
    hand_flush(&h);
    hand_ops(&h, 1, ops, 2);
    hand_details(&h, chosen, 2);
    tt_model *m = hand_open(&h, true);
    assert_int_equal(tt_overview_make(m, NULL, NULL, NULL, NULL, &o, NULL), TT_OK);
    const tt_finding *cold = finding(&o, "cold_experts");
    assert_non_null(cold);
    if (!strstr(cold->text, "14 of 16 experts")) fail_msg("%s", cold->text);
    assert_string_equal(o.tiles[4].text, "128.0 MiB");
    tt_overview_free(&o);
    hand_close(&h, m);
}

/* What is unusual is when it began, not how long it took: both say so, in the same figures. */
static void a_late_token(void **state)
{
    made *x = of(BATCHES, PAUSE, true);
    tt_why w;
    tt_overview o;
    (void)state;
    assert_int_equal(tt_why_batch(x->m, ODD, NULL, &w, NULL), TT_OK);
    near(50 * MS, w.late_ns);
    near(50 * MS + 100000, w.before_ns);
    assert_non_null(strstr(w.text.list[0], "began 50.0 ms late: 50.1 ms after"));
    assert_int_equal(tt_overview_make(x->m, NULL, NULL, NULL, NULL, &o, NULL), TT_OK);
    assert_int_equal(o.n_slow, 1);
    near(w.late_ns, o.slow[0].late_ns);
    near(w.time_ns, o.slow[0].time_ns);
    assert_string_equal(o.slow[0].text,
                        "50.0 ms late: the program began it 50.1 ms after the one before, "
                        "usually 100 us");
    tt_overview_free(&o);
    tt_why_free(&w);
    unmake(x);
    x = of(BATCHES, OFF_CPU, true);
    assert_int_equal(tt_why_batch(x->m, ODD, NULL, &w, NULL), TT_OK);
    assert_true(isnan(w.late_ns));
    tt_why_free(&w);
    unmake(x);
}

/* The usual time is the same for each token and for the run, where their times differ. */
static void one_median(void **state)
{
    made *x = of(BATCHES, GROWING, true);
    tt_overview o;
    (void)state;
    assert_int_equal(tt_overview_make(x->m, NULL, NULL, NULL, NULL, &o, NULL), TT_OK);
    assert_int_equal(o.usual.n, BATCHES - 1);
    for (uint32_t i = 1; i < BATCHES; i++) {
        tt_why w;
        assert_int_equal(tt_why_batch(x->m, i, NULL, &w, NULL), TT_OK);
        assert_true(w.usual.median_ns == o.usual.median_ns);
        tt_why_free(&w);
    }
    tt_overview_free(&o);
    unmake(x);
}

/* Each token takes longer than the one before: what is usual is near a batch, and the last ones are
 * slow for their context alone. */
static void a_growing_context(void **state)
{
    made *x = of(MANY, GROWING, false);
    tt_why w;
    tt_overview o;
    (void)state;
    assert_int_equal(tt_why_batch(x->m, ODD, NULL, &w, NULL), TT_OK);
    assert_true(w.slow);
    assert_int_equal(w.cause, TT_CAUSE_OFF_CPU);
    assert_non_null(strstr(w.text.list[0], "near it"));
    tt_why_free(&w);
    assert_int_equal(tt_why_batch(x->m, MANY - 5, NULL, &w, NULL), TT_OK);
    assert_false(w.slow);
    assert_int_equal(w.cause, TT_CAUSE_CONTEXT);
    tt_why_free(&w);
    assert_int_equal(tt_why_batch(x->m, MANY / 2, NULL, &w, NULL), TT_OK);
    assert_false(w.slow);
    assert_int_equal(w.cause, TT_CAUSE_UNKNOWN);
    tt_why_free(&w);
    assert_int_equal(tt_overview_make(x->m, NULL, NULL, NULL, NULL, &o, NULL), TT_OK);
    assert_int_equal(o.n_slow, 1);
    assert_int_equal(o.slow[0].batch, ODD);
    tt_overview_free(&o);
    unmake(x);
}

/* What follows the options of `run`: the runner takes them itself, and without texts a prompt is
 * not among what is known. */
static void once_more(void **state)
{
    static const struct {
        const char *command, *text, *wanted;
    } list[] = {
        {"/usr/bin/tensortrace runner -m 'a b.gguf' -n 4", "on", "-m 'a b.gguf' -n 4"},
        {"/lib/ld-linux.so --preload x tensortrace runner -m a", "on", "-m a"},
        {"llama-cli -m tensortrace", "on", "-- llama-cli -m tensortrace"},
        {"/usr/bin/llama-cli", "off", "-- /usr/bin/llama-cli ..."},
        {"/usr/bin/tensortrace", "off", "-m MODEL ..."},
        {"", "on", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        hand h;
        tt_overview o;
        const tt_meta_pair pairs[] = {{hand_span("command"), hand_span(list[i].command)},
                                      {hand_span("capture_text"), hand_span(list[i].text)}};
        hand_begin(&h);
        tt_meta_put_pairs(&h.record, pairs, 2);
        hand_put(&h, TT_META_ENVIRONMENT);
        hand_clock(&h, 1, 1);
        hand_clock(&h, 1 + 1000 * MS, 1 + 1000 * MS);
        tt_model *m = hand_open(&h, true);
        assert_int_equal(tt_overview_make(m, NULL, NULL, NULL, NULL, &o, NULL), TT_OK);
        if (list[i].wanted)
            assert_string_equal(o.again, list[i].wanted);
        else
            assert_null(o.again);
        tt_overview_free(&o);
        hand_close(&h, m);
    }
}

/* Of a run whose ops are lost it is not known where its time went. */
static void lost_ops(void **state)
{
    hand h;
    tt_why w;
    tt_overview o;
    (void)state;
    hand_begin(&h);
    hand_clock(&h, 1, 1);
    hand_clock(&h, 1 + 1000 * MS, 1 + 1000 * MS);
    (void)hand_tensor(&h, "a", "ADD", 4, 1, 1);
    hand_graph(&h, 1, 1);
    hand_batch_at(&h, 1, 1, 10 * MS);
    hand_run_at(&h, 1, 1, 1, 11 * MS);
    hand_end(&h, TT_META_RUN_END, 1, 18 * MS);
    hand_end(&h, TT_META_BATCH_END, 1, 20 * MS);
    tt_model *m = hand_open(&h, true);
    assert_int_equal(tt_why_batch(m, 0, NULL, &w, NULL), TT_OK);
    near(10 * MS, part(&w, TT_PART_UNRECORDED) + part(&w, TT_PART_BETWEEN_OPS));
    near(7 * MS, part(&w, TT_PART_UNRECORDED));
    assert_int_equal(w.cause, TT_CAUSE_UNKNOWN);
    tt_why_free(&w);
    assert_int_equal(tt_overview_make(m, NULL, NULL, NULL, NULL, &o, NULL), TT_OK);
    assert_non_null(strstr(o.headline, "not known"));
    tt_overview_free(&o);
    hand_close(&h, m);
}

/* Each batch takes 4 ms in its ops, 69 us around them, and is off CPU for some more. What is
 * predicted leaves that out, and nothing is predicted where it is more than half. */
#define AROUND_NS 69000.0 /* 20 before, 10 before and 1 behind each op, 5 behind the last */

static void predict(uint64_t ns, bool told)
{
    const tt_whatif_plan plan = {
        .unit = TT_WHATIF_TENSOR, .depth = 1, .disk = {.bytes_per_s = 1e9}};
    const double left_ns = 4.0 * MS + AROUND_NS;
    const uint64_t ram = 1 << 20;
    const tt_filter all = {0};
    tt_reads reads = {.n = 0};
    tt_whatif *w;
    tt_whatif_result r;
    lost_ns = ns;
    reads_weights = true;
    made *x = of(BATCHES, LOST, false);
    assert_int_equal(tt_reads_collect(x->m, &all, &reads, NULL, NULL, NULL), TT_OK);
    assert_int_equal(tt_whatif_new(x->m, &reads, &plan, &w, NULL), TT_OK);
    assert_int_equal(tt_whatif_run(w, TT_POLICY_LRU, &ram, 1, &r, NULL), TT_OK);
    assert_int_equal(r.total.timed_tokens, BATCHES);
    near(BATCHES * (double)ns, r.total.lost_ns);
    near(BATCHES * left_ns, r.total.compute_ns);
    near(left_ns, tt_whatif_compute_ns(&r.total));
    near(1e9 * (double)ns / ((double)ns + left_ns), 1e9 * tt_whatif_lost_share(&r.total));
    /* Generated tokens behind the first one read from memory alone. */
    near(0, r.steady.disk_ns);
    const double wanted = told ? 1e9 / left_ns : 0;
    const double rates[] = {tt_whatif_rate(&r.steady), tt_whatif_rate_apart(&r.steady),
                            tt_whatif_rate_overlap(&r.steady), tt_whatif_rate_causal(&r.steady)};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        if (fabs(rates[i] - wanted) > 1e-3) fail_msg("wanted %f, got %f", wanted, rates[i]);
    static const char *const rated[] = {"tokens_per_s", "tokens_per_s_causal", "limited_by",
                                        "tokens_per_s_full_overlap", "tokens_per_s_no_overlap"};
    const tt_whatif_view v = tt_whatif_look(x->m, &(tt_filter){0}, &reads, &plan, w);
    const tt_rowset set = TT_ROWSET(&tt_whatif_schema, 0, &v, &r, 1);
    for (size_t i = 0; i < sizeof rated / sizeof *rated; i++) {
        tt_cell cell = {.known = !told};
        const tt_column *c = tt_schema_find(&set, rated[i], strlen(rated[i]));
        assert_non_null(c);
        tt_cell_get(c, &v, &r, &cell);
        if (cell.known != told) fail_msg("%s is %s", rated[i], cell.known ? "known" : "unknown");
    }
    tt_whatif_free(w);
    tt_reads_free(&reads);
    unmake(x);
    reads_weights = false;
}

/* The one weight is read anew in each batch, for 20 ms, one after the other: the last read ends
 * after 400 ms, and behind it is what is left of the last batch. The time before its op and the
 * time from there on both lost the same share of themselves. */
static void predict_reading(uint64_t ns)
{
    const tt_whatif_plan plan = {.unit = TT_WHATIF_TENSOR,
                                 .reader = TT_WHATIF_DIRECT,
                                 .ahead_bytes = 1 << 20,
                                 .depth = 1,
                                 .disk = {.bytes_per_s = 1024 / 20e-3}};
    const double left_ns = 4.0 * MS + AROUND_NS;
    const double before_ns = 20000 + 2 * (10000.0 + MS + 1000) + 10000;
    const double wanted_ns =
        BATCHES * 20.0 * MS + left_ns - before_ns * left_ns / (left_ns + (double)ns);
    const tt_filter all = {0};
    const uint64_t ram = 0;
    tt_reads reads = {.n = 0};
    tt_whatif *w;
    tt_whatif_result r;
    lost_ns = ns;
    reads_weights = true;
    made *x = of(BATCHES, LOST, false);
    assert_int_equal(tt_reads_collect(x->m, &all, &reads, NULL, NULL, NULL), TT_OK);
    assert_int_equal(tt_whatif_new(x->m, &reads, &plan, &w, NULL), TT_OK);
    assert_int_equal(tt_whatif_run(w, TT_POLICY_LRU, &ram, 1, &r, NULL), TT_OK);
    near(BATCHES * 20.0 * MS, r.total.disk_ns);
    if (fabs(r.total.ns - wanted_ns) > 100) fail_msg("wanted %f, got %f", wanted_ns, r.total.ns);
    if (fabs(r.total.causal_ns - wanted_ns) > 100)
        fail_msg("wanted %f, got %f", wanted_ns, r.total.causal_ns);
    tt_whatif_free(w);
    tt_reads_free(&reads);
    unmake(x);
    reads_weights = false;
}

static void predictions_are_of_undisturbed_time(void **state)
{
    (void)state;
    predict(0, true);
    predict(MS, true);
    predict(4 * MS + 68000, true); /* a us less than half, and more */
    predict(4 * MS + 70000, false);
    predict(30 * MS, false);
    predict_reading(0);
    predict_reading(2 * MS);
}

/* The same of what bounds the ops: their 4 ms are left. */
static void bound(uint64_t ns, const char *sentence, const char *also)
{
    const tt_analysis_options options = {.edges = {.bandwidth_from = TT_EDGES_GIVEN,
                                                   .peak_from = TT_EDGES_GIVEN,
                                                   .bytes_per_s = 1e10,
                                                   .flops_per_s = 1e11}};
    tt_analysis a;
    char text[512];
    double off_ns = 0, rolled_ns = 0;
    lost_ns = ns;
    made *x = of(BATCHES, LOST, false);
    assert_int_equal(tt_analysis_make(x->m, "a.ttrace", &options, &a, NULL), TT_OK);
    near(BATCHES * 4.0 * MS, a.bounds.all_ns);
    near(BATCHES * 4.0 * MS, a.generate.all_ns);
    near(BATCHES * (double)ns, a.bounds.lost_ns);
    near(BATCHES * (double)ns, a.generate.lost_ns);
    for (size_t i = 0; i < a.points.n; i++) {
        rolled_ns += a.points.list[i].quiet_ns;
        off_ns += a.points.list[i].wall_ns - a.points.list[i].quiet_ns;
    }
    near(BATCHES * 4.0 * MS, rolled_ns);
    near(BATCHES * (double)ns, off_ns);
    assert_true(tt_bound_sentence(&a, text, sizeof text));
    if (!strstr(text, sentence) || !strstr(text, also)) fail_msg("%s", text);
    tt_page p;
    char *out = NULL;
    size_t size = 0;
    tt_page_open(&p);
    tt_report_page(&p, &a);
    FILE *f = open_memstream(&out, &size);
    tt_page_markdown(&p, NULL, f);
    assert_int_equal(fclose(f), 0);
    (void)snprintf(text, sizeof text, "was off CPU, is left out: %.1f ms besides the 80.0 ms here",
                   BATCHES * (double)ns / MS);
    if (!strstr(out, text) == (ns > 0)) fail_msg("%s", text);
    free(out);
    tt_page_close(&p);
    tt_analysis_free(&a);
    unmake(x);
}

static void limits_are_of_undisturbed_time(void **state)
{
    (void)state;
    bound(0, "Generating is", "bound");
    bound(3 * MS, "Generating is", "bound");
    bound(4 * MS - 10000, "Generating is", "bound");
    bound(4 * MS + 10000, "could not be decided", "for 50 %");
    bound(4900000, "could not be decided", "for 55 %"); /* of 8.9 ms */
}

/* A trace without a clock has no times, and says so. */
static void no_clock(void **state)
{
    hand h;
    tt_why w;
    tt_overview o;
    (void)state;
    hand_begin(&h);
    (void)hand_tensor(&h, "a", "ADD", 4, 1, 1);
    hand_graph(&h, 1, 1);
    hand_batch_at(&h, 1, 1, 10);
    hand_run_at(&h, 1, 1, 1, 10);
    tt_model *m = hand_open(&h, true);
    assert_int_equal(tt_why_batch(m, 0, NULL, &w, NULL), TT_OK);
    assert_true(isnan(w.time_ns));
    assert_non_null(strstr(w.text.list[0], "not known"));
    tt_why_free(&w);
    assert_int_equal(tt_overview_make(m, NULL, NULL, NULL, NULL, &o, NULL), TT_OK);
    assert_true(isnan(o.tiles[0].value));
    tt_overview_free(&o);
    hand_close(&h, m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_parts),
        cmocka_unit_test(causes),
        cmocka_unit_test(in_the_kernel),
        cmocka_unit_test(waits_inside_ops),
        cmocka_unit_test(short_times_in_the_kernel_are_not_told),
        cmocka_unit_test(beyond),
        cmocka_unit_test(not_told),
        cmocka_unit_test(evidence),
        cmocka_unit_test(few_batches),
        cmocka_unit_test(the_run),
        cmocka_unit_test(no_clock),
        cmocka_unit_test(layers_and_ops),
        cmocka_unit_test(lost_ops),
        cmocka_unit_test(predictions_are_of_undisturbed_time),
        cmocka_unit_test(limits_are_of_undisturbed_time),
        cmocka_unit_test(a_growing_context),
        cmocka_unit_test(a_late_token),
        cmocka_unit_test(what_came_from_disk),
        cmocka_unit_test(what_was_recorded_in_part),
        cmocka_unit_test(one_median),
        cmocka_unit_test(once_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
