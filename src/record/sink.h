/* META records that stay valid when the start of the stream is discarded: descriptions to which
 * later records refer, without those that were replaced, freed or removed. */
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
    size_t at, size; /* in `data`; size 0: not valid any more */
    uint64_t key;    /* an id; not used for ENVIRONMENT */
    uint8_t type;
} tt_retained_record;

typedef struct tt_retained {
    tt_bytes data;
    tt_retained_record *records; /* in the order observed */
    size_t n, capacity;
    bool failed; /* out of memory: records are missing */
} tt_retained;

void tt_retained_init(tt_retained *l);
void tt_retained_free(tt_retained *l);
/* Adds the records of a META payload, which continues the one before. Skips damaged ones. */
void tt_retained_add(tt_retained *l, tt_span meta);
/* Appends the valid records; *n: their number. */
void tt_retained_put(const tt_retained *l, tt_bytes *out, uint32_t *n);

/* The container writer: appends chunks to a file and keeps their index.
 *
 * As a flight recorder (ring_bytes) it discards the oldest chunks: they become one HOLE at the
 * file's start, whose pages are returned to the file system. Their META records that are still
 * valid are copied into a BASE chunk. Memory is always bounded: entries of the index beyond a limit
 * are stored in PAGE chunks of the file. */

/* zstd in the recorder, loaded at run time: the traced process must not need a library that it does
 * not have. Without it, chunks are stored uncompressed. */

typedef struct tt_codec_zstd tt_codec_zstd;

/* NULL if libzstd.so.1 cannot be loaded or memory is out. */
tt_codec_zstd *tt_codec_zstd_new(void);
void tt_codec_zstd_free(tt_codec_zstd *z);
/* Unpacks into *out (cleared first); false unless that gives exactly raw_bytes. */
bool tt_codec_zstd_unpack(tt_codec_zstd *z, tt_span packed, size_t raw_bytes, tt_bytes *out);

typedef struct tt_sink {
    int fd;
    uint64_t device, inode; /* of the file behind fd: a traced program may close descriptors */
    uint64_t seed;          /* of the chunks' checksums */
    uint64_t offset;        /* of the next chunk */
    uint64_t limit;         /* the file's size beyond which only META chunks are written; 0: none */
    tt_index_entry *index;  /* of the chunks since the last page */
    size_t n_index;
    size_t capacity;
    bool unpaged;        /* the whole index stays in memory */
    uint64_t page;       /* offset of the last PAGE chunk; 0: none */
    uint64_t ring_bytes; /* size of the chunks to keep; 0: all */
    uint64_t hole_end;   /* end of the hole at the file's start; 0: none */
    uint64_t punched;    /* returned to the file system */
    uint64_t retired_at; /* `offset` when chunks were last discarded */
    tt_meta_front front; /* counts of what was discarded */
    bool hold;           /* nothing is discarded for now */
    tt_codec_zstd *zstd; /* NULL: chunks are stored uncompressed */
    tt_bytes packed;
} tt_sink;

/* Takes ownership of fd (positioned writes only) and writes the file header. With ring_bytes,
 * TT_E_UNSUPPORTED if the file system cannot free the pages of discarded chunks. */
tt_status tt_sink_begin(tt_sink *s, int fd, const tt_file_header *header, uint64_t limit,
                        uint64_t ring_bytes, tt_error *err);
/* Takes ownership of a file that has chunks already: `index` (malloc'ed, owned from now on) lists
 * them; the next one goes to `offset`. seed: tt_file_header_seed of its header. */
void tt_sink_continue(tt_sink *s, int fd, uint64_t seed, uint64_t offset, tt_index_entry *index,
                      size_t n_index);
/* Appends one chunk; stream, position, count and runs come from *entry. On failure (TT_E_LIMIT,
 * TT_E_IO) the file ends with the previous chunk. */
tt_status tt_sink_put(tt_sink *s, tt_index_entry *entry, tt_span raw, tt_error *err);
/* Appends a whole chunk of another file, header and padding included. */
tt_status tt_sink_put_copy(tt_sink *s, const tt_index_entry *entry, tt_span chunk, tt_error *err);
/* The entries of valid chunks, malloc'ed: BASE first, then those not in it, in file order. */
tt_status tt_sink_entries(const tt_sink *s, tt_index_entry **list, size_t *n, tt_error *err);
/* The chunk at `offset` of the file, header and padding included; valid until *out changes. */
tt_status tt_sink_read(const tt_sink *s, uint64_t offset, tt_bytes *out, tt_chunk_header *h,
                       tt_error *err);
/* Writes INDEX and tail, and truncates the file there. */
tt_status tt_sink_finish(tt_sink *s, uint8_t end_flags, tt_error *err);
/* In a forked child: closes the file, if it is still ours, and touches nothing else. */
void tt_sink_drop(tt_sink *s);
/* Closes the file and frees everything. */
void tt_sink_close(tt_sink *s);

#endif
