/* What the wall time of computations was spent on, in parts that add up to it exactly.
 *
 * Several threads share a moment, but a wait is no cause: a thread waits because another one has
 * not arrived. So the time of an op, from its first thread's start to the last one's arrival, is
 * divided by what the thread that arrived last did:
 *
 *     work      its own work, as much as the threads had on average: with evenly divided work the
 *               op could not end sooner; of whole batches, what of that was in the kernel is apart
 *     wait      for it: its work beyond that average, and a short time before it began the op
 *     processor it was ready to run, but another one had the processor; of whole batches, what a
 *               quota of processor time withheld (throttled) is apart
 *     stopped   it was not running while the recorder's own thread was not either, though it had
 *               nothing to wait for: a signal, a debugger, a freezer, the machine
 *     off CPU   it was not running, and why is not known; also when it began the op late, because a
 *               running thread leaves its barrier at once
 *     disk      it was not running while it had major page faults or read from a device, or it
 *               waited for a read of `boost`
 *
 * The barrier behind an op, until a thread is released, is `wait`, too; if that takes longer than a
 * barrier can, no thread was running. What is left of a batch is between ops: before the first,
 * behind the last, between two. */
#ifndef TT_ANALYZE_WHY_PARTS_H
#define TT_ANALYZE_WHY_PARTS_H

#include "analyze/join.h"
#include "analyze/over.h"
#include "base/amount.h"
#include "model/model.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum tt_part_kind {
    TT_PART_WORK,
    TT_PART_KERNEL,
    TT_PART_WAIT,
    TT_PART_PROCESSOR,
    TT_PART_THROTTLED,
    TT_PART_STOPPED,
    TT_PART_OFF_CPU,
    TT_PART_DISK,
    TT_PART_BETWEEN_OPS,
    TT_PART_UNRECORDED,      /* computations whose ops are not in the trace */
    TT_PART_BETWEEN_BATCHES, /* of whole runs alone: in the program */
    TT_PART_IDLE,            /* likewise, of that: the thread that computes slept */
    TT_PARTS
} tt_part_kind;

const char *tt_part_name(tt_part_kind part);  /* "work", "off_cpu" */
const char *tt_part_title(tt_part_kind part); /* "own work", "off CPU" */

typedef struct tt_parts {
    uint64_t ticks[TT_PARTS];
} tt_parts;

static inline uint64_t tt_parts_sum(const tt_parts *p)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < TT_PARTS; i++)
        sum += p->ticks[i];
    return sum;
}

/* What is no part of an undisturbed run: the kernel's work, and what threads did not run for. */
uint64_t tt_parts_lost(const tt_parts *p);

/* Linux samples whether a thread is in user mode or in the kernel at its timer's ticks. Where they
 * are too few to tell the kernel's part of these, adds it to own work, and to usual_ns (may be
 * NULL) likewise: false. */
bool tt_parts_tell_kernel(double part_ns[TT_PARTS], double *usual_ns);

/* An executed op. */
typedef struct tt_parts_op {
    uint32_t run; /* in tt_model.runs */
    uint32_t node;
    bool first; /* of its run */
    const tt_joined *times;
    uint32_t waited_lane;        /* for which threads waited most */
    tt_parts parts;              /* of its time, without barrier and gap */
    uint64_t gap_ticks;          /* since the op before (the batch's begin) ended, in no op */
    uint64_t stuck_ticks;        /* all threads were in the barrier before it, but none left it */
    uint64_t all_off_ticks;      /* of its time, surely off CPU on all threads at once */
    tt_amount major, read_bytes; /* of all its threads: page faults, and what they read */
} tt_parts_op;

#define TT_PARTS_LANES                                                                             \
    16u /* the threads whose counts are summed up; further ones count as none                      \
         */

/* Where a batch's time has been divided up to. */
typedef struct tt_parts_state {
    tt_parts parts;
    uint64_t begin, at;  /* ticks */
    uint64_t barrier_to; /* the release behind the last op */
    bool seen;           /* whether any run was: else all of it is unrecorded */
    bool remote;         /* runs of its graph may be of another process: not recorded */
    uint64_t last_gap;   /* behind the last op, after tt_parts_end */
    uint64_t stuck;      /* private: of the last barrier; and how long that may take */
    uint64_t barrier_most;
    uint64_t delay_us[TT_PARTS_LANES]; /* private: of each thread, waiting for a processor */
    uint64_t delays_us, asleep_us;     /* private: of all threads */
    uint64_t system_us,
        elapsed_us;   /* private: of all threads, where the kernel's counts were read */
    uint64_t idle_us; /* the thread that computes slept before runs */
} tt_parts_state;

typedef void tt_parts_visit(void *context, const tt_parts_op *op);

typedef struct tt_parts_walker tt_parts_walker;

/* NULL if out of memory. Needs a clock; m must outlive it. */
tt_parts_walker *tt_parts_open(const tt_model *m);
void tt_parts_close(tt_parts_walker *w);
/* What the trace tells; else the time is in other parts. */
bool tt_parts_off_cpu_known(const tt_parts_walker *w); /* else in work */
bool tt_parts_disk_known(const tt_parts_walker *w);    /* else in off CPU or work */
bool tt_parts_delay_known(const tt_parts_walker *w);   /* else in off CPU */

void tt_parts_begin(tt_parts_state *s, uint64_t begin_ticks);
/* Divides the time up to the last op of a run (index in m->runs), which began after those before.
 * visit may be NULL. */
tt_status tt_parts_run(tt_parts_walker *w, uint32_t run, tt_parts_state *s, tt_parts_visit *visit,
                       void *context, tt_error *err);
/* batch: its index, or TT_NONE. */
void tt_parts_end(const tt_parts_walker *w, uint32_t batch, tt_parts_state *s, uint64_t end_ticks);
/* A whole batch (index in m->batches), which has ended. */
tt_status tt_parts_batch(tt_parts_walker *w, uint32_t batch, tt_parts_state *s,
                         tt_parts_visit *visit, void *context, tt_error *err);
/* After each run of the model; alone: of one outside of batches, else NULL. */
typedef tt_status tt_parts_after(void *context, uint32_t run, const tt_parts_state *alone,
                                 tt_error *err);
/* All batches in one pass over the runs, into one state each. visit
 * and after may be NULL. */
tt_status tt_parts_batches(tt_parts_walker *w, tt_parts_state *batches, tt_parts_visit *visit,
                           tt_parts_after *after, void *context, tt_error *err);

#endif
