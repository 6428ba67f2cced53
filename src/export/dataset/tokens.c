#include "export/dataset/tokens.h"

#include <stdlib.h>

#define NAME_BYTES 40
#define RESULT_BYTES 64 /* what a thread hands over: sizes, not the file */

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
    (void)snprintf(name, sizeof name, "%s/token-%05u.json", w->kind->folder, (unsigned)part);
    tt_status status =
        tt_dataset_file_open(&t->file, &w->d->folder, name, w->d->options->compress, err);
    if (status != TT_OK) return status;
    status = w->kind->write(w->d, t->own, m, part, &t->file, &r.n_items, err);
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
    const tt_workers_plan plan = {.n_parts = d->m->n_batches,
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
