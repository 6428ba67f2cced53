#include "read/trace.h"

#include "base/array.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#define PIPE_STEP 65536u

static tt_status system_error(tt_error *err, const char *what)
{
    return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "%s: %s", what, strerror(errno));
}

static tt_status read_all(tt_source *s, tt_error *err)
{
    tt_bytes all;
    ssize_t got;
    tt_bytes_init(&all, TT_SOURCE_PIPE_MAX);
    do {
        if (!tt_bytes_reserve(&all, PIPE_STEP)) {
            tt_bytes_free(&all);
            return tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET,
                                "more than %u bytes from a pipe; save it to a file and read that",
                                TT_SOURCE_PIPE_MAX);
        }
        do
            got = read(s->fd, all.data + all.size, PIPE_STEP);
        while (got < 0 && errno == EINTR);
        if (got > 0) all.size += (size_t)got;
    } while (got > 0);
    if (got < 0) {
        tt_bytes_free(&all);
        return system_error(err, "cannot be read");
    }
    s->owned = all.data;
    s->data = all.data;
    s->size = all.size;
    return TT_OK;
}

/* Replaces an experiment's folder by its trace; a folder of experiments by that of the last one
 * requested. *fd is unchanged if it is neither. */
static void enter_folder(int *fd, struct stat *st)
{
    static const char *const names[] = {TT_RUN_TRACE, "current/" TT_RUN_TRACE};
    for (size_t i = 0; i < sizeof names / sizeof *names && S_ISDIR(st->st_mode); i++) {
        const int inside = openat(*fd, names[i], O_RDONLY | O_CLOEXEC);
        if (inside < 0) continue;
        if (fstat(inside, st) != 0) st->st_mode = S_IFDIR;
        (void)close(*fd);
        *fd = inside;
    }
}

tt_status tt_source_open(tt_source *s, const char *path, tt_error *err)
{
    struct stat st;
    tt_status status = TT_OK;
    memset(s, 0, sizeof *s);
    s->fd = open(path, O_RDONLY | O_CLOEXEC);
    const bool is_open = s->fd >= 0 && fstat(s->fd, &st) == 0;
    if (is_open) enter_folder(&s->fd, &st);
    if (!is_open)
        status = system_error(err, "cannot be opened");
    else if (S_ISDIR(st.st_mode))
        status = tt_error_set(err, TT_E_IO, TT_NO_OFFSET,
                              "is a folder, and not one of an experiment; name a .ttrace file");
    else if (S_ISREG(st.st_mode))
        s->size = (uint64_t)st.st_size;
    else
        status = read_all(s, err);
    if (s->fd >= 0 && (status != TT_OK || s->data)) {
        (void)close(s->fd);
        s->fd = -1;
    }
    return status;
}

void tt_source_of_memory(tt_source *s, const void *data, size_t size)
{
    memset(s, 0, sizeof *s);
    s->fd = -1;
    s->data = data;
    s->size = size;
}

void tt_source_close(tt_source *s)
{
    if (s->fd >= 0) (void)close(s->fd);
    free(s->owned);
    memset(s, 0, sizeof *s);
    s->fd = -1;
}

static tt_status read_at(const tt_source *s, uint64_t offset, uint8_t *to, size_t n, tt_error *err)
{
    for (size_t have = 0; have < n;) {
        ssize_t got = pread(s->fd, to + have, n - have, (off_t)(offset + have));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0)
            return tt_error_set(err, TT_E_IO, offset + have, "cannot be read: %s", strerror(errno));
        if (got == 0)
            return tt_error_set(err, TT_E_TRUNCATED, offset + have, "the file became shorter");
        have += (size_t)got;
    }
    return TT_OK;
}

tt_status tt_source_read(const tt_source *s, uint64_t offset, size_t n, tt_bytes *scratch,
                         const uint8_t **out, tt_error *err)
{
    *out = NULL;
    if (offset > s->size || n > s->size - offset)
        return tt_error_set(err, TT_E_TRUNCATED, offset,
                            "%zu bytes are needed here, the file ends at byte %" PRIu64, n,
                            s->size);
    if (s->fd < 0) {
        *out = s->data + offset;
        return TT_OK;
    }
    tt_bytes_clear(scratch);
    if (!tt_bytes_reserve(scratch, n ? n : 1))
        return tt_error_set(err, TT_E_MEMORY, offset, "no memory for %zu bytes", n);
    tt_status status = read_at(s, offset, scratch->data, n, err);
    if (status == TT_OK) {
        scratch->size = n;
        *out = scratch->data;
    }
    return status;
}

/* zstd's minimum, and the window for the largest chunk. */
#define WINDOW_LOG_MIN 10
#define WINDOW_LOG_MAX 26

void tt_unpacker_init(tt_unpacker *u)
{
    tt_bytes_init(&u->stored, TT_CHUNK_PAYLOAD_MAX + TT_CHUNK_HEADER_BYTES);
    tt_bytes_init(&u->raw, TT_CHUNK_PAYLOAD_MAX + 1);
    u->zstd = NULL;
}

void tt_unpacker_free(tt_unpacker *u)
{
    tt_bytes_free(&u->stored);
    tt_bytes_free(&u->raw);
    ZSTD_freeDCtx(u->zstd);
    u->zstd = NULL;
}

/* The present length of the HOLE at the start of the file; 0: none. */
static uint64_t chunk_hole_bytes(const tt_source *s)
{
    const uint8_t *at;
    tt_bytes scratch;
    tt_chunk_header h;
    tt_bytes_init(&scratch, TT_CHUNK_HEADER_BYTES);
    bool found = tt_source_read(s, TT_FILE_HEADER_BYTES, TT_CHUNK_HEADER_BYTES, &scratch, &at,
                                NULL) == TT_OK &&
                 tt_chunk_header_decode(at, TT_CHUNK_HEADER_BYTES, TT_FILE_HEADER_BYTES, s->seed,
                                        &h, NULL) == TT_OK &&
                 h.type == TT_CHUNK_HOLE;
    tt_bytes_free(&scratch);
    return found ? h.position : 0;
}

static tt_status load(const tt_source *s, uint64_t offset, tt_unpacker *u, tt_chunk_header *h,
                      tt_span *stored, tt_error *err)
{
    const uint8_t *at;
    uint64_t left = offset < s->size ? s->size - offset : 0;
    if (left < TT_CHUNK_HEADER_BYTES)
        return tt_error_set(err, TT_E_TRUNCATED, offset, "a chunk header is cut off");
    tt_status status = tt_source_read(s, offset, TT_CHUNK_HEADER_BYTES, &u->stored, &at, err);
    if (status != TT_OK) return status;
    uint64_t want = TT_CHUNK_HEADER_BYTES + (uint64_t)tt_load_u32(at + 8);
    if (want <= left && want <= TT_CHUNK_PAYLOAD_MAX + TT_CHUNK_HEADER_BYTES) {
        status = tt_source_read(s, offset, (size_t)want, &u->stored, &at, err);
        if (status != TT_OK) return status;
        left = want;
    } else if (want > left) {
        /* A length that is too large must not be read past the end; the decoder reports it. */
        left = left < want ? left : want;
    }
    status = tt_chunk_header_decode(at, left, offset, s->seed, h, err);
    if (status != TT_OK) return status;
    *stored = (tt_span){at + TT_CHUNK_HEADER_BYTES, h->stored_bytes};
    return TT_OK;
}

tt_status tt_chunk_load(const tt_source *s, uint64_t offset, tt_unpacker *u, tt_chunk_header *h,
                        tt_span *stored, tt_error *err)
{
    tt_status status = load(s, offset, u, h, stored, err);
    /* A flight recorder may have discarded what was read a moment ago. */
    if (status == TT_OK || status == TT_E_IO || status == TT_E_MEMORY ||
        offset <= TT_FILE_HEADER_BYTES || chunk_hole_bytes(s) <= offset - TT_FILE_HEADER_BYTES)
        return status;
    return tt_error_set(err, TT_E_IO, offset,
                        "the flight recorder threw this part away while it was being read: read "
                        "the file again, or take a snapshot (SIGUSR1 to `tensortrace run`)");
}

/* Unpacks the start of a frame as a stream. A stream needs memory for the window that the frame
 * declares, so the window may not be larger than the content. False if the frame cannot be read
 * this way. */
static bool stream_front(tt_unpacker *u, tt_span stored, size_t capacity, size_t want)
{
    ZSTD_outBuffer to = {u->raw.data, want, 0};
    ZSTD_inBuffer from = {stored.data, stored.size, 0};
    size_t result;
    int window_log = WINDOW_LOG_MIN;
    while (window_log < WINDOW_LOG_MAX && (size_t)1 << window_log < capacity)
        window_log++;
    (void)ZSTD_DCtx_reset(u->zstd, ZSTD_reset_session_only);
    (void)ZSTD_DCtx_setParameter(u->zstd, ZSTD_d_windowLogMax, window_log);
    do
        result = ZSTD_decompressStream(u->zstd, &to, &from);
    while (!ZSTD_isError(result) && result != 0 && to.pos < to.size && from.pos < from.size);
    u->raw.size = to.pos;
    return !ZSTD_isError(result);
}

static tt_status zstd_front(const tt_chunk_header *h, tt_span stored, uint64_t offset, size_t want,
                            tt_unpacker *u, tt_error *err)
{
    size_t capacity = h->raw_bytes;
    if (!u->zstd) u->zstd = ZSTD_createDCtx();
    tt_bytes_clear(&u->raw);
    if (!u->zstd || !tt_bytes_reserve(&u->raw, capacity + 1))
        return tt_error_set(err, TT_E_MEMORY, offset, "no memory to unpack a chunk of %zu bytes",
                            capacity);
    size_t result = 0;
    /* Otherwise unpack it completely. */
    if (want >= capacity || !stream_front(u, stored, capacity, want)) {
        want = capacity;
        /* Room for one byte more than announced, so that a longer frame is noticed. */
        result = ZSTD_decompressDCtx(u->zstd, u->raw.data, capacity + 1, stored.data, stored.size);
        u->raw.size = ZSTD_isError(result) ? 0 : result;
    }
    if (ZSTD_isError(result))
        return tt_error_set(err, TT_E_FORMAT, offset, "a chunk cannot be unpacked: %s",
                            ZSTD_getErrorName(result));
    if (u->raw.size != (want < capacity ? want : capacity))
        return tt_error_set(err, TT_E_FORMAT, offset,
                            "a chunk unpacks to %zu bytes, its header says %zu", u->raw.size,
                            capacity);
    return TT_OK;
}

/* Unpacks a chunk. *payload is the whole payload or, if at_least is smaller, at least its first
 * at_least bytes: reading the start of a large payload is cheap. Valid until the next call. Never
 * uses more memory than the header's raw_bytes. */
static tt_status chunk_unpack(const tt_chunk_header *h, tt_span stored, uint64_t offset,
                              size_t at_least, tt_unpacker *u, tt_span *payload, tt_error *err)
{
    tt_status status = TT_OK;
    if (h->codec == TT_CODEC_NONE) {
        if (h->raw_bytes != h->stored_bytes)
            return tt_error_set(err, TT_E_FORMAT, offset,
                                "a chunk without compression gives two different sizes");
        *payload = stored;
    } else if (h->codec == TT_CODEC_ZSTD) {
        status = zstd_front(h, stored, offset, at_least, u, err);
        if (status == TT_OK) *payload = (tt_span){u->raw.data, u->raw.size};
    } else {
        status = tt_error_set(err, TT_E_UNSUPPORTED, offset,
                              "a chunk is packed with codec %u, which this build does not know: "
                              "use a newer tensortrace",
                              h->codec);
    }
    return status;
}

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

/* A HOLE is only valid at the start of the file, and inside it. */
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

/* Finds the hole. With an index the chunks at the start are not read here; later checks find
 * missing ones. */
static void find_hole(tt_trace *t, tt_unpacker *u)
{
    tt_chunk_header h;
    tt_span stored;
    if (t->n_chunks && t->chunks[0].offset == TT_FILE_HEADER_BYTES) return;
    if (tt_chunk_load(&t->source, TT_FILE_HEADER_BYTES, u, &h, &stored, NULL) == TT_OK &&
        h.type == TT_CHUNK_HOLE && is_hole(&t->source, TT_FILE_HEADER_BYTES, &h, NULL))
        t->hole_bytes = h.position;
}

/* Reads the INDEX of the tail. Leaves *t unchanged if there is no valid one. */
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
    if (status == TT_OK) status = chunk_unpack(&h, stored, offset, SIZE_MAX, &u, &payload, err);
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
         i < RESCANS_MAX && status == TT_OK && chunk_hole_bytes(&t->source) != scan.hole_bytes;
         i++) {
        free(scan.chunks);
        status = tt_trace_scan(&t->source, &scan, err);
    }
    if (status != TT_OK) return status;
    t->chunks = scan.chunks;
    t->n_chunks = tt_index_in_order(scan.chunks, scan.n_chunks);
    t->hole_bytes = scan.hole_bytes;
    t->end_bytes = scan.end_bytes;
    /* If the scan found an INDEX, the INDEX or the tail itself is wrong, and the reason is
     * known. */
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

/* Prepends the path to the message. */
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
    return chunk_unpack(h, stored, e->offset, at_least, u, payload, err);
}
