#include "tests.h"

#include "base/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Of a file system that cannot exchange; renames back to an old name may fail too. */
static bool cannot_exchange, sync_fails;
static const char *never_named;

int renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
    if (cannot_exchange && flags) {
        errno = EINVAL;
        return -1;
    }
    return (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, flags);
}

int rename(const char *from, const char *to)
{
    if (never_named && strcmp(to, never_named) == 0 && strstr(from, ".old") == NULL) {
        errno = EACCES;
        return -1;
    }
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int syncfs(int fd)
{
    if (!sync_fails) return (int)syscall(SYS_syncfs, fd);
    errno = EIO;
    return -1;
}

static char folder[] = "/tmp/tt-outdir-XXXXXX";
static tt_outdir dir;
static tt_error error;

static int enter_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave_folder(void **state)
{
    (void)state;
    return chdir("/") == 0 && tt_outdir_remove(folder) ? 0 : -1;
}

static void put(const char *name, const char *content)
{
    FILE *f = tt_outdir_file(&dir, name, &error);
    assert_non_null(f);
    fputs(content, f);
    assert_int_equal(tt_outdir_close(f, name, &error), TT_OK);
}

static void expect(const char *path, const char *wanted)
{
    char got[64] = "";
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    got[fread(got, 1, sizeof got - 1, f)] = '\0';
    (void)fclose(f);
    assert_string_equal(got, wanted);
}

static bool exists(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

static void touch(const char *name)
{
    FILE *f = fopen(name, "w");
    assert_non_null(f);
    assert_int_equal(fclose(f), 0);
}

static void it_appears_when_it_is_whole(void **state)
{
    (void)state;
    assert_int_equal(tt_outdir_open(&dir, "a/b/out/", false, &error), TT_OK);
    char *temporary = strdup(dir.temporary);
    put("x.txt", "x");
    put("deep/er/y.txt", "y");
    assert_false(exists("a/b/out"));
    assert_int_equal(tt_outdir_commit(&dir, &error), TT_OK);
    expect("a/b/out/x.txt", "x");
    expect("a/b/out/deep/er/y.txt", "y");
    assert_false(exists(temporary));
    free(temporary);
}

/* As an interrupted export does, while threads still make files. */
static void a_folder_that_was_taken_away_stays_away(void **state)
{
    (void)state;
    assert_int_equal(tt_outdir_open(&dir, "taken", false, &error), TT_OK);
    put("deep/x.txt", "x");
    assert_true(tt_outdir_remove(dir.temporary));
    assert_null(tt_outdir_file(&dir, "deep/y.txt", &error));
    assert_null(tt_outdir_file(&dir, "z.txt", &error));
    assert_false(exists(dir.temporary));
    tt_outdir_abandon(&dir);
}

static void what_is_there_is_kept_without_force(void **state)
{
    (void)state;
    assert_int_equal(tt_outdir_open(&dir, "kept", false, &error), TT_OK);
    put("old", "old");
    assert_int_equal(tt_outdir_commit(&dir, &error), TT_OK);
    assert_int_equal(tt_outdir_open(&dir, "kept", false, &error), TT_E_EXISTS);
    assert_non_null(strstr(error.message, "--force"));
    assert_int_equal(tt_outdir_open(&dir, "kept", true, &error), TT_OK);
    put("old", "new");
    expect("kept/old", "old");
    tt_outdir_abandon(&dir);
    expect("kept/old", "old");
    assert_int_equal(tt_outdir_open(&dir, "kept", true, &error), TT_OK);
    put("old", "new");
    assert_int_equal(tt_outdir_commit(&dir, &error), TT_OK);
    expect("kept/old", "new");
}

/* What is replaced is what was written before, not a folder that holds other things. */
static void force_replaces_its_like_alone(void **state)
{
    (void)state;
    assert_int_equal(tt_outdir_open(&dir, "like", false, &error), TT_OK);
    put("graph_0001.dot.gz", "a");
    put("graph_0002.dot.gz", "b");
    assert_int_equal(tt_outdir_commit(&dir, &error), TT_OK);
    assert_int_equal(tt_outdir_open(&dir, "like", true, &error), TT_OK);
    put("graph_0001.dot", "c");
    assert_int_equal(tt_outdir_commit(&dir, &error), TT_OK);
    expect("like/graph_0001.dot", "c");
    assert_false(exists("like/graph_0002.dot.gz"));
    touch("like/model.gguf");
    assert_int_equal(tt_outdir_open(&dir, "like", true, &error), TT_OK);
    char *temporary = strdup(dir.temporary);
    put("graph_0001.dot", "d");
    assert_int_equal(tt_outdir_commit(&dir, &error), TT_E_EXISTS);
    assert_non_null(strstr(error.message, "model.gguf"));
    expect("like/graph_0001.dot", "c");
    assert_true(exists("like/model.gguf"));
    assert_false(exists(temporary));
    free(temporary);
    /* Neither the folder that one stands in nor one above it. */
    assert_int_equal(tt_outdir_open(&dir, ".", true, &error), TT_E_USAGE);
    assert_int_equal(tt_outdir_open(&dir, "..", true, &error), TT_E_USAGE);
    assert_int_equal(tt_outdir_open(&dir, "/", true, &error), TT_E_USAGE);
    /* An empty folder is anybody's. */
    assert_int_equal(mkdir("empty", 0777), 0);
    assert_int_equal(tt_outdir_open(&dir, "empty", true, &error), TT_OK);
    put("x", "x");
    assert_int_equal(tt_outdir_commit(&dir, &error), TT_OK);
    expect("empty/x", "x");
}

static void fill_deep(bool force)
{
    assert_int_equal(tt_outdir_open(&dir, "deep", force, &error), TT_OK);
    put("index.json", "x");
    put("graphs/token-0001.json", "x");
    put("graphs/token-0002.json", "x");
}

/* One of these in the folder, or in one below, and nothing is replaced or removed. */
static void foreign_things_are_found_on_any_level(void **state)
{
    (void)state;
    fill_deep(false);
    assert_int_equal(tt_outdir_commit(&dir, &error), TT_OK);
    static const char *const foreign[] = {"deep/graphs/notes.txt", "deep/graphs/token-0003.json/",
                                          "deep/traces/", "deep/graphs/index.json"};
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        size_t n = strlen(foreign[i]);
        bool is_folder = foreign[i][n - 1] == '/';
        if (is_folder) assert_int_equal(mkdir(foreign[i], 0777), 0);
        if (!is_folder) touch(foreign[i]);
        fill_deep(true);
        assert_int_equal(tt_outdir_commit(&dir, &error), TT_E_EXISTS);
        char name[64];
        (void)snprintf(name, sizeof name, "%.*s", (int)(n - is_folder - 5), foreign[i] + 5);
        assert_non_null(strstr(error.message, name));
        assert_true(exists(foreign[i]));
        assert_int_equal(remove(foreign[i]), 0);
    }
    /* A link is somebody's, whatever its name. */
    assert_int_equal(symlink("token-0001.json", "deep/graphs/token-0009.json"), 0);
    fill_deep(true);
    assert_int_equal(tt_outdir_commit(&dir, &error), TT_E_EXISTS);
    assert_int_equal(unlink("deep/graphs/token-0009.json"), 0);
    /* A file that is called as a folder is. */
    assert_true(tt_outdir_remove("deep/graphs"));
    touch("deep/graphs");
    fill_deep(true);
    assert_int_equal(tt_outdir_commit(&dir, &error), TT_E_EXISTS);
    assert_int_equal(unlink("deep/graphs"), 0);
    touch("deep/a");
    touch("deep/b");
    touch("deep/c");
    touch("deep/d");
    touch("deep/e");
    fill_deep(true);
    assert_int_equal(tt_outdir_commit(&dir, &error), TT_E_EXISTS);
    assert_non_null(strstr(error.message, " and 2 more,"));
    assert_true(exists("deep/a") && exists("deep/e") && exists("deep/index.json"));
}

/* A folder's own names are never foreign, however many have nothing in common. */
static void any_number_of_kinds_is_replaced(void **state)
{
    (void)state;
    for (int again = 0; again < 2; again++) {
        assert_int_equal(tt_outdir_open(&dir, "kinds", again, &error), TT_OK);
        for (char name[] = "aa.json"; name[0] <= 'z'; name[0]++)
            for (name[1] = 'a'; name[1] <= 'z'; name[1]++)
                put(name, again ? "new" : "old");
        assert_int_equal(tt_outdir_commit(&dir, &error), TT_OK);
    }
    expect("kinds/zz.json", "new");
}

/* A folder of hundreds of names that have nothing in common but their end. */
static void names_of_one_ending_are_of_one_kind(void **state)
{
    (void)state;
    assert_int_equal(tt_outdir_open(&dir, "ending", false, &error), TT_OK);
    put("embeddings.trace", "old");
    assert_int_equal(tt_outdir_commit(&dir, &error), TT_OK);
    for (int again = 0; again < 2; again++) {
        assert_int_equal(tt_outdir_open(&dir, "ending", true, &error), TT_OK);
        dir.ending = again ? ".trace" : NULL;
        put("logits.trace", "new");
        assert_int_equal(tt_outdir_commit(&dir, &error), again ? TT_OK : TT_E_EXISTS);
    }
    expect("ending/logits.trace", "new");
    assert_false(exists("ending/embeddings.trace"));
    touch("ending/x.ttrace");
    assert_int_equal(tt_outdir_open(&dir, "ending", true, &error), TT_OK);
    dir.ending = ".trace";
    put("logits.trace", "newer");
    assert_int_equal(tt_outdir_commit(&dir, &error), TT_E_EXISTS);
    assert_non_null(strstr(error.message, "x.ttrace"));
}

static void a_table_is_of_one_kind_in_both_formats(void **state)
{
    (void)state;
    for (int again = 0; again < 3; again++) {
        assert_int_equal(tt_outdir_open(&dir, "formats", again, &error), TT_OK);
        put(again % 2 ? "ops.parquet" : "ops.csv", "new");
        assert_int_equal(tt_outdir_commit(&dir, &error), TT_OK);
    }
    assert_false(exists("formats/ops.parquet"));
    touch("formats/mine.parquet");
    assert_int_equal(tt_outdir_open(&dir, "formats", true, &error), TT_OK);
    put("ops.csv", "newer");
    assert_int_equal(tt_outdir_commit(&dir, &error), TT_E_EXISTS);
    assert_non_null(strstr(error.message, "mine.parquet"));
}

/* In steps, where there is no exchange; on failure what was there is there again. */
static void it_is_replaced_on_any_file_system(void **state)
{
    (void)state;
    cannot_exchange = true;
    assert_int_equal(tt_outdir_open(&dir, "plain", false, &error), TT_OK);
    put("x", "old");
    assert_int_equal(tt_outdir_commit(&dir, &error), TT_OK);
    assert_int_equal(tt_outdir_open(&dir, "plain", true, &error), TT_OK);
    char *temporary = strdup(dir.temporary), *path = strdup(dir.path), old[4096];
    (void)snprintf(old, sizeof old, "%s.old", temporary);
    put("x", "new");
    assert_int_equal(tt_outdir_commit(&dir, &error), TT_OK);
    expect("plain/x", "new");
    assert_false(exists(temporary) || exists(old));
    never_named = path;
    assert_int_equal(tt_outdir_open(&dir, "plain", true, &error), TT_OK);
    put("x", "newer");
    assert_int_equal(tt_outdir_commit(&dir, &error), TT_E_IO);
    never_named = NULL;
    cannot_exchange = false;
    expect("plain/x", "new");
    assert_false(exists(temporary) || exists(old));
    free(temporary);
    free(path);
}

static void what_the_disk_refuses_is_told(void **state)
{
    (void)state;
    assert_int_equal(tt_outdir_open(&dir, "unsynced", false, &error), TT_OK);
    char *temporary = strdup(dir.temporary);
    put("x", "x");
    sync_fails = true;
    assert_int_equal(tt_outdir_commit(&dir, &error), TT_E_IO);
    sync_fails = false;
    assert_non_null(strstr(error.message, "unsynced"));
    assert_false(exists("unsynced") || exists(temporary));
    free(temporary);
}

/* Something of that name comes into being while the folder is filled. */
static void what_came_meanwhile_is_kept(void **state)
{
    (void)state;
    assert_int_equal(tt_outdir_open(&dir, "late", false, &error), TT_OK);
    char *temporary = strdup(dir.temporary);
    assert_int_equal(mkdir("late", 0777), 0);
    assert_int_equal(tt_outdir_commit(&dir, &error), TT_E_EXISTS);
    assert_false(exists(temporary));
    assert_int_equal(rmdir("late"), 0);
    free(temporary);
}

static void a_file_is_no_folder(void **state)
{
    (void)state;
    touch("file");
    assert_int_equal(tt_outdir_open(&dir, "file", true, &error), TT_E_USAGE);
    assert_int_equal(tt_outdir_open(&dir, "file/below", false, &error), TT_E_IO);
    assert_non_null(strstr(error.message, "file/below"));
    assert_int_equal(tt_outdir_open(&dir, "", false, &error), TT_E_USAGE);
    assert_int_equal(tt_outdir_make("file", &error), TT_E_IO);
    assert_int_equal(tt_outdir_make("made/deep", &error), TT_OK);
    assert_int_equal(tt_outdir_make("made/deep", &error), TT_OK);
}

/* Links below a folder that is removed are removed; what they lead to is not. */
static void removing_follows_no_links(void **state)
{
    (void)state;
    assert_int_equal(mkdir("target", 0777), 0);
    assert_int_equal(mkdir("target/kept", 0777), 0);
    assert_int_equal(mkdir("gone", 0777), 0);
    assert_int_equal(symlink("../target", "gone/link"), 0);
    assert_true(tt_outdir_remove("gone"));
    assert_false(exists("gone"));
    assert_true(exists("target/kept"));
}

/* /dev/full fails every write; the folder's file is put there by a link. */
static void a_write_that_failed_is_told(void **state)
{
    (void)state;
    FILE *f = fopen("/dev/full", "w");
    assert_non_null(f);
    fputs("lost", f);
    assert_int_equal(tt_outdir_close(f, "full.json", &error), TT_E_IO);
    assert_non_null(strstr(error.message, "full.json"));
    assert_non_null(strstr(error.message, strerror(ENOSPC)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_appears_when_it_is_whole),
        cmocka_unit_test(a_folder_that_was_taken_away_stays_away),
        cmocka_unit_test(what_is_there_is_kept_without_force),
        cmocka_unit_test(force_replaces_its_like_alone),
        cmocka_unit_test(foreign_things_are_found_on_any_level),
        cmocka_unit_test(any_number_of_kinds_is_replaced),
        cmocka_unit_test(names_of_one_ending_are_of_one_kind),
        cmocka_unit_test(a_table_is_of_one_kind_in_both_formats),
        cmocka_unit_test(it_is_replaced_on_any_file_system),
        cmocka_unit_test(what_the_disk_refuses_is_told),
        cmocka_unit_test(what_came_meanwhile_is_kept),
        cmocka_unit_test(a_file_is_no_folder),
        cmocka_unit_test(removing_follows_no_links),
        cmocka_unit_test(a_write_that_failed_is_told),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
