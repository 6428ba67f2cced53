/* The loops that measure a machine do what they say. */
#include "tests.h"

#include "machine/kernels.h"
#include "machine/measure.h"

#include <stdlib.h>
#include <string.h>

static void every_byte_is_read(void **state)
{
    const size_t n = 4096;
    uint8_t *data = aligned_alloc(64, n);
    (void)state;
    for (size_t i = 0; i < n; i++)
        data[i] = (uint8_t)(i * 7);
    const uint64_t all = tt_kernel_read(data, n);
    for (size_t i = 0; i < n; i++) {
        data[i] ^= 1;
        assert_int_not_equal(tt_kernel_read(data, n), all);
        data[i] ^= 1;
    }
    assert_int_equal(tt_kernel_read(data, n), all);
    free(data);
}

/* Twice the rounds must be twice the work, not less. */
static void every_round_counts(void **state)
{
    const tt_kernel_compute *list[] = {tt_kernel_floats(), tt_kernel_int8()};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        if (!list[i]) continue;
        assert_true(list[i]->operations > 0);
        assert_true(list[i]->run(1) != list[i]->run(2));
        assert_true(list[i]->run(2) != list[i]->run(3));
    }
}

static void a_machine_has_edges(void **state)
{
    tt_machine m;
    tt_error err;
    (void)state;
    if (tt_machine_measure(2, &m, &err) != TT_OK) {
        print_message("skipped: %s\n", err.message);
        skip();
    }
    assert_int_equal(m.threads, 2);
    assert_true(m.read_bytes_per_s > 0 && m.flops_per_s > 0);
    assert_true(!m.int8 == (m.int8_ops_per_s <= 0));
    assert_true(m.buffer_bytes >= (uint64_t)256 << 20);
    assert_int_equal(m.buffer_bytes % 2048, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_is_read),
        cmocka_unit_test(every_round_counts),
        cmocka_unit_test(a_machine_has_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
