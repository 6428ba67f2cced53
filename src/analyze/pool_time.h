/* What `tensortrace boost` read and held, over time: which reads are in a stretch of it, how full
 * the pool was, when threads stood still for a read. For pictures: each answer is as large as what
 * is asked for, however long the trace is. */
#ifndef TT_ANALYZE_POOL_TIME_H
#define TT_ANALYZE_POOL_TIME_H

#include "model/model.h"

#include <stddef.h>
#include <stdint.h>

/* Reads at one time that are told apart; what goes beyond shares the last place. */
#define TT_POOL_SLOTS_MAX 32u
#define TT_POOL_BUCKETS_MAX 4096u

/* A read, ns since the trace's zero. */
typedef struct tt_pool_span {
    double begin_ns, end_ns;
    double latest_ns; /* the latest end of this and all before it */
    uint32_t read;    /* in tt_model.pool_reads */
    uint8_t slot;     /* reads of one slot follow each other */
} tt_pool_span;

/* At least one thread waited at the start of an op: of the reads that were awaited then, for the
 * one that ended last. */
typedef struct tt_pool_pause {
    double begin_ns, end_ns;
    uint32_t read;
} tt_pool_pause;

/* When a computation was over. */
typedef struct tt_pool_moment {
    double ns;
    uint64_t present_bytes, budget_bytes;
} tt_pool_moment;

typedef struct tt_pool_time {
    const tt_model *m;
    tt_pool_span *reads;     /* by begin */
    tt_pool_pause *pauses;   /* one behind the other */
    tt_pool_moment *moments; /* by time; the first may be that of the first request: empty */
    uint32_t n_reads, n_pauses, n_moments;
    uint32_t slots;    /* that are used */
    double reading_ns; /* in which something was read */
} tt_pool_time;

/* Freed with tt_pool_time_free, also after an error (TT_E_FORMAT: no clock). Then immutable. */
tt_status tt_pool_time_find(tt_pool_time *t, const tt_model *m, tt_error *err);
void tt_pool_time_free(tt_pool_time *t);

/* Reads that may have time in [from, to): *first .. *end - 1, of which those that end before `from`
 * are to be passed over. */
void tt_pool_time_reads(const tt_pool_time *t, double from_ns, double to_ns, uint32_t *first,
                        uint32_t *end);

typedef struct tt_pool_bin {
    /* The most; between two moments at which it is known it is taken to change evenly. NAN: before
     * the first and behind the last one. */
    double present_bytes;
    double budget_bytes;
    double read_bytes[TT_READ_CAUSES]; /* a read's bytes are spread evenly over its time */
    double pause_ns[TT_READ_CAUSES];   /* of the pauses: of the read that was waited for */
} tt_pool_bin;

/* n bins, 1 to TT_POOL_BUCKETS_MAX, from from_ns to to_ns (finite, from < to). */
tt_status tt_pool_time_bins(const tt_pool_time *t, double from_ns, double to_ns, uint32_t n,
                            tt_pool_bin *bins, tt_error *err);

#endif
