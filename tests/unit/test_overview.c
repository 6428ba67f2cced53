/* The overview's figures for a run that warms up, computes a prompt, then another prompt together
 * with a generated token, then generated tokens alone. A tick is a nanosecond. */
#include "tests.h"

#include "analyze/overview.h"
#include "format/ops.h"
#include "hand_trace.h"

#include <stdlib.h>

#define WEIGHT_BYTES 1024

typedef struct step {
    uint8_t phase;
    uint32_t n_tokens, n_generate;
    uint64_t begin, end;
    int32_t positions[4], sequences[4];
} step;

static const step steps[] = {
    {TT_PHASE_WARMUP, 2, 0, 1000, 11000, {0, 1}, {0, 0}},
    {TT_PHASE_PROMPT, 4, 0, 20000, 60000, {0, 1, 2, 3}, {0, 0, 0, 0}},
    {TT_PHASE_MIXED, 3, 1, 70000, 100000, {0, 1, 4}, {1, 1, 0}},
    {TT_PHASE_GENERATE, 1, 1, 110000, 120000, {5}, {0}},
    {TT_PHASE_GENERATE, 1, 1, 130000, 140000, {6}, {0}},
    {TT_PHASE_GENERATE, 1, 1, 150000, 160000, {7}, {0}},
};
#define N_STEPS (sizeof steps / sizeof *steps)

static void put_environment(hand *h, const char *key, const char *value)
{
    tt_meta_pair pair = {hand_span(key), hand_span(value)};
    tt_meta_put_pairs(&h->record, &pair, 1);
    hand_put(h, TT_META_ENVIRONMENT);
}

static void put_buffer(hand *h, uint64_t id, uint8_t flags, uint64_t size_bytes)
{
    const tt_meta_buffer b = {.id = id,
                              .ticks = 500,
                              .name = hand_string(h, "CPU"),
                              .flags = flags,
                              .base = 0x10000 * id,
                              .size_bytes = size_bytes};
    tt_meta_put_buffer(&h->record, &b);
    hand_put(h, TT_META_BUFFER);
}

static void put_batch(hand *h, uint32_t id, const step *s)
{
    static const uint32_t first[] = {0, 1, 2, 3, 4};
    const tt_batch_sequences of = {first, s->sequences};
    const tt_meta_batch b = {.id = id,
                             .context = 1,
                             .ticks = s->begin,
                             .n_tokens = s->n_tokens,
                             .n_outputs_plus_1 = 2,
                             .phase = s->phase,
                             .flags = TT_BATCH_POSITIONS | TT_BATCH_SEQUENCES,
                             .n_generate = s->n_generate};
    const tt_meta_run r = {
        .id = id, .batch = id, .graph = 1, .observed = TT_OBSERVED_HOOK, .ticks = s->begin + 500};
    const tt_meta_decode d = {
        .begin_ticks = s->begin - 100, .end_ticks = s->end + 100, .n_tokens = s->n_tokens};
    tt_meta_put_batch(&h->record, &b, NULL, s->positions, &of);
    hand_put(h, TT_META_BATCH);
    tt_meta_put_run(&h->record, &r);
    hand_put(h, TT_META_RUN);
    tt_meta_put_end(&h->record, &(tt_meta_end){.id = id, .ticks = s->end - 500});
    hand_put(h, TT_META_RUN_END);
    tt_meta_put_end(&h->record, &(tt_meta_end){.id = id, .ticks = s->end});
    hand_put(h, TT_META_BATCH_END);
    tt_meta_put_decode(&h->record, &d);
    hand_put(h, TT_META_DECODE);
}

/* Each batch computes one op, which reads the whole weight. */
static void put_ops(hand *h)
{
    tt_op_record records[N_STEPS];
    tt_bytes raw;
    for (uint32_t i = 0; i < N_STEPS; i++)
        records[i] = (tt_op_record){steps[i].begin + 1000, steps[i].end - 1000, steps[i].end - 1000,
                                    i + 1, 0};
    tt_bytes_init(&raw, TT_CHUNK_PAYLOAD_MAX);
    assert_true(tt_ops_encode(&raw, records, N_STEPS, 0));
    hand_chunk(h, (tt_chunk_header){.type = TT_CHUNK_OPS, .stream = 1, .count = N_STEPS}, &raw,
               (tt_index_entry){.run_min = 1, .run_max = N_STEPS});
    tt_bytes_free(&raw);
}

static tt_model *make(hand *h)
{
    hand_begin(h);
    put_environment(h, "capture_fates", "on");
    for (uint64_t i = 0; i < 2; i++) {
        const tt_meta_clock k = {i * 1000000, i * 1000000, i * 1000000};
        tt_meta_put_clock(&h->record, &k);
        hand_put(h, TT_META_CLOCK);
    }
    hand_model(h, 1, "m.gguf", 1);
    put_buffer(h, 1, 0, 3000);
    put_buffer(h, 2, TT_BUFFER_PLACE_UNKNOWN, 5000);
    hand_source(hand_tensor(h, "out", "MUL", 4, 4, 16), 1);
    (void)hand_tensor(h, "w0", "NONE", 4, 4, 16);
    hand_graph(h, 1, 1);
    for (uint32_t i = 0; i < N_STEPS; i++)
        put_batch(h, i + 1, &steps[i]);
    hand_flush(h);
    put_ops(h);
    return hand_open(h, true);
}

static double tile(const tt_overview *o, const char *key)
{
    for (size_t i = 0; i < TT_OVERVIEW_TILES; i++)
        if (strcmp(o->tiles[i].key, key) == 0) return o->tiles[i].value;
    fail_msg("no tile %s", key);
    return 0;
}

static void test_figures(void **state)
{
    hand h;
    tt_overview o;
    tt_error err;
    tt_model *m = make(&h);
    (void)state;
    assert_int_equal(tt_overview_make(m, NULL, NULL, NULL, NULL, &o, &err), TT_OK);
    /* 3 tokens in 30 us, 4 in 40 us: of batches of nothing else. */
    assert_float_equal(tile(&o, "generate_tokens_per_s"), 1e5, 1e-3);
    assert_float_equal(tile(&o, "prompt_tokens_per_s"), 1e5, 1e-3);
    assert_float_equal(tile(&o, "first_token_ns"), 40000, 1e-3);
    assert_float_equal(tile(&o, "token_weight_bytes"), WEIGHT_BYTES, 1e-3);
    assert_float_equal(tile(&o, "ram_peak_bytes"), 8000, 1e-3);
    tt_overview_free(&o);
    hand_close(&h, m);
}

/* The text of the finding that prompts were computed again. */
static void assert_recomputed(tt_model *m, const char *text)
{
    tt_overview o;
    tt_error err;
    const tt_finding *found = NULL;
    assert_int_equal(tt_overview_make(m, NULL, NULL, NULL, NULL, &o, &err), TT_OK);
    for (size_t i = 0; i < o.n_findings; i++)
        if (strcmp(o.findings[i].kind, "recomputed") == 0) found = &o.findings[i];
    assert_non_null(found);
    assert_string_equal(found->text, text);
    tt_overview_free(&o);
}

/* The second prompt begins like the first one: 2 of the 3 tokens of a batch of 30 us. */
static void test_recomputed(void **state)
{
    static const int32_t tokens[] = {7, 8, 9, 10};
    hand h;
    tt_model *m = make(&h);
    (void)state;
    for (uint32_t i = 0; i < m->n_batches; i++)
        m->batches[i].tokens = tokens;
    assert_recomputed(m, "1 prompt computed again 2 tokens that had been computed before, behind "
                         "the same text: 20.0 us, 29 % of the time of prompts and mixed batches. "
                         "Sequence 0 held them; this one did not get them from there.");
    m->batches[2].ended = false;
    assert_recomputed(m, "1 prompt computed again 2 tokens that had been computed before, behind "
                         "the same text. Sequence 0 held them; this one did not get them from "
                         "there.");
    hand_close(&h, m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figures),
        cmocka_unit_test(test_recomputed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
