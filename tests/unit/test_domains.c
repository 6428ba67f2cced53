/* Tables of counts: against published values, and against their definitions on small ones. */
#include "tests.h"

#include "analyze/diff/stats.h"
#include "analyze/domains.h"

#include <math.h>

static bool is_near(double got, double want, double relative)
{
    return fabs(got - want) <= relative * fabs(want);
}

/* Quantiles of the chi-square distribution as tables print them (NIST handbook, 1.3.6.7.4). */
static void tails_as_in_tables(void **state)
{
    (void)state;
    assert_true(is_near(tt_chi_square_tail(3.841, 1), 0.05, 1e-3));
    assert_true(is_near(tt_chi_square_tail(18.307, 10), 0.05, 1e-3));
    assert_true(is_near(tt_chi_square_tail(29.588, 10), 0.001, 1e-3));
    assert_true(is_near(tt_chi_square_tail(124.342, 100), 0.05, 1e-3));
    assert_true(tt_chi_square_tail(0, 5) == 1);
    /* Of two degrees of freedom it is exp(-x / 2), however small. */
    for (double x = 0.5; x < 1400; x *= 1.7)
        assert_true(is_near(tt_chi_square_tail(x, 2), exp(-x / 2), 1e-10));
    assert_true(tt_chi_square_tail(1e6, 3) == 0);
    assert_true(isnan(tt_chi_square_tail(1, 0)));
}

static void a_small_table_by_hand(void **state)
{
    /* Expected: 12, 18 and 28, 42. */
    const uint64_t counts[] = {10, 20, 30, 40};
    tt_domain_test t;
    (void)state;
    tt_domain_test_table(counts, 2, 2, &t);
    assert_int_equal(t.n, 100);
    assert_int_equal(t.df, 1);
    const double chi = 4.0 / 12 + 4.0 / 18 + 4.0 / 28 + 4.0 / 42;
    assert_true(is_near(t.chi_square, chi, 1e-12));
    assert_true(is_near(t.cramers_v, sqrt(chi / 100), 1e-12));
    assert_true(is_near(t.p_value, erfc(sqrt(chi / 2)), 1e-10)); /* a normal variate, squared */
}

static void what_no_count_says_nothing_of(void **state)
{
    /* Without its empty row and column it is the identity: all of the effect there can be. */
    const uint64_t apart[] = {5, 0, 0, 0, 0, 0, 0, 0, 7};
    const uint64_t one_row[] = {5, 6, 0, 0}, none[4] = {0};
    tt_domain_test t;
    (void)state;
    tt_domain_test_table(apart, 3, 3, &t);
    assert_int_equal(t.df, 1);
    assert_true(is_near(t.cramers_v, 1, 1e-12));
    assert_true(is_near(t.jsd_bits, 1, 1e-12));
    tt_domain_test_table(one_row, 2, 2, &t);
    assert_int_equal(t.df, 0);
    assert_true(isnan(t.p_value) && isnan(t.cramers_v) && t.jsd_bits == 0);
    tt_domain_test_table(none, 2, 2, &t);
    assert_true(t.df == 0 && isnan(t.p_value) && isnan(t.jsd_bits));
}

static void rows_alike_have_no_effect(void **state)
{
    const uint64_t counts[] = {1, 2, 3, 10, 20, 30, 100, 200, 300};
    tt_domain_test t;
    (void)state;
    tt_domain_test_table(counts, 3, 3, &t);
    assert_true(t.chi_square < 1e-20 && t.cramers_v < 1e-10 && t.jsd_bits < 1e-12);
    assert_true(is_near(t.p_value, 1, 1e-9));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tails_as_in_tables),
                                       cmocka_unit_test(a_small_table_by_hand),
                                       cmocka_unit_test(what_no_count_says_nothing_of),
                                       cmocka_unit_test(rows_alike_have_no_effect)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
