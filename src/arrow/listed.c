/* Rows of an analysis as batches. */
#include "arrow/stream.h"

#include "base/array.h"
#include "base/hex.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TEXTS_BYTES_MAX ((size_t)256 << 20)

tt_status tt_arrow_listed_begin(tt_arrow_listed *l, const tt_listing *listing, const tt_model *m,
                                tt_error *err)
{
    const tt_schema *schema = listing->set->schema;
    for (size_t i = 0; i < listing->n_columns; i++) {
        const tt_column *c = listing->columns[i];
        l->columns[i] = (tt_column){
            .key = c->key, .about = c->about, .type = c->type, .unit = c->unit, .nullable = true};
    }
    l->table = (tt_export_table){.name = schema->name,
                                 .about = schema->about,
                                 .columns = l->columns,
                                 .n_columns = (uint32_t)listing->n_columns};
    l->shape.table = &l->table;
    tt_hex(l->shape.run_id, m->trace.header.run_id, 16);
    tt_arena_init(&l->texts, TEXTS_BYTES_MAX);
    tt_rows_begin(&l->rows, &l->table);
    for (uint32_t i = 0; i < l->table.n_columns; i++)
        for (uint32_t k = 0; k < i; k++)
            if (strcmp(l->columns[i].key, l->columns[k].key) == 0)
                return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "columns: \"%s\" is named twice",
                                    l->columns[i].key);
    return tt_arrow_choose(&l->shape, NULL, err);
}

static tt_status flush(tt_arrow_listed *l, tt_error *err)
{
    if (l->rows.n == 0) return TT_OK;
    struct ArrowArray *batch = tt_array_add(l->batches, l->n, l->capacity);
    if (!batch) return tt_error_memory(err, "the rows");
    batch->release = NULL;
    tt_status status = tt_arrow_batch(&l->shape, &l->rows, batch, err);
    tt_rows_begin(&l->rows, &l->table);
    tt_arena_free(&l->texts);
    tt_arena_init(&l->texts, TEXTS_BYTES_MAX);
    return status;
}

/* The text of a cell lives no longer than its row, that of a dictionary as long as the batch. */
static void set_text(tt_arrow_listed *l, uint32_t column, const tt_cell *cell)
{
    tt_dictionary *d = &l->rows.columns[column].dictionary;
    const uint32_t had = d->n;
    tt_rows_text(&l->rows, column, cell->text.at, cell->text.n);
    if (d->n == had) return;
    const char *kept = tt_arena_text(&l->texts, cell->text.at, cell->text.n);
    l->rows.failed |= !kept;
    d->texts[had] = kept ? kept : "";
    if (!kept) d->lengths[had] = 0;
}

static void set_cell(tt_arrow_listed *l, uint32_t column, const tt_cell *cell)
{
    tt_rows *rows = &l->rows;
    switch (l->columns[column].type) {
    case TT_CELL_BOOL:
        tt_rows_integer(rows, column, cell->boolean);
        return;
    case TT_CELL_U8:
    case TT_CELL_U16:
    case TT_CELL_U32:
    case TT_CELL_U64:
        tt_rows_integer(rows, column, cell->u64);
        return;
    case TT_CELL_I32:
    case TT_CELL_I64:
    case TT_CELL_TIME:
        tt_rows_integer(rows, column, (uint64_t)cell->i64);
        return;
    case TT_CELL_F32:
    case TT_CELL_F64:
        tt_rows_real(rows, column, cell->f64);
        return;
    case TT_CELL_NAME:
        set_text(l, column, cell);
        return;
    case TT_CELL_OBJECT:
    case TT_CELL_ROWS:
    case TT_CELL_LIST:
    case TT_CELL_COLUMNS:
        tt_rows_null(rows, column);
    }
}

static bool is_null(tt_cell_type type, const tt_cell *cell)
{
    const bool real = type == TT_CELL_F32 || type == TT_CELL_F64;
    return !cell->known || (real && !isfinite(cell->f64));
}

tt_status tt_arrow_listed_add(tt_arrow_listed *l, const tt_listing *listing, const void *row,
                              tt_error *err)
{
    tt_status status = tt_rows_reserve(&l->rows, l->rows.n + 1, err);
    if (status != TT_OK) return status;
    for (uint32_t i = 0; i < l->table.n_columns; i++) {
        tt_cell cell;
        tt_cell_get(listing->columns[i], listing->set->context, row, &cell);
        if (is_null(l->columns[i].type, &cell))
            tt_rows_null(&l->rows, i);
        else
            set_cell(l, i, &cell);
    }
    if (l->rows.failed) return tt_error_memory(err, "texts of the rows");
    return ++l->rows.n == TT_ARROW_LISTED_ROWS ? flush(l, err) : TT_OK;
}

tt_status tt_arrow_listed_all(tt_arrow_listed *l, const tt_listing *listing, const tt_model *m,
                              tt_error *err)
{
    tt_status status = l->shape.table ? TT_OK : tt_arrow_listed_begin(l, listing, m, err);
    for (size_t i = 0; i < listing->n && status == TT_OK; i++)
        status = tt_arrow_listed_add(l, listing, tt_listing_row(listing, i), err);
    return status;
}

static tt_status next(void *own, struct ArrowArray *out, tt_error *err)
{
    tt_arrow_listed *l = own;
    (void)err;
    if (l->next == l->n) return TT_OK;
    *out = l->batches[l->next];
    l->batches[l->next++].release = NULL;
    return TT_OK;
}

static void close_listed(void *own)
{
    tt_arrow_listed_free(own);
}

void tt_arrow_listed_free(tt_arrow_listed *l)
{
    for (size_t i = l->next; i < l->n; i++)
        if (l->batches[i].release) l->batches[i].release(&l->batches[i]);
    free(l->batches);
    tt_rows_free(&l->rows);
    tt_arena_free(&l->texts);
    free(l);
}

tt_status tt_arrow_listed_stream(tt_arrow_listed *l, struct ArrowArrayStream *out, tt_error *err)
{
    const tt_arrow_source source = {next, close_listed, l};
    tt_status status = flush(l, err);
    if (status == TT_OK) return tt_arrow_stream_make(&l->shape, &source, out, err);
    tt_arrow_listed_free(l);
    return status;
}
