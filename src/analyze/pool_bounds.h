/* How near a run by `tensortrace boost` came to what is possible: the two bounds of `whatif`, for
 * the memory that it had and the rate at which its own reads came. */
#ifndef TT_ANALYZE_POOL_BOUNDS_H
#define TT_ANALYZE_POOL_BOUNDS_H

#include "analyze/pool.h"
#include "analyze/pool_time.h"
#include "analyze/reads.h"

#include <stdbool.h>
#include <stdint.h>

/* Of the generated batches after the first one. Rates are tokens a second of the batches' time. */
typedef struct tt_pool_bounds {
    bool known; /* there are such, and reads */
    uint64_t tokens;
    double disk_bytes_per_s; /* of the reads, while something was read */
    double rate;             /* as it was */
    double at_most_rate;     /* everything is read as early as it can be known */
    double overlap_rate;     /* also the experts are known beforehand */
    double predicted_bytes;  /* that a token reads, by the simulation of boost with lru */
} tt_pool_bounds;

/* reads: of the trace, or of its first batches. What threads waited for reads is no computing: it
 * is left out of the bounds. */
tt_status tt_pool_bounds_find(tt_pool_bounds *b, const tt_reads *reads, const tt_pool_report *p,
                              const tt_pool_time *t, tt_error *err);

#endif
