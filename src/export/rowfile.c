#include "export/rowfile.h"

#include "export/csv/csv.h"
#include "export/parquet/file.h"
#include "export/parquet/group.h"
#include "export/tables/columns.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows written at once: many lists come in small pieces. */
#define ROWS_AT_ONCE TT_ROWS_MAX
#define PART_BYTES_MAX ((size_t)1 << 30)
#define TEXTS_BYTES_MAX ((size_t)256 << 20)

struct tt_rowfile {
    char name[64];
    FILE *out;
    tt_column columns[TT_COLUMNS_MAX];
    tt_export_table table;
    tt_rows rows;
    tt_arena texts; /* of formatted cells of the current rows */
    tt_bytes made;
    tt_csv *csv; /* or */
    tt_parquet_encoder *encoder;
    tt_parquet_file parquet;
    uint64_t n_rows;
};

/* Those that CSV shows, without nested ones. All are nullable, because any value may be unknown. */
static tt_status choose_columns(tt_rowfile *f, const tt_rowset *like, tt_error *err)
{
    tt_rowset none = *like;
    tt_listing l;
    none.n = 0;
    tt_status status = tt_listing_make(&l, &none, &(tt_listing_wish){.csv = true}, err);
    for (size_t i = 0; status == TT_OK && i < l.n_columns; i++) {
        f->columns[i] = *l.columns[i];
        f->columns[i].nullable = true;
    }
    f->table = (tt_export_table){.name = f->name,
                                 .about = like->schema->about,
                                 .columns = f->columns,
                                 .n_columns = (uint32_t)l.n_columns};
    tt_listing_free(&l);
    return status;
}

static tt_status open_file(tt_rowfile *f, const tt_outdir *dir, bool csv, tt_error *err)
{
    if (csv)
        f->csv = tt_csv_new();
    else
        f->encoder = tt_parquet_encoder_open();
    if (!f->csv && !f->encoder) return tt_error_memory(err, "the tables");
    f->out = tt_outdir_file(dir, f->name, err);
    if (!f->out) return err->status;
    if (!csv) return tt_parquet_file_begin(&f->parquet, f->out, f->name, &f->table, 0, err);
    tt_csv_header(&f->table, &f->made);
    return TT_OK;
}

static void rowfile_free(tt_rowfile *f)
{
    tt_csv_free(f->csv);
    if (f->encoder) tt_parquet_encoder_close(f->encoder);
    tt_parquet_file_free(&f->parquet);
    tt_rows_free(&f->rows);
    tt_arena_free(&f->texts);
    tt_bytes_free(&f->made);
    free(f);
}

tt_rowfile *tt_rowfile_begin(const tt_outdir *dir, const char *name, bool csv,
                             const tt_rowset *like, tt_error *err)
{
    tt_rowfile *f = calloc(1, sizeof *f);
    if (!f) {
        (void)tt_error_memory(err, "the tables");
        return NULL;
    }
    (void)snprintf(f->name, sizeof f->name, "%s.%s", name, csv ? "csv" : "parquet");
    tt_arena_init(&f->texts, TEXTS_BYTES_MAX);
    tt_bytes_init(&f->made, PART_BYTES_MAX);
    tt_status status = choose_columns(f, like, err);
    if (status == TT_OK) status = open_file(f, dir, csv, err);
    if (status == TT_OK) {
        tt_rows_begin(&f->rows, &f->table);
        return f;
    }
    if (f->out) (void)fclose(f->out);
    rowfile_free(f);
    return NULL;
}

/* --- rows --- */

static void put_text(tt_rowfile *f, uint32_t column, const tt_cell *cell)
{
    const char *at = cell->text.at;
    if (at >= cell->room && at < cell->room + sizeof cell->room)
        at = tt_arena_text(&f->texts, at, cell->text.n);
    if (at)
        tt_rows_text(&f->rows, column, at, cell->text.n);
    else
        f->rows.failed = true;
}

static void put_cell(tt_rowfile *f, uint32_t column, const tt_cell *cell)
{
    tt_rows *rows = &f->rows;
    const tt_cell_type type = f->columns[column].type;
    const bool real = type == TT_CELL_F32 || type == TT_CELL_F64;
    if (!cell->known || (real && !isfinite(cell->f64)))
        tt_rows_null(rows, column);
    else if (type == TT_CELL_NAME)
        put_text(f, column, cell);
    else if (real)
        tt_rows_real(rows, column, cell->f64);
    else
        tt_rows_integer(rows, column, type == TT_CELL_BOOL ? cell->boolean : cell->u64);
}

static tt_status flush(tt_rowfile *f, tt_error *err)
{
    tt_status status = TT_OK;
    if (f->rows.failed) return tt_error_memory(err, "texts of the tables");
    if (f->rows.n == 0 && f->made.size == 0) return TT_OK;
    if (f->csv && f->rows.n) status = tt_csv_put(f->csv, &f->rows, &f->made, err);
    if (!f->csv) status = tt_parquet_group_encode(f->encoder, &f->rows, 0, &f->made, err);
    if (status == TT_OK && !f->csv) status = tt_parquet_file_group(&f->parquet, &f->made, err);
    if (status == TT_OK && f->csv && fwrite(f->made.data, 1, f->made.size, f->out) != f->made.size)
        status = tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot write %s: %s", f->name,
                              strerror(errno));
    f->n_rows += f->rows.n;
    tt_bytes_clear(&f->made);
    tt_rows_begin(&f->rows, &f->table);
    tt_arena_free(&f->texts);
    tt_arena_init(&f->texts, TEXTS_BYTES_MAX);
    return status;
}

tt_status tt_rowfile_put(tt_rowfile *f, const tt_rowset *set, tt_error *err)
{
    tt_status status = TT_OK;
    for (size_t i = 0; i < set->n && status == TT_OK; i++) {
        const void *row = tt_rowset_row(set, i);
        if (f->rows.n == ROWS_AT_ONCE) status = flush(f, err);
        if (status == TT_OK) status = tt_rows_reserve(&f->rows, f->rows.n + 1, err);
        for (uint32_t k = 0; status == TT_OK && k < f->table.n_columns; k++) {
            tt_cell cell;
            tt_cell_get(&f->columns[k], set->context, row, &cell);
            put_cell(f, k, &cell);
        }
        f->rows.n += status == TT_OK;
    }
    return status;
}

tt_status tt_rowfile_end(tt_rowfile *f, uint64_t *rows, tt_error *err)
{
    const tt_parquet_pair pairs[] = {{"tensortrace.version", TT_VERSION},
                                     {"tensortrace.table", f->table.about}};
    tt_error late;
    tt_status status = flush(f, err);
    if (status == TT_OK && !f->csv)
        status = tt_parquet_file_end(&f->parquet, pairs, sizeof pairs / sizeof *pairs, err);
    tt_status closed = tt_outdir_close(f->out, f->name, &late);
    if (status == TT_OK && closed != TT_OK) *err = late, status = closed;
    *rows = f->n_rows;
    rowfile_free(f);
    return status;
}
