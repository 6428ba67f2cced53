#include "export/compress.h"

#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#define GZIP_WINDOW (15 + 16) /* 16: a gzip header, not zlib's */
#define GZIP_MEMORY 8
#define GZIP_LEVEL 4 /* above it time grows much faster than the gain */
#define ZSTD_LEVEL 3

struct tt_compressor {
    tt_compress method;
    ZSTD_CCtx *zstd;
    z_stream gzip;
};

tt_compressor *tt_compressor_new(tt_compress method)
{
    tt_compressor *c = calloc(1, sizeof *c);
    bool ok = c;
    if (!c) return NULL;
    c->method = method;
    if (method == TT_COMPRESS_ZSTD) ok = (c->zstd = ZSTD_createCCtx()) != NULL;
    if (method == TT_COMPRESS_GZIP)
        ok = deflateInit2(&c->gzip, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY,
                          Z_DEFAULT_STRATEGY) == Z_OK;
    if (ok) return c;
    if (method == TT_COMPRESS_GZIP) c->method = TT_COMPRESS_NONE; /* there is nothing to end */
    tt_compressor_free(c);
    return NULL;
}

void tt_compressor_free(tt_compressor *c)
{
    if (!c) return;
    if (c->zstd) (void)ZSTD_freeCCtx(c->zstd);
    if (c->method == TT_COMPRESS_GZIP) (void)deflateEnd(&c->gzip);
    free(c);
}

static tt_status put_zstd(tt_compressor *c, const void *data, size_t n, tt_bytes *out,
                          tt_error *err)
{
    size_t room = ZSTD_compressBound(n);
    if (!tt_bytes_reserve(out, room)) return tt_error_memory(err, "compressing the output");
    size_t size = ZSTD_compressCCtx(c->zstd, out->data + out->size, room, data, n, ZSTD_LEVEL);
    if (ZSTD_isError(size))
        return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "zstd cannot compress the output: %s",
                            ZSTD_getErrorName(size));
    out->size += size;
    return TT_OK;
}

/* Passes room and input in lengths that fit zlib's type. */
static tt_status put_gzip(tt_compressor *c, const unsigned char *data, size_t n, tt_bytes *out,
                          tt_error *err)
{
    const size_t most = (size_t)1 << 30;
    int code = deflateReset(&c->gzip);
    while (code == Z_OK) {
        if (c->gzip.avail_in == 0 && n > 0) {
            size_t size = n < most ? n : most;
            c->gzip.next_in = (Bytef *)(uintptr_t)data;
            c->gzip.avail_in = (uInt)size;
            data += size;
            n -= size;
        }
        size_t room = c->gzip.avail_in / 2 + 65536;
        if (!tt_bytes_reserve(out, room)) return tt_error_memory(err, "compressing the output");
        c->gzip.next_out = out->data + out->size;
        c->gzip.avail_out = (uInt)room;
        code = deflate(&c->gzip, n ? Z_NO_FLUSH : Z_FINISH);
        out->size += room - c->gzip.avail_out;
    }
    return code == Z_STREAM_END ? TT_OK
                                : tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET,
                                               "zlib cannot compress the output (%d)", code);
}

tt_status tt_compressor_put(tt_compressor *c, const void *data, size_t n, tt_bytes *out,
                            tt_error *err)
{
    if (c->method == TT_COMPRESS_ZSTD) return put_zstd(c, data, n, out, err);
    if (c->method == TT_COMPRESS_GZIP) return put_gzip(c, data, n, out, err);
    tt_bytes_put(out, data, n);
    return out->failed ? tt_error_memory(err, "compressing the output") : TT_OK;
}

const char *tt_compress_suffix(tt_compress method)
{
    return method == TT_COMPRESS_ZSTD ? ".zst" : method == TT_COMPRESS_GZIP ? ".gz" : "";
}
