/* What a run changes of the system is put back, also when tensortrace is killed meanwhile. A folder
 * stands in for the kernel's files. */
#include "experiment/conditions.h"
#include "experiment/restorer.h"
#include "tests.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char folder[64], setting[96], group[96];

static void write_setting(const char *text)
{
    FILE *f = fopen(setting, "we");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* The kernel replaces the whole value, a file what is written: all values here are as long. */
static bool is_setting(const char *text)
{
    char now[16] = "";
    FILE *f = fopen(setting, "re");
    assert_non_null(f);
    (void)fgets(now, sizeof now, f);
    assert_int_equal(fclose(f), 0);
    return strcmp(now, text) == 0;
}

static bool is_gone(const char *path)
{
    return access(path, F_OK) != 0;
}

static int set_up(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/tt-conditions-XXXXXX");
    if (!mkdtemp(folder)) return -1;
    (void)snprintf(setting, sizeof setting, "%s/setting", folder);
    (void)snprintf(group, sizeof group, "%s/group", folder);
    write_setting("128");
    return mkdir(group, 0700);
}

static int tear_down(void **state)
{
    (void)state;
    (void)rmdir(group);
    (void)unlink(setting);
    return rmdir(folder);
}

static void begin(tt_restorer *r)
{
    tt_error err;
    assert_int_equal(tt_restorer_begin(r, -1, &err), TT_OK);
    assert_true(tt_restorer_file(r, setting, "128"));
    assert_true(tt_restorer_group(r, group));
    write_setting("999");
}

static void the_end_puts_back(void **state)
{
    (void)state;
    tt_restorer r;
    begin(&r);
    assert_true(is_setting("999"));
    assert_false(is_gone(group));
    tt_restorer_end(&r);
    assert_true(is_setting("128"));
    assert_true(is_gone(group));
    tt_restorer_end(&r); /* nothing more */
    assert_false(tt_restorer_file(&r, setting, "128"));
}

/* Even while another process of ours still holds the pipe. */
static void the_end_does_not_wait_for_others(void **state)
{
    (void)state;
    tt_restorer r;
    begin(&r);
    const pid_t other = fork();
    assert_true(other >= 0);
    if (other == 0) {
        (void)pause();
        _exit(0);
    }
    tt_restorer_end(&r);
    assert_true(is_setting("128"));
    assert_int_equal(kill(other, SIGKILL), 0);
    assert_int_equal(waitpid(other, NULL, 0), other);
}

static void a_kill_puts_back(void **state)
{
    (void)state;
    const struct timespec pause = {0, 10000000};
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        tt_restorer r;
        begin(&r);
        (void)kill(getpid(), SIGKILL);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    for (int i = 0; i < 1000 && !(is_setting("128") && is_gone(group)); i++)
        (void)nanosleep(&pause, NULL);
    assert_true(is_setting("128"));
    assert_true(is_gone(group));
}

/* Whoever may claim the settings finds them as they were, also after a kill. */
static void a_claim_ends_when_all_is_put_back(void **state)
{
    (void)state;
    const struct timespec pause = {0, 10000000};
    tt_error err;
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        tt_restorer r;
        assert_int_equal(tt_conditions_claim(folder, &err), TT_OK);
        const int claim = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(claim >= 0);
        assert_int_equal(flock(claim, LOCK_EX | LOCK_NB), -1);
        (void)close(claim);
        /* The lock that the restorer keeps: that of another folder, which stands for the machine's.
         */
        const int kept = open(group, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_int_equal(flock(kept, LOCK_EX | LOCK_NB), 0);
        assert_int_equal(tt_restorer_begin(&r, kept, &err), TT_OK);
        assert_true(tt_restorer_file(&r, setting, "128"));
        write_setting("999");
        (void)kill(r.pid, SIGSTOP);
        assert_int_equal(write(ready[1], "1", 1), 1);
        assert_int_equal(write(ready[1], &r.pid, sizeof r.pid), sizeof r.pid);
        (void)kill(getpid(), SIGKILL);
    }
    pid_t restorer;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(read(ready[0], &restorer, sizeof restorer), sizeof restorer);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    const int lock = open(group, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(flock(lock, LOCK_EX | LOCK_NB), -1);
    assert_int_equal(kill(restorer, SIGCONT), 0);
    int taken = -1;
    for (int i = 0; i < 1000 && (taken = flock(lock, LOCK_EX | LOCK_NB)) != 0; i++)
        (void)nanosleep(&pause, NULL);
    assert_int_equal(taken, 0);
    assert_true(is_setting("128"));
    (void)close(lock);
    (void)close(ready[0]);
    (void)close(ready[1]);
    /* The other one, that the claim itself took, has gone with its process. */
    const int other = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(flock(other, LOCK_EX | LOCK_NB), 0);
    assert_int_equal(tt_conditions_claim(folder, &err), TT_E_EXISTS);
    assert_non_null(strstr(err.message, "another"));
    (void)close(other);
    assert_int_equal(tt_conditions_claim("/none", &err), TT_OK);
}

/* Signals to the whole group of processes, as a terminal sends them, do not reach it. */
static void a_signal_to_all_does_not_stop_it(void **state)
{
    (void)state;
    tt_restorer r;
    begin(&r);
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        assert_int_equal(kill(r.pid, signals[i]), 0);
    tt_restorer_end(&r);
    assert_true(is_setting("128"));
}

static void what_is_too_long_is_not_told(void **state)
{
    (void)state;
    char path[TT_RESTORER_PATH + 8];
    tt_restorer r;
    begin(&r);
    memset(path, 'a', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    assert_false(tt_restorer_group(&r, path));
    assert_false(tt_restorer_file(&r, setting, ""));
    assert_false(tt_restorer_file(&r, setting, "0123456789012345678901234567890123456789"));
    tt_restorer_end(&r);
    assert_true(is_setting("128"));
}

static bool stop(void *context, uint64_t done, uint64_t total)
{
    uint64_t *calls = context;
    assert_true(done <= total);
    (*calls)++;
    return false;
}

/* Cold and warm, of a file of three pages; reading it can be stopped. */
static void a_start_is_cold_or_warm(void **state)
{
    (void)state;
    char path[96];
    char *const files[] = {path};
    tt_held held;
    tt_error err;
    uint64_t calls = 0, bytes;
    const tt_conditions as_is = {.readahead_bytes = -1, .swappiness = -1};
    tt_conditions wish = as_is;
    (void)snprintf(path, sizeof path, "%s/model", folder);
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, 3L * sysconf(_SC_PAGESIZE)), 0);
    assert_int_equal(close(fd), 0);
    wish.start = TT_START_WARM;
    assert_int_equal(tt_conditions_begin(&held, &wish, files, 1, NULL, NULL, &err), TT_OK);
    assert_true(held.has_resident);
    assert_int_equal(held.resident_bytes, 3L * sysconf(_SC_PAGESIZE));
    assert_string_equal(held.unmet, "");
    tt_conditions_end(&held);
    assert_int_equal(tt_conditions_begin(&held, &wish, files, 1, stop, &calls, &err), TT_E_IO);
    assert_int_equal(calls, 1);
    tt_conditions_end(&held);
    wish.start = TT_START_COLD;
    assert_int_equal(tt_conditions_begin(&held, &wish, files, 1, NULL, NULL, &err), TT_OK);
    assert_int_equal(tt_conditions_resident(path, &bytes, &err), TT_OK);
    assert_int_equal(bytes, held.resident_bytes);
    assert_true((bytes > 0) == (strstr(held.unmet, "cold_start") != NULL)); /* tmpfs keeps it */
    tt_conditions_end(&held);
    assert_int_equal(tt_conditions_begin(&held, &as_is, files, 1, NULL, NULL, &err), TT_OK);
    assert_string_equal(held.unmet, "");
    tt_conditions_end(&held);
    assert_int_equal(unlink(path), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {TEST(the_end_puts_back),
                                       TEST(the_end_does_not_wait_for_others),
                                       TEST(a_kill_puts_back),
                                       TEST(a_claim_ends_when_all_is_put_back),
                                       TEST(a_signal_to_all_does_not_stop_it),
                                       TEST(what_is_too_long_is_not_told),
                                       TEST(a_start_is_cold_or_warm)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
