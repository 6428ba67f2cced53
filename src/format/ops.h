/* The OPS chunk's payload: the records of one ring, in columns.
 * Specified in docs/format.md. */
#ifndef TT_FORMAT_OPS_H
#define TT_FORMAT_OPS_H

#include "base/bytes.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_OPS_NODE_MAX ((1u << 20) - 1u)
#define TT_OPS_LANE_MAX ((1u << 9) - 1u)
#define TT_OPS_COVERS_MAX 7u
#define TT_OPS_CHUNK_RECORDS_MAX (1u << 17)

/* One executed op on one lane, as the hot path writes it: half a cache line.
 *
 *   0        8        16       24    28    32
 *   | start  | arrive | release| run |place|      place: node 20 | lane 9 | covers 3 bits
 *
 * Times are ticks. release is 0 while the op runs. */
typedef struct tt_op_record {
    uint64_t start;
    uint64_t arrive;
    uint64_t release;
    uint32_t run;
    uint32_t place;
} tt_op_record;

_Static_assert(sizeof(tt_op_record) == 32, "two records fill a cache line");

static inline uint32_t tt_op_place(uint32_t node, uint32_t lane, uint32_t covers)
{
    return node | lane << 20 | covers << 29;
}

static inline uint32_t tt_op_node(const tt_op_record *r)
{
    return r->place & TT_OPS_NODE_MAX;
}

static inline uint32_t tt_op_lane(const tt_op_record *r)
{
    return (r->place >> 20) & TT_OPS_LANE_MAX;
}

static inline uint32_t tt_op_covers(const tt_op_record *r)
{
    return r->place >> 29;
}

/* Appends the payload (encoding 2) for n > 0 records (at most TT_OPS_CHUNK_RECORDS_MAX) of one ring
 * in recorded order. False if memory or the limit ran out; then out->failed is set. */
bool tt_ops_encode(tt_bytes *out, const tt_op_record *records, size_t n, unsigned tick_shift);

/* Consecutive records of one run on one lane. */
typedef struct tt_ops_segment {
    uint32_t run;
    uint32_t lane;
    uint32_t first; /* index of its first record */
    uint32_t count;
    bool open; /* its only record has no observed end */
} tt_ops_segment;

/* A decoded OPS payload: columns of n records, and their segments. */
typedef struct tt_ops_block {
    size_t n;
    uint32_t *node;
    uint8_t *covers; /* following executing nodes that the same call also computed */
    uint64_t *start; /* ticks */
    uint64_t *arrive;
    uint64_t *release;
    tt_ops_segment *segments;
    size_t n_segments;
    unsigned tick_shift;
    void *memory; /* of all columns, one allocation */
    size_t memory_bytes;
} tt_ops_block;

/* Working memory of the decoder. Zero-filled at first, one per thread. */
typedef struct tt_ops_scratch {
    void *memory;
    size_t memory_bytes;
} tt_ops_scratch;

/* Decodes a payload of encoding 1 or 2; only the segments if `times` is false (columns are NULL;
 * node and covers are filled). Fills *block, to be freed with tt_ops_block_free; empty on failure.
 * n: the chunk header's record count, checked. */
tt_status tt_ops_decode(tt_span payload, size_t n, bool times, tt_ops_block *block, tt_error *err);
/* The same for one chunk after another: *block is zero-filled or from an earlier call, and its
 * memory is reused, as is that of *scratch. Freeing and allocating memory for each chunk costs more
 * than decoding. */
tt_status tt_ops_decode_again(tt_span payload, size_t n, bool times, tt_ops_block *block,
                              tt_ops_scratch *scratch, tt_error *err);
void tt_ops_block_free(tt_ops_block *block);
void tt_ops_scratch_free(tt_ops_scratch *scratch);

/* The sizes of a payload's parts, in bytes; they add up to the payload's size. */
typedef struct tt_ops_cost {
    size_t front_bytes;    /* encoding, shift, first time, granule */
    size_t sequence_bytes; /* nodes and covers */
    size_t segment_bytes;  /* runs and lanes */
    size_t gap_bytes;      /* of the frames, with their packed values; like the next two */
    size_t busy_bytes;
    size_t wait_bytes;
    size_t exception_bytes; /* of the three columns: values outside of frames (encoding 2 only) */
} tt_ops_cost;

/* Decodes a payload and measures its parts; errors as in tt_ops_decode. */
tt_status tt_ops_cost_of(tt_span payload, size_t n, tt_ops_cost *cost, tt_error *err);

#endif
