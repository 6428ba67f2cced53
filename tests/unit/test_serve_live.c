/* A trace that grows while it is served, and asked for by many at once. */
#include "serve_client.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

#define TRACE TT_SOURCE_DIR "/tests/golden/good-experts.ttrace"
#define CLIENTS 4
#define STEPS 4
#define LOOKS 1200 /* of 50 ms: a minute */

static char folder[64], finished[96], unfinished[128];
static char *whole;
static size_t whole_size;
static client_of c;
static atomic_bool enough;
static atomic_int answers, failures;

static void read_whole(void)
{
    struct stat st;
    int fd = open(TRACE, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    whole_size = (size_t)st.st_size;
    whole = malloc(whole_size);
    assert_non_null(whole);
    assert_int_equal(read(fd, whole, whole_size), (ssize_t)whole_size);
    (void)close(fd);
}

static void append(const char *path, size_t from, size_t to)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, whole + from, to - from), (ssize_t)(to - from));
    (void)close(fd);
}

static int start(void **state)
{
    static const char *paths[1];
    (void)state;
    (void)snprintf(folder, sizeof folder, "serve-live-%ld", (long)getpid());
    (void)snprintf(finished, sizeof finished, "%s/run.ttrace", folder);
    (void)snprintf(unfinished, sizeof unfinished, "%s.part", finished);
    if (mkdir(folder, 0700) != 0) return -1;
    read_whole();
    paths[0] = finished;
    tt_serve_options o = {.paths = paths, .n_paths = 1, .live = true, .workers = 3};
    if (tt_server_start(&o, &c.server, NULL) != TT_OK) return -1;
    client_learn(&c);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    tt_server_stop(c.server);
    (void)unlink(finished);
    (void)unlink(unfinished);
    (void)rmdir(folder);
    free(whole);
    return 0;
}

static char *ask_state(void)
{
    char *answer = client_ask(&c, "GET", "/api/v1/traces/0/state", "", NULL);
    assert_int_equal(client_status(answer), 200);
    return answer;
}

static unsigned generation_in(const char *answer)
{
    unsigned n = 0;
    const char *at = strstr(answer, "\"generation\":");
    assert_non_null(at);
    assert_int_equal(sscanf(at, "\"generation\":%u", &n), 1);
    return n;
}

/* Asks until the answer holds the text. */
static unsigned await(const char *text)
{
    for (int i = 0; i < LOOKS; i++) {
        char *answer = ask_state();
        unsigned n = generation_in(answer);
        bool found = strstr(answer, text) != NULL;
        free(answer);
        if (found) return n;
        (void)usleep(50000);
    }
    fail_msg("never: %s", text);
    return 0;
}

static void await_reading(const char *path)
{
    char text[160];
    (void)snprintf(text, sizeof text, "\"reading\":\"%s\"", path);
    (void)await(text);
}

static void *ask_again_and_again(void *unused)
{
    static const char *const targets[] = {"/api/v1/traces/0/summary", "/api/v1/traces/0/tensors",
                                          "/api/v1", "/api/v1/traces/0/state"};
    (void)unused;
    for (unsigned i = 0; !atomic_load(&enough); i++) {
        char *answer = client_ask(&c, "GET", targets[i % 4], "", NULL);
        int status = client_status(answer);
        if (status != 200) (void)atomic_fetch_add(&failures, 1);
        (void)atomic_fetch_add(&answers, 1);
        free(answer);
    }
    return NULL;
}

static void test_waits(void **state)
{
    (void)state;
    assert_int_equal(await("\"state\":\"waiting\""), 0);
    char *answer = client_ask(&c, "GET", "/api/v1/traces/0/summary", "", NULL);
    assert_int_equal(client_status(answer), 503);
    assert_non_null(strstr(answer, "\r\nRetry-After: 1\r\n"));
    assert_non_null(strstr(client_body(answer), "waiting for it"));
    free(answer);
}

/* Less than a header is no trace yet, and no failure. */
static void test_begins(void **state)
{
    (void)state;
    append(unfinished, 0, 10);
    (void)await("header is cut off");
    char *answer = ask_state();
    assert_int_equal(generation_in(answer), 0);
    assert_non_null(strstr(answer, "\"state\":\"waiting\""));
    free(answer);
}

static void test_grows(void **state)
{
    pthread_t clients[CLIENTS];
    size_t at = whole_size / 3;
    (void)state;
    append(unfinished, 10, at);
    unsigned before = await("\"state\":\"live\"");
    assert_true(before >= 1);
    for (int i = 0; i < CLIENTS; i++)
        assert_int_equal(pthread_create(&clients[i], NULL, ask_again_and_again, NULL), 0);
    for (size_t step = 1; step <= STEPS; step++) {
        char text[64];
        size_t to = whole_size / 3 + (whole_size * 2 / 3) * step / (STEPS + 1);
        append(unfinished, at, to);
        at = to;
        (void)snprintf(text, sizeof text, "\"size_bytes\":%zu", at);
        unsigned now = await(text);
        assert_true(now > before);
        before = now;
    }
    /* It may be read to its end before it has its name. */
    append(unfinished, at, whole_size);
    assert_true(await("\"state\":\"ended\"") > before);
    await_reading(unfinished);
    assert_int_equal(rename(unfinished, finished), 0);
    await_reading(finished);
    atomic_store(&enough, true);
    for (int i = 0; i < CLIENTS; i++)
        (void)pthread_join(clients[i], NULL);
    assert_int_equal(atomic_load(&failures), 0);
    assert_true(atomic_load(&answers) > CLIENTS);
    char *answer = client_ask(&c, "GET", "/api/v1/traces/0/summary", "", NULL);
    assert_non_null(strstr(answer, "\"complete\":true"));
    assert_non_null(strstr(answer, "\"growing\":false"));
    free(answer);
}

/* Recorded once more under the same name: the newer one is shown, from its first part on. */
static void test_recorded_anew(void **state)
{
    (void)state;
    unsigned before = await("\"state\":\"ended\"");
    append(unfinished, 0, whole_size / 2);
    assert_true(await("\"state\":\"live\"") > before);
    assert_int_equal(unlink(unfinished), 0);
    (void)await("\"state\":\"ended\"");
}

/* What is gone can still be looked at, and is said to be gone. */
static void test_gone(void **state)
{
    (void)state;
    assert_int_equal(unlink(finished), 0);
    unsigned n = await("is gone");
    char *answer = client_ask(&c, "GET", "/api/v1/traces/0/summary", "", NULL);
    assert_int_equal(client_status(answer), 200);
    free(answer);
    assert_int_equal(await("is gone"), n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waits), cmocka_unit_test(test_begins),
        cmocka_unit_test(test_grows), cmocka_unit_test(test_recorded_anew),
        cmocka_unit_test(test_gone),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
