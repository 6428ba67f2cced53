#include "export/parquet/parquet.h"
#include "base/hex.h"
#include "export/parquet/file.h"
#include "export/parquet/group.h"
#include "export/parquet/place.h"
#include "export/tables/columns.h"
#include "export/workers.h"

#include <stdlib.h>
#include <string.h>

#define RUN_ID_BYTES 16u
#define FIRST_COLUMN 1u /* after run_id */
/* Each holds a part's rows and two encoded ones: up to 150 MiB. */
#define THREADS_MAX 16u

typedef struct job {
    const tt_model *m;
    const tt_export_options *options;
    tt_parquet_place place;
    char run_id[2 * RUN_ID_BYTES + 1];
    uint64_t parts_done, parts; /* of all tables */
    const tt_export_table *table;
    tt_parquet_file file;
    uint64_t size_bytes; /* of all files */
} job;

/* A thread's own memory. */
typedef struct own {
    tt_parquet_encoder *encoder;
    tt_rows rows;
} own;

static void close_own(void *memory)
{
    own *o = memory;
    tt_parquet_encoder_close(o->encoder);
    tt_rows_free(&o->rows);
    free(o);
}

static void *open_own(void *context)
{
    own *o = calloc(1, sizeof *o);
    (void)context;
    if (o) o->encoder = tt_parquet_encoder_open();
    if (o && o->encoder) return o;
    free(o);
    return NULL;
}

static tt_status make_part(void *context, void *memory, const tt_model *m, uint32_t part,
                           tt_bytes *out, tt_error *err)
{
    const job *j = context;
    own *o = memory;
    tt_status status = j->table->fill(m, j->options->filter, part, &o->rows, err);
    if (status != TT_OK || o->rows.n == 0) return status;
    return tt_parquet_group_encode(o->encoder, &o->rows, FIRST_COLUMN, out, err);
}

static tt_status take_part(void *context, uint32_t part, const tt_bytes *made, tt_error *err)
{
    job *j = context;
    (void)part;
    return tt_parquet_file_group(&j->file, made, err);
}

/* Converts a table's parts to those of all tables. */
static void progress(void *context, uint64_t done, uint64_t total)
{
    const job *j = context;
    (void)total;
    j->options->progress(j->options->progress_context, j->parts_done + done, j->parts);
}

static tt_status write_parts(job *j, tt_error *err)
{
    unsigned threads = tt_workers_threads(j->options->threads);
    tt_workers_plan plan = {.n_parts = j->table->parts(j->m, j->options->filter),
                            .threads = threads < THREADS_MAX ? threads : THREADS_MAX,
                            .make = make_part,
                            .take = take_part,
                            .open = open_own,
                            .close = close_own,
                            .context = j,
                            .limit_bytes = TT_PARQUET_GROUP_MAX,
                            .progress = j->options->progress ? progress : NULL,
                            .progress_context = j};
    tt_status status = tt_workers_run(j->m, &plan, err);
    j->parts_done += plan.n_parts;
    return status;
}

static tt_status end_file(job *j, tt_error *err)
{
    const char *host = tt_model_environment(j->m, "host");
    tt_parquet_pair pairs[] = {{"tensortrace.run_id", j->run_id},
                               {"tensortrace.version", TT_VERSION},
                               {"tensortrace.table", j->table->name},
                               {"tensortrace.host", host}};
    return tt_parquet_file_end(&j->file, pairs, host ? 4 : 3, err);
}

static tt_status write_file(job *j, FILE *out, const char *path, tt_error *err)
{
    tt_error late;
    tt_status status = tt_parquet_file_begin(&j->file, out, path, j->table, FIRST_COLUMN, err);
    if (status == TT_OK) status = write_parts(j, err);
    if (status == TT_OK) status = end_file(j, err);
    j->size_bytes += j->file.size_bytes;
    tt_parquet_file_free(&j->file);
    tt_status closed = tt_outdir_close(out, path, &late);
    if (status != TT_OK || closed == TT_OK) return status;
    *err = late;
    return closed;
}

static tt_status write_table(job *j, const tt_export_table *table, tt_error *err)
{
    char *path;
    j->table = table;
    FILE *out = tt_parquet_place_file(&j->place, table->name, err);
    if (!out) return err->status;
    if (asprintf(&path, "%s/%s/run_id=%s", j->place.path, table->name, j->run_id) < 0) {
        (void)fclose(out);
        return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory to write the tables");
    }
    tt_status status = write_file(j, out, path, err);
    free(path);
    return status;
}

static tt_status write_tables(job *j, const tt_export_table *const *tables, size_t n,
                              tt_tables_counts *counts, tt_error *err)
{
    tt_status status = TT_OK;
    for (size_t i = 0; i < n && status == TT_OK; i++) {
        status = write_table(j, tables[i], err);
        counts->rows[i] = j->file.n_rows;
    }
    if (status == TT_OK) return tt_parquet_place_commit(&j->place, err);
    tt_parquet_place_abandon(&j->place);
    return status;
}

static tt_status write_parquet(const tt_model *m, const char *path,
                               const tt_export_options *options, tt_error *err)
{
    job j = {.m = m, .options = options};
    const char *names[TT_EXPORT_TABLES];
    tt_tables_counts counts = {0};
    size_t n;
    const tt_export_table *const *tables = tt_export_tables(&n);
    tt_hex(j.run_id, m->trace.header.run_id, RUN_ID_BYTES);
    for (size_t i = 0; i < n; i++) {
        names[i] = tables[i]->name;
        j.parts += tables[i]->parts(m, options->filter);
    }
    tt_status status =
        tt_parquet_place_open(&j.place, path, j.run_id, names, n, options->force, err);
    if (status == TT_OK) status = write_tables(&j, tables, n, &counts, err);
    if (status != TT_OK) return status;
    tt_tables_notes(m, options, &counts);
    if (options->sum) {
        options->sum->n_files = n;
        options->sum->size_bytes = j.size_bytes;
    }
    return TT_OK;
}

const tt_export_format tt_format_parquet = {
    .name = "parquet",
    .summary = "a dataset of Parquet tables, for any number of runs",
    .takes = TT_EXPORT_TAKES_FILTER,
    .adds = true,
    .write = write_parquet,
};
