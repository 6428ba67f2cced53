/* The data of outputs (`run --values=full`): VALUE chunks, found by run, node and part.
 *
 * One chunk is loaded at a time, 2 MiB of elements at most when the trace is sound. One thread at a
 * time. */
#ifndef TT_READ_DATA_H
#define TT_READ_DATA_H

#include "base/bytes.h"
#include "base/status.h"
#include "read/trace.h"

#include <stddef.h>
#include <stdint.h>

typedef struct tt_data tt_data;

/* A chunk in the list, by ascending run, node, part. */
typedef struct tt_data_part {
    uint32_t run; /* its id */
    uint32_t node;
    uint32_t part;
    uint32_t chunk; /* in tt_trace.chunks */
} tt_data_part;

/* *out is freed with tt_data_free, before the trace is closed. Reads nothing. */
tt_status tt_data_open(const tt_trace *trace, tt_data **out, tt_error *err);
void tt_data_free(tt_data *d);

/* All parts there are; of two chunks of one part the first in the file is the first here. */
const tt_data_part *tt_data_all(const tt_data *d, size_t *n);
/* Those of a run's node. NULL and 0: none. */
const tt_data_part *tt_data_of(const tt_data *d, uint32_t run_id, uint32_t node, size_t *n);
/* The bytes of a part, valid until the next call. Fails with the damage. */
tt_status tt_data_get(tt_data *d, const tt_data_part *part, tt_span *bytes, tt_error *err);

#endif
