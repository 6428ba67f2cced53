/* From a chunk's place in the file to its payload: read, checked, unpacked. */
#ifndef TT_READ_UNPACK_H
#define TT_READ_UNPACK_H

#include "base/bytes.h"
#include "base/status.h"
#include "format/chunk.h"
#include "read/source.h"

/* Memory reused from chunk to chunk; one per thread. Zero-filled is not valid:
 * use tt_unpacker_init. */
typedef struct tt_unpacker {
    tt_bytes stored;
    tt_bytes raw;
    void *zstd; /* decompression context, made at the first need */
} tt_unpacker;

void tt_unpacker_init(tt_unpacker *u);
void tt_unpacker_free(tt_unpacker *u);

/* Reads and checks the chunk at `offset`: header, sizes, checksum. *stored is its
 * payload as stored, valid until the next call with the same unpacker. TT_E_IO when the file is
 * being written by a flight recorder, which has thrown the chunk away. */
tt_status tt_chunk_load(const tt_source *s, uint64_t offset, tt_unpacker *u, tt_chunk_header *h,
                        tt_span *stored, tt_error *err);

/* Of the HOLE at the begin, as it is now; 0: there is none. */
uint64_t tt_chunk_hole_bytes(const tt_source *s);

/* *payload: the unpacked payload, or (when at_least is smaller) its first
 * at_least bytes or more: what stands at its front costs no more than that. Valid
 * until the next call. Never takes more memory than the header's raw_bytes. */
tt_status tt_chunk_unpack(const tt_chunk_header *h, tt_span stored, uint64_t offset,
                          size_t at_least, tt_unpacker *u, tt_span *payload, tt_error *err);

#endif
