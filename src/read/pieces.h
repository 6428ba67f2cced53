/* Which stretches of op records belong to which run, and their records on demand.
 *
 * Every OPS chunk is looked into once, at its front, where its segments stand; the
 * records themselves are decoded when asked for and kept in a bounded cache, so
 * walking the runs in order decodes each chunk about once and a trace of any
 * length takes the same memory. One thread at a time. */
#ifndef TT_READ_PIECES_H
#define TT_READ_PIECES_H

#include "base/status.h"
#include "format/ops.h"
#include "read/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Segments in a trace, all chunks together: 5 x 10^9 records of a usual graph. */
#define TT_PIECES_MAX (16u << 20)
/* Memory of decoded chunks kept at once: two of the largest a stream, in between
 * these bounds. Walking the runs in order needs about one a stream. */
#define TT_PIECES_CACHE_MIN (16u << 20)
#define TT_PIECES_CACHE_MAX (512u << 20)

/* Where one stretch of records of one run and lane lies. */
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
    bool open;         /* its one record's end was never seen */
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

/* *out is freed with tt_pieces_free, before the trace is closed. A chunk that cannot
 * be read is left out and counted. */
tt_status tt_pieces_open(const tt_trace *trace, tt_pieces **out, tt_error *err);
void tt_pieces_free(tt_pieces *p);

/* All pieces, sorted by run, lane and place in the file. */
const tt_piece *tt_pieces_list(const tt_pieces *p, size_t *n);
/* Index of a run's first piece in that list, and how many it has. */
size_t tt_pieces_of_run(const tt_pieces *p, uint32_t run, size_t *n);
/* Records in all pieces. */
uint64_t tt_pieces_records(const tt_pieces *p);
/* Chunks left out, and the error of the first one (status TT_OK: none). */
size_t tt_pieces_damaged(const tt_pieces *p, tt_error *first);

/* The records of piece i; pointers are valid until the next call. */
tt_status tt_pieces_get(tt_pieces *p, size_t i, tt_piece_ops *ops, tt_error *err);

#endif
