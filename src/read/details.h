/* The data of outputs (`run --values=full`): VALUE chunks, found by run, node and part.
 *
 * One chunk is loaded at a time, 2 MiB of elements at most when the trace is sound. One thread at a
 * time. */
#ifndef TT_READ_DETAILS_H
#define TT_READ_DETAILS_H

#include "base/bytes.h"
#include "base/status.h"
#include "format/detail.h"
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

/* The details of ops (faults, experts, routing weights, values), run by run.
 *
 * Every DETAIL chunk is listed from the index; chunks are decoded when asked for and kept in a
 * bounded cache, so walking the runs in order decodes each about once. One thread at a time. */

typedef struct tt_details tt_details;

/* *out is freed with tt_details_free, before the trace is closed. */
tt_status tt_details_open(const tt_trace *trace, tt_details **out, tt_error *err);
void tt_details_free(tt_details *d);

/* Whether the trace holds any detail of that kind: decodes until it has met one. */
bool tt_details_has(tt_details *d, enum tt_detail_kind kind);
/* All details of a run, over all rings, by ascending node, lane, kind, token, rank (of
 * values: part). The list is
 * valid until the next call. Chunks that cannot be read are left out and counted. */
tt_status tt_details_of_run(tt_details *d, uint32_t run_id, const tt_detail **list, size_t *n,
                            tt_error *err);
/* Decodes each chunk that was not yet: then all damage is known. */
tt_status tt_details_survey(tt_details *d, tt_error *err);
/* Chunks left out so far, and the error of the first one (status TT_OK: none). */
size_t tt_details_damaged(const tt_details *d, tt_error *first);

#endif
