/* The data of outputs (`run --values=full`): VALUE chunks, found by run, node and part.
 *
 * Loads one chunk at a time, at most 2 MiB of elements in a sound trace. One thread at a time. */
#ifndef TT_READ_DETAILS_H
#define TT_READ_DETAILS_H

#include "base/bytes.h"
#include "base/status.h"
#include "format/detail.h"
#include "read/trace.h"

#include <stddef.h>
#include <stdint.h>

typedef struct tt_data tt_data;

/* A listed chunk, by ascending run, node, part. */
typedef struct tt_data_part {
    uint32_t run; /* its id */
    uint32_t node;
    uint32_t part;
    uint32_t chunk; /* in tt_trace.chunks */
} tt_data_part;

/* Free *out with tt_data_free, before the trace is closed. Reads nothing. */
tt_status tt_data_open(const tt_trace *trace, tt_data **out, tt_error *err);
void tt_data_free(tt_data *d);

/* All parts; if two chunks have the same part, in file order. */
const tt_data_part *tt_data_all(const tt_data *d, size_t *n);
/* Those of a run's node; NULL and 0: none. */
const tt_data_part *tt_data_of(const tt_data *d, uint32_t run_id, uint32_t node, size_t *n);
/* The bytes of a part, valid until the next call. Fails if it is damaged. */
tt_status tt_data_get(tt_data *d, const tt_data_part *part, tt_span *bytes, tt_error *err);

/* The details of ops (faults, experts, routing weights, values), run by run.
 *
 * The index lists every DETAIL chunk; chunks are decoded on demand and kept in a bounded cache, so
 * walking the runs in order decodes each about once. One thread at a time. */

typedef struct tt_details tt_details;

/* Free *out with tt_details_free, before the trace is closed. */
tt_status tt_details_open(const tt_trace *trace, tt_details **out, tt_error *err);
void tt_details_free(tt_details *d);

/* Whether the trace has any detail of that kind: decodes until it finds one. */
bool tt_details_has(tt_details *d, enum tt_detail_kind kind);
/* All details of a run, of all rings, by ascending node, lane, kind, token, rank (for values:
 * part). The list is valid until the next call. Damaged chunks are left out and counted. */
tt_status tt_details_of_run(tt_details *d, uint32_t run_id, const tt_detail **list, size_t *n,
                            tt_error *err);
/* Decodes each chunk that was not decoded yet: then all damage is known. */
tt_status tt_details_survey(tt_details *d, tt_error *err);
/* Number of chunks left out so far, and the error of the first (status TT_OK: none). */
size_t tt_details_damaged(const tt_details *d, tt_error *first);

#endif
