/* Damaged traces: cut anywhere, with any bit flipped, with chunks swapped, doubled, of another run,
 * with pages of zeros. Nothing that is told may be other than it was, and what is missing must be
 * reported. */
#include "tests.h"

#include "../golden/facts.h"
#include "../golden/rechecksum.h"
#include "../golden/synth_trace.c"
#include "analyze/verify/verify.h"

#include <stdio.h>

#define CHUNKS_MAX 256u
#define PAGE 4096u
#define SAMPLES 4000u

/* A trace and what it tells. */
typedef struct whole {
    tt_bytes file;
    facts told;
    size_t chunk[CHUNKS_MAX + 1];   /* where each begins; the INDEX too; the end behind the last */
    size_t content_end[CHUNKS_MAX]; /* padding follows */
    size_t n_chunks;
} whole;

static uint64_t random_state = 88172645463325252u;

static size_t below(size_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (size_t)(random_state % n);
}

static void find_chunks(whole *w)
{
    size_t at = TT_FILE_HEADER_BYTES;
    while (w->file.size - at >= TT_CHUNK_HEADER_BYTES) {
        uint32_t stored = tt_load_u32(w->file.data + at + 8);
        assert_true(w->n_chunks < CHUNKS_MAX);
        w->content_end[w->n_chunks] = at + TT_CHUNK_HEADER_BYTES + stored;
        w->chunk[w->n_chunks++] = at;
        at += TT_CHUNK_HEADER_BYTES + (size_t)tt_pad8(stored);
    }
    w->chunk[w->n_chunks] = at;
}

static whole make(synth_plan plan)
{
    whole w = {0};
    tt_model *m;
    bool all;
    tt_bytes_init(&w.file, SIZE_MAX / 2);
    assert_true(synth_build(&plan, &w.file));
    find_chunks(&w);
    assert_int_equal(tt_model_open_memory(w.file.data, w.file.size, &m, NULL), TT_OK);
    w.told = facts_of(m, &all);
    assert_true(all);
    tt_model_close(m);
    return w;
}

static void drop(whole *w)
{
    tt_bytes_free(&w->file);
    free(w->told.list);
}

static synth_plan plan_of(const char *kind)
{
    synth_plan p = synth_default();
    p.layers = 1;
    p.generate = 2;
    p.chunk_records = 16;
    p.memory = strstr(kind, "memory") != NULL;
    p.codec = strstr(kind, "plain") ? TT_CODEC_NONE : TT_CODEC_ZSTD;
    if (strstr(kind, "experts")) {
        p.experts = 4;
        p.experts_used = 2;
    }
    return p;
}

/* What a reader makes of damaged bytes. */
typedef struct reading {
    bool opened;
    bool complete;
    bool reported; /* that something is wrong with it */
    size_t n;      /* statements */
    size_t wrong;  /* of them, not among those of the whole trace */
} reading;

static bool is_reported(const tt_model *m)
{
    tt_check checks[TT_CHECKS_MAX];
    size_t n;
    if (!m->trace.complete || m->meta_damage.status != TT_OK ||
        tt_pieces_damaged(m->pieces, NULL) || tt_details_damaged(m->details, NULL))
        return true;
    if (tt_verify(m, checks, &n, NULL, NULL, NULL) != TT_OK) return true;
    for (size_t i = 0; i < n; i++)
        if (checks[i].verdict == TT_CHECK_FAILED) return true;
    return false;
}

/* The bytes lie in a block of just their size: a sanitizer sees a look behind them. */
static reading read_bytes(const whole *w, const uint8_t *bytes, size_t size)
{
    reading r = {0};
    tt_model *m;
    bool all;
    tt_error err = {TT_OK, 0, ""};
    uint8_t *exact = malloc(size ? size : 1);
    assert_non_null(exact);
    memcpy(exact, bytes, size);
    if (tt_model_open_memory(exact, size, &m, &err) == TT_OK) {
        facts f = facts_of(m, &all);
        r = (reading){.opened = true, .complete = m->trace.complete, .n = f.n};
        r.wrong = facts_beyond(&f, &w->told);
        r.reported = !all || is_reported(m);
        free(f.list);
    } else {
        assert_true(err.message[0] != '\0');
        r.reported = true;
    }
    tt_model_close(m);
    free(exact);
    return r;
}

/* Nothing wrong is told, and nothing is silently missing. */
static void assert_honest(const whole *w, const reading *r, const char *what, size_t at)
{
    bool honest = r->wrong == 0 && (r->n == w->told.n || r->reported);
    if (!honest)
        print_error("%s at %zu: %zu of %zu statements, %zu of them wrong, %s\n", what, at, r->n,
                    w->told.n, r->wrong, r->reported ? "reported" : "not reported");
    assert_true(honest);
}

static const char *const kinds[] = {"zstd", "plain", "plain memory", "zstd memory experts"};
#define KINDS (sizeof kinds / sizeof *kinds)

static void cut_anywhere_what_was_whole_is_told(void **state)
{
    (void)state;
    for (size_t k = 0; k < KINDS; k++) {
        whole w = make(plan_of(kinds[k]));
        size_t chunk = 0, before = 0;
        for (size_t cut = 0; cut <= w.file.size; cut++) {
            reading r = read_bytes(&w, w.file.data, cut);
            assert_honest(&w, &r, kinds[k], cut);
            assert_true(r.opened == (cut >= TT_FILE_HEADER_BYTES));
            assert_true(r.complete == (cut == w.file.size));
            /* More where a chunk has become whole, but for the INDEX, and details, whose runs may
             * come later; no less and no more behind. */
            bool more = chunk + 1 < w.n_chunks && cut == w.content_end[chunk];
            bool surely = more && w.file.data[w.chunk[chunk] + 4] != TT_CHUNK_DETAIL;
            assert_true(r.n >= before && (r.n > before || !surely));
            assert_true(r.n == before || more || cut == TT_FILE_HEADER_BYTES);
            chunk += more;
            before = r.n;
        }
        assert_int_equal(before, w.told.n);
        drop(&w);
    }
}

static void any_bit_flipped_nothing_wrong_is_told(void **state)
{
    (void)state;
    for (size_t k = 0; k < KINDS; k++) {
        whole w = make(plan_of(kinds[k]));
        for (size_t bit = 0; bit < 8 * w.file.size; bit++) {
            w.file.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
            reading r = read_bytes(&w, w.file.data, w.file.size);
            assert_honest(&w, &r, "flip", bit);
            w.file.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        drop(&w);
    }
}

static synth_plan large_plan(void)
{
    synth_plan p = plan_of("plain memory experts");
    p.layers = 3;
    p.generate = 40;
    p.chunk_records = 64;
    return p;
}

/* As after a power cut: blocks of the file that never reached the disk. */
static void pages_of_zeros_nothing_wrong_is_told(void **state)
{
    whole w = make(large_plan());
    uint8_t *bytes = malloc(w.file.size);
    (void)state;
    assert_non_null(bytes);
    size_t pages = w.file.size / PAGE;
    for (size_t i = 0; i < 4 * pages; i++) {
        memcpy(bytes, w.file.data, w.file.size);
        /* One of each, then several at once. */
        for (size_t k = 0; k < 1 + i / pages; k++) {
            size_t at = (i < pages ? i : below(pages)) * PAGE;
            memset(bytes + at, 0, PAGE);
        }
        reading r = read_bytes(&w, bytes, w.file.size);
        assert_honest(&w, &r, "page", i);
        /* And cut somewhere: the end of a file that was being written. */
        r = read_bytes(&w, bytes, below(w.file.size));
        assert_honest(&w, &r, "page and cut", i);
    }
    free(bytes);
    drop(&w);
}

static void many_flips_in_a_larger_trace(void **state)
{
    whole w = make(large_plan());
    uint8_t *bytes = malloc(w.file.size);
    (void)state;
    assert_non_null(bytes);
    for (size_t i = 0; i < SAMPLES; i++) {
        memcpy(bytes, w.file.data, w.file.size);
        for (size_t k = 0; k < 1 + i % 4; k++)
            bytes[below(w.file.size)] ^= (uint8_t)(1u << below(8));
        reading r = read_bytes(&w, bytes, w.file.size);
        assert_honest(&w, &r, "flips", i);
    }
    free(bytes);
    drop(&w);
}

/* Puts chunk i of `from` behind the bytes so far. */
static void append_chunk(tt_bytes *out, const whole *from, size_t i)
{
    tt_bytes_put(out, from->file.data + from->chunk[i], from->chunk[i + 1] - from->chunk[i]);
}

enum arrangement { SWAP, DOUBLE, REPEAT, REMOVE, ARRANGEMENTS };

/* The trace's chunks, but for i and j. Without its index it is a file that was cut off. */
static void arrange(tt_bytes *out, const whole *w, enum arrangement how, size_t i, size_t j,
                    bool with_index)
{
    size_t n = w->n_chunks - 1; /* the last is the INDEX */
    tt_bytes_clear(out);
    tt_bytes_put(out, w->file.data, TT_FILE_HEADER_BYTES);
    for (size_t k = 0; k < n; k++) {
        if (how == REMOVE && k == i) continue;
        append_chunk(out, w, how == SWAP && k == i ? j : how == SWAP && k == j ? i : k);
        if (how == DOUBLE && k == i) append_chunk(out, w, i);
        if (how == REPEAT && k == j) append_chunk(out, w, i);
    }
    if (with_index) tt_bytes_put(out, w->file.data + w->chunk[n], w->file.size - w->chunk[n]);
    assert_false(out->failed);
}

static void chunks_out_of_place_are_noticed(void **state)
{
    whole w = make(plan_of("plain memory"));
    tt_bytes b;
    (void)state;
    tt_bytes_init(&b, SIZE_MAX / 2);
    for (enum arrangement how = SWAP; how < ARRANGEMENTS; how++)
        for (size_t i = 0; i + 1 < w.n_chunks; i++)
            for (size_t j = i + 1; j + 1 < w.n_chunks; j++)
                for (int with_index = 0; with_index < 2; with_index++) {
                    arrange(&b, &w, how, i, j, with_index);
                    reading r = read_bytes(&w, b.data, b.size);
                    assert_honest(&w, &r, "arranged", how * 10000 + i * 100 + j);
                }
    tt_bytes_free(&b);
    drop(&w);
}

/* Both runs have chunks of the same kind, stream and position: only the run's id tells. */
static void chunks_of_another_run_are_refused(void **state)
{
    synth_plan plan = plan_of("plain");
    whole w = make(plan);
    plan.seed += 77;
    whole other = make(plan);
    tt_bytes b;
    (void)state;
    tt_bytes_init(&b, SIZE_MAX / 2);
    assert_int_equal(w.n_chunks, other.n_chunks);
    assert_memory_not_equal(w.file.data + 16, other.file.data + 16, 16);
    for (size_t i = 0; i + 1 < w.n_chunks; i++)
        for (int with_index = 0; with_index < 2; with_index++) {
            tt_bytes_clear(&b);
            tt_bytes_put(&b, w.file.data, TT_FILE_HEADER_BYTES);
            for (size_t k = 0; k + 1 < w.n_chunks; k++)
                append_chunk(&b, k == i ? &other : &w, k);
            size_t index = w.chunk[w.n_chunks - 1];
            if (with_index) tt_bytes_put(&b, w.file.data + index, w.file.size - index);
            reading r = read_bytes(&w, b.data, b.size);
            assert_honest(&w, &r, "spliced", i);
            assert_true(r.reported);
        }
    tt_bytes_free(&b);
    drop(&w);
    drop(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cut_anywhere_what_was_whole_is_told),
        cmocka_unit_test(any_bit_flipped_nothing_wrong_is_told),
        cmocka_unit_test(pages_of_zeros_nothing_wrong_is_told),
        cmocka_unit_test(many_flips_in_a_larger_trace),
        cmocka_unit_test(chunks_out_of_place_are_noticed),
        cmocka_unit_test(chunks_of_another_run_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
