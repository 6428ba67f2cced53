#include "tests.h"

#include "cli/table.h"

#include <fcntl.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

/* A terminal to print to; *master gets what a person would see. */
static FILE *open_terminal(int *master)
{
    struct termios plain;
    *master = posix_openpt(O_RDWR | O_NOCTTY);
    if (*master < 0) skip(); /* a container without /dev/pts */
    assert_true(grantpt(*master) == 0 && unlockpt(*master) == 0);
    int slave = open(ptsname(*master), O_RDWR | O_NOCTTY);
    assert_true(slave >= 0 && tcgetattr(slave, &plain) == 0);
    plain.c_oflag &= ~(tcflag_t)OPOST; /* \n stays \n */
    assert_int_equal(tcsetattr(slave, TCSANOW, &plain), 0);
    return fdopen(slave, "w");
}

/* Prints a fixed table, on a terminal or into a file, with COLUMNS, and compares. */
static void expect(bool terminal, const char *columns, const char *wanted)
{
    char got[512] = "";
    int master = -1;
    const char *const first[] = {"blk.0.attn_q.weight", "12", "f\xc3\xbcnf"};
    const char *const second[] = {"a", "1,234", NULL};
    FILE *out = terminal ? open_terminal(&master) : tmpfile();
    tt_table *t = tt_table_new(out);
    assert_non_null(out);
    assert_non_null(t);
    if (columns)
        setenv("COLUMNS", columns, 1);
    else
        unsetenv("COLUMNS");
    tt_table_column(t, "tensor", TT_COLUMN_SHRINK);
    tt_table_column(t, "count", TT_COLUMN_RIGHT);
    tt_table_column(t, "note", TT_COLUMN_LEFT);
    tt_table_row(t, first);
    tt_table_row(t, second);
    assert_true(tt_table_print(t));
    if (terminal) {
        assert_int_equal(fflush(out), 0);
        /* A terminal hands out what it has, in as many parts as it likes. */
        size_t used = 0;
        while (used < strlen(wanted)) {
            ssize_t n = read(master, got + used, sizeof got - 1 - used);
            if (n <= 0) break;
            used += (size_t)n;
        }
        (void)close(master);
    } else {
        rewind(out);
        got[fread(got, 1, sizeof got - 1, out)] = '\0';
    }
    (void)fclose(out);
    unsetenv("COLUMNS");
    assert_string_equal(got, wanted);
}

static void a_file_gets_everything(void **state)
{
    (void)state;
    static const char all[] = "tensor               count  note\n"
                              "blk.0.attn_q.weight     12  f\xc3\xbcnf\n"
                              "a                    1,234\n";
    expect(false, NULL, all);
    expect(false, "80", all);
    expect(true, "80", all);
}

/* Tables of ASCII only are printed another way: the lines are the same. */
static void ascii_is_laid_out_alike(void **state)
{
    static const char *const rows[][4] = {{"a", "1", "x y", ""},
                                          {"", "", "", ""},
                                          {"long name", "12,345", "", "9 ms"},
                                          {"b", "7", "{1,2}~", "  "},
                                          {"\xc3\xbc", "", "z", "1"}};
    char text[2][512];
    (void)state;
    for (size_t with = 0; with < 2; with++) {
        FILE *out = tmpfile();
        assert_non_null(out);
        tt_table *t = tt_table_new(out);
        tt_table_column(t, "left", TT_COLUMN_LEFT);
        tt_table_column(t, "right", TT_COLUMN_RIGHT);
        tt_table_column(t, "shrink", TT_COLUMN_LEFT | TT_COLUMN_SHRINK);
        tt_table_column(t, "last", TT_COLUMN_RIGHT);
        for (size_t i = 0; i < 4 + with; i++)
            tt_table_row(t, rows[i]);
        assert_true(tt_table_print(t));
        rewind(out);
        text[with][fread(text[with], 1, sizeof text[with] - 1, out)] = '\0';
        (void)fclose(out);
    }
    assert_true(strlen(text[0]) < strlen(text[1]));
    assert_memory_equal(text[0], text[1], strlen(text[0]));
}

static void a_narrow_terminal_cuts(void **state)
{
    (void)state;
    expect(true, "26",
           "tensor               count\n"
           "blk.0.attn_q.weight     12\n"
           "a                    1,234\n");
    expect(true, "20",
           "tensor         count\n"
           "blk.0.attn_q\xe2\x80\xa6     12\n"
           "a              1,234\n");
}

static void never_below_what_is_readable(void **state)
{
    (void)state;
    expect(true, "5",
           "tensor    count\n"
           "blk.0.a\xe2\x80\xa6     12\n"
           "a         1,234\n");
}

static void hostile_bytes_do_no_harm(void **state)
{
    char got[256] = "";
    const char *const row[] = {"a\033[31mred\nline\xff"};
    FILE *out = tmpfile();
    tt_table *t = tt_table_new(out);
    (void)state;
    assert_non_null(out);
    tt_table_column(t, "tensor", TT_COLUMN_LEFT);
    tt_table_row(t, row);
    assert_true(tt_table_print(t));
    rewind(out);
    got[fread(got, 1, sizeof got - 1, out)] = '\0';
    (void)fclose(out);
    assert_null(strchr(got, '\033'));
    assert_null(strchr(got, '\xff'));
    assert_non_null(strstr(got, "red"));
}

static void no_rows(void **state)
{
    FILE *out = tmpfile();
    tt_table *t = tt_table_new(out);
    (void)state;
    assert_non_null(out);
    tt_table_column(t, "tensor", TT_COLUMN_LEFT);
    assert_true(tt_table_print(t));
    (void)fclose(out);
    assert_false(tt_table_print(NULL));
}

static void a_full_disk_is_told(void **state)
{
    const char *const row[] = {"x"};
    FILE *full = fopen("/dev/full", "w");
    (void)state;
    assert_non_null(full);
    setvbuf(full, NULL, _IONBF, 0);
    tt_table *t = tt_table_new(full);
    tt_table_column(t, "tensor", TT_COLUMN_LEFT);
    tt_table_row(t, row);
    assert_false(tt_table_print(t));
    (void)fclose(full);
}

/* What a table with a name and columns of each kind comes to at a width. */
static void expect_narrow(const char *columns, const char *wanted)
{
    char got[256] = "";
    FILE *out = tmpfile();
    tt_table *t = tt_table_new(out);
    assert_true(out && t);
    setenv("COLUMNS", columns, 1);
    tt_table_column(t, "NAME", TT_COLUMN_SHRINK | TT_COLUMN_KEY);
    tt_table_column(t, "SECOND", TT_COLUMN_RIGHT | TT_COLUMN_WIDE);
    tt_table_column(t, "FIRST", TT_COLUMN_RIGHT | TT_COLUMN_WIDEST);
    tt_table_column(t, "SIZE", TT_COLUMN_RIGHT);
    tt_table_row(t, (const char *[]){"blk.0.ffn_up.weight", "1", "2", "3"});
    tt_table_row(t, (const char *[]){"blk.1.ffn_up.weight", "4", "5", "6"});
    assert_true(tt_table_print(t));
    rewind(out);
    got[fread(got, 1, sizeof got - 1, out)] = '\0';
    (void)fclose(out);
    unsetenv("COLUMNS");
    assert_string_equal(got, wanted);
}

static void columns_are_left_out_before_names_are_cut(void **state)
{
    (void)state;
    expect_narrow("40", "NAME                 SECOND  FIRST  SIZE\n"
                        "blk.0.ffn_up.weight       1      2     3\n"
                        "blk.1.ffn_up.weight       4      5     6\n");
    expect_narrow("39", "NAME                 SECOND  SIZE\n"
                        "blk.0.ffn_up.weight       1     3\n"
                        "blk.1.ffn_up.weight       4     6\n");
    expect_narrow("32", "NAME                 SIZE\n"
                        "blk.0.ffn_up.weight     3\n"
                        "blk.1.ffn_up.weight     6\n");
    expect_narrow("20", "NAME            SIZE\n"
                        "blk.0.f\xe2\x80\xa6weight     3\n"
                        "blk.1.f\xe2\x80\xa6weight     6\n");
}

/* Prints a table with COLUMNS into `got`; at most four columns. */
static void print_narrow(const char *columns, size_t n, const char *const titles[],
                         const int flags[], const char *const rows[][4], size_t n_rows,
                         char got[512])
{
    FILE *out = tmpfile();
    tt_table *t = tt_table_new(out);
    assert_true(out && t);
    setenv("COLUMNS", columns, 1);
    for (size_t i = 0; i < n; i++)
        tt_table_column(t, titles[i], flags[i]);
    for (size_t i = 0; i < n_rows; i++)
        tt_table_row(t, rows[i]);
    assert_true(tt_table_print(t));
    rewind(out);
    got[fread(got, 1, 511, out)] = '\0';
    (void)fclose(out);
    unsetenv("COLUMNS");
}

/* Names that would become the same get the room of another column, but not of one to keep. */
static void names_stay_different(void **state)
{
    (void)state;
    static const char *const titles[] = {"NAME", "A", "B", "C"};
    static const int flags[] = {TT_COLUMN_SHRINK | TT_COLUMN_KEY, TT_COLUMN_RIGHT, TT_COLUMN_RIGHT,
                                TT_COLUMN_RIGHT | TT_COLUMN_KEEP};
    /* Wherever four characters are cut out, one of the names becomes another. */
    static const char *const rows[][4] = {
        {"aaaaaaaaaaaaaaaaaaaaaaaa", "1", "2", "3"}, {"aaabaaaaaaaaaaaaaaaaaaaa", "1", "2", "3"},
        {"aaaaaaabaaaaaaaaaaaaaaaa", "1", "2", "3"}, {"aaaaaaaaaaabaaaaaaaaaaaa", "1", "2", "3"},
        {"aaaaaaaaaaaaaaabaaaaaaaa", "1", "2", "3"}, {"aaaaaaaaaaaaaaaaaaabaaaa", "1", "2", "3"},
        {"aaaaaaaaaaaaaaaaaaaaaaab", "1", "2", "3"}};
    char got[512];
    print_narrow("30", 4, titles, flags, rows, 2, got);
    assert_string_equal(got, "NAME                   A  B  C\n"
                             "aaaaaaaaaa\xe2\x80\xa6"
                             "aaaaaaaaaa  1  2  3\n"
                             "aaabaaaaaa\xe2\x80\xa6"
                             "aaaaaaaaaa  1  2  3\n");
    print_narrow("30", 4, titles, flags, rows, 7, got);
    assert_string_equal(got, "NAME                      A  C\n"
                             "aaaaaaaaaaaaaaaaaaaaaaaa  1  3\n"
                             "aaabaaaaaaaaaaaaaaaaaaaa  1  3\n"
                             "aaaaaaabaaaaaaaaaaaaaaaa  1  3\n"
                             "aaaaaaaaaaabaaaaaaaaaaaa  1  3\n"
                             "aaaaaaaaaaaaaaabaaaaaaaa  1  3\n"
                             "aaaaaaaaaaaaaaaaaaabaaaa  1  3\n"
                             "aaaaaaaaaaaaaaaaaaaaaaab  1  3\n");
}

static void sentences_go_on_in_the_next_line(void **state)
{
    (void)state;
    static const char *const titles[] = {"CHECK", "PROVES"};
    static const int flags[] = {TT_COLUMN_KEY, TT_COLUMN_WRAP};
    static const char *const rows[][4] = {
        {"index", "the index lists the chunks as they are in the file"}, {"times", "times ascend"}};
    char got[512];
    print_narrow("32", 2, titles, flags, rows, 2, got);
    assert_string_equal(got, "CHECK  PROVES\n"
                             "index  the index lists the\n"
                             "       chunks as they are in the\n"
                             "       file\n"
                             "times  times ascend\n");
}

static void a_line_is_continued_below_its_text(void **state)
{
    (void)state;
    char got[256] = "";
    FILE *out = tmpfile();
    assert_non_null(out);
    setenv("COLUMNS", "16", 1);
    tt_table_text(out, 4, "key a line of words");
    tt_table_text(out, 0, "oneverylongwordofmany letters");
    tt_table_text(out, 0, "it holds 16.0 KiB, 5 x 12");
    unsetenv("COLUMNS");
    tt_table_text(out, 4, "key a line of words");
    rewind(out);
    got[fread(got, 1, sizeof got - 1, out)] = '\0';
    (void)fclose(out);
    assert_string_equal(got, "key a line of\n"
                             "    words\n"
                             "oneverylongwordofmany\n"
                             "letters\n"
                             "it holds\n"
                             "16.0 KiB, 5 x 12\n"
                             "key a line of words\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_left_out_before_names_are_cut),
        cmocka_unit_test(names_stay_different),
        cmocka_unit_test(sentences_go_on_in_the_next_line),
        cmocka_unit_test(a_line_is_continued_below_its_text),
        cmocka_unit_test(a_file_gets_everything),
        cmocka_unit_test(ascii_is_laid_out_alike),
        cmocka_unit_test(a_narrow_terminal_cuts),
        cmocka_unit_test(never_below_what_is_readable),
        cmocka_unit_test(hostile_bytes_do_no_harm),
        cmocka_unit_test(no_rows),
        cmocka_unit_test(a_full_disk_is_told),
    };
    if (!setlocale(LC_CTYPE, "C.UTF-8")) return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
