/* Notes beside a trace: changes, the file, and files that are not ours. */
#include "tests.h"

#include "notes/notes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64], trace[96], file[112];

static int begin(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/tt-notes-XXXXXX");
    if (!mkdtemp(folder)) return -1;
    (void)snprintf(trace, sizeof trace, "%s/a.ttrace", folder);
    (void)snprintf(file, sizeof file, "%s" TT_NOTES_ENDING, trace);
    return 0;
}

static int end(void **state)
{
    (void)state;
    (void)unlink(file);
    return rmdir(folder);
}

static tt_status changed(tt_notes *n, const char *json)
{
    tt_error err;
    return tt_notes_change(n, json, strlen(json), &err);
}

static void test_changes(void **state)
{
    tt_notes n = {0};
    (void)state;
    assert_int_equal(changed(&n, "{\"add\":{\"text\":\"a\"}}"), TT_OK);
    assert_int_equal(changed(&n, "{\"add\":{\"text\":\"b\",\"batch_id\":3,\"time_ns\":-1.5,"
                                 "\"layer_id\":null,\"tensor\":\"t\",\"place\":\"view=log\"}}"),
                     TT_OK);
    assert_int_equal(n.n, 2);
    assert_int_equal(n.list[1].note_id, 2);
    assert_true(n.list[1].has_batch && n.list[1].batch_id == 3 && !n.list[1].has_layer);
    assert_true(n.list[1].time_ns < 0);
    assert_int_equal(changed(&n, "{\"remove\":1}"), TT_OK);
    assert_int_equal(changed(&n, "{\"remove\":1}"), TT_E_NOT_FOUND);
    assert_int_equal(changed(&n, "{\"change\":{\"note_id\":2,\"text\":\"c\"}}"), TT_OK);
    assert_string_equal(n.list[0].text, "c");
    /* A number is not given twice, as long as a later note is there. */
    assert_int_equal(changed(&n, "{\"add\":{\"text\":\"d\"}}"), TT_OK);
    assert_int_equal(n.list[1].note_id, 3);
    tt_notes_free(&n);
}

static void test_refused(void **state)
{
    static const char *const bad[] = {"",
                                      "[]",
                                      "null",
                                      "{}",
                                      "{\"add\":{}}",
                                      "{\"add\":[]}",
                                      "{\"add\":{\"text\":\"\"}}",
                                      "{\"add\":{\"text\":1}}",
                                      "{\"add\":{\"text\":\"a\",\"x\":1}}",
                                      "{\"add\":{\"text\":\"a\",\"batch_id\":-1}}",
                                      "{\"add\":{\"text\":\"a\",\"batch_id\":1.5}}",
                                      "{\"add\":{\"text\":\"a\",\"note_id\":1}}",
                                      "{\"add\":{\"text\":\"a\",\"time_ns\":\"1\"}}",
                                      "{\"add\":{\"text\":\"a\"},\"remove\":1}",
                                      "{\"add\":{\"text\":\"a\\u0000\"}}",
                                      "{\"add\":{\"text\":\"\xff\"}}",
                                      "{\"add\":{\"text\":\"a\"}} x",
                                      "{\"change\":{\"note_id\":9}}",
                                      "{\"change\":{\"text\":\"a\"}}",
                                      "{\"add\":{\"text\":\"a\",\"text\":\"b\"}}"};
    tt_notes n = {0};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_not_equal(changed(&n, bad[i]), TT_OK);
    assert_int_equal(n.n, 0);
    char *longer = calloc(1, TT_NOTES_TEXT_MAX + 64);
    (void)sprintf(longer, "{\"add\":{\"text\":\"%*s\"}}", (int)TT_NOTES_TEXT_MAX + 1, "a");
    assert_int_equal(changed(&n, longer), TT_E_USAGE);
    (void)sprintf(longer, "{\"add\":{\"text\":\"%*s\"}}", (int)TT_NOTES_TEXT_MAX, "a");
    assert_int_equal(changed(&n, longer), TT_OK);
    free(longer);
    for (size_t i = 1; i < TT_NOTES_MAX; i++)
        assert_int_equal(changed(&n, "{\"add\":{\"text\":\"a\"}}"), TT_OK);
    assert_int_equal(changed(&n, "{\"add\":{\"text\":\"a\"}}"), TT_E_USAGE);
    tt_notes_free(&n);
}

static void test_file(void **state)
{
    tt_notes n = {0}, again = {0};
    tt_error err;
    (void)state;
    assert_int_equal(tt_notes_read(trace, &n, &err), TT_OK);
    assert_int_equal(n.n, 0);
    assert_int_equal(changed(&n, "{\"add\":{\"text\":\"\\\"<\\n\",\"time_ns\":0.1}}"), TT_OK);
    assert_int_equal(tt_notes_write(trace, &n, &err), TT_OK);
    assert_int_equal(tt_notes_write(trace, &n, &err), TT_OK); /* over itself */
    assert_int_equal(tt_notes_read(trace, &again, &err), TT_OK);
    assert_int_equal(again.n, 1);
    assert_string_equal(again.list[0].text, "\"<\n");
    assert_true(again.list[0].has_time && again.list[0].time_ns > 0.0999);
    tt_notes_free(&n);
    tt_notes_free(&again);
}

static void test_strange_files(void **state)
{
    static const char *const bad[] = {
        "",
        "x",
        "[]",
        "{\"notes\":1}",
        "{\"notes\":[1]}",
        "{\"notes\":[{\"text\":\"a\"}]}",
        "{\"notes\":[{\"note_id\":0,\"text\":\"a\"}]}",
        "{\"notes\":[{\"note_id\":9007199254740992,\"text\":\"a\"}]}"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tt_notes n = {0};
        tt_error err;
        FILE *out = fopen(file, "w");
        assert_non_null(out);
        fputs(bad[i], out);
        assert_int_equal(fclose(out), 0);
        assert_int_equal(tt_notes_read(trace, &n, &err), TT_E_FORMAT);
        assert_non_null(strstr(err.message, TT_NOTES_ENDING));
        tt_notes_free(&n);
    }
}

/* A pipe would be waited for; and who may not read the trace may not read its notes. */
static void test_pipe_and_mode(void **state)
{
    tt_notes n = {0};
    tt_error err;
    struct stat st;
    (void)state;
    (void)unlink(file);
    assert_int_equal(mkfifo(file, 0600), 0);
    assert_int_equal(tt_notes_read(trace, &n, &err), TT_E_IO);
    assert_int_equal(unlink(file), 0);
    FILE *out = fopen(trace, "w");
    assert_non_null(out);
    assert_int_equal(fchmod(fileno(out), 0600), 0);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(changed(&n, "{\"add\":{\"text\":\"a\"}}"), TT_OK);
    assert_int_equal(tt_notes_write(trace, &n, &err), TT_OK);
    assert_int_equal(stat(file, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(chmod(file, 0640), 0);
    assert_int_equal(tt_notes_write(trace, &n, &err), TT_OK);
    assert_int_equal(stat(file, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    assert_int_equal(unlink(trace), 0);
    tt_notes_free(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_changes), cmocka_unit_test(test_refused),
        cmocka_unit_test_setup_teardown(test_file, begin, end),
        cmocka_unit_test_setup_teardown(test_strange_files, begin, end),
        cmocka_unit_test_setup_teardown(test_pipe_and_mode, begin, end)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
