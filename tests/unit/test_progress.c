/* How far a work is: where standard error is no terminal, a line now and then. */
#include "tests.h"

#include "cli/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)

typedef struct heard {
    unsigned n;
    char last[192];
} heard;

static void hear(void *context, const char *text)
{
    heard *h = context;
    h->n++;
    (void)snprintf(h->last, sizeof h->last, "%s", text);
}

/* A work of 28 parts, begun so long ago. Standard error of the tests is a file. */
static tt_progress begun(heard *h, uint64_t seconds, uint64_t total)
{
    tt_progress p;
    tt_progress_begin(&p, "traces", total, "parts");
    assert_true(p.on);
    p.note = hear;
    p.context = h;
    p.begin_ns -= seconds * SECOND;
    p.next_ns -= seconds * SECOND;
    return p;
}

static void short_works_say_nothing(void **state)
{
    (void)state;
    heard h = {0};
    tt_progress p = begun(&h, 9, 28);
    tt_progress_update(&p, 12);
    tt_progress_end(&p);
    assert_int_equal(h.n, 0);
}

static void long_ones_do_now_and_then(void **state)
{
    (void)state;
    heard h = {0};
    tt_progress p = begun(&h, 20, 28);
    tt_progress_update(&p, 7);
    assert_int_equal(h.n, 1);
    /* 7 in 20 s: 21 more in 60 s, but for the time that this test takes. */
    assert_non_null(strstr(h.last, "25 %, 7 of 28 parts, 0.35/s, 1 min 0"));
    assert_non_null(strstr(h.last, " s left"));
    tt_progress_update(&p, 8); /* not again at once */
    assert_int_equal(h.n, 1);
    p.next_ns -= 19 * SECOND;
    tt_progress_update(&p, 8);
    assert_int_equal(h.n, 1);
    p.next_ns -= 2 * SECOND; /* but after twice as long */
    tt_progress_update(&p, 9);
    assert_int_equal(h.n, 2);
    tt_progress_end(&p);
    tt_progress_update(&p, 28);
    assert_int_equal(h.n, 2);
}

static void what_is_all_is_not_always_known(void **state)
{
    (void)state;
    heard h = {0};
    tt_progress p = begun(&h, 20, 0);
    tt_progress_update(&p, 1000);
    assert_non_null(strstr(h.last, "1,000 parts, "));
    assert_null(strstr(h.last, "left"));
    assert_null(strchr(h.last, '%'));
    p = begun(&h, 20, 28); /* nothing is done yet, and more than all is */
    tt_progress_update(&p, 0);
    assert_string_equal(h.last, "0 %, 0 of 28 parts, 0/s");
    p = begun(&h, 20, 28);
    tt_progress_update(&p, 56);
    assert_non_null(strstr(h.last, "100 %, 56 of 28 parts"));
    assert_null(strstr(h.last, "left"));
}

static void output_for_programs_has_none(void **state)
{
    (void)state;
    tt_progress p;
    tt_progress_only_drawn();
    tt_progress_begin(&p, "traces", 28, "parts");
    assert_false(p.on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(short_works_say_nothing),
                                       cmocka_unit_test(long_ones_do_now_and_then),
                                       cmocka_unit_test(what_is_all_is_not_always_known),
                                       cmocka_unit_test(output_for_programs_has_none)};
    /* Also when a person runs it. */
    if (isatty(STDERR_FILENO) && !freopen("/dev/null", "w", stderr)) return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
