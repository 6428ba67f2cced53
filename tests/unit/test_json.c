#include "tests.h"

#include "base/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static char *text;
static size_t text_size;
static FILE *out;
static tt_json json;

static tt_json *begin(int indent)
{
    out = open_memstream(&text, &text_size);
    assert_non_null(out);
    tt_json_begin(&json, out, indent);
    return &json;
}

static void expect(const char *wanted)
{
    assert_true(tt_json_end(&json));
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text, wanted);
    free(text);
}

static void one_line(void **state)
{
    (void)state;
    tt_json *j = begin(0);
    tt_json_object(j);
    tt_json_kv_u64(j, "a", UINT64_MAX);
    tt_json_kv_i64(j, "b", INT64_MIN);
    tt_json_kv_bool(j, "c", false);
    tt_json_kv_string(j, "d", NULL);
    tt_json_key(j, "e");
    tt_json_array(j);
    tt_json_array(j);
    tt_json_array_end(j);
    tt_json_object(j);
    tt_json_object_end(j);
    tt_json_null(j);
    tt_json_array_end(j);
    tt_json_object_end(j);
    expect("{\"a\":18446744073709551615,\"b\":-9223372036854775808,\"c\":false,\"d\":null,"
           "\"e\":[[],{},null]}\n");
}

static void what_is_not_known_is_null(void **state)
{
    (void)state;
    tt_json *j = begin(0);
    tt_json_object(j);
    tt_json_kv_u64_or_null(j, "a", true, 0);
    tt_json_kv_u64_or_null(j, "b", false, 7);
    tt_json_kv_double_or_null(j, "c", true, 0.5);
    tt_json_kv_double_or_null(j, "d", false, 0.5);
    tt_json_key(j, "e");
    tt_json_array(j);
    tt_json_u64_or_null(j, true, 3);
    tt_json_u64_or_null(j, false, 3);
    tt_json_array_end(j);
    tt_json_object_end(j);
    expect("{\"a\":0,\"b\":null,\"c\":0.5,\"d\":null,\"e\":[3,null]}\n");
}

static void indented(void **state)
{
    (void)state;
    tt_json *j = begin(2);
    tt_json_object(j);
    tt_json_kv_u64(j, "n", 1);
    tt_json_key(j, "list");
    tt_json_array(j);
    tt_json_u64(j, 2);
    tt_json_u64(j, 3);
    tt_json_array_end(j);
    tt_json_object_end(j);
    expect("{\n  \"n\": 1,\n  \"list\": [\n    2,\n    3\n  ]\n}\n");
}

static void bare_value(void **state)
{
    (void)state;
    tt_json_string(begin(2), "x");
    expect("\"x\"\n");
}

static void strings_are_escaped(void **state)
{
    (void)state;
    tt_json_string(begin(0), "q\" b\\ n\n r\r t\t c\x01 d\x7f");
    expect("\"q\\\" b\\\\ n\\n r\\r t\\t c\\u0001 d\\u007f\"\n");
    tt_json_string_n(begin(0), "a\0b", 3);
    expect("\"a\\u0000b\"\n");
}

static void only_utf8_comes_out(void **state)
{
    static const struct {
        const char *in, *wanted;
    } cases[] = {
        {"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"},
        {"\xff", "\\ufffd"},                                  /* no first byte */
        {"a\x80z", "a\\ufffdz"},                              /* no first byte */
        {"\xc0\xaf", "\\ufffd\\ufffd"},                       /* over-long */
        {"\xe0\x80\xaf", "\\ufffd\\ufffd\\ufffd"},            /* over-long */
        {"\xed\xa0\x80", "\\ufffd\\ufffd\\ufffd"},            /* a surrogate */
        {"\xf4\x90\x80\x80", "\\ufffd\\ufffd\\ufffd\\ufffd"}, /* past U+10FFFF */
        {"\xe2\x82", "\\ufffd\\ufffd"},                       /* cut off */
        {"\xc3(", "\\ufffd("},                                /* cut off, text goes on */
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char wanted[128];
        (void)snprintf(wanted, sizeof wanted, "\"%s\"\n", cases[i].wanted);
        tt_json_string(begin(0), cases[i].in);
        expect(wanted);
    }
}

static void doubles_read_back(void **state)
{
    static const double values[] = {0.1,         1.0 / 3, 1e300, 5e-324, 1.7976931348623157e308,
                                    123456789.0, -0.0,    2.5};
    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        tt_json_double(begin(0), values[i]);
        assert_true(tt_json_end(&json));
        assert_int_equal(fclose(out), 0);
        double back = strtod(text, NULL);
        assert_memory_equal(&back, &values[i], sizeof back);
        free(text);
    }
    tt_json_double(begin(0), 0.1);
    expect("0.1\n");
}

static void what_is_no_number_is_null(void **state)
{
    (void)state;
    tt_json *j = begin(0);
    tt_json_object(j);
    tt_json_kv_double(j, "a", NAN);
    tt_json_kv_double(j, "b", -INFINITY);
    tt_json_object_end(j);
    expect("{\"a\":null,\"b\":null}\n");
}

static void a_full_disk_is_told(void **state)
{
    tt_json j;
    FILE *full = fopen("/dev/full", "w");
    (void)state;
    assert_non_null(full);
    tt_json_begin(&j, full, 0);
    tt_json_null(&j);
    assert_false(tt_json_end(&j));
    (void)fclose(full);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_line),
        cmocka_unit_test(indented),
        cmocka_unit_test(bare_value),
        cmocka_unit_test(strings_are_escaped),
        cmocka_unit_test(only_utf8_comes_out),
        cmocka_unit_test(doubles_read_back),
        cmocka_unit_test(what_is_no_number_is_null),
        cmocka_unit_test(what_is_not_known_is_null),
        cmocka_unit_test(a_full_disk_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
