/* Prompts that were computed again, of batches and changes written by hand. */
#include "analyze/recomputed.h"
#include "tests.h"

#include <math.h>
#include <string.h>

#define ROWS 8u
static const int32_t positions[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
static const int32_t text[] = {1, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30};
static const int32_t zeros[ROWS], ones[ROWS] = {1, 1, 1, 1, 1, 1, 1, 1};
static const uint32_t first[] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
static tt_pair recorded[] = {{"capture_sequences", "on"}};

/* n tokens of the text, from `from` on, at these positions; each takes 10 ticks. */
static tt_batch batch(uint64_t begin, uint8_t phase, const int32_t *sequence, uint32_t from,
                      uint32_t n)
{
    return (tt_batch){.context = 1,
                      .phase = phase,
                      .n_tokens = n,
                      .n_generate = phase == TT_PHASE_GENERATE ? n : 0,
                      .tokens = text + from,
                      .positions = positions + from,
                      .sequences = sequence,
                      .sequence_first = first,
                      .ended = true,
                      .begin_ticks = begin,
                      .end_ticks = begin + 10 * n};
}

static tt_recomputed_list find(tt_batch *list, uint32_t n, tt_meta_sequences *changes,
                               uint32_t n_changes)
{
    tt_error err;
    tt_recomputed_list got;
    tt_model m = {.batches = list,
                  .n_batches = n,
                  .sequence_changes = changes,
                  .n_sequence_changes = n_changes,
                  .environment = recorded,
                  .n_environment = n_changes ? 1 : 0};
    m.clock.known = true;
    m.clock.ns_per_tick = 1;
    assert_int_equal(tt_recomputed_find(&m, &got, &err), TT_OK);
    return got;
}

static void test_again(void **state)
{
    tt_batch list[] = {batch(0, TT_PHASE_PROMPT, zeros, 0, 6),
                       batch(100, TT_PHASE_GENERATE, zeros, 6, 1),
                       batch(200, TT_PHASE_PROMPT, zeros, 2, 6)};
    tt_meta_sequences removed = {.context = 1,
                                 .ticks = 150,
                                 .flags = TT_SEQUENCES_HELD,
                                 .from = 2,
                                 .to = -1,
                                 .held_last = 6};
    (void)state;
    /* Positions 2 to 6, of which the last one had been generated. */
    tt_recomputed_list got = find(list, 3, &removed, 1);
    assert_int_equal(got.n, 1);
    assert_true(got.rows[0].first_position == 2 && got.rows[0].n_tokens == 5);
    assert_int_equal(got.rows[0].n_prompt, 6);
    assert_true(got.rows[0].time_ns == 50);
    assert_int_equal(got.rows[0].before, 0);
    assert_int_equal(got.rows[0].loss, TT_LOSS_REMOVED);
    tt_recomputed_free(&got);
    /* It held them from position 3 on. */
    removed.held_first = 3;
    got = find(list, 3, &removed, 1);
    assert_int_equal(got.rows[0].loss, TT_LOSS_NOT_HELD);
    tt_recomputed_free(&got);
    /* An older trace does not tell. */
    got = find(list, 3, NULL, 0);
    assert_true(got.n == 1 && got.rows[0].loss == TT_LOSS_NOT_RECORDED);
    tt_recomputed_free(&got);
    /* Nor one whose context is not seen to keep anything. */
    list[2] = batch(200, TT_PHASE_PROMPT, zeros, 0, 6);
    tt_batch alone[] = {list[0], list[2]};
    got = find(alone, 2, NULL, 0);
    assert_int_equal(got.n, 0);
    tt_recomputed_free(&got);
}

static void test_not_again(void **state)
{
    static const int32_t other[] = {2, 20, 21, 22, 23, 24, 25};
    tt_batch list[] = {batch(0, TT_PHASE_PROMPT, zeros, 0, 6),
                       batch(100, TT_PHASE_GENERATE, zeros, 6, 1),
                       batch(200, TT_PHASE_PROMPT, zeros, 0, 6)};
    tt_meta_sequences removed = {.context = 1, .ticks = 150, .from = 0, .to = -1};
    (void)state;
    /* The same tokens behind another one. */
    list[2].tokens = other;
    tt_recomputed_list got = find(list, 3, &removed, 1);
    assert_int_equal(got.n, 0);
    tt_recomputed_free(&got);
    /* Its last token alone. */
    list[2] = batch(200, TT_PHASE_PROMPT, zeros, 5, 1);
    got = find(list, 3, &removed, 1);
    assert_int_equal(got.n, 0);
    tt_recomputed_free(&got);
    /* The same in another context; as warm-up; generated. */
    list[2] = batch(200, TT_PHASE_PROMPT, zeros, 0, 6);
    list[2].context = 2;
    got = find(list, 3, &removed, 1);
    assert_int_equal(got.n, 0);
    tt_recomputed_free(&got);
    list[2] = batch(200, TT_PHASE_WARMUP, zeros, 0, 6);
    got = find(list, 3, &removed, 1);
    assert_int_equal(got.n, 0);
    tt_recomputed_free(&got);
}

static void test_why(void **state)
{
    tt_batch list[] = {batch(0, TT_PHASE_PROMPT, zeros, 0, 6),
                       batch(100, TT_PHASE_GENERATE, zeros, 6, 1),
                       batch(200, TT_PHASE_PROMPT, zeros, 0, 6)};
    tt_meta_sequences c[] = {
        {.context = 1, .ticks = 140, .flags = TT_SEQUENCES_REFUSED, .from = 5, .to = -1},
        {.context = 1, .ticks = 150, .sequence = -1, .from = -1, .to = -1}};
    (void)state;
    tt_recomputed_list got = find(list, 3, c, 2);
    assert_true(got.n == 1 && got.rows[0].loss == TT_LOSS_REFUSED && got.rows[0].change == 0);
    tt_recomputed_free(&got);
    got = find(list, 3, c + 1, 1);
    assert_true(got.n == 1 && got.rows[0].loss == TT_LOSS_CLEARED);
    tt_recomputed_free(&got);
    /* Another sequence has them still. */
    list[2].sequences = ones;
    got = find(list, 3, c, 1);
    assert_true(got.n == 1 && got.rows[0].loss == TT_LOSS_ELSEWHERE && got.rows[0].holder == 0);
    tt_recomputed_free(&got);
    /* It is a copy of that, up to position 4. */
    tt_meta_sequences copied = {.context = 1,
                                .ticks = 150,
                                .kind = TT_SEQUENCES_COPIED,
                                .sequence = 1,
                                .from = -1,
                                .to = 5};
    list[2] = batch(200, TT_PHASE_PROMPT, ones, 5, 2);
    got = find(list, 3, &copied, 1);
    assert_true(got.n == 1 && got.rows[0].first_position == 5 && got.rows[0].n_tokens == 2);
    tt_recomputed_free(&got);
}

static void test_moved_and_restored(void **state)
{
    /* A full context: positions 1 to 3 are removed, what is behind moves. */
    tt_batch list[] = {batch(0, TT_PHASE_PROMPT, zeros, 0, 6),
                       batch(100, TT_PHASE_PROMPT, zeros, 6, 4),
                       batch(200, TT_PHASE_PROMPT, zeros, 0, 8)};
    tt_meta_sequences c[] = {
        {.context = 1, .ticks = 90, .from = 1, .to = 4},
        {.context = 1, .ticks = 91, .kind = TT_SEQUENCES_MOVED, .from = 4, .to = -1, .by = -3},
        {.context = 1, .ticks = 150, .from = 0, .to = -1}};
    (void)state;
    list[1].positions = positions + 3;
    tt_recomputed_list got = find(list, 3, c, 3);
    assert_true(got.n == 1 && got.rows[0].n_tokens == 8 && got.rows[0].loss == TT_LOSS_REMOVED);
    tt_recomputed_free(&got);
    /* A state of the first 6 positions is restored: 2 of them are computed again. */
    tt_batch back[] = {
        batch(0, TT_PHASE_PROMPT, zeros, 0, 8), batch(100, TT_PHASE_PROMPT, ones, 0, 8),
        batch(200, TT_PHASE_PROMPT, zeros, 6, 2), batch(300, TT_PHASE_PROMPT, zeros, 4, 2)};
    back[1].tokens = text + 3;
    tt_meta_sequences s[] = {
        {.context = 1, .ticks = 85, .kind = TT_SEQUENCES_SAVED, .state = 7},
        {.context = 1, .ticks = 190, .from = 2, .to = -1},
        {.context = 1, .ticks = 195, .kind = TT_SEQUENCES_RESTORED, .state = 7},
        {.context = 1, .ticks = 196, .from = 6, .to = -1},
        {.context = 1, .ticks = 290, .kind = TT_SEQUENCES_RESTORED, .state = 9}};
    got = find(back, 4, s, 5);
    assert_true(got.n == 1 && got.rows[0].first_position == 6 && got.rows[0].n_tokens == 2);
    tt_recomputed_free(&got);
}

/* Tokens that a restored state brings back are held: another sequence could have had them. */
static void test_restored_are_held(void **state)
{
    tt_batch list[] = {batch(0, TT_PHASE_PROMPT, zeros, 0, 4),
                       batch(100, TT_PHASE_PROMPT, zeros, 4, 4),
                       batch(200, TT_PHASE_PROMPT, ones, 0, 8)};
    tt_meta_sequences c[] = {
        {.context = 1, .ticks = 85, .kind = TT_SEQUENCES_SAVED, .state = 7},
        {.context = 1, .ticks = 190, .kind = TT_SEQUENCES_RESTORED, .state = 7}};
    (void)state;
    tt_recomputed_list got = find(list, 3, c, 2);
    assert_int_equal(got.n, 1);
    assert_true(got.rows[0].n_tokens == 8 && got.rows[0].holder == 0);
    assert_int_equal(got.rows[0].loss, TT_LOSS_ELSEWHERE);
    tt_recomputed_free(&got);
    /* What it does not bring back was replaced. */
    list[2] = batch(200, TT_PHASE_PROMPT, zeros, 4, 4);
    got = find(list, 3, c, 2);
    assert_true(got.n == 1 && got.rows[0].first_position == 4);
    assert_int_equal(got.rows[0].loss, TT_LOSS_REPLACED);
    tt_recomputed_free(&got);
    /* A state of another text brings nothing of this one back. */
    c[0].sequence = 5;
    got = find(list, 3, c, 2);
    assert_int_equal(got.n, 0);
    tt_recomputed_free(&got);
}

/* A part of all sequences was removed: not all that the context held. */
static void test_part_of_all(void **state)
{
    char said[TT_RECOMPUTED_TEXT];
    tt_batch list[] = {batch(0, TT_PHASE_PROMPT, zeros, 0, 8),
                       batch(200, TT_PHASE_PROMPT, zeros, 3, 5)};
    tt_meta_sequences c = {.context = 1, .ticks = 150, .sequence = -1, .from = 3, .to = -1};
    tt_model m = {.batches = list, .n_batches = 2, .sequence_changes = &c, .n_sequence_changes = 1};
    (void)state;
    m.clock.known = true;
    m.clock.ns_per_tick = 1;
    tt_recomputed_list got = find(list, 2, &c, 1);
    assert_true(got.n == 1 && got.rows[0].loss == TT_LOSS_REMOVED);
    assert_string_equal(
        tt_recomputed_text(&m, &got.rows[0], said),
        "50 ns before, the program removed the positions from 3 on of all sequences.");
    m.clock.known = false;
    assert_string_equal(tt_recomputed_text(&m, &got.rows[0], said),
                        "Before, the program removed the positions from 3 on of all sequences.");
    tt_recomputed_free(&got);
    /* A state of all sequences was restored. */
    list[1] = batch(200, TT_PHASE_PROMPT, zeros, 0, 8);
    c.kind = TT_SEQUENCES_RESTORED;
    got = find(list, 2, &c, 1);
    assert_true(got.n == 1 && got.rows[0].loss == TT_LOSS_REPLACED);
    assert_string_equal(tt_recomputed_text(&m, &got.rows[0], said),
                        "Before, the program restored a saved state into all sequences.");
    tt_recomputed_free(&got);
}

static void test_time_not_known(void **state)
{
    tt_batch list[] = {batch(0, TT_PHASE_PROMPT, zeros, 0, 6),
                       batch(200, TT_PHASE_PROMPT, zeros, 2, 2),
                       batch(300, TT_PHASE_PROMPT, zeros, 4, 2)};
    tt_meta_sequences c = {.context = 1, .ticks = 150, .from = 2, .to = -1};
    (void)state;
    list[2].ended = false;
    tt_recomputed_list got = find(list, 3, &c, 1);
    assert_true(got.n == 1 && got.rows[0].n_tokens == 4);
    assert_true(got.rows[0].time_ns == 20 && got.rows[0].time_at_least);
    tt_recomputed_free(&got);
    list[1].ended = false;
    got = find(list, 3, &c, 1);
    assert_true(got.n == 1 && isnan(got.rows[0].time_ns));
    tt_recomputed_free(&got);
}

#define HOSTILE 20000u

/* Half of the batches fill contexts of their own, half repeat a position: comparing each of these
 * with all of those would take 100,000,000 steps. */
static void test_in_proportion(void **state)
{
    static tt_batch list[HOSTILE];
    (void)state;
    for (uint32_t i = 0; i < HOSTILE; i++) {
        list[i] = batch(20ull * i, TT_PHASE_PROMPT, zeros, 0, 1);
        if (i < HOSTILE / 2) list[i].context = i + 2;
    }
    tt_recomputed_list got = find(list, HOSTILE, NULL, 0);
    assert_true(got.is_cut);
    tt_recomputed_free(&got);
}

#define LONG 4096u

/* A long text's state that is restored often takes no more than what was not in it. */
static void test_often_restored(void **state)
{
    static int32_t at[LONG], none[LONG], tokens[LONG];
    static uint32_t firsts[LONG + 1];
    tt_batch list[] = {batch(0, TT_PHASE_PROMPT, none, 0, 1),
                       batch(100000, TT_PHASE_PROMPT, none, 0, 1)};
    tt_meta_sequences c[200];
    (void)state;
    for (uint32_t i = 0; i <= LONG; i++)
        firsts[i] = i;
    for (uint32_t i = 0; i < LONG; i++)
        at[i] = tokens[i] = (int32_t)i;
    list[0].n_tokens = LONG;
    list[0].tokens = tokens;
    list[0].positions = at;
    list[0].sequence_first = firsts;
    list[1].tokens = tokens;
    for (uint32_t i = 0; i < 200; i++)
        c[i] = (tt_meta_sequences){.context = 1,
                                   .ticks = 50000 + i,
                                   .kind = i ? TT_SEQUENCES_RESTORED : TT_SEQUENCES_SAVED,
                                   .state = 7};
    tt_recomputed_list got = find(list, 2, c, 200);
    assert_false(got.is_cut);
    tt_recomputed_free(&got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_again),
        cmocka_unit_test(test_not_again),
        cmocka_unit_test(test_why),
        cmocka_unit_test(test_moved_and_restored),
        cmocka_unit_test(test_restored_are_held),
        cmocka_unit_test(test_part_of_all),
        cmocka_unit_test(test_time_not_known),
        cmocka_unit_test(test_in_proportion),
        cmocka_unit_test(test_often_restored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
