/* Whose eval callback a scheduler calls: ours while it is recorded, the program's newest one after.
 */
#include "tests.h"

#include "adapter/ggml/contexts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* As ggml's: the setter stores both words. What lies before and behind is none of ours. */
typedef struct scheduler {
    char before[1000];
    tt_eval_callback callback;
    void *user_data;
    char behind[24];
} scheduler;

static bool programs_first(struct ggml_tensor *t, bool ask, void *user_data)
{
    return t && ask && user_data;
}

static bool programs_second(struct ggml_tensor *t, bool ask, void *user_data)
{
    return !t && ask && user_data;
}

static bool ours(struct ggml_tensor *t, bool ask, void *user_data)
{
    return t && !ask && user_data;
}

static void set(void *sched, tt_eval_callback callback, void *user_data)
{
    scheduler *s = sched;
    s->callback = callback;
    s->user_data = user_data;
}

static void set_nothing(void *sched, tt_eval_callback callback, void *user_data)
{
    (void)sched;
    (void)callback;
    (void)user_data;
}

static int first, second;

/* A scheduler that an allocator of the engine's has placed: at the end of the mapped memory, not at
 * the begin of a block. */
static scheduler *place(void **pages)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    assert_int_equal(munmap(memory + 2 * page, page), 0);
    *pages = memory;
    scheduler *s = (scheduler *)(void *)(memory + 2 * page - sizeof *s);
    memset(memory, 0x5a, 2 * page);
    set(s, programs_first, &first);
    return s;
}

static void expect_programs(const scheduler *s, tt_eval_callback callback, const void *user_data)
{
    assert_true(s->callback == callback);
    assert_ptr_equal(s->user_data, user_data);
    for (size_t i = 0; i < sizeof s->before; i++)
        assert_int_equal(s->before[i], 0x5a);
    for (size_t i = 0; i < sizeof s->behind; i++)
        assert_int_equal(s->behind[i], 0x5a);
}

static void given_back(void **state)
{
    void *pages;
    scheduler *s = place(&pages);
    tt_context c = {.sched = s};
    (void)state;
    assert_true(tt_contexts_install(&c, set, ours, false));
    expect_programs(s, ours, &c);
    assert_true(c.user_callback == programs_first && c.user_data == &first);
    assert_true(tt_contexts_is_installed(&c));
    tt_contexts_uninstall(&c);
    expect_programs(s, programs_first, &first);
    assert_false(tt_contexts_is_installed(&c));
    (void)munmap(pages, 2 * (size_t)sysconf(_SC_PAGESIZE));
}

/* Set by an inlined call, or after the hooks have gone. */
static void newer_one_stays(void **state)
{
    const bool hooked[] = {false, true};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        void *pages;
        scheduler *s = place(&pages);
        tt_context *c = calloc(1, sizeof *c);
        assert_non_null(c);
        c->sched = s;
        assert_true(tt_contexts_install(c, set, ours, hooked[i]));
        set(s, programs_second, &second);
        assert_false(tt_contexts_is_installed(c));
        /* A batch that is not recorded. */
        tt_contexts_uninstall(c);
        expect_programs(s, programs_second, &second);
        /* One that is: ours calls the newest. */
        assert_true(tt_contexts_install(c, set, ours, hooked[i]));
        assert_true(c->user_callback == programs_second && c->user_data == &second);
        set(s, NULL, NULL);
        tt_contexts_leave(c);
        expect_programs(s, NULL, NULL);
        (void)munmap(pages, 2 * (size_t)sysconf(_SC_PAGESIZE));
    }
}

/* Where it is stored cannot be found: ours is only set where all the program's calls are seen. */
static void unknown_place(void **state)
{
    void *pages;
    scheduler *s = place(&pages);
    tt_context c = {.sched = s};
    (void)state;
    assert_false(tt_contexts_install(&c, set_nothing, ours, false));
    expect_programs(s, programs_first, &first);
    assert_true(tt_contexts_install(&c, set_nothing, ours, true));
    assert_true(tt_contexts_is_installed(&c));
    (void)munmap(pages, 2 * (size_t)sysconf(_SC_PAGESIZE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(given_back),
        cmocka_unit_test(newer_one_stays),
        cmocka_unit_test(unknown_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
