/* Binary replies in columns: what a reader needs to find them again. */
#include "tests.h"

#include "serve/columns.h"
#include "serve/reply.h"

#include <jansson.h>
#include <math.h>
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

typedef struct head {
    const char *said;
} head;

static void columns_are_found_again(void **state)
{
    static const tt_column said = TT_FIELD("said", "", TT_MEMBER(head, said));
    static const tt_schema head_schema = {"head", "", &said, 1};
    const head row = {"one, two"};
    static const double values[] = {1.5, -2, 1e300};
    tt_columns c;
    tt_reply r;
    size_t end;
    (void)state;
    tt_reply_init(&r);
    tt_columns_begin(&c, &TT_ROWSET(&head_schema, 0, NULL, &row, 1));
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

typedef struct values {
    uint8_t small;
    uint16_t middle;
    uint32_t number;
    int32_t negative;
    uint64_t large;
    double real;
    bool known;
} values;

TT_COLUMN_KNOWN(is_known, values, r, r->known)
TT_COLUMN_KNOWN(is_wanted, values, r, r->small != 7)

#define MEMBER(key_, member)                                                                       \
    TT_COLUMN(key_, NULL, NONE, "", .known = is_known, TT_MEMBER(values, member))

static const tt_column row_columns[] = {
    MEMBER("small", small), MEMBER("middle", middle),     MEMBER("number", number),
    MEMBER("known", known), MEMBER("negative", negative), MEMBER("large", large),
    MEMBER("real", real),
};
static const tt_schema row_schema = {"rows", "", row_columns, 7};

/* What is not known: 0 of u8, the largest number of u32, NAN. */
static void rows_become_columns(void **state)
{
    static const values rows[] = {{1, 2, 3, -4, 5, 0.5, true}, {.small = 7}, {.small = 9}};
    static const char *const types[] = {"u8", "u32", "u32", "u8", "f64", "f64", "f64"};
    static const double wanted[][2] = {{1, 0},    {2, UINT32_MAX}, {3, UINT32_MAX}, {1, 0},
                                       {-4, NAN}, {5, NAN},        {0.5, NAN}};
    const tt_rowset set = TT_ROWSET(&row_schema, 0, NULL, rows, 3);
    tt_columns c;
    tt_reply r;
    size_t end;
    (void)state;
    tt_reply_init(&r);
    tt_columns_begin(&c, NULL);
    tt_columns_add_rows(&c, &set, &(tt_listing_wish){.passes = is_wanted});
    assert_int_equal(tt_columns_end(&c, &r, NULL), TT_OK);
    json_t *header = header_of(&r, &end), *list = json_object_get(header, "columns");
    assert_int_equal(json_array_size(list), 7);
    for (size_t k = 0; k < 7; k++) {
        const json_t *column = json_array_get(list, k);
        const char *type = json_string_value(json_object_get(column, "type"));
        const uint8_t *at =
            r.body.data + end + (size_t)json_integer_value(json_object_get(column, "offset_bytes"));
        assert_string_equal(json_string_value(json_object_get(column, "name")), row_columns[k].key);
        assert_string_equal(type, types[k]);
        assert_int_equal(json_integer_value(json_object_get(column, "n")), 2);
        for (size_t i = 0; i < 2; i++) {
            double got = at[i];
            if (strcmp(type, "u32") == 0) got = ((const uint32_t *)(const void *)at)[i];
            if (strcmp(type, "f64") == 0) memcpy(&got, at + i * sizeof got, sizeof got);
            assert_true(isnan(wanted[k][i]) ? isnan(got) : got == wanted[k][i]);
        }
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
    tt_columns_begin(&c, NULL);
    assert_null(tt_columns_add(&c, "large", TT_COLUMN_F64, SIZE_MAX / 4));
    assert_int_equal(tt_columns_end(&c, &r, &err), TT_E_LIMIT);
    tt_columns_begin(&c, NULL);
    assert_null(tt_columns_add(&c, "large", TT_COLUMN_F64, TT_REPLY_BYTES_MAX / 8 + 1));
    assert_null(tt_columns_add(&c, "small", TT_COLUMN_F64, 1));
    assert_int_equal(tt_columns_end(&c, &r, &err), TT_E_LIMIT);
    tt_reply_free(&r);
    /* Thrown away: nothing is said. */
    tt_reply_init(&r);
    tt_columns_begin(&c, NULL);
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
        cmocka_unit_test(rows_become_columns),
        cmocka_unit_test(too_much_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
