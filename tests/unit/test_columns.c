/* Binary replies in columns: what a reader needs to find them again. */
#include "tests.h"

#include "serve/columns.h"
#include "serve/reply_body.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static json_t *header_of(const tt_reply *r, size_t *end)
{
    uint32_t length;
    assert_true(r->body.size >= 4);
    memcpy(&length, r->body.data, 4);
    assert_true(length <= r->body.size - 4);
    assert_int_equal((length + 4) % 8, 0);
    json_t *header = json_loadb((const char *)r->body.data + 4, length, 0, NULL);
    assert_non_null(header);
    *end = length + 4;
    return header;
}

static void columns_are_found_again(void **state)
{
    static const double values[] = {1.5, -2, 1e300};
    tt_columns c;
    tt_reply r;
    size_t end;
    (void)state;
    tt_reply_init(&r);
    assert_true(tt_columns_begin(&c));
    tt_json_kv_string(c.json, "said", "one, two");
    uint8_t *flags = tt_columns_add(&c, "flags", TT_COLUMN_U8, 3);
    memcpy(flags, "abc", 3);
    double *numbers = tt_columns_add(&c, "numbers", TT_COLUMN_F64, 3);
    memcpy(numbers, values, sizeof values);
    uint32_t *units = tt_columns_add(&c, "units", TT_COLUMN_U32, 1);
    assert_int_equal(*units, 0);
    assert_non_null(tt_columns_add(&c, "nothing", TT_COLUMN_F64, 0));
    assert_int_equal(tt_columns_end(&c, &r, NULL), TT_OK);
    json_t *header = header_of(&r, &end), *list = json_object_get(header, "columns");
    assert_string_equal(json_string_value(json_object_get(header, "said")), "one, two");
    assert_int_equal(json_array_size(list), 4);
    static const struct {
        const char *name, *type;
        json_int_t n;
    } want[] = {
        {"flags", "u8", 3}, {"numbers", "f64", 3}, {"units", "u32", 1}, {"nothing", "f64", 0}};
    for (size_t i = 0; i < 4; i++) {
        const json_t *column = json_array_get(list, i);
        assert_string_equal(json_string_value(json_object_get(column, "name")), want[i].name);
        assert_string_equal(json_string_value(json_object_get(column, "type")), want[i].type);
        assert_int_equal(json_integer_value(json_object_get(column, "n")), want[i].n);
        const size_t at = end + (size_t)json_integer_value(json_object_get(column, "offset_bytes"));
        assert_int_equal(at % 8, 0);
        assert_true(at <= r.body.size);
        if (i == 0) assert_memory_equal(r.body.data + at, "abc", 3);
        if (i == 1) assert_memory_equal(r.body.data + at, values, sizeof values);
    }
    json_decref(header);
    tt_reply_free(&r);
}

static void too_much_is_an_error(void **state)
{
    tt_columns c;
    tt_reply r;
    tt_error err;
    (void)state;
    tt_reply_init(&r);
    assert_true(tt_columns_begin(&c));
    assert_null(tt_columns_add(&c, "large", TT_COLUMN_F64, SIZE_MAX / 4));
    assert_int_equal(tt_columns_end(&c, &r, &err), TT_E_LIMIT);
    assert_true(tt_columns_begin(&c));
    assert_null(tt_columns_add(&c, "large", TT_COLUMN_F64, TT_REPLY_BYTES_MAX / 8 + 1));
    assert_null(tt_columns_add(&c, "small", TT_COLUMN_F64, 1));
    assert_int_equal(tt_columns_end(&c, &r, &err), TT_E_LIMIT);
    tt_reply_free(&r);
    /* Thrown away: nothing is said. */
    tt_reply_init(&r);
    assert_true(tt_columns_begin(&c));
    for (unsigned i = 0; i < TT_REPLY_COLUMNS_MAX; i++)
        assert_non_null(tt_columns_add(&c, "one", TT_COLUMN_U8, 1));
    assert_null(tt_columns_add(&c, "more", TT_COLUMN_U8, 1));
    assert_int_equal(tt_columns_end(&c, NULL, NULL), TT_OK);
    tt_reply_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_found_again),
        cmocka_unit_test(too_much_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
