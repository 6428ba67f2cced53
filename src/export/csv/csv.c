/* The format `csv`: a folder with one RFC 4180 file per table. */
#include "export/csv/csv.h"

#include "base/array.h"
#include "base/outfile.h"
#include "export/compress.h"
#include "export/tables/columns.h"
#include "export/workers.h"
#include "table/csv_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the texts of one column in one part. */
#define TEXTS_BYTES_MAX ((size_t)1 << 30)

/* Rows written together: column by column into slots, and from these row by row. Fewer for tables
 * with many columns, because the slots should stay in the L1 cache. */
#define BLOCK_ROWS 32u
#define BLOCK_ROWS_WIDE 16u
#define COLUMNS_WIDE 16u
#define BLOCK_BYTES ((size_t)1 << 20)
#define SLOT_BYTES (TT_CSV_NUMBER_MAX + TT_CSV_SLACK)

/* A column while its rows are written. */
typedef struct field {
    tt_cell_type type;
    const void *values;
    const uint8_t *valid;
    tt_digits_front front;
    tt_bytes texts;  /* of the dictionary, as fields with their comma; followed by TT_CSV_SLACK
                        bytes */
    size_t *ends;    /* of each in texts */
    size_t capacity; /* of ends */
    /* Of the current block, with their commas: */
    const char *text[BLOCK_ROWS];
    size_t length[BLOCK_ROWS];
    char slots[BLOCK_ROWS][SLOT_BYTES];
} field;

struct tt_csv {
    tt_digits digits;
    field fields[TT_COLUMNS_MAX];
};

tt_csv *tt_csv_new(void)
{
    tt_csv *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    tt_digits_make(&c->digits);
    for (size_t i = 0; i < TT_COLUMNS_MAX; i++)
        tt_bytes_init(&c->fields[i].texts, TEXTS_BYTES_MAX);
    return c;
}

void tt_csv_free(tt_csv *c)
{
    for (size_t i = 0; c && i < TT_COLUMNS_MAX; i++) {
        tt_bytes_free(&c->fields[i].texts);
        free(c->fields[i].ends);
    }
    free(c);
}

void tt_csv_header(const tt_export_table *table, tt_bytes *out)
{
    for (uint32_t i = 0; i < table->n_columns; i++) {
        if (i) tt_bytes_u8(out, ',');
        tt_csv_put_text(out, table->columns[i].key, strlen(table->columns[i].key));
    }
    tt_bytes_u8(out, '\n');
}

/* --- texts --- */

/* Each text of the dictionary as written to the file. */
static bool prepare_texts(field *f, const tt_dictionary *d)
{
    if (!tt_array_room(f->ends, f->capacity, d->n)) return false;
    tt_bytes_clear(&f->texts);
    for (uint32_t i = 0; i < d->n; i++) {
        tt_csv_put_text(&f->texts, d->texts[i], d->lengths[i]);
        tt_bytes_u8(&f->texts, ',');
        f->ends[i] = f->texts.size;
    }
    return tt_bytes_reserve(&f->texts, TT_CSV_SLACK);
}

/* The longest that a field of the column can be, with its comma. */
static size_t longest(const field *f, const tt_dictionary *d)
{
    size_t most = 1;
    if (f->type != TT_CELL_NAME) return TT_CSV_NUMBER_MAX;
    for (uint32_t i = 0; i < d->n; i++) {
        size_t n = f->ends[i] - (i ? f->ends[i - 1] : 0);
        if (n > most) most = n;
    }
    return most;
}

/* --- columns --- */

/* A loop over the rows of a block; `value` writes that of row `first + i` at p. */
#define EACH_ROW(value)                                                                            \
    for (size_t i = 0; i < n; i++) {                                                               \
        char *const begin = f->slots[i], *p = begin;                                               \
        p = (value);                                                                               \
        *p++ = ',';                                                                                \
        f->length[i] = (size_t)(p - begin);                                                        \
    }                                                                                              \
    return

static void put_texts(field *f, size_t first, size_t n)
{
    const uint32_t *codes = (const uint32_t *)f->values + first;
    for (size_t i = 0; i < n; i++) {
        /* Without a value the code is not valid. */
        if (f->valid && !f->valid[first + i]) continue;
        size_t begin = codes[i] ? f->ends[codes[i] - 1] : 0;
        f->text[i] = (const char *)f->texts.data + begin;
        f->length[i] = f->ends[codes[i]] - begin;
    }
}

static char *put_bool(char *p, uint8_t v)
{
    memcpy(p, v ? "true   " : "false  ", 8);
    return p + (v ? 4 : 5);
}

static void put_numbers(field *f, const tt_digits *d, size_t first, size_t n)
{
    tt_digits_front *const front = &f->front;
    const void *const v = f->values;
    switch (f->type) {
    case TT_CELL_BOOL:
        EACH_ROW(put_bool(p, ((const uint8_t *)v)[first + i]));
    case TT_CELL_U8:
        EACH_ROW(tt_digits_put_short(p, ((const uint8_t *)v)[first + i], d));
    case TT_CELL_U16:
        EACH_ROW(tt_digits_put_short(p, ((const uint16_t *)v)[first + i], d));
    case TT_CELL_U32:
        EACH_ROW(tt_digits_put_u64(p, ((const uint32_t *)v)[first + i], front, d));
    case TT_CELL_U64:
        EACH_ROW(tt_digits_put_u64(p, ((const uint64_t *)v)[first + i], front, d));
    case TT_CELL_I32:
        EACH_ROW(tt_digits_put_i64(p, ((const int32_t *)v)[first + i], front, d));
    case TT_CELL_I64:
        EACH_ROW(tt_digits_put_i64(p, ((const int64_t *)v)[first + i], front, d));
    case TT_CELL_F32:
        EACH_ROW(tt_csv_put_real(p, (double)((const float *)v)[first + i]));
    case TT_CELL_F64:
        EACH_ROW(tt_csv_put_real(p, ((const double *)v)[first + i]));
    case TT_CELL_TIME:
        EACH_ROW(tt_csv_put_time(p, ((const int64_t *)v)[first + i], front, d));
    case TT_CELL_NAME:
    case TT_CELL_OBJECT:
    case TT_CELL_ROWS:
    case TT_CELL_LIST:
    case TT_CELL_COLUMNS:
        return;
    }
}

static void put_column(field *f, const tt_digits *d, size_t first, size_t n)
{
    if (f->type == TT_CELL_NAME) {
        put_texts(f, first, n);
    } else {
        put_numbers(f, d, first, n);
        for (size_t i = 0; i < n; i++)
            f->text[i] = f->slots[i];
    }
    for (size_t i = 0; f->valid && i < n; i++) {
        if (f->valid[first + i]) continue;
        f->slots[i][0] = ',';
        f->text[i] = f->slots[i];
        f->length[i] = 1;
    }
}

/* --- rows --- */

/* Prepares the columns; *most: upper bound of a row's length. False if out of memory. */
static bool prepare(tt_csv *c, const tt_rows *rows, size_t *most)
{
    *most = 0;
    for (uint32_t i = 0; i < rows->table->n_columns; i++) {
        field *f = &c->fields[i];
        const tt_values *v = &rows->columns[i];
        f->type = rows->table->columns[i].type;
        f->values = v->values;
        f->valid = v->valid;
        f->front = (tt_digits_front){0};
        if (f->type == TT_CELL_NAME && !prepare_texts(f, &v->dictionary)) return false;
        *most += longest(f, &v->dictionary);
    }
    return true;
}

/* Writes at p, where there is room for n of the longest rows. */
static char *put_block(tt_csv *c, uint32_t n_columns, size_t first, size_t n, char *p)
{
    for (uint32_t k = 0; k < n_columns; k++)
        put_column(&c->fields[k], &c->digits, first, n);
    for (size_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < n_columns; k++)
            p = tt_csv_copy(p, c->fields[k].text[i], c->fields[k].length[i]);
        p[-1] = '\n';
    }
    return p;
}

/* For n more bytes: beyond the limit, or out of memory. */
static tt_status no_room(const tt_rows *rows, const tt_bytes *out, size_t n, tt_error *err)
{
    if (n <= out->limit && out->size <= out->limit - n)
        return tt_error_memory(err, "writing the tables");
    return tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET,
                        "the table %s: a part of it takes more than %zu MiB of text; names in the "
                        "trace are very long, or it is damaged",
                        rows->table->name, out->limit >> 20);
}

tt_status tt_csv_put(tt_csv *c, const tt_rows *rows, tt_bytes *out, tt_error *err)
{
    size_t most;
    if (!prepare(c, rows, &most)) return tt_error_memory(err, "writing the tables");
    /* Rows of very long texts one by one: a block of them may need too much room. */
    const size_t block = rows->table->n_columns > COLUMNS_WIDE ? BLOCK_ROWS_WIDE : BLOCK_ROWS;
    const size_t each = most < BLOCK_BYTES / BLOCK_ROWS ? block : 1;
    for (size_t row = 0; row < rows->n; row += each) {
        size_t n = rows->n - row < each ? rows->n - row : each;
        if (!tt_bytes_reserve(out, n * most + TT_CSV_SLACK))
            return no_room(rows, out, n * most + TT_CSV_SLACK, err);
        char *begin = (char *)out->data + out->size;
        char *end = put_block(c, rows->table->n_columns, row, n, begin);
        out->size += (size_t)(end - begin);
    }
    return out->failed ? tt_error_memory(err, "writing the tables") : TT_OK;
}

/* The text of one part. */
#define PART_BYTES_MAX ((size_t)256 << 20)
/* Each thread holds two parts of ten to fifty MiB, less if compressed. So many threads saturate any
 * disk. */
#define THREADS_MAX 8u
#define THREADS_MAX_COMPRESSED 16u

/* A thread's state. */
typedef struct scribe {
    tt_rows rows;
    tt_csv *csv;
    tt_bytes text;             /* before it is compressed */
    tt_compressor *compressor; /* NULL: it is not */
} scribe;

/* The export, and the current table. */
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

/* A part is its number of rows, 8 bytes, and then the file's content. */
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
    if (status == TT_OK) tt_tables_notes(m, options, &counts);
    return status;
}

const tt_export_format tt_format_csv = {
    .name = "csv",
    .summary = "a folder of tables, one file each (RFC 4180)",
    .takes = TT_EXPORT_TAKES_FILTER | TT_EXPORT_TAKES_COMPRESS,
    .write = write_csv,
};
