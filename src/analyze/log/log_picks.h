/* What the rows of a log picked from weights (analyze/access.h): experts, rows of a table. */
#ifndef TT_ANALYZE_LOG_PICKS_H
#define TT_ANALYZE_LOG_PICKS_H

#include "analyze/access.h"
#include "analyze/log/log.h"

/* Runs under way at once whose picks are kept: with more, they are loaded again and again. */
#define TT_LOG_PICKS_RUNS 4u

/* Zero-filled but for m is ready; freed with tt_log_picks_free. */
typedef struct tt_log_picks {
    const tt_model *m;
    uint64_t rows; /* asked for so far */
    struct {
        tt_accesses *accesses;
        const tt_run *run;
        uint64_t used; /* when, in rows */
    } runs[TT_LOG_PICKS_RUNS];
    tt_op measured; /* private */
} tt_log_picks;

void tt_log_picks_free(tt_log_picks *p);
/* The row's op with what was observed of its picks applied, and the accesses of its weights. All
 * valid until the next call. */
tt_status tt_log_picks_of(tt_log_picks *p, const tt_log_op *row, const tt_op **op,
                          const tt_access **list, size_t *n, tt_error *err);

#endif
