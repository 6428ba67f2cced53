/* Numbers, times and texts as CSV; rows of every type, with and without a value. */
#include "tests.h"

#include "base/units.h"
#include "export/compress.h"
#include "export/csv/csv.h"
#include "export/tables/columns.h"
#include "table/csv_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>
#include <zstd.h>

/* --- numbers --- */

static tt_digits digits;

static void check_unsigned(uint64_t v, tt_digits_front *front)
{
    char out[TT_CSV_NUMBER_MAX + TT_CSV_SLACK], expected[32];
    (void)snprintf(expected, sizeof expected, "%" PRIu64, v);
    *tt_digits_put_u64(out, v, front, &digits) = '\0';
    assert_string_equal(out, expected);
}

static void check_signed(int64_t v, tt_digits_front *front)
{
    char out[TT_CSV_NUMBER_MAX + TT_CSV_SLACK], expected[32];
    (void)snprintf(expected, sizeof expected, "%" PRId64, v);
    *tt_digits_put_i64(out, v, front, &digits) = '\0';
    assert_string_equal(out, expected);
}

static void whole_numbers_are_printfs(void **state)
{
    tt_digits_front front = {0};
    uint64_t random = 88172645463325252u, power = 1;
    (void)state;
    tt_digits_make(&digits);
    for (int i = 0; i < 20; i++, power *= 10) {
        check_unsigned(power, &front);
        check_unsigned(power - 1, &front);
        check_unsigned(power + 1, &front);
        check_signed((int64_t)(0 - power), &front);
    }
    check_unsigned(UINT64_MAX, &front);
    check_signed(INT64_MIN, &front);
    check_signed(INT64_MAX, &front);
    for (uint32_t v = 0; v < 100000; v++)
        check_unsigned(v, &front);
    /* Of every length, and several with one front. */
    for (int i = 0; i < 200000; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        uint64_t v = random >> (i % 64);
        check_unsigned(v, &front);
        check_unsigned(v ^ (random & 0xfff), &front);
        check_signed((int64_t)(v ^ random), &front);
    }
}

static void check_time(int64_t ns, tt_digits_front *front)
{
    char out[TT_CSV_NUMBER_MAX + TT_CSV_SLACK], second[32], expected[64];
    struct tm tm;
    time_t t = (time_t)(ns / 1000000000 - (ns % 1000000000 < 0));
    int64_t rest = (int64_t)(ns - (__int128)t * 1000000000);
    assert_non_null(gmtime_r(&t, &tm));
    (void)strftime(second, sizeof second, "%Y-%m-%dT%H:%M:%S", &tm);
    (void)snprintf(expected, sizeof expected, "%s.%09" PRId64 "Z", second, rest);
    *tt_csv_put_time(out, ns, front, &digits) = '\0';
    assert_string_equal(out, expected);
}

static void times_are_utc_to_the_ns(void **state)
{
    static const int64_t times[] = {0,
                                    -1,
                                    1,
                                    999999999,
                                    1000000000,
                                    -1000000000,
                                    -999999999,
                                    INT64_MAX,
                                    INT64_MIN,
                                    1795265379151207875,
                                    1795265379151207876,
                                    1795265380000000000};
    tt_digits_front front = {0};
    char out[TT_CSV_NUMBER_MAX + TT_CSV_SLACK];
    (void)state;
    tt_digits_make(&digits);
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        check_time(times[i], &front);
    *tt_csv_put_time(out, 1795265379151207875, &front, &digits) = '\0';
    assert_string_equal(out, "2026-11-21T12:49:39.151207875Z");
}

static void no_number_is_nothing(void **state)
{
    char out[TT_CSV_NUMBER_MAX + TT_CSV_SLACK];
    (void)state;
    assert_ptr_equal(tt_csv_put_real(out, (double)NAN), out);
    assert_ptr_equal(tt_csv_put_real(out, (double)INFINITY), out);
    *tt_csv_put_real(out, -2.2250738585072014e-308) = '\0';
    assert_string_equal(out, "-2.2250738585072014e-308");
    *tt_csv_put_real(out, 0.1) = '\0';
    assert_string_equal(out, "0.1");
}

/* --- texts --- */

static void check_text(const char *text, size_t n, const char *expected)
{
    tt_bytes out;
    tt_bytes_init(&out, 1 << 20);
    tt_csv_put_text(&out, text, n);
    assert_int_equal(out.size, strlen(expected));
    assert_memory_equal(out.data, expected, out.size);
    tt_bytes_free(&out);
}

#define CHECK_TEXT(text, expected) check_text(text, sizeof(text) - 1, expected)

static void texts_are_quoted_where_they_must(void **state)
{
    (void)state;
    CHECK_TEXT("blk.0.attn_q.weight", "blk.0.attn_q.weight");
    CHECK_TEXT("Qcur-3 (reshaped)", "Qcur-3 (reshaped)");
    CHECK_TEXT("", "\"\"");
    CHECK_TEXT("a,b", "\"a,b\"");
    CHECK_TEXT("say \"hi\"", "\"say \"\"hi\"\"\"");
    CHECK_TEXT("\"", "\"\"\"\"");
    CHECK_TEXT("two\nlines\r\n", "\"two\nlines\r\n\"");
    CHECK_TEXT("tab\t", "\"tab\t\"");
    CHECK_TEXT("gr\xc3\xbc\xc3\x9f"
               "e",
               "\"gr\xc3\xbc\xc3\x9f"
               "e\"");
    CHECK_TEXT("\xf0\x9f\x98\x80", "\"\xf0\x9f\x98\x80\"");
}

static void what_is_not_utf8_is_replaced(void **state)
{
    (void)state;
    CHECK_TEXT("\xff", "\"\xef\xbf\xbd\"");
    CHECK_TEXT("a\xc3", "\"a\xef\xbf\xbd\"");                               /* cut off */
    CHECK_TEXT("\xe2\x82x", "\"\xef\xbf\xbd\xef\xbf\xbdx\"");               /* likewise */
    CHECK_TEXT("\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\"");                 /* over-long */
    CHECK_TEXT("\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""); /* a surrogate */
    CHECK_TEXT("a\0b", "\"a\xef\xbf\xbd"
                       "b\"");
}

/* --- rows --- */

static const tt_column columns[] = {
    TT_EXPORT_COLUMN("name", TT_CELL_NAME, true, ""),
    TT_EXPORT_COLUMN("flag", TT_CELL_BOOL, true, ""),
    TT_EXPORT_COLUMN("u8", TT_CELL_U8, true, ""),
    TT_EXPORT_COLUMN("u16", TT_CELL_U16, true, ""),
    TT_EXPORT_COLUMN("u32", TT_CELL_U32, true, ""),
    TT_EXPORT_COLUMN("u64", TT_CELL_U64, true, ""),
    TT_EXPORT_COLUMN("i32", TT_CELL_I32, true, ""),
    TT_EXPORT_COLUMN("i64", TT_CELL_I64, true, ""),
    TT_EXPORT_COLUMN("f32", TT_CELL_F32, true, ""),
    TT_EXPORT_COLUMN("f64", TT_CELL_F64, true, ""),
    TT_EXPORT_COLUMN("time", TT_CELL_TIME, true, ""),
};
#define COLUMNS (sizeof columns / sizeof *columns)

static const tt_export_table table = {.name = "test", .columns = columns, .n_columns = COLUMNS};

static void put_row(tt_rows *rows, const char *name, uint64_t v)
{
    assert_int_equal(tt_rows_reserve(rows, rows->n + 1, NULL), TT_OK);
    tt_rows_name(rows, 0, name);
    for (uint32_t i = 1; i < COLUMNS; i++) {
        if (columns[i].type == TT_CELL_F32 || columns[i].type == TT_CELL_F64)
            tt_rows_real(rows, i, (double)(int64_t)v / 2);
        else
            tt_rows_integer(rows, i, columns[i].type == TT_CELL_BOOL ? v & 1 : v);
    }
    rows->n++;
}

static void put_nulls(tt_rows *rows)
{
    assert_int_equal(tt_rows_reserve(rows, rows->n + 1, NULL), TT_OK);
    for (uint32_t i = 0; i < COLUMNS; i++)
        tt_rows_null(rows, i);
    rows->n++;
}

static void check_lines(const tt_rows *rows, const char *expected)
{
    tt_bytes out;
    tt_csv *c = tt_csv_new();
    tt_bytes_init(&out, 1 << 24);
    assert_non_null(c);
    assert_int_equal(tt_csv_put(c, rows, &out, NULL), TT_OK);
    tt_bytes_u8(&out, '\0');
    assert_string_equal((const char *)out.data, expected);
    tt_bytes_free(&out);
    tt_csv_free(c);
}

static void rows_of_every_type(void **state)
{
    tt_rows rows = {0};
    (void)state;
    tt_rows_begin(&rows, &table);
    put_row(&rows, "a", 1);
    put_row(&rows, "b,c", 200);
    put_nulls(&rows);
    put_row(&rows, "a", (uint64_t)-1);
    put_row(&rows, "", 0);
    check_lines(&rows, "a,true,1,1,1,1,1,1,0.5,0.5,1970-01-01T00:00:00.000000001Z\n"
                       "\"b,c\",false,200,200,200,200,200,200,100,100,"
                       "1970-01-01T00:00:00.000000200Z\n"
                       ",,,,,,,,,,\n"
                       "a,true,255,65535,4294967295,18446744073709551615,-1,-1,-0.5,-0.5,"
                       "1969-12-31T23:59:59.999999999Z\n"
                       "\"\",false,0,0,0,0,0,0,0,0,1970-01-01T00:00:00.000000000Z\n");
    /* The rows of the next part know nothing of these. */
    tt_rows_begin(&rows, &table);
    put_row(&rows, "b,c", 1);
    assert_null(rows.columns[0].valid);
    assert_int_equal(rows.columns[0].dictionary.n, 1);
    check_lines(&rows, "\"b,c\",true,1,1,1,1,1,1,0.5,0.5,1970-01-01T00:00:00.000000001Z\n");
    tt_rows_free(&rows);
}

/* More rows than are written together, and a text longer than that is meant for. */
static void many_rows_and_long_texts(void **state)
{
    enum { ROWS = 1000, LENGTH = 100000 };
    tt_rows rows = {0};
    tt_bytes out;
    tt_csv *c = tt_csv_new();
    char *text = malloc(LENGTH + 1), *line = malloc(LENGTH + 200);
    (void)state;
    memset(text, 'x', LENGTH);
    text[LENGTH] = '\0';
    tt_bytes_init(&out, 1 << 24);
    for (int round = 0; round < 2; round++) {
        const char *const names[] = {round ? text : "short", "other", NULL};
        size_t at = 0;
        tt_rows_begin(&rows, &table);
        tt_bytes_clear(&out);
        for (uint64_t i = 0; i < ROWS; i++)
            put_row(&rows, names[i % 100 == 0 ? 0 : 1 + i % 2], i * 123456789);
        assert_int_equal(tt_csv_put(c, &rows, &out, NULL), TT_OK);
        for (uint64_t i = 0; i < ROWS; i++) {
            const char *name = names[i % 100 == 0 ? 0 : 1 + i % 2];
            uint64_t v = i * 123456789;
            char real[TT_DECIMAL_TEXT];
            (void)tt_decimal_write((double)((float)((double)v / 2)), real);
            int n = snprintf(line, LENGTH + 200,
                             "%s,%s,%u,%u,%" PRIu32 ",%" PRIu64 ",%" PRId32 ",%" PRIu64 ",%s,",
                             name ? name : "", v & 1 ? "true" : "false", (unsigned)(uint8_t)v,
                             (unsigned)(uint16_t)v, (uint32_t)v, v, (int32_t)(uint32_t)v, v, real);
            assert_memory_equal(out.data + at, line, (size_t)n);
            at = (size_t)((uint8_t *)memchr(out.data + at, '\n', out.size - at) - out.data) + 1;
        }
        assert_int_equal(at, out.size);
    }
    /* With less room than that the table is named. */
    tt_bytes small;
    tt_error err;
    tt_bytes_init(&small, 1 << 20);
    assert_int_equal(tt_csv_put(c, &rows, &small, &err), TT_E_LIMIT);
    assert_non_null(strstr(err.message, table.name));
    assert_non_null(strstr(err.message, " 1 MiB"));
    tt_bytes_free(&small);
    free(text);
    free(line);
    tt_bytes_free(&out);
    tt_csv_free(c);
    tt_rows_free(&rows);
}

static void a_header_names_the_columns(void **state)
{
    tt_bytes out;
    (void)state;
    tt_bytes_init(&out, 1 << 12);
    tt_csv_header(&table, &out);
    tt_bytes_u8(&out, '\0');
    assert_string_equal((const char *)out.data, "name,flag,u8,u16,u32,u64,i32,i64,f32,f64,time\n");
    tt_bytes_free(&out);
}

/* --- dictionaries --- */

static void a_dictionary_numbers_texts_by_first_use(void **state)
{
    enum { TEXTS = 20000 };
    tt_dictionary d = {0};
    char(*texts)[16] = calloc(TEXTS, sizeof *texts);
    (void)state;
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < TEXTS; i++) {
            int n = snprintf(texts[i], sizeof texts[i], "%x", i * 7 % TEXTS);
            assert_int_equal(tt_dictionary_code(&d, texts[i], (size_t)n), i);
        }
        for (uint32_t i = 0; i < TEXTS; i++)
            assert_int_equal(tt_dictionary_code(&d, texts[i], strlen(texts[i])), i);
        assert_int_equal(d.n, TEXTS);
        /* Length counts, and what is behind it does not. */
        assert_int_equal(tt_dictionary_code(&d, "zz", 1), TEXTS);
        assert_int_equal(tt_dictionary_code(&d, "za", 1), TEXTS);
        assert_int_equal(tt_dictionary_code(&d, "z\0", 2), TEXTS + 1);
        tt_dictionary_clear(&d);
    }
    tt_dictionary_free(&d);
    free(texts);
}

/* --- compression --- */

static void pieces_read_as_one(void **state)
{
    static const char *const pieces[] = {"one,", "", "two,two,two,two\n", "three"};
    const char expected[] = "one,two,two,two,two\nthree";
    uint8_t back[100];
    (void)state;
    for (int method = TT_COMPRESS_NONE; method <= TT_COMPRESS_GZIP; method++) {
        tt_bytes out;
        size_t size = 0;
        tt_compressor *c = tt_compressor_new((tt_compress)method);
        tt_bytes_init(&out, 1 << 20);
        for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
            assert_int_equal(tt_compressor_put(c, pieces[i], strlen(pieces[i]), &out, NULL), TT_OK);
        if (method == TT_COMPRESS_NONE) {
            size = out.size;
            memcpy(back, out.data, size);
        } else if (method == TT_COMPRESS_ZSTD) {
            size = ZSTD_decompress(back, sizeof back, out.data, out.size);
        } else {
            z_stream z = {.next_in = out.data, .avail_in = (uInt)out.size};
            z.next_out = back;
            z.avail_out = sizeof back;
            assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
            while (z.avail_in > 0) {
                assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
                size = sizeof back - z.avail_out;
                assert_int_equal(inflateReset(&z), Z_OK);
            }
            (void)inflateEnd(&z);
        }
        assert_int_equal(size, sizeof expected - 1);
        assert_memory_equal(back, expected, size);
        tt_bytes_free(&out);
        tt_compressor_free(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_numbers_are_printfs),
        cmocka_unit_test(times_are_utc_to_the_ns),
        cmocka_unit_test(no_number_is_nothing),
        cmocka_unit_test(texts_are_quoted_where_they_must),
        cmocka_unit_test(what_is_not_utf8_is_replaced),
        cmocka_unit_test(rows_of_every_type),
        cmocka_unit_test(many_rows_and_long_texts),
        cmocka_unit_test(a_header_names_the_columns),
        cmocka_unit_test(a_dictionary_numbers_texts_by_first_use),
        cmocka_unit_test(pieces_read_as_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
