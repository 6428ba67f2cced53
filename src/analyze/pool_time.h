/* Reads and size of the pool of `tensortrace boost` over time: the reads in an interval, how full
 * the pool was, when threads waited for a read. For drawings: the size of each result depends on
 * the request, not on the trace. */
#ifndef TT_ANALYZE_POOL_TIME_H
#define TT_ANALYZE_POOL_TIME_H

#include "model/model.h"

#include <stddef.h>
#include <stdint.h>

/* Simultaneous reads that are distinguished; further ones share the last slot. */
#define TT_POOL_SLOTS_MAX 32u
#define TT_POOL_BUCKETS_MAX 4096u

/* A read, ns since the trace's zero. */
typedef struct tt_pool_span {
    double begin_ns, end_ns;
    double latest_ns; /* the latest end of this and all earlier ones */
    uint32_t read;    /* in tt_model.pool_reads */
    uint8_t slot;     /* reads of one slot do not overlap */
} tt_pool_span;

/* At least one thread waited at the start of an op: attributed to the read that ended last, of
 * those awaited. */
typedef struct tt_pool_pause {
    double begin_ns, end_ns;
    uint32_t read;
} tt_pool_pause;

/* The end of a computation. */
typedef struct tt_pool_moment {
    double ns;
    uint64_t present_bytes, budget_bytes;
} tt_pool_moment;

typedef struct tt_pool_time {
    const tt_model *m;
    tt_pool_span *reads;     /* by start */
    tt_pool_pause *pauses;   /* in time order, disjoint */
    tt_pool_moment *moments; /* by time; the first may be that of the first request: empty */
    uint32_t n_reads, n_pauses, n_moments;
    uint32_t slots;    /* in use */
    double reading_ns; /* during which something was read */
} tt_pool_time;

/* Freed with tt_pool_time_free, also after an error (TT_E_FORMAT: no clock). Immutable then. */
tt_status tt_pool_time_find(tt_pool_time *t, const tt_model *m, tt_error *err);
void tt_pool_time_free(tt_pool_time *t);

/* Reads that may overlap [from, to): *first .. *end - 1; skip those that end before `from`. */
void tt_pool_time_reads(const tt_pool_time *t, double from_ns, double to_ns, uint32_t *first,
                        uint32_t *end);

typedef struct tt_pool_bin {
    /* The maximum, interpolated linearly between known values. NAN: before the first and after the
     * last. */
    double present_bytes;
    double budget_bytes;
    double read_bytes[TT_READ_CAUSES]; /* a read's bytes are spread evenly over its time */
    double pause_ns[TT_READ_CAUSES];   /* of the pauses: of the read that was awaited */
} tt_pool_bin;

/* n bins, 1 to TT_POOL_BUCKETS_MAX, from from_ns to to_ns (finite, from < to). */
tt_status tt_pool_time_bins(const tt_pool_time *t, double from_ns, double to_ns, uint32_t n,
                            tt_pool_bin *bins, tt_error *err);

#endif
