#include "adapter/ggml/lane.h"

#include "adapter/ggml/capture.h"
#include "adapter/ggml/graphs.h"
#include "adapter/ggml/owner.h"
#include "adapter/ggml/process.h"
#include "adapter/ggml/tokens.h"
#include "base/array.h"
#include "base/run_delay.h"
#include "format/meta.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define RUNS_MAX 256u
#define PROCESSORS 1024u /* that are distinguished, of cpu_set_t */
#define ASK_AFTER_US 200u
#define COUNT_AFTER_US 4000u  /* the kernel's counts are read so often, in ops that last */
#define AFRESH_AFTER_US 2000u /* and before a run, to leave out what the thread did in between */
#define LONG_OFF_NS 1000000u  /* off CPU for so long, they are read at once */
#define OFF_CPU_MIN_NS 10000u /* shorter interruptions are not recorded */
#define WAIT_MIN_US 2u        /* nor shorter waits at a barrier inside an op */
/* Until a run has shown that barriers between ops do not reach the hooks, a barrier inside an op
 * looks like its end. To correct that, a thread's first starts are kept in this many runs. */
#define EARLY_RUNS 64u

typedef struct active_run {
    uint32_t run; /* 0: empty */
    uint32_t n_nodes;
    /* A copy, reused by the next run in this slot: if the program unwinds its stack past us, the
     * graph may be freed before the run is removed. */
    struct ggml_tensor **nodes;
    uint32_t capacity;
    pthread_t thread;
    const void *frame;
    tt_tracepoints tracepoints;
    tt_fingerprints fingerprints;
} active_run;

__thread tt_lane tt_lane_self __attribute__((tls_model("initial-exec")));
_Atomic uint32_t tt_runs_epoch = 1;
_Atomic uint32_t tt_runs_hooked;
_Atomic uint64_t tt_lane_ask_after = UINT64_MAX;
_Atomic uint64_t tt_lane_wait_least = UINT64_MAX;
static _Atomic uint64_t processors[PROCESSORS / 64];
static _Atomic uint64_t ticks_per_us; /* 0: not known, and nothing is asked */

static active_run runs[RUNS_MAX];
static uint32_t runs_used; /* entries from here on were never used */
/* All threads of a run look it up at the same time: they must not queue. */
static pthread_rwlock_t runs_lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool has_key;
static _Atomic bool barriers_are_unseen;
static _Atomic bool waits_are_unseen; /* and some run had several threads */
static _Atomic uint32_t early_runs;   /* counted thread by thread */
static _Atomic bool run_was_refused;
_Atomic uint32_t tt_lanes_era = 1;

static void next_epoch(void)
{
    /* 0 means "never looked up". */
    if (atomic_fetch_add(&tt_runs_epoch, 1) == UINT32_MAX) atomic_fetch_add(&tt_runs_epoch, 1);
}

static void leave(active_run *a)
{
    a->run = 0;
    atomic_fetch_sub(&tt_runs_hooked, 1);
    next_epoch();
}

/* The stack grows down: frames of this thread at or below the new one have been left. */
static void drop_unwound(const void *frame)
{
    pthread_t self = pthread_self();
    for (uint32_t i = 0; i < runs_used; i++)
        if (runs[i].run && pthread_equal(runs[i].thread, self) &&
            (uintptr_t)runs[i].frame <= (uintptr_t)frame)
            leave(&runs[i]);
}

static bool enter(active_run *a, uint32_t run, struct ggml_tensor *const *nodes, uint32_t n_nodes,
                  const void *frame)
{
    if (!tt_array_room(a->nodes, a->capacity, n_nodes)) return false;
    memcpy(a->nodes, nodes, n_nodes * sizeof *nodes);
    a->n_nodes = n_nodes;
    a->thread = pthread_self();
    a->frame = frame;
    a->run = run;
    atomic_fetch_add(&tt_runs_hooked, 1);
    next_epoch();
    return true;
}

bool tt_lanes_run_begin(uint32_t run, struct ggml_tensor *const *nodes, uint32_t n_nodes,
                        uint64_t token, const void *frame, const tt_engine *e)
{
    bool entered = false;
    uint32_t i = 0;
    (void)pthread_rwlock_wrlock(&runs_lock);
    drop_unwound(frame);
    while (i < runs_used && runs[i].run)
        i++;
    if (i < RUNS_MAX) {
        if (i == runs_used) runs_used++;
        tt_tracepoints_find(&runs[i].tracepoints, e, nodes, n_nodes);
        tt_fingerprints_choose(&runs[i].fingerprints, e, &tt_capture_options.values, token, nodes,
                               n_nodes);
        entered = enter(&runs[i], run, nodes, n_nodes, frame);
    }
    (void)pthread_rwlock_unlock(&runs_lock);
    if (!entered) atomic_store(&run_was_refused, true);
    return entered;
}

bool tt_lanes_waits_are_unseen(void)
{
    return atomic_load_explicit(&waits_are_unseen, memory_order_relaxed);
}

static uint64_t us_of(const struct timeval *t)
{
    return (uint64_t)t->tv_sec * 1000000u + (uint64_t)t->tv_usec;
}

static void read_counts(tt_thread_counts *c, uint64_t now)
{
    struct rusage u = {0};
    uint64_t delay_ns;
    const int before = errno;
    if (c->delay == 0) c->delay = tt_run_delay_open() + 1;
    if (c->delay == 0) c->delay = -1;
    (void)getrusage(RUSAGE_THREAD, &u);
    c->ticks = now;
    c->wall_us = tt_clock_ns(CLOCK_MONOTONIC) / 1000u;
    c->user_us = us_of(&u.ru_utime);
    c->system_us = us_of(&u.ru_stime);
    c->major = (uint64_t)u.ru_majflt;
    c->switches = (uint64_t)u.ru_nvcsw;
    c->delay_us =
        c->delay > 0 && tt_run_delay_read(c->delay - 1, &delay_ns) ? delay_ns / 1000u : UINT64_MAX;
    errno = before;
}

static void close_counts(tt_thread_counts *c)
{
    if (c->delay > 0) tt_run_delay_close(c->delay - 1);
    memset(c, 0, sizeof *c);
}

/* Between two readings of what only grows. */
static uint32_t grown(uint64_t from, uint64_t to)
{
    return to <= from ? 0 : to - from < UINT32_MAX ? (uint32_t)(to - from) : UINT32_MAX - 1;
}

static uint64_t ticks_per_us_now(void)
{
    const uint64_t n = atomic_load_explicit(&ticks_per_us, memory_order_relaxed);
    return n ? n : 1;
}

static bool is_due(const tt_lane *l, uint64_t now, uint64_t after_us)
{
    const uint64_t per_us = atomic_load_explicit(&ticks_per_us, memory_order_relaxed);
    return per_us && now - l->counts.ticks >= per_us * after_us;
}

/* Reads the thread's counts (two system calls), and puts down what they grew by since the last
 * reading. kind NONE: not even that. */
static void count(tt_lane *l, uint64_t now, uint32_t run, uint32_t node, uint32_t lane,
                  enum tt_detail_kind kind)
{
    const tt_thread_counts was = l->counts;
    read_counts(&l->counts, now);
    const tt_thread_counts *is = &l->counts;
    tt_detail *d =
        kind != TT_DETAIL_NONE && was.ticks && l->details.ring ? tt_detail_next(&l->details) : NULL;
    if (!d) return;
    const bool knows = was.delay_us != UINT64_MAX && is->delay_us != UINT64_MAX;
    d->run = run;
    d->thread =
        (tt_detail_thread){.elapsed_us = grown(was.wall_us, is->wall_us),
                           .user_us = grown(was.user_us, is->user_us),
                           .system_us = grown(was.system_us, is->system_us),
                           .delay_us = knows ? grown(was.delay_us, is->delay_us) : UINT32_MAX,
                           .major = grown(was.major, is->major),
                           .switches = grown(was.switches, is->switches)};
    tt_detail_complete(d, tt_detail_place(node, lane, kind));
}

static void count_op(tt_lane *l, uint64_t now, const tt_op_record *op)
{
    count(l, now, op->run, tt_op_node(op), tt_op_lane(op), TT_DETAIL_THREAD);
}

/* Whether the thread's counts since its last computation are recorded, and at which node: those of
 * the thread that begins the computations say whether the program waited. */
static bool records_between(const active_run *run, const struct ggml_tensor *op, uint32_t *node)
{
    *node = 0;
    while (*node + 1 < run->n_nodes && run->nodes[*node] != op)
        ++*node;
    /* Older engines pass views to the hook, too, which have no records. */
    return run->nodes[*node] == op && tt_graphs_executes(op, false) &&
           pthread_equal(run->thread, pthread_self());
}

/* What the thread was off CPU in the op. */
static void put_off_cpu(tt_lane *l, const tt_op_record *op, uint64_t ns)
{
    tt_detail *d = l->details.ring ? tt_detail_next(&l->details) : NULL;
    if (!d) return;
    d->run = op->run;
    d->off_cpu = (tt_detail_off_cpu){.ns = ns};
    tt_detail_complete(d, tt_detail_place(tt_op_node(op), tt_op_lane(op), TT_DETAIL_OFF_CPU));
}

/* What the thread waited inside the op. */
static void put_waits(tt_lane *l, const tt_op_record *op)
{
    tt_detail *d = l->inside.ticks && l->details.ring ? tt_detail_next(&l->details) : NULL;
    if (d) {
        d->run = op->run;
        d->off_cpu = l->inside;
        tt_detail_complete(d,
                           tt_detail_place(tt_op_node(op), tt_op_lane(op), TT_DETAIL_WAIT_INSIDE));
    }
    l->inside = (tt_detail_off_cpu){0};
}

void tt_lane_waited(tt_lane *l)
{
    const uint64_t ticks = l->release - l->open->arrive;
    const uint64_t ns = ticks * 1000u / ticks_per_us_now();
    const bool read = l->asked == l->release; /* as after a wait of 200 us */
    const uint64_t off = read ? l->off_ns : 0;
    l->waited += read ? 0 : ticks;
    l->inside.ticks += ticks;
    l->inside.ns += l->faults.open ? tt_faults_off_in_barrier(&l->faults, ns) : off < ns ? off : ns;
    /* While an op's counters are open, the thread has no other detail. */
    if (l->faults.open) return;
    put_waits(l, l->open);
    if (off >= LONG_OFF_NS) count_op(l, l->release, l->open);
}

void tt_lane_ask(tt_lane *l, uint64_t now, const tt_op_record *op)
{
    const uint64_t asked = l->asked;
    uint64_t wall = tt_clock_ns(CLOCK_MONOTONIC), cpu = tt_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    uint64_t off = wall - l->wall_ns - (cpu - l->cpu_ns);
    bool is_known = l->asked && wall - l->wall_ns > cpu - l->cpu_ns;
    l->asked = now;
    l->wall_ns = wall;
    l->cpu_ns = cpu;
    l->off_ns = is_known ? off : 0;
    const uint64_t waited = l->waited;
    l->waited = 0;
    if (!op) return;
    /* The time off the CPU may all have been before the op, or at barriers inside it: only the
     * excess was in the op's own work. */
    uint64_t outside =
        ((op->start > asked ? op->start - asked : 0) + waited) * 1000u / ticks_per_us_now();
    if (is_known && off >= outside + OFF_CPU_MIN_NS) put_off_cpu(l, op, off - outside);
    if (is_due(l, now, COUNT_AFTER_US) || (is_known && off >= outside + LONG_OFF_NS))
        count_op(l, now, op);
}

/* Corrects the thread's first ops of the run, which ended at barriers inside them: each ends
 * where the next one starts. Those that the drain has already taken stay. */
static void correct_early(tt_lane *l)
{
    uint64_t taken = l->ring ? atomic_load(&l->ring->tail) : l->head;
    for (uint32_t i = 0; i < l->n_early; i++) {
        tt_op_record *r = &l->slots[l->early[i].at & l->mask];
        if (l->early[i].at < taken) continue;
        __atomic_store_n(&r->start, l->early[i].began, __ATOMIC_RELAXED);
        if (i + 1 == l->n_early) break;
        __atomic_store_n(&r->arrive, l->early[i + 1].began, __ATOMIC_RELAXED);
        __atomic_store_n(&r->release, l->early[i + 1].began, __ATOMIC_RELAXED);
    }
    l->n_early = 0;
}

/* Ends the thread's current op, which reached no barrier. */
static void end_unreleased(tt_lane *l, uint64_t now)
{
    tt_op_record *r = l->under_way;
    if (!r) {
        /* An engine that calls ggml_barrier between its ops would have done so by now, so this one
         * has it inlined. Barriers inside ops, which do reach the hook, do not end ops. */
        r = l->open;
        atomic_store_explicit(&barriers_are_unseen, true, memory_order_relaxed);
        l->unseen = l->watched = true;
        l->is_early = false;
        correct_early(l);
    }
    if (!l->alone) atomic_store_explicit(&waits_are_unseen, true, memory_order_relaxed);
    l->under_way = NULL;
    __atomic_store_n(&r->arrive, now, __ATOMIC_RELAXED);
    __atomic_store_n(&r->release, now, __ATOMIC_RELAXED);
    tt_faults_arrive(&l->faults);
    l->faults.open = NULL;
    if (now - l->asked >= tt_lane_ask_ticks()) tt_lane_ask(l, now, r);
}

/* From now on this thread has no current op. */
static void let_go(tt_lane *l)
{
    l->open = l->under_way = NULL;
    l->release = 0;
}

/* Ends the previous op: at its barrier or, if it reached none, now. */
static void end_op(tt_lane *l, uint64_t now)
{
    if (l->under_way || (l->open && !l->release)) end_unreleased(l, now);
    let_go(l);
}

uint64_t tt_lane_begin_afresh(tt_lane *l)
{
    uint64_t now = tt_ticks();
    /* What the thread did before belongs to no op. */
    if (!l->under_way && !l->open && now - l->asked >= tt_lane_ask_ticks())
        tt_lane_ask(l, now, NULL);
    end_op(l, now);
    return now;
}

/* Ends the last op of each other thread, because the graph has ended. Those threads do not touch
 * the record again. */
static void end_last_ops(uint32_t run, uint64_t now)
{
    tt_recorder *r = tt_process_recorder_if_open();
    if (!r) return;
    tt_area_map *map = tt_recorder_area(r);
    uint64_t mask = map->area->ring_records - 1;
    for (uint32_t i = 0; i < tt_area_rings_used(map); i++) {
        tt_ring *ring = &map->rings[i];
        /* The drain does not take the last record of a ring that has an owner. */
        uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
        if (head == 0 || !atomic_load(&ring->owner)) continue;
        tt_op_record *last = &tt_area_slots(map, i)[(head - 1) & mask];
        if (last->run != run || __atomic_load_n(&last->release, __ATOMIC_RELAXED)) continue;
        __atomic_store_n(&last->arrive, now, __ATOMIC_RELAXED);
        __atomic_store_n(&last->release, now, __ATOMIC_RELAXED);
    }
}

void tt_lane_skip(tt_lane *l, uint32_t node)
{
    if (node >= l->n_nodes) {
        /* After a barrier its time belongs to no op. Otherwise it may be part of the current op:
         * it neither ends that nor shows anything about the engine's barriers. */
        if (l->release) let_go(l);
        return;
    }
    l->cursor = node + 1;
    /* Old engines still pass a barrier for it; its time belongs to no op. */
    if (l->under_way || (l->open && !l->release)) (void)tt_lane_begin_afresh(l);
    let_go(l);
}

void tt_lanes_run_over(uint32_t run)
{
    tt_lane *l = &tt_lane_self;
    uint64_t now = tt_ticks();
    if (l->run == run) {
        const tt_op_record *last = l->under_way ? l->under_way : l->open;
        end_op(l, now);
        /* Now its other details are complete. */
        if (last) put_waits(l, last);
        if (last && last->run == run && is_due(l, now, AFRESH_AFTER_US)) count_op(l, now, last);
    }
    if (atomic_load_explicit(&barriers_are_unseen, memory_order_relaxed)) end_last_ops(run, now);
}

bool tt_lanes_run_end(uint32_t run)
{
    bool was_under_way = false;
    (void)pthread_rwlock_wrlock(&runs_lock);
    for (uint32_t i = 0; !was_under_way && i < runs_used; i++) {
        if (runs[i].run != run) continue;
        leave(&runs[i]);
        was_under_way = true;
    }
    (void)pthread_rwlock_unlock(&runs_lock);
    return was_under_way;
}

static void clear_runs(void)
{
    for (uint32_t i = 0; i < runs_used; i++) {
        tt_fingerprints_abandon(&runs[i].fingerprints);
        runs[i].run = 0;
    }
    atomic_store(&tt_runs_hooked, 0);
    next_epoch();
}

void tt_lanes_stop(void)
{
    (void)pthread_rwlock_wrlock(&runs_lock);
    clear_runs();
    (void)pthread_rwlock_unlock(&runs_lock);
}

void tt_lanes_reset(void)
{
    atomic_fetch_add(&tt_lanes_era, 1);
    atomic_store(&run_was_refused, false);
    atomic_store(&tt_lane_ask_after, UINT64_MAX);
    atomic_store(&tt_lane_wait_least, UINT64_MAX);
    for (uint32_t i = 0; i < PROCESSORS / 64; i++)
        atomic_store(&processors[i], 0);
}

void tt_lanes_in_child(void)
{
    const pthread_rwlock_t fresh = PTHREAD_RWLOCK_INITIALIZER;
    runs_lock = fresh;
    tt_faults_close(&tt_lane_self.faults);
    close_counts(&tt_lane_self.counts);
    memset(&tt_lane_self, 0, sizeof tt_lane_self);
    clear_runs();
}

static void leave_ring(void *argument)
{
    /* The thread ends: its last record is complete, and the ring is free for another thread. */
    tt_lane *l = &tt_lane_self;
    (void)argument;
    tt_ring *ring = l->ring;
    if (l->under_way && !l->under_way->release) end_op(l, tt_ticks());
    tt_faults_close(&l->faults);
    close_counts(&l->counts);
    tt_tokens_thread_ends();
    memset(l, 0, sizeof *l);
    if (ring) atomic_store_explicit(&ring->owner, 0, memory_order_release);
}

static void make_key(void)
{
    has_key = pthread_key_create(&key, leave_ring) == 0;
}

/* Forgets what belonged to an earlier recorder, whose memory stays. */
static void renew(tt_lane *l)
{
    const uint32_t now = atomic_load_explicit(&tt_lanes_era, memory_order_acquire);
    if (l->era == now) return;
    tt_faults_close(&l->faults);
    close_counts(&l->counts);
    memset(l, 0, sizeof *l);
    l->era = now;
}

static uint32_t count_processors(void)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < PROCESSORS / 64; i++)
        n += (uint32_t)__builtin_popcountll(atomic_load(&processors[i]));
    return n;
}

/* Notes on which processors the threads that compute may run. */
static void note_processors(tt_recorder *r)
{
    cpu_set_t may;
    char text[16];
    uint32_t n, told = 0;
    bool grew = false;
    if (sched_getaffinity(0, sizeof may, &may) != 0) return;
    for (uint32_t i = 0; i < PROCESSORS / 64; i++) {
        uint64_t bits = 0;
        for (uint32_t k = 0; k < 64; k++)
            bits |= (uint64_t)(CPU_ISSET(64 * i + k, &may) != 0) << k;
        grew |= (bits & ~atomic_fetch_or(&processors[i], bits)) != 0;
    }
    /* Again if other threads have added some: whoever writes last has all. */
    while (grew && (n = count_processors()) != told) {
        (void)snprintf(text, sizeof text, "%" PRIu32, n);
        tt_process_environment(r, "usable_processors", text);
        told = n;
    }
}

bool tt_lane_claim_ring(tt_lane *l)
{
    renew(l);
    if (l->ring) return true;
    tt_recorder *r = tt_process_recorder_if_open();
    if (!r) return false;
    tt_area_map *map = tt_recorder_area(r);
    uint32_t thread = tt_owner_thread();
    /* Without a key the ring would never be released at the thread's end. */
    tt_ring *ring = has_key ? tt_area_claim(map, thread) : NULL;
    if (!ring) return false;
    uint32_t index = (uint32_t)(ring - map->rings);
    /* With --faults, the counters already hold the CPU time of each op. */
    const uint64_t per_us = map->area->tick_hz / 1000000u;
    atomic_store_explicit(&ticks_per_us, per_us, memory_order_relaxed);
    if (per_us)
        atomic_store_explicit(&tt_lane_wait_least, per_us * WAIT_MIN_US, memory_order_relaxed);
    if (!tt_capture_options.faults && per_us)
        atomic_store_explicit(&tt_lane_ask_after, per_us * ASK_AFTER_US, memory_order_relaxed);
    tt_area_populate(map, index);
    l->ring = ring;
    l->slots = tt_area_slots(map, index);
    l->mask = map->area->ring_records - 1;
    l->head = atomic_load(&ring->head);
    l->room = atomic_load(&ring->tail) + map->area->ring_records;
    (void)pthread_setspecific(key, l);
    tt_bytes payload;
    tt_bytes_init(&payload, 64);
    tt_meta_put_ring(&payload, &(tt_meta_ring){index, thread, tt_ticks()});
    (void)tt_process_put(r, TT_META_RING, &payload);
    note_processors(r);
    /* Claimed now rather than when first needed: other threads might wait for this one then. */
    if (tt_lane_ask_ticks() != UINT64_MAX || tt_capture_options.faults)
        (void)tt_lane_claim_details(l);
    return true;
}

void tt_lanes_prepare(void)
{
    (void)pthread_once(&key_once, make_key);
}

static active_run *run_of(const struct ggml_tensor *op)
{
    for (uint32_t i = 0; i < runs_used; i++) {
        if (!runs[i].run) continue;
        for (uint32_t k = 0; k < runs[i].n_nodes; k++)
            if (runs[i].nodes[k] == op) return &runs[i];
    }
    return NULL;
}

bool tt_lane_attach(tt_lane *l, const struct ggml_tensor *op)
{
    tt_recorder *r = tt_process_recorder_if_open();
    if (!r) {
        l->fingerprints = NULL;
        return false;
    }
    /* Without a ring the ops are still followed, and counted. */
    (void)tt_lane_claim(l);
    bool is_new = false, records = false;
    uint32_t node = 0;
    /* While the lock is held no run ends, so its nodes may be read. */
    (void)pthread_rwlock_rdlock(&runs_lock);
    active_run *run = run_of(op);
    if (run) {
        is_new = l->run != run->run;
        if (is_new) {
            let_go(l);
            l->run = run->run;
            l->nodes = run->nodes;
            l->n_nodes = run->n_nodes;
            l->cursor = 0;
            l->tracepoints = run->tracepoints.list;
            l->n_tracepoints = run->tracepoints.n;
            l->unseen = atomic_load_explicit(&barriers_are_unseen, memory_order_relaxed);
            l->watched =
                (l->n_tracepoints > 0 || tt_capture_options.faults) && tt_lane_claim_details(l);
            if (!l->watched) l->n_tracepoints = 0;
            l->is_early = !l->unseen && atomic_load(&early_runs) < EARLY_RUNS &&
                          atomic_fetch_add(&early_runs, 1) < EARLY_RUNS;
            l->n_early = 0;
            l->watched |= l->unseen || l->is_early;
            l->fingerprints = run->fingerprints.any ? &run->fingerprints : NULL;
            l->pending = 0;
            if (l->fingerprints) (void)tt_lane_claim_details(l);
            records = records_between(run, op, &node);
        }
        l->epoch = atomic_load(&tt_runs_epoch);
    }
    (void)pthread_rwlock_unlock(&runs_lock);
    if (is_new) {
        /* System calls: a run that begins or ends does not wait for them. */
        tt_faults_count(&l->faults, TT_FAULTS_OF_THREAD);
        const uint64_t now = tt_ticks();
        /* What the thread did between its computations is none of theirs. */
        if (l->details.ring && is_due(l, now, AFRESH_AFTER_US))
            count(l, now, l->run, node, 0, records ? TT_DETAIL_BETWEEN : TT_DETAIL_NONE);
    }
    if (!run) {
        l->fingerprints = NULL;
        l->run = 0; /* if it is found later, everything is looked up again */
        /* It may be of a graph that was being computed when recording began. */
        if (!tt_process_is_late() || atomic_load(&run_was_refused)) tt_lane_count_lost();
    }
    return run != NULL;
}

void tt_lane_look_again(tt_lane *l)
{
    bool is_under_way = false;
    (void)pthread_rwlock_rdlock(&runs_lock);
    for (uint32_t i = 0; !is_under_way && i < runs_used; i++)
        is_under_way = runs[i].run == l->run;
    (void)pthread_rwlock_unlock(&runs_lock);
    if (!is_under_way) let_go(l);
}

bool tt_lane_claim_details(tt_lane *l)
{
    if (l->details.ring) return true;
    tt_recorder *r = l->ring ? tt_process_recorder_if_open() : NULL;
    if (!r) return false;
    tt_area_map *map = tt_recorder_area(r);
    return tt_detail_writer_begin(&l->details, map, (uint32_t)(l->ring - map->rings));
}

/* The values are the same for all threads, so the first one copies them. */
static void copy_values(tt_lane *l, uint32_t node)
{
    while (l->n_tracepoints && l->tracepoints->node <= node) {
        const tt_tracepoint *t = l->tracepoints;
        if (t->node == node && t->values->data)
            tt_tracepoint_copy(t, t->values->data, tt_tracepoint_stride(t), l->run, &l->details);
        l->tracepoints++;
        l->n_tracepoints--;
    }
}

static void keep_early(tt_lane *l, bool fresh)
{
    if (l->open)
        l->early[l->n_early++] = (tt_early_op){l->head - 1, fresh ? l->open->start : tt_ticks()};
    l->is_early = l->open && l->n_early < TT_LANE_EARLY;
    /* From now on details are not needed for this reason. */
    if (!l->is_early)
        l->watched =
            l->unseen || (l->details.ring && (l->n_tracepoints > 0 || tt_capture_options.faults));
}

void tt_lane_watch(tt_lane *l, uint32_t node, uint32_t lane, bool fresh)
{
    if (l->is_early) keep_early(l, fresh);
    if (lane == 0 && l->n_tracepoints) copy_values(l, node);
    if (tt_capture_options.faults && l->open && l->details.ring) {
        /* While an op's counters are open, the thread has no other detail: it is read now. */
        const tt_op_record *before = &l->slots[(l->head - 2) & l->mask];
        if (l->head >= 2) put_waits(l, before);
        if (l->head >= 2 && is_due(l, l->open->start, LONG_OFF_NS / 1000u))
            count(l, l->open->start, before->run, tt_op_node(before), tt_op_lane(before),
                  before->run == l->run ? TT_DETAIL_THREAD : TT_DETAIL_NONE);
        tt_faults_begin(&l->faults, &l->details, l->run, node, lane, fresh);
    } else {
        l->faults.open = NULL;
    }
    if (!l->unseen) return;
    l->under_way = l->open;
    l->open = NULL;
}

/* Whether `op` is the next computed node from node index `after` on. Otherwise the engine has
 * computed something outside the hooks, which may have overwritten the output. */
static bool comes_next(const tt_lane *l, uint32_t after, const struct ggml_tensor *op)
{
    while (after < l->n_nodes && l->nodes[after] != op) {
        if (tt_graphs_executes(l->nodes[after], l->fingerprints->marked)) return false;
        after++;
    }
    return after < l->n_nodes;
}

/* Whether no computed node follows. */
static bool comes_last(const tt_lane *l, uint32_t after)
{
    while (after < l->n_nodes && !tt_graphs_executes(l->nodes[after], l->fingerprints->marked))
        after++;
    return after >= l->n_nodes;
}

void tt_lane_take(const struct ggml_compute_params *params, const struct ggml_tensor *op,
                  const struct ggml_tensor *last)
{
    tt_lane *l = &tt_lane_self;
    uint32_t node = l->pending, run = l->run;
    if (!node) return;
    l->pending = 0;
    /* Other runs began or ended since: check that this one is still the same. */
    if (l->epoch != atomic_load_explicit(&tt_runs_epoch, memory_order_acquire) &&
        (!tt_lane_attach(l, op) || l->run != run))
        return;
    if (!l->fingerprints || !comes_next(l, node, op)) return;
    const tt_next_op next = {op, last};
    uint32_t nth = params->nth > 0 ? (uint32_t)params->nth : 1;
    uint64_t release = l->release;
    end_op(l, release ? release : tt_ticks());
    /* The time this took belongs to no op. */
    if (!tt_fingerprints_take(l->fingerprints, l->nodes[node - 1], run, node - 1,
                              (uint32_t)params->ith, nth, &next, &l->details))
        l->release = release;
}

void tt_lane_expect(const struct ggml_tensor *op)
{
    tt_lane *l = &tt_lane_self;
    /* tt_lane_begin has looked up the run. Runs that began or ended since must not matter: all
     * threads must decide alike, or some would wait. */
    if (!l->fingerprints) return;
    uint32_t node = l->cursor ? l->cursor - 1 : 0;
    while (node < l->n_nodes && l->nodes[node] != op)
        node++;
    if (node < l->n_nodes && l->fingerprints->wanted[node]) l->pending = node + 1;
}

void tt_lane_take_last(uint32_t run)
{
    tt_lane *l = &tt_lane_self;
    uint32_t node = l->pending;
    l->pending = 0;
    if (!node || l->run != run) return;
    if (l->epoch != atomic_load_explicit(&tt_runs_epoch, memory_order_acquire) &&
        (!tt_lane_attach(l, l->nodes[node - 1]) || l->run != run))
        return;
    if (!l->fingerprints || !comes_last(l, node)) return;
    (void)tt_fingerprints_take(l->fingerprints, l->nodes[node - 1], l->run, node - 1, 0, 1, NULL,
                               &l->details);
}

void tt_lane_count_lost(void)
{
    tt_recorder *r = tt_process_recorder_if_open();
    if (r)
        atomic_fetch_add_explicit(&tt_recorder_area(r)->area->counts.ops_unresolved, 1,
                                  memory_order_relaxed);
    tt_lane_self.open = NULL;
    tt_lane_self.release = 0;
}

bool tt_lane_make_room(tt_lane *l)
{
    return tt_ring_make_room(l->ring, l->head, l->mask + 1, &l->room, &l->dropped_at);
}
