/* How close a run by `tensortrace boost` came to what is possible: the two bounds of `whatif`, for
 * the pool's memory and a disk. */
#ifndef TT_ANALYZE_POOL_BOUNDS_H
#define TT_ANALYZE_POOL_BOUNDS_H

#include "analyze/pool.h"
#include "analyze/pool_time.h"
#include "analyze/reads.h"

#include <stdbool.h>
#include <stdint.h>

/* Of the generated batches after the first one. Rates are tokens per second of the batches'
 * time. */
typedef struct tt_pool_bounds {
    bool known; /* there are such batches, and reads */
    uint64_t tokens;
    double disk_bytes_per_s;
    bool disk_given;
    double rate;            /* observed */
    double at_most_rate;    /* everything is read as early as it can be known */
    double overlap_rate;    /* the experts are also known in advance */
    double predicted_bytes; /* read per token, in the simulation of boost with lru */
} tt_pool_bounds;

/* reads: of the trace, or of its first batches. disk_bytes_per_s, if 0, is found in the reads: a
 * burst is what is read while something is; of those of generated batches and at least 1 MiB it is
 * the 90th percentile, since slower ones had to wait for a processor. Waits for reads are not
 * computing: they are left out of the bounds. */
tt_status tt_pool_bounds_find(tt_pool_bounds *b, const tt_reads *reads, const tt_pool_report *p,
                              const tt_pool_time *t, double disk_bytes_per_s, tt_error *err);

#endif
