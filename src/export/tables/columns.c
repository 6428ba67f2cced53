#include "export/tables/columns.h"

#include "base/array.h"
#include "base/checksum.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* --- dictionaries --- */

typedef struct looked_for {
    const tt_dictionary *d;
    const char *text;
    size_t n;
} looked_for;

static bool is_text(const void *context, uint32_t code)
{
    const looked_for *l = context;
    return l->d->lengths[code] == l->n && memcmp(l->d->texts[code], l->text, l->n) == 0;
}

uint32_t tt_dictionary_code(tt_dictionary *d, const char *text, size_t n)
{
    const looked_for l = {d, text, n};
    uint64_t key = tt_checksum(text, n);
    uint32_t was = tt_idmap_find(&d->by_hash, &key, is_text, &l), had = d->capacity;
    if (was != TT_NONE) return was;
    if (!tt_array_one_more(d->texts, d->n, had) ||
        !tt_array_one_more(d->lengths, d->n, d->capacity) ||
        !tt_idmap_add(&d->by_hash, key, d->n, &was))
        return TT_NONE;
    d->texts[d->n] = text;
    d->lengths[d->n] = n;
    return d->n++;
}

void tt_dictionary_clear(tt_dictionary *d)
{
    tt_idmap_clear(&d->by_hash);
    d->n = 0;
}

void tt_dictionary_free(tt_dictionary *d)
{
    free(d->texts);
    free(d->lengths);
    tt_idmap_free(&d->by_hash);
    memset(d, 0, sizeof *d);
}

/* --- rows --- */

size_t tt_cell_size(tt_cell_type type)
{
    static const uint8_t sizes[] = {
        [TT_CELL_BOOL] = 1, [TT_CELL_U8] = 1,   [TT_CELL_U16] = 2, [TT_CELL_U32] = 4,
        [TT_CELL_U64] = 8,  [TT_CELL_I32] = 4,  [TT_CELL_I64] = 8, [TT_CELL_F32] = 4,
        [TT_CELL_F64] = 8,  [TT_CELL_TIME] = 8, [TT_CELL_NAME] = 4};
    return sizes[type];
}

static void free_columns(tt_rows *rows)
{
    for (size_t i = 0; i < TT_COLUMNS_MAX; i++) {
        free(rows->columns[i].values);
        free(rows->columns[i].valid_memory);
        tt_dictionary_free(&rows->columns[i].dictionary);
    }
    memset(rows->columns, 0, sizeof rows->columns);
    rows->n = rows->capacity = 0;
}

void tt_rows_begin(tt_rows *rows, const tt_export_table *table)
{
    if (rows->table != table) free_columns(rows);
    rows->table = table;
    rows->n = 0;
    rows->failed = false;
    for (uint32_t i = 0; i < table->n_columns; i++) {
        rows->columns[i].valid = NULL;
        tt_dictionary_clear(&rows->columns[i].dictionary);
    }
}

void tt_rows_free(tt_rows *rows)
{
    free_columns(rows);
    if (rows->own) rows->free_own(rows->own);
    memset(rows, 0, sizeof *rows);
}

#define PAGE_BYTES ((size_t)2 << 20) /* of a huge one; where there are none, nothing is lost */

/* A new array of which so many bytes will be touched: in huge pages if they are nearly filled. The
 * first touch of small ones takes longer than all else that is done with them. */
static void *make_array(size_t bytes, size_t touched)
{
    const size_t rest = touched % PAGE_BYTES, whole = (bytes + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
    if (touched < 7 * PAGE_BYTES / 8 || (rest > 0 && rest < 7 * PAGE_BYTES / 8))
        return malloc(bytes);
    void *array = aligned_alloc(PAGE_BYTES, whole);
    if (array) (void)madvise(array, whole, MADV_HUGEPAGE);
    return array;
}

static void *more_values(const tt_rows *rows, const tt_values *v, size_t n, size_t size)
{
    if (!v->values && rows->usual) return make_array(n * size, rows->usual * size);
    return reallocarray(v->values, n, size);
}

tt_status tt_rows_reserve(tt_rows *rows, size_t n, tt_error *err)
{
    size_t more = rows->capacity ? rows->capacity
                  : rows->usual  ? rows->usual + rows->usual / 32
                                 : 64;
    if (n <= rows->capacity) return TT_OK;
    while (more < n)
        more *= 2;
    for (uint32_t i = 0; i < rows->table->n_columns; i++) {
        tt_values *v = &rows->columns[i];
        void *values = more_values(rows, v, more, tt_cell_size(rows->table->columns[i].type));
        if (values) v->values = values;
        uint8_t *valid = NULL;
        if (values && rows->table->columns[i].nullable) {
            valid = realloc(v->valid_memory, more);
            if (valid) v->valid_memory = valid;
            if (valid && v->valid) memset(valid + rows->capacity, 1, more - rows->capacity);
            if (valid && v->valid) v->valid = valid;
        }
        if (!values || (rows->table->columns[i].nullable && !valid))
            return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET,
                                "no memory for rows of the table %s", rows->table->name);
    }
    rows->capacity = more;
    return TT_OK;
}

void tt_rows_take(tt_rows *rows, const uint32_t *columns, uint32_t n, void **values)
{
    const size_t fits = rows->n > 0 ? rows->n : 1;
    for (uint32_t i = 0; i < n; i++) {
        tt_values *v = &rows->columns[columns[i]];
        const size_t size = tt_cell_size(rows->table->columns[columns[i]].type);
        void *shorter = fits < rows->capacity - rows->capacity / 16
                            ? realloc(v->values, fits * size)
                            : v->values;
        values[i] = shorter ? shorter : v->values;
        v->values = NULL;
    }
    /* The next part has about as many. */
    rows->usual = fits;
    rows->capacity = 0;
    rows->n = 0;
}

void tt_rows_integer(tt_rows *rows, uint32_t column, uint64_t v)
{
    void *values = rows->columns[column].values;
    switch (tt_cell_size(rows->table->columns[column].type)) {
    case 1:
        ((uint8_t *)values)[rows->n] = (uint8_t)v;
        return;
    case 2:
        ((uint16_t *)values)[rows->n] = (uint16_t)v;
        return;
    case 4:
        ((uint32_t *)values)[rows->n] = (uint32_t)v;
        return;
    default:
        ((uint64_t *)values)[rows->n] = v;
    }
}

void tt_rows_real(tt_rows *rows, uint32_t column, double v)
{
    void *values = rows->columns[column].values;
    if (rows->table->columns[column].type == TT_CELL_F32)
        ((float *)values)[rows->n] = (float)v;
    else
        ((double *)values)[rows->n] = v;
}

void tt_rows_text(tt_rows *rows, uint32_t column, const char *text, size_t n)
{
    tt_values *v = &rows->columns[column];
    uint32_t code = tt_dictionary_code(&v->dictionary, text, n);
    rows->failed |= code == TT_NONE;
    ((uint32_t *)v->values)[rows->n] = code;
}

void tt_rows_name(tt_rows *rows, uint32_t column, const char *text)
{
    if (text)
        tt_rows_text(rows, column, text, strlen(text));
    else
        tt_rows_null(rows, column);
}

uint8_t *tt_rows_valid(tt_rows *rows, uint32_t column)
{
    tt_values *v = &rows->columns[column];
    if (!v->valid) {
        v->valid = v->valid_memory;
        memset(v->valid, 1, rows->capacity);
    }
    return v->valid;
}

void tt_rows_null(tt_rows *rows, uint32_t column)
{
    tt_rows_valid(rows, column)[rows->n] = 0;
    tt_rows_integer(rows, column, 0);
}
