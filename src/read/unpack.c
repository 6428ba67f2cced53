#include "read/unpack.h"

#include <zstd.h>

/* zstd's own least, and what the largest chunk is worth. */
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

uint64_t tt_chunk_hole_bytes(const tt_source *s)
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
        /* The decoder finds out, and must not look behind the end. */
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
    /* What a reader knew a moment ago, a flight recorder may have thrown away since. */
    if (status == TT_OK || status == TT_E_IO || status == TT_E_MEMORY ||
        offset <= TT_FILE_HEADER_BYTES || tt_chunk_hole_bytes(s) <= offset - TT_FILE_HEADER_BYTES)
        return status;
    return tt_error_set(err, TT_E_IO, offset,
                        "the flight recorder threw this part away while it was being read: read "
                        "the file again, or take a snapshot (SIGUSR1 to `tensortrace run`)");
}

/* The front of a frame. A stream needs memory for the window that the frame says it has: no more
 * than its content is worth. False when it cannot be had so. */
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
    /* What cannot be had as a stream may still be had whole. */
    if (want >= capacity || !stream_front(u, stored, capacity, want)) {
        want = capacity;
        /* One byte of room more than announced, so that a longer frame is noticed. */
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

tt_status tt_chunk_unpack(const tt_chunk_header *h, tt_span stored, uint64_t offset,
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
