/* Parquet: the encodings of numbers against decoders written from the specification, and whole
 * files of random columns. With TT_PARQUET_FOLDER set the files stay there, each with what should
 * be read from it (NAME.json), for tests/oracle/check_parquet.py. */
#include "base/json.h"
#include "export/parquet/file.h"
#include "export/parquet/group.h"
#include "export/parquet/pack.h"
#include "export/tables/columns.h"
#include "tests.h"

#include <math.h>
#include <stdlib.h>

static uint64_t state;

static uint64_t random_u64(void)
{
    state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = state;
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static uint64_t below(uint64_t n)
{
    return random_u64() % n;
}

/* ---- decoders ---- */

static uint64_t bits_at(const uint8_t *data, size_t bit, unsigned width)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < width; i++)
        v |= (uint64_t)(data[(bit + i) / 8] >> (bit + i) % 8 & 1) << i;
    return v;
}

/* How many values there were, counting the padding of the last packed group. */
static size_t read_hybrid(tt_cursor *c, unsigned width, uint32_t *out, size_t room)
{
    size_t n = 0;
    while (tt_cursor_left(c) > 0) {
        uint64_t head = tt_cursor_varint(c);
        if (head & 1) {
            size_t count = (size_t)(head >> 1) * 8;
            tt_span packed = tt_cursor_take(c, count / 8 * width);
            assert_false(c->failed);
            for (size_t i = 0; i < count; i++, n++) {
                uint32_t v = (uint32_t)bits_at(packed.data, i * width, width);
                if (n < room)
                    out[n] = v;
                else
                    assert_int_equal(v, 0);
            }
        } else {
            tt_span value = tt_cursor_take(c, (width + 7) / 8);
            uint32_t v = 0;
            assert_false(c->failed);
            memcpy(&v, value.data, value.size);
            assert_true(n + (head >> 1) <= room);
            for (uint64_t i = 0; i < head >> 1; i++)
                out[n++] = v;
        }
    }
    return n;
}

static void read_delta(tt_cursor *c, bool wide, uint64_t *out, size_t n)
{
    uint64_t block = tt_cursor_varint(c), minis = tt_cursor_varint(c);
    assert_int_equal(block % 128, 0);
    assert_int_equal(block / minis % 32, 0);
    assert_int_equal(tt_cursor_varint(c), n);
    uint64_t value = (uint64_t)tt_cursor_zigzag(c);
    uint64_t mask = wide ? UINT64_MAX : UINT32_MAX;
    if (n > 0) out[0] = value & mask;
    for (size_t i = 1; i < n;) {
        uint64_t least = (uint64_t)tt_cursor_zigzag(c);
        tt_span widths = tt_cursor_take(c, (size_t)minis);
        for (size_t m = 0; m < minis && i < n; m++) {
            assert_true(widths.data[m] <= (wide ? 64 : 32));
            tt_span packed = tt_cursor_take(c, (size_t)(block / minis) / 8 * widths.data[m]);
            assert_false(c->failed);
            for (size_t k = 0; k < block / minis && i < n; k++, i++) {
                value += least + bits_at(packed.data, k * widths.data[m], widths.data[m]);
                out[i] = value & mask;
            }
        }
    }
    assert_int_equal(tt_cursor_left(c), 0);
}

/* ---- encodings ---- */

#define VALUES_MAX 1200u

static void test_hybrid(void **unused)
{
    static uint32_t values[VALUES_MAX], back[VALUES_MAX];
    tt_bytes out;
    (void)unused;
    state = 1;
    tt_bytes_init(&out, 1 << 20);
    for (unsigned round = 0; round < 3000; round++) {
        unsigned width = 1 + (unsigned)below(32);
        uint32_t mask = (uint32_t)((UINT64_C(1) << width) - 1);
        size_t n = below(round < 100 ? 20 : VALUES_MAX), longest = 1 + below(200);
        for (size_t i = 0; i < n;) {
            uint32_t v = (uint32_t)random_u64() & mask;
            for (size_t k = 1 + below(longest); k > 0 && i < n; k--)
                values[i++] = v;
        }
        tt_bytes_clear(&out);
        tt_parquet_hybrid(&out, values, n, width);
        assert_false(out.failed);
        tt_cursor c = tt_cursor_of(out.data, out.size);
        size_t got = read_hybrid(&c, width, back, VALUES_MAX);
        assert_true(got >= n && got < n + 8);
        assert_memory_equal(values, back, n * sizeof *values);
    }
    tt_bytes_free(&out);
}

static void test_levels(void **unused)
{
    static uint8_t valid[VALUES_MAX];
    static uint32_t back[VALUES_MAX];
    tt_bytes out;
    (void)unused;
    state = 2;
    tt_bytes_init(&out, 1 << 20);
    for (unsigned round = 0; round < 2000; round++) {
        size_t n = below(VALUES_MAX), longest = 1 + below(300);
        for (size_t i = 0; i < n;) {
            uint8_t v = (uint8_t)below(2);
            for (size_t k = 1 + below(longest); k > 0 && i < n; k--)
                valid[i++] = v;
        }
        tt_bytes_clear(&out);
        tt_parquet_levels(&out, valid, n);
        tt_cursor c = tt_cursor_of(out.data, out.size);
        assert_true(read_hybrid(&c, 1, back, VALUES_MAX) >= n);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(valid[i], back[i]);
    }
    tt_bytes_free(&out);
}

/* Differences of up to `width` bits, which may overflow. */
static void test_delta(void **unused)
{
    static uint64_t values[VALUES_MAX], back[VALUES_MAX];
    static uint32_t narrow[VALUES_MAX];
    tt_bytes out;
    (void)unused;
    state = 3;
    tt_bytes_init(&out, 1 << 20);
    for (unsigned round = 0; round < 3000; round++) {
        bool wide = round & 1;
        unsigned width = (unsigned)below(wide ? 65 : 33);
        uint64_t mask = wide ? UINT64_MAX : UINT32_MAX, v = random_u64() & mask;
        uint64_t most = width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
        size_t n = below(VALUES_MAX);
        if (round % 10 == 0) most = round % 20 ? most : 0;
        uint64_t base = random_u64();
        for (size_t i = 0; i < n; i++) {
            values[i] = v;
            narrow[i] = (uint32_t)v;
            v = (v + base + (random_u64() & most)) & mask;
        }
        tt_bytes_clear(&out);
        tt_parquet_delta(&out, wide ? (const void *)values : narrow, n, wide);
        assert_false(out.failed);
        tt_cursor c = tt_cursor_of(out.data, out.size);
        read_delta(&c, wide, back, n);
        assert_memory_equal(values, back, n * sizeof *values);
    }
    tt_bytes_free(&out);
}

static void test_delta_is_short(void **unused)
{
    static uint64_t values[VALUES_MAX];
    tt_bytes out;
    (void)unused;
    tt_bytes_init(&out, 1 << 20);
    for (size_t i = 0; i < VALUES_MAX; i++)
        values[i] = 1000000 + i * 1000;
    tt_parquet_delta(&out, values, VALUES_MAX, true);
    assert_true(out.size < 100);
    assert_true(tt_parquet_delta_bits(values, VALUES_MAX, true) < 1);
    tt_bytes_free(&out);
}

/* ---- files of random columns ---- */

#define N_TYPES (TT_CELL_NAME + 1)
#define N_COLUMNS (N_TYPES * 2 + 1) /* of each type one that has nulls; the first is left out */

static const char *const type_names[N_TYPES] = {"bool", "u8",  "u16", "u32",  "u64", "i32",
                                                "i64",  "f32", "f64", "time", "name"};

enum { CONSTANT, FLAGS, COUNTER, NOISY, SPREAD, FEW, MANY, SLOW, RUNS, EXTREMES, N_PATTERNS };

static uint64_t next_value(unsigned pattern, size_t row, uint64_t seed, uint64_t last)
{
    switch (pattern) {
    case CONSTANT:
        return seed;
    case FLAGS:
        return below(3);
    case COUNTER:
        return seed + row;
    case NOISY:
        return last + below(100000);
    case FEW: /* far apart */
        return (seed + below(300)) * UINT64_C(0x9e3779b97f4a7c15);
    case MANY:
        return (seed + below(20000)) * UINT64_C(0x9e3779b97f4a7c15);
    case SLOW: /* each some times, and in the end too many for a list */
        return (seed + row / 6) * UINT64_C(0x9e3779b97f4a7c15);
    case RUNS:
        return row % (1 + seed % 500) ? last : random_u64();
    case EXTREMES:
        return (UINT64_MAX << below(64)) + below(2);
    default:
        return random_u64();
    }
}

static double next_real(unsigned pattern, uint64_t v)
{
    static const double odd[] = {0.0, -0.0, INFINITY, -INFINITY, 1e-310, 1.5};
    if (pattern == EXTREMES) return odd[v % 6];
    if (pattern == SPREAD && v % 1000 == 0) return NAN;
    return (double)(int64_t)v / 1024;
}

static const struct {
    const char *text;
    size_t n;
} names[] = {
    {"plain", 5},
    {"", 0},
    {"a\"b'c\\", 6},
    {"line\nbreak,\t", 12},
    {"nul\0inside", 10},
    {"\xff\xfe", 2},
    {"caf\xc3\xa9", 5},
    {"cut\xe2\x82", 5},
    {"<b>", 3},
    {"\xf0\x9f\x98\x80", 4},
    {"\xed\xa0\x80", 3},
    {"\xc0\xaf", 2},
    {"long, long, long, long, long, long, long, long, long, long, long, long, long, long", 82},
    {"\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"
     "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"
     "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9",
     66},
};

#define N_NAMES (sizeof names / sizeof *names)

static void put_value(tt_rows *rows, uint32_t column, unsigned pattern, uint64_t v)
{
    tt_cell_type type = rows->table->columns[column].type;
    if (type == TT_CELL_NAME) {
        size_t i = pattern == CONSTANT ? v % N_NAMES : below(pattern == FLAGS ? 2 : N_NAMES);
        tt_rows_text(rows, column, names[i].text, names[i].n);
    } else if (type == TT_CELL_F32 || type == TT_CELL_F64) {
        tt_rows_real(rows, column, next_real(pattern, v));
    } else {
        tt_rows_integer(rows, column, type == TT_CELL_BOOL ? v & 1 : v);
    }
}

/* share: of 256, rows without a value. */
static void fill_column(tt_rows *rows, uint32_t column, size_t n)
{
    unsigned pattern = (unsigned)below(N_PATTERNS);
    uint64_t seed = random_u64(), last = seed, share = below(4) * 85 + (below(2) ? 1 : 0);
    if (rows->table->columns[column].type == TT_CELL_U8) seed &= 0xff;
    bool nullable = rows->table->columns[column].nullable;
    for (rows->n = 0; rows->n < n; rows->n++) {
        last = next_value(pattern, rows->n, seed, last);
        if (nullable && below(256) < share)
            tt_rows_null(rows, column);
        else
            put_value(rows, column, pattern, last);
    }
}

/* A value for the expectation: integers as they are, reals as their bits, names in hexadecimal. */
static void tell_value(tt_json *j, const tt_rows *rows, uint32_t column, size_t row)
{
    const tt_values *v = &rows->columns[column];
    tt_cell_type type = rows->table->columns[column].type;
    size_t size = tt_cell_size(type);
    uint64_t bits = 0;
    if (v->valid && !v->valid[row]) {
        tt_json_null(j);
        return;
    }
    memcpy(&bits, (const uint8_t *)v->values + row * size, size);
    if (type == TT_CELL_NAME) {
        const char *text = v->dictionary.texts[bits];
        char hex[256] = "";
        for (size_t i = 0; i < v->dictionary.lengths[bits]; i++)
            (void)snprintf(hex + 2 * i, 3, "%02x", (unsigned char)text[i]);
        tt_json_string(j, hex);
    } else if (type == TT_CELL_I32) {
        tt_json_i64(j, (int32_t)bits);
    } else if (type == TT_CELL_I64 || type == TT_CELL_TIME) {
        tt_json_i64(j, (int64_t)bits);
    } else {
        tt_json_u64(j, bits);
    }
}

static void tell_rows(tt_json *j, const tt_rows *rows)
{
    tt_json_array(j);
    for (uint32_t k = 1; k < rows->table->n_columns; k++) {
        tt_json_array(j);
        for (size_t i = 0; i < rows->n; i++)
            tell_value(j, rows, k, i);
        tt_json_array_end(j);
    }
    tt_json_array_end(j);
}

static void make_table(tt_export_table *table, tt_column *columns, char text[][16])
{
    columns[0] = (tt_column)TT_EXPORT_COLUMN("run_id", TT_CELL_NAME, false, "");
    for (uint32_t k = 1; k < N_COLUMNS; k++) {
        tt_cell_type type = (tt_cell_type)((k - 1) / 2);
        bool nullable = (k - 1) % 2;
        (void)snprintf(text[k], 16, "%s%s", type_names[type], nullable ? "_null" : "");
        columns[k] = (tt_column)TT_EXPORT_COLUMN(text[k], type, nullable, "");
    }
    *table = (tt_export_table){.name = "random", .columns = columns, .n_columns = N_COLUMNS};
}

/* Writes a file of some row groups; *told gets the rows, when it is not NULL. */
static void write_file(FILE *out, FILE *told, const size_t *sizes, size_t n_groups)
{
    static char text[N_COLUMNS][16];
    tt_column columns[N_COLUMNS];
    tt_export_table table;
    tt_parquet_file f;
    tt_rows rows = {0};
    tt_error err;
    tt_json *j = told ? malloc(sizeof *j) : NULL;
    tt_parquet_pair pairs[] = {{"key", "value"}};
    make_table(&table, columns, text);
    tt_parquet_encoder *e = tt_parquet_encoder_open();
    assert_non_null(e);
    assert_int_equal(tt_parquet_file_begin(&f, out, "full", &table, 1, &err), TT_OK);
    if (j) tt_json_begin(j, told, 0);
    if (j) tt_json_array(j);
    for (size_t g = 0; g < n_groups; g++) {
        tt_bytes made;
        tt_bytes_init(&made, TT_PARQUET_GROUP_MAX);
        tt_rows_begin(&rows, &table);
        assert_int_equal(tt_rows_reserve(&rows, sizes[g], &err), TT_OK);
        for (uint32_t k = 1; k < N_COLUMNS; k++)
            fill_column(&rows, k, sizes[g]);
        assert_int_equal(tt_parquet_group_encode(e, &rows, 1, &made, &err), TT_OK);
        assert_int_equal(tt_parquet_file_group(&f, &made, &err), TT_OK);
        if (j) tell_rows(j, &rows);
        tt_bytes_free(&made);
    }
    if (j) tt_json_array_end(j);
    if (j) assert_true(tt_json_end(j));
    assert_int_equal(tt_parquet_file_end(&f, pairs, 1, &err), TT_OK);
    tt_parquet_file_free(&f);
    tt_parquet_encoder_close(e);
    tt_rows_free(&rows);
    free(j);
}

static void test_files(void **unused)
{
    /* The large ones have more than one page. */
    static const size_t sizes[][4] = {{1, 7, 8, 9},         {129, 128, 1000, 2},
                                      {300, 4000, 5000, 1}, {127, 255, 257, 3000},
                                      {65537, 100, 2},      {66000, 65536}};
    const char *folder = getenv("TT_PARQUET_FOLDER");
    (void)unused;
    for (size_t i = 0; i < 26; i++) {
        char path[512] = "/dev/null", other[600] = "";
        state = 100 + i;
        if (folder) {
            (void)snprintf(path, sizeof path, "%s/random-%zu.parquet", folder, i);
            (void)snprintf(other, sizeof other, "%s.json", path);
        }
        const size_t *n = sizes[i < 6 ? i : i % 4];
        size_t n_groups = 0;
        while (n_groups < 4 && n[n_groups])
            n_groups++;
        FILE *out = fopen(path, "wb"), *told = folder ? fopen(other, "wb") : NULL;
        assert_non_null(out);
        write_file(out, told, n, n_groups);
        assert_int_equal(fclose(out), 0);
        if (told) assert_int_equal(fclose(told), 0);
    }
}

static void test_empty_file(void **unused)
{
    char *data = NULL;
    size_t size = 0;
    (void)unused;
    FILE *out = open_memstream(&data, &size);
    write_file(out, NULL, NULL, 0);
    assert_int_equal(fclose(out), 0);
    assert_true(size > 12);
    assert_memory_equal(data, "PAR1", 4);
    assert_memory_equal(data + size - 4, "PAR1", 4);
    /* Nothing but the magic, the footer, its length, the magic. */
    assert_int_equal(tt_load_u32(data + size - 8), size - 12);
    free(data);
}

static void test_full_disk(void **unused)
{
    tt_column column[] = {TT_EXPORT_COLUMN("run_id", TT_CELL_NAME, false, ""),
                          TT_EXPORT_COLUMN("v", TT_CELL_U64, false, "")};
    tt_export_table table = {.name = "full", .columns = column, .n_columns = 2};
    tt_parquet_file f;
    tt_error err = {.status = TT_OK};
    (void)unused;
    FILE *out = fopen("/dev/full", "wb");
    if (!out) skip();
    setvbuf(out, NULL, _IONBF, 0);
    assert_int_equal(tt_parquet_file_begin(&f, out, "full", &table, 1, &err), TT_E_IO);
    assert_non_null(strstr(err.message, "full: "));
    tt_parquet_file_free(&f);
    (void)fclose(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hybrid),    cmocka_unit_test(test_levels),
        cmocka_unit_test(test_delta),     cmocka_unit_test(test_delta_is_short),
        cmocka_unit_test(test_files),     cmocka_unit_test(test_empty_file),
        cmocka_unit_test(test_full_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
