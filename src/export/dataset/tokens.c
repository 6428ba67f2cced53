#include "export/dataset/tokens.h"

#include "base/array.h"
#include "export/dataset/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Approximate size of the pieces of text. Each piece becomes a compressed frame: large, so that
 * nearly all files have only one. */
#define TEXT_BYTES ((size_t)256 << 10)
#define PACKED_TEXT_BYTES ((size_t)8 << 20)

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

static void pass_on(tt_dataset_file *f)
{
    tt_error why;
    if (!f->compressor) {
        write_out(f, f->text, f->used);
    } else if (f->used && !f->failed) {
        tt_bytes_clear(&f->packed);
        if (tt_compressor_put(f->compressor, f->text, f->used, &f->packed, &why) == TT_OK)
            write_out(f, f->packed.data, f->packed.size);
        else
            f->failed = ENOMEM;
    }
    f->used = 0;
}

/* --- opening --- */

/* Texts and compressors are reused: all files have the same compression. */
static bool make_room(tt_dataset_file *f, tt_compress compress)
{
    if (f->text && f->compress != compress) {
        tt_compressor_free(f->compressor);
        f->compressor = NULL;
        free(f->text);
        f->text = NULL;
    }
    f->compress = compress;
    if (!f->text) {
        f->capacity = compress == TT_COMPRESS_NONE ? TEXT_BYTES : PACKED_TEXT_BYTES;
        f->text = malloc(f->capacity);
        tt_bytes_free(&f->packed);
        tt_bytes_init(&f->packed, SIZE_MAX / 2);
    }
    if (compress != TT_COMPRESS_NONE && !f->compressor) f->compressor = tt_compressor_new(compress);
    return f->text && (compress == TT_COMPRESS_NONE || f->compressor);
}

tt_status tt_dataset_file_open(tt_dataset_file *f, const tt_outdir *folder, const char *name,
                               tt_compress compress, tt_error *err)
{
    size_t size = strlen(folder->path) + strlen(name) + 8;
    f->size_bytes = 0;
    f->used = 0;
    f->failed = 0;
    free(f->path);
    f->path = malloc(size);
    if (!f->path || !make_room(f, compress)) return tt_error_memory(err, "writing the dataset");
    (void)snprintf(f->path, size, "%s/%s%s", folder->path, name, tt_compress_suffix(compress));
    f->out = tt_outdir_file(folder, f->path + strlen(folder->path) + 1, err);
    if (!f->out) return err ? err->status : TT_E_IO;
    /* Text comes in large pieces: another copy in stdio would cost as much as making it. */
    (void)setvbuf(f->out, NULL, _IONBF, 0);
    return TT_OK;
}

char *tt_dataset_file_room(tt_dataset_file *f, size_t n)
{
    if (n <= f->capacity - f->used) return f->text + f->used;
    pass_on(f);
    if (!tt_array_room(f->text, f->capacity, n)) {
        f->failed = ENOMEM;
        return NULL;
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
    pass_on(f);
    FILE *out = f->out;
    f->out = NULL;
    if (f->failed == 0) return tt_outdir_close(out, f->path, err);
    (void)fclose(out);
    if (f->failed == ENOMEM) return tt_error_memory(err, "writing the dataset");
    return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot write %s: %s", f->path,
                        strerror(f->failed));
}

void tt_dataset_file_free(tt_dataset_file *f)
{
    if (f->out) (void)fclose(f->out);
    tt_compressor_free(f->compressor);
    tt_bytes_free(&f->packed);
    free(f->text);
    free(f->path);
    memset(f, 0, sizeof *f);
}

#define NAME_BYTES 40
#define RESULT_BYTES 64 /* a thread's result: sizes, not the file */

typedef struct writer {
    tt_dataset *d;
    const tt_dataset_kind *kind;
    tt_dataset_sum sum;
} writer;

typedef struct thread {
    const writer *w;
    tt_dataset_file file;
    void *own;
} thread;

typedef struct result {
    uint64_t size_bytes, n_items;
} result;

static void *open_thread(void *context)
{
    const writer *w = context;
    thread *t = calloc(1, sizeof *t);
    if (t) t->w = w;
    if (t && !(t->own = w->kind->open(w->d))) {
        free(t);
        return NULL;
    }
    return t;
}

static void close_thread(void *own)
{
    thread *t = own;
    t->w->kind->close(t->own);
    tt_dataset_file_free(&t->file);
    free(t);
}

static tt_status make_file(void *context, void *own, const tt_model *m, uint32_t part,
                           tt_bytes *out, tt_error *err)
{
    const writer *w = context;
    thread *t = own;
    char name[NAME_BYTES];
    result r = {0};
    (void)snprintf(name, sizeof name, "%s/token-%05u.json", w->kind->folder,
                   (unsigned)w->d->tokens[part]);
    tt_status status =
        tt_dataset_file_open(&t->file, &w->d->folder, name, w->d->options->compress, err);
    if (status != TT_OK) return status;
    status = w->kind->write(w->d, t->own, m, w->d->tokens[part], &t->file, &r.n_items, err);
    tt_status closed = tt_dataset_file_close(&t->file, status == TT_OK ? err : NULL);
    r.size_bytes = t->file.size_bytes;
    tt_bytes_put(out, &r, sizeof r);
    return status == TT_OK ? closed : status;
}

static tt_status take_result(void *context, uint32_t part, const tt_bytes *made, tt_error *err)
{
    writer *w = context;
    result r;
    (void)part;
    (void)err;
    memcpy(&r, made->data, sizeof r);
    w->sum.n_files++;
    w->sum.size_bytes += r.size_bytes;
    w->sum.n_items += r.n_items;
    w->d->done++;
    if (w->d->options->progress)
        w->d->options->progress(w->d->options->progress_context, w->d->done, w->d->total);
    return TT_OK;
}

tt_status tt_dataset_write_tokens(tt_dataset *d, const tt_dataset_kind *kind, tt_dataset_sum *sum,
                                  tt_error *err)
{
    writer w = {.d = d, .kind = kind};
    const tt_workers_plan plan = {.n_parts = d->n_tokens,
                                  .threads = d->options->threads,
                                  .make = make_file,
                                  .take = take_result,
                                  .open = open_thread,
                                  .close = close_thread,
                                  .context = &w,
                                  .limit_bytes = RESULT_BYTES};
    tt_status status = tt_workers_run(d->m, &plan, err);
    if (status == TT_OK && sum) *sum = w.sum;
    return status;
}
