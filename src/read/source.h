/* The bytes of a trace: a file read piece by piece, or memory of the caller.
 *
 * Files are read, not mapped: a file that shrinks while it is read is an error
 * value, not a SIGBUS. What cannot be read at an offset (a pipe) is read into
 * memory first, up to TT_SOURCE_PIPE_MAX bytes. */
#ifndef TT_READ_SOURCE_H
#define TT_READ_SOURCE_H

#include "base/bytes.h"
#include "base/status.h"

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

#endif
