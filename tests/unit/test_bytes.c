#include "tests.h"

#include "base/bytes.h"

static void integers_round_trip(void **state)
{
    static const uint64_t values[] = {0,     1,          127,       128,       16383,
                                      16384, UINT32_MAX, INT64_MAX, UINT64_MAX};
    const size_t n = sizeof values / sizeof *values;
    tt_bytes b;
    (void)state;
    tt_bytes_init(&b, 1024);
    for (size_t i = 0; i < n; i++) {
        tt_bytes_varint(&b, values[i]);
        tt_bytes_zigzag(&b, (int64_t)values[i]);
        tt_bytes_u64(&b, values[i]);
        tt_bytes_u8(&b, (uint8_t)values[i]);
    }
    tt_cursor c = tt_cursor_of(b.data, b.size);
    for (size_t i = 0; i < n; i++) {
        assert_true(tt_cursor_varint(&c) == values[i]);
        assert_true(tt_cursor_zigzag(&c) == (int64_t)values[i]);
        assert_true(tt_cursor_u64(&c) == values[i]);
        assert_true(tt_cursor_u8(&c) == (uint8_t)values[i]);
    }
    assert_int_equal(tt_cursor_left(&c), 0);
    assert_false(c.failed);
    tt_bytes_free(&b);
}

static void the_ceiling_holds(void **state)
{
    tt_bytes b;
    (void)state;
    tt_bytes_init(&b, 300);
    for (int i = 0; i < 300; i++)
        tt_bytes_u8(&b, 1);
    assert_false(b.failed);
    tt_bytes_u8(&b, 1);
    assert_true(b.failed);
    assert_int_equal(b.size, 300);
    /* Failure is sticky until cleared; the memory stays. */
    tt_bytes_put(&b, "", 0);
    assert_false(tt_bytes_reserve(&b, 0));
    tt_bytes_clear(&b);
    assert_true(tt_bytes_reserve(&b, 300));
    assert_false(tt_bytes_reserve(&b, SIZE_MAX));
    tt_bytes_free(&b);
}

static void reading_stops_at_the_end(void **state)
{
    static const uint8_t data[] = {1, 2, 3};
    tt_cursor c = tt_cursor_of(data, sizeof data);
    (void)state;
    assert_true(tt_cursor_u16(&c) == 0x0201);
    assert_true(tt_cursor_u32(&c) == 0);
    assert_true(c.failed);
    assert_true(tt_cursor_u8(&c) == 0); /* although one byte is there */
    assert_null(tt_cursor_take(&c, 0).data);
    assert_int_equal(tt_cursor_left(&c), 0);
}

static void bad_varints(void **state)
{
    static const uint8_t cut[] = {0x80, 0x80};
    static const uint8_t eleven[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1};
    static const uint8_t above[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2};
    const struct {
        const uint8_t *data;
        size_t size;
    } cases[] = {{cut, sizeof cut}, {eleven, sizeof eleven}, {above, sizeof above}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tt_cursor c = tt_cursor_of(cases[i].data, cases[i].size);
        assert_true(tt_cursor_varint(&c) == 0);
        assert_true(c.failed);
    }
}

static void strings_with_a_lying_length(void **state)
{
    tt_bytes b;
    (void)state;
    tt_bytes_init(&b, 64);
    tt_bytes_str(&b, "abc", 3);
    tt_bytes_str(&b, NULL, 0);
    tt_cursor c = tt_cursor_of(b.data, b.size);
    tt_span s = tt_cursor_str(&c);
    assert_int_equal(s.size, 3);
    assert_memory_equal(s.data, "abc", 3);
    assert_int_equal(tt_cursor_str(&c).size, 0);
    assert_false(c.failed);
    tt_bytes_clear(&b);
    tt_bytes_varint(&b, UINT64_MAX);
    c = tt_cursor_of(b.data, b.size);
    assert_null(tt_cursor_str(&c).data);
    assert_true(c.failed);
    tt_bytes_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_round_trip),         cmocka_unit_test(the_ceiling_holds),
        cmocka_unit_test(reading_stops_at_the_end),    cmocka_unit_test(bad_varints),
        cmocka_unit_test(strings_with_a_lying_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
