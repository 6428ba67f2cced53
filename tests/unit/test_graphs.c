/* Which nodes of a graph an engine computes. */
#include "tests.h"

#include "adapter/ggml/graphs.h"

static struct ggml_tensor node(int32_t flags)
{
    return (struct ggml_tensor){.op = 1, .ne = {4, 1, 1, 1}, .flags = flags};
}

/* A view of a graph may hold only nodes that are left out; without any flag ever, all compute. */
static void test_marked(void **state)
{
    static const tt_engine newer, older;
    struct ggml_tensor computed = node(GGML_MIRROR_FLAG_COMPUTE), left_out = node(0);
    struct ggml_tensor *whole[] = {&left_out, &computed}, *view[] = {&left_out};
    (void)state;
    assert_false(tt_graphs_marked(&older, view, 1));
    assert_true(tt_graphs_executes(&left_out, tt_graphs_marked(&older, view, 1)));
    assert_true(tt_graphs_marked(&newer, whole, 2));
    assert_true(tt_graphs_marked(&newer, view, 1));
    assert_false(tt_graphs_executes(&left_out, tt_graphs_marked(&newer, view, 1)));
    assert_true(tt_graphs_executes(&computed, tt_graphs_marked(&newer, view, 1)));
    assert_false(tt_graphs_marked(&older, view, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_marked)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
