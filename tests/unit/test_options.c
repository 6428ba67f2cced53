/* The options of a command: where values go, what is refused, and what is said of it. */
#include "tests.h"

#include "cli/options.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct inner {
    uint32_t first, last;
    bool has_range;
};

struct options {
    bool quiet, loud, off;
    const char *path, *mode;
    uint8_t tiny;
    uint16_t port;
    int32_t count;
    uint64_t many, every, bytes;
    double rate, ns;
    int color;
    const struct shape *shape;
    char order[8];
    char **rest;
    struct inner inner;
};

static const struct shape {
    const char *name;
    int corners;
} shapes[] = {{"batch", 3}, {"square", 4}};

static const tt_option_name colors[] = {{"red", 7}, {"green", 9}};
static const char *const modes[] = {"auto", "hook"};

static void take_order(void *member, char *arg, tt_parse *p)
{
    if (strlen(arg) != 1) tt_parse_refuse(p, "\"%s\" is not a letter", arg);
    strncat(member, arg, 1);
}

static const tt_option table[] = {
    {.about = "A heading:", .group = 1},
    {"quiet", 'q', 0, "Say little", 1, TT_FLAG(struct options, quiet), .excludes = "loud path"},
    {"loud", 'l', 0, "Say much", 1, TT_FLAG(struct options, loud)},
    {"no-off", 0, 0, "Not off", 1, TT_SET(struct options, off, false)},
    {"path", 'p', "FILE", "A path", 1, TT_TEXT(struct options, path)},
    {"mode", 0, "MODE", "A mode", 1, TT_WORD(struct options, mode, modes)},
    {"tiny", 0, "N", "A byte", 1, TT_WHOLE(struct options, tiny, 0, 255)},
    {"port", 0, "N", "Two bytes", 1, TT_WHOLE(struct options, port, 0, 65535)},
    {"count", 'n', "N", "Four bytes", 1, TT_WHOLE(struct options, count, -1, 100)},
    {"many", 0, "N", "Eight bytes", 1, TT_WHOLE(struct options, many, 0, INT64_MAX),
     .needs = "tiny port"},
    {"every", 0, "N", "Each", 1, TT_WHOLE(struct options, every, 1, 9),
     .flags = TT_OPTION_OPTIONAL},
    {"bytes", 0, "SIZE", "A size", 1, TT_SIZE(struct options, bytes, 512, 1 << 20)},
    {"rate", 0, "RATE", "A rate", 1, TT_RATE(struct options, rate)},
    {"time", 0, "TIME", "A time", 1, TT_TIME(struct options, ns)},
    {"color", 0, "WHAT", "A color", 1, TT_NAME(struct options, color, colors)},
    {"shape", 0, "WHAT", "A shape", 1, TT_ROW(struct options, shape, shapes, 2)},
    {"last", 0, "X", "Taken last", 1, TT_TAKE(struct options, order, take_order)},
    {"second", 0, "X", "Taken second", 1, TT_TAKE(struct options, order, take_order),
     .flags = TT_OPTION_SECOND},
    {"first", 0, "X", "Taken first", 1, TT_TAKE(struct options, order, take_order),
     .flags = TT_OPTION_FIRST},
    {"secret", 0, 0, "Not told", 1, TT_FLAG(struct options, loud), .flags = TT_OPTION_HIDDEN},
    {0},
};

static const tt_option range[] = {
    {"range", 'r', "A[..B]", "A range", 2, TT_RANGE(struct inner, first, last),
     TT_GIVEN(struct inner, has_range)},
    {"span", 's', TT_FORMER},
    {0},
};

static void take_rest(void *options, char *arg, tt_parse *p)
{
    struct options *o = options;
    o->rest = tt_parse_rest(p);
    assert_ptr_equal(o->rest[0], arg);
}

static void check_count(void *options, tt_parse *p)
{
    const struct options *o = options;
    assert_int_equal(tt_parse_given(p, "count"), o->count != 0);
    if (o->count == 13) tt_parse_error(p, "not that one");
}

static const tt_options command = {
    .words = "[WORD...]",
    .about = "A command.",
    .sets = {{table, 0, take_rest, check_count, NULL},
             {.options = range, .at = offsetof(struct options, inner)}},
    .in_order = true,
};

#define WORDS_MAX 16

/* `line`: words with a space in between. */
static struct options parsed(char *line)
{
    char *argv[WORDS_MAX] = {"tensortrace test"};
    int argc = 1;
    struct options o = {.off = true};
    for (char *word = strtok(line, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    tt_options_parse(&command, argc, argv, &o);
    return o;
}

/* What is said of a line that is refused, in a process of its own. */
static char *output_of(const char *line, bool lists, int want_code)
{
    static char text[4096];
    char copy[256];
    int pipes[2], status = 0;
    size_t n = 0;
    assert_int_equal(pipe(pipes), 0);
    (void)fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        (void)dup2(pipes[1], 1);
        (void)dup2(pipes[1], 2);
        (void)close(pipes[0]);
        (void)snprintf(copy, sizeof copy, "%s", line);
        if (lists) tt_options_list();
        (void)parsed(copy);
        exit(99);
    }
    (void)close(pipes[1]);
    for (ssize_t got; (got = read(pipes[0], text + n, sizeof text - 1 - n)) > 0;)
        n += (size_t)got;
    text[n] = '\0';
    (void)close(pipes[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), want_code);
    return text;
}

static void refused(const char *line, const char *why)
{
    char want[256];
    (void)snprintf(want, sizeof want, "tensortrace test: %s\nSee tensortrace test --help\n", why);
    assert_string_equal(output_of(line, false, 2), want);
}

static void values_go_where_they_belong(void **state)
{
    char all[] =
        "-lp x --mode=HOOK --no-off --tiny 255 --port 65535 -n -1 --many 9223372036854775807 "
        "--every=4";
    char more[] = "--bytes 64K --rate 2G --time 1.5ms --color GREEN --shape token -r 3..9 -q";
    char former[] = "--span 7 --every --tiny 1 word --tiny 2";
    (void)state;
    struct options o = parsed(all);
    assert_true(o.loud);
    assert_false(o.quiet || o.off || o.inner.has_range);
    assert_string_equal(o.path, "x");
    assert_ptr_equal(o.mode, modes[1]);
    assert_int_equal(o.tiny, 255);
    assert_int_equal(o.port, 65535);
    assert_int_equal(o.count, -1);
    assert_true(o.many == INT64_MAX);
    assert_int_equal(o.every, 4);
    o = parsed(more);
    assert_int_equal(o.bytes, 65536);
    assert_true(o.rate > 1.999e9 && o.rate < 2.001e9);
    assert_true(o.ns > 1499999 && o.ns < 1500001);
    assert_int_equal(o.color, 9);
    assert_ptr_equal(o.shape, &shapes[0]);
    assert_true(o.inner.has_range && o.quiet);
    assert_int_equal(o.inner.first, 3);
    assert_int_equal(o.inner.last, 9);
    o = parsed(former);
    assert_int_equal(o.inner.last, 7);
    assert_int_equal(o.every, 1); /* its least, where its argument is left out */
    assert_int_equal(o.tiny, 1);
    assert_string_equal(o.rest[0], "word");
    assert_string_equal(o.rest[1], "--tiny");
}

static void some_are_taken_before_others(void **state)
{
    char line[] = "--last c --second b --first a --last d";
    (void)state;
    assert_string_equal(parsed(line).order, "abcd");
}

static void what_is_wrong_is_said(void **state)
{
    (void)state;
    refused("--tiny 256", "--tiny: \"256\" is not a whole number from 0 to 255");
    refused("-n x", "--count: \"x\" is not a whole number from -1 to 100");
    refused("--mode off", "--mode: \"off\" is not auto or hook");
    refused("--color blue", "--color: \"blue\" is not red or green");
    refused("--shape disc", "--shape: \"disc\" is not batch or square");
    refused("--bytes 1", "--bytes: 1 is out of range (512 B to 1.0 MiB)");
    refused("--span x", "--range: \"x\" is not a number or a range like 3..9");
    refused("--last xy", "--last: \"xy\" is not a letter");
    refused("--time soon", "--time: \"soon\" is not a time: write 12.5ms, 300us, 4000ns or 2s");
    refused("-n 13", "not that one");
}

static void what_does_not_go_together(void **state)
{
    char one[] = "--many 1 --port 0";
    (void)state;
    refused("--loud --quiet", "--quiet and --loud exclude each other");
    refused("-p x -q", "--quiet and --path exclude each other");
    refused("--many 1", "--many goes with --tiny or --port");
    assert_int_equal(parsed(one).many, 1);
}

static void all_but_the_hidden_are_listed(void **state)
{
    (void)state;
    const char *text = output_of("--loud", true, 0);
    assert_ptr_equal(strstr(text, "quiet\tq\t-\tSay little\n"), text);
    assert_non_null(strstr(text, "\nevery\t-\t?N\tEach\n"));
    assert_non_null(strstr(text, "\nrange\tr\tA[..B]\tA range\n"));
    assert_null(strstr(text, "secret"));
    assert_null(strstr(text, "span"));
    assert_null(strstr(text, "heading"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_go_where_they_belong),
        cmocka_unit_test(some_are_taken_before_others),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(what_does_not_go_together),
        cmocka_unit_test(all_but_the_hidden_are_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
