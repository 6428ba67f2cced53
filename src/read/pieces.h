/* Decoded OPS chunks, in a bounded cache.
 *
 * A chunk that cannot be read is damaged: it is counted, and not tried again. One thread at a
 * time. */
#ifndef TT_READ_PIECES_H
#define TT_READ_PIECES_H

#include "base/recent.h"
#include "base/status.h"
#include "format/ops.h"
#include "read/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Memory of cached chunks: two of the largest per stream, within these bounds and at most in
 * proportion to the file. Walking the runs in order needs about one per stream. If chunks are
 * decoded repeatedly for few records each, more are kept, up to that proportion. */
#define TT_BLOCKS_CACHE_MIN (16u << 20)
#define TT_BLOCKS_CACHE_MAX (512u << 20)

/* A chunk's records. */
typedef struct tt_block {
    tt_recent last_use; /* private */
    tt_ops_block ops;
    uint32_t chunk;   /* in tt_trace.chunks */
    uint32_t *by_run; /* its segments by ascending run; NULL: they are already in that order */
} tt_block;

typedef struct tt_blocks tt_blocks;

/* NULL if out of memory. The trace must outlive it. */
tt_blocks *tt_blocks_new(const tt_trace *trace);
void tt_blocks_free(tt_blocks *b);

/* The records of an OPS chunk, of which the caller reads `wanted`; *out is NULL if it is damaged.
 * Valid until the next call. Fails if out of memory, if the file cannot be read, and with
 * TT_E_LIMIT if all calls together decode much more than callers wanted and the file holds. */
tt_status tt_blocks_get(tt_blocks *b, uint32_t chunk, uint32_t wanted, const tt_block **out,
                        tt_error *err);
/* Whether the chunk's cached block is still the one whose column of starts is `start`. */
bool tt_blocks_holds(const tt_blocks *b, uint32_t chunk, const uint64_t *start);
/* Only the segments, which are at the chunk's start. *ops is the caller's, to be freed with
 * tt_ops_block_free; empty (n 0) if the chunk is damaged. */
tt_status tt_blocks_front(tt_blocks *b, uint32_t chunk, tt_ops_block *ops, tt_error *err);

/* The work of all decoding so far: records, plus 256 per chunk. */
uint64_t tt_blocks_work(const tt_blocks *b);
/* Records of damaged chunks found so far, as counted in the index. */
uint64_t tt_blocks_lost(const tt_blocks *b);
/* Number of damaged chunks found so far, and the error of the first (status TT_OK: none). */
size_t tt_blocks_damaged(const tt_blocks *b, tt_error *first);
/* Leaves a chunk out from now on: it is readable, but contradicts the index. */
void tt_blocks_leave_out(tt_blocks *b, uint32_t chunk, const tt_error *why);

/* A block's first segment (in the order of by_run) whose run is not below `run`. */
size_t tt_block_segment(const tt_block *b, uint64_t run);

static inline uint32_t tt_block_at(const tt_block *b, size_t i)
{
    return b->by_run ? b->by_run[i] : (uint32_t)i;
}

/* The pieces of each run, and their records on demand.
 *
 * The index lists the runs of an OPS chunk, so the records of a run are found by decoding the few
 * chunks that may have some: the cost of a run does not depend on the trace's length. A survey
 * reads each chunk's start and lists all pieces. Chunks come from a bounded cache of blocks:
 * walking the runs in order decodes each about once, and memory does not depend on the trace's
 * length. One thread at a time. */

/* Segments that a survey lists, over all chunks: 5 x 10^9 records of a usual graph. */
#define TT_PIECES_MAX (16u << 20)

/* Consecutive records of one run and lane in one chunk. */
typedef struct tt_piece {
    uint32_t run;
    uint32_t lane;
    uint32_t chunk;   /* index in tt_trace.chunks */
    uint32_t segment; /* in that chunk */
    uint32_t count;   /* records */
} tt_piece;

/* Its records. */
typedef struct tt_piece_ops {
    uint32_t run;
    uint32_t lane;
    bool open;         /* its only record has no observed end */
    uint32_t stream;   /* ring + 1 */
    uint64_t position; /* of the first record in the stream */
    uint64_t chunk_offset_bytes;
    unsigned tick_shift; /* times are exact to 2^tick_shift ticks */
    size_t n;
    const uint32_t *node;
    const uint8_t *covers;
    const uint64_t *start; /* ticks */
    const uint64_t *arrive;
    const uint64_t *release;
} tt_piece_ops;

typedef struct tt_pieces tt_pieces;

/* Free *out with tt_pieces_free, before the trace is closed. Surveys if the trace has no index;
 * else reads nothing. Damaged chunks are left out and counted when found. */
tt_status tt_pieces_open(const tt_trace *trace, tt_pieces **out, tt_error *err);
void tt_pieces_free(tt_pieces *p);

/* The pieces of a run, by ascending lane and file offset. The list is valid until the next call of
 * this, tt_pieces_survey or tt_pieces_count_others; more than two per chunk and lane are rare. */
tt_status tt_pieces_of_run(tt_pieces *p, uint32_t run, const tt_piece **list, size_t *n,
                           tt_error *err);
/* The records of a piece; pointers are valid until the next call of any of these. Fails if the
 * chunk is damaged after its start. */
tt_status tt_pieces_get(tt_pieces *p, const tt_piece *piece, tt_piece_ops *ops, tt_error *err);

/* The records of n pieces, ops[i] of pieces[i], all valid until the next call of any of these. If
 * they do not fit into the cache together, *together is false and ops is not set. */
tt_status tt_pieces_get_together(tt_pieces *p, const tt_piece *pieces, size_t n, tt_piece_ops *ops,
                                 bool *together, tt_error *err);

/* Reads each chunk's start, once: then all pieces are listed, and damage there is known. Fails if
 * there are more than TT_PIECES_MAX. */
tt_status tt_pieces_survey(tt_pieces *p, tt_error *err);
/* After a survey: all pieces, sorted by run, lane and file offset. */
const tt_piece *tt_pieces_list(const tt_pieces *p, size_t *n);
/* Chunks read so far to find the pieces of runs. After 2^18, or one per 8 bytes of the file,
 * tt_pieces_of_run surveys. */
uint64_t tt_pieces_visits(const tt_pieces *p);
/* The work of decoding chunks so far (tt_blocks_work). */
uint64_t tt_pieces_work(const tt_pieces *p);
/* Records in all chunks; before a survey, in those not known to be damaged. */
uint64_t tt_pieces_records(const tt_pieces *p);
/* Number of chunks left out so far, and the error of the first (status TT_OK: none). */
size_t tt_pieces_damaged(const tt_pieces *p, tt_error *first);

/* Records in pieces of runs that are not in `known` (ids, ascending, each once). Reads only chunks
 * that may have some. */
tt_status tt_pieces_count_others(tt_pieces *p, const uint32_t *known, size_t n_known,
                                 uint64_t *records, tt_error *err);

#endif
