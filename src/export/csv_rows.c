#include "export/csv_rows.h"

#include "export/csv_text.h"

#include <stdlib.h>
#include <string.h>

/* Of the texts of one column in one part. */
#define TEXTS_BYTES_MAX ((size_t)1 << 30)

/* A column while its rows are written. */
typedef struct field {
    tt_value_type type;
    const void *values;
    const uint8_t *valid;
    tt_csv_front front;
    tt_bytes texts;  /* of the dictionary, as fields; TT_CSV_SLACK bytes behind */
    size_t *ends;    /* of each in texts */
    size_t capacity; /* of ends */
} field;

struct tt_csv {
    field fields[TT_COLUMNS_MAX];
};

tt_csv *tt_csv_new(void)
{
    tt_csv *c = calloc(1, sizeof *c);
    for (size_t i = 0; c && i < TT_COLUMNS_MAX; i++)
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
        tt_csv_put_text(out, table->columns[i].name, strlen(table->columns[i].name));
    }
    tt_bytes_u8(out, '\n');
}

/* --- texts --- */

static tt_status no_memory(tt_error *err)
{
    return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory to write the tables");
}

/* Each text of the dictionary as it stands in the file. */
static bool prepare_texts(field *f, const tt_dictionary *d)
{
    if (d->n > f->capacity) {
        size_t *ends = reallocarray(f->ends, d->n, sizeof *ends);
        if (!ends) return false;
        f->ends = ends;
        f->capacity = d->n;
    }
    tt_bytes_clear(&f->texts);
    for (uint32_t i = 0; i < d->n; i++) {
        tt_csv_put_text(&f->texts, d->texts[i], d->lengths[i]);
        f->ends[i] = f->texts.size;
    }
    return tt_bytes_reserve(&f->texts, TT_CSV_SLACK);
}

/* The longest that a field of the column can be. */
static size_t longest(const field *f, const tt_dictionary *d)
{
    size_t most = 0;
    if (f->type != TT_VALUE_NAME) return TT_CSV_NUMBER_MAX;
    for (uint32_t i = 0; i < d->n; i++) {
        size_t n = f->ends[i] - (i ? f->ends[i - 1] : 0);
        if (n > most) most = n;
    }
    return most;
}

/* --- rows --- */

static inline char *put_name(char *p, const field *f, uint32_t code)
{
    size_t begin = code ? f->ends[code - 1] : 0;
    return tt_csv_copy(p, (const char *)f->texts.data + begin, f->ends[code] - begin);
}

static inline char *put_bool(char *p, uint8_t v)
{
    memcpy(p, v ? "true   " : "false  ", 8);
    return p + (v ? 4 : 5);
}

static inline char *put_value(char *p, field *f, size_t row)
{
    if (f->valid && !f->valid[row]) return p;
    switch (f->type) {
    case TT_VALUE_NAME:
        return put_name(p, f, ((const uint32_t *)f->values)[row]);
    case TT_VALUE_U64:
        return tt_csv_put_u64(p, ((const uint64_t *)f->values)[row], &f->front);
    case TT_VALUE_I64:
        return tt_csv_put_i64(p, ((const int64_t *)f->values)[row], &f->front);
    case TT_VALUE_U32:
        return tt_csv_put_u32(p, ((const uint32_t *)f->values)[row]);
    case TT_VALUE_I32:
        return tt_csv_put_i64(p, ((const int32_t *)f->values)[row], &f->front);
    case TT_VALUE_U16:
        return tt_csv_put_u32(p, ((const uint16_t *)f->values)[row]);
    case TT_VALUE_U8:
        return tt_csv_put_u32(p, ((const uint8_t *)f->values)[row]);
    case TT_VALUE_BOOL:
        return put_bool(p, ((const uint8_t *)f->values)[row]);
    case TT_VALUE_TIME:
        return tt_csv_put_time(p, ((const int64_t *)f->values)[row], &f->front);
    case TT_VALUE_F32:
        return tt_csv_put_real(p, (double)((const float *)f->values)[row]);
    case TT_VALUE_F64:
        return tt_csv_put_real(p, ((const double *)f->values)[row]);
    }
    return p;
}

/* Readies the columns; *most gets the longest that a row can be. False without memory. */
static bool prepare(tt_csv *c, const tt_rows *rows, size_t *most)
{
    *most = TT_CSV_SLACK + TT_CSV_NUMBER_MAX;
    for (uint32_t i = 0; i < rows->table->n_columns; i++) {
        field *f = &c->fields[i];
        const tt_values *v = &rows->columns[i];
        f->type = rows->table->columns[i].type;
        f->values = v->values;
        f->valid = v->valid;
        f->front = (tt_csv_front){0};
        if (f->type == TT_VALUE_NAME && !prepare_texts(f, &v->dictionary)) return false;
        *most += longest(f, &v->dictionary) + 1;
    }
    return true;
}

tt_status tt_csv_put(tt_csv *c, const tt_rows *rows, tt_bytes *out, tt_error *err)
{
    size_t most;
    const uint32_t n_columns = rows->table->n_columns;
    if (!prepare(c, rows, &most)) return no_memory(err);
    for (size_t row = 0; row < rows->n; row++) {
        if (out->capacity - out->size < most && !tt_bytes_reserve(out, most)) return no_memory(err);
        char *begin = (char *)out->data + out->size, *p = begin;
        for (uint32_t i = 0; i < n_columns; i++) {
            p = put_value(p, &c->fields[i], row);
            *p++ = ',';
        }
        p[-1] = '\n';
        out->size += (size_t)(p - begin);
    }
    return out->failed ? no_memory(err) : TT_OK;
}
