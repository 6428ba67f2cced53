/* The format `csv`: a folder with one RFC 4180 file a table. */
#include "export/csv/csv.h"

#include "base/outdir.h"
#include "export/compress.h"
#include "export/csv/rows.h"
#include "export/tables/columns.h"
#include "export/workers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The text of one part. */
#define PART_BYTES_MAX ((size_t)256 << 20)
/* Parts are held twice a thread, some ten to fifty MiB each, and less when they are compressed. So
 * many threads fill any disk. */
#define THREADS_MAX 8u
#define THREADS_MAX_COMPRESSED 16u

/* What a thread works with. */
typedef struct scribe {
    tt_rows rows;
    tt_csv *csv;
    tt_bytes text;             /* before it is compressed */
    tt_compressor *compressor; /* NULL: it is not */
} scribe;

/* The export, and the table at hand. */
typedef struct writing {
    const tt_export_options *options;
    const tt_export_table *table;
    char *shown; /* path of its file, for messages */
    FILE *file;
    uint64_t n_rows;
    uint64_t parts_before, parts_all; /* for the progress */
} writing;

static void close_scribe(void *own)
{
    scribe *s = own;
    tt_rows_free(&s->rows);
    tt_csv_free(s->csv);
    tt_bytes_free(&s->text);
    tt_compressor_free(s->compressor);
    free(s);
}

static void *open_scribe(void *context)
{
    const writing *w = context;
    const tt_compress method = w->options->compress;
    scribe *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    tt_bytes_init(&s->text, PART_BYTES_MAX);
    s->csv = tt_csv_new();
    if (method != TT_COMPRESS_NONE) s->compressor = tt_compressor_new(method);
    if (s->csv && (method == TT_COMPRESS_NONE || s->compressor)) return s;
    close_scribe(s);
    return NULL;
}

/* A part is made as the number of its rows, 8 bytes, and then what goes into the file. */
static tt_status make(void *context, void *own, const tt_model *m, uint32_t part, tt_bytes *out,
                      tt_error *err)
{
    const writing *w = context;
    scribe *s = own;
    tt_bytes *text = s->compressor ? &s->text : out;
    tt_status status = w->table->fill(m, w->options->filter, part, &s->rows, err);
    if (status != TT_OK) return status;
    tt_bytes_u64(out, s->rows.n);
    if (s->compressor) tt_bytes_clear(text);
    status = tt_csv_put(s->csv, &s->rows, text, err);
    if (status == TT_OK && s->compressor && text->size)
        status = tt_compressor_put(s->compressor, text->data, text->size, out, err);
    return status;
}

static tt_status put(const writing *w, const uint8_t *data, size_t n, tt_error *err)
{
    if (fwrite(data, 1, n, w->file) == n) return TT_OK;
    return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot write %s: %s", w->shown,
                        strerror(errno));
}

static tt_status take(void *context, uint32_t part, const tt_bytes *made, tt_error *err)
{
    writing *w = context;
    (void)part;
    w->n_rows += tt_load_u64(made->data);
    return put(w, made->data + 8, made->size - 8, err);
}

static void progress(void *context, uint64_t done, uint64_t total)
{
    const writing *w = context;
    (void)total;
    w->options->progress(w->options->progress_context, w->parts_before + done, w->parts_all);
}

static tt_status write_header(const writing *w, tt_error *err)
{
    tt_bytes line, out;
    tt_compressor *c = tt_compressor_new(w->options->compress);
    tt_status status = TT_E_MEMORY;
    tt_bytes_init(&line, PART_BYTES_MAX);
    tt_bytes_init(&out, PART_BYTES_MAX);
    tt_csv_header(w->table, &line);
    if (c && !line.failed)
        status = tt_compressor_put(c, line.data, line.size, &out, err);
    else
        (void)tt_error_set(err, status, TT_NO_OFFSET, "no memory to write the tables");
    if (status == TT_OK) status = put(w, out.data, out.size, err);
    tt_compressor_free(c);
    tt_bytes_free(&line);
    tt_bytes_free(&out);
    return status;
}

static tt_status write_table(writing *w, const tt_model *m, const tt_outdir *d, tt_error *err)
{
    const tt_export_options *o = w->options;
    const unsigned threads = tt_workers_threads(o->threads);
    const unsigned most = o->compress ? THREADS_MAX_COMPRESSED : THREADS_MAX;
    const tt_workers_plan plan = {.n_parts = w->table->parts(m, o->filter),
                                  .threads = threads < most ? threads : most,
                                  .make = make,
                                  .take = take,
                                  .open = open_scribe,
                                  .close = close_scribe,
                                  .context = w,
                                  .limit_bytes = PART_BYTES_MAX,
                                  .progress = o->progress ? progress : NULL,
                                  .progress_context = w};
    char name[80];
    (void)snprintf(name, sizeof name, "%s.csv%s", w->table->name, tt_compress_suffix(o->compress));
    if (asprintf(&w->shown, "%s/%s", d->path, name) < 0) {
        w->shown = NULL;
        return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory to write the tables");
    }
    w->n_rows = 0;
    w->file = tt_outdir_file(d, name, err);
    tt_status status = w->file ? write_header(w, err) : TT_E_IO;
    if (status == TT_OK) status = tt_workers_run(m, &plan, err);
    w->parts_before += plan.n_parts;
    tt_error ignored;
    tt_status closed =
        w->file ? tt_outdir_close(w->file, w->shown, status == TT_OK ? err : &ignored) : TT_OK;
    free(w->shown);
    return status == TT_OK ? closed : status;
}

static tt_status write_csv(const tt_model *m, const char *path, const tt_export_options *options,
                           tt_error *err)
{
    size_t n;
    tt_outdir d;
    writing w = {.options = options};
    tt_tables_counts counts = {0};
    const tt_export_table *const *tables = tt_export_tables(&n);
    tt_status status = tt_outdir_open(&d, path, options->force, err);
    for (size_t i = 0; i < n && status == TT_OK; i++)
        w.parts_all += tables[i]->parts(m, options->filter);
    for (size_t i = 0; i < n && status == TT_OK; i++) {
        w.table = tables[i];
        status = write_table(&w, m, &d, err);
        counts.rows[i] = w.n_rows;
    }
    if (status == TT_OK) status = tt_outdir_commit(&d, err);
    tt_outdir_abandon(&d);
    if (status == TT_OK) tt_tables_tell(m, options, &counts);
    return status;
}

const tt_export_format tt_format_csv = {
    .name = "csv",
    .summary = "a folder of tables, one file each (RFC 4180)",
    .takes = TT_EXPORT_TAKES_FILTER | TT_EXPORT_TAKES_COMPRESS,
    .write = write_csv,
};
