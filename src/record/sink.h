/* The container writer: appends chunks to a file, remembers them for the index. */
#ifndef TT_RECORD_SINK_H
#define TT_RECORD_SINK_H

#include "base/bytes.h"
#include "base/status.h"
#include "format/chunk.h"
#include "record/codec.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct tt_sink {
    int fd;
    uint64_t device, inode; /* of the file behind fd: a traced program may close descriptors */
    uint64_t seed;          /* of the chunks' checksums */
    uint64_t offset;        /* where the next chunk goes */
    uint64_t limit; /* of the file's size in bytes, beyond which go META chunks only; 0: none */
    tt_index_entry *index;
    size_t n_index;
    size_t capacity;
    tt_codec_zstd *zstd; /* NULL: chunks are stored uncompressed */
    tt_bytes packed;
} tt_sink;

/* Takes over fd (positioned writes only) and writes the file header. */
tt_status tt_sink_begin(tt_sink *s, int fd, const tt_file_header *header, uint64_t limit,
                        tt_error *err);
/* Takes over a file that has chunks already: `index` (malloc'ed, taken over) lists
 * them, the next one goes to `offset`. seed: tt_file_header_seed of its header. */
void tt_sink_continue(tt_sink *s, int fd, uint64_t seed, uint64_t offset, tt_index_entry *index,
                      size_t n_index);
/* Appends one chunk; stream, position, count and runs are taken from *entry. On failure
 * (TT_E_LIMIT, TT_E_IO) the file ends with the chunk before. */
tt_status tt_sink_put(tt_sink *s, tt_index_entry *entry, tt_span raw, tt_error *err);
/* Writes INDEX and tail, cutting off whatever stood behind. */
tt_status tt_sink_finish(tt_sink *s, uint8_t end_flags, tt_error *err);
/* In the child of a fork: closes the file, if it is still ours, and touches nothing else. */
void tt_sink_forget(tt_sink *s);
/* Closes the file and frees everything. */
void tt_sink_close(tt_sink *s);

#endif
