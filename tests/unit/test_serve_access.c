/* Who may ask the viewer's server. */
#include "tests.h"

#include "serve/access.h"

#include <stdio.h>
#include <string.h>

#define SECRET "00112233445566778899aabbccddeeff"
#define ONCE "ffeeddccbbaa99887766554433221100"
#define COOKIE "tensortrace_4321=" SECRET

static const tt_access_key key = {4321, SECRET, ONCE};

static tt_access_request good(void)
{
    return (tt_access_request){.method = "GET",
                               .path = "/api/v1",
                               .host = "127.0.0.1:4321",
                               .fetch_site = "same-origin",
                               .cookie = COOKIE};
}

static void expect(tt_access_request q, tt_access_kind kind, unsigned status)
{
    tt_access_verdict v = tt_access_check(&key, &q);
    assert_int_equal(v.kind, kind);
    if (kind != TT_ACCESS_REFUSED) return;
    assert_int_equal(v.status, status);
    assert_non_null(v.message);
}

static void test_good(void **state)
{
    tt_access_request q = good();
    (void)state;
    expect(q, TT_ACCESS_GRANTED, 0);
    q.method = "HEAD";
    q.host = "LocalHost:4321";
    q.origin = "http://127.0.0.1:4321";
    q.fetch_site = "none";
    expect(q, TT_ACCESS_GRANTED, 0);
    q.origin = "http://localhost:4321";
    q.fetch_site = NULL; /* older browsers, other programs */
    expect(q, TT_ACCESS_GRANTED, 0);
}

static void test_hosts(void **state)
{
    static const char *const bad[] = {"evil.example",
                                      "evil.example:4321",
                                      "127.0.0.1",
                                      "127.0.0.1:4322",
                                      "127.0.0.1:43210",
                                      "127.0.0.1:4321.evil.example",
                                      "localhost.:4321",
                                      "localhost:04321",
                                      "[::1]:4321",
                                      "127.1:4321",
                                      "0.0.0.0:4321",
                                      " 127.0.0.1:4321",
                                      "user@127.0.0.1:4321",
                                      "",
                                      NULL};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tt_access_request q = good();
        q.host = bad[i];
        expect(q, TT_ACCESS_REFUSED, 403);
        q.path = "/open/" SECRET; /* not with the secret either */
        expect(q, TT_ACCESS_REFUSED, 403);
    }
}

static void test_port_80(void **state)
{
    static const tt_access_key web = {80, SECRET, ""};
    tt_access_request q = good();
    (void)state;
    q.cookie = "tensortrace_80=" SECRET;
    q.host = "127.0.0.1";
    assert_int_equal(tt_access_check(&web, &q).kind, TT_ACCESS_GRANTED);
    q.host = "127.0.0.1:80";
    assert_int_equal(tt_access_check(&web, &q).kind, TT_ACCESS_GRANTED);
    q.host = "evil.example";
    assert_int_equal(tt_access_check(&web, &q).kind, TT_ACCESS_REFUSED);
}

static void test_origins(void **state)
{
    static const char *const bad[] = {"http://evil.example",
                                      "https://127.0.0.1:4321",
                                      "http://127.0.0.1:4322",
                                      "http://127.0.0.1:4321/",
                                      "http://127.0.0.1",
                                      "null",
                                      "",
                                      "127.0.0.1:4321"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tt_access_request q = good();
        q.origin = bad[i];
        expect(q, TT_ACCESS_REFUSED, 403);
        q.path = "/open/" SECRET;
        expect(q, TT_ACCESS_REFUSED, 403);
    }
}

static void test_sites(void **state)
{
    /* "same-site" is another port of this host. */
    static const char *const bad[] = {"cross-site", "same-site", "", "Same-Origin", "none "};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tt_access_request q = good();
        q.fetch_site = bad[i];
        expect(q, TT_ACCESS_REFUSED, 403);
    }
}

static void test_methods(void **state)
{
    static const char *const bad[] = {"POST", "PUT", "DELETE", "OPTIONS", "get", "CONNECT", ""};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tt_access_request q = good();
        q.method = bad[i];
        expect(q, TT_ACCESS_REFUSED, 405);
    }
    tt_access_request q = good();
    q.has_body = true;
    expect(q, TT_ACCESS_REFUSED, 400);
    q = good();
    q.ambiguous = true;
    expect(q, TT_ACCESS_REFUSED, 400);
}

static tt_access_request change(void)
{
    tt_access_request q = good();
    q.method = "POST";
    q.path = "/api/v1/traces/0/notes";
    q.is_changeable = q.has_body = true;
    q.origin = "http://127.0.0.1:4321";
    q.type = "application/json";
    q.length = "16384";
    return q;
}

static void test_changes(void **state)
{
    tt_access_request q = change();
    (void)state;
    expect(q, TT_ACCESS_GRANTED, 0);
    q.is_changeable = false; /* of another path, or with --no-notes */
    expect(q, TT_ACCESS_REFUSED, 405);
    q = change();
    q.method = "PUT";
    expect(q, TT_ACCESS_REFUSED, 405);
    q = change();
    q.origin = NULL;
    expect(q, TT_ACCESS_REFUSED, 403);
    q.origin = "http://127.0.0.1:4322";
    expect(q, TT_ACCESS_REFUSED, 403);
    q = change();
    q.fetch_site = "same-site";
    expect(q, TT_ACCESS_REFUSED, 403);
    q = change();
    q.cookie = NULL;
    expect(q, TT_ACCESS_REFUSED, 403);
    q = change();
    q.is_chunked = true;
    expect(q, TT_ACCESS_REFUSED, 411);
    static const char *const types[] = {NULL, "", "text/plain", "application/json; charset=utf-8",
                                        "application/x-www-form-urlencoded"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        q = change();
        q.type = types[i];
        expect(q, TT_ACCESS_REFUSED, 415);
    }
    static const char *const lengths[] = {"",   "0",  "16385", "99999999999999999999",
                                          "-1", "1x", " 1",    "0x10"};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        q = change();
        q.length = lengths[i];
        expect(q, TT_ACCESS_REFUSED, 413);
    }
    q.length = NULL;
    expect(q, TT_ACCESS_REFUSED, 411);
}

static void test_cookies(void **state)
{
    static const char *const bad[] = {NULL,
                                      "",
                                      ";",
                                      "=",
                                      SECRET,
                                      "tensortrace_4321",
                                      "tensortrace_4321=",
                                      "tensortrace_4321=" SECRET "0",
                                      "tensortrace_4321=" ONCE,
                                      "tensortrace_4321=00112233445566778899aabbccddeef",
                                      "tensortrace_4321=10112233445566778899aabbccddeeff",
                                      "tensortrace_4322=" SECRET,
                                      "xtensortrace_4321=" SECRET,
                                      "a=b, tensortrace_4321=" SECRET,
                                      "tensortrace_4321x" SECRET,
                                      "tensortrace_4321 =" SECRET};
    static const char *const fine[] = {COOKIE, "a=b; " COOKIE, COOKIE "; a=b", "a=b;" COOKIE ";c",
                                       /* another program of this machine may have set it */
                                       "tensortrace_4321=x; " COOKIE};
    tt_access_request q = good();
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        q.cookie = bad[i];
        expect(q, TT_ACCESS_REFUSED, 403);
    }
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) {
        q.cookie = fine[i];
        expect(q, TT_ACCESS_GRANTED, 0);
    }
}

static void test_many_cookies(void **state)
{
    static char many[4096];
    tt_access_request q = good();
    (void)state;
    for (size_t i = 0; i + 2 < sizeof many; i += 2)
        memcpy(many + i, "a;", 3);
    q.cookie = many;
    expect(q, TT_ACCESS_REFUSED, 403);
}

static void test_opening(void **state)
{
    tt_access_request q = good();
    (void)state;
    q.cookie = NULL;
    q.path = "/open/" SECRET;
    q.fetch_site = "none";
    expect(q, TT_ACCESS_ENTERS, 0);
    assert_false(tt_access_check(&key, &q).used_once);
    q.fetch_site = NULL;
    expect(q, TT_ACCESS_ENTERS, 0);
    q.fetch_site = "cross-site"; /* a link on a page: the terminal may be one */
    expect(q, TT_ACCESS_ENTERS_FROM_ELSEWHERE, 0);
    q.fetch_site = "same-site";
    expect(q, TT_ACCESS_ENTERS_FROM_ELSEWHERE, 0);
    q.cookie = COOKIE; /* the cookie does not make a wrong secret right */
    static const char *const bad[] = {"/open/", "/open/" SECRET "/",
                                      "/open/00112233445566778899aabbccddeefe", "/open/x"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        q.path = bad[i];
        expect(q, TT_ACCESS_REFUSED, 403);
    }
}

static void test_once(void **state)
{
    tt_access_key used = key;
    tt_access_request q = good();
    (void)state;
    q.cookie = NULL;
    q.path = "/open/" ONCE;
    q.fetch_site = "none";
    tt_access_verdict v = tt_access_check(&used, &q);
    assert_int_equal(v.kind, TT_ACCESS_ENTERS);
    assert_true(v.used_once);
    used.once[0] = '\0';
    assert_int_equal(tt_access_check(&used, &q).kind, TT_ACCESS_REFUSED);
    q.path = "/open/";
    assert_int_equal(tt_access_check(&used, &q).kind, TT_ACCESS_REFUSED);
    q.path = "/open/" SECRET;
    assert_int_equal(tt_access_check(&used, &q).kind, TT_ACCESS_ENTERS);
}

static void test_secret(void **state)
{
    char a[TT_ACCESS_SECRET_TEXT], b[TT_ACCESS_SECRET_TEXT], cookie[TT_ACCESS_COOKIE_TEXT];
    (void)state;
    assert_true(tt_access_secret(a) && tt_access_secret(b));
    assert_int_equal(strlen(a), 32);
    assert_int_equal(strspn(a, "0123456789abcdef"), 32);
    assert_string_not_equal(a, b);
    assert_true(tt_access_same("abc", "abc", 3));
    assert_false(tt_access_same("abc", "abd", 3));
    assert_false(tt_access_same("abc", "xbc", 3));
    assert_true(tt_access_same("abc", "xbc", 0));
    tt_access_cookie(&key, cookie);
    assert_string_equal(cookie, COOKIE "; Path=/; HttpOnly; SameSite=Strict");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),         cmocka_unit_test(test_hosts),
        cmocka_unit_test(test_port_80),      cmocka_unit_test(test_origins),
        cmocka_unit_test(test_sites),        cmocka_unit_test(test_methods),
        cmocka_unit_test(test_changes),      cmocka_unit_test(test_cookies),
        cmocka_unit_test(test_many_cookies), cmocka_unit_test(test_opening),
        cmocka_unit_test(test_once),         cmocka_unit_test(test_secret),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
