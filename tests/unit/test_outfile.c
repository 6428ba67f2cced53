#include "tests.h"

#include "base/outfile.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/tt-outfile-XXXXXX";
static tt_outfile file;
static tt_error error;

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

static void put(const char *path, const char *content)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(content, f);
    assert_int_equal(fclose(f), 0);
}

static void expect_content(const char *path, const char *wanted)
{
    char got[64] = "";
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    got[fread(got, 1, sizeof got - 1, f)] = '\0';
    (void)fclose(f);
    assert_string_equal(got, wanted);
}

static int files_here(void)
{
    int n = 0;
    DIR *d = opendir(".");
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));)
        n += e->d_name[0] != '.';
    (void)closedir(d);
    return n;
}

static bool has_nameless_files(void)
{
    int fd = open(".", O_WRONLY | O_TMPFILE, 0600);
    if (fd >= 0) (void)close(fd);
    return fd >= 0;
}

static void nothing_stays_of_a_killed_program(void **state)
{
    int status = 0;
    (void)state;
    if (!has_nameless_files()) skip();
    pid_t pid = fork();
    if (pid == 0) {
        if (tt_outfile_open(&file, "out", false, &error) != TT_OK) _exit(1);
        (void)fputs("half", file.stream);
        (void)fflush(file.stream);
        (void)raise(SIGKILL);
    }
    assert_true(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
    assert_int_equal(files_here(), 0);
}

static void appears_at_commit(void **state)
{
    struct stat st;
    (void)state;
    mode_t old = umask(027);
    assert_int_equal(tt_outfile_open(&file, "a", false, &error), TT_OK);
    fputs("hello", file.stream);
    assert_int_equal(access("a", F_OK), -1);
    assert_int_equal(tt_outfile_commit(&file, &error), TT_OK);
    umask(old);
    expect_content("a", "hello");
    assert_int_equal(stat("a", &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    assert_int_equal(files_here(), 1);
    tt_outfile_abandon(&file); /* harmless now */
    expect_content("a", "hello");
    unlink("a");
}

static void abandon_leaves_nothing(void **state)
{
    (void)state;
    put("a", "old");
    assert_int_equal(tt_outfile_open(&file, "a", true, &error), TT_OK);
    fputs("new", file.stream);
    tt_outfile_abandon(&file);
    expect_content("a", "old");
    assert_int_equal(files_here(), 1);
    unlink("a");
}

static void existing_is_kept_unless_forced(void **state)
{
    (void)state;
    put("a", "old");
    assert_int_equal(tt_outfile_open(&file, "a", false, &error), TT_E_EXISTS);
    assert_non_null(strstr(error.message, "--force"));
    assert_int_equal(tt_outfile_open(&file, "a", true, &error), TT_OK);
    fputs("new", file.stream);
    assert_int_equal(tt_outfile_commit(&file, &error), TT_OK);
    expect_content("a", "new");
    unlink("a");
}

static void a_file_that_came_meanwhile_is_kept(void **state)
{
    (void)state;
    assert_int_equal(tt_outfile_open(&file, "a", false, &error), TT_OK);
    fputs("mine", file.stream);
    put("a", "theirs");
    assert_int_equal(tt_outfile_commit(&file, &error), TT_E_EXISTS);
    expect_content("a", "theirs");
    assert_int_equal(files_here(), 1);
    unlink("a");
}

static void link_stays_a_link(void **state)
{
    struct stat st;
    (void)state;
    put("target", "old");
    assert_int_equal(symlink("target", "link"), 0);
    assert_int_equal(tt_outfile_open(&file, "link", true, &error), TT_OK);
    fputs("new", file.stream);
    assert_int_equal(tt_outfile_commit(&file, &error), TT_OK);
    assert_int_equal(lstat("link", &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    expect_content("target", "new");
    unlink("link");
    unlink("target");
}

static void devices_are_written_directly(void **state)
{
    struct stat st;
    (void)state;
    assert_int_equal(tt_outfile_open(&file, "/dev/null", false, &error), TT_OK);
    fputs("gone", file.stream);
    assert_int_equal(tt_outfile_commit(&file, &error), TT_OK);
    assert_int_equal(stat("/dev/null", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
}

static void failures_have_names(void **state)
{
    (void)state;
    assert_int_equal(tt_outfile_open(&file, "no/such/a", false, &error), TT_E_IO);
    assert_non_null(strstr(error.message, "folder no/such does not exist"));
    assert_int_equal(tt_outfile_open(&file, ".", true, &error), TT_E_USAGE);
    assert_int_equal(tt_outfile_open(&file, "/dev/full", false, &error), TT_OK);
    fputs("x", file.stream);
    assert_int_equal(tt_outfile_commit(&file, &error), TT_E_IO);
    assert_non_null(strstr(error.message, "/dev/full: No space left on device"));
    assert_int_equal(files_here(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_stays_of_a_killed_program),
        cmocka_unit_test(appears_at_commit),
        cmocka_unit_test(abandon_leaves_nothing),
        cmocka_unit_test(existing_is_kept_unless_forced),
        cmocka_unit_test(a_file_that_came_meanwhile_is_kept),
        cmocka_unit_test(link_stays_a_link),
        cmocka_unit_test(devices_are_written_directly),
        cmocka_unit_test(failures_have_names),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
