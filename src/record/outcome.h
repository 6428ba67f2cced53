/* What became of what a recorder saw. */
#ifndef TT_RECORD_OUTCOME_H
#define TT_RECORD_OUTCOME_H

#include <stdint.h>

typedef struct tt_outcome {
    uint64_t ops;     /* records in the trace */
    uint64_t dropped; /* records that are not in it: a ring was full, or the file's limit reached */
    uint64_t batches; /* that were computed */
    uint64_t batches_after_limit; /* of those, not recorded as the limit was reached */
    uint64_t details_dropped;     /* as `dropped`, of what else was observed of ops */
    uint64_t data_dropped;        /* parts of outputs' data that are not in it */
    uint64_t outputs_not_finite;  /* fingerprints with NaN or infinity, of outputs */
    uint64_t first_not_finite;    /* the first of them: tt_outcome_place; 0: there is none */
} tt_outcome;

/* Which output it is, as a number that ascends in the order of execution; never 0. */
static inline uint64_t tt_outcome_place(uint32_t run, uint32_t node)
{
    return ((uint64_t)run << 32 | node) + 1;
}

#endif
