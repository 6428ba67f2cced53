/* A run's place in a Parquet dataset: whole or not at all, also when killed. */
#include "export/parquet/place.h"
#include "tests.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define RUN_A "00112233445566778899aabbccddeeff"
#define RUN_B "ff112233445566778899aabbccddeeff"

static const char *const tables[] = {"lanes", "ops", "run"};
#define N_TABLES 3

static char dataset[256];

static int make_dataset(void **unused)
{
    (void)unused;
    (void)snprintf(dataset, sizeof dataset, "parquet-place.%ld/data", (long)getpid());
    return 0;
}

static int remove_dataset(void **unused)
{
    char top[256];
    (void)unused;
    (void)snprintf(top, sizeof top, "parquet-place.%ld", (long)getpid());
    return tt_outdir_remove(top) ? 0 : -1;
}

static const char *file_of(const char *table, const char *run)
{
    static char path[512];
    (void)snprintf(path, sizeof path, "%s/%s/run_id=%s/part-0.parquet", dataset, table, run);
    return path;
}

/* The letter that is in the file of every table, or '-' when none has one, '?' when they differ. */
static char letter(const char *run)
{
    char all = 0;
    for (size_t i = 0; i < N_TABLES; i++) {
        FILE *f = fopen(file_of(tables[i], run), "rb");
        int c = f ? fgetc(f) : '-';
        if (f) (void)fclose(f);
        if (all && c != all) return '?';
        all = (char)c;
    }
    return all;
}

static unsigned hidden_folders(void)
{
    unsigned n = 0;
    DIR *list = opendir(dataset);
    for (struct dirent *d = list ? readdir(list) : NULL; d; d = readdir(list))
        n += d->d_name[0] == '.' && strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0;
    if (list) (void)closedir(list);
    return n;
}

static tt_status stage(tt_parquet_place *p, const char *run, char c, bool force, tt_error *err)
{
    tt_status status = tt_parquet_place_open(p, dataset, run, tables, N_TABLES, force, err);
    for (size_t i = 0; i < N_TABLES && status == TT_OK; i++) {
        FILE *f = tt_parquet_place_file(p, tables[i], err);
        assert_non_null(f);
        assert_int_equal(fputc(c, f), c);
        status = tt_outdir_close(f, tables[i], err);
    }
    return status;
}

static tt_status place(const char *run, char c, bool force, tt_error *err)
{
    tt_parquet_place p;
    tt_status status = stage(&p, run, c, force, err);
    return status == TT_OK ? tt_parquet_place_commit(&p, err) : status;
}

static void test_runs_side_by_side(void **unused)
{
    tt_error err;
    (void)unused;
    assert_int_equal(place(RUN_A, 'a', false, &err), TT_OK);
    assert_int_equal(place(RUN_B, 'b', false, &err), TT_OK);
    assert_int_equal(letter(RUN_A), 'a');
    assert_int_equal(letter(RUN_B), 'b');
    assert_int_equal(hidden_folders(), 0);
}

static void test_same_run_is_refused(void **unused)
{
    tt_error err;
    (void)unused;
    assert_int_equal(place(RUN_A, 'a', false, &err), TT_OK);
    assert_int_equal(place(RUN_A, 'x', false, &err), TT_E_EXISTS);
    assert_non_null(strstr(err.message, "--force"));
    assert_int_equal(letter(RUN_A), 'a');
    assert_int_equal(place(RUN_A, 'x', true, &err), TT_OK);
    assert_int_equal(letter(RUN_A), 'x');
    assert_int_equal(hidden_folders(), 0);
}

static void test_given_up(void **unused)
{
    tt_parquet_place p;
    tt_error err;
    struct stat st;
    (void)unused;
    assert_int_equal(stage(&p, RUN_A, 'a', false, &err), TT_OK);
    assert_int_equal(hidden_folders(), 1);
    tt_parquet_place_abandon(&p);
    /* It was not there before. */
    assert_int_not_equal(stat(dataset, &st), 0);
    assert_int_equal(place(RUN_B, 'b', false, &err), TT_OK);
    assert_int_equal(stage(&p, RUN_A, 'a', false, &err), TT_OK);
    tt_parquet_place_abandon(&p);
    assert_int_equal(letter(RUN_A), '-');
    assert_int_equal(letter(RUN_B), 'b');
}

/* A table's place that cannot be made: the tables before it are put back. */
static void test_failure_is_undone(void **unused)
{
    tt_parquet_place p;
    tt_error err;
    char path[512];
    struct stat st;
    (void)unused;
    assert_int_equal(place(RUN_A, 'a', false, &err), TT_OK);
    for (int force = 0; force <= 1; force++) {
        const char *run = force ? RUN_A : RUN_B;
        assert_int_equal(stage(&p, run, 'x', force, &err), TT_OK);
        (void)snprintf(path, sizeof path, "%s/run", dataset);
        char away[600];
        (void)snprintf(away, sizeof away, "%s.away", dataset);
        assert_int_equal(rename(path, away), 0);
        FILE *f = fopen(path, "wb"); /* where a folder belongs */
        assert_non_null(f);
        assert_int_equal(fclose(f), 0);
        assert_int_equal(tt_parquet_place_commit(&p, &err), TT_E_IO);
        assert_int_equal(remove(path), 0);
        assert_int_equal(rename(away, path), 0);
        assert_int_equal(letter(RUN_A), 'a');
        assert_int_equal(letter(RUN_B), '-');
        assert_int_equal(hidden_folders(), 0);
    }
    (void)snprintf(path, sizeof path, "%s/ops/run_id=" RUN_B, dataset);
    assert_int_not_equal(stat(path, &st), 0);
}

/* Another export of the run was quicker. */
static void test_two_at_once(void **unused)
{
    tt_parquet_place p;
    tt_error err;
    (void)unused;
    assert_int_equal(stage(&p, RUN_A, 'a', false, &err), TT_OK);
    assert_int_equal(place(RUN_A, 'b', false, &err), TT_OK);
    /* The first one's hidden folder is locked: it was not taken for a rest. */
    assert_int_equal(hidden_folders(), 1);
    assert_int_equal(tt_parquet_place_commit(&p, &err), TT_E_EXISTS);
    assert_int_equal(letter(RUN_A), 'b');
    assert_int_equal(hidden_folders(), 0);
}

/* Dies with what it has, as by SIGKILL. `placed`: so many tables have their place. */
static void die(const char *run, char c, bool force, bool ready, unsigned placed)
{
    pid_t child = fork();
    if (child == 0) {
        tt_parquet_place p;
        tt_error err;
        char name[256], from[256], old[256];
        if (stage(&p, run, c, force, &err) != TT_OK) _exit(1);
        if (chdir(p.staged.temporary) != 0) _exit(2);
        if (ready) (void)fclose(fopen("ready", "wb"));
        for (unsigned i = 0; i < placed; i++) {
            (void)snprintf(name, sizeof name, "../%s", tables[i]);
            (void)mkdir(name, 0777);
            (void)snprintf(name, sizeof name, "../%s/run_id=%s", tables[i], run);
            (void)snprintf(from, sizeof from, "new/%s", tables[i]);
            (void)snprintf(old, sizeof old, "old/%s", tables[i]);
            (void)rename(name, old);
            if (rename(from, name) != 0) _exit(3);
        }
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void test_killed_before(void **unused)
{
    tt_error err;
    (void)unused;
    die(RUN_A, 'a', false, false, 0);
    assert_int_equal(hidden_folders(), 1);
    assert_int_equal(letter(RUN_A), '-');
    assert_int_equal(place(RUN_B, 'b', false, &err), TT_OK);
    assert_int_equal(hidden_folders(), 0);
    assert_int_equal(letter(RUN_A), '-');
    assert_int_equal(letter(RUN_B), 'b');
}

static void test_killed_in_the_middle(void **unused)
{
    tt_error err;
    (void)unused;
    for (unsigned placed = 0; placed <= N_TABLES; placed++) {
        for (int force = 0; force <= 1; force++) {
            if (force) assert_int_equal(place(RUN_A, 'a', false, &err), TT_OK);
            die(RUN_A, 'x', force, true, placed);
            assert_int_equal(hidden_folders(), 1);
            /* The next one, of any run, finishes it. */
            assert_int_equal(place(RUN_B, 'b', false, &err), TT_OK);
            assert_int_equal(letter(RUN_A), 'x');
            assert_int_equal(letter(RUN_B), 'b');
            assert_int_equal(hidden_folders(), 0);
            assert_int_equal(place(RUN_A, 'y', false, &err), TT_E_EXISTS);
            assert_true(tt_outdir_remove(dataset));
        }
    }
}

static void test_no_folder(void **unused)
{
    tt_parquet_place p;
    tt_error err;
    (void)unused;
    assert_int_equal(tt_parquet_place_open(&p, "/dev/null", RUN_A, tables, N_TABLES, false, &err),
                     TT_E_IO);
    assert_non_null(strstr(err.message, "/dev/null"));
    assert_int_equal(
        tt_parquet_place_open(&p, "/proc/nowhere", RUN_A, tables, N_TABLES, false, &err), TT_E_IO);
    assert_non_null(strstr(err.message, "/proc/nowhere"));
    assert_int_equal(tt_outdir_make(dataset, &err), TT_OK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_dataset, remove_dataset)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_runs_side_by_side),    TEST(test_same_run_is_refused), TEST(test_given_up),
        TEST(test_failure_is_undone),    TEST(test_two_at_once),         TEST(test_killed_before),
        TEST(test_killed_in_the_middle), TEST(test_no_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
