#include "tests.h"

#include "../golden/rechecksum.h"
#include "../golden/synth_trace.c"
#include "read/pieces.h"
#include "read/trace.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static tt_bytes build(synth_plan p)
{
    tt_bytes b;
    tt_bytes_init(&b, SIZE_MAX / 2);
    assert_true(synth_build(&p, &b));
    return b;
}

static uint64_t records_in(const tt_trace *t)
{
    tt_pieces *p;
    tt_error err;
    assert_int_equal(tt_pieces_open(t, &p, &err), TT_OK);
    assert_int_equal(tt_pieces_survey(p, &err), TT_OK);
    assert_int_equal(tt_pieces_damaged(p, NULL), 0);
    uint64_t n = tt_pieces_records(p);
    tt_pieces_free(p);
    return n;
}

static void a_whole_trace_opens(void **state)
{
    synth_plan p = synth_default();
    tt_bytes b;
    tt_trace t;
    (void)state;
    tt_bytes_init(&b, SIZE_MAX / 2);
    assert_true(synth_build(&p, &b));
    assert_int_equal(tt_trace_open_memory(&t, b.data, b.size, NULL), TT_OK);
    assert_true(t.complete);
    assert_int_equal(t.end_flags, TT_END_NORMAL);
    assert_true(records_in(&t) == p.n_records);
    tt_trace_close(&t);
    tt_bytes_free(&b);
}

static void cut_anywhere_it_opens_up_to_there(void **state)
{
    tt_bytes b = build(synth_default());
    uint64_t last = 0;
    (void)state;
    for (size_t cut = 0; cut < b.size; cut++) {
        tt_trace t;
        tt_error err = {TT_OK, 0, ""};
        tt_status status = tt_trace_open_memory(&t, b.data, cut, &err);
        if (cut < TT_FILE_HEADER_BYTES) {
            assert_int_not_equal(status, TT_OK);
            assert_true(err.message[0] != '\0');
        } else {
            assert_int_equal(status, TT_OK);
            assert_false(t.complete);
            assert_true(t.cut.message[0] != '\0');
            assert_true(t.end_bytes <= cut);
            uint64_t n = records_in(&t);
            assert_true(n >= last);
            last = n;
        }
        tt_trace_close(&t);
    }
    tt_bytes_free(&b);
}

static void without_its_index_it_reads_the_same(void **state)
{
    synth_plan p = synth_default();
    tt_bytes whole = build(p), bare;
    tt_trace a, c;
    (void)state;
    p.no_index = true;
    bare = build(p);
    assert_int_equal(tt_trace_open_memory(&a, whole.data, whole.size, NULL), TT_OK);
    assert_int_equal(tt_trace_open_memory(&c, bare.data, bare.size, NULL), TT_OK);
    assert_false(c.complete);
    assert_int_equal(a.n_chunks, c.n_chunks);
    for (size_t i = 0; i < a.n_chunks; i++)
        assert_true(a.chunks[i].offset == c.chunks[i].offset);
    assert_true(records_in(&a) == records_in(&c));
    tt_trace_close(&a);
    tt_trace_close(&c);
    tt_bytes_free(&whole);
    tt_bytes_free(&bare);
}

static void a_damaged_index_is_rebuilt(void **state)
{
    tt_bytes b = build(synth_default());
    tt_trace t;
    (void)state;
    b.data[b.size - TT_TAIL_BYTES - 4] ^= 8;
    assert_int_equal(tt_trace_open_memory(&t, b.data, b.size, NULL), TT_OK);
    assert_false(t.complete);
    assert_int_equal(t.cut.status, TT_E_CHECKSUM);
    assert_true(records_in(&t) > 0);
    tt_trace_close(&t);
    tt_bytes_free(&b);
}

static void a_damaged_chunk_is_left_out(void **state)
{
    tt_bytes b = build(synth_default());
    tt_trace t;
    tt_pieces *p;
    tt_error damage;
    (void)state;
    assert_int_equal(tt_trace_open_memory(&t, b.data, b.size, NULL), TT_OK);
    uint64_t all = records_in(&t);
    size_t victim = 0;
    while (t.chunks[victim].type != TT_CHUNK_OPS)
        victim++;
    b.data[t.chunks[victim].offset + TT_CHUNK_HEADER_BYTES + 5] ^= 1;
    assert_int_equal(tt_pieces_open(&t, &p, NULL), TT_OK);
    assert_int_equal(tt_pieces_survey(p, NULL), TT_OK);
    assert_int_equal(tt_pieces_damaged(p, &damage), 1);
    assert_int_equal(damage.status, TT_E_CHECKSUM);
    assert_true(damage.offset == t.chunks[victim].offset);
    assert_true(tt_pieces_records(p) == all - t.chunks[victim].count);
    tt_pieces_free(p);
    tt_trace_close(&t);
    tt_bytes_free(&b);
}

static void unknown_chunks_are_skipped_unknown_codecs_named(void **state)
{
    tt_bytes b = build(synth_default());
    tt_trace t;
    tt_pieces *p;
    tt_error err;
    (void)state;
    assert_int_equal(tt_trace_open_memory(&t, b.data, b.size, NULL), TT_OK);
    size_t at = t.chunks[t.n_chunks - 1].offset;
    tt_trace_close(&t);
    b.data[at + 6] = 9; /* codec of the last OPS chunk */
    rechecksum(b.data, b.size);
    assert_int_equal(tt_trace_open_memory(&t, b.data, b.size, NULL), TT_OK);
    assert_int_equal(tt_pieces_open(&t, &p, NULL), TT_OK);
    assert_int_equal(tt_pieces_survey(p, NULL), TT_OK);
    assert_int_equal(tt_pieces_damaged(p, &err), 1);
    assert_int_equal(err.status, TT_E_UNSUPPORTED);
    tt_pieces_free(p);
    tt_trace_close(&t);
    tt_bytes_free(&b);
}

/* The index leads to the same pieces as looking into every chunk. */
static void runs_are_found_without_a_survey(const tt_trace *t, const tt_piece *all, size_t n_all)
{
    tt_pieces *p;
    const tt_piece *list;
    size_t n, at = 0;
    assert_int_equal(tt_pieces_open(t, &p, NULL), TT_OK);
    for (uint32_t run = 0; run < 10; run++) {
        assert_int_equal(tt_pieces_of_run(p, run, &list, &n, NULL), TT_OK);
        assert_true(n <= n_all - at);
        if (n) assert_memory_equal(list, all + at, n * sizeof *list);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(list[i].run, run);
        at += n;
    }
    assert_true(at == n_all);
    (void)tt_pieces_list(p, &n);
    assert_true(n == 0);
    tt_pieces_free(p);
}

/* Pieces come in the order of run, lane and time, and hold every record once. */
static void pieces_are_in_order(void **state)
{
    synth_plan plan = synth_default();
    tt_trace t;
    tt_pieces *p;
    tt_piece_ops ops;
    size_t n;
    uint64_t seen = 0;
    (void)state;
    plan.lanes = 3;
    plan.chunk_records = 37;
    tt_bytes b = build(plan);
    assert_int_equal(tt_trace_open_memory(&t, b.data, b.size, NULL), TT_OK);
    assert_int_equal(tt_pieces_open(&t, &p, NULL), TT_OK);
    assert_int_equal(tt_pieces_survey(p, NULL), TT_OK);
    const tt_piece *list = tt_pieces_list(p, &n);
    uint64_t end = 0;
    for (size_t i = 0; i < n; i++) {
        bool same = i > 0 && list[i].run == list[i - 1].run && list[i].lane == list[i - 1].lane;
        assert_int_equal(tt_pieces_get(p, &list[i], &ops, NULL), TT_OK);
        assert_int_equal(ops.run, list[i].run);
        if (same) assert_true(ops.start[0] >= end);
        end = ops.release[ops.n - 1];
        seen += ops.n;
    }
    assert_true(seen == tt_pieces_records(p));
    runs_are_found_without_a_survey(&t, list, n);
    tt_pieces_free(p);
    tt_trace_close(&t);
    tt_bytes_free(&b);
}

/* However many chunks the index gives runs that they do not have: what is looked at to find a run
 * is bounded by the size of the file, and no run is refused. */
static void runs_over_many_chunks_cost_little(void **state)
{
    enum { CHUNKS = 65535, RUNS = 20000 };
    tt_bytes b = build(synth_default());
    tt_trace t;
    tt_pieces *p;
    size_t at = 0;
    (void)state;
    assert_int_equal(tt_trace_open_memory(&t, b.data, b.size, NULL), TT_OK);
    tt_index_entry *own = t.chunks, *many = calloc(CHUNKS, sizeof *many);
    const size_t n_own = t.n_chunks;
    assert_non_null(many);
    while (own[at].type != TT_CHUNK_OPS)
        at++;
    for (size_t i = 0; i < CHUNKS; i++) {
        many[i] = own[at];
        many[i].run_min = 1;
        many[i].run_max = RUNS;
    }
    t.chunks = many;
    t.n_chunks = CHUNKS;
    assert_int_equal(tt_pieces_open(&t, &p, NULL), TT_OK);
    for (uint32_t run = 1; run <= RUNS; run++) {
        const tt_piece *list;
        size_t n;
        assert_int_equal(tt_pieces_of_run(p, run, &list, &n, NULL), TT_OK);
        assert_int_equal(n, 0);
    }
    assert_true(tt_pieces_visits(p) <= (1u << 18) + b.size / 8 + 1);
    tt_pieces_free(p);
    t.chunks = own;
    t.n_chunks = n_own;
    free(many);
    tt_trace_close(&t);
    tt_bytes_free(&b);
}

/* Records of each run in every chunk, and chunks so small that far more of them stand between two
 * pieces of a run than are kept at first: what is decoded stays in proportion to the file, however
 * often the runs are walked. */
static void scattered_runs_are_decoded_in_proportion(void **state)
{
    synth_plan plan = synth_default();
    tt_trace t;
    tt_pieces *p;
    tt_piece_ops ops;
    const tt_piece *list;
    size_t n;
    uint64_t seen = 0;
    (void)state;
    plan.generate = 2000;
    plan.layers = 8;
    plan.lanes = 4;
    plan.chunk_records = 8;
    plan.edit_ops = synth_scatter;
    tt_bytes b = build(plan);
    assert_int_equal(tt_trace_open_memory(&t, b.data, b.size, NULL), TT_OK);
    assert_int_equal(tt_pieces_open(&t, &p, NULL), TT_OK);
    for (unsigned walk = 0; walk < 3; walk++)
        for (uint32_t run = 0; run < plan.generate + 2; run++) {
            assert_int_equal(tt_pieces_of_run(p, run, &list, &n, NULL), TT_OK);
            for (size_t i = 0; i < n; i++) {
                assert_int_equal(tt_pieces_get(p, &list[i], &ops, NULL), TT_OK);
                seen += ops.n;
            }
        }
    assert_true(seen == 3 * tt_pieces_records(p));
    assert_true(tt_pieces_work(p) <= (8u << 20) + 8 * b.size);
    tt_pieces_free(p);
    tt_trace_close(&t);
    tt_bytes_free(&b);
}

static void files_and_pipes_read_alike(void **state)
{
    static const char path[] = "test_read.ttrace";
    tt_bytes b = build(synth_default());
    tt_trace t;
    tt_error err;
    int ends[2];
    char name[64];
    (void)state;
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(b.data, 1, b.size, f), b.size);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(tt_trace_open(&t, path, &err), TT_OK);
    uint64_t n = records_in(&t);
    /* Shorter than it was: an error, no crash. */
    assert_int_equal(truncate(path, 100), 0);
    tt_pieces *p;
    assert_int_equal(tt_pieces_open(&t, &p, &err), TT_OK);
    assert_int_equal(tt_pieces_survey(p, NULL), TT_OK);
    assert_true(tt_pieces_damaged(p, &err) > 0);
    tt_pieces_free(p);
    tt_trace_close(&t);
    assert_int_equal(pipe(ends), 0);
    assert_true(write(ends[1], b.data, b.size) == (ssize_t)b.size);
    assert_int_equal(close(ends[1]), 0);
    (void)snprintf(name, sizeof name, "/dev/fd/%d", ends[0]);
    assert_int_equal(tt_trace_open(&t, name, &err), TT_OK);
    assert_true(records_in(&t) == n);
    tt_trace_close(&t);
    (void)close(ends[0]);
    (void)unlink(path);
    tt_bytes_free(&b);
}

static void errors_name_the_file(void **state)
{
    tt_trace t;
    tt_error err;
    (void)state;
    assert_int_equal(tt_trace_open(&t, "/nonexistent/x.ttrace", &err), TT_E_IO);
    assert_non_null(strstr(err.message, "/nonexistent/x.ttrace: cannot be opened"));
    tt_trace_close(&t);
    assert_int_equal(tt_trace_open(&t, "/", &err), TT_E_IO);
    assert_non_null(strstr(err.message, "folder"));
    tt_trace_close(&t);
    assert_int_equal(tt_trace_open(&t, "/dev/null", &err), TT_E_TRUNCATED);
    assert_non_null(strstr(err.message, "empty"));
    tt_trace_close(&t);
}

/* What a flight recorder does under a reader: its hole grows over chunks that the reader knows. */
static void what_is_thrown_away_meanwhile_is_told(void **state)
{
    tt_bytes b = build(synth_default());
    tt_trace t;
    tt_unpacker u;
    tt_chunk_header h;
    tt_span payload;
    tt_error err;
    (void)state;
    assert_int_equal(tt_trace_open_memory(&t, b.data, b.size, NULL), TT_OK);
    assert_true(t.n_chunks > 2);
    size_t last = t.n_chunks - 1;
    tt_chunk_header hole = {.type = TT_CHUNK_HOLE,
                            .position = t.chunks[last].offset - TT_FILE_HEADER_BYTES};
    memset(b.data + TT_FILE_HEADER_BYTES, 0, (size_t)hole.position);
    tt_chunk_header_encode(&hole, t.source.seed, NULL, b.data + TT_FILE_HEADER_BYTES);
    tt_unpacker_init(&u);
    assert_int_equal(tt_trace_chunk(&t, last - 1, SIZE_MAX, &u, &h, &payload, &err), TT_E_IO);
    assert_non_null(strstr(err.message, "read the file again"));
    assert_int_equal(tt_trace_chunk(&t, last, SIZE_MAX, &u, &h, &payload, &err), TT_OK);
    /* Damage behind the hole is damage. */
    b.data[t.chunks[last].offset] ^= 1;
    assert_int_equal(tt_trace_chunk(&t, last, SIZE_MAX, &u, &h, &payload, &err), TT_E_FORMAT);
    tt_unpacker_free(&u);
    tt_trace_close(&t);
    tt_bytes_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_trace_opens),
        cmocka_unit_test(cut_anywhere_it_opens_up_to_there),
        cmocka_unit_test(without_its_index_it_reads_the_same),
        cmocka_unit_test(a_damaged_index_is_rebuilt),
        cmocka_unit_test(a_damaged_chunk_is_left_out),
        cmocka_unit_test(unknown_chunks_are_skipped_unknown_codecs_named),
        cmocka_unit_test(pieces_are_in_order),
        cmocka_unit_test(what_is_thrown_away_meanwhile_is_told),
        cmocka_unit_test(runs_over_many_chunks_cost_little),
        cmocka_unit_test(scattered_runs_are_decoded_in_proportion),
        cmocka_unit_test(files_and_pipes_read_alike),
        cmocka_unit_test(errors_name_the_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
