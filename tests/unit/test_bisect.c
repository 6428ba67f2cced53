/* Builds compared, with planted times: which are slower or faster, and in which op. */
#include "tests.h"

#include "analyze/bisect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static tt_bisect_build *add(tt_bisect *x, const char *name, uint32_t runs, double batch_ns)
{
    tt_bisect_build *b = tt_bisect_add(x, name, "/builds");
    assert_non_null(b);
    b->runs = runs;
    b->ops = calloc(TT_BISECT_OPS_MAX, sizeof *b->ops);
    assert_non_null(b->ops);
    for (uint32_t i = 0; i < runs; i++)
        b->time.runs[i] = batch_ns * (1 + 0.01 * (i % 3));
    return b;
}

static void add_op(tt_bisect_build *b, const char *name, double ns)
{
    tt_bisect_op *op = &b->ops[b->n_ops++];
    (void)snprintf(op->op, sizeof op->op, "%s", name);
    op->count = 1;
    for (uint32_t i = 0; i < b->runs; i++)
        op->time.runs[i] = op->each.runs[i] = ns * (1 + 0.01 * (i % 3));
}

static const tt_bisect_op *find(const tt_bisect_build *b, const char *name)
{
    for (size_t i = 0; i < b->n_ops; i++)
        if (strcmp(b->ops[i].op, name) == 0) return &b->ops[i];
    return NULL;
}

static void test_planted(void **state)
{
    (void)state;
    tt_bisect x = {.least = 0.05};
    tt_bisect_build *b = add(&x, "one", 5, 1000);
    add_op(b, "MUL_MAT", 800);
    add_op(b, "ADD", 50);
    b = add(&x, "refused", 0, 0);
    b = add(&x, "two", 5, 1300);
    add_op(b, "MUL_MAT", 1080);
    add_op(b, "ADD", 51);
    b = add(&x, "three", 5, 1310);
    add_op(b, "MUL_MAT", 1085);
    add_op(b, "GLU", 50);
    tt_bisect_compare(&x);

    assert_true(isnan(x.builds[0].change.change));
    assert_null(x.builds[0].most);
    const tt_bisect_build *two = &x.builds[2], *three = &x.builds[3];
    assert_int_equal(two->change.verdict, TT_BISECT_SLOWER);
    /* Against "one": what was refused in between does not count. Medians are 1.01 times. */
    assert_true(fabs(two->change.change - (0.3)) <= 1e-6);
    assert_true(fabs(two->time.median_ns - (1313)) <= 1e-6);
    assert_string_equal(two->most->op, "MUL_MAT");
    assert_true(fabs(two->most->change.change - (0.28)) <= 1e-6);
    assert_int_equal(find(two, "ADD")->change.verdict, TT_BISECT_SAME);
    /* The ranges overlap. */
    assert_int_equal(three->change.verdict, TT_BISECT_SAME);
    /* An op kind that is gone, and one that is new: less than 5 % of the batch each. */
    assert_true(fabs(find(three, "ADD")->time.median_ns - (0)) <= 1e-6);
    assert_true(fabs(find(three, "ADD")->change.before_ns - (51 * 1.01)) <= 1e-6);
    assert_true(fabs(find(three, "GLU")->change.before_ns - (0)) <= 1e-6);
    assert_null(three->most);

    size_t n;
    tt_bisect_op *all = tt_bisect_ops(&x, &n);
    assert_int_equal(n, 2 + 2 + 3);
    assert_string_equal(all[0].build, "one");
    assert_string_equal(all[0].op, "MUL_MAT");
    free(all);
    tt_bisect_free(&x);
}

/* A change as large as the least, but of runs that overlap, is none; of single runs it is one. */
static void test_spread(void **state)
{
    (void)state;
    tt_bisect x = {.least = 0.05};
    tt_bisect_build *b = add(&x, "one", 3, 1000);
    b->time.runs[2] = 1500;
    b = add(&x, "two", 3, 1200);
    b = add(&x, "three", 1, 1000);
    b = add(&x, "four", 1, 1051);
    b = add(&x, "five", 1, 1000);
    tt_bisect_compare(&x);
    assert_int_equal(x.builds[1].change.verdict, TT_BISECT_SAME);
    assert_int_equal(x.builds[2].change.verdict, TT_BISECT_FASTER);
    assert_int_equal(x.builds[3].change.verdict, TT_BISECT_SLOWER);
    assert_int_equal(x.builds[4].change.verdict, TT_BISECT_SAME); /* -4.9 % */
    tt_bisect_free(&x);
}

/* A build that changed although none of its op kinds did by itself names the one with most of it.
 */
static void test_many_small(void **state)
{
    (void)state;
    tt_bisect x = {.least = 0.05};
    tt_bisect_build *b = add(&x, "one", 3, 1000);
    add_op(b, "ADD", 100);
    add_op(b, "MUL", 100);
    b = add(&x, "two", 3, 1080);
    add_op(b, "ADD", 143);
    add_op(b, "MUL", 137);
    tt_bisect_compare(&x);
    assert_int_equal(x.builds[1].change.verdict, TT_BISECT_SLOWER);
    assert_string_equal(x.builds[1].most->op, "ADD");
    assert_int_equal(x.builds[1].most->change.verdict, TT_BISECT_SAME);
    tt_bisect_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_planted),
                                       cmocka_unit_test(test_spread),
                                       cmocka_unit_test(test_many_small)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
