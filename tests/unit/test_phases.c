/* What is a prompt and what is generated, by calls written by hand. Expected words are written out:
 * a letter a row, p prompt, g generated. */
#include "adapter/ggml/batch_ext.h"
#include "adapter/ggml/phases.h"
#include "tests.h"

#include <stdlib.h>
#include <string.h>

#define ROWS_MAX 64u

/* A row: its sequences as digits, its position, whether an output is asked for, its token. */
typedef struct hand_row {
    const char *sequences;
    int32_t position;
    bool is_output;
    int32_t token;
} hand_row;

static void judge_at(tt_phases *p, const hand_row *rows, uint32_t n, bool has_positions,
                     int32_t first_position, const char *expected)
{
    int32_t positions[ROWS_MAX], ids[ROWS_MAX * 4], tokens[ROWS_MAX];
    uint32_t first[ROWS_MAX + 1], at = 0;
    uint8_t outputs[ROWS_MAX], phases[ROWS_MAX], drafted[ROWS_MAX];
    char got[ROWS_MAX + 1] = "";
    assert_true(n <= ROWS_MAX && n == strlen(expected));
    for (uint32_t i = 0; i < n; i++) {
        positions[i] = rows[i].position;
        outputs[i] = rows[i].is_output;
        tokens[i] = rows[i].token;
        first[i] = at;
        for (const char *s = rows[i].sequences; *s; s++)
            ids[at++] = *s - '0';
    }
    first[n] = at;
    const tt_phases_rows call = {n, has_positions ? positions : NULL, first, ids, outputs, tokens};
    tt_phases_assign(p, &call, first_position, phases, drafted);
    for (uint32_t i = 0; i < n; i++)
        got[i] = "?pg"[phases[i]];
    assert_string_equal(got, expected);
}

#define JUDGE(p, expected, ...)                                                                    \
    do {                                                                                           \
        const hand_row rows_[] = {__VA_ARGS__};                                                    \
        judge_at(p, rows_, sizeof rows_ / sizeof *rows_, true, -1, expected);                      \
    } while (0)

static void test_one_sequence(void **state)
{
    tt_phases p = {0};
    (void)state;
    JUDGE(&p, "ppp", {"0", 0, 0, 0}, {"0", 1, 0, 0}, {"0", 2, 1, 0});
    JUDGE(&p, "g", {"0", 3, 1, 0});
    JUDGE(&p, "g", {"0", 4, 1, 0});
    /* The next turn of a chat goes on behind what was generated. */
    JUDGE(&p, "ppp", {"0", 5, 0, 0}, {"0", 6, 0, 0}, {"0", 7, 1, 0});
    JUDGE(&p, "g", {"0", 8, 1, 0});
    /* The sequence starts anew: one token at 0 is a prompt. */
    JUDGE(&p, "p", {"0", 0, 1, 0});
    JUDGE(&p, "g", {"0", 1, 1, 0});
    tt_phases_free(&p);
}

/* Three sequences of 5, 6 and 9 tokens, then six steps: 20 of prompts, 18 generated. */
static void test_sequences_in_parallel(void **state)
{
    tt_phases p = {0};
    (void)state;
    JUDGE(&p, "pppppppp", {"0", 0, 0, 0}, {"0", 1, 0, 0}, {"0", 2, 0, 0}, {"0", 3, 0, 0},
          {"0", 4, 1, 0}, {"1", 0, 0, 0}, {"1", 1, 0, 0}, {"1", 2, 0, 0});
    /* Ends of two prompts, as many rows as sequences. */
    JUDGE(&p, "pppp", {"1", 3, 0, 0}, {"1", 4, 0, 0}, {"2", 0, 0, 0}, {"2", 1, 0, 0});
    JUDGE(&p, "pp", {"1", 5, 1, 0}, {"2", 2, 0, 0});
    JUDGE(&p, "pppppp", {"2", 3, 0, 0}, {"2", 4, 0, 0}, {"2", 5, 0, 0}, {"2", 6, 0, 0},
          {"2", 7, 0, 0}, {"2", 8, 1, 0});
    /* Positions 5 and 6 follow each other, but in two sequences. */
    for (int32_t i = 0; i < 6; i++)
        JUDGE(&p, "ggg", {"0", 5 + i, 1, 0}, {"1", 6 + i, 1, 0}, {"2", 9 + i, 1, 0});
    tt_phases_free(&p);
}

static void test_mixed(void **state)
{
    tt_phases p = {0};
    (void)state;
    JUDGE(&p, "pp", {"0", 0, 0, 0}, {"0", 1, 1, 0});
    JUDGE(&p, "gppp", {"0", 2, 1, 0}, {"1", 0, 0, 0}, {"1", 1, 0, 0}, {"1", 2, 0, 0});
    /* The last part of a prompt, one token: the part before had no output. */
    JUDGE(&p, "gp", {"0", 3, 1, 0}, {"1", 3, 1, 0});
    JUDGE(&p, "gg", {"0", 4, 1, 0}, {"1", 4, 1, 0});
    assert_int_equal(tt_phases_of(2, 1, 0), TT_PHASE_MIXED);
    assert_int_equal(tt_phases_of(2, 0, 0), TT_PHASE_PROMPT);
    assert_int_equal(tt_phases_of(0, 2, 0), TT_PHASE_GENERATE);
    assert_int_equal(tt_phases_of(2, 1, 1), TT_PHASE_UNKNOWN);
    assert_int_equal(tt_phases_of(0, 0, 0), TT_PHASE_UNKNOWN);
    tt_phases_free(&p);
}

static void test_drafts(void **state)
{
    tt_phases p = {0};
    (void)state;
    JUDGE(&p, "pp", {"0", 0, 0, 0}, {"0", 1, 1, 0});
    JUDGE(&p, "gggg", {"0", 2, 1, 0}, {"0", 3, 1, 0}, {"0", 4, 1, 0}, {"0", 5, 1, 0});
    /* Two of them are rejected: positions go back. */
    JUDGE(&p, "ggg", {"0", 4, 1, 0}, {"0", 5, 1, 0}, {"0", 6, 1, 0});
    JUDGE(&p, "g", {"0", 5, 1, 0});
    /* What was rejected is gone: nobody was seen to compute position 6. */
    JUDGE(&p, "?", {"0", 7, 1, 0});
    /* As many tokens, but an output for the last alone: more of a prompt. */
    JUDGE(&p, "ppp", {"0", 8, 0, 0}, {"0", 9, 0, 0}, {"0", 10, 1, 0});
    tt_phases_free(&p);
}

/* The last token of the prompt is computed with the first draft. */
static void test_draft_with_the_prompts_end(void **state)
{
    tt_phases p = {0};
    (void)state;
    JUDGE(&p, "pp", {"0", 0, 0, 0}, {"0", 1, 0, 0});
    JUDGE(&p, "ppp", {"0", 2, 1, 0}, {"0", 3, 1, 0}, {"0", 4, 1, 0});
    JUDGE(&p, "ggg", {"0", 5, 1, 0}, {"0", 6, 1, 0}, {"0", 7, 1, 0});
    JUDGE(&p, "ggg", {"0", 6, 1, 0}, {"0", 7, 1, 0}, {"0", 8, 1, 0});
    tt_phases_free(&p);
}

/* Perplexity asks for many outputs of its text, part by part: nothing is generated. */
static void test_scoring(void **state)
{
    tt_phases p = {0};
    (void)state;
    hand_row part[64];
    char expected[65] = "";
    for (int32_t call = 0; call < 4; call++) {
        for (int32_t i = 0; i < 64; i++)
            part[i] = (hand_row){"0", 64 * call + i, call > 0, 0};
        memset(expected, 'p', 64);
        judge_at(&p, part, 64, true, -1, expected);
    }
    /* The last part is shorter. */
    JUDGE(&p, "pp", {"0", 256, 1, 0}, {"0", 257, 1, 0});
    tt_phases_free(&p);
}

static void test_shared_beginning(void **state)
{
    tt_phases p = {0};
    (void)state;
    JUDGE(&p, "ppp", {"012", 0, 0, 0}, {"012", 1, 0, 0}, {"012", 2, 1, 0});
    JUDGE(&p, "ggg", {"0", 3, 1, 0}, {"1", 3, 1, 0}, {"2", 3, 1, 0});
    /* Sequence 3 is a copy of another, which nothing tells but its position. */
    JUDGE(&p, "gg", {"0", 4, 1, 0}, {"3", 4, 1, 0});
    JUDGE(&p, "g", {"3", 5, 1, 0});
    tt_phases_free(&p);
}

/* A cache that holds all of a prompt but its last token: that alone is computed. */
static void test_cached_prompt(void **state)
{
    tt_phases p = {0};
    (void)state;
    JUDGE(&p, "pppp", {"0", 0, 0, 0}, {"0", 1, 0, 0}, {"0", 2, 0, 0}, {"0", 3, 1, 0});
    JUDGE(&p, "g", {"0", 4, 1, 0});
    JUDGE(&p, "g", {"0", 5, 1, 0});
    JUDGE(&p, "p", {"0", 3, 1, 0});
    JUDGE(&p, "g", {"0", 4, 1, 0});
    tt_phases_free(&p);
}

static void test_shift(void **state)
{
    tt_phases p = {0};
    (void)state;
    JUDGE(&p, "ppppp", {"0", 0, 0, 0}, {"0", 1, 0, 0}, {"0", 2, 0, 0}, {"0", 3, 0, 0},
          {"0", 4, 1, 0});
    JUDGE(&p, "g", {"0", 5, 1, 0});
    p.shifted = true;
    JUDGE(&p, "g", {"0", 3, 1, 0});
    JUDGE(&p, "g", {"0", 4, 1, 0});
    JUDGE(&p, "p", {"0", 2, 1, 0});
    tt_phases_free(&p);
}

/* The engine chooses positions: it continues the sequence, wherever its memory says. */
static void test_automatic_positions(void **state)
{
    tt_phases p = {0};
    const hand_row prompt[] = {{"0", -9, 0, 0}, {"0", -9, 0, 0}, {"0", -9, 1, 0}},
                   next[] = {{"0", -9, 1, 0}};
    (void)state;
    judge_at(&p, prompt, 3, false, 0, "ppp");
    judge_at(&p, next, 1, false, 3, "g");
    judge_at(&p, next, 1, false, -1, "g");
    judge_at(&p, next, 1, false, 5, "g");
    /* The memory was emptied. */
    judge_at(&p, next, 1, false, 0, "p");
    tt_phases_free(&p);
}

/* What was asked for and not read before the next call: the next part of the prompt. */
static void test_outputs_that_are_not_read(void **state)
{
    tt_phases p = {.reads_are_seen = true};
    (void)state;
    JUDGE(&p, "pp", {"0", 0, 0, 0}, {"0", 1, 1, 0});
    JUDGE(&p, "p", {"0", 2, 1, 0});
    p.was_read = true;
    JUDGE(&p, "g", {"0", 3, 1, 0});
    JUDGE(&p, "p", {"0", 4, 1, 0});
    tt_phases_free(&p);
}

static void test_positions_that_were_not_seen(void **state)
{
    tt_phases p = {0};
    (void)state;
    JUDGE(&p, "pp", {"0", 0, 0, 0}, {"0", 1, 1, 0});
    JUDGE(&p, "?", {"0", 7, 1, 0});
    JUDGE(&p, "g", {"0", 8, 1, 0});
    JUDGE(&p, "??", {"0", 20, 1, 0}, {"0", 21, 1, 0});
    /* A prompt, whatever is before it. */
    JUDGE(&p, "ppp", {"0", 30, 0, 0}, {"0", 31, 0, 0}, {"0", 32, 1, 0});
    JUDGE(&p, "?", {"1", 5, 1, 0});
    tt_phases_free(&p);
}

static void test_memory_is_removed(void **state)
{
    tt_phases p = {0};
    (void)state;
    JUDGE(&p, "pp", {"0", 0, 0, 0}, {"0", 1, 1, 0});
    JUDGE(&p, "gggg", {"0", 2, 1, 0}, {"0", 3, 1, 0}, {"0", 4, 1, 0}, {"0", 5, 1, 0});
    tt_phases_remove(&p, 0, 4, -1);
    assert_int_equal(p.list[0].next, 4);
    JUDGE(&p, "g", {"0", 4, 1, 0});
    /* All of it is gone; what is then there came from elsewhere. */
    tt_phases_remove(&p, -1, -1, -1);
    JUDGE(&p, "?", {"0", 5, 1, 0});
    tt_phases_keep(&p, 1);
    JUDGE(&p, "p", {"0", 0, 1, 0});
    JUDGE(&p, "g", {"0", 1, 1, 0});
    /* Ranges and sequences that cannot be change nothing. */
    tt_phases_remove(&p, 0, 9, 3);
    tt_phases_remove(&p, 4096, 0, 9);
    tt_phases_add(&p, 77, 0, -1, 5);
    tt_phases_divide(&p, 0, 0, -1, 0);
    tt_phases_copy(&p, 77, 0, -1, -1);
    JUDGE(&p, "g", {"0", 2, 1, 0});
    tt_phases_free(&p);
}

static void test_memory_is_copied(void **state)
{
    tt_phases p = {0};
    (void)state;
    JUDGE(&p, "ppp", {"0", 0, 0, 0}, {"0", 1, 0, 0}, {"0", 2, 0, 0});
    tt_phases_copy(&p, 0, 1, -1, -1);
    tt_phases_copy(&p, 0, 5, -1, -1);
    /* Behind it each has its own prompt, of a token. */
    JUDGE(&p, "pp", {"1", 3, 1, 0}, {"5", 3, 1, 0});
    JUDGE(&p, "gg", {"1", 4, 1, 0}, {"5", 4, 1, 0});
    tt_phases_copy(&p, 5, 0, -1, -1);
    JUDGE(&p, "g", {"0", 5, 1, 0});
    /* A part of it, whose end had no output. */
    tt_phases_copy(&p, 0, 2, 0, 3);
    JUDGE(&p, "p", {"2", 3, 1, 0});
    tt_phases_free(&p);
}

/* A context is shifted: 3 of 8 positions are dropped, those behind move up. */
static void test_memory_is_moved(void **state)
{
    tt_phases p = {0};
    (void)state;
    JUDGE(&p, "ppppp", {"0", 0, 0, 0}, {"0", 1, 0, 0}, {"0", 2, 0, 0}, {"0", 3, 0, 0},
          {"0", 4, 1, 0});
    JUDGE(&p, "g", {"0", 5, 1, 0});
    JUDGE(&p, "g", {"0", 6, 1, 0});
    JUDGE(&p, "g", {"0", 7, 1, 0});
    tt_phases_remove(&p, 0, 1, 4);
    tt_phases_add(&p, 0, 4, -1, -3);
    JUDGE(&p, "g", {"0", 5, 1, 0});
    JUDGE(&p, "g", {"0", 6, 1, 0});
    /* Seven positions become four. */
    tt_phases_divide(&p, 0, 0, -1, 2);
    JUDGE(&p, "g", {"0", 4, 1, 0});
    tt_phases_add(&p, 0, 0, -1, INT32_MAX);
    tt_phases_add(&p, 0, 0, -1, INT32_MIN);
    tt_phases_free(&p);
}

/* A context that drafts, and one that checks: each computes what the other one has chosen. */
static void test_contexts_that_work_together(void **state)
{
    tt_phases target = {.reads_are_seen = true}, draft = target;
    (void)state;
    JUDGE(&target, "pp", {"0", 0, 0, 10}, {"0", 1, 0, 11});
    JUDGE(&draft, "pp", {"0", 0, 0, 10}, {"0", 1, 1, 11});
    target.others[0] = &draft;
    draft.others[0] = &target;
    target.n_others = draft.n_others = 1;
    /* The prompt's last token, then what is drafted. */
    JUDGE(&draft, "p", {"0", 2, 1, 12});
    draft.was_read = true;
    JUDGE(&draft, "g", {"0", 3, 1, 13});
    draft.was_read = true;
    JUDGE(&target, "pgg", {"0", 2, 1, 12}, {"0", 3, 1, 13}, {"0", 4, 1, 14});
    target.was_read = true;
    /* It computes again what was checked. */
    tt_phases_remove(&draft, 0, 2, -1);
    JUDGE(&draft, "pgg", {"0", 2, 0, 12}, {"0", 3, 0, 13}, {"0", 4, 1, 14});
    /* One was rejected, and the checking context has chosen another one. */
    tt_phases_remove(&draft, 0, 4, -1);
    tt_phases_remove(&target, 0, 4, -1);
    JUDGE(&draft, "g", {"0", 4, 1, 19});
    draft.was_read = true;
    JUDGE(&target, "gg", {"0", 4, 1, 19}, {"0", 5, 1, 20});
    target.was_read = true;
    /* All of the text anew: its prompt. Other text at these positions: likewise. */
    JUDGE(&draft, "ppppp", {"0", 0, 0, 10}, {"0", 1, 0, 11}, {"0", 2, 0, 12}, {"0", 3, 0, 13},
          {"0", 4, 1, 19});
    JUDGE(&draft, "pp", {"0", 5, 0, 70}, {"0", 6, 1, 71});
    tt_phases_free(&target);
    tt_phases_free(&draft);
}

/* What is known of the batches: their ids, flags, and numbers that add up. */
static void expect_fate(const tt_phases *p, uint32_t batch, uint8_t flags, uint32_t drafted,
                        uint32_t accepted, uint32_t rejected)
{
    tt_meta_fate sum = {0};
    for (size_t i = 0; i < p->n_fates; i++) {
        if (p->fates[i].batch != batch) continue;
        sum.flags |= p->fates[i].flags;
        sum.n_drafted += p->fates[i].n_drafted;
        sum.n_accepted += p->fates[i].n_accepted;
        sum.n_rejected += p->fates[i].n_rejected;
    }
    assert_int_equal(sum.flags, flags);
    assert_int_equal(sum.n_drafted, drafted);
    assert_int_equal(sum.n_accepted, accepted);
    assert_int_equal(sum.n_rejected, rejected);
}

/* The rows that a batch of the last call computes. */
static void computed(tt_phases *p, uint32_t batch, int32_t sequence, int32_t from, int32_t to)
{
    p->last_batch = batch;
    for (int32_t position = from; position < to; position++)
        tt_phases_drafted(p, batch, sequence, position);
}

static void test_fates_of_drafts(void **state)
{
    tt_phases p = {0};
    (void)state;
    JUDGE(&p, "pp", {"0", 0, 0, 0}, {"0", 1, 1, 0});
    JUDGE(&p, "gggg", {"0", 2, 1, 0}, {"0", 3, 1, 0}, {"0", 4, 1, 0}, {"0", 5, 1, 0});
    computed(&p, 7, 0, 3, 6);
    /* 3 was right: the sequence goes on at 4, with no cut that was seen. */
    JUDGE(&p, "gg", {"0", 4, 1, 0}, {"0", 5, 1, 0});
    expect_fate(&p, 7, 0, 3, 1, 2);
    computed(&p, 8, 0, 5, 6);
    expect_fate(&p, 8, 0, 1, 0, 0);
    tt_phases_remove(&p, 0, 6, -1); /* nothing, so all were right */
    expect_fate(&p, 8, 0, 1, 1, 0);
    JUDGE(&p, "gg", {"0", 6, 1, 0}, {"0", 7, 1, 0});
    computed(&p, 9, 0, 7, 8);
    tt_phases_remove(&p, -1, -1, -1); /* the end, which says nothing of them */
    expect_fate(&p, 9, 0, 1, 0, 0);
    tt_phases_free(&p);
}

/* A window of guesses in sequences of its own, and two drafts in others, behind one token. */
static void test_lookahead(void **state)
{
    tt_phases p = {0};
    (void)state;
    JUDGE(&p, "p", {"0", 0, 1, 0});
    for (int32_t to = 1; to < 4; to++)
        tt_phases_copy(&p, 0, to, -1, -1);
    JUDGE(&p, "ggggg", {"0123", 1, 1, 0}, {"2", 2, 1, 0}, {"3", 2, 1, 0}, {"2", 3, 1, 0},
          {"1", 2, 0, 0});
    p.last_batch = 5;
    tt_phases_drafted(&p, 5, 2, 2);
    tt_phases_drafted(&p, 5, 3, 2);
    tt_phases_drafted(&p, 5, 2, 3);
    tt_phases_drafted(&p, 5, 1, 2);
    /* One draft of one token was right. */
    tt_phases_remove(&p, -1, 3, -1);
    expect_fate(&p, 5, 0, 4, 1, 3);
    tt_phases_keep(&p, 2);
    tt_phases_copy(&p, 2, 0, -1, -1);
    JUDGE(&p, "gg", {"0123", 3, 1, 0}, {"1", 4, 0, 0});
    tt_phases_free(&p);
}

static void test_first_draft_without_another_context(void **state)
{
    tt_phases p = {.reads_are_seen = true};
    (void)state;
    JUDGE(&p, "pp", {"0", 0, 0, 0}, {"0", 1, 1, 0});
    JUDGE(&p, "ppp", {"0", 2, 1, 0}, {"0", 3, 1, 0}, {"0", 4, 1, 0});
    p.last_batch = 2;
    p.was_read = p.was_fetched = p.was_chosen_from = true;
    tt_phases_remove(&p, 0, 4, -1);
    expect_fate(&p, 2, TT_FATE_DRAFTED_PROMPT, 2, 1, 1);
    JUDGE(&p, "g", {"0", 4, 1, 0});
    tt_phases_free(&p);
}

static void test_probe(void **state)
{
    tt_phases p = {0};
    (void)state;
    JUDGE(&p, "pp", {"0", 0, 0, 0}, {"0", 1, 1, 0});
    p.last_batch = 3;
    tt_phases_remove(&p, 0, 1, -1);
    assert_int_equal(p.n_fates, 0);
    tt_phases_remove(&p, -1, -1, -1);
    expect_fate(&p, 3, TT_FATE_PROBE, 0, 0, 0);
    /* Not in a context that was used before; nor if outputs were read. */
    JUDGE(&p, "pp", {"0", 0, 0, 0}, {"0", 1, 1, 0});
    p.last_batch = 4;
    tt_phases_remove(&p, -1, -1, -1);
    expect_fate(&p, 4, 0, 0, 0, 0);
    tt_phases_free(&p);
    JUDGE(&p, "pp", {"0", 0, 0, 0}, {"0", 1, 1, 0});
    p.last_batch = 3;
    p.was_fetched = true;
    tt_phases_remove(&p, -1, -1, -1);
    assert_int_equal(p.n_fates, 0);
    tt_phases_free(&p);
}

/* A prompt that begins like an earlier text: only its last token is computed. */
static void test_one_new_token(void **state)
{
    tt_phases p = {0};
    (void)state;
    JUDGE(&p, "pp", {"0", 0, 0, 0}, {"0", 1, 1, 0});
    for (int32_t i = 2; i < 6; i++)
        JUDGE(&p, "g", {"0", i, 1, 0});
    tt_phases_remove(&p, 0, 4, -1); /* within what was generated */
    JUDGE(&p, "p", {"0", 4, 1, 0});
    JUDGE(&p, "g", {"0", 5, 1, 0});
    tt_phases_remove(&p, 0, 6, -1); /* all of it is used again; no cut while it generated */
    JUDGE(&p, "p", {"0", 6, 1, 0});
    JUDGE(&p, "g", {"0", 7, 1, 0});
    tt_phases_free(&p);
    /* A program that cuts after each token. */
    JUDGE(&p, "pp", {"0", 0, 0, 0}, {"0", 1, 1, 0});
    for (int32_t i = 2; i < 6; i++) {
        tt_phases_remove(&p, 0, i, -1);
        JUDGE(&p, "g", {"0", i, 1, 0});
    }
    tt_phases_free(&p);
}

static void test_benchmark(void **state)
{
    tt_phases p = {.reads_are_seen = true};
    (void)state;
    JUDGE(&p, "p", {"0", 0, 1, 0});
    p.last_batch = 1;
    p.was_read = true; /* only waited for */
    JUDGE(&p, "g", {"0", 1, 1, 0});
    expect_fate(&p, 1, TT_FATE_GENERATES, 0, 0, 0);
    tt_phases_free(&p);
    p = (tt_phases){.reads_are_seen = true};
    JUDGE(&p, "p", {"0", 0, 1, 0});
    p.last_batch = 1;
    p.was_read = p.was_fetched = true;
    JUDGE(&p, "g", {"0", 1, 1, 0});
    assert_int_equal(p.n_fates, 0);
    tt_phases_free(&p);
}

/* One context chooses token by token what the other one verifies. */
static void test_who_drafts(void **state)
{
    tt_phases target = {0}, draft = {.others = {&target}, .n_others = 1};
    (void)state;
    target.others[target.n_others++] = &draft;
    JUDGE(&target, "pp", {"0", 0, 0, 1}, {"0", 1, 1, 2});
    JUDGE(&draft, "pp", {"0", 0, 0, 1}, {"0", 1, 1, 2});
    JUDGE(&draft, "g", {"0", 2, 1, 3});
    JUDGE(&draft, "g", {"0", 3, 1, 4});
    JUDGE(&target, "ggg", {"0", 2, 1, 3}, {"0", 3, 1, 4}, {"0", 4, 1, 5});
    assert_true(draft.drafts && !target.drafts);
    /* It repeats what it lacks: no reason to take the other for the one that drafts. */
    JUDGE(&draft, "gg", {"0", 4, 1, 5}, {"0", 5, 1, 6});
    assert_true(!target.drafts);
    tt_phases_free(&target);
    tt_phases_free(&draft);
}

static void test_impossible_sequences(void **state)
{
    tt_phases p = {0};
    const uint32_t first[] = {0, 1};
    const int32_t position = 0;
    const uint8_t output = 1;
    (void)state;
    for (int32_t id = -1; id < 1 << 30; id += 1 << 29) {
        uint8_t phase = 9, drafted;
        tt_phases_assign(&p, &(tt_phases_rows){1, &position, first, &id, &output, NULL}, -1, &phase,
                         &drafted);
        assert_int_equal(phase, TT_PHASE_UNKNOWN);
    }
    tt_phases_free(&p);
}

static void test_unknown_sequences(void **state)
{
    static const struct {
        int32_t positions[4];
        uint32_t n, n_outputs_plus_1;
        uint8_t phase;
    } batches[] = {
        {{0, 1, 2}, 3, 2, TT_PHASE_PROMPT},
        {{3}, 1, 2, TT_PHASE_GENERATE},
        {{4}, 1, 2, TT_PHASE_GENERATE},
        {{5, 6, 7}, 3, 2, TT_PHASE_PROMPT},    /* one run, an output for the last */
        {{8, 9, 10}, 3, 4, TT_PHASE_UNKNOWN},  /* a draft, or a text that is scored */
        {{0, 1, 0, 1}, 4, 3, TT_PHASE_PROMPT}, /* two prompts */
        {{0, 1, 2, 3}, 4, 1, TT_PHASE_PROMPT}, /* no output */
        {{4}, 1, 2, TT_PHASE_PROMPT},          /* so more of it */
        {{0, 1, 0, 1}, 4, 3, TT_PHASE_PROMPT},
        {{2, 2}, 2, 3, TT_PHASE_GENERATE},
        {{3, 3}, 2, 3, TT_PHASE_GENERATE},
        {{4, 9}, 2, 3, TT_PHASE_UNKNOWN}, /* 9 follows nothing */
        {{5, 5}, 2, 3, TT_PHASE_UNKNOWN}, /* two rows cannot follow one */
        {{20}, 1, 2, TT_PHASE_UNKNOWN},
        {{0}, 1, 2, TT_PHASE_PROMPT},
    };
    tt_phases p = {0};
    (void)state;
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++)
        assert_int_equal(
            tt_phases_guess(&p, batches[i].positions, batches[i].n, batches[i].n_outputs_plus_1),
            batches[i].phase);
    assert_int_equal(tt_phases_guess(&p, NULL, 3, 2), TT_PHASE_UNKNOWN);
    tt_phases_free(&p);
}

/* --- opaque batches --- */

static char p_batch_address[2]; /* where a batch could be */

static void test_rows(void **state)
{
    const void *b = &p_batch_address;
    struct llama_batch_mirror m;
    (void)state;
    assert_null(tt_batch_ext_copy(b, &m));
    tt_batch_ext_init(b);
    tt_batch_ext_add(b, 0, 2, 7);
    tt_batch_ext_add(b, 1, 2, 8);
    tt_batch_ext_add_sequence(b, 0, 3);
    tt_batch_ext_add_sequence(b, 0, 3);
    tt_batch_ext_add_sequence(b, 0, 2);
    tt_batch_ext_set_output(b, 1, true);
    void *held = tt_batch_ext_copy(b, &m);
    assert_non_null(held);
    assert_int_equal(m.n_tokens, 2);
    assert_true(m.token[0] == 7 && m.token[1] == 8 && !m.pos);
    assert_true(m.n_seq_id[0] == 2 && m.seq_id[0][0] == 2 && m.seq_id[0][1] == 3);
    assert_true(m.n_seq_id[1] == 1 && m.seq_id[1][0] == 2);
    assert_true(!m.logits[0] && m.logits[1]);
    free(held);
    tt_batch_ext_set_position(b, 0, 4);
    tt_batch_ext_set_position(b, 1, 5);
    /* A row that is no token is kept by the engine and makes it refuse the batch; a sequence that
     * cannot be and a full batch leave no row. */
    tt_batch_ext_add(b, -3, 99, 5);
    tt_batch_ext_add(b, -1, 0, 5);
    held = tt_batch_ext_copy(b, &m);
    assert_true(held && m.n_tokens == 2 && m.pos && m.pos[0] == 4 && m.pos[1] == 5);
    free(held);
    tt_batch_ext_add(b, TT_BATCH_EXT_INVALID, 0, 5);
    tt_batch_ext_add(b, 3, 0, TT_BATCH_EXT_NO_TOKEN);
    held = tt_batch_ext_copy(b, &m);
    assert_true(held && m.n_tokens == 4 && !m.token && !m.pos);
    free(held);
    tt_batch_ext_clear(b);
    held = tt_batch_ext_copy(b, &m);
    assert_true(held && m.n_tokens == 0);
    free(held);
    tt_batch_ext_drop(b);
    assert_null(tt_batch_ext_copy(b, &m));
}

/* The engine numbers rows otherwise than noted: some other function has added one. */
static void test_rows_that_are_not_known(void **state)
{
    const void *b = &p_batch_address;
    struct llama_batch_mirror m;
    (void)state;
    tt_batch_ext_init(b);
    tt_batch_ext_add(b, 0, 0, 7);
    tt_batch_ext_add(b, 2, 0, 8);
    assert_null(tt_batch_ext_copy(b, &m));
    tt_batch_ext_clear(b);
    tt_batch_ext_add(b, 0, 0, 7);
    tt_batch_ext_set_output(b, 1, true);
    assert_null(tt_batch_ext_copy(b, &m));
    tt_batch_ext_clear(b);
    void *held = tt_batch_ext_copy(b, &m);
    assert_non_null(held);
    free(held);
    tt_batch_ext_drop(b);
}

/* More than is kept of all batches together: not known, and nothing else suffers. */
static void test_rows_are_bounded(void **state)
{
    const void *b = &p_batch_address, *other = (const char *)&p_batch_address + 1;
    struct llama_batch_mirror m;
    (void)state;
    tt_batch_ext_init(b);
    for (int32_t i = 0; i < (1 << 20) + 1; i++)
        tt_batch_ext_add(b, i, 0, 7);
    assert_null(tt_batch_ext_copy(b, &m));
    tt_batch_ext_drop(b);
    tt_batch_ext_init(other);
    tt_batch_ext_add(other, 0, 0, 7);
    void *held = tt_batch_ext_copy(other, &m);
    assert_true(held && m.n_tokens == 1);
    free(held);
    tt_batch_ext_drop(other);
}

/* What a program passes is not checked: nothing may overflow at either end. */
static void test_positions_at_the_ends(void **state)
{
    tt_phases p = {0};
    const int32_t ends[] = {INT32_MAX, INT32_MIN, INT32_MAX};
    (void)state;
    JUDGE(&p, "?", {"0", INT32_MAX - 1, 1, 0}); /* what was before it is not known */
    JUDGE(&p, "g", {"0", INT32_MAX, 1, 0});
    /* There is nothing behind the last position. */
    JUDGE(&p, "p", {"0", INT32_MIN, 1, 0});
    JUDGE(&p, "pp", {"1", INT32_MAX, 0, 0}, {"1", INT32_MIN, 0, 0});
    JUDGE(&p, "pp", {"2", INT32_MAX, 0, 0}, {"2", INT32_MAX, 0, 0});
    judge_at(&p, (const hand_row[]){{"2", 0, 0, 0}, {"2", 0, 1, 0}}, 2, false, -1, "pp");
    judge_at(&p, (const hand_row[]){{"2", 0, 0, 0}, {"2", 0, 0, 0}}, 2, false, INT32_MAX, "pp");
    /* Without sequences. */
    assert_int_equal(tt_phases_guess(&p, ends, 3, 0), TT_PHASE_PROMPT);
    assert_int_equal(tt_phases_guess(&p, ends, 3, 0), TT_PHASE_UNKNOWN);
    assert_int_equal(tt_phases_guess(&p, ends + 1, 1, 0), TT_PHASE_UNKNOWN);
    /* The first one that is observed of a text that goes on. */
    tt_phases late = {.is_late = true};
    const int32_t on[] = {7, 8};
    assert_int_equal(tt_phases_guess(&late, on, 1, 2), TT_PHASE_UNKNOWN);
    assert_int_equal(tt_phases_guess(&late, on + 1, 1, 2), TT_PHASE_GENERATE);
    tt_phases anew = {.is_late = true};
    const int32_t first[] = {0, 1, 2};
    assert_int_equal(tt_phases_guess(&anew, first, 3, 2), TT_PHASE_PROMPT);
    tt_phases_free(&late);
    tt_phases_free(&anew);
    /* Compared with another context: there is nothing before the first position either. */
    tt_phases other = {.others = {&p}, .n_others = 1};
    JUDGE(&other, "pp", {"0", 0, 0, 1}, {"0", 1, 0, 2});
    JUDGE(&other, "pp", {"0", 2, 0, 3}, {"0", INT32_MIN, 0, 4});
    tt_phases_free(&other);
    tt_phases_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_sequence),
        cmocka_unit_test(test_sequences_in_parallel),
        cmocka_unit_test(test_mixed),
        cmocka_unit_test(test_drafts),
        cmocka_unit_test(test_draft_with_the_prompts_end),
        cmocka_unit_test(test_scoring),
        cmocka_unit_test(test_shared_beginning),
        cmocka_unit_test(test_cached_prompt),
        cmocka_unit_test(test_shift),
        cmocka_unit_test(test_automatic_positions),
        cmocka_unit_test(test_outputs_that_are_not_read),
        cmocka_unit_test(test_positions_that_were_not_seen),
        cmocka_unit_test(test_memory_is_removed),
        cmocka_unit_test(test_memory_is_copied),
        cmocka_unit_test(test_memory_is_moved),
        cmocka_unit_test(test_contexts_that_work_together),
        cmocka_unit_test(test_fates_of_drafts),
        cmocka_unit_test(test_lookahead),
        cmocka_unit_test(test_first_draft_without_another_context),
        cmocka_unit_test(test_probe),
        cmocka_unit_test(test_one_new_token),
        cmocka_unit_test(test_benchmark),
        cmocka_unit_test(test_who_drafts),
        cmocka_unit_test(test_impossible_sequences),
        cmocka_unit_test(test_unknown_sequences),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_rows_that_are_not_known),
        cmocka_unit_test(test_rows_are_bounded),
        cmocka_unit_test(test_positions_at_the_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
