/* Decoded OPS chunks, in a bounded cache: what is asked for again soon is decoded once.
 *
 * A chunk that cannot be read is damaged: it is counted, and not tried again. One thread at a
 * time. */
#ifndef TT_READ_BLOCKS_H
#define TT_READ_BLOCKS_H

#include "base/recent.h"
#include "base/status.h"
#include "format/ops.h"
#include "read/trace.h"

#include <stddef.h>
#include <stdint.h>

/* Memory of decoded chunks kept at once: two of the largest a stream, in between these bounds
 * and no more than in proportion to the file. Walking the runs in order needs about one a stream.
 * Where chunks have to be decoded again and again for few records each, more of them are kept: up
 * to that proportion. */
#define TT_BLOCKS_CACHE_MIN (16u << 20)
#define TT_BLOCKS_CACHE_MAX (512u << 20)

/* A chunk's records. */
typedef struct tt_block {
    tt_recent last_use; /* private */
    tt_ops_block ops;
    uint32_t chunk;   /* in tt_trace.chunks */
    uint32_t *by_run; /* its segments by ascending run; NULL: they lie so */
} tt_block;

typedef struct tt_blocks tt_blocks;

/* NULL without memory. The trace outlives it. */
tt_blocks *tt_blocks_new(const tt_trace *trace);
void tt_blocks_free(tt_blocks *b);

/* The records of an OPS chunk, of which the caller reads `wanted`; *out is NULL when it is damaged.
 * Valid until the next call. Fails without memory, when the file cannot be read, and with
 * TT_E_LIMIT when much more is decoded, over all calls, than callers wanted and the file holds. */
tt_status tt_blocks_get(tt_blocks *b, uint32_t chunk, uint32_t wanted, const tt_block **out,
                        tt_error *err);
/* Whether the chunk's block is still the one whose column of starts `start` points into. */
bool tt_blocks_holds(const tt_blocks *b, uint32_t chunk, const uint64_t *start);
/* The segments only, which stand at the chunk's front. *ops is the caller's, to be freed with
 * tt_ops_block_free; empty (n 0) when the chunk is damaged. */
tt_status tt_blocks_front(tt_blocks *b, uint32_t chunk, tt_ops_block *ops, tt_error *err);

/* What all decoding took so far: records, and 256 more a chunk. */
uint64_t tt_blocks_work(const tt_blocks *b);
/* Records of damaged chunks met so far, as the index counts them. */
uint64_t tt_blocks_lost(const tt_blocks *b);
/* Damaged chunks met so far, and the error of the first one (status TT_OK: none). */
size_t tt_blocks_damaged(const tt_blocks *b, tt_error *first);
/* Leaves a chunk out from now on: it is readable, but not what the index says of it. */
void tt_blocks_leave_out(tt_blocks *b, uint32_t chunk, const tt_error *why);

/* A block's first segment (in the order of by_run) whose run is not below `run`. */
size_t tt_block_segment(const tt_block *b, uint64_t run);

static inline uint32_t tt_block_at(const tt_block *b, size_t i)
{
    return b->by_run ? b->by_run[i] : (uint32_t)i;
}

#endif
