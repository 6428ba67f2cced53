#include "read/trace.h"

#include "base/array.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tt_status push_chunk(tt_scan *scan, size_t *capacity, uint64_t offset,
                            const tt_chunk_header *h, tt_error *err)
{
    tt_index_entry *e = tt_array_add(scan->chunks, scan->n_chunks, *capacity);
    if (!e) return tt_error_memory(err, "the chunk list");
    *e = (tt_index_entry){.offset = offset,
                          .type = h->type,
                          .stream = h->stream,
                          .position = h->position,
                          .count = h->count};
    return TT_OK;
}

/* Only at the begin, and inside the file. */
static bool is_hole(const tt_source *s, uint64_t at, const tt_chunk_header *h, tt_error *err)
{
    if (at == TT_FILE_HEADER_BYTES && h->position <= s->size - at) return true;
    (void)tt_error_set(err, TT_E_FORMAT, at, "a hole of %" PRIu64 " bytes", h->position);
    return false;
}

tt_status tt_trace_scan(const tt_source *s, tt_scan *scan, tt_error *err)
{
    tt_unpacker u;
    tt_status status = TT_OK;
    size_t capacity = 0;
    uint64_t at = TT_FILE_HEADER_BYTES;
    memset(scan, 0, sizeof *scan);
    tt_unpacker_init(&u);
    scan->stop.offset = TT_NO_OFFSET;
    while (status == TT_OK) {
        tt_chunk_header h;
        tt_span stored;
        scan->end_bytes = at < s->size ? at : s->size;
        if (at >= s->size) {
            (void)tt_error_set(&scan->stop, TT_E_TRUNCATED, s->size,
                               "the file ends without an index");
            break;
        }
        if (tt_chunk_load(s, at, &u, &h, &stored, &scan->stop) != TT_OK) break;
        if (h.type == TT_CHUNK_INDEX) {
            scan->index_offset = at;
            break;
        }
        if (h.type == TT_CHUNK_HOLE) {
            if (!is_hole(s, at, &h, &scan->stop)) break;
            scan->hole_bytes = h.position;
        } else {
            status = push_chunk(scan, &capacity, at, &h, err);
        }
        at += tt_chunk_extent(&h);
    }
    tt_unpacker_free(&u);
    if (status != TT_OK) {
        free(scan->chunks);
        memset(scan, 0, sizeof *scan);
    }
    return status;
}

/* With an index nothing is looked for at the begin; what is not there shows when it is checked. */
static void find_hole(tt_trace *t, tt_unpacker *u)
{
    tt_chunk_header h;
    tt_span stored;
    if (t->n_chunks && t->chunks[0].offset == TT_FILE_HEADER_BYTES) return;
    if (tt_chunk_load(&t->source, TT_FILE_HEADER_BYTES, u, &h, &stored, NULL) == TT_OK &&
        h.type == TT_CHUNK_HOLE && is_hole(&t->source, TT_FILE_HEADER_BYTES, &h, NULL))
        t->hole_bytes = h.position;
}

/* Reads the INDEX that the tail names. Leaves *t alone when there is none to trust. */
static tt_status read_index(tt_trace *t, tt_error *err)
{
    tt_unpacker u;
    tt_chunk_header h;
    tt_span stored, payload;
    const uint8_t *tail;
    uint64_t size = t->source.size;
    if (size < TT_FILE_HEADER_BYTES + TT_CHUNK_HEADER_BYTES + TT_TAIL_BYTES)
        return tt_error_set(err, TT_E_TRUNCATED, size, "the file ends without an index");
    tt_unpacker_init(&u);
    tt_status status =
        tt_source_read(&t->source, size - TT_TAIL_BYTES, TT_TAIL_BYTES, &u.stored, &tail, err);
    uint64_t offset = 0;
    if (status == TT_OK && !tt_tail_decode(tail, &offset))
        status = tt_error_set(err, TT_E_TRUNCATED, size, "the file ends without an index");
    if (status == TT_OK && (offset % 8 || offset < TT_FILE_HEADER_BYTES || offset > size))
        status = tt_error_set(err, TT_E_FORMAT, size - TT_TAIL_BYTES,
                              "the tail names an index at byte %" PRIu64, offset);
    if (status == TT_OK) status = tt_chunk_load(&t->source, offset, &u, &h, &stored, err);
    if (status == TT_OK && h.type != TT_CHUNK_INDEX)
        status = tt_error_set(err, TT_E_FORMAT, offset, "the tail names a chunk that is no index");
    if (status == TT_OK) status = tt_chunk_unpack(&h, stored, offset, SIZE_MAX, &u, &payload, err);
    if (status == TT_OK)
        status = tt_index_decode(payload, offset, &t->chunks, &t->n_chunks, &t->end_flags, err);
    if (status == TT_OK) find_hole(t, &u);
    tt_unpacker_free(&u);
    if (status == TT_OK) {
        t->complete = true;
        t->index_offset = offset;
        t->end_bytes = size;
    } else {
        free(t->chunks);
        t->chunks = NULL;
        t->n_chunks = 0;
        t->end_flags = 0;
    }
    return status;
}

#define RESCANS_MAX 16

static tt_status rebuild(tt_trace *t, const tt_error *why, tt_error *err)
{
    tt_scan scan;
    tt_status status = tt_trace_scan(&t->source, &scan, err);
    /* A flight recorder's hole may have grown over what the scan was about to read. */
    for (int i = 0;
         i < RESCANS_MAX && status == TT_OK && tt_chunk_hole_bytes(&t->source) != scan.hole_bytes;
         i++) {
        free(scan.chunks);
        status = tt_trace_scan(&t->source, &scan, err);
    }
    if (status != TT_OK) return status;
    t->chunks = scan.chunks;
    t->n_chunks = tt_index_in_order(scan.chunks, scan.n_chunks);
    t->hole_bytes = scan.hole_bytes;
    t->end_bytes = scan.end_bytes;
    /* A scan that met an INDEX says nothing new: the INDEX or tail itself is at fault. */
    t->cut = scan.index_offset ? *why : scan.stop;
    if (t->n_chunks < scan.n_chunks) {
        t->end_bytes = scan.chunks[t->n_chunks].offset;
        (void)tt_error_set(&t->cut, TT_E_FORMAT, t->end_bytes,
                           "a chunk repeats or precedes one before it");
    }
    return TT_OK;
}

static tt_status open_source(tt_trace *t, tt_error *err)
{
    const uint8_t *head;
    tt_bytes scratch;
    tt_error why;
    if (t->source.size == 0)
        return tt_error_set(err, TT_E_TRUNCATED, TT_NO_OFFSET,
                            "the file is empty; if its program was killed, try `tensortrace "
                            "recover` on it");
    tt_bytes_init(&scratch, TT_FILE_HEADER_BYTES);
    size_t n =
        t->source.size < TT_FILE_HEADER_BYTES ? (size_t)t->source.size : TT_FILE_HEADER_BYTES;
    tt_status status = tt_source_read(&t->source, 0, n, &scratch, &head, err);
    if (status == TT_OK) status = tt_file_header_decode(head, n, &t->header, err);
    tt_bytes_free(&scratch);
    if (status != TT_OK) return status;
    t->source.seed = tt_file_header_seed(&t->header);
    if (read_index(t, &why) == TT_OK) return TT_OK;
    if (why.status == TT_E_MEMORY || why.status == TT_E_IO)
        return tt_error_set(err, why.status, why.offset, "%s", why.message);
    return rebuild(t, &why, err);
}

/* Puts the path in front of the message. */
static tt_status name_error(tt_error *err, const char *path)
{
    char message[sizeof err->message];
    if (!err) return TT_E_IO;
    memcpy(message, err->message, sizeof message);
    message[sizeof message - 1] = '\0';
    return tt_error_set(err, err->status, err->offset, "%.120s%s: %.190s",
                        strlen(path) > 120 ? "..." : "",
                        strlen(path) > 120 ? path + strlen(path) - 117 : path, message);
}

tt_status tt_trace_open(tt_trace *t, const char *path, tt_error *err)
{
    tt_error local;
    tt_error *e = err ? err : &local;
    memset(t, 0, sizeof *t);
    tt_status status = tt_source_open(&t->source, path, e);
    if (status == TT_OK) status = open_source(t, e);
    return status == TT_OK ? TT_OK : name_error(e, path);
}

tt_status tt_trace_open_memory(tt_trace *t, const void *data, size_t size, tt_error *err)
{
    memset(t, 0, sizeof *t);
    tt_source_of_memory(&t->source, data, size);
    return open_source(t, err);
}

void tt_trace_close(tt_trace *t)
{
    tt_source_close(&t->source);
    free(t->chunks);
    memset(t, 0, sizeof *t);
    t->source.fd = -1;
}

bool tt_trace_is_as_listed(const tt_trace *t, size_t i, const tt_chunk_header *h)
{
    const tt_index_entry *e = &t->chunks[i];
    return h->type == e->type && h->stream == e->stream && h->position == e->position &&
           h->count == e->count;
}

tt_status tt_trace_chunk(const tt_trace *t, size_t i, size_t at_least, tt_unpacker *u,
                         tt_chunk_header *h, tt_span *payload, tt_error *err)
{
    tt_span stored;
    const tt_index_entry *e = &t->chunks[i];
    tt_status status = tt_chunk_load(&t->source, e->offset, u, h, &stored, err);
    if (status != TT_OK) return status;
    if (!tt_trace_is_as_listed(t, i, h))
        return tt_error_set(err, TT_E_FORMAT, e->offset,
                            "a chunk differs from what the index says of it");
    return tt_chunk_unpack(h, stored, e->offset, at_least, u, payload, err);
}
