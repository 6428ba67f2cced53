#include "export/dataset/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES ((size_t)256 << 10) /* passed on in pieces of about this size */
#define PACKED_BYTES ((size_t)128 << 10)
#define ZSTD_LEVEL 3
#define GZIP_LEVEL 6
#define GZIP_WINDOW (15 + 16) /* zlib's largest window, and a gzip header */

/* --- to the disk --- */

static void write_out(tt_dataset_file *f, const void *data, size_t n)
{
    if (f->failed || n == 0) return;
    errno = 0;
    if (fwrite(data, 1, n, f->out) != n)
        f->failed = errno ? errno : EIO;
    else
        f->size_bytes += n;
}

static void pack_zstd(tt_dataset_file *f, bool end)
{
    ZSTD_inBuffer in = {f->text, f->used, 0};
    size_t left = 1;
    while (!f->failed && (in.pos < in.size || (end && left))) {
        ZSTD_outBuffer out = {f->packed, PACKED_BYTES, 0};
        left = ZSTD_compressStream2(f->zstd, &out, &in, end ? ZSTD_e_end : ZSTD_e_continue);
        if (ZSTD_isError(left)) {
            f->failed = ENOMEM;
            return;
        }
        write_out(f, f->packed, out.pos);
    }
}

static void pack_gzip(tt_dataset_file *f, bool end)
{
    int status = Z_OK;
    f->gzip->next_in = (Bytef *)f->text;
    f->gzip->avail_in = (uInt)f->used;
    while (!f->failed && (f->gzip->avail_in > 0 || (end && status != Z_STREAM_END))) {
        f->gzip->next_out = f->packed;
        f->gzip->avail_out = (uInt)PACKED_BYTES;
        status = deflate(f->gzip, end ? Z_FINISH : Z_NO_FLUSH);
        if (status == Z_STREAM_ERROR) {
            f->failed = EIO;
            return;
        }
        write_out(f, f->packed, PACKED_BYTES - f->gzip->avail_out);
    }
}

static void pass_on(tt_dataset_file *f, bool end)
{
    if (f->compress == TT_COMPRESS_ZSTD)
        pack_zstd(f, end);
    else if (f->compress == TT_COMPRESS_GZIP)
        pack_gzip(f, end);
    else
        write_out(f, f->text, f->used);
    f->used = 0;
}

/* --- opening --- */

static bool make_packers(tt_dataset_file *f)
{
    if (f->compress == TT_COMPRESS_NONE) return true;
    if (!f->packed) f->packed = malloc(PACKED_BYTES);
    if (!f->packed) return false;
    if (f->compress == TT_COMPRESS_ZSTD) {
        if (!f->zstd) f->zstd = ZSTD_createCCtx();
        return f->zstd &&
               !ZSTD_isError(ZSTD_CCtx_reset(f->zstd, ZSTD_reset_session_and_parameters)) &&
               !ZSTD_isError(
                   ZSTD_CCtx_setParameter(f->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL)) &&
               !ZSTD_isError(ZSTD_CCtx_setParameter(f->zstd, ZSTD_c_checksumFlag, 1));
    }
    if (f->gzip) return deflateReset(f->gzip) == Z_OK;
    f->gzip = calloc(1, sizeof *f->gzip);
    if (f->gzip &&
        deflateInit2(f->gzip, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) == Z_OK)
        return true;
    free(f->gzip);
    f->gzip = NULL;
    return false;
}

static tt_status no_memory(tt_error *err)
{
    return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory to write the dataset");
}

tt_status tt_dataset_file_open(tt_dataset_file *f, const tt_outdir *folder, const char *name,
                               tt_compress compress, tt_error *err)
{
    static const char *const ends[] = {"", ".zst", ".gz"};
    size_t size = strlen(folder->path) + strlen(name) + 8;
    f->compress = compress;
    f->size_bytes = 0;
    f->used = 0;
    f->failed = 0;
    if (!f->text) f->text = malloc(TEXT_BYTES);
    if (f->text && f->capacity == 0) f->capacity = TEXT_BYTES;
    free(f->path);
    f->path = malloc(size);
    if (!f->text || !f->path || !make_packers(f)) return no_memory(err);
    (void)snprintf(f->path, size, "%s/%s%s", folder->path, name, ends[compress]);
    f->out = tt_outdir_file(folder, f->path + strlen(folder->path) + 1, err);
    if (!f->out) return err ? err->status : TT_E_IO;
    /* Text comes in large pieces: a further copy in stdio would cost as much as making it. */
    (void)setvbuf(f->out, NULL, _IONBF, 0);
    return TT_OK;
}

char *tt_dataset_file_room(tt_dataset_file *f, size_t n)
{
    if (n <= f->capacity - f->used) return f->text + f->used;
    pass_on(f, false);
    if (n > f->capacity) {
        char *more = realloc(f->text, n);
        if (!more) {
            f->failed = ENOMEM;
            return NULL;
        }
        f->text = more;
        f->capacity = n;
    }
    return f->text;
}

void tt_dataset_file_put(tt_dataset_file *f, const char *text, size_t n)
{
    while (n > 0) {
        size_t piece = n < TEXT_BYTES ? n : TEXT_BYTES;
        char *at = tt_dataset_file_room(f, piece);
        if (!at) return;
        memcpy(at, text, piece);
        f->used += piece;
        text += piece;
        n -= piece;
    }
}

static ssize_t stream_write(void *file, const char *text, size_t n)
{
    tt_dataset_file *f = file;
    tt_dataset_file_put(f, text, n);
    if (f->failed == 0) return (ssize_t)n;
    errno = f->failed;
    return 0;
}

FILE *tt_dataset_file_stream(tt_dataset_file *f)
{
    return fopencookie(f, "w", (cookie_io_functions_t){.write = stream_write});
}

tt_status tt_dataset_file_close(tt_dataset_file *f, tt_error *err)
{
    pass_on(f, true);
    FILE *out = f->out;
    f->out = NULL;
    if (f->failed == 0) return tt_outdir_close(out, f->path, err);
    (void)fclose(out);
    if (f->failed == ENOMEM) return no_memory(err);
    return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot write %s: %s", f->path,
                        strerror(f->failed));
}

void tt_dataset_file_free(tt_dataset_file *f)
{
    if (f->out) (void)fclose(f->out);
    if (f->zstd) (void)ZSTD_freeCCtx(f->zstd);
    if (f->gzip) (void)deflateEnd(f->gzip);
    free(f->gzip);
    free(f->packed);
    free(f->text);
    free(f->path);
    memset(f, 0, sizeof *f);
}
