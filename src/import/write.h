/* An ordinary trace of the experts that a router picked somewhere else. */
#ifndef TT_IMPORT_WRITE_H
#define TT_IMPORT_WRITE_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct tt_import_options {
    const char *path;      /* of the text; read twice, so a file */
    const char *output;    /* the trace */
    uint64_t expert_bytes; /* of one expert of a layer, with all its matrices; 1 to 2^40 */
    uint32_t n_experts;    /* of a layer; 0: the highest that was picked, and those below */
    bool force;            /* replace what is there */
} tt_import_options;

typedef struct tt_import_sum {
    uint64_t batches, tokens, picks;
    uint32_t layers, experts; /* experts: of a layer */
} tt_import_sum;

/* Writes the trace whole or not at all. Its batches have no times: it has no clock. */
tt_status tt_import_write(const tt_import_options *options, tt_import_sum *sum, tt_error *err);

#endif
