/* How fast a table's rows are made, and made and encoded as Parquet: what is the writer's and what
 * is the reader's of an export's time.
 *
 *   tables TRACE TABLE THREADS fill|encode
 *
 * Prints rows, seconds, encoded bytes and seconds of all processors. Nothing is written. */
#include "base/clock.h"
#include "export/parquet/group.h"
#include "export/tables/columns.h"
#include "export/workers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct job {
    const tt_export_table *table;
    bool encode;
    uint64_t rows, bytes;
} job;

typedef struct own {
    tt_parquet_encoder *encoder;
    tt_rows rows;
} own;

static void *open_own(void *context)
{
    own *o = calloc(1, sizeof *o);
    (void)context;
    if (o) o->encoder = tt_parquet_encoder_open();
    return o;
}

static void close_own(void *memory)
{
    own *o = memory;
    tt_parquet_encoder_close(o->encoder);
    tt_rows_free(&o->rows);
    free(o);
}

static tt_status make(void *context, void *memory, const tt_model *m, uint32_t part, tt_bytes *out,
                      tt_error *err)
{
    const job *j = context;
    own *o = memory;
    uint64_t rows;
    tt_status status = j->table->fill(m, NULL, part, &o->rows, err);
    rows = o->rows.n;
    if (status == TT_OK && j->encode && rows)
        status = tt_parquet_group_encode(o->encoder, &o->rows, 1, out, err);
    tt_bytes_put(out, &rows, sizeof rows);
    return status;
}

static tt_status take(void *context, uint32_t part, const tt_bytes *made, tt_error *err)
{
    job *j = context;
    (void)part;
    (void)err;
    j->rows += tt_load_u64(made->data + made->size - 8);
    j->bytes += made->size - 8;
    return TT_OK;
}

static const tt_export_table *find(const char *name)
{
    size_t n;
    const tt_export_table *const *tables = tt_export_tables(&n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(tables[i]->name, name) == 0) return tables[i];
    return NULL;
}

int main(int argc, char **argv)
{
    job j = {0};
    tt_model *m;
    tt_error err;
    if (argc != 5 || !(j.table = find(argv[2]))) {
        fprintf(stderr, "usage: tables TRACE TABLE THREADS fill|encode\n");
        return 2;
    }
    j.encode = strcmp(argv[4], "encode") == 0;
    if (tt_model_open(argv[1], &m, &err) != TT_OK) {
        fprintf(stderr, "tables: %s\n", err.message);
        return 2;
    }
    tt_workers_plan plan = {.n_parts = j.table->parts(m, NULL),
                            .threads = (unsigned)strtoul(argv[3], NULL, 10),
                            .make = make,
                            .take = take,
                            .open = open_own,
                            .close = close_own,
                            .context = &j,
                            .limit_bytes = TT_PARQUET_GROUP_MAX};
    uint64_t begin = tt_clock_ns(CLOCK_MONOTONIC);
    uint64_t begin_cpu = tt_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    tt_status status = tt_workers_run(m, &plan, &err);
    double seconds = (double)(tt_clock_ns(CLOCK_MONOTONIC) - begin) / 1e9;
    double cpu = (double)(tt_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin_cpu) / 1e9;
    tt_model_close(m);
    if (status != TT_OK) {
        fprintf(stderr, "tables: %s\n", err.message);
        return 2;
    }
    printf("%llu,%.6f,%llu,%.6f\n", (unsigned long long)j.rows, seconds,
           (unsigned long long)j.bytes, cpu);
    return 0;
}
