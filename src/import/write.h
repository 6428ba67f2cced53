/* Writes a trace from routing that was recorded elsewhere. */
#ifndef TT_IMPORT_WRITE_H
#define TT_IMPORT_WRITE_H

#include "base/status.h"
#include "import/read.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct tt_import_options {
    const char *path;      /* of the text: a file, because it is read twice */
    const char *output;    /* the trace */
    uint64_t expert_bytes; /* of one expert of a layer, with all its matrices; 1 to 2^40 */
    uint32_t n_experts;    /* of a layer; 0: all up to the highest one chosen */
    bool force;            /* replace an existing file */
    const tt_import_ignored *ignored; /* NULL: none */
} tt_import_options;

typedef struct tt_import_sum {
    uint64_t batches, tokens, picks;
    uint32_t layers, experts; /* experts: of a layer */
    uint32_t sequences;       /* 0: not known */
} tt_import_sum;

/* Writes the trace, completely or not at all. Its batches have no times. */
tt_status tt_import_write(const tt_import_options *options, tt_import_sum *sum, tt_error *err);

#endif
