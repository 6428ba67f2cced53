#include "export/parquet/file.h"


#include <errno.h>
#include <string.h>

/* Types of fields; a boolean's value is in its type. */
enum { FIELD_TRUE = 1, FIELD_FALSE = 2, FIELD_BYTE = 3 };

#define SHORT_DELTA_MAX 15
#define SHORT_LIST_MAX 14u

static void field(tt_thrift *t, int16_t id, unsigned type)
{
    int16_t *last = &t->last[t->depth - 1];
    int delta = id - *last;
    if (delta >= 1 && delta <= SHORT_DELTA_MAX) {
        tt_bytes_u8(t->out, (uint8_t)((unsigned)delta << 4 | type));
    } else {
        tt_bytes_u8(t->out, (uint8_t)type);
        tt_bytes_zigzag(t->out, id);
    }
    *last = id;
}

void tt_thrift_begin(tt_thrift *t)
{
    if (t->depth < TT_THRIFT_DEPTH_MAX)
        t->last[t->depth++] = 0;
    else
        t->out->failed = true;
}

void tt_thrift_end(tt_thrift *t)
{
    tt_bytes_u8(t->out, 0);
    t->depth--;
}

void tt_thrift_struct(tt_thrift *t, int16_t id)
{
    field(t, id, TT_THRIFT_STRUCT);
    tt_thrift_begin(t);
}

static void thrift_bool(tt_thrift *t, int16_t id, bool v)
{
    field(t, id, v ? FIELD_TRUE : FIELD_FALSE);
}

static void thrift_byte(tt_thrift *t, int16_t id, int8_t v)
{
    field(t, id, FIELD_BYTE);
    tt_bytes_u8(t->out, (uint8_t)v);
}

void tt_thrift_i32(tt_thrift *t, int16_t id, int32_t v)
{
    field(t, id, TT_THRIFT_I32);
    tt_bytes_zigzag(t->out, v);
}

static void thrift_i64(tt_thrift *t, int16_t id, int64_t v)
{
    field(t, id, TT_THRIFT_I64);
    tt_bytes_zigzag(t->out, v);
}

static void thrift_text(tt_thrift *t, int16_t id, const void *text, size_t n)
{
    field(t, id, TT_THRIFT_BINARY);
    tt_bytes_str(t->out, text, n);
}

static void thrift_string(tt_thrift *t, int16_t id, const char *text)
{
    thrift_text(t, id, text, strlen(text));
}

/* A list field: n elements follow, each written by one of the two functions below, by begin and
 * end, or as bytes of another tt_thrift. */
static void thrift_list(tt_thrift *t, int16_t id, tt_thrift_type type, size_t n)
{
    field(t, id, TT_THRIFT_LIST);
    if (n <= SHORT_LIST_MAX) {
        tt_bytes_u8(t->out, (uint8_t)(n << 4 | type));
    } else {
        tt_bytes_u8(t->out, (uint8_t)(0xf0u | type));
        tt_bytes_varint(t->out, n);
    }
}

static void thrift_item_i32(tt_thrift *t, int32_t v)
{
    tt_bytes_zigzag(t->out, v);
}

static void thrift_item_string(tt_thrift *t, const char *text)
{
    tt_bytes_str(t->out, text, strlen(text));
}

static const char magic[4] = {'P', 'A', 'R', '1'};

#define FORMAT_VERSION 2

/* parquet.thrift: Type, FieldRepetitionType, ConvertedType, CompressionCodec, LogicalType. */
enum { BOOLEAN = 0, INT32 = 1, INT64 = 2, FLOAT = 4, DOUBLE = 5, BYTE_ARRAY = 6 };
enum { REQUIRED = 0, OPTIONAL = 1 };
enum { UTF8 = 0, UINT_8 = 11, UINT_16 = 12, UINT_32 = 13, UINT_64 = 14, INT_32 = 17, INT_64 = 18 };
enum { UNCOMPRESSED = 0, ZSTD = 6 };
enum { LOGICAL_STRING = 1, LOGICAL_TIMESTAMP = 8, LOGICAL_INTEGER = 10 };
enum { UNIT_NANOS = 3 };
#define NOT_CONVERTED (-1)

typedef struct stored_type {
    int physical;
    int converted;
    int8_t bits; /* of an INTEGER; 0: none */
    bool is_signed;
} stored_type;

static const stored_type stored_types[] = {
    [TT_CELL_BOOL] = {BOOLEAN, NOT_CONVERTED, 0, false},
    [TT_CELL_U8] = {INT32, UINT_8, 8, false},
    [TT_CELL_U16] = {INT32, UINT_16, 16, false},
    [TT_CELL_U32] = {INT32, UINT_32, 32, false},
    [TT_CELL_U64] = {INT64, UINT_64, 64, false},
    [TT_CELL_I32] = {INT32, INT_32, 32, true},
    [TT_CELL_I64] = {INT64, INT_64, 64, true},
    [TT_CELL_F32] = {FLOAT, NOT_CONVERTED, 0, false},
    [TT_CELL_F64] = {DOUBLE, NOT_CONVERTED, 0, false},
    [TT_CELL_TIME] = {INT64, NOT_CONVERTED, 0, false},
    [TT_CELL_NAME] = {BYTE_ARRAY, UTF8, 0, false},
};

static tt_status put(tt_parquet_file *f, const void *bytes, size_t n, tt_error *err)
{
    if (n && fwrite(bytes, 1, n, f->out) != n)
        return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot write %s: %s", f->name,
                            strerror(errno));
    f->size_bytes += n;
    return TT_OK;
}

tt_status tt_parquet_file_begin(tt_parquet_file *f, FILE *out, const char *name,
                                const tt_export_table *table, uint32_t first, tt_error *err)
{
    memset(f, 0, sizeof *f);
    f->out = out;
    f->name = name;
    f->table = table;
    f->first = first;
    tt_bytes_init(&f->groups, TT_PARQUET_FOOTER_MAX);
    return put(f, magic, sizeof magic, err);
}

void tt_parquet_file_free(tt_parquet_file *f)
{
    tt_bytes_free(&f->groups);
}

/* ---- row groups ---- */

static void put_statistics(tt_thrift *t, const tt_parquet_chunk *chunk)
{
    tt_thrift_struct(t, 12);
    thrift_i64(t, 3, (int64_t)chunk->n_nulls);
    if (chunk->bounded) {
        thrift_text(t, 5, chunk->most.bytes, chunk->most.n);
        thrift_text(t, 6, chunk->least.bytes, chunk->least.n);
        thrift_bool(t, 7, chunk->most.exact);
        thrift_bool(t, 8, chunk->least.exact);
    }
    tt_thrift_end(t);
}

static void put_encoding_stats(tt_thrift *t, const tt_parquet_chunk *chunk)
{
    bool dictionary = chunk->encoding == TT_PARQUET_DICTIONARY;
    thrift_list(t, 13, TT_THRIFT_STRUCT, dictionary ? 2 : 1);
    if (dictionary) {
        tt_thrift_begin(t);
        tt_thrift_i32(t, 1, 2); /* DICTIONARY_PAGE */
        tt_thrift_i32(t, 2, TT_PARQUET_PLAIN);
        tt_thrift_i32(t, 3, 1);
        tt_thrift_end(t);
    }
    tt_thrift_begin(t);
    tt_thrift_i32(t, 1, 0); /* DATA_PAGE */
    tt_thrift_i32(t, 2, (int32_t)chunk->encoding);
    tt_thrift_i32(t, 3, (int32_t)chunk->n_data_pages);
    tt_thrift_end(t);
}

static void put_encodings(tt_thrift *t, const tt_column *column, const tt_parquet_chunk *chunk)
{
    bool dictionary = chunk->encoding == TT_PARQUET_DICTIONARY;
    thrift_list(t, 2, TT_THRIFT_I32, 1u + dictionary + column->nullable);
    thrift_item_i32(t, (int32_t)chunk->encoding);
    if (dictionary) thrift_item_i32(t, TT_PARQUET_PLAIN);
    if (column->nullable) thrift_item_i32(t, TT_PARQUET_RLE);
}

static void put_chunk(tt_thrift *t, const tt_column *column, const tt_parquet_chunk *chunk,
                      uint64_t base)
{
    tt_thrift_begin(t);
    thrift_i64(t, 2, 0); /* there is no metadata outside of the footer */
    tt_thrift_struct(t, 3);
    tt_thrift_i32(t, 1, stored_types[column->type].physical);
    put_encodings(t, column, chunk);
    thrift_list(t, 3, TT_THRIFT_BINARY, 1);
    thrift_item_string(t, column->key);
    tt_thrift_i32(t, 4, chunk->compressed ? ZSTD : UNCOMPRESSED);
    thrift_i64(t, 5, (int64_t)chunk->n_values);
    thrift_i64(t, 6, (int64_t)chunk->unpacked_bytes);
    thrift_i64(t, 7, (int64_t)chunk->size_bytes);
    thrift_i64(t, 9, (int64_t)(base + chunk->data_bytes));
    if (chunk->encoding == TT_PARQUET_DICTIONARY)
        thrift_i64(t, 11, (int64_t)(base + chunk->offset_bytes));
    put_statistics(t, chunk);
    put_encoding_stats(t, chunk);
    tt_thrift_end(t);
    tt_thrift_end(t);
}

static void put_group(tt_parquet_file *f, const tt_parquet_group *group, const uint8_t *chunks)
{
    tt_thrift t = {.out = &f->groups};
    uint64_t unpacked = 0;
    tt_thrift_begin(&t);
    thrift_list(&t, 1, TT_THRIFT_STRUCT, group->n_chunks);
    for (uint32_t i = 0; i < group->n_chunks; i++) {
        tt_parquet_chunk chunk;
        memcpy(&chunk, chunks + i * sizeof chunk, sizeof chunk);
        put_chunk(&t, &f->table->columns[f->first + i], &chunk, f->size_bytes);
        unpacked += chunk.unpacked_bytes;
    }
    thrift_i64(&t, 2, (int64_t)unpacked);
    thrift_i64(&t, 3, (int64_t)group->n_rows);
    thrift_i64(&t, 5, (int64_t)f->size_bytes);
    thrift_i64(&t, 6, (int64_t)group->pages_bytes);
    tt_thrift_end(&t);
}

tt_status tt_parquet_file_group(tt_parquet_file *f, const tt_bytes *made, tt_error *err)
{
    tt_parquet_group group;
    if (made->size == 0) return TT_OK;
    memcpy(&group, made->data + made->size - sizeof group, sizeof group);
    put_group(f, &group, made->data + group.pages_bytes);
    f->n_groups++;
    f->n_rows += group.n_rows;
    return put(f, made->data, group.pages_bytes, err);
}

/* ---- the footer ---- */

static void put_logical_type(tt_thrift *t, tt_cell_type type)
{
    const stored_type *stored = &stored_types[type];
    if (type != TT_CELL_NAME && type != TT_CELL_TIME && !stored->bits) return;
    tt_thrift_struct(t, 10);
    if (type == TT_CELL_NAME) {
        tt_thrift_struct(t, LOGICAL_STRING);
    } else if (type == TT_CELL_TIME) {
        tt_thrift_struct(t, LOGICAL_TIMESTAMP);
        thrift_bool(t, 1, true); /* adjusted to UTC */
        tt_thrift_struct(t, 2);
        tt_thrift_struct(t, UNIT_NANOS);
        tt_thrift_end(t);
        tt_thrift_end(t);
    } else {
        tt_thrift_struct(t, LOGICAL_INTEGER);
        thrift_byte(t, 1, stored->bits);
        thrift_bool(t, 2, stored->is_signed);
    }
    tt_thrift_end(t);
    tt_thrift_end(t);
}

static void put_schema(tt_thrift *t, const tt_export_table *table, uint32_t first)
{
    uint32_t n = table->n_columns - first;
    thrift_list(t, 2, TT_THRIFT_STRUCT, n + 1);
    tt_thrift_begin(t);
    thrift_string(t, 4, table->name);
    tt_thrift_i32(t, 5, (int32_t)n);
    tt_thrift_end(t);
    for (uint32_t i = first; i < table->n_columns; i++) {
        const tt_column *column = &table->columns[i];
        const stored_type *stored = &stored_types[column->type];
        tt_thrift_begin(t);
        tt_thrift_i32(t, 1, stored->physical);
        tt_thrift_i32(t, 3, column->nullable ? OPTIONAL : REQUIRED);
        thrift_string(t, 4, column->key);
        if (stored->converted != NOT_CONVERTED) tt_thrift_i32(t, 6, stored->converted);
        put_logical_type(t, column->type);
        tt_thrift_end(t);
    }
}

static void put_pairs(tt_thrift *t, const tt_parquet_pair *pairs, size_t n)
{
    if (n == 0) return;
    thrift_list(t, 5, TT_THRIFT_STRUCT, n);
    for (size_t i = 0; i < n; i++) {
        tt_thrift_begin(t);
        thrift_string(t, 1, pairs[i].key);
        thrift_string(t, 2, pairs[i].value);
        tt_thrift_end(t);
    }
}

/* Every column's bounds are in the order of its type. */
static void put_orders(tt_thrift *t, uint32_t n)
{
    thrift_list(t, 7, TT_THRIFT_STRUCT, n);
    for (uint32_t i = 0; i < n; i++) {
        tt_thrift_begin(t);
        tt_thrift_struct(t, 1);
        tt_thrift_end(t);
        tt_thrift_end(t);
    }
}

tt_status tt_parquet_file_end(tt_parquet_file *f, const tt_parquet_pair *pairs, size_t n,
                              tt_error *err)
{
    tt_bytes footer;
    tt_thrift t = {.out = &footer};
    tt_bytes_init(&footer, TT_PARQUET_FOOTER_MAX);
    tt_thrift_begin(&t);
    tt_thrift_i32(&t, 1, FORMAT_VERSION);
    put_schema(&t, f->table, f->first);
    thrift_i64(&t, 3, (int64_t)f->n_rows);
    thrift_list(&t, 4, TT_THRIFT_STRUCT, f->n_groups);
    tt_bytes_put(&footer, f->groups.data, f->groups.size);
    put_pairs(&t, pairs, n);
    thrift_string(&t, 6, "tensortrace version " TT_VERSION);
    put_orders(&t, f->table->n_columns - f->first);
    tt_thrift_end(&t);
    tt_bytes_u32(&footer, (uint32_t)footer.size);
    tt_bytes_put(&footer, magic, sizeof magic);
    tt_status status = footer.failed || f->groups.failed
                           ? tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET,
                                          "no memory for the footer of %s", f->name)
                           : put(f, footer.data, footer.size, err);
    tt_bytes_free(&footer);
    return status;
}
