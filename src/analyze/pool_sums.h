/* Sums over some batches of what `tensortrace boost` did. */
#ifndef TT_ANALYZE_POOL_SUMS_H
#define TT_ANALYZE_POOL_SUMS_H

#include "analyze/filter.h"
#include "analyze/pool.h"
#include "analyze/pool_time.h"

#include <stdint.h>

/* Reads of one cause. */
typedef struct tt_pool_cause {
    uint64_t reads, read_bytes, awaited;
    double pause_ns; /* tt_pool_pause; NAN: no clock */
} tt_pool_cause;

typedef struct tt_pool_sums {
    tt_pool_row *rows; /* of the batches that pass, in time order */
    size_t n;
    tt_pool_row total;
    uint64_t tokens; /* of these batches */
    tt_pool_cause causes[TT_READ_CAUSES];
    double pause_ns; /* of all causes */
} tt_pool_sums;

/* filter: batch, phase, and from_ns and to_ns, which batches pass that overlap them. t: NULL: no
 * clock. Freed with tt_pool_sums_free, also after an error. */
tt_status tt_pool_sums_make(tt_pool_sums *s, const tt_pool_report *p, const tt_pool_time *t,
                            const tt_filter *filter, tt_error *err);
void tt_pool_sums_free(tt_pool_sums *s);

/* A row for each cause; the context is NULL. */
extern const tt_schema tt_pool_causes_schema;
tt_rowset tt_pool_causes_rowset(const tt_pool_sums *s);
/* For tt_pool_sums: the total (tt_pool_schema), and the means per token; the context is a
 * tt_pool_report. */
extern const tt_schema tt_pool_sums_schema;

#endif
