/* Decimal text of numbers, against the C library's. */
#include "tests.h"

#include "base/units.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect_same(double v)
{
    char want[TT_DECIMAL_TEXT], got[TT_DECIMAL_TEXT];
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(want, sizeof want, "%.*g", digits, v);
        if (strtod(want, NULL) == v) break;
    }
    size_t n = tt_decimal_write(v, got);
    assert_int_equal(n, strlen(got));
    if (strcmp(got, want) != 0) fail_msg("%a: \"%s\" instead of \"%s\"", v, got, want);
}

static void texts_are_those_of_the_library(void **state)
{
    static const double values[] = {0,
                                    -0.0,
                                    1,
                                    -1,
                                    0.1,
                                    0.5,
                                    1.5,
                                    1e15,
                                    1e14,
                                    9.5,
                                    1e-5,
                                    1e22,
                                    1e23,
                                    2.5e-8,
                                    10,
                                    100.25,
                                    999999.5,
                                    DBL_MAX,
                                    DBL_MIN,
                                    5e-324,
                                    1.0 / 3,
                                    99.99999999999999,
                                    999999999999999.9,
                                    1.0000000000000002};
    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        expect_same(values[i]);
}

/* Numbers of all sizes: random bits, ticks by a rate, few decimals. */
static void random_ones_too(void **state)
{
    uint64_t random = 1;
    (void)state;
    for (unsigned i = 0; i < 300000; i++) {
        double v;
        random = random * 6364136223846793005u + 1442695040888963407u;
        uint64_t bits = random >> 2;
        memcpy(&v, &random, sizeof v);
        if (isfinite(v)) expect_same(v);
        expect_same((double)(bits >> (bits & 31)) * 0.38461538461);
        expect_same(-(double)(bits >> 20) / 1000);
        expect_same((double)(bits >> 12) / 4096);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_those_of_the_library),
        cmocka_unit_test(random_ones_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
