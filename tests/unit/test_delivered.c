/* What somebody got of batches written by hand, and the time to first tokens. */
#include "analyze/summary.h"
#include "tests.h"

#include <string.h>

static const int32_t positions[] = {0, 1, 2, 3, 4, 5, 6, 7};
static const int32_t sequences[] = {0, 0, 0, 0, 0, 0, 0, 0};
static const uint32_t first[] = {0, 1, 2, 3, 4, 5, 6, 7, 8};

static tt_batch batch(uint8_t phase, int32_t at, uint32_t n, uint64_t begin, uint64_t end)
{
    return (tt_batch){.context = 1,
                      .phase = phase,
                      .n_tokens = n,
                      .n_generate = phase == TT_PHASE_GENERATE ? n : 0,
                      .positions = positions + at,
                      .sequences = sequences,
                      .sequence_first = first,
                      .ended = true,
                      .begin_ticks = begin,
                      .end_ticks = end};
}

static tt_first_tokens find(tt_batch *list, uint32_t n)
{
    tt_first_tokens got;
    tt_model m = {.batches = list, .n_batches = n};
    m.clock.known = true;
    m.clock.ns_per_tick = 1;
    for (uint32_t i = 0; i < n; i++)
        list[i].id = i + 1;
    tt_first_tokens_find(&m, &got);
    return got;
}

static void test_idle_time_is_nobodys(void **state)
{
    tt_batch list[] = {
        batch(TT_PHASE_WARMUP, 0, 2, 0, 900),       batch(TT_PHASE_PROMPT, 0, 3, 1000, 1100),
        batch(TT_PHASE_PROMPT, 3, 2, 9000, 9050),   batch(TT_PHASE_GENERATE, 5, 1, 20000, 20010),
        batch(TT_PHASE_PROMPT, 0, 4, 50000, 50400), batch(TT_PHASE_GENERATE, 4, 1, 50500, 50510),
        batch(TT_PHASE_PROMPT, 0, 8, 60000, 60800),
    };
    (void)state;
    /* 100 + 50; 400; nothing was generated behind the last one. */
    tt_first_tokens got = find(list, 7);
    assert_int_equal(got.n, 2);
    assert_true(got.median_ns == 275 && got.worst_ns == 400);
    assert_int_equal(find(list, 3).n, 0);
}

static void test_a_prompt_that_begins_anew(void **state)
{
    /* The first one was given up: its time is not the second's. */
    tt_batch list[] = {batch(TT_PHASE_PROMPT, 0, 3, 0, 100), batch(TT_PHASE_PROMPT, 1, 2, 100, 130),
                       batch(TT_PHASE_GENERATE, 3, 1, 140, 150)};
    (void)state;
    assert_true(find(list, 3).median_ns == 30);
    /* What drafts has none of its own. */
    for (size_t i = 0; i < 3; i++)
        list[i].drafts = true;
    assert_int_equal(find(list, 3).n, 0);
}

static void test_a_draft_behind_a_prompt(void **state)
{
    tt_batch list[] = {batch(TT_PHASE_PROMPT, 0, 2, 0, 100), batch(TT_PHASE_MIXED, 2, 4, 100, 150),
                       batch(TT_PHASE_GENERATE, 3, 1, 160, 170)};
    (void)state;
    list[1].n_generate = 3;
    assert_true(find(list, 3).median_ns == 150);
}

static void test_got(void **state)
{
    tt_batch b = batch(TT_PHASE_GENERATE, 0, 4, 0, 1);
    (void)state;
    b.n_drafted = 3;
    b.n_accepted = 1;
    b.n_rejected = 2;
    assert_int_equal(tt_model_delivered(&b), 2);
    b.phase = TT_PHASE_MIXED;
    b.n_tokens = 7; /* and three of a prompt */
    assert_int_equal(tt_model_delivered(&b), 2);
    assert_int_equal(tt_model_got(&b), 5);
    b.drafts = true;
    assert_int_equal(tt_model_got(&b), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_idle_time_is_nobodys),
        cmocka_unit_test(test_a_prompt_that_begins_anew),
        cmocka_unit_test(test_a_draft_behind_a_prompt),
        cmocka_unit_test(test_got),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
