/* The bytes of a trace: a file that is read in parts, or memory of the caller.
 *
 * Files are read, not mapped: if a file shrinks meanwhile, that is an error value, not a SIGBUS. A
 * source without offsets (a pipe) is read into memory first, up to TT_SOURCE_PIPE_MAX bytes. */
#ifndef TT_READ_TRACE_H
#define TT_READ_TRACE_H

#include "base/bytes.h"
#include "base/status.h"
#include "format/chunk.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_SOURCE_PIPE_MAX (1u << 30)

typedef struct tt_source {
    int fd;              /* -1: the bytes are in memory */
    const uint8_t *data; /* in memory, else NULL */
    uint8_t *owned;      /* data, if it has to be freed */
    uint64_t size;
    uint64_t seed; /* of its chunks' checksums; set when the file header is read */
} tt_source;

/* Opens for reading. Errors name the path and the system's reason. */
tt_status tt_source_open(tt_source *s, const char *path, tt_error *err);
/* The caller keeps the bytes alive and unchanged until tt_source_close. */
void tt_source_of_memory(tt_source *s, const void *data, size_t size);
void tt_source_close(tt_source *s);

/* *out: the n bytes at `offset`, in place or in *scratch (then valid until its next use).
 * TT_E_TRUNCATED if the source ends before. Several threads may read at once, each with its own
 * scratch. */
tt_status tt_source_read(const tt_source *s, uint64_t offset, size_t n, tt_bytes *scratch,
                         const uint8_t **out, tt_error *err);

/* An open trace: its header and the list of its chunks.
 *
 * The list comes from the INDEX; if that is missing or damaged (the run was cut off), the list is
 * rebuilt by a scan up to the first invalid byte. */

/* From a chunk's offset to its payload: read, checked, unpacked. */

/* Memory reused for each chunk; one per thread. Zero-filled is not valid: use tt_unpacker_init. */
typedef struct tt_unpacker {
    tt_bytes stored;
    tt_bytes raw;
    void *zstd; /* decompression context, created on demand */
} tt_unpacker;

void tt_unpacker_init(tt_unpacker *u);
void tt_unpacker_free(tt_unpacker *u);

/* Reads and checks the chunk at `offset`: header, sizes, checksum. *stored is its payload as
 * stored, valid until the next call with the same unpacker. TT_E_IO if a flight recorder is writing
 * the file and has discarded the chunk. */
tt_status tt_chunk_load(const tt_source *s, uint64_t offset, tt_unpacker *u, tt_chunk_header *h,
                        tt_span *stored, tt_error *err);

typedef struct tt_trace {
    tt_source source;
    tt_file_header header;
    tt_index_entry *chunks; /* in file order, without the INDEX */
    size_t n_chunks;
    uint64_t hole_bytes;   /* of discarded chunks at the start; 0: none */
    bool complete;         /* ends with a valid INDEX and tail */
    uint8_t end_flags;     /* TT_END_*, when complete */
    uint64_t index_offset; /* when complete */
    uint64_t end_bytes;    /* end of the usable part */
    tt_error cut;          /* if not complete: the error there */
} tt_trace;

/* Opens the file at `path` (call tt_trace_close even if this fails). Errors name the path, the
 * error and its offset. A trace that was cut off opens. */
tt_status tt_trace_open(tt_trace *t, const char *path, tt_error *err);
/* The same for bytes in memory, which the caller keeps until tt_trace_close. */
tt_status tt_trace_open_memory(tt_trace *t, const void *data, size_t size, tt_error *err);
void tt_trace_close(tt_trace *t);

/* Whether the header of chunk i matches the list. */
bool tt_trace_is_as_listed(const tt_trace *t, size_t i, const tt_chunk_header *h);
/* Loads chunk i and checks it against the list; its payload's first at_least bytes (SIZE_MAX: all).
 * *payload is valid until the unpacker's next use. */
tt_status tt_trace_chunk(const tt_trace *t, size_t i, size_t at_least, tt_unpacker *u,
                         tt_chunk_header *h, tt_span *payload, tt_error *err);

/* The result of a scan. */
typedef struct tt_scan {
    tt_index_entry *chunks; /* malloc'ed, the caller frees; runs are not filled in */
    size_t n_chunks;
    uint64_t hole_bytes;   /* of a HOLE at the start; 0: none */
    uint64_t end_bytes;    /* end of the last complete chunk */
    uint64_t index_offset; /* of the INDEX chunk at which the scan ended, or 0 */
    tt_error stop;         /* why it ended; status TT_OK at an INDEX */
} tt_scan;

/* Walks the chunks from the file header on, checks each, ignores INDEX and tail. */
tt_status tt_trace_scan(const tt_source *s, tt_scan *scan, tt_error *err);

#endif
