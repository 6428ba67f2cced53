/* Systems that refuse what is usual: little address space, system calls that are forbidden. Each
 * recorder is a child process. */
#include "tests.h"

#include "cli/spawn.h"
#include "record/recorder.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/tt-refusing-XXXXXX";

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

/* Runs it in a process of its own; what it returns. */
static int in_child(int (*program)(void))
{
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) _exit(program());
    int status = -1;
    assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* The system call is answered with EPERM from here on. */
static bool forbid(int number)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const struct sock_fprog program = {sizeof code / sizeof *code, code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

#define CANNOT_FORBID 77

static int without_fallocate(void)
{
    tt_recorder *recorder;
    tt_session *session;
    tt_error err = {.message = ""};
    char path[256];
    int lock;
    if (!forbid(SYS_fallocate)) return CANNOT_FORBID;
    if (tt_session_create(&session, path, sizeof path, false, &lock, &err) != TT_OK) return 2;
    (void)unlink(path);
    const tt_recorder_options o = {.path = "f.ttrace"};
    if (tt_recorder_open(&recorder, &o, &err) != TT_OK) return 3;
    tt_area_map *map = tt_recorder_area(recorder);
    tt_ring *ring = tt_area_claim(map, 1);
    if (!ring || !atomic_load(&ring->reserved)) return 4;
    if (!tt_area_reserve_detail(map, (uint32_t)(ring - map->rings))) return 5;
    return tt_recorder_close(recorder, true, &err) == TT_OK ? 0 : 6;
}

static void memory_is_had_without_fallocate(void **state)
{
    (void)state;
    int code = in_child(without_fallocate);
    if (code == CANNOT_FORBID) skip();
    assert_int_equal(code, 0);
}

static int without_clone(void)
{
    char *argv[] = {(char *)(uintptr_t) "true", NULL};
    tt_spawn_end end;
    tt_error err = {.message = ""};
    if (!forbid(SYS_clone)) return CANNOT_FORBID;
    if (tt_spawn_and_wait(argv, NULL, NULL, &end, &err) != TT_E_IO) return 2;
    return strstr(err.message, "cannot start a process for true: ") ? 0 : 3;
}

static void a_process_that_cannot_be_made_is_told(void **state)
{
    (void)state;
    int code = in_child(without_clone);
    if (code == CANNOT_FORBID) skip();
    assert_int_equal(code, 0);
}

static uint64_t mapped_bytes(void)
{
    unsigned long long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%llu", &pages) != 1) abort();
    (void)fclose(f);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t left_bytes; /* of address space, for the recorder and the program */

/* How many rings it has; 255: it was refused with a reason; else what is wrong, from 200 on. */
static int in_little_space(void)
{
    tt_recorder *recorder;
    tt_error err = {.message = ""};
    const tt_recorder_options o = {.path = "l.ttrace"};
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0) return 200;
    const uint64_t before = mapped_bytes();
    limit.rlim_cur = before + left_bytes;
    if (setrlimit(RLIMIT_AS, &limit) != 0) return 201;
    tt_status status = tt_recorder_open(&recorder, &o, &err);
    if (status == TT_E_LIMIT && strstr(err.message, "ulimit -v") && access("l.ttrace.part", F_OK))
        return 255;
    if (status != TT_OK) return 202;
    /* Three quarters are left for the program. */
    (void)usleep(50000); /* the drain's thread has begun to allocate */
    if (mapped_bytes() - before > left_bytes / 4 + (64u << 20)) return 203;
    uint32_t n = tt_recorder_area(recorder)->area->n_rings;
    if (!tt_area_claim(tt_recorder_area(recorder), 1)) return 204;
    if (tt_recorder_close(recorder, true, &err) != TT_OK) return 205;
    return n < 200 ? (int)n : 206;
}

static void little_address_space_is_left_to_the_program(void **state)
{
    (void)state;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    skip(); /* they map more than any limit */
#endif
    left_bytes = (uint64_t)150 << 20;
    assert_int_equal(in_child(in_little_space), 255);
    left_bytes = (uint64_t)1 << 30;
    assert_in_range(in_child(in_little_space), 16, 199);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_had_without_fallocate),
        cmocka_unit_test(a_process_that_cannot_be_made_is_told),
        cmocka_unit_test(little_address_space_is_left_to_the_program),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
