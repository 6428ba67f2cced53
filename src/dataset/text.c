#include "dataset/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#define PIECE_BYTES ((size_t)128 << 10)
#define GZIP_WINDOW (15 + 16)
/* Largest window that a frame may require. */
#define ZSTD_WINDOW_LOG_MAX 27

/* A file that is being read. */
typedef struct reader {
    FILE *in;
    uint8_t *piece; /* PIECE_BYTES, as stored */
    tt_bytes *text;
    tt_error *err;
} reader;

static tt_status too_large(const reader *r)
{
    /* The buffer also fails if out of memory, which its size shows. */
    if (r->text->size < r->text->limit / 2) return tt_error_memory(r->err, "its text");
    return tt_error_set(r->err, TT_E_LIMIT, TT_NO_OFFSET,
                        "it is larger than %zu MiB, the most that is checked of one file",
                        TT_DATASET_FILE_MAX >> 20);
}

static tt_status io_error(const reader *r)
{
    return tt_error_set(r->err, TT_E_IO, TT_NO_OFFSET, "cannot be read: %s", strerror(errno));
}

/* Room for more text: at most one piece, within the limit. */
static size_t room(reader *r)
{
    size_t left = r->text->limit - r->text->size;
    size_t n = left < PIECE_BYTES ? left : PIECE_BYTES;
    return n > 0 && tt_bytes_reserve(r->text, n) ? n : 0;
}

static tt_status read_plain(reader *r)
{
    for (;;) {
        size_t n = fread(r->piece, 1, PIECE_BYTES, r->in);
        if (n == 0) return ferror(r->in) ? io_error(r) : TT_OK;
        tt_bytes_put(r->text, r->piece, n);
        if (r->text->failed) return too_large(r);
    }
}

static tt_status read_zstd(reader *r)
{
    tt_status status = TT_OK;
    size_t hint = 1;
    ZSTD_inBuffer in = {r->piece, 0, 0};
    ZSTD_DCtx *z = ZSTD_createDCtx();
    if (!z || ZSTD_isError(ZSTD_DCtx_setParameter(z, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG_MAX)))
        status = tt_error_set(r->err, TT_E_MEMORY, TT_NO_OFFSET, "no memory to unpack it");
    while (status == TT_OK) {
        if (in.pos == in.size) {
            in = (ZSTD_inBuffer){r->piece, fread(r->piece, 1, PIECE_BYTES, r->in), 0};
            if (in.size == 0) break;
        }
        size_t n = room(r);
        if (n == 0) {
            status = too_large(r);
            break;
        }
        ZSTD_outBuffer out = {r->text->data + r->text->size, n, 0};
        hint = ZSTD_decompressStream(z, &out, &in);
        r->text->size += out.pos;
        if (ZSTD_isError(hint))
            status = tt_error_set(r->err, TT_E_FORMAT, TT_NO_OFFSET, "it cannot be unpacked: %s",
                                  ZSTD_getErrorName(hint));
    }
    if (status == TT_OK && ferror(r->in)) status = io_error(r);
    if (status == TT_OK && hint != 0)
        status = tt_error_set(r->err, TT_E_TRUNCATED, TT_NO_OFFSET,
                              "it is cut off: the compressed text has no end");
    (void)ZSTD_freeDCtx(z);
    return status;
}

/* The next piece of the file for z; false at its end. */
static bool more_in(reader *r, z_stream *z)
{
    if (z->avail_in > 0) return true;
    z->next_in = r->piece;
    z->avail_in = (uInt)fread(r->piece, 1, PIECE_BYTES, r->in);
    return z->avail_in > 0;
}

/* A gzip file may have several members, one after another (RFC 1952). */
static tt_status unpack_gzip(reader *r, z_stream *z)
{
    int at = Z_STREAM_END;
    while (more_in(r, z)) {
        if (at == Z_STREAM_END && inflateReset(z) != Z_OK)
            return tt_error_set(r->err, TT_E_MEMORY, TT_NO_OFFSET, "no memory to unpack it");
        size_t n = room(r);
        if (n == 0) return too_large(r);
        z->next_out = r->text->data + r->text->size;
        z->avail_out = (uInt)n;
        at = inflate(z, Z_NO_FLUSH);
        r->text->size += n - z->avail_out;
        if (at != Z_OK && at != Z_STREAM_END && at != Z_BUF_ERROR)
            return tt_error_set(r->err, TT_E_FORMAT, TT_NO_OFFSET, "it cannot be unpacked: %s",
                                z->msg ? z->msg : "damaged");
    }
    if (ferror(r->in)) return io_error(r);
    if (at == Z_STREAM_END) return TT_OK;
    return tt_error_set(r->err, TT_E_TRUNCATED, TT_NO_OFFSET,
                        "it is cut off: the compressed text has no end");
}

static tt_status read_gzip(reader *r)
{
    z_stream z = {0};
    if (inflateInit2(&z, GZIP_WINDOW) != Z_OK)
        return tt_error_set(r->err, TT_E_MEMORY, TT_NO_OFFSET, "no memory to unpack it");
    tt_status status = unpack_gzip(r, &z);
    (void)inflateEnd(&z);
    return status;
}

/* Rejects what could block: a pipe instead of a file. */
static FILE *open_file(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return NULL;
    bool known = fstat(fd, &st) == 0;
    if (known && S_ISREG(st.st_mode)) return fdopen(fd, "rb");
    if (known) errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
    int why = errno;
    (void)close(fd);
    errno = why;
    return NULL;
}

static bool ends_in(const char *path, const char *end)
{
    size_t n = strlen(path), k = strlen(end);
    return n > k && strcmp(path + n - k, end) == 0;
}

tt_status tt_dataset_text_read(const char *path, tt_bytes *text, tt_error *err)
{
    reader r = {.text = text, .err = err};
    tt_status status;
    tt_bytes_clear(text);
    r.in = open_file(path);
    if (!r.in) return io_error(&r);
    r.piece = malloc(PIECE_BYTES);
    if (!r.piece)
        status = tt_error_memory(err, "its text");
    else if (ends_in(path, ".zst"))
        status = read_zstd(&r);
    else if (ends_in(path, ".gz"))
        status = read_gzip(&r);
    else
        status = read_plain(&r);
    free(r.piece);
    (void)fclose(r.in);
    return status;
}
