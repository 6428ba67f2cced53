/* Memory that is shown at a second address: by moving its pages, and where that fails. */
#include "tests.h"

#include "boost/mapping.h"
#include "boost/slots.h"

#define PAGE 4096u
#define PAGES 700u /* more than a huge page */
#define BYTES (PAGES * PAGE)

static tt_slots *slots;
static tt_slot slot;
static uint8_t *there;

static int begin(void **state)
{
    (void)state;
    slots = tt_slots_new();
    there = tt_map(NULL, BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!slots || !there || !tt_slots_take(slots, BYTES, &slot)) return -1;
    tt_slot_fill(&slot);
    for (uint32_t i = 0; i < PAGES; i++)
        slot.at[i * PAGE] = (uint8_t)(i % 251 + 1);
    return 0;
}

static int end(void **state)
{
    (void)state;
    tt_slots_give(slots, &slot);
    tt_slots_free(slots);
    tt_unmap(there, BYTES);
    return 0;
}

static void assert_shown(const uint8_t *at, uint32_t first, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(at[i * PAGE], (first + i) % 251 + 1);
}

static void replace_there(void)
{
    uint8_t *mapped =
        tt_map(there, BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    assert_ptr_equal(mapped, there);
    assert_int_equal(there[0], 0);
}

/* Two parts, of which one begins within a huge page. */
static void show_both(tt_slot_shown how)
{
    assert_int_equal(tt_slots_show(slots, &slot, 300 * PAGE, there, 400 * PAGE), how);
    assert_int_equal(tt_slots_show(slots, &slot, 0, there + 400 * PAGE, 300 * PAGE), how);
    assert_shown(there, 300, 400);
    assert_shown(there + 400 * PAGE, 0, 300);
}

/* What is read into the slot afterwards is shown the next time. */
static void test_again_and_again(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        show_both(TT_SLOT_MOVED);
        assert_true(tt_slots_take_back(slots, &slot, 300 * PAGE, there, 400 * PAGE));
        assert_shown(there, 300, 400);
        assert_true(tt_slots_take_back(slots, &slot, 0, there + 400 * PAGE, 300 * PAGE));
        replace_there();
        for (uint32_t k = 0; k < PAGES; k++)
            slot.at[k * PAGE] = (uint8_t)(k % 251 + 1);
    }
}

/* As where the kernel does not move such pages. */
static void test_cannot_move(void **state)
{
    (void)state;
    uint8_t *const at = slot.at;
    slot.at = tt_map(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    tt_unmap(slot.at, BYTES); /* there is nothing to move */
    show_both(TT_SLOT_MAPPED);
    slot.at = at;
    replace_there();
    show_both(TT_SLOT_MAPPED);
    replace_there();
    slot.at[0] = 1;
}

/* The slots of a row have parts of the same huge pages, which are made while the one before is in
 * use. */
static void test_neighbours(void **state)
{
    (void)state;
    enum { N = 20 }; /* more than a row */
    tt_slot more[N];
    show_both(TT_SLOT_MOVED);
    for (uint32_t k = 0; k < N; k++) {
        assert_true(tt_slots_take(slots, BYTES, &more[k]));
        tt_slot_fill(&more[k]);
        const uint8_t *before = k ? more[k - 1].at : slot.at;
        if ((k + 1) % 16) assert_ptr_equal(more[k].at, before + BYTES);
        for (uint32_t i = 0; i < PAGES; i++)
            more[k].at[i * PAGE] = (uint8_t)(k + 1);
    }
    assert_shown(there, 300, 400);
    assert_shown(there + 400 * PAGE, 0, 300);
    for (uint32_t k = 0; k < N; k++)
        for (uint32_t i = 0; i < PAGES; i++)
            assert_int_equal(more[k].at[i * PAGE], k + 1);
    assert_true(tt_slots_take_back(slots, &slot, 300 * PAGE, there, 400 * PAGE));
    assert_true(tt_slots_take_back(slots, &slot, 0, there + 400 * PAGE, 300 * PAGE));
    replace_there();
    /* Of those that are given back some go to the kernel, next to others that are in use. */
    for (uint32_t k = 0; k < N; k += 2)
        tt_slots_give(slots, &more[k]);
    tt_slots_trim(slots);
    for (uint32_t k = 1; k < N; k += 2) {
        for (uint32_t i = 0; i < PAGES; i++)
            assert_int_equal(more[k].at[i * PAGE], k + 1);
        tt_slots_give(slots, &more[k]);
    }
}

/* One of nearly the same size is given again, its memory there. */
static void test_other_sizes(void **state)
{
    (void)state;
    tt_slot less, others;
    uint8_t *const at = slot.at;
    assert_false(tt_slots_has(slots, BYTES));
    tt_slots_give(slots, &slot);
    assert_true(tt_slots_has(slots, BYTES) && tt_slots_has(slots, BYTES - 3 * PAGE));
    assert_false(tt_slots_has(slots, BYTES + PAGE));
    assert_true(tt_slots_take(slots, BYTES - 3 * PAGE, &less));
    assert_ptr_equal(less.at, at);
    assert_false(less.fresh);
    assert_true(tt_slots_take(slots, BYTES / 2, &others) && others.at != at);
    tt_slots_give(slots, &others);
    slot = less;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_again_and_again, begin, end),
        cmocka_unit_test_setup_teardown(test_cannot_move, begin, end),
        cmocka_unit_test_setup_teardown(test_neighbours, begin, end),
        cmocka_unit_test_setup_teardown(test_other_sizes, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
