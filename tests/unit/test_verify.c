/* Each check of `verify` is seen to fail, alone, on a trace that is wrong in one way. */
#include "tests.h"

#include "../golden/rechecksum.h"
#include "../golden/synth_trace.c"
#include "analyze/verify/verify.h"
#include "hand_trace.h"

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

static void blur_description(tt_index_entry *entries, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (entries[i].meta.n_batches) entries[i].meta.tick_max++;
}

static void index_disagrees(void **state)
{
    synth_plan p = synth_default();
    (void)state;
    p.edit_index = shift_entry;
    expect_of_plan(p, "index", "the chunk holds runs");
    p.edit_index = drop_entry;
    expect_of_plan(p, "index", "the chunk says");
    p.described = true;
    p.edit_index = blur_description;
    expect_of_plan(p, "index", "describes other records");
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
    p = synth_default();
    p.last_call_open = true;
    expect_of_plan(p, "tokens", "the program passed");
    p.recovered = true; /* killed before the call was over */
    expect_of_plan(p, NULL, "");
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

/* --- what surrounds the ops, on traces made by hand --- */

/* Nodes and leafs of the graph: w1 has 16 experts, of which two are chosen for each of 3 rows. */
enum { GATHER, STORE, FIRST_MATMUL, SECOND_MATMUL, EXECUTED, UNUSED = EXECUTED, LEAFS };
enum { LEAF_W0 = LEAFS, LEAF_W1, LEAF_ROWS, LEAF_IDS, LEAF_CACHE };

static void begin(hand *h)
{
    tt_meta_tensor *t;
    hand_begin_whole(h);
    hand_model(h, 1, "/m.gguf", 2);
    t = hand_tensor(h, "gather", "GET_ROWS", 4, 3, 1);
    hand_source(t, LEAF_W0);
    hand_source(t, LEAF_ROWS);
    t = hand_tensor(h, "store", "SET_ROWS", 4, 20, 1);
    hand_source(t, GATHER);
    hand_source(t, LEAF_ROWS);
    t->view_src = LEAF_CACHE + 1;
    for (uint32_t i = FIRST_MATMUL; i <= SECOND_MATMUL; i++) {
        t = hand_tensor(h, "matmul", "MUL_MAT_ID", 4, 2, 3);
        hand_source(t, LEAF_W1);
        hand_source(t, GATHER);
        hand_source(t, LEAF_IDS);
    }
    hand_tensor(h, "unused", "VIEW", 4, 4, 1)->flags = 0;
    (void)hand_tensor(h, "w0", "NONE", 4, 64, 1);
    (void)hand_tensor(h, "w1", "NONE", 4, 4, 16);
    (void)hand_tensor(h, "rows", "NONE", 3, 1, 1);
    (void)hand_tensor(h, "ids", "NONE", 2, 3, 1);
    (void)hand_tensor(h, "cache", "NONE", 4, 20, 1);
    hand_graph(h, 1, LEAFS);
    tt_meta_run r = {.id = 1, .graph = 1, .observed = TT_OBSERVED_BOUNDS};
    tt_meta_put_run(&h->record, &r);
    hand_put(h, TT_META_RUN);
    tt_meta_put_end(&h->record, &(tt_meta_end){.id = 1, .ticks = 9});
    hand_put(h, TT_META_RUN_END);
}

static void expect_of_hand(hand *h, const char *check, const char *words)
{
    tt_model *m = hand_open(h, true);
    expect(&h->file, check, words);
    hand_close(h, m);
}

static tt_detail experts(uint32_t node, uint32_t token, uint16_t a, uint16_t b)
{
    return (tt_detail){.run = 1,
                       .place = tt_detail_place(node, 0, TT_DETAIL_EXPERTS),
                       .experts = {.token = token, .n = 2, .expert = {a, b}}};
}

static tt_detail faults(uint32_t run, uint32_t node, uint32_t lane)
{
    return (tt_detail){.run = run, .place = tt_detail_place(node, lane, TT_DETAIL_FAULTS)};
}

static void details_belong_to_ops(void **state)
{
    const tt_detail good[] = {experts(FIRST_MATMUL, 0, 0, 15), experts(FIRST_MATMUL, 1, 0, 1),
                              experts(FIRST_MATMUL, 2, 3, 4), faults(1, GATHER, 0),
                              faults(1, GATHER, 1)};
    const struct {
        tt_detail instead; /* of the first */
        const char *words;
    } bad[] = {{experts(FIRST_MATMUL, 0, 0, 16), "chooses expert 16 of 16"},
               {experts(FIRST_MATMUL, 3, 0, 1), "of row 3"},
               {experts(SECOND_MATMUL, 0, 0, 1), "not the first that uses"},
               {experts(FIRST_MATMUL, 1, 0, 1), "not every rank"},
               {faults(1, UNUSED, 0), "not executed"},
               {faults(1, 99, 0), "not executed"},
               {faults(7, GATHER, 0), "run 7, which is not there"},
               {faults(1, GATHER, 1), "told twice"}};
    hand h;
    (void)state;
    begin(&h);
    hand_details(&h, good, 5);
    expect_of_hand(&h, NULL, "");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tt_detail list[5];
        begin(&h);
        memcpy(list, good, sizeof list);
        list[0] = bad[i].instead;
        hand_details(&h, list, 5);
        expect_of_hand(&h, "details", bad[i].words);
    }
}

static void count_details(hand *h, uint64_t details, uint64_t dropped)
{
    tt_bytes_varint(&h->record, 2);
    tt_bytes_str(&h->record, "details", 7);
    tt_bytes_varint(&h->record, details);
    tt_bytes_str(&h->record, "details_dropped", 15);
    tt_bytes_varint(&h->record, dropped);
    hand_put(h, TT_META_COUNTS);
}

static void details_are_counted(void **state)
{
    const tt_detail one[] = {faults(1, GATHER, 0)};
    hand h;
    (void)state;
    for (uint64_t i = 0; i < 3; i++) {
        begin(&h);
        tt_meta_put_loss(&h.record, &(tt_meta_loss){0, 1, 5});
        hand_put(&h, TT_META_DETAIL_LOSS);
        count_details(&h, i == 1 ? 2 : 1, i == 2 ? 6 : 5);
        hand_details(&h, one, 1);
        expect_of_hand(&h, i ? "details" : NULL, i == 2 ? "account for 5" : "the trace holds 1");
    }
    /* The parts of their stream follow each other, too. */
    begin(&h);
    hand_details(&h, one, 1);
    h.detail_position++;
    const tt_detail other[] = {faults(1, GATHER, 1)};
    hand_details(&h, other, 1);
    expect_of_hand(&h, "references", "chunks are missing");
    /* And the index names their runs. */
    begin(&h);
    hand_details(&h, one, 1);
    h.index[h.n_index - 1].run_min = h.index[h.n_index - 1].run_max = 2;
    expect_of_hand(&h, "index", "holds details of others");
}

static void row_numbers_are_rows(void **state)
{
    const struct {
        int64_t values[3];
        uint32_t n;
        const char *words;
    } cases[] = {{{19, 0, 3}, 3, NULL},
                 {{20, 0, 3}, 3, "names row 20 of 20"}, /* the cache has fewer than w0 */
                 {{0, -1, 3}, 3, "names row -1"},
                 {{0, 1, 0}, 2, "2 row numbers"}};
    hand h;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin(&h);
        hand_indices(&h, 1, LEAF_ROWS, cases[i].values, cases[i].n);
        expect_of_hand(&h, cases[i].words ? "indices" : NULL, cases[i].words);
    }
}

static void put_usage(hand *h, uint8_t moment, uint64_t ticks, uint64_t minor, uint64_t device)
{
    tt_meta_usage u = {.moment = moment,
                       .ticks = ticks,
                       .flags = TT_USAGE_FAULTS | TT_USAGE_DEVICES,
                       .minor = minor,
                       .n_devices = 2,
                       .devices = {{1, 5, 5}, {2, device, device}}};
    tt_meta_put_usage(&h->record, &u);
    hand_put(h, TT_META_USAGE);
}

static void totals_never_fall(void **state)
{
    const struct {
        uint64_t ticks, minor, device;
        const char *words;
    } cases[] = {{10, 10, 10, NULL},
                 {9, 10, 10, "ticks"},
                 {10, 9, 10, "minor faults"},
                 {10, 10, 9, "read from a device"}};
    hand h;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin(&h);
        put_usage(&h, TT_AT_BEGIN, 10, 10, 10);
        put_usage(&h, TT_AT_END, cases[i].ticks, cases[i].minor, cases[i].device);
        expect_of_hand(&h, cases[i].words ? "usage" : NULL, cases[i].words);
    }
}

/* The file has 6144 bytes: two pages. */
static void put_pages(hand *h, uint8_t moment, uint64_t first, uint64_t n)
{
    tt_meta_residency r = {.model = 1,
                           .moment = moment,
                           .page_bytes = 4096,
                           .first_page = first,
                           .n_pages = n,
                           .n_intervals = 1};
    tt_meta_put_residency(&h->record, &r);
    tt_bytes_varint(&h->record, n);
    hand_put(h, TT_META_RESIDENCY);
}

static void pages_are_those_of_the_file(void **state)
{
    hand h;
    (void)state;
    begin(&h);
    put_pages(&h, TT_AT_BEGIN, 0, 1);
    put_pages(&h, TT_AT_END, 0, 2); /* another moment in between */
    put_pages(&h, TT_AT_BEGIN, 1, 1);
    expect_of_hand(&h, NULL, "");
    begin(&h);
    put_pages(&h, TT_AT_BEGIN, 0, 3);
    expect_of_hand(&h, "residency", "not inside");
    begin(&h);
    put_pages(&h, TT_AT_BEGIN, 0, 1);
    expect_of_hand(&h, "residency", "only 1 of 2");
    begin(&h);
    put_pages(&h, TT_AT_BEGIN, 1, 1);
    expect_of_hand(&h, "residency", "go on at 1 instead of 0");
}

static void texts_and_sequences(void **state)
{
    static const int32_t ids[] = {0};
    static const uint32_t first[] = {0, 1, 1};
    const tt_batch_sequences sequences = {first, ids};
    hand h;
    (void)state;
    begin(&h);
    for (int i = 0; i < 2; i++) {
        tt_meta_put_token_text(&h.record, &(tt_meta_token_text){1, 5, hand_span("same")});
        hand_put(&h, TT_META_TOKEN_TEXT);
    }
    expect_of_hand(&h, "text", "token 5 of vocabulary 1 has two texts");
    for (uint32_t n = 1; n <= 2; n++) {
        begin(&h);
        tt_meta_batch b = {.id = 1, .n_tokens = n, .flags = TT_BATCH_SEQUENCES};
        tt_meta_put_batch(&h.record, &b, NULL, NULL, &sequences);
        hand_put(&h, TT_META_BATCH);
        expect_of_hand(&h, n == 2 ? "tokens" : NULL, "token 1 of batch 0 belongs to no sequence");
    }
}

/* Why nothing is there, in the words of the recorder. */
static void what_was_not_captured_says_why(void **state)
{
    const tt_meta_pair pair = {hand_span("capture_residency"),
                               hand_span("not observed: mincore is not permitted")};
    tt_check checks[TT_CHECKS_MAX];
    size_t n;
    hand h;
    (void)state;
    begin(&h);
    tt_meta_put_pairs(&h.record, &pair, 1);
    hand_put(&h, TT_META_ENVIRONMENT);
    tt_model *m = hand_open(&h, true);
    assert_int_equal(tt_verify(m, checks, &n, NULL, NULL, NULL), TT_OK);
    const tt_check *c = find(checks, n, "residency");
    assert_int_equal(c->verdict, TT_CHECK_NOT_OBSERVED);
    assert_string_equal(c->detail, "mincore is not permitted");
    hand_close(&h, m);
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
        cmocka_unit_test(details_belong_to_ops),
        cmocka_unit_test(details_are_counted),
        cmocka_unit_test(row_numbers_are_rows),
        cmocka_unit_test(totals_never_fall),
        cmocka_unit_test(pages_are_those_of_the_file),
        cmocka_unit_test(texts_and_sequences),
        cmocka_unit_test(what_was_not_captured_says_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
