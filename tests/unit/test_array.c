/* Growing arrays, comparators of members, binary search. */
#include "tests.h"

#include "base/array.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

static void arrays_keep_what_they_hold(void **state)
{
    uint64_t *list = NULL;
    size_t n = 0, capacity = 0;
    (void)state;
    for (uint64_t i = 0; i < 10000; i++) {
        uint64_t *last = tt_array_add(list, n, capacity);
        assert_non_null(last);
        *last = i * 3;
    }
    assert_int_equal(n, 10000);
    assert_true(capacity >= n && capacity < 4 * n);
    for (uint64_t i = 0; i < n; i++)
        assert_int_equal(list[i], i * 3);
    free(list);
}

static void room_is_zeroed_behind_what_was(void **state)
{
    uint32_t *list = NULL;
    uint32_t capacity = 0;
    (void)state;
    assert_true(tt_array_room_zeroed(list, capacity, 3));
    memset(list, 0xff, capacity * sizeof *list);
    const uint32_t had = capacity;
    assert_true(tt_array_room_zeroed(list, capacity, had * 5));
    assert_true(capacity >= had * 5);
    for (uint32_t i = 0; i < capacity; i++)
        assert_int_equal(list[i], i < had ? UINT32_MAX : 0);
    free(list);
}

/* A number that cannot be counted, in bytes or by the capacity, changes nothing. */
static void more_than_can_be_is_refused(void **state)
{
    uint64_t *list = NULL;
    size_t capacity = 0;
    uint32_t narrow = 0;
    (void)state;
    assert_true(tt_array_room(list, capacity, 20));
    uint64_t *was = list;
    const size_t had = capacity;
    assert_false(tt_array_room(list, capacity, SIZE_MAX / 8 + 2));
    assert_false(tt_array_room(list, capacity, SIZE_MAX));
    assert_ptr_equal(list, was);
    assert_int_equal(capacity, had);
    free(list);
    list = NULL;
    const size_t need = (size_t)UINT32_MAX + 1;
    assert_false(tt_array_room(list, narrow, need));
    assert_null(list);
    assert_int_equal(narrow, 0);
}

static void a_limit_is_kept(void **state)
{
    uint64_t *list = NULL;
    size_t n = 0, capacity = 0;
    (void)state;
    while (tt_array_one_more_within(list, n, capacity, 100 * sizeof *list))
        list[n++] = 1;
    assert_int_equal(n, 100);
    assert_int_equal(capacity, 100);
    free(list);
}

typedef struct item {
    uint32_t a;
    int64_t b;
    double c;
} item;

TT_ORDER_BY(by_one, item, b)
TT_ORDER_BY(by_three, item, a, b, c)

static void members_order_elements(void **state)
{
    item list[] = {{2, -1, 0.5}, {1, 9, 0}, {2, -1, 0.25}, {2, -7, 1}};
    (void)state;
    qsort(list, 4, sizeof *list, by_three);
    assert_int_equal(list[0].b, 9);
    assert_int_equal(list[1].b, -7);
    assert_true(list[2].c < list[3].c);
    assert_int_equal(by_one(&list[2], &list[3]), 0);
    assert_true(by_one(&list[1], &list[2]) < 0 && by_one(&list[0], &list[1]) > 0);
    const uint64_t big[] = {UINT64_MAX, 1};
    const uint32_t small[] = {UINT32_MAX, 1};
    assert_true(tt_by_u64(&big[0], &big[1]) > 0 && tt_by_u64(&big[1], &big[0]) < 0);
    assert_true(tt_by_u32(&small[0], &small[1]) > 0 && tt_by_u32(&small[1], &small[1]) == 0);
}

static void the_first_that_is_not_before_is_found(void **state)
{
    static const uint32_t list[] = {1, 3, 3, 3, 8, 9};
    (void)state;
    for (uint32_t n = 0; n <= 6; n++) {
        for (uint32_t value = 0; value <= 10; value++) {
            uint32_t want = 0, at;
            while (want < n && list[want] < value)
                want++;
            tt_lower_bound(at, n, list[at] < value);
            assert_int_equal(at, want);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_keep_what_they_hold),
        cmocka_unit_test(room_is_zeroed_behind_what_was),
        cmocka_unit_test(more_than_can_be_is_refused),
        cmocka_unit_test(a_limit_is_kept),
        cmocka_unit_test(members_order_elements),
        cmocka_unit_test(the_first_that_is_not_before_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
