#include "export/parquet/group.h"

#include "base/json.h"
#include "export/parquet/file.h"
#include "export/parquet/pack.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <zstd.h>

static void set(tt_parquet_bound *bound, const void *bytes, size_t n)
{
    memcpy(bound->bytes, bytes, n);
    bound->n = (uint8_t)n;
    bound->exact = true;
}

/* Each sets bounded, least and most. */
static void parquet_bound_integers(tt_parquet_chunk *chunk, const tt_parquet_integers *v)
{
    uint64_t least = v->least ^ v->bias, most = v->most ^ v->bias;
    set(&chunk->least, &least, v->wide ? 8 : 4);
    set(&chunk->most, &most, v->wide ? 8 : 4);
    chunk->bounded = true;
}

static void parquet_bound_bools(tt_parquet_chunk *chunk, const uint8_t *values, size_t n)
{
    uint8_t all = 1, any = 0;
    for (size_t i = 0; i < n; i++) {
        all &= values[i];
        any |= values[i];
    }
    set(&chunk->least, &all, 1);
    set(&chunk->most, &any, 1);
    chunk->bounded = true;
}

static void bound_floats(tt_parquet_chunk *chunk, const float *values, size_t n)
{
    float least = values[0], most = values[0];
    for (size_t i = 0; i < n; i++) {
        if (values[i] != values[i]) return;
        least = values[i] < least ? values[i] : least;
        most = values[i] > most ? values[i] : most;
    }
    if (least == 0) least = -0.0f;
    if (most == 0) most = 0.0f;
    set(&chunk->least, &least, sizeof least);
    set(&chunk->most, &most, sizeof most);
    chunk->bounded = true;
}

static void bound_doubles(tt_parquet_chunk *chunk, const double *values, size_t n)
{
    double least = values[0], most = values[0];
    for (size_t i = 0; i < n; i++) {
        if (values[i] != values[i]) return;
        least = values[i] < least ? values[i] : least;
        most = values[i] > most ? values[i] : most;
    }
    if (least == 0) least = -0.0;
    if (most == 0) most = 0.0;
    set(&chunk->least, &least, sizeof least);
    set(&chunk->most, &most, sizeof most);
    chunk->bounded = true;
}

static void parquet_bound_reals(tt_parquet_chunk *chunk, const void *values, size_t n, bool wide)
{
    if (wide)
        bound_doubles(chunk, values, n);
    else
        bound_floats(chunk, values, n);
}

/* The first bytes of a text, whole characters: not above it. */
static size_t cut(const uint8_t *text, size_t n)
{
    if (n <= TT_PARQUET_BOUND_MAX) return n;
    n = TT_PARQUET_BOUND_MAX;
    while (n > 0 && (text[n] & 0xc0) == 0x80)
        n--;
    return n;
}

/* An upper bound of a long text: its start, up to an ASCII character that can be incremented. */
static bool set_above(tt_parquet_bound *bound, const uint8_t *text, size_t n)
{
    if (n <= TT_PARQUET_BOUND_MAX) {
        set(bound, text, n);
        return true;
    }
    for (size_t k = TT_PARQUET_BOUND_MAX; k > 0; k--) {
        if (text[k - 1] >= 0x7f) continue;
        set(bound, text, k);
        bound->bytes[k - 1]++;
        bound->exact = false;
        return true;
    }
    return false;
}

static int compare(tt_span a, tt_span b)
{
    size_t n = a.size < b.size ? a.size : b.size;
    int order = n ? memcmp(a.data, b.data, n) : 0;
    return order ? order : (a.size > b.size) - (a.size < b.size);
}

/* Uses only the codes in use of a dictionary page's n texts (each 4 bytes of length, then
 * UTF-8). */
static void parquet_bound_texts(tt_parquet_chunk *chunk, const tt_bytes *page, size_t n,
                                const uint8_t *used)
{
    tt_cursor c = tt_cursor_of(page->data, page->size);
    tt_span least = {NULL, 0}, most = {NULL, 0};
    bool found = false;
    for (size_t i = 0; i < n; i++) {
        uint32_t size = tt_cursor_u32(&c);
        tt_span text = tt_cursor_take(&c, size);
        if (!used[i]) continue;
        if (!found || compare(text, least) < 0) least = text;
        if (!found || compare(text, most) > 0) most = text;
        found = true;
    }
    if (!found || c.failed || !set_above(&chunk->most, most.data, most.size)) return;
    set(&chunk->least, least.data, cut(least.data, least.size));
    chunk->least.exact = chunk->least.n == least.size;
    chunk->bounded = true;
}

/* Codes repeat, differences do not: the fastest level is enough to find repetitions. */
#define LEVEL_CODES 1
#define LEVEL_OTHERS (-1)
/* Pages whose start gains less than this part of its size are stored uncompressed. Packed times
 * would gain a little, at the cost of most of the time of an export. */
#define GAIN_LEAST 8u
#define GAIN_LEAST_DELTA 3u
#define TRIAL_BYTES 32768u

enum { PAGE_DATA = 0, PAGE_DICTIONARY = 2 }; /* PageType */

struct tt_parquet_encoder {
    ZSTD_CCtx *zstd;
    tt_bytes page;       /* before compression */
    tt_bytes packed;     /* after */
    tt_bytes dictionary; /* the page of distinct values */
    tt_bytes dense;      /* the values of rows that have one */
    tt_bytes widened;    /* 8-bit and 16-bit integers as 32-bit ones */
    tt_bytes used;       /* one byte per text of a dictionary */
    tt_parquet_lookup lookup;
};

/* The present values of a column, as pages take them. */
typedef struct content {
    const tt_values *from;
    const uint8_t *valid; /* NULL: all rows have a value */
    bool nullable;
    tt_cell_type type;
    const void *values; /* bytes for BOOL, codes for a dictionary, else as stored */
    size_t n;
    size_t size_bytes; /* of a value in `values` */
    bool wide;
    unsigned width; /* of codes */
    tt_parquet_encoding encoding;
    uint32_t n_distinct;
} content;

tt_parquet_encoder *tt_parquet_encoder_open(void)
{
    tt_parquet_encoder *e = calloc(1, sizeof *e);
    if (!e) return NULL;
    tt_bytes *all[] = {&e->page, &e->packed, &e->dictionary, &e->dense, &e->widened, &e->used};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        tt_bytes_init(all[i], TT_PARQUET_GROUP_MAX);
    e->zstd = ZSTD_createCCtx();
    if (!e->zstd) {
        tt_parquet_encoder_close(e);
        return NULL;
    }
    return e;
}

void tt_parquet_encoder_close(tt_parquet_encoder *e)
{
    if (!e) return;
    ZSTD_freeCCtx(e->zstd);
    tt_bytes_free(&e->page);
    tt_bytes_free(&e->packed);
    tt_bytes_free(&e->dictionary);
    tt_bytes_free(&e->dense);
    tt_bytes_free(&e->widened);
    tt_bytes_free(&e->used);
    tt_parquet_lookup_free(&e->lookup);
    free(e);
}

/* ---- pages ---- */

static void put_page_header(tt_bytes *out, int type, size_t unpacked, size_t packed,
                            size_t n_values, tt_parquet_encoding encoding)
{
    tt_thrift t = {.out = out};
    tt_thrift_begin(&t);
    tt_thrift_i32(&t, 1, type);
    tt_thrift_i32(&t, 2, (int32_t)unpacked);
    tt_thrift_i32(&t, 3, (int32_t)packed);
    tt_thrift_struct(&t, type == PAGE_DATA ? 5 : 7);
    tt_thrift_i32(&t, 1, (int32_t)n_values);
    tt_thrift_i32(&t, 2, (int32_t)encoding);
    if (type == PAGE_DATA) {
        tt_thrift_i32(&t, 3, TT_PARQUET_RLE); /* definition levels ... */
        tt_thrift_i32(&t, 4, TT_PARQUET_RLE); /* ... and repetition levels, of which there are
                                                 none */
    }
    tt_thrift_end(&t);
    tt_thrift_end(&t);
}

/* False if out of memory. */
static bool compress(tt_parquet_encoder *e, const uint8_t *raw, size_t n, int level)
{
    tt_bytes_clear(&e->packed);
    if (!tt_bytes_reserve(&e->packed, ZSTD_compressBound(n))) return false;
    e->packed.size = ZSTD_compressCCtx(e->zstd, e->packed.data, e->packed.capacity, raw, n, level);
    return !ZSTD_isError(e->packed.size);
}

static void put_page(tt_parquet_encoder *e, int type, const tt_bytes *raw, size_t n_values,
                     tt_parquet_encoding encoding, tt_parquet_chunk *chunk, tt_bytes *out)
{
    size_t begin = out->size;
    const tt_bytes *body = raw;
    if (raw->failed) out->failed = true;
    if (chunk->compressed) {
        int level = chunk->encoding == TT_PARQUET_DICTIONARY ? LEVEL_CODES : LEVEL_OTHERS;
        if (!compress(e, raw->data, raw->size, level)) out->failed = true;
        body = &e->packed;
    }
    put_page_header(out, type, raw->size, body->size, n_values, encoding);
    chunk->unpacked_bytes += out->size - begin + raw->size;
    tt_bytes_put(out, body->data, body->size);
    chunk->size_bytes += out->size - begin;
}

/* 4 bytes of length, then which rows have a value. */
static void put_levels(tt_bytes *page, const content *c, size_t row, size_t rows)
{
    size_t at = page->size;
    tt_bytes_u32(page, 0);
    if (c->valid)
        tt_parquet_levels(page, c->valid + row, rows);
    else
        tt_parquet_run(page, 1, rows, 1);
    uint32_t n = (uint32_t)(page->size - at - 4);
    if (!page->failed) memcpy(page->data + at, &n, sizeof n);
}

static void put_values(tt_bytes *page, const content *c, size_t first, size_t n)
{
    const uint8_t *at = (const uint8_t *)c->values + first * c->size_bytes;
    switch (c->encoding) {
    case TT_PARQUET_DICTIONARY:
        tt_bytes_u8(page, (uint8_t)c->width);
        if (c->n_distinct == 1)
            tt_parquet_run(page, 0, n, c->width);
        else
            tt_parquet_hybrid(page, (const void *)at, n, c->width);
        break;
    case TT_PARQUET_DELTA:
        tt_parquet_delta(page, at, n, c->wide);
        break;
    default:
        if (c->type == TT_CELL_BOOL)
            tt_parquet_bits(page, at, n);
        else
            tt_bytes_put(page, at, n * c->size_bytes);
    }
}

static size_t count_valid(const uint8_t *valid, size_t n)
{
    size_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += valid[i];
    return sum;
}

/* Whether zstd gains enough, estimated from the start of the first page. */
static bool compression_pays(tt_parquet_encoder *e, tt_parquet_encoding encoding)
{
    size_t n = e->page.size < TRIAL_BYTES ? e->page.size : TRIAL_BYTES;
    size_t least = n / (encoding == TT_PARQUET_DELTA ? GAIN_LEAST_DELTA : GAIN_LEAST);
    return !compress(e, e->page.data, n, LEVEL_OTHERS) || e->packed.size < n - least;
}

static void put_data_pages(tt_parquet_encoder *e, const content *c, size_t n_rows,
                           tt_parquet_chunk *chunk, tt_bytes *out)
{
    size_t value = 0;
    for (size_t row = 0; row < n_rows; row += TT_PARQUET_PAGE_ROWS) {
        size_t rows = n_rows - row < TT_PARQUET_PAGE_ROWS ? n_rows - row : TT_PARQUET_PAGE_ROWS;
        size_t here = c->valid ? count_valid(c->valid + row, rows) : rows;
        tt_bytes_clear(&e->page);
        if (c->nullable) put_levels(&e->page, c, row, rows);
        put_values(&e->page, c, value, here);
        value += here;
        if (row == 0 && c->encoding != TT_PARQUET_DICTIONARY)
            chunk->compressed = compression_pays(e, c->encoding);
        put_page(e, PAGE_DATA, &e->page, rows, c->encoding, chunk, out);
        chunk->n_data_pages++;
    }
}

/* ---- from rows to contents ---- */

/* Removes the rows without a value. */
static const void *densify(tt_bytes *dense, const void *values, const uint8_t *valid, size_t n,
                           size_t size_bytes)
{
    size_t k = 0;
    tt_bytes_clear(dense);
    /* One more: a value that is not kept is written after the last one, and overwritten. */
    if (!tt_bytes_reserve(dense, (n + 1) * size_bytes)) return NULL;
#define DENSIFY(type)                                                                              \
    for (size_t i = 0; i < n; i++) {                                                               \
        ((type *)(void *)dense->data)[k] = ((const type *)values)[i];                              \
        k += valid[i];                                                                             \
    }
    if (size_bytes == 1) {
        DENSIFY(uint8_t)
    } else if (size_bytes == 2) {
        DENSIFY(uint16_t)
    } else if (size_bytes == 4) {
        DENSIFY(uint32_t)
    } else {
        DENSIFY(uint64_t)
    }
#undef DENSIFY
    return dense->data;
}

static const void *widen(tt_bytes *widened, const void *values, size_t n, size_t size_bytes)
{
    tt_bytes_clear(widened);
    if (!tt_bytes_reserve(widened, n * 4)) return NULL;
    uint32_t *to = (uint32_t *)(void *)widened->data;
    if (size_bytes == 1)
        for (size_t i = 0; i < n; i++)
            to[i] = ((const uint8_t *)values)[i];
    else
        for (size_t i = 0; i < n; i++)
            to[i] = ((const uint16_t *)values)[i];
    return to;
}

static bool is_signed(tt_cell_type type)
{
    return type == TT_CELL_I32 || type == TT_CELL_I64 || type == TT_CELL_TIME;
}

static bool encode_integers(tt_parquet_encoder *e, content *c, tt_parquet_chunk *chunk)
{
    if (c->size_bytes < 4) {
        c->values = widen(&e->widened, c->values, c->n, c->size_bytes);
        c->size_bytes = 4;
    }
    c->wide = c->size_bytes == 8;
    tt_parquet_integers v = {.values = c->values, .n = c->n, .wide = c->wide};
    if (is_signed(c->type)) v.bias = c->wide ? UINT64_C(1) << 63 : UINT64_C(1) << 31;
    if (!c->values || !tt_parquet_lookup_reserve(&e->lookup, c->n)) return false;
    tt_parquet_integers_bounds(&v);
    parquet_bound_integers(chunk, &v);
    c->encoding = tt_parquet_integers_encoding(&v, &e->lookup);
    if (c->encoding != TT_PARQUET_DICTIONARY) return true;
    c->n_distinct = e->lookup.n_distinct;
    for (uint32_t i = 0; i < c->n_distinct; i++)
        tt_bytes_put(&e->dictionary, &e->lookup.distinct[i], c->size_bytes);
    c->values = e->lookup.codes;
    c->size_bytes = sizeof *e->lookup.codes;
    return true;
}

static void put_text(tt_bytes *out, const char *text, size_t n)
{
    size_t at = out->size;
    tt_bytes_u32(out, 0);
    tt_bytes_utf8(out, text, n);
    uint32_t size = (uint32_t)(out->size - at - 4);
    if (!out->failed) memcpy(out->data + at, &size, sizeof size);
}

static bool encode_names(tt_parquet_encoder *e, content *c, tt_parquet_chunk *chunk)
{
    const tt_dictionary *d = &c->from->dictionary;
    const uint32_t *codes = c->values;
    for (uint32_t i = 0; i < d->n; i++)
        put_text(&e->dictionary, d->texts[i], d->lengths[i]);
    tt_bytes_clear(&e->used);
    if (!tt_bytes_reserve(&e->used, d->n)) return false;
    memset(e->used.data, 0, d->n);
    for (size_t i = 0; i < c->n; i++)
        e->used.data[codes[i]] = 1;
    c->n_distinct = d->n;
    c->encoding = TT_PARQUET_DICTIONARY;
    if (!e->dictionary.failed) parquet_bound_texts(chunk, &e->dictionary, d->n, e->used.data);
    return true;
}

static bool encode_values(tt_parquet_encoder *e, content *c, tt_parquet_chunk *chunk)
{
    tt_bytes_clear(&e->dictionary);
    c->encoding = TT_PARQUET_PLAIN;
    if (c->n == 0) return true;
    switch (c->type) {
    case TT_CELL_BOOL:
        parquet_bound_bools(chunk, c->values, c->n);
        return true;
    case TT_CELL_F32:
    case TT_CELL_F64:
        parquet_bound_reals(chunk, c->values, c->n, c->type == TT_CELL_F64);
        return true;
    case TT_CELL_NAME:
        return encode_names(e, c, chunk);
    default:
        return encode_integers(e, c, chunk);
    }
}

static void put_column(tt_parquet_encoder *e, const tt_column *column, const tt_values *values,
                       size_t n_rows, tt_parquet_chunk *chunk, tt_bytes *out)
{
    content c = {.from = values,
                 .valid = column->nullable ? values->valid : NULL,
                 .nullable = column->nullable,
                 .type = column->type,
                 .values = values->values,
                 .n = n_rows,
                 .size_bytes = tt_cell_size(column->type)};
    if (c.valid) c.n = count_valid(c.valid, n_rows);
    if (c.n == n_rows) c.valid = NULL;
    if (c.valid) c.values = densify(&e->dense, c.values, c.valid, n_rows, c.size_bytes);
    memset(chunk, 0, sizeof *chunk);
    chunk->compressed = true;
    chunk->n_values = n_rows;
    chunk->n_nulls = n_rows - c.n;
    chunk->offset_bytes = out->size;
    if (!c.values || !encode_values(e, &c, chunk)) out->failed = true;
    if (out->failed) return;
    chunk->encoding = c.encoding;
    if (c.encoding == TT_PARQUET_DICTIONARY) {
        /* Some readers require at least one bit. */
        c.width = c.n_distinct > 1 ? tt_parquet_width(c.n_distinct - 1) : 1;
        put_page(e, PAGE_DICTIONARY, &e->dictionary, c.n_distinct, TT_PARQUET_PLAIN, chunk, out);
    }
    chunk->data_bytes = out->size;
    put_data_pages(e, &c, n_rows, chunk, out);
}

tt_status tt_parquet_group_encode(tt_parquet_encoder *e, const tt_rows *rows, uint32_t first,
                                  tt_bytes *out, tt_error *err)
{
    tt_parquet_chunk chunks[TT_COLUMNS_MAX];
    uint32_t n = 0;
    if (rows->n > INT32_MAX)
        return tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET, "table %s: %zu rows in one part",
                            rows->table->name, rows->n);
    for (uint32_t i = first; i < rows->table->n_columns; i++)
        put_column(e, &rows->table->columns[i], &rows->columns[i], rows->n, &chunks[n++], out);
    tt_parquet_group group = {.n_rows = rows->n, .pages_bytes = out->size, .n_chunks = n};
    tt_bytes_put(out, chunks, n * sizeof *chunks);
    tt_bytes_put(out, &group, sizeof group);
    if (out->failed)
        return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory to write the table %s",
                            rows->table->name);
    return TT_OK;
}
