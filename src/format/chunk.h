/* The container's outer layer: file header, chunk headers, index, tail.
 * Specified in docs/format.md. Pure encode and decode: no input or output. */
#ifndef TT_FORMAT_CHUNK_H
#define TT_FORMAT_CHUNK_H

#include "base/bytes.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_FILE_HEADER_BYTES 64u
#define TT_CHUNK_HEADER_BYTES 40u
#define TT_TAIL_BYTES 16u
#define TT_CHUNK_PAYLOAD_MAX (64u << 20)
/* Limit of a chunk's unpacked size, as a multiple of its size in the file, so that a small file
 * cannot request much memory. Real chunks reach 20. */
#define TT_CHUNK_RATIO_MAX 64u
#define TT_FORMAT_MAJOR 1u
#define TT_FORMAT_MINOR 1u

enum tt_chunk_type {
    TT_CHUNK_META = 1,
    TT_CHUNK_OPS = 2,
    TT_CHUNK_INDEX = 3,
    TT_CHUNK_DETAIL = 4,
    TT_CHUNK_HOLE = 5, /* of discarded chunks; its position is its length in bytes */
    TT_CHUNK_BASE = 6, /* META records from before its position that are still valid */
    TT_CHUNK_PAGE = 7, /* a part of the index, for the writer; its position: the previous page */
    TT_CHUNK_VALUE = 8 /* data of an output: see tt_value_position */
};

/* A VALUE chunk holds part `position & UINT32_MAX` of the output of node `stream` in the run with
 * the id `position >> 32`: elements in their own type, in logical order, TT_VALUE_PART_ELEMENTS
 * except in the last part. */
#define TT_VALUE_PART_ELEMENTS (1u << 18)
static inline uint64_t tt_value_position(uint32_t run, uint32_t part)
{
    return (uint64_t)run << 32 | part;
}

enum tt_codec { TT_CODEC_NONE = 0, TT_CODEC_ZSTD = 1 };

typedef struct tt_file_header {
    uint16_t major;
    uint16_t minor;
    uint8_t run_id[16];
    uint64_t created_unix_ns;
    uint64_t pid;
} tt_file_header;

typedef struct tt_chunk_header {
    uint16_t type;
    uint8_t codec;
    uint32_t stored_bytes;
    uint32_t raw_bytes;
    uint32_t stream;
    uint32_t count;
    uint64_t position;
    uint64_t checksum;
} tt_chunk_header;

/* How a finished trace ended (INDEX flags). */
enum { TT_END_NORMAL = 1, TT_END_RECOVERED = 2, TT_END_SNAPSHOT = 4 };

/* Summary of a META chunk's records. Ranges are of ids and times in records of any type; both ends
 * are 0 if there are none. */
typedef struct tt_index_meta {
    uint32_t
        kinds; /* bit (type - 1) of each type present, 31 for types from 32 on; 0: not recorded */
    uint32_t n_batches, n_runs, n_run_ends; /* BATCH, RUN and RUN_END records */
    uint32_t batch_min, batch_max;
    uint32_t run_min, run_max;
    uint64_t tick_min, tick_max; /* of BATCH, BATCH_END, RUN, RUN_END */
} tt_index_meta;

/* One chunk, as the INDEX lists it. */
typedef struct tt_index_entry {
    uint64_t offset; /* of the chunk header in the file */
    uint16_t type;
    uint32_t stream;
    uint64_t position;
    uint32_t count;
    uint64_t run_min; /* OPS and DETAIL only, else 0 */
    uint64_t run_max;
    tt_index_meta meta; /* META only, else zero */
} tt_index_entry;

static inline uint64_t tt_pad8(uint64_t n)
{
    return (n + 7u) & ~(uint64_t)7u;
}

/* Bytes from the start of the chunk to that of the next. */
static inline uint64_t tt_chunk_extent(const tt_chunk_header *h)
{
    return h->type == TT_CHUNK_HOLE ? h->position
                                    : TT_CHUNK_HEADER_BYTES + tt_pad8(h->stored_bytes);
}

/* Whether a payload of raw_bytes may be stored in so few. */
static inline bool tt_chunk_ratio_ok(uint64_t stored_bytes, uint64_t raw_bytes)
{
    return raw_bytes <= TT_CHUNK_RATIO_MAX * (TT_CHUNK_HEADER_BYTES + stored_bytes);
}

void tt_file_header_encode(const tt_file_header *h, uint8_t out[TT_FILE_HEADER_BYTES]);
/* size: bytes available at data. Rejects a wrong magic, a newer major version, a bad checksum. */
tt_status tt_file_header_decode(const uint8_t *data, size_t size, tt_file_header *h, tt_error *err);

/* The seed of the checksums of the file's chunks, so that a chunk of another run does not match. */
uint64_t tt_file_header_seed(const tt_file_header *h);

/* Computes the checksum over header and payload (h->stored_bytes of it) and writes the header.
 * seed: the file's, see tt_file_header_seed. */
void tt_chunk_header_encode(tt_chunk_header *h, uint64_t seed, const void *payload,
                            uint8_t out[TT_CHUNK_HEADER_BYTES]);
/* Decodes and checks the header at data (file offset `offset`, for messages) and the payload after
 * it: magic, sizes against `size` available bytes, checksum. */
tt_status tt_chunk_header_decode(const uint8_t *data, uint64_t size, uint64_t offset, uint64_t seed,
                                 tt_chunk_header *h, tt_error *err);

/* Appends the INDEX payload. */
void tt_index_encode(tt_bytes *out, const tt_index_entry *entries, size_t n, uint8_t end_flags);
/* offset: of the INDEX chunk; the listed chunks must be before it. *entries is allocated with
 * malloc; the caller frees it. *end_flags: TT_END_* only. */
tt_status tt_index_decode(tt_span payload, uint64_t offset, tt_index_entry **entries, size_t *n,
                          uint8_t *end_flags, tt_error *err);

/* How many entries, from the first, are in order: positions ascend in each stream, and chunks do
 * not overlap. Entries that a scan finds after them are not valid. n if out of memory for the
 * check. */
size_t tt_index_in_order(const tt_index_entry *entries, size_t n);

void tt_tail_encode(uint64_t index_offset, uint8_t out[TT_TAIL_BYTES]);
/* False if the last bytes of the file are not a tail. */
bool tt_tail_decode(const uint8_t tail[TT_TAIL_BYTES], uint64_t *index_offset);

#endif
