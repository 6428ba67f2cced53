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
    uint64_t outputs;             /* fingerprints that were taken */
    uint64_t outputs_not_finite;  /* fingerprints with NaN or infinity, of outputs */
} tt_outcome;

#endif
