/* The bytes of a trace: a file read piece by piece, or memory of the caller.
 *
 * Files are read, not mapped: a file that shrinks while it is read is an error
 * value, not a SIGBUS. What cannot be read at an offset (a pipe) is read into
 * memory first, up to TT_SOURCE_PIPE_MAX bytes. */
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
    uint8_t *owned;      /* what data points to when it is ours to free */
    uint64_t size;
    uint64_t seed; /* of its chunks' checksums; set when the file header is read */
} tt_source;

/* Opens for reading. Errors name the path and the system's reason. */
tt_status tt_source_open(tt_source *s, const char *path, tt_error *err);
/* The caller keeps the bytes alive and unchanged until tt_source_close. */
void tt_source_of_memory(tt_source *s, const void *data, size_t size);
void tt_source_close(tt_source *s);

/* *out: the n bytes at `offset`, in place or in *scratch (then valid until its
 * next use). TT_E_TRUNCATED when the source ends before. Several threads may
 * read at once, each with its own scratch. */
tt_status tt_source_read(const tt_source *s, uint64_t offset, size_t n, tt_bytes *scratch,
                         const uint8_t **out, tt_error *err);

/* An open trace: its header and the list of its chunks.
 *
 * The list comes from the INDEX; without one that can be trusted (the run was cut
 * off) it is rebuilt by scanning, up to the first byte that is not right. */

/* From a chunk's place in the file to its payload: read, checked, unpacked. */

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

typedef struct tt_trace {
    tt_source source;
    tt_file_header header;
    tt_index_entry *chunks; /* in file order, the INDEX itself left out */
    size_t n_chunks;
    uint64_t hole_bytes;   /* at the begin: chunks that were discarded; 0: none */
    bool complete;         /* ends with an INDEX and a tail that are whole */
    uint8_t end_flags;     /* TT_END_*, when complete */
    uint64_t index_offset; /* when complete */
    uint64_t end_bytes;    /* where the usable part ends */
    tt_error cut;          /* when not complete: what is wrong there */
} tt_trace;

/* Opens the file at `path` (tt_trace_close it also when this fails). Errors name
 * the path, what is wrong, and where. A trace that was cut off opens. */
tt_status tt_trace_open(tt_trace *t, const char *path, tt_error *err);
/* The same for bytes in memory, which the caller keeps until tt_trace_close. */
tt_status tt_trace_open_memory(tt_trace *t, const void *data, size_t size, tt_error *err);
void tt_trace_close(tt_trace *t);

/* Whether the header of chunk i is what the list says of it. */
bool tt_trace_is_as_listed(const tt_trace *t, size_t i, const tt_chunk_header *h);
/* Loads chunk i and checks it against the list; its payload's first at_least bytes
 * (SIZE_MAX: all). *payload is valid until the unpacker's next use. */
tt_status tt_trace_chunk(const tt_trace *t, size_t i, size_t at_least, tt_unpacker *u,
                         tt_chunk_header *h, tt_span *payload, tt_error *err);

/* What a scan found. */
typedef struct tt_scan {
    tt_index_entry *chunks; /* malloc'ed, the caller frees; runs are not filled in */
    size_t n_chunks;
    uint64_t hole_bytes;   /* of a HOLE at the begin; 0: there is none */
    uint64_t end_bytes;    /* of the last whole chunk */
    uint64_t index_offset; /* of the INDEX chunk at which the scan ended, or 0 */
    tt_error stop;         /* why it ended; status TT_OK at an INDEX */
} tt_scan;

/* Walks the chunks from the file header on, checking each, ignoring INDEX and tail. */
tt_status tt_trace_scan(const tt_source *s, tt_scan *scan, tt_error *err);

#endif
