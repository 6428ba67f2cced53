/* The time that threads were off CPU while they worked on ops, or waited there for others. */
#ifndef TT_ANALYZE_JOIN_H
#define TT_ANALYZE_JOIN_H

#include "model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A share of the threads' time in ops from which it is worth reporting. */
#define TT_OFF_CPU_MUCH 0.05

/* Of one run. Zero-filled is empty; memory is reused for each run. */
typedef struct tt_off_cpu {
    bool known;        /* else nothing was observed of its ops */
    bool inside_known; /* likewise, of waits inside them */
    tt_detail *list;   /* OFF_CPU, FAULTS, THREAD, BETWEEN, WAIT_INSIDE, by ascending node, lane,
                          kind */
    size_t n;
    size_t capacity;
    double ns_per_tick;
} tt_off_cpu;

/* Reads details, which another thread must not do at the same time. */
tt_status tt_off_cpu_load(tt_off_cpu *o, const tt_model *m, const tt_run *run, tt_error *err);
/* How long a thread waited for others at barriers inside an op, ticks. */
typedef struct tt_waits_inside {
    uint64_t ticks;
    uint64_t delay; /* of these, it was ready to run, but had no processor */
} tt_waits_inside;

/* For an op on a lane, which worked busy_ticks there (start to arrive): ticks, and (inside may be
 * NULL) other times in which it waited inside the op; together at most busy_ticks. */
uint64_t tt_off_cpu_ticks(const tt_off_cpu *o, uint32_t node, uint32_t lane, uint64_t busy_ticks,
                          tt_waits_inside *inside);
/* Of the time off CPU that ended with the op on that lane, how long the thread was ready to run but
 * had no processor: the kernel's count since the thread's last reading, so also of ops before.
 * False: it was not read there. */
bool tt_off_cpu_delay(const tt_off_cpu *o, uint32_t node, uint32_t lane, uint64_t *ticks);
/* The share of the threads' own work that was in the kernel, by their counts in the run; 0 if there
 * are none. */
double tt_off_cpu_kernel_share(const tt_off_cpu *o);
void tt_off_cpu_free(tt_off_cpu *o);

/* The records of a run, with the lanes of each op joined. */

/* An executed op over its lanes. Ticks. */
typedef struct tt_joined {
    uint64_t start;   /* the first lane's */
    uint64_t arrive;  /* the last lane's: all work is done */
    uint64_t release; /* the last lane's */
    uint64_t busy;    /* arrive - start, summed over lanes */
    uint64_t wait;    /* release - arrive, summed over lanes */
    uint64_t off_cpu; /* of busy, off CPU; 0 if not observed */
    uint64_t inside;  /* of busy, waiting at barriers inside the op; likewise */
    /* Of the lane that arrived last, for which the others waited: */
    uint64_t last_start, last_off_cpu;
    tt_waits_inside last_inside;
    /* The longest that another lane was off CPU, or began the op later. */
    uint64_t other_off;
    uint32_t last_lane, other_lane;
    uint32_t inner_lane;   /* of the others, that waited least inside the op: the last one there */
    uint64_t inner_inside; /* private: its wait + 1; 0: none yet */
    uint32_t stamp;        /* private: number of its run */
    uint32_t lanes;        /* records */
    uint8_t covers;
    bool open; /* the end was not observed on some lane */
    bool bent; /* tt_times_are_bent on some lane */
} tt_joined;

/* What the threads did themselves. */
static inline uint64_t tt_joined_work(const tt_joined *op)
{
    return op->busy - op->off_cpu - op->inside;
}

/* Of the last lane's waits inside the op: for one that was off CPU, or because it was itself. */
static inline uint64_t tt_joined_held(const tt_joined *op)
{
    const uint64_t off = op->other_off + op->last_inside.delay;
    return off < op->last_inside.ticks ? off : op->last_inside.ticks;
}

/* Zero-filled is empty and ready. Memory is reused for each run. */
typedef struct tt_join {
    const tt_graph *graph; /* of the joined run; NULL: unknown */
    tt_joined *ops;        /* by node: only the `touched` ones belong to this run */
    uint32_t *touched;     /* executed nodes, in the order of the first lane */
    uint32_t n_touched;
    uint32_t stamp;
    size_t capacity;
    tt_piece_ops *lanes; /* private: one per piece */
    size_t lanes_capacity;
    tt_off_cpu off_cpu; /* of the joined run */
    uint64_t orphan;    /* records, over all runs, without a known graph or node */
} tt_join;

/* Joins the run (index in m->runs). */
tt_status tt_join_run(tt_join *j, const tt_model *m, uint32_t run, tt_error *err);
void tt_join_free(tt_join *j);

/* The ticks between which times of the run's records lie. */
typedef struct tt_run_ticks {
    uint64_t first, last;
} tt_run_ticks;

/* shift: the piece's tick_shift. */
static inline tt_run_ticks tt_run_ticks_of(const tt_run *r, unsigned shift)
{
    tt_run_ticks t = {0, UINT64_MAX};
    /* Ops that programs report themselves may be outside of their run's times. */
    if (r->observed == TT_OBSERVED_PROGRAM) return t;
    t.first = r->begin_ticks >> shift << shift;
    if (r->ended) t.last = r->end_ticks | ((UINT64_C(1) << shift) - 1);
    return t;
}

/* Whether a record with an end has impossible times: they fall, or are outside of its run. */
static inline bool tt_times_are_bent(tt_run_ticks t, uint64_t start, uint64_t arrive,
                                     uint64_t release)
{
    return start > arrive || arrive > release || start < t.first || arrive > t.last;
}

/* Time of the op: from the first lane's start to the end of the last lane's work. 0 if its end was
 * not observed, or the times are impossible. */
static inline uint64_t tt_joined_ticks(const tt_joined *op)
{
    return op->arrive > op->start ? op->arrive - op->start : 0;
}

#endif
