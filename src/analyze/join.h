/* For how long threads were on no processor while they worked on ops. */
#ifndef TT_ANALYZE_JOIN_H
#define TT_ANALYZE_JOIN_H

#include "model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* From this share of the threads' time in ops on, people are told of it. */
#define TT_OFF_CPU_MUCH 0.05

/* What is known of one run. Zero-filled is empty; memory is kept from run to run. */
typedef struct tt_off_cpu {
    bool known;      /* else nothing was observed of its ops */
    tt_detail *list; /* OFF_CPU and FAULTS, by ascending node, lane, kind */
    size_t n;
    size_t capacity;
    double ns_per_tick;
} tt_off_cpu;

/* Not of another one's run at the same time: reads details. */
tt_status tt_off_cpu_load(tt_off_cpu *o, const tt_model *m, const tt_run *run, tt_error *err);
/* Of an op on a lane, whose own time there (start to arrive) was busy_ticks: ticks, at most as
 * many.
 */
uint64_t tt_off_cpu_ticks(const tt_off_cpu *o, uint32_t node, uint32_t lane, uint64_t busy_ticks);
void tt_off_cpu_free(tt_off_cpu *o);

/* One run's records, all lanes of an op put together. */

/* An executed op over its lanes. Ticks. */
typedef struct tt_joined {
    uint64_t start;   /* the first lane's */
    uint64_t arrive;  /* the last lane's: all work is done */
    uint64_t release; /* the last lane's */
    uint64_t busy;    /* arrive - start, summed over lanes */
    uint64_t wait;    /* release - arrive, summed over lanes */
    uint64_t off_cpu; /* of busy, what the threads were on no processor; 0 when not observed */
    uint32_t stamp;   /* private: of the run this belongs to */
    uint32_t lanes;   /* records */
    uint8_t covers;
    bool open; /* the end was not seen on some lane */
    bool bent; /* tt_times_are_bent on some lane */
} tt_joined;

/* Zero-filled is empty and ready. Memory is kept from run to run. */
typedef struct tt_join {
    const tt_graph *graph; /* of the joined run; NULL: it is not known */
    tt_joined *ops;        /* by node: only the `touched` ones belong to this run */
    uint32_t *touched;     /* nodes that were executed, in the order of the first lane */
    uint32_t n_touched;
    uint32_t stamp;
    size_t capacity;
    tt_piece_ops *lanes; /* private: one a piece */
    size_t lanes_capacity;
    tt_off_cpu off_cpu; /* of the joined run */
    uint64_t orphan;    /* records, over all runs, without a known graph or node */
} tt_join;

/* Joins the run with that index in m->runs. */
tt_status tt_join_run(tt_join *j, const tt_model *m, uint32_t run, tt_error *err);
void tt_join_free(tt_join *j);

/* Whether a record with an end has times that cannot be: they fall, or lie outside of its run.
 * `shift`: the piece's tick_shift. */
static inline bool tt_times_are_bent(const tt_run *r, unsigned shift, uint64_t start,
                                     uint64_t arrive, uint64_t release)
{
    if (start > arrive || arrive > release) return true;
    /* Ops of programs that tell them themselves are of no run that begins and ends. */
    return r->observed != TT_OBSERVED_PROGRAM &&
           (start >> shift < r->begin_ticks >> shift ||
            (r->ended && arrive >> shift > r->end_ticks >> shift));
}

/* Time of the op: from the first lane that began to the last that had done its work.
 * 0 when its end was not seen, or when the times make no sense. */
static inline uint64_t tt_joined_ticks(const tt_joined *op)
{
    return op->arrive > op->start ? op->arrive - op->start : 0;
}

#endif
