/* The target of a request, and its typed parameters. */
#include "tests.h"

#include "serve/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tt_target t;
static tt_error err;

static tt_status parse(const char *text)
{
    return tt_target_parse(&t, text, strlen(text), &err);
}

static const char *value(const char *name)
{
    for (uint32_t i = 0; i < t.n_params; i++)
        if (strcmp(t.params[i].name, name) == 0) return t.params[i].value;
    return NULL;
}

static void test_paths(void **state)
{
    (void)state;
    assert_int_equal(parse("/"), TT_OK);
    assert_string_equal(t.path, "/");
    assert_int_equal(t.n_params, 0);
    assert_int_equal(parse("/api/v1/traces/0/log?"), TT_OK);
    assert_string_equal(t.path, "/api/v1/traces/0/log");
    assert_int_equal(t.n_params, 0);
    /* A path is only ever compared: what is escaped in it stays so. */
    assert_int_equal(parse("/%2e%2e/etc/passwd"), TT_OK);
    assert_string_equal(t.path, "/%2e%2e/etc/passwd");
    assert_int_equal(parse(""), TT_E_USAGE);
    assert_int_equal(parse("*"), TT_E_USAGE);
    assert_int_equal(parse("http://127.0.0.1/"), TT_E_USAGE);
    assert_int_equal(parse("/a b"), TT_E_USAGE);
    assert_int_equal(parse("/a\xc3\xa9"), TT_E_USAGE);
    assert_int_equal(parse("/a\x7f"), TT_E_USAGE);
    assert_int_equal(tt_target_parse(&t, "/a\0b", 4, &err), TT_E_USAGE);
    assert_string_equal(t.path, ""); /* of a refused one nothing is used */
}

static void test_params(void **state)
{
    (void)state;
    assert_int_equal(parse("/x?a=1&b=&c&d=%41+%2b%26%3d%25&&e==?"), TT_OK);
    assert_int_equal(t.n_params, 5);
    assert_string_equal(value("a"), "1");
    assert_string_equal(value("b"), "");
    assert_string_equal(value("c"), "");
    assert_string_equal(value("d"), "A +&=%");
    assert_string_equal(value("e"), "=?");
    assert_int_equal(parse("/x?%6eame=%e2%82%AC"), TT_OK);
    assert_string_equal(value("name"), "\xe2\x82\xac");
    assert_int_equal(parse("/x?a=%"), TT_E_USAGE);
    assert_int_equal(parse("/x?a=%4"), TT_E_USAGE);
    assert_int_equal(parse("/x?a=%4g"), TT_E_USAGE);
    assert_int_equal(parse("/x?a=%00"), TT_E_USAGE);
    assert_int_equal(parse("/x?%00=a"), TT_E_USAGE);
    assert_int_equal(parse("/x?a=1&%61=2"), TT_E_USAGE);
    assert_non_null(strstr(err.message, "\"a\""));
}

static void test_limits(void **state)
{
    char text[TT_TARGET_BYTES_MAX + 2];
    (void)state;
    memset(text, 'a', sizeof text);
    text[0] = '/';
    assert_int_equal(tt_target_parse(&t, text, TT_TARGET_BYTES_MAX, &err), TT_OK);
    assert_int_equal(strlen(t.path), TT_TARGET_BYTES_MAX);
    assert_int_equal(tt_target_parse(&t, text, TT_TARGET_BYTES_MAX + 1, &err), TT_E_LIMIT);
    size_t n = 2;
    memcpy(text, "/?", 2);
    for (unsigned i = 0; i < TT_REQUEST_PARAMS_MAX; i++)
        n += (size_t)sprintf(text + n, "p%u=%u&", i, i);
    assert_int_equal(tt_target_parse(&t, text, n, &err), TT_OK);
    assert_int_equal(t.n_params, TT_REQUEST_PARAMS_MAX);
    assert_string_equal(value("p31"), "31");
    text[n++] = 'x';
    assert_int_equal(tt_target_parse(&t, text, n, &err), TT_E_USAGE);
}

static tt_request request(const char *target)
{
    tt_request q = {.client = -1};
    assert_int_equal(parse(target), TT_OK);
    q.n_params = t.n_params;
    memcpy(q.params, t.params, sizeof q.params);
    return q;
}

static void test_numbers(void **state)
{
    static const char *const bad[] = {
        "", "-1", "+1", " 1", "1 ", "0x10", "1e3", "1.0", "1001", "one", "18446744073709551616"};
    char text[64];
    uint64_t n = 0;
    (void)state;
    tt_request q = request("/?n=1000&m=18446744073709551615");
    assert_true(tt_request_u64(&q, "n", 0, 1000, 7, &n, &err));
    assert_int_equal(n, 1000);
    assert_true(tt_request_u64(&q, "m", 0, UINT64_MAX, 7, &n, &err));
    assert_true(n == UINT64_MAX);
    assert_true(tt_request_u64(&q, "o", 0, 1000, 7, &n, &err));
    assert_int_equal(n, 7);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        (void)snprintf(text, sizeof text, "/?n=%s", bad[i]);
        for (char *p = text; *p; p++)
            if (*p == ' ' || (*p == '+' && p[1])) *p = '+';
        q = request(text);
        assert_false(tt_request_u64(&q, "n", 0, 1000, 7, &n, &err));
        assert_int_equal(err.status, TT_E_USAGE);
        assert_int_equal(n, 7);
        assert_non_null(strstr(err.message, "n="));
    }
}

static void test_doubles(void **state)
{
    static const char *const bad[] = {"",     "nan", "inf", "0x1p3", "1%202", "1e400",
                                      "1001", "-1",  "1,5", "e",     "."};
    char text[64];
    double d = 0;
    (void)state;
    tt_request q = request("/?d=12.5e1");
    assert_true(tt_request_double(&q, "d", 0, 1000, 7, &d, &err));
    assert_true(d > 124.9 && d < 125.1);
    assert_true(tt_request_double(&q, "o", 0, 1000, 7, &d, &err));
    assert_true(d > 6.9 && d < 7.1);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        (void)snprintf(text, sizeof text, "/?d=%s", bad[i]);
        q = request(text);
        assert_false(tt_request_double(&q, "d", 0, 1000, 7, &d, &err));
        assert_int_equal(err.status, TT_E_USAGE);
    }
}

static void test_choices(void **state)
{
    static const char *const names[] = {"bytes", "time", NULL};
    size_t at = 9;
    (void)state;
    tt_request q = request("/?by=time&other=tim");
    assert_true(tt_request_choice(&q, "by", names, 0, &at, &err));
    assert_int_equal(at, 1);
    assert_true(tt_request_choice(&q, "none", names, 0, &at, &err));
    assert_int_equal(at, 0);
    assert_false(tt_request_choice(&q, "other", names, 0, &at, &err));
    assert_non_null(strstr(err.message, "bytes time"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths),   cmocka_unit_test(test_params),
        cmocka_unit_test(test_limits),  cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_doubles), cmocka_unit_test(test_choices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
