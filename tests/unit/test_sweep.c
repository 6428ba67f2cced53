/* What a killed process leaves in /dev/shm, and when it goes. */
#include "tests.h"

#include "record/recorder.h"
#include "record/recover.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/tt-sweep-XXXXXX";

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

static char area[TT_AREA_PATH_MAX];
static pid_t process;

/* In the child: opens in/t.ttrace, tells where the area is, and waits to be killed. */
static void __attribute__((noreturn)) record(int to_parent, bool closes)
{
    tt_recorder *r;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) _exit(1);
    const tt_recorder_options o = {.path = "in/t.ttrace"};
    if (tt_recorder_open(&r, &o, NULL) != TT_OK) _exit(1);
    char path[TT_AREA_PATH_MAX] = "";
    memcpy(path, tt_recorder_area(r)->path, sizeof path);
    for (int fd = 3; closes && fd < 4096; fd++)
        if (fd != to_parent) (void)close(fd);
    if (write(to_parent, path, sizeof path) != (ssize_t)sizeof path) _exit(1);
    for (;;)
        (void)pause();
}

static void begin(bool closes)
{
    int ends[2];
    assert_int_equal(mkdir("in", 0700), 0);
    assert_int_equal(pipe(ends), 0);
    process = fork();
    if (process == 0) record(ends[1], closes);
    (void)close(ends[1]);
    assert_int_equal(read(ends[0], area, sizeof area), sizeof area);
    (void)close(ends[0]);
    if (strncmp(area, "/dev/shm/", 9) != 0) skip();
    (void)tt_sweep(); /* of others */
    assert_int_equal(access(area, F_OK), 0);
}

static void end(void)
{
    assert_int_equal(kill(process, SIGKILL), 0);
    assert_int_equal(waitpid(process, NULL, 0), process);
}

static bool stays(void)
{
    (void)tt_sweep();
    return access(area, F_OK) == 0;
}

static void remove_trace(void)
{
    assert_int_equal(unlink("in/t.ttrace.part"), 0);
    assert_int_equal(rmdir("in"), 0);
}

static void an_area_goes_with_its_folder(void **state)
{
    (void)state;
    begin(false);
    end();
    assert_true(stays()); /* for `recover` */
    remove_trace();
    assert_false(stays());
}

static void an_area_goes_with_its_trace(void **state)
{
    (void)state;
    begin(false);
    end();
    assert_int_equal(unlink("in/t.ttrace.part"), 0);
    assert_false(stays());
    assert_int_equal(rmdir("in"), 0);
}

/* Whether it holds its lock, or has closed all it did not open. */
static void a_process_that_lives_keeps_its_area(void **state)
{
    (void)state;
    for (int closes = 0; closes < 2; closes++) {
        begin(closes);
        assert_int_equal(rename("in", "moved"), 0);
        assert_true(stays());
        end();
        assert_int_equal(rename("moved", "in"), 0);
        assert_true(stays());
        remove_trace();
        assert_false(stays());
    }
}

/* As when the disk was taken out: what is left in its place is of another file system. */
static void the_area_of_a_trace_on_a_disk_that_is_away_stays(void **state)
{
    tt_area_map map;
    tt_error err;
    (void)state;
    begin(false);
    end();
    assert_int_equal(tt_area_open(&map, area, &err), TT_OK);
    uint64_t here = map.area->trace_device;
    assert_true(here != 0);
    map.area->trace_device = here + 1;
    assert_int_equal(unlink("in/t.ttrace.part"), 0);
    assert_true(stays());
    assert_int_equal(rmdir("in"), 0);
    assert_true(stays());
    map.area->trace_device = here;
    tt_area_unmap(&map);
    assert_false(stays());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_area_goes_with_its_folder),
        cmocka_unit_test(an_area_goes_with_its_trace),
        cmocka_unit_test(a_process_that_lives_keeps_its_area),
        cmocka_unit_test(the_area_of_a_trace_on_a_disk_that_is_away_stays),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
