/* Each check of `verify` is seen to fail, alone, on a trace that is wrong in one way. */
#include "tests.h"

#include "../golden/rechecksum.h"
#include "../golden/synth_trace.c"
#include "analyze/verify.h"

#include <string.h>

static tt_bytes build(synth_plan *p)
{
    tt_bytes b;
    tt_bytes_init(&b, SIZE_MAX / 2);
    assert_true(synth_build(p, &b));
    return b;
}

static const tt_check *find(const tt_check *checks, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(checks[i].name, name) == 0) return &checks[i];
    fail_msg("no check %s", name);
    return NULL;
}

/* Verifies b and expects that `check` alone fails (NULL: none), with `words` in what
 * it says. */
static void expect(const tt_bytes *b, const char *check, const char *words)
{
    tt_model *m;
    tt_check checks[TT_CHECKS_MAX];
    size_t n;
    tt_error err;
    assert_int_equal(tt_model_open_memory(b->data, b->size, &m, &err), TT_OK);
    assert_int_equal(tt_verify(m, checks, &n, NULL, NULL, &err), TT_OK);
    for (size_t i = 0; i < n; i++) {
        bool should = check && strcmp(checks[i].name, check) == 0;
        if ((checks[i].verdict == TT_CHECK_FAILED) != should)
            fail_msg("expected %s to fail, but %s is %s: %s", check ? check : "nothing",
                     checks[i].name, tt_verdict_name(checks[i].verdict), checks[i].detail);
    }
    for (size_t i = 0; check && i < n; i++)
        if (strcmp(checks[i].name, check) == 0 && !strstr(checks[i].detail, words))
            fail_msg("%s says \"%s\", not \"%s\"", check, checks[i].detail, words);
    tt_model_close(m);
}

static void expect_of_plan(synth_plan p, const char *check, const char *words)
{
    tt_bytes b = build(&p);
    expect(&b, check, words);
    tt_bytes_free(&b);
}

static void good_traces_pass(void **state)
{
    synth_plan p = synth_default();
    (void)state;
    expect_of_plan(p, NULL, "");
    p.tick_shift = 5;
    expect_of_plan(p, NULL, "");
    p.codec = TT_CODEC_NONE;
    p.experts = 8;
    p.lanes = 1;
    p.generate = 0;
    expect_of_plan(p, NULL, "");
    p = synth_default();
    p.lanes = 8;
    p.layers = 1;
    p.chunk_records = 11;
    expect_of_plan(p, NULL, "");
    p.last_run_open = true;
    expect_of_plan(p, NULL, "");
    p.no_index = true;
    expect_of_plan(p, NULL, "");
}

static void checksums(void **state)
{
    synth_plan p = synth_default();
    tt_bytes b = build(&p);
    tt_trace t;
    (void)state;
    assert_int_equal(tt_trace_open_memory(&t, b.data, b.size, NULL), TT_OK);
    for (size_t i = 0; i < t.n_chunks; i++) {
        uint8_t *at = b.data + t.chunks[i].offset + TT_CHUNK_HEADER_BYTES + 3;
        *at ^= 0x10;
        expect(&b, "checksums", "checksum does not match");
        *at ^= 0x10;
    }
    tt_trace_close(&t);
    tt_bytes_free(&b);
}

static void shift_entry(tt_index_entry *entries, size_t n)
{
    entries[n - 1].run_max++;
}

static void drop_entry(tt_index_entry *entries, size_t n)
{
    /* The last one is a META chunk's: its place is given to the one before it. */
    (void)n;
    entries[0].position += 3;
}

static void index_disagrees(void **state)
{
    synth_plan p = synth_default();
    (void)state;
    p.edit_index = shift_entry;
    expect_of_plan(p, "index", "the chunk holds runs");
    p.edit_index = drop_entry;
    expect_of_plan(p, "index", "the chunk says");
}

static void references(void **state)
{
    synth_plan p = synth_default();
    (void)state;
    p.bad_source = true;
    expect_of_plan(p, "references", "refers to tensor");
    p = synth_default();
    p.bad_run = true;
    expect_of_plan(p, "references", "computes graph 9, which is not there");
}

/* A missing chunk shows as a gap in its stream (and as missing ops). */
static void a_gap_in_a_stream(void **state)
{
    synth_plan p = synth_default();
    tt_bytes b = build(&p);
    tt_model *m;
    tt_check checks[TT_CHECKS_MAX];
    size_t n;
    (void)state;
    assert_int_equal(tt_model_open_memory(b.data, b.size, &m, NULL), TT_OK);
    size_t ops = 0;
    while (m->trace.chunks[ops].type != TT_CHUNK_OPS)
        ops++;
    b.data[m->trace.chunks[ops].offset + 4] = 77; /* becomes a chunk of an unknown type */
    tt_model_close(m);
    b.size -= TT_TAIL_BYTES; /* the index is no longer right: let it be rebuilt */
    rechecksum(b.data, b.size);
    assert_int_equal(tt_model_open_memory(b.data, b.size, &m, NULL), TT_OK);
    assert_int_equal(tt_verify(m, checks, &n, NULL, NULL, NULL), TT_OK);
    const tt_check *c = find(checks, n, "references");
    assert_non_null(c);
    assert_int_equal(c->verdict, TT_CHECK_FAILED);
    assert_non_null(strstr(c->detail, "chunks are missing"));
    tt_model_close(m);
    tt_bytes_free(&b);
}

static size_t in_run(const synth_ring *r, uint32_t run)
{
    size_t i = 0;
    while (i < r->n && r->records[i].run != run)
        i++;
    return i;
}

static void swap_nodes(synth_plan *plan, synth_ring *rings)
{
    size_t at = in_run(&rings[1], 3) + 4;
    uint32_t place = rings[1].records[at].place;
    (void)plan;
    rings[1].records[at].place = rings[1].records[at + 1].place;
    rings[1].records[at + 1].place = place;
}

static void graph_order(void **state)
{
    synth_plan p = synth_default();
    (void)state;
    p.edit_ops = swap_nodes;
    expect_of_plan(p, "graph-order", "run 3, lane 1: node");
}

/* A record that is gone, with the recorder's own count put right. */
static void lose_record(synth_plan *plan, synth_ring *rings)
{
    size_t at = in_run(&rings[0], 2) + 7;
    memmove(rings[0].records + at, rings[0].records + at + 1,
            (rings[0].n - at - 1) * sizeof *rings[0].records);
    rings[0].n--;
    plan->counts_ops_delta--;
}

static void op_count(void **state)
{
    synth_plan p = synth_default();
    tt_bytes b;
    tt_model *m;
    tt_check checks[TT_CHECKS_MAX];
    size_t n;
    (void)state;
    p.counts_ops_delta = 1;
    expect_of_plan(p, "op-count", "the recorder wrote 511 records, the trace holds 510");
    /* A lost record is also out of order. */
    p = synth_default();
    p.edit_ops = lose_record;
    b = build(&p);
    assert_int_equal(tt_model_open_memory(b.data, b.size, &m, NULL), TT_OK);
    assert_int_equal(tt_verify(m, checks, &n, NULL, NULL, NULL), TT_OK);
    assert_int_equal(find(checks, n, "op-count")->verdict, TT_CHECK_FAILED);
    assert_int_equal(find(checks, n, "graph-order")->verdict, TT_CHECK_FAILED);
    tt_model_close(m);
    tt_bytes_free(&b);
}

static void early_arrival(synth_plan *plan, synth_ring *rings)
{
    (void)plan;
    rings[1].records[3].arrive = rings[1].records[3].start - 1;
}

static void early_release(synth_plan *plan, synth_ring *rings)
{
    (void)plan;
    rings[0].records[9].release = rings[0].records[9].arrive - 5;
}

static void early_start(synth_plan *plan, synth_ring *rings)
{
    (void)plan;
    rings[0].records[9].start = rings[0].records[8].release - 5;
}

static void before_run(synth_plan *plan, synth_ring *rings)
{
    (void)plan;
    rings[0].records[0].start -= 1000;
}

static void after_run(synth_plan *plan, synth_ring *rings)
{
    tt_op_record *last = &rings[0].records[in_run(&rings[0], 2) - 1];
    (void)plan;
    last->arrive += 400;
    last->release += 400;
}

static void times(void **state)
{
    static const struct {
        void (*edit)(synth_plan *plan, synth_ring *rings);
        const char *words;
    } cases[] = {{early_arrival, "arrives before it starts"},
                 {early_release, "is released before it arrives"},
                 {early_start, "starts before the op before it is released"},
                 {before_run, "starts before its run begins"},
                 {after_run, "ends after its run"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        synth_plan p = synth_default();
        p.edit_ops = cases[i].edit;
        expect_of_plan(p, "times", cases[i].words);
    }
}

/* A record without a release is an op whose end was not seen. */
static void no_end(synth_plan *plan, synth_ring *rings)
{
    tt_op_record *r = &rings[1].records[in_run(&rings[1], 3) + 4];
    (void)plan;
    r->release = 0;
}

static void an_op_without_end_in_a_run_that_ended(void **state)
{
    synth_plan p = synth_default();
    (void)state;
    p.edit_ops = no_end;
    expect_of_plan(p, "times", "never ends, but its run ended");
}

static void what_examined_nothing_is_not_observed(void **state)
{
    synth_plan p = synth_default();
    tt_bytes b = build(&p);
    tt_model *m;
    tt_check checks[TT_CHECKS_MAX];
    size_t n;
    (void)state;
    assert_int_equal(tt_model_open_memory(b.data, TT_FILE_HEADER_BYTES, &m, NULL), TT_OK);
    assert_int_equal(tt_verify(m, checks, &n, NULL, NULL, NULL), TT_OK);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(checks[i].verdict, TT_CHECK_NOT_OBSERVED);
        assert_true(checks[i].detail[0] != '\0');
    }
    tt_model_close(m);
    tt_bytes_free(&b);
}

static void clear_times(synth_plan *plan, synth_ring *rings)
{
    tt_op_record *r = &rings[1].records[20];
    (void)plan;
    /* A record with release 0 is one under way, so "no times" comes out of the shift. */
    r->start = r->arrive = r->release = 1;
}

static void no_zero(void **state)
{
    synth_plan p = synth_default();
    (void)state;
    p.edit_ops = clear_times;
    p.tick_shift = 4;
    expect_of_plan(p, "no-zero", "has no times at all");
}

static void weights(void **state)
{
    synth_plan p = synth_default();
    (void)state;
    p.weight_size_delta = 32;
    expect_of_plan(p, "weights", "in the model file");
    p = synth_default();
    p.weight_offset_delta = 64;
    expect_of_plan(p, "weights", "is mapped from byte");
    p = synth_default();
    p.weight_offset_delta = 1ull << 40;
    expect_of_plan(p, "weights", "is not inside the data of its file");
}

static void tokens(void **state)
{
    synth_plan p = synth_default();
    (void)state;
    p.decode_tokens_delta = 2;
    expect_of_plan(p, "tokens", "the counts say");
    p = synth_default();
    p.token_delta = 4000;
    expect_of_plan(p, "tokens", "the vocabulary has 128");
}

static void drops(void **state)
{
    synth_plan p = synth_default();
    (void)state;
    p.counts_dropped_delta = 3;
    expect_of_plan(p, "drops", "dropped 3 records");
}

static void what_is_not_there_is_not_passed(void **state)
{
    static const struct {
        bool no_model, no_counts, no_index;
        const char *check;
    } cases[] = {{true, false, false, "weights"},
                 {false, true, false, "tokens"},
                 {false, true, false, "drops"},
                 {false, false, true, "index"},
                 {false, false, true, "op-count"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        synth_plan p = synth_default();
        tt_model *m;
        tt_check checks[TT_CHECKS_MAX];
        size_t n;
        p.no_model = cases[i].no_model;
        p.no_counts = cases[i].no_counts;
        p.no_index = cases[i].no_index;
        tt_bytes b = build(&p);
        assert_int_equal(tt_model_open_memory(b.data, b.size, &m, NULL), TT_OK);
        assert_int_equal(tt_verify(m, checks, &n, NULL, NULL, NULL), TT_OK);
        const tt_check *c = find(checks, n, cases[i].check);
        assert_int_equal(c->verdict, TT_CHECK_NOT_OBSERVED);
        assert_true(c->detail[0] != '\0');
        tt_model_close(m);
        tt_bytes_free(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_traces_pass),
        cmocka_unit_test(checksums),
        cmocka_unit_test(index_disagrees),
        cmocka_unit_test(references),
        cmocka_unit_test(a_gap_in_a_stream),
        cmocka_unit_test(graph_order),
        cmocka_unit_test(op_count),
        cmocka_unit_test(times),
        cmocka_unit_test(an_op_without_end_in_a_run_that_ended),
        cmocka_unit_test(what_examined_nothing_is_not_observed),
        cmocka_unit_test(no_zero),
        cmocka_unit_test(weights),
        cmocka_unit_test(tokens),
        cmocka_unit_test(drops),
        cmocka_unit_test(what_is_not_there_is_not_passed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
