/* The viewer's server over real sockets: what browsers ask, and what nobody should. */
#include "serve_client.h"

#include <pthread.h>
#include <stdatomic.h>

#define TRACE TT_SOURCE_DIR "/tests/golden/good-experts.ttrace"
#define OTHER TT_SOURCE_DIR "/tests/golden/good-killed.ttrace"

static client_of c;

static int start(void **state)
{
    static const char *const paths[] = {TRACE, OTHER};
    tt_serve_options o = {.paths = paths, .n_paths = 2, .workers = 3};
    (void)state;
    if (tt_server_start(&o, &c.server, NULL) != TT_OK) return -1;
    client_learn(&c);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    tt_server_stop(c.server);
    return 0;
}

static void expect(const char *method, const char *target, const char *more, int status)
{
    char *answer = client_ask(&c, method, target, more, NULL);
    if (client_status(answer) != status)
        fail_msg("%s %.80s: %d wanted, got: %.300s", method, target, status, answer);
    /* Nothing is ever told to other origins, and no body is taken for what it is not. */
    assert_null(strcasestr(answer, "Access-Control"));
    if (status != 304) assert_non_null(strcasestr(answer, "X-Content-Type-Options: nosniff"));
    assert_non_null(strcasestr(answer, "Content-Security-Policy: default-src 'none'"));
    assert_non_null(strcasestr(answer, "Referrer-Policy: no-referrer"));
    free(answer);
}

/* After whatever was done to it. */
static void expect_alive(void)
{
    expect("GET", "/api/v1/traces/0/state", "", 200);
}

static void test_asks(void **state)
{
    (void)state;
    expect("GET", "/", "", 200);
    expect("GET", "/api/v1", "", 200);
    expect("GET", "/api/v1/", "", 200);
    expect("GET", "/api/v1/traces/0/summary", "", 200);
    expect("GET", "/api/v1/traces/1/tensors", "", 200);
    expect("GET", "/api/v1/traces/0/state?", "Accept: */*\r\n", 200);
}

static void test_unknown(void **state)
{
    static const char *const targets[] = {"/nothing",
                                          "/api",
                                          "/api/v2",
                                          "/api/v1/nothing",
                                          "/api/v1/state",
                                          "/api/v1/traces",
                                          "/api/v1/traces/",
                                          "/api/v1/traces/0",
                                          "/api/v1/traces/0/",
                                          "/api/v1/traces/0/nothing",
                                          "/api/v1/traces/2/state",
                                          "/api/v1/traces/00/state",
                                          "/api/v1/traces/-1/state",
                                          "/api/v1/traces/a/state",
                                          "/api/v1/traces//state",
                                          "/api/v1/traces/0/state/",
                                          "/api/v1//traces/0/state",
                                          "/../etc/passwd",
                                          "/%2e%2e/%2e%2e/etc/passwd",
                                          "/..%2f..%2fetc/passwd",
                                          "//etc/passwd",
                                          "/api/v1/traces/0/../1/state",
                                          "/api/v1/traces/%30/state",
                                          "/app.js%00.html",
                                          "/index.html%00"};
    (void)state;
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        expect("GET", targets[i], "", 404);
    expect("GET", "/api/v1/traces/0/state?a=1", "", 400);
    expect("GET", "/api/v1/traces/0/state?a=%00", "", 400);
    expect("GET", "/api/v1/traces/0/state?a=%zz", "", 400);
}

static void test_errors_say_what(void **state)
{
    (void)state;
    char *answer = client_ask(&c, "GET", "/api/v1/traces/0/state?colour=<b>", "", NULL);
    assert_string_equal(client_body(answer),
                        "{\"error\":{\"status\":400,\"message\":\"no parameter "
                        "\\\"colour\\\"; there are none\"}}\n");
    free(answer);
    answer = client_ask(&c, "GET", "/api/v1/traces/0/nix", "", NULL);
    assert_non_null(strstr(client_body(answer), "/api/v1 lists them"));
    assert_non_null(strstr(answer, "Content-Type: application/json"));
    free(answer);
    answer = client_ask(&c, "GET", "/nix", "", NULL);
    assert_non_null(strstr(answer, "Content-Type: text/html"));
    free(answer);
}

static void test_foreign(void **state)
{
    char text[512];
    (void)state;
    expect("GET", "/", "Origin: http://evil.example\r\n", 403);
    expect("GET", "/api/v1", "Origin: null\r\n", 403);
    expect("GET", "/api/v1", "Sec-Fetch-Site: cross-site\r\n", 403);
    expect("GET", "/api/v1", "Sec-Fetch-Site: same-site\r\n", 403);
    expect("GET", "/api/v1", "Sec-Fetch-Site: same-origin\r\n", 200);
    expect("GET", "/api/v1", "Sec-Fetch-Site: same-origin\r\nSec-Fetch-Site: none\r\n", 400);
    expect("GET", "/api/v1", "Host: evil.example\r\n", 400);
    (void)snprintf(text, sizeof text,
                   "GET /api/v1 HTTP/1.1\r\nHost: evil.example:%u\r\nCookie: tensortrace_%u=%s\r\n"
                   "Connection: close\r\n\r\n",
                   c.port, c.port, c.secret);
    char *answer = client_say(&c, text, strlen(text), NULL);
    assert_int_equal(client_status(answer), 403);
    free(answer);
    (void)snprintf(text, sizeof text, "GET /api/v1 HTTP/1.0\r\nCookie: tensortrace_%u=%s\r\n\r\n",
                   c.port, c.secret);
    answer = client_say(&c, text, strlen(text), NULL); /* without a host */
    assert_null(strstr(answer, "traces"));
    free(answer);
}

static void test_not_let_in(void **state)
{
    client_of stranger = c;
    (void)state;
    memset(stranger.secret, '0', sizeof stranger.secret - 1);
    char *answer = client_ask(&stranger, "GET", "/", "", NULL);
    assert_int_equal(client_status(answer), 403);
    assert_non_null(strstr(client_body(answer), "<h1>403"));
    assert_non_null(strstr(client_body(answer), "tensortrace serve"));
    free(answer);
    answer = client_ask(&stranger, "GET", "/api/v1/traces/0/summary", "", NULL);
    assert_int_equal(client_status(answer), 403);
    assert_non_null(strstr(client_body(answer), "{\"error\""));
    free(answer);
    answer = client_ask(&stranger, "GET", "/open/00000000000000000000000000000000", "", NULL);
    assert_int_equal(client_status(answer), 403);
    assert_null(strstr(answer, "Set-Cookie"));
    free(answer);
}

static char *open_with(const char *secret, const char *more)
{
    char target[64];
    client_of stranger = c;
    memset(stranger.secret, '0', sizeof stranger.secret - 1);
    (void)snprintf(target, sizeof target, "/open/%s", secret);
    return client_ask(&stranger, "GET", target, more, NULL);
}

static void test_opening(void **state)
{
    char cookie[160];
    (void)state;
    (void)snprintf(cookie, sizeof cookie,
                   "\r\nSet-Cookie: tensortrace_%u=%s; Path=/; HttpOnly; SameSite=Strict\r\n",
                   c.port, c.secret);
    char *answer = open_with(c.secret, "Sec-Fetch-Site: none\r\n");
    assert_int_equal(client_status(answer), 303);
    assert_non_null(strstr(answer, cookie));
    assert_non_null(strstr(answer, "\r\nLocation: /\r\n"));
    free(answer);
    /* From a page of another site: a page of ours goes on, so that the cookie is sent. */
    answer = open_with(c.secret, "Sec-Fetch-Site: cross-site\r\n");
    assert_int_equal(client_status(answer), 200);
    assert_non_null(strstr(answer, cookie));
    assert_null(strstr(answer, "Location"));
    assert_non_null(strstr(client_body(answer), "http-equiv=\"refresh\""));
    free(answer);
    answer = open_with(c.secret, "Origin: http://evil.example\r\n");
    assert_int_equal(client_status(answer), 403);
    free(answer);
    answer = open_with(c.once, "");
    assert_int_equal(client_status(answer), 303);
    assert_non_null(strstr(answer, cookie));
    free(answer);
    answer = open_with(c.once, "");
    assert_int_equal(client_status(answer), 403);
    free(answer);
}

static void test_methods(void **state)
{
    static const char *const methods[] = {"POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"};
    (void)state;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        char *answer = client_ask(&c, methods[i], "/api/v1", "Content-Length: 3\r\n\r\na=1", NULL);
        assert_int_equal(client_status(answer), 405);
        assert_non_null(strstr(answer, "\r\nAllow: GET, HEAD\r\n"));
        free(answer);
    }
    expect("GET", "/api/v1", "Content-Length: 1000000\r\n", 400);
    expect("GET", "/api/v1", "Transfer-Encoding: chunked\r\n", 400);
    char *answer = client_ask(&c, "GET", "/api/v1",
                              "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
                              "GET /api/v1 HTTP/1.1\r\n",
                              NULL);
    assert_null(strstr(answer, "200 OK")); /* nor what was smuggled behind it */
    free(answer);
    expect_alive();
}

static void test_head(void **state)
{
    static const char *const targets[] = {"/", "/api/v1/traces/0/summary", "/nothing"};
    (void)state;
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        char length[64];
        char *get = client_ask(&c, "GET", targets[i], "", NULL);
        char *head = client_ask(&c, "HEAD", targets[i], "", NULL);
        (void)snprintf(length, sizeof length, "\r\nContent-Length: %zu\r\n",
                       strlen(client_body(get)));
        assert_int_equal(client_status(head), client_status(get));
        assert_non_null(strstr(get, length));
        assert_non_null(strstr(head, length));
        assert_string_equal(client_body(head), "");
        free(get);
        free(head);
    }
}

static void test_assets(void **state)
{
    char header[128], tag[64] = "";
    (void)state;
    char *answer = client_ask(&c, "GET", "/", "", NULL);
    const char *at = strstr(answer, "\r\nETag: ");
    assert_non_null(at);
    assert_int_equal(sscanf(at, "\r\nETag: %63s", tag), 1);
    assert_non_null(strstr(answer, "Cache-Control: no-cache"));
    assert_null(strstr(answer, "Content-Encoding")); /* it was not said that gzip is understood */
    assert_non_null(strcasestr(client_body(answer), "<!doctype html>"));
    free(answer);
    (void)snprintf(header, sizeof header, "If-None-Match: %s\r\n", tag);
    expect("GET", "/", header, 304);
    expect("GET", "/", "If-None-Match: \"other\"\r\n", 200);
}

static void test_oversize(void **state)
{
    static const size_t sizes[] = {8200, 20000, 40000, 400000};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *target = malloc(sizes[i] + 2), *header = malloc(sizes[i] + 32);
        assert_true(target && header);
        memset(target, 'a', sizes[i]);
        target[0] = '/';
        target[sizes[i]] = '\0';
        char *answer = client_ask(&c, "GET", target, "", NULL);
        int status = client_status(answer); /* 0: it hung up on what did not end */
        if (i == 0)
            assert_int_equal(status, 414);
        else
            assert_true(status == 414 || status == 431 || status == 413 || status == 400 ||
                        status == 0);
        free(answer);
        memcpy(header, "X: ", 3);
        memset(header + 3, 'a', sizes[i]);
        memcpy(header + 3 + sizes[i], "\r\n", 3);
        answer = client_ask(&c, "GET", "/api/v1", header, NULL);
        status = client_status(answer);
        assert_true(status == 200 ? sizes[i] < 32768
                                  : status == 431 || status == 413 || status == 0);
        free(answer);
        free(target);
        free(header);
        expect_alive();
    }
}

/* Also what has a NUL in it. */
#define BYTES(text)                                                                                \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }

static void test_garbage(void **state)
{
    static const struct {
        const char *text;
        size_t n;
    } all[] = {
        BYTES("\0\0\0\0\r\n\r\n"),
        BYTES("GET\r\n\r\n"),
        BYTES("GET / HTTP/9.9\r\n\r\n"),
        BYTES("GET /\0 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"),
        BYTES("GET / HTTP/1.1\r\nHost: 127.0.0.1\0evil\r\n\r\n"),
        BYTES("GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n"),
        BYTES("GET / HTTP/1.1\r\n Host: folded\r\n: \r\n\r\n"),
        BYTES("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"), /* TLS */
        BYTES("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        BYTES("\r\n\r\n\r\n\r\n"),
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        int fd = client_connect(&c);
        (void)client_send(fd, all[i].text, all[i].n);
        /* What may still become a request is waited for. */
        char *answer = client_until(fd, 200, NULL);
        assert_int_not_equal(client_status(answer), 200);
        assert_null(strstr(answer, "ttrace"));
        free(answer);
        (void)close(fd);
        expect_alive();
    }
}

static size_t format_state_request(char out[512], const char *more)
{
    int n = snprintf(out, 512,
                     "GET /api/v1/traces/0/state HTTP/1.1\r\nHost: localhost:%u\r\n"
                     "Cookie: tensortrace_%u=%s\r\n%s\r\n",
                     c.port, c.port, c.secret, more);
    return (size_t)n;
}

static void test_slow(void **state)
{
    char text[512];
    (void)state;
    size_t n = format_state_request(text, "Connection: close\r\n");
    int fd = client_connect(&c);
    for (size_t i = 0; i < n; i++) {
        assert_true(client_send(fd, text + i, 1));
        if (i % 50 == 0) expect_alive(); /* others do not wait for it */
    }
    char *answer = client_rest(fd, NULL);
    assert_int_equal(client_status(answer), 200);
    free(answer);
    (void)close(fd);
}

static void test_gone(void **state)
{
    char text[512];
    (void)state;
    size_t n = format_state_request(text, "");
    for (size_t i = 0; i < 200; i++) {
        int fd = client_connect(&c);
        (void)client_send(fd, text, i % 4 == 0 ? n : n * (i % 4) / 4);
        (void)close(fd);
    }
    expect_alive();
}

static void test_pipelined(void **state)
{
    char one[512], last[512], all[8192] = "";
    (void)state;
    (void)format_state_request(one, "");
    (void)format_state_request(last, "Connection: close\r\n");
    for (int i = 0; i < 9; i++)
        (void)strcat(all, one);
    (void)strcat(all, last);
    char *answer = client_say(&c, all, strlen(all), NULL);
    size_t count = 0;
    for (const char *p = strstr(answer, "\"generation\":1"); p;
         p = strstr(p + 1, "\"generation\":1"))
        count++;
    assert_int_equal(count, 10);
    free(answer);
}

static void test_many(void **state)
{
    enum { MANY = 170 }; /* more than are answered at a time, fewer than can wait besides */
    static int fds[MANY];
    (void)state;
    for (int i = 0; i < 100; i++)
        fds[i] = client_connect(&c);
    expect_alive(); /* beside a hundred that say nothing */
    for (int i = 100; i < MANY; i++)
        fds[i] = client_connect(&c);
    for (int i = 0; i < MANY; i++)
        (void)close(fds[i]);
    expect_alive();
}

enum { HALVES = 200 };
static int halves[HALVES];
static atomic_bool trickles;

/* Another byte of each, for as long as somebody asks. */
static void *trickle(void *unused)
{
    (void)unused;
    while (atomic_load(&trickles)) {
        for (int i = 0; i < HALVES; i++)
            (void)client_send(halves[i], "a", 1);
        (void)poll(NULL, 0, 100);
    }
    return NULL;
}

/* More halves of requests than there are places for, none of which ever is idle. */
static void test_halves_keep_nobody_out(void **state)
{
    pthread_t thread;
    (void)state;
    for (int i = 0; i < HALVES; i++) {
        halves[i] = client_connect(&c);
        (void)client_send(halves[i], "GET /api/v1 HTTP/1.1\r\nX: ", 26);
    }
    atomic_store(&trickles, true);
    assert_int_equal(pthread_create(&thread, NULL, trickle, NULL), 0);
    expect_alive();
    expect_alive();
    atomic_store(&trickles, false);
    (void)pthread_join(thread, NULL);
    for (int i = 0; i < HALVES; i++)
        (void)close(halves[i]);
    expect_alive();
}

static void test_port_in_use(void **state)
{
    static const char *const paths[] = {TRACE};
    tt_serve_options o = {.paths = paths, .n_paths = 1, .port = c.port};
    tt_server *second;
    tt_error err;
    (void)state;
    assert_int_equal(tt_server_start(&o, &second, &err), TT_E_IO);
    assert_null(second);
    assert_non_null(strstr(err.message, "--port"));
}

static void test_bad_traces(void **state)
{
    static const char *const bad[] = {TT_SOURCE_DIR "/tests/golden/bad-magic.ttrace",
                                      TT_SOURCE_DIR "/tests/golden/bad-empty.ttrace",
                                      TT_SOURCE_DIR "/nothing.ttrace", TT_SOURCE_DIR};
    tt_server *second;
    tt_error err;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *const paths[] = {TRACE, bad[i]};
        tt_serve_options o = {.paths = paths, .n_paths = 2};
        assert_int_not_equal(tt_server_start(&o, &second, &err), TT_OK);
        assert_null(second);
        const char *slash = strrchr(bad[i], '/');
        assert_non_null(strstr(err.message, slash));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_asks),
        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_errors_say_what),
        cmocka_unit_test(test_foreign),
        cmocka_unit_test(test_not_let_in),
        cmocka_unit_test(test_opening),
        cmocka_unit_test(test_methods),
        cmocka_unit_test(test_head),
        cmocka_unit_test(test_assets),
        cmocka_unit_test(test_oversize),
        cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_slow),
        cmocka_unit_test(test_gone),
        cmocka_unit_test(test_pipelined),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_halves_keep_nobody_out),
        cmocka_unit_test(test_port_in_use),
        cmocka_unit_test(test_bad_traces),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
