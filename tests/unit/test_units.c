#include "tests.h"

#include "base/units.h"

#include <math.h>
#include <string.h>

static void sizes_are_read(void **state)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {
        {"0", 0},           {"4096", 4096},       {"64K", 65536},
        {"64k", 65536},     {"1.5M", 1572864},    {"2G", 2147483648},
        {"1T", 1ull << 40}, {"3GiB", 3221225472}, {"7kB", 7168},
        {"12B", 12},        {"0.5", 0},           {"18446744073709551615", UINT64_MAX},
    };
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        uint64_t bytes = 1;
        assert_int_equal(tt_units_parse_size(good[i].text, &bytes, NULL), TT_OK);
        assert_true(bytes == good[i].bytes);
    }
}

static void what_is_no_size_is_named(void **state)
{
    static const char *const bad[] = {"",
                                      "x",
                                      "-1",
                                      "1.",
                                      ".5",
                                      "1 K",
                                      " 1",
                                      "1KK",
                                      "1iB",
                                      "1e3",
                                      "0x10",
                                      "16E",
                                      "18446744073709551616"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tt_error err;
        uint64_t bytes = 77;
        assert_int_equal(tt_units_parse_size(bad[i], &bytes, &err), TT_E_USAGE);
        assert_true(bytes == 77);
        assert_non_null(strstr(err.message, bad[i]));
    }
}

static void rates_of_disks(void **state)
{
    static const struct {
        const char *text;
        double want;
    } good[] = {{"2.5G", 2.5e9},      {"500M", 5e8}, {"500MB/s", 5e8}, {"3GiB/s", 3221225472.0},
                {"200000", 200000.0}, {"7k", 7000},  {"1T/s", 1e12},   {"64KiB", 65536}};
    static const char *const bad[] = {"",     "G",   "0",    "-1G",  "1e9", "1.2.3G", "2X",
                                      "2G/m", "2 G", "0x10", "2GBs", "inf", "2Gi/",   "2/s/s"};
    double rate;
    tt_error err;
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(tt_units_parse_rate(good[i].text, &rate, NULL), TT_OK);
        assert_true(rate == good[i].want);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(tt_units_parse_rate(bad[i], &rate, &err), TT_E_USAGE);
        assert_non_null(strstr(err.message, bad[i]));
    }
}

static void whole_numbers(void **state)
{
    static const char *const bad[] = {
        "", "+1", " 1", "1 ", "1.0", "-", "11", "-6", "99999999999999999999"};
    int64_t v = 0;
    (void)state;
    assert_int_equal(tt_units_parse_int("10", "-n", -5, 10, &v, NULL), TT_OK);
    assert_int_equal(v, 10);
    assert_int_equal(tt_units_parse_int("-5", "-n", -5, 10, &v, NULL), TT_OK);
    assert_int_equal(v, -5);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tt_error err;
        assert_int_equal(tt_units_parse_int(bad[i], "-n", -5, 10, &v, &err), TT_E_USAGE);
        assert_non_null(strstr(err.message, "-n"));
    }
}

static void bytes_and_counts(void **state)
{
    char t[TT_UNITS_TEXT];
    (void)state;
    assert_string_equal(tt_units_bytes(t, 0), "0 B");
    assert_string_equal(tt_units_bytes(t, 1023), "1023 B");
    assert_string_equal(tt_units_bytes(t, 1024), "1.0 KiB");
    assert_string_equal(tt_units_bytes(t, 1048575), "1.0 MiB");
    assert_string_equal(tt_units_bytes(t, 739557048), "705.3 MiB");
    assert_string_equal(tt_units_bytes(t, UINT64_MAX), "16.0 EiB");
    assert_string_equal(tt_units_count(t, 0), "0");
    assert_string_equal(tt_units_count(t, 999), "999");
    assert_string_equal(tt_units_count(t, 1234567), "1,234,567");
    assert_string_equal(tt_units_count(t, 999999999999999999), "999,999,999,999,999,999");
    assert_string_equal(tt_units_count(t, UINT64_MAX), "18446744073709551615");
}

static void times_and_rates(void **state)
{
    char t[TT_UNITS_TEXT];
    (void)state;
    assert_string_equal(tt_units_ns(t, 0), "0 ns");
    assert_string_equal(tt_units_ns(t, 7), "7 ns");
    assert_string_equal(tt_units_ns(t, 7.25), "7.25 ns");
    assert_string_equal(tt_units_ns(t, 999.7), "1.00 us");
    assert_string_equal(tt_units_ns(t, 12345), "12.3 us");
    assert_string_equal(tt_units_ns(t, 1.02e9), "1.02 s");
    assert_string_equal(tt_units_speed(t, 23.64), "23.6");
    assert_string_equal(tt_units_speed(t, 99.94), "99.9");
    assert_string_equal(tt_units_speed(t, 99.96), "100");
    assert_string_equal(tt_units_speed(t, 1683.6), "1,684");
    assert_string_equal(tt_units_ns(t, 3600e9), "3600 s");
    assert_string_equal(tt_units_wait(t, 0), "0 s");
    assert_string_equal(tt_units_wait(t, 59.4e9), "59 s");
    assert_string_equal(tt_units_wait(t, 59.6e9), "1 min 00 s");
    assert_string_equal(tt_units_wait(t, 65e9), "1 min 05 s");
    assert_string_equal(tt_units_wait(t, 3569e9), "59 min 29 s");
    assert_string_equal(tt_units_wait(t, 3570e9), "1 h 00 min");
    assert_string_equal(tt_units_wait(t, 3720e9), "1 h 02 min");
    assert_string_equal(tt_units_wait(t, 86400e9 * 2 + 3 * 3600e9), "2 d 03 h");
    assert_string_equal(tt_units_wait(t, NAN), "-");
    assert_string_equal(tt_units_wait(t, INFINITY), "-");
    assert_string_equal(tt_units_ns(t, -3000), "-3.00 us");
    assert_string_equal(tt_units_ns(t, NAN), "-");
    assert_string_equal(tt_units_rate(t, 12.4e9), "12.4 GB/s");
    assert_string_equal(tt_units_rate(t, 0), "0 B/s");
    assert_string_equal(tt_units_rate(t, INFINITY), "-");
}

/* "8" for 8G is a slip. */
static void an_amount_has_its_unit(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes; /* UINT64_MAX: refused */
    } cases[] = {{"8", UINT64_MAX}, {"1.5", UINT64_MAX}, {"1048575", UINT64_MAX}, {"x", UINT64_MAX},
                 {"0", 0},          {"8B", 8},           {"1048576", 1 << 20},    {"8K", 8 << 10},
                 {"1M", 1 << 20}};
    tt_error err;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t bytes = 1;
        const tt_status status = tt_units_parse_amount(cases[i].text, &bytes, &err);
        assert_int_equal(status, cases[i].bytes == UINT64_MAX ? TT_E_USAGE : TT_OK);
        if (status == TT_OK) assert_int_equal(bytes, cases[i].bytes);
    }
    (void)tt_units_parse_amount("8", &(uint64_t){0}, &err);
    assert_string_equal(err.message, "\"8\" has no unit: write 8G or 8M, or 8B for bytes");
}

/* As many digits as tell two times apart, by hand; equal ones are printed alike. */
static void times_are_told_apart(void **state)
{
    char a[TT_UNITS_TEXT], b[TT_UNITS_TEXT];
    (void)state;
    tt_units_ns_apart(a, b, 163600, 164400);
    assert_string_equal(a, "163.6 us");
    assert_string_equal(b, "164.4 us");
    tt_units_ns_apart(a, b, 1e6, 1000001);
    assert_string_equal(a, "1.000000 ms");
    assert_string_equal(b, "1.000001 ms");
    tt_units_ns_apart(a, b, 1000, 2000);
    assert_string_equal(a, "1.00 us");
    assert_string_equal(b, "2.00 us");
    tt_units_ns_apart(a, b, 5, 5);
    assert_string_equal(a, b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_amount_has_its_unit),   cmocka_unit_test(sizes_are_read),
        cmocka_unit_test(what_is_no_size_is_named), cmocka_unit_test(whole_numbers),
        cmocka_unit_test(bytes_and_counts),         cmocka_unit_test(times_and_rates),
        cmocka_unit_test(rates_of_disks),           cmocka_unit_test(times_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
