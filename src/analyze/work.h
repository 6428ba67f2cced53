/* How the threads spent their time, and what they computed: one walk over all op records.
 *
 * Time is the threads' time. While a batch is computed, each of its threads is always in one of
 * three states: it works on an op (compute: from the op's start to the thread's arrival at its
 * barrier), it waits there for the others (wait: from arrival to release), or it is in no op (idle:
 * before its first one, after its last one, between two). For a batch, the three add up to its
 * threads x its time. An op's own, inner barriers are part of its compute. */
#ifndef TT_ANALYZE_WORK_H
#define TT_ANALYZE_WORK_H

#include "analyze/flops.h"
#include "model/arena.h"
#include "model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Further lanes count in the sums, but not in the matrix of waits. */
#define TT_WORK_LANES_MAX 512u
/* Limit of cells; further ones go into cells of the op "(other)". */
#define TT_WORK_CELLS_MAX (1u << 18)

/* All executions of ops of one kind, at one place in the network, in one phase. */
typedef struct tt_work_cell {
    const char *op; /* "MUL_MAT", "RMS_NORM+MUL" */
    const char *category;
    const char *component;
    int32_t layer_id; /* TT_LAYER_NONE: none */
    uint8_t phase;    /* enum tt_phase */
    bool integers;    /* tt_flops_in_integers */
    bool flops_known;
    bool flops_at_most, bytes_at_most;
    uint64_t count;      /* executions, of all threads */
    uint64_t busy_ticks; /* of the threads, summed: compute */
    uint64_t wait_ticks; /* likewise */
    uint64_t
        own_ticks;  /* of busy_ticks, neither off CPU nor waiting inside an op, as far as known */
    uint64_t timed; /* executions with an observed end; of these: */
    uint64_t ticks; /* from the first thread's start to the last one's arrival */
    uint64_t lost_ticks; /* of these, the last one was off CPU, held (tt_joined_held), or in
                            the kernel */
    double flops;        /* 0 unless known */
    double moved_bytes;  /* read and written */
    double weight_bytes; /* of these, of weights */
} tt_work_cell;

/* An interval in which ops were computed: a batch, or a run outside of batches. */
typedef struct tt_work_window {
    uint64_t begin_ticks, end_ticks; /* the end, or (without one) the last observed time */
    uint32_t batch;                  /* in tt_model.batches, or TT_NONE */
    uint32_t lanes;
    uint64_t busy_ticks, wait_ticks;
    bool open; /* its end was not observed */
} tt_work_window;

typedef struct tt_work_lane {
    uint64_t ops;
    uint64_t busy_ticks, wait_ticks;
    uint64_t last; /* how often this lane was the last to arrive, among two or more */
} tt_work_lane;

typedef struct tt_work {
    tt_work_cell *cells;
    size_t n_cells;
    tt_work_window *windows; /* in the order observed */
    size_t n_windows;
    uint32_t n_lanes; /* highest lane + 1, at most TT_WORK_LANES_MAX */
    tt_work_lane lanes[TT_WORK_LANES_MAX];
    /* [waiting lane x n_lanes + lane that arrived last]: ticks. The diagonal is the time of the
     * barrier itself. Present if the trace has at least two lanes. */
    uint64_t *waits;
    uint64_t barriers; /* ops of at least two lanes, all of which ended */
    /* Sums, in ticks: */
    uint64_t busy_ticks, wait_ticks, idle_ticks; /* of threads; they add up to windows x lanes */
    uint64_t off_cpu_ticks;                      /* of busy_ticks, off CPU; if off_cpu_known */
    uint64_t inside_ticks;                       /* likewise, waiting at barriers inside ops */
    bool off_cpu_known;                          /* of all runs with ops */
    uint64_t span_ticks;    /* from the start of the first window to the end of the last */
    uint64_t between_ticks; /* of these, in no window */
    uint64_t overlap_ticks; /* in two windows or more, counted for each but the first */
    uint64_t unknown_lane;  /* records of lanes beyond the limit */
    uint64_t bent_records;  /* tt_times_are_bent: their times are wrong */
    uint64_t open_records;  /* without an end: their time is unknown */
    uint64_t orphan;        /* records without a known run, graph or node: left out */
    tt_arena texts;         /* private */
    size_t cells_capacity;  /* private */
} tt_work;

typedef void tt_work_progress(void *context, uint64_t done, uint64_t total);

/* *work is freed with tt_work_free, also after an error. progress may be NULL. Memory: a cell for
 * each kind and place in the graphs, a window per batch. */
tt_status tt_work_measure(const tt_model *m, tt_work *work, tt_work_progress *progress,
                          void *context, tt_error *err);
void tt_work_free(tt_work *work);

/* Sums of a trace's cells of work (analyze/work.h), and what bounds them on a machine: the points
 * of a roofline. */

/* A sum of cells (analyze/work.h). */
typedef struct tt_rollup {
    const char *key;  /* an op, a part of the network, ... */
    const char *part; /* of points: the part */
    int64_t number;   /* a layer; TT_LAYER_NONE */
    uint8_t phase;
    bool integers, flops_known, flops_at_most, bytes_at_most;
    uint64_t count, timed;
    double compute_ns, wait_ns; /* of threads */
    double work_ns;             /* own work: compute_ns without the time known to be off CPU or
                                   waiting for others inside ops */
    double wall_ns;             /* of the timed ones */
    double quiet_ns;            /* of that, without lost_ticks */
    double flops, moved_bytes, weight_bytes;
} tt_rollup;

typedef struct tt_rollups {
    tt_rollup *list;
    size_t n;
} tt_rollups;

typedef enum tt_rollup_by {
    TT_ROLLUP_PART, /* of the network */
    TT_ROLLUP_OP,
    TT_ROLLUP_LAYER,
    TT_ROLLUP_POINT /* by op, part, phase, and whether it computes with integers */
} tt_rollup_by;

/* Most own work first; layers ascending. Texts belong to work. False if out of memory; out->list is
 * for free() either way. */
bool tt_rollups_of(const tt_work *work, const tt_model *m, tt_rollup_by by, tt_rollups *out);

/* The limits of a machine; 0: unknown. */
typedef struct tt_peaks {
    double bytes_per_s;
    double flops_per_s;
    double int8_ops_per_s; /* 0: flops_per_s applies to all */
} tt_peaks;

typedef enum tt_bound {
    TT_BOUND_UNKNOWN, /* no peaks, or no FLOPs known */
    TT_BOUND_MEMORY,  /* moving its bytes takes longer than computing, at the machine's peak */
    TT_BOUND_COMPUTE,
    TT_BOUND_NEITHER /* it reaches less than a tenth of both */
} tt_bound;

/* What bounds r on a machine with these peaks; *share: how much of the bandwidth or of the
 * computing peak it reaches, whichever is more. Pure. */
tt_bound tt_bound_of(const tt_peaks *e, const tt_rollup *r, double *share);
const char *tt_bound_name(tt_bound bound); /* "memory", "compute", "neither", "unknown" */
/* The peak for what r computes: integers or floats; 0: unknown. */
double tt_peaks_flops(const tt_peaks *e, const tt_rollup *r);

#endif
