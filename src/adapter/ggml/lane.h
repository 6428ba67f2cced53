/* The hot path: what a compute thread does at the start of an op and at a barrier.
 *
 * A thread writes into its own ring. It knows its graph computation ("run") and its position in the
 * run's nodes; both are looked up again only after a run has begun or ended in the process
 * (tt_runs_epoch). */
#ifndef TT_ADAPTER_GGML_LANE_H
#define TT_ADAPTER_GGML_LANE_H

#include "adapter/ggml/abi.h"
#include "adapter/ggml/engine.h"
#include "adapter/ggml/faults.h"
#include "adapter/ggml/fingerprints.h"
#include "adapter/ggml/tracepoints.h"
#include "base/clock.h"
#include "record/area.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define TT_LANE_EARLY 8u
#define TT_LANE_FETCH_AHEAD 8u /* records: four cache lines */

/* The kernel's counts for a thread since it started. */
typedef struct tt_thread_counts {
    uint64_t ticks; /* when they were read; 0: not yet */
    uint64_t wall_us, user_us, system_us, major, switches;
    uint64_t delay_us; /* UINT64_MAX: not observed */
    int delay;         /* descriptor of its file + 1; 0: not opened yet, -1: cannot be */
} tt_thread_counts;

/* One of a thread's first ops in a run. */
typedef struct tt_early_op {
    uint64_t at;    /* its index in the ring */
    uint64_t began; /* unlike its start, not the end of the barrier before */
} tt_early_op;

typedef struct tt_lane {
    tt_op_record *open;               /* the op that a barrier ends; NULL: none */
    uint64_t release;                 /* of the last barrier since `open` began; 0: none yet */
    struct ggml_tensor *const *nodes; /* of the run */
    uint32_t n_nodes;
    uint32_t cursor;         /* the first node that has not started */
    uint32_t epoch;          /* of the last look-up; 0: none */
    bool alone;              /* the run has only this thread: no waits at barriers */
    bool unseen;             /* the engine's barriers between ops do not reach the hooks */
    tt_op_record *under_way; /* then: the op that ends when the next one starts */
    uint32_t run;
    tt_ring *ring;
    tt_op_record *slots;
    uint64_t mask;
    uint64_t head;
    uint64_t room;       /* head may advance to here before the drain's progress is read again */
    uint64_t dropped_at; /* head when the last record was dropped, + 1 */
    /* For details, in runs that have any: */
    bool watched;
    const tt_tracepoint *tracepoints; /* those of the run that are still to come */
    uint32_t n_tracepoints;
    tt_detail_writer details; /* .ring NULL: no memory for them yet */
    tt_fault_counter faults;
    /* The thread's CPU time when last read. */
    uint64_t asked; /* ticks */
    uint64_t wall_ns, cpu_ns;
    uint64_t off_ns;               /* off CPU between the last two readings */
    tt_thread_counts counts;       /* the kernel's, when last read */
    uint64_t waited;               /* at barriers inside ops since then, ticks */
    tt_detail_off_cpu inside;      /* of the current op, likewise; not written yet */
    tt_fingerprints *fingerprints; /* of the run; NULL: it takes none */
    uint32_t pending;              /* node + 1 of the output to capture; 0: none */
    /* While it is unknown whether barriers between ops reach the hooks: */
    bool is_early; /* starts are kept */
    uint32_t n_early;
    uint32_t era; /* of the recorder; see tt_lanes_reset */
    tt_early_op early[TT_LANE_EARLY];
} tt_lane;

extern __thread tt_lane tt_lane_self __attribute__((tls_model("initial-exec")));
extern _Atomic uint32_t tt_runs_epoch;
extern _Atomic uint32_t tt_lanes_era; /* which recorder the threads' rings belong to */
/* A thread reads its CPU time when the last reading is this many ticks old. */
extern _Atomic uint64_t tt_lane_ask_after;
/* A wait at a barrier inside an op of so many ticks is recorded; of one so many times as long the CPU
 * time is worth reading. */
#define TT_LANE_LONG_WAITS 16u
extern _Atomic uint64_t tt_lane_wait_least;
extern _Atomic uint32_t tt_runs_hooked; /* current hooked runs in the process */

/* Call before the program runs, because it may use up the thread-specific keys. */
void tt_lanes_prepare(void);
/* Enters a run so that threads find it by its nodes, whose addresses are copied. token: the
 * batch's number. frame: the caller's stack frame. Drops runs of this thread whose frames were
 * left by an exception or a longjmp. False when there are too many runs. */
bool tt_lanes_run_begin(uint32_t run, struct ggml_tensor *const *nodes, uint32_t n_nodes,
                        uint64_t token, const void *frame, const tt_engine *e);
/* The run's graph has been computed: ends its last ops. Call it on the thread that computed it,
 * before tt_lanes_run_end. */
void tt_lanes_run_over(uint32_t run);
/* False when the run has ended already. */
bool tt_lanes_run_end(uint32_t run);
/* Whether the engine's barriers between ops do not reach the hooks: then an op ends when its thread
 * starts the next one, or with its graph, and its time includes the wait for others. */
bool tt_lanes_waits_are_unseen(void);
/* Stops the recording of ops. */
void tt_lanes_stop(void);
/* A new trace begins: no thread has a ring in it. */
void tt_lanes_reset(void);
/* Call in a forked child: this thread's ring belonged to the parent. */
void tt_lanes_in_child(void);

/* The slow paths of tt_lane_begin. */
/* The thread reached no barrier since it started its previous op, if any, of this run: ends that
 * op. Returns the time. */
uint64_t tt_lane_begin_afresh(tt_lane *l);
bool tt_lane_attach(tt_lane *l, const struct ggml_tensor *op);
bool tt_lane_make_room(tt_lane *l);
/* The op computes nothing or, if `node` is not in the run, is unknown. */
void tt_lane_skip(tt_lane *l, uint32_t node);
/* Reads the thread's CPU time (a system call). op: an op that arrives, which gets the time that the
 * thread was off CPU since the last reading; or NULL. */
void tt_lane_ask(tt_lane *l, uint64_t now, const tt_op_record *op);
/* The last barrier of the current op was not its last: records how long the thread waited there. */
void tt_lane_waited(tt_lane *l);
/* At a barrier, after runs have begun or ended since the last look-up. Drops the current op if
 * its run has ended: then the barrier belongs to another computation, which has started no op
 * here. */
void tt_lane_look_again(tt_lane *l);
/* Gives this thread a ring of the recorder, if it has none. */
bool tt_lane_claim_ring(tt_lane *l);
/* An op of a run with details has started: copies the values of its tracepoints, opens its
 * counters. */
void tt_lane_watch(tt_lane *l, uint32_t node, uint32_t lane, bool fresh);
/* Whether this thread has a ring for details. */
bool tt_lane_claim_details(tt_lane *l);
/* The previous op has ended, and `op`, whose last node is `last`, has not started: processes this
 * thread's share of the output, if selected. All threads of the run get here with the same op. */
void tt_lane_take(const struct ggml_compute_params *params, const struct ggml_tensor *op,
                  const struct ggml_tensor *last);
/* `op` has started, as the last of its nodes: its output may be captured when it ends. */
void tt_lane_expect(const struct ggml_tensor *op);
/* The run's graph has been computed: captures the output of its last op. Call it on the thread that
 * computed it. */
void tt_lane_take_last(uint32_t run);
/* Counts an op that cannot be recorded because this thread has no ring. */
void tt_lane_count_lost(void);

static inline bool tt_lane_claim(tt_lane *l)
{
    return (l->ring && l->era == atomic_load_explicit(&tt_lanes_era, memory_order_acquire)) ||
           tt_lane_claim_ring(l);
}

static inline uint64_t tt_lane_ask_ticks(void)
{
    return atomic_load_explicit(&tt_lane_ask_after, memory_order_relaxed);
}

/* Fetches the cache line for writing. After the ring has wrapped, the line is in the cache of the
 * drain's processor, and a store would wait for it. A hint: processors without the instruction
 * ignore it (Intel SDM, PREFETCHW). */
static inline void tt_lane_fetch(const void *line)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)line));
#else
    __builtin_prefetch(line, 1);
#endif
}

/* Opens a record of `node` that starts at `start`. */
static inline void tt_lane_open(tt_lane *l, uint32_t node, uint32_t lane, uint32_t covers,
                                uint64_t start)
{
    if (__builtin_expect(l->head >= l->room, 0) && !tt_lane_make_room(l)) {
        l->open = NULL;
        l->release = 0;
        return;
    }
    tt_op_record *r = &l->slots[l->head & l->mask];
    r->start = start;
    r->arrive = 0;
    r->release = 0;
    r->run = l->run;
    r->place = tt_op_place(node, lane, covers);
    tt_lane_fetch(&l->slots[(l->head + TT_LANE_FETCH_AHEAD) & l->mask]);
    l->open = r;
    atomic_store_explicit(&l->ring->head, ++l->head, memory_order_release);
}

/* A thread starts the op on its lane; the op also computes `covers` following nodes. */
static inline void tt_lane_begin(const struct ggml_compute_params *params,
                                 const struct ggml_tensor *op, uint32_t covers)
{
    tt_lane *l = &tt_lane_self;
    if (!atomic_load_explicit(&tt_runs_hooked, memory_order_relaxed)) {
        l->open = NULL;
        l->fingerprints = NULL; /* of a run that has ended */
        return;
    }
    if (l->epoch != atomic_load_explicit(&tt_runs_epoch, memory_order_acquire) &&
        !tt_lane_attach(l, op)) {
        l->open = NULL;
        l->release = 0;
        return;
    }
    uint32_t node = l->cursor;
    while (node < l->n_nodes && l->nodes[node] != op)
        node++;
    if (__builtin_expect(node >= l->n_nodes || tt_engine_op_is_empty(op->op), 0)) {
        tt_lane_skip(l, node);
        return;
    }
    l->cursor = node + 1;
    if (__builtin_expect(!l->ring, 0)) {
        tt_lane_count_lost();
        return;
    }
    uint64_t start = l->release;
    bool fresh = start == 0;
    if (__builtin_expect(fresh, 0)) start = tt_lane_begin_afresh(l);
    l->release = 0;
    uint32_t lane = (uint32_t)params->ith & TT_OPS_LANE_MAX;
    l->alone = params->nth == 1;
    tt_lane_open(l, node, lane, covers, start);
    if (__builtin_expect(l->watched, 0)) tt_lane_watch(l, node, lane, fresh);
}

/* The thread arrives at a barrier; returns the time. */
static inline uint64_t tt_lane_arrive(tt_lane *l)
{
    uint64_t now = tt_ticks();
    /* After an earlier barrier of the same op, which was inside it. */
    if (l->release &&
        __builtin_expect(l->release - l->open->arrive >=
                             atomic_load_explicit(&tt_lane_wait_least, memory_order_relaxed),
                         0))
        tt_lane_waited(l);
    __atomic_store_n(&l->open->arrive, now, __ATOMIC_RELAXED);
    if (__builtin_expect(l->watched, 0)) tt_faults_arrive(&l->faults);
    if (__builtin_expect(now - l->asked >= tt_lane_ask_ticks(), 0)) tt_lane_ask(l, now, l->open);
    return now;
}

static inline void tt_lane_release(tt_lane *l, uint64_t now)
{
    __atomic_store_n(&l->open->release, now, __ATOMIC_RELAXED);
    l->release = now;
    if (__builtin_expect(l->watched, 0))
        tt_faults_release(&l->faults, (now - l->open->arrive) / TT_LANE_LONG_WAITS >=
                                          atomic_load_explicit(&tt_lane_wait_least,
                                                               memory_order_relaxed));
    /* A long wait must not count as time off CPU of the next op. */
    if (__builtin_expect(now - l->asked >= tt_lane_ask_ticks(), 0)) tt_lane_ask(l, now, NULL);
}

#endif
