/* What is recorded is in the trace's file soon, whatever then becomes of the process and of the
 * shared memory; a disk that is full for a while; a drain that has nothing to do. */
#include "tests.h"

#include "analyze/verify/verify.h"
#include "record/recover.h"
#include "tensortrace/read.h"
#include "tensortrace/record.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The drain once wrote what had not piled up every ten seconds. */
#define SOON_S 8

static char folder[] = "/tmp/tt-on-disk-XXXXXX";

static int enter_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave_folder(void **state)
{
    (void)state;
    return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

static float weights[8 * 4], input[8], hidden[4];

static void must(bool ok)
{
    if (!ok) _exit(9);
}

static void start(uint64_t thread_bytes)
{
    const tt_record_options o = {.path = "t.ttrace", .thread_bytes = thread_bytes};
    must(tt_record_start(&o, NULL) == TT_OK);
}

static void one_op(void)
{
    tt_record_tensor w = {.name = "w", .n_dims = 2, .ne = {8, 4}, .data = weights};
    tt_record_tensor x = {.name = "x", .n_dims = 1, .ne = {8}, .data = input};
    tt_record_tensor h = {.name = "h",
                          .op = "MUL_MAT",
                          .n_dims = 1,
                          .ne = {4},
                          .data = hidden,
                          .n_sources = 2,
                          .sources = {&w, &x}};
    tt_op_begin(&h);
    tt_op_end();
}

static void forward(int32_t token, int32_t position)
{
    tt_record_batch b = {.n_tokens = 1, .tokens = &token, .positions = &position};
    tt_batch_begin(&b);
    one_op();
    one_op();
    tt_batch_end(0);
}

/* --- the process that records --- */

static int told[2]; /* it has done its part */

static pid_t begin(void (*program)(void))
{
    (void)fflush(NULL);
    assert_int_equal(pipe(told), 0);
    pid_t pid = fork();
    if (pid == 0) {
        must(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
        program();
        _exit(0);
    }
    assert_true(pid > 0);
    char byte;
    (void)close(told[1]);
    assert_int_equal(read(told[0], &byte, 1), 1);
    (void)close(told[0]);
    return pid;
}

static void tell(void)
{
    must(write(told[1], "x", 1) == 1);
}

static void __attribute__((noreturn)) wait_to_be_killed(void)
{
    for (;;)
        (void)pause();
}

static void end(pid_t pid)
{
    int status;
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
}

/* --- what is in the file --- */

static uint64_t records_in(const char *path)
{
    tt_reader *reader;
    tt_reader_summary s = {0};
    if (tt_reader_open(&reader, path, NULL) != TT_OK) return 0;
    tt_reader_get_summary(reader, &s);
    tt_reader_close(reader);
    return s.records;
}

static uint64_t now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* As `serve --live` and `info` see it, while it is written. */
static void expect_soon(uint64_t records)
{
    uint64_t until = now_ns() + SOON_S * 1000000000ull, got = 0;
    while ((got = records_in("t.ttrace.part")) < records && now_ns() < until)
        (void)usleep(20000);
    assert_int_equal(got, records);
}

/* Those of traces in this folder: an area begins with the trace's path, among other things. */
static void remove_areas(void)
{
    char path[300], begin[4096];
    unsigned n = 0;
    DIR *dir = opendir("/dev/shm");
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        (void)snprintf(path, sizeof path, "/dev/shm/%.255s", e->d_name);
        FILE *f = strstr(path, ".area") ? fopen(path, "r") : NULL;
        if (!f) continue;
        size_t size = fread(begin, 1, sizeof begin, f);
        (void)fclose(f);
        if (!memmem(begin, size, folder, strlen(folder))) continue;
        assert_int_equal(unlink(path), 0);
        n++;
    }
    (void)closedir(dir);
    assert_int_equal(n, 1);
}

static void verified(const char *trace)
{
    tt_model *m;
    tt_error err = {.message = ""};
    tt_check checks[TT_CHECKS_MAX];
    size_t n;
    if (tt_model_open(trace, &m, &err) != TT_OK) fail_msg("%s", err.message);
    assert_int_equal(tt_verify(m, checks, &n, NULL, NULL, &err), TT_OK);
    for (size_t i = 0; i < n; i++)
        if (checks[i].verdict == TT_CHECK_FAILED)
            fail_msg("%s: %s", checks[i].name, checks[i].detail);
    tt_model_close(m);
}

static void recover(uint64_t records)
{
    tt_recover_report report;
    tt_error err = {.message = ""};
    if (tt_recover("t.ttrace.part", 0, &report, &err) != TT_OK) fail_msg("%s", err.message);
    assert_false(report.area_found);
    assert_int_equal(records_in("t.ttrace"), records);
    verified("t.ttrace");
    assert_int_equal(unlink("t.ttrace"), 0);
}

/* --- tests --- */

#define NOBODY 65534

/* As somebody who may be kept out of a folder, which root is not. */
static void keep_out(void)
{
    tt_error err = {.message = ""};
    if (geteuid() == 0) must(chown("closed", NOBODY, NOBODY) == 0 && seteuid(NOBODY) == 0);
    const tt_record_options o = {.path = "closed/t.ttrace"};
    must(tt_record_start(&o, NULL) == TT_OK);
    for (int i = 0; i < 5; i++)
        forward(i, i);
    must(chmod("closed", 0) == 0);
    must(tt_record_stop(&err) == TT_E_IO &&
         strstr(err.message, "closed/t.ttrace.part: Permission denied"));
    tell();
    wait_to_be_killed();
}

/* That a file cannot be looked for does not mean that it is gone: what was recorded stays. */
static void a_part_in_a_closed_folder_is_not_lost(void **state)
{
    tt_recover_report report;
    tt_error err = {.message = ""};
    (void)state;
    assert_int_equal(mkdir("closed", 0700), 0);
    assert_int_equal(chmod(".", 0755), 0);
    end(begin(keep_out));
    assert_int_equal(chmod("closed", 0700), 0);
    if (tt_recover("closed/t.ttrace.part", 0, &report, &err) != TT_OK) fail_msg("%s", err.message);
    assert_true(report.area_found);
    assert_int_equal(records_in("closed/t.ttrace"), 10);
    assert_int_equal(unlink("closed/t.ttrace") | rmdir("closed"), 0);
}

static void then_idle(void)
{
    start(0);
    for (int i = 0; i < 5; i++)
        forward(i, i);
    tell();
    wait_to_be_killed();
}

static void all_of_an_idle_program_is_in_the_file(void **state)
{
    (void)state;
    pid_t pid = begin(then_idle);
    expect_soon(10); /* its last op as well */
    end(pid);
    remove_areas();
    recover(10);
}

static void in_a_batch(void)
{
    start(0);
    forward(1, 0);
    tt_batch_begin(NULL);
    for (int i = 0; i < 3; i++)
        one_op();
    tell();
    wait_to_be_killed();
}

/* But for the op that may be under way. */
static void ops_of_a_batch_under_way_are_in_the_file(void **state)
{
    (void)state;
    pid_t pid = begin(in_a_batch);
    expect_soon(4);
    end(pid);
    remove_areas();
    recover(4);
}

static void disk_full_for_a_while(void)
{
    struct rlimit limit, all;
    start(8192); /* 256 records of a thread */
    forward(0, 0);
    must(getrlimit(RLIMIT_FSIZE, &all) == 0);
    limit = all;
    limit.rlim_cur = 100;
    must(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    (void)usleep(1500000); /* a write fails */
    must(setrlimit(RLIMIT_FSIZE, &all) == 0);
    for (int i = 1; i <= 3; i++) /* it goes on: more than the memory of a thread holds */
    {
        for (int k = 0; k < 50; k++)
            forward(i * 100 + k, i * 100 + k);
        (void)usleep(2500000);
    }
    must(tt_record_stop(NULL) == TT_OK);
    tell();
}

static void recording_goes_on_when_a_full_disk_has_room_again(void **state)
{
    (void)state;
    pid_t pid = begin(disk_full_for_a_while);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(records_in("t.ttrace"), 2 + 3 * 50 * 2);
    verified("t.ttrace");
    assert_int_equal(unlink("t.ttrace"), 0);
}

static atomic_bool opening, forking; /* a thread makes the trace's files; another forks */

/* The recorder asks for its random bytes when its file is there and locked. */
ssize_t getrandom(void *to, size_t size, unsigned flags)
{
    ssize_t n = syscall(SYS_getrandom, to, size, flags);
    if (!atomic_exchange(&opening, true))
        for (int i = 0; i < 500 && !atomic_load(&forking); i++)
            (void)usleep(10000);
    (void)usleep(100000);
    return n;
}

static void *record_one(void *unused)
{
    start(0);
    forward(0, 0);
    return unused;
}

/* Whether this process has a descriptor of the trace's file. */
static bool holds_part(void)
{
    char path[300], target[300];
    bool found = false;
    DIR *dir = opendir("/proc/self/fd");
    must(dir != NULL);
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        (void)snprintf(path, sizeof path, "/proc/self/fd/%.20s", e->d_name);
        ssize_t n = readlink(path, target, sizeof target - 1);
        target[n > 0 ? n : 0] = '\0';
        found |= strstr(target, "t.ttrace.part") != NULL;
    }
    (void)closedir(dir);
    return found;
}

static void fork_while_it_opens(void)
{
    pthread_t thread;
    int status = -1;
    must(pthread_create(&thread, NULL, record_one, NULL) == 0);
    while (!atomic_load(&opening))
        (void)usleep(1000);
    atomic_store(&forking, true);
    pid_t pid = fork();
    if (pid == 0) _exit(holds_part() ? 7 : 0);
    must(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    must(pthread_join(thread, NULL) == 0);
    must(holds_part());
    must(tt_record_stop(NULL) == TT_OK);
    tell();
}

/* Else `recover` would take it for being written for as long as the child lives. */
static void a_child_holds_no_file_that_was_being_made(void **state)
{
    (void)state;
#if defined(__SANITIZE_THREAD__)
    skip(); /* it does not let other threads run while one forks */
#endif
    pid_t pid = begin(fork_while_it_opens);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(records_in("t.ttrace"), 2);
    assert_int_equal(unlink("t.ttrace"), 0);
}

/* How often the drain's thread has gone to sleep so far. */
static long sleeps_of_drain(pid_t pid)
{
    char path[300], line[128];
    long n = -1;
    (void)snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *dir = opendir(path);
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        bool is_drain = false;
        (void)snprintf(path, sizeof path, "/proc/%d/task/%.20s/status", (int)pid, e->d_name);
        FILE *f = e->d_name[0] == '.' ? NULL : fopen(path, "r");
        while (f && fgets(line, sizeof line, f)) {
            is_drain |= strcmp(line, "Name:\ttt-drain\n") == 0;
            if (is_drain) (void)sscanf(line, "voluntary_ctxt_switches: %ld", &n);
        }
        if (f) (void)fclose(f);
    }
    (void)closedir(dir);
    assert_true(n >= 0);
    return n;
}

/* And it writes nothing. */
static void an_idle_drain_sleeps(void **state)
{
    (void)state;
#if defined(__SANITIZE_THREAD__)
    skip(); /* its own threads are more */
#endif
    pid_t pid = begin(then_idle);
    expect_soon(10);
    (void)usleep(2500000);
    struct stat before, after;
    assert_int_equal(stat("t.ttrace.part", &before), 0);
    long first = sleeps_of_drain(pid);
    uint64_t from_ns = now_ns();
    (void)usleep(2000000);
    long n = sleeps_of_drain(pid) - first;
    /* Four times a second, and some. */
    assert_in_range(n, 0, 4 * ((now_ns() - from_ns) / 1000000000u + 1) + 4);
    assert_int_equal(stat("t.ttrace.part", &after), 0);
    assert_int_equal(after.st_size, before.st_size);
    end(pid);
    remove_areas();
    recover(10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_of_an_idle_program_is_in_the_file),
        cmocka_unit_test(ops_of_a_batch_under_way_are_in_the_file),
        cmocka_unit_test(recording_goes_on_when_a_full_disk_has_room_again),
        cmocka_unit_test(a_child_holds_no_file_that_was_being_made),
        cmocka_unit_test(an_idle_drain_sleeps),
        cmocka_unit_test(a_part_in_a_closed_folder_is_not_lost),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
