/* Maps of ids: in a row, with gaps, out of order, changed. */
#include "tests.h"

#include "base/idmap.h"

#include <string.h>

static uint32_t add(tt_idmap *m, uint64_t key, uint32_t index)
{
    uint32_t was;
    assert_true(tt_idmap_add(m, key, index, &was));
    return was;
}

static void ids_in_a_row_take_no_memory(void **state)
{
    tt_idmap m = {0};
    (void)state;
    assert_int_equal(tt_idmap_get(&m, 0), TT_NONE);
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(add(&m, 5000 + i, i), TT_NONE);
    assert_null(m.slots);
    assert_int_equal(add(&m, 5003, 77), 3);
    assert_int_equal(tt_idmap_get(&m, 5999), 999);
    assert_int_equal(tt_idmap_get(&m, 6000), TT_NONE);
    assert_int_equal(tt_idmap_get(&m, 4999), TT_NONE);
    tt_idmap_free(&m);
}

/* A gap, an id that comes late, an index out of the row, keys at the end of all numbers. */
static void other_ids_are_found_too(void **state)
{
    static const uint64_t keys[] = {10, 11, 12, 14, 9, 0, UINT64_MAX, UINT64_MAX - 1, 13};
    (void)state;
    for (size_t n = 1; n <= sizeof keys / sizeof *keys; n++) {
        tt_idmap m = {0};
        for (size_t i = 0; i < n; i++)
            assert_int_equal(add(&m, keys[i], (uint32_t)i), TT_NONE);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(tt_idmap_get(&m, keys[i]), i);
            assert_int_equal(add(&m, keys[i], 99), i);
        }
        for (size_t i = n; i < sizeof keys / sizeof *keys; i++)
            assert_int_equal(tt_idmap_get(&m, keys[i]), TT_NONE);
        tt_idmap_free(&m);
    }
    tt_idmap m = {0};
    assert_int_equal(add(&m, UINT64_MAX, 0), TT_NONE);
    assert_int_equal(add(&m, 0, 1), TT_NONE);
    assert_int_equal(add(&m, 1, 3), TT_NONE);
    assert_int_equal(tt_idmap_get(&m, 0), 1);
    assert_int_equal(tt_idmap_get(&m, 1), 3);
    assert_int_equal(tt_idmap_get(&m, UINT64_MAX), 0);
    tt_idmap_free(&m);
}

static const char *const texts[] = {"a", "b", "c"};

static bool is_text(const void *context, uint32_t index)
{
    return strcmp(texts[index], context) == 0;
}

/* Three texts of one hash. */
static void what_has_one_hash_is_told_apart(void **state)
{
    tt_idmap m = {0};
    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        uint64_t key = 42;
        assert_int_equal(tt_idmap_find(&m, &key, is_text, texts[i]), TT_NONE);
        assert_int_equal(add(&m, key, i), TT_NONE);
    }
    for (uint32_t i = 0; i < 3; i++) {
        uint64_t key = 42;
        assert_int_equal(tt_idmap_find(&m, &key, is_text, texts[i]), i);
    }
    tt_idmap_free(&m);
}

static void indexes_are_below_a_number(void **state)
{
    tt_idmap m = {0};
    (void)state;
    assert_true(tt_idmap_is_below(&m, 0));
    (void)add(&m, 7, 0);
    (void)add(&m, 8, 1);
    assert_true(tt_idmap_is_below(&m, 2));
    assert_false(tt_idmap_is_below(&m, 1));
    (void)add(&m, 100, 5);
    assert_non_null(m.slots);
    assert_true(tt_idmap_is_below(&m, 6));
    assert_false(tt_idmap_is_below(&m, 5));
    tt_idmap_free(&m);
}

static void an_index_changes(void **state)
{
    tt_idmap m = {0};
    (void)state;
    for (uint32_t i = 0; i < 300; i++)
        (void)add(&m, i + 1, i);
    assert_true(tt_idmap_set(&m, 7, 6));
    assert_null(m.slots);
    assert_true(tt_idmap_set(&m, 7, 1000));
    for (uint32_t i = 0; i < 300; i++)
        assert_int_equal(tt_idmap_get(&m, i + 1), i == 6 ? 1000 : i);
    assert_int_equal(add(&m, 301, 300), TT_NONE);
    assert_int_equal(tt_idmap_get(&m, 301), 300);
    tt_idmap_free(&m);
}

static void a_cleared_map_is_used_again(void **state)
{
    tt_idmap m = {0};
    (void)state;
    for (uint32_t round = 0; round < 3; round++) {
        for (uint64_t i = 0; i < 100; i++)
            assert_int_equal(add(&m, i * i * 1000 + round, (uint32_t)i), TT_NONE);
        assert_int_equal(tt_idmap_get(&m, 99 * 99 * 1000 + round), 99);
        tt_idmap_clear(&m);
        assert_int_equal(tt_idmap_get(&m, 99 * 99 * 1000 + round), TT_NONE);
    }
    tt_idmap_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cleared_map_is_used_again),
        cmocka_unit_test(ids_in_a_row_take_no_memory),
        cmocka_unit_test(other_ids_are_found_too),
        cmocka_unit_test(indexes_are_below_a_number),
        cmocka_unit_test(what_has_one_hash_is_told_apart),
        cmocka_unit_test(an_index_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
