/* What of the META stream still holds when its beginning is discarded: descriptions that later
 * records refer to, without those that were replaced, freed or forgotten. */
#ifndef TT_RECORD_SINK_H
#define TT_RECORD_SINK_H

#include "base/bytes.h"
#include "base/status.h"
#include "format/chunk.h"
#include "format/meta.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tt_retained_record {
    size_t at, size; /* in `data`; size 0: it holds no more */
    uint64_t key;    /* an id; of ENVIRONMENT unused */
    uint8_t type;
} tt_retained_record;

typedef struct tt_retained {
    tt_bytes data;
    tt_retained_record *records; /* in the order observed */
    size_t n, capacity;
    bool failed; /* no memory: what is kept is not whole */
} tt_retained;

void tt_retained_init(tt_retained *l);
void tt_retained_free(tt_retained *l);
/* The records of a META payload, which goes on where the one before ended. What is damaged in it
 * is left out. */
void tt_retained_add(tt_retained *l, tt_span meta);
/* Appends what still holds; *n: records of it. */
void tt_retained_put(const tt_retained *l, tt_bytes *out, uint32_t *n);

/* The container writer: appends chunks to a file, remembers them for the index.
 *
 * As a flight recorder (ring_bytes) it throws the oldest chunks away: they become one HOLE at the
 * file's begin, whose pages go back to the file system. What their META records said that still
 * holds is carried over into a BASE chunk. Memory is bounded in every case: entries of the index
 * that would be too many are kept in PAGE chunks of the file. */

/* zstd in the recorder, found at run time: the traced process is not made to link a
 * library it does not have, and without one chunks are simply stored as they are. */

typedef struct tt_codec_zstd tt_codec_zstd;

/* NULL when libzstd.so.1 cannot be loaded or memory is out. */
tt_codec_zstd *tt_codec_zstd_new(void);
void tt_codec_zstd_free(tt_codec_zstd *z);
/* Unpacks into *out (cleared first); false unless it yields raw_bytes exactly. */
bool tt_codec_zstd_unpack(tt_codec_zstd *z, tt_span packed, size_t raw_bytes, tt_bytes *out);

typedef struct tt_sink {
    int fd;
    uint64_t device, inode; /* of the file behind fd: a traced program may close descriptors */
    uint64_t seed;          /* of the chunks' checksums */
    uint64_t offset;        /* where the next chunk goes */
    uint64_t limit; /* of the file's size in bytes, beyond which go META chunks only; 0: none */
    tt_index_entry *index; /* of the chunks since the last page */
    size_t n_index;
    size_t capacity;
    bool unpaged;        /* the whole index stays in memory */
    uint64_t page;       /* offset of the last PAGE chunk; 0: none */
    uint64_t ring_bytes; /* of chunks that are kept; 0: all are */
    uint64_t hole_end;   /* where the hole at the file's begin ends; 0: there is none */
    uint64_t punched;    /* what was given back to the file system */
    uint64_t retired_at; /* `offset` when chunks were last discarded */
    tt_meta_front front; /* what was discarded */
    bool hold;           /* nothing is discarded for the time being */
    tt_codec_zstd *zstd; /* NULL: chunks are stored uncompressed */
    tt_bytes packed;
} tt_sink;

/* Takes over fd (positioned writes only) and writes the file header. With ring_bytes,
 * TT_E_UNSUPPORTED when the file system cannot give back the pages of what is discarded. */
tt_status tt_sink_begin(tt_sink *s, int fd, const tt_file_header *header, uint64_t limit,
                        uint64_t ring_bytes, tt_error *err);
/* Takes over a file that has chunks already: `index` (malloc'ed, taken over) lists
 * them, the next one goes to `offset`. seed: tt_file_header_seed of its header. */
void tt_sink_continue(tt_sink *s, int fd, uint64_t seed, uint64_t offset, tt_index_entry *index,
                      size_t n_index);
/* Appends one chunk; stream, position, count and runs are taken from *entry. On failure
 * (TT_E_LIMIT, TT_E_IO) the file ends with the chunk before. */
tt_status tt_sink_put(tt_sink *s, tt_index_entry *entry, tt_span raw, tt_error *err);
/* Appends a whole chunk, header and padding included, of another file. */
tt_status tt_sink_put_copy(tt_sink *s, const tt_index_entry *entry, tt_span chunk, tt_error *err);
/* The entries of the chunks that count, malloc'ed: BASE first, then what is not in it, in file
 * order. */
tt_status tt_sink_entries(const tt_sink *s, tt_index_entry **list, size_t *n, tt_error *err);
/* The chunk at `offset` of the file, header and padding included; valid until *out changes. */
tt_status tt_sink_read(const tt_sink *s, uint64_t offset, tt_bytes *out, tt_chunk_header *h,
                       tt_error *err);
/* Writes INDEX and tail, cutting off whatever stood behind. */
tt_status tt_sink_finish(tt_sink *s, uint8_t end_flags, tt_error *err);
/* In the child of a fork: closes the file, if it is still ours, and touches nothing else. */
void tt_sink_forget(tt_sink *s);
/* Closes the file and frees everything. */
void tt_sink_close(tt_sink *s);

#endif
