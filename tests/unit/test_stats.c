/* Statistics and the log against the same sums worked out the slow way. */
#include "tests.h"

#include "../golden/synth_trace.c"
#include "analyze/log/log.h"
#include "analyze/stats.h"
#include "base/checksum.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static tt_model *open_plan(synth_plan *p, tt_bytes *b)
{
    tt_model *m;
    tt_bytes_init(b, SIZE_MAX / 2);
    assert_true(synth_build(p, b));
    assert_int_equal(tt_model_open_memory(b->data, b->size, &m, NULL), TT_OK);
    return m;
}

/* Every executed op, all lanes together, found by looking at all records per op. */
typedef struct slow_op {
    uint32_t run, node;
    uint64_t start, arrive, busy, wait;
    uint32_t lanes;
} slow_op;

static slow_op *slow_ops(const tt_model *m, size_t *n)
{
    size_t pieces;
    assert_int_equal(tt_pieces_survey(m->pieces, NULL), TT_OK);
    const tt_piece *list = tt_pieces_list(m->pieces, &pieces);
    slow_op *ops = calloc(tt_pieces_records(m->pieces) + 1, sizeof *ops);
    *n = 0;
    for (size_t i = 0; i < pieces; i++) {
        tt_piece_ops p;
        assert_int_equal(tt_pieces_get(m->pieces, &list[i], &p, NULL), TT_OK);
        for (size_t k = 0; k < p.n; k++) {
            slow_op *op = ops;
            while (op < ops + *n && (op->run != list[i].run || op->node != p.node[k]))
                op++;
            if (op == ops + *n) {
                *op = (slow_op){.run = p.run, .node = p.node[k], .start = p.start[k]};
                ++*n;
            }
            if (p.start[k] < op->start) op->start = p.start[k];
            if (p.arrive[k] > op->arrive) op->arrive = p.arrive[k];
            op->busy += p.arrive[k] - p.start[k];
            op->wait += p.release[k] - p.arrive[k];
            op->lanes++;
        }
    }
    return ops;
}

static const char *op_name(const tt_model *m, const slow_op *op)
{
    const tt_graph *g = &m->graphs[m->runs[tt_model_run(m, op->run)].graph];
    return g->tensors[op->node].op_name;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* The row of op `name` against the slow ops; fused ones are named by their first node. */
static void check_row(const tt_model *m, const tt_stats_row *row, const slow_op *ops, size_t n)
{
    uint64_t *times = calloc(n + 1, sizeof *times), busy = 0, wait = 0, sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        const char *name = op_name(m, &ops[i]);
        if (strncmp(row->key, name, strlen(name)) != 0) continue;
        if (row->key[strlen(name)] != '\0' && row->key[strlen(name)] != '+') continue;
        times[count++] = ops[i].arrive - ops[i].start;
        sum += ops[i].arrive - ops[i].start;
        busy += ops[i].busy;
        wait += ops[i].wait;
    }
    assert_int_equal(row->count, count);
    qsort(times, count, sizeof *times, compare);
    const double tick = m->clock.ns_per_tick;
    assert_true(fabs(row->total_ns - (double)sum * tick) < 1e-3);
    assert_true(fabs(row->busy_ns - (double)busy * tick) < 1e-3);
    assert_true(fabs(row->wait_ns - (double)wait * tick) < 1e-3);
    assert_true(fabs(row->max_ns - (double)times[count - 1] * tick) < 1e-6);
    double p50 = (double)times[(count + 1) / 2 - 1] * tick;
    double p95 = (double)times[(size_t)ceil(0.95 * (double)count) - 1] * tick;
    assert_true(fabs(row->p50_ns - p50) <= 0.004 * p50 + 1e-6);
    assert_true(fabs(row->p95_ns - p95) <= 0.004 * p95 + 1e-6);
    free(times);
}

static void sums_by_op(void **state)
{
    synth_plan p = synth_default();
    tt_bytes b;
    size_t n_ops, n;
    (void)state;
    p.generate = 12;
    p.lanes = 3;
    tt_model *m = open_plan(&p, &b);
    slow_op *ops = slow_ops(m, &n_ops);
    tt_stats *s = tt_stats_new(m, TT_BY_OP, NULL);
    assert_int_equal(tt_stats_walk(&s, 1, m, NULL, NULL, NULL), TT_OK);
    const tt_stats_row *rows = tt_stats_rows(s, &n);
    assert_true(n > 5);
    for (size_t i = 0; i < n; i++) {
        /* Both MUL and MUL_MAT exist; MUL is always inside a fused op. */
        check_row(m, &rows[i], ops, n_ops);
    }
    assert_int_equal(tt_stats_total(s)->count, n_ops);
    assert_int_equal(tt_stats_orphan(s), 0);
    tt_stats_free(s);
    free(ops);
    tt_model_close(m);
    tt_bytes_free(&b);
}

static void every_dimension_sums_to_the_same(void **state)
{
    static const tt_stats_by by[] = {TT_BY_OP,    TT_BY_LAYER, TT_BY_COMPONENT, TT_BY_CATEGORY,
                                     TT_BY_BATCH, TT_BY_PHASE, TT_BY_TENSOR};
    enum { N = sizeof by / sizeof *by };
    synth_plan p = synth_default();
    tt_bytes b;
    tt_stats *s[N];
    (void)state;
    tt_model *m = open_plan(&p, &b);
    for (size_t i = 0; i < N; i++)
        s[i] = tt_stats_new(m, by[i], NULL);
    assert_int_equal(tt_stats_walk(s, N, m, NULL, NULL, NULL), TT_OK);
    for (size_t i = 0; i < N; i++) {
        size_t n;
        const tt_stats_row *rows = tt_stats_rows(s[i], &n);
        double total = 0;
        uint64_t bytes = 0, count = 0;
        for (size_t k = 0; k < n; k++) {
            total += rows[k].total_ns;
            bytes += rows[k].weight_bytes;
            count += rows[k].count;
        }
        assert_true(fabs(total - tt_stats_total(s[i])->total_ns) < 1e-3);
        assert_true(bytes == tt_stats_total(s[i])->weight_bytes);
        assert_true(count == tt_stats_total(s[i])->count);
        assert_true(count == tt_stats_total(s[0])->count);
        if (by[i] == TT_BY_BATCH) assert_int_equal(n, 1 + p.generate);
        if (by[i] == TT_BY_LAYER) assert_int_equal(n, 1 + p.layers);
    }
    for (size_t i = 0; i < N; i++)
        tt_stats_free(s[i]);
    tt_model_close(m);
    tt_bytes_free(&b);
}

/* Two names with the same 64-bit hash: in the first, the hash's product of two mixed halves is zero
 * by its first half, in the second by its second half. */
static const char *const same_hash[] = {
    "\271\071\102\352\173\163\202\147\317\343\363\053\161\344\341\076",
    "\050\216\032\240\131\026\063\222\072\122\226\011\073\274\126\257"};

/* Renames two tensors in all graphs. */
static void rename_to_same_hash(const tt_model *m, const char *first, const char *second)
{
    size_t n[2] = {0};
    assert_true(tt_checksum(same_hash[0], 16) == tt_checksum(same_hash[1], 16));
    for (uint32_t i = 0; i < m->n_graphs; i++)
        for (uint32_t k = 0; k < m->graphs[i].n_tensors; k++) {
            tt_tensor *t = (tt_tensor *)&m->graphs[i].tensors[k];
            const bool is_second = strcmp(t->name, second) == 0;
            if (!is_second && strcmp(t->name, first) != 0) continue;
            t->name = same_hash[is_second];
            n[is_second]++;
        }
    assert_true(n[0] > 0 && n[1] > 0);
}

/* Texts are compared, not only their hashes. */
static void tensors_of_one_hash(void **state)
{
    synth_plan p = synth_default();
    tt_bytes b;
    uint64_t tensors[2];
    (void)state;
    tt_model *m = open_plan(&p, &b);
    for (int turn = 0; turn < 2; turn++) {
        if (turn) rename_to_same_hash(m, "blk.0.attn_q.weight", "blk.1.attn_q.weight");
        tt_stats *s = tt_stats_new(m, TT_BY_OP, NULL);
        assert_int_equal(tt_stats_walk(&s, 1, m, NULL, NULL, NULL), TT_OK);
        tensors[turn] = tt_stats_total(s)->tensors;
        tt_stats_free(s);
    }
    assert_true(tensors[0] > 10);
    assert_int_equal(tensors[1], tensors[0]);
    tt_model_close(m);
    tt_bytes_free(&b);
}

static uint64_t weight_size(const tt_model *m, const char *name)
{
    return m->weights[tt_model_weight(m, name)].size_bytes;
}

static const tt_stats_row *row(tt_stats *s, const char *key)
{
    size_t n;
    const tt_stats_row *rows = tt_stats_rows(s, &n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(rows[i].key, key) == 0) return &rows[i];
    fail_msg("no row %s", key);
    return NULL;
}

static void bytes_of_weights(void **state)
{
    synth_plan p = synth_default();
    tt_bytes b;
    (void)state;
    p.experts = 4;
    tt_model *m = open_plan(&p, &b);
    tt_stats *s = tt_stats_new(m, TT_BY_TENSOR, NULL);
    assert_int_equal(tt_stats_walk(&s, 1, m, NULL, NULL, NULL), TT_OK);
    uint64_t runs = 1 + p.generate;
    assert_true(row(s, "output.weight")->weight_bytes == runs * weight_size(m, "output.weight"));
    /* Of the embeddings, a row for each token. */
    assert_true(row(s, "token_embd.weight")->weight_bytes ==
                (p.prompt_tokens + p.generate) * weight_size(m, "token_embd.weight") / SYNTH_VOCAB);
    /* Two experts a token, at most all four. */
    const tt_stats_row *up = row(s, "blk.0.ffn_up_exps.weight");
    uint64_t all = weight_size(m, "blk.0.ffn_up_exps.weight");
    assert_true(up->at_most);
    assert_true(up->weight_bytes == all + p.generate * all / 2);
    assert_false(row(s, "output.weight")->at_most);
    tt_stats_free(s);
    tt_model_close(m);
    tt_bytes_free(&b);
}

static void threads_are_counted_apart(void **state)
{
    synth_plan p = synth_default();
    tt_bytes b;
    size_t n;
    (void)state;
    p.lanes = 3;
    tt_model *m = open_plan(&p, &b);
    tt_stats *s = tt_stats_new(m, TT_BY_THREAD, NULL);
    assert_int_equal(tt_stats_walk(&s, 1, m, NULL, NULL, NULL), TT_OK);
    const tt_stats_row *rows = tt_stats_rows(s, &n);
    assert_int_equal(n, 3);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(rows[i].number, i);
        assert_true(rows[i].count == p.n_records / 3);
        assert_true(rows[i].wait_ns > 0);
    }
    tt_stats_free(s);
    tt_model_close(m);
    tt_bytes_free(&b);
}

static uint64_t filtered(const tt_model *m, tt_filter f)
{
    tt_stats *s = tt_stats_new(m, TT_BY_OP, &f);
    assert_int_equal(tt_stats_walk(&s, 1, m, NULL, NULL, NULL), TT_OK);
    uint64_t n = tt_stats_total(s)->count;
    tt_stats_free(s);
    return n;
}

typedef struct log_sum {
    uint64_t n, limit;
    uint64_t last;
} log_sum;

static bool in_order(void *context, const tt_log_op *op)
{
    log_sum *sum = context;
    assert_true(op->start_ticks >= sum->last);
    sum->last = op->start_ticks;
    return ++sum->n != sum->limit;
}

static uint64_t logged(const tt_model *m, tt_filter f, bool by_lane)
{
    log_sum sum = {0};
    assert_int_equal(tt_log_walk(m, &f, by_lane, in_order, &sum, NULL), TT_OK);
    return sum.n;
}

static void filters_leave_what_was_asked_for(void **state)
{
    synth_plan p = synth_default();
    tt_bytes b;
    (void)state;
    tt_model *m = open_plan(&p, &b);
    const tt_filter filters[] = {{0},
                                 {.has_batch = true, .batch_first = 1, .batch_last = 2},
                                 {.has_layer = true, .layer = 1},
                                 {.has_layer = true, .layer = TT_LAYER_NONE},
                                 {.op = "mul_mat"},
                                 {.op = "mul"},
                                 {.op = "silu"},
                                 {.tensor = "blk.?.attn_q.weight"},
                                 {.tensor = "cache_k_l1"},
                                 {.phase = TT_PHASE_PROMPT},
                                 {.origin = TT_ORIGIN_FILE}};
    const uint64_t all = p.n_records / p.lanes;
    const uint64_t expected[] = {all,   2 * all / 5, 5 * 16, 5 * 3,   5 * (8 * 3 + 1), 5 * 7,
                                 5 * 3, 5 * 3,       5 * 2,  all / 5, 5 * (3 * 7 + 3)};
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
        uint64_t n = filtered(m, filters[i]);
        if (n != expected[i]) fail_msg("filter %zu: %lu ops, expected %lu", i, n, expected[i]);
        assert_int_equal(logged(m, filters[i], false), n);
        assert_int_equal(logged(m, filters[i], true), n * p.lanes);
    }
    assert_int_equal(logged(m, (tt_filter){.has_lane = true, .lane = 1}, false), all);
    assert_int_equal(logged(m, (tt_filter){.has_lane = true, .lane = 9}, false), 0);
    /* Times: the first half and the second are all. */
    double half = tt_model_ns(m, m->runs[2].begin_ticks);
    uint64_t before = logged(m, (tt_filter){.has_to = true, .to_ns = half}, false);
    uint64_t after = logged(m, (tt_filter){.has_from = true, .from_ns = half}, false);
    assert_int_equal(before, 2 * all / 5);
    assert_int_equal(before + after, all);
    log_sum few = {.limit = 7};
    assert_int_equal(tt_log_walk(m, &filters[0], false, in_order, &few, NULL), TT_OK);
    assert_int_equal(few.n, 7);
    tt_model_close(m);
    tt_bytes_free(&b);
}

/* Ops that begin at some moment, also in the middle of a run. */
static void times_leave_what_was_asked_for(void **state)
{
    synth_plan p = synth_default();
    tt_bytes b;
    (void)state;
    tt_model *m = open_plan(&p, &b);
    const double begin = tt_model_ns(m, m->runs[1].begin_ticks);
    const double end = tt_model_ns(m, m->runs[1].end_ticks);
    for (unsigned i = 1; i < 8; i++) {
        const tt_filter f = {.has_from = true,
                             .from_ns = begin + (end - begin) * i / 10,
                             .has_to = true,
                             .to_ns = begin + (end - begin) * (i + 2) / 10};
        const uint64_t n = filtered(m, f);
        assert_true(n > 0);
        assert_true(n < p.n_records / p.lanes / 5);
        assert_int_equal(logged(m, f, false), n);
        tt_stats *s = tt_stats_new(m, TT_BY_THREAD, &f);
        assert_int_equal(tt_stats_walk(&s, 1, m, NULL, NULL, NULL), TT_OK);
        assert_int_equal(tt_stats_total(s)->count, logged(m, f, true));
        tt_stats_free(s);
    }
    tt_model_close(m);
    tt_bytes_free(&b);
}

typedef struct stretch {
    double start_ns, end_ns;
} stretch;

typedef struct spans {
    const tt_model *m;
    stretch list[4096];
    uint64_t n;
} spans;

static bool keep_span(void *context, const tt_log_op *op)
{
    spans *to = context;
    assert_true(to->n < sizeof to->list / sizeof *to->list);
    to->list[to->n++] =
        (stretch){tt_model_ns(to->m, op->start_ticks), tt_model_ns(to->m, op->release_ticks)};
    return true;
}

/* Inside of an op, from op to op, and between two: with `overlaps`, what has some time in it. */
static void spans_leave_what_was_asked_for(void **state)
{
    synth_plan p = synth_default();
    tt_bytes b;
    static spans all;
    (void)state;
    tt_model *m = open_plan(&p, &b);
    all = (spans){.m = m};
    assert_int_equal(tt_log_walk(m, &(tt_filter){0}, false, keep_span, &all, NULL), TT_OK);
    for (uint64_t i = 0; i + 3 < all.n; i += 37) {
        const double a = all.list[i].start_ns, z = all.list[i].end_ns;
        const stretch ranges[] = {
            {a + (z - a) / 4, a + (z - a) / 2}, {a, z}, {z, all.list[i + 3].end_ns}};
        for (size_t r = 0; r < sizeof ranges / sizeof *ranges; r++) {
            tt_filter f = {.has_from = true,
                           .from_ns = ranges[r].start_ns,
                           .has_to = true,
                           .to_ns = ranges[r].end_ns,
                           .overlaps = true};
            uint64_t expected = 0;
            for (uint64_t k = 0; k < all.n; k++)
                expected += all.list[k].start_ns < f.to_ns && all.list[k].end_ns > f.from_ns;
            assert_int_equal(filtered(m, f), expected);
            assert_int_equal(logged(m, f, false), expected);
            assert_true(r == 2 || expected >= 1);
            f.overlaps = false;
            if (r == 0) assert_int_equal(filtered(m, f), 0);
        }
    }
    tt_model_close(m);
    tt_bytes_free(&b);
}

/* The same sums as of the tokens of one bucket alone. */
static void check_bucket(const tt_model *m, tt_stats *series, tt_stats_by by, uint32_t bucket)
{
    size_t n;
    const tt_stats_axis *x = tt_stats_series_axis(series);
    const uint32_t first = tt_stats_bucket_begin(x, bucket);
    const uint32_t end = tt_stats_bucket_begin(x, bucket + 1);
    const tt_filter f = {.has_batch = true,
                         .batch_first = tt_model_batch_number(m, first),
                         .batch_last = tt_model_batch_number(m, end - 1)};
    assert_true(end > first);
    tt_stats *alone = tt_stats_new(m, by, &f);
    assert_int_equal(tt_stats_walk(&alone, 1, m, NULL, NULL, NULL), TT_OK);
    const tt_stats_row *rows = tt_stats_rows(alone, &n);
    for (size_t i = 0; i < n; i++) {
        const tt_stats_cell *c = &row(series, rows[i].key)->series[bucket];
        assert_true(fabs(tt_model_span_ns(m, c->ticks) - rows[i].total_ns) < 1e-3);
        assert_true(c->weight_bytes == rows[i].weight_bytes);
    }
    const tt_stats_cell *all = &tt_stats_total(series)->series[bucket];
    assert_true(fabs(tt_model_span_ns(m, all->ticks) - tt_stats_total(alone)->total_ns) < 1e-3);
    assert_true(all->weight_bytes == tt_stats_total(alone)->weight_bytes);
    tt_stats_free(alone);
}

static void a_series_is_its_tokens_one_by_one(void **state)
{
    static const tt_stats_by by[] = {TT_BY_OP,     TT_BY_LAYER,  TT_BY_COMPONENT, TT_BY_CATEGORY,
                                     TT_BY_TENSOR, TT_BY_THREAD, TT_BY_PHASE};
    static const uint32_t wanted[] = {1, 4, 13, 500};
    synth_plan p = synth_default();
    tt_bytes b;
    (void)state;
    p.generate = 12;
    p.experts = 4;
    tt_model *m = open_plan(&p, &b);
    for (size_t i = 0; i < sizeof by / sizeof *by; i++)
        for (size_t k = 0; k < sizeof wanted / sizeof *wanted; k++) {
            tt_stats *s = tt_stats_new(m, by[i], NULL);
            assert_true(tt_stats_keep_series(s, wanted[k]));
            assert_int_equal(tt_stats_walk(&s, 1, m, NULL, NULL, NULL), TT_OK);
            const tt_stats_axis *x = tt_stats_series_axis(s);
            assert_int_equal(x->n_batches, 13);
            assert_int_equal(x->n_buckets, wanted[k] < 13 ? wanted[k] : 13);
            assert_int_equal(tt_stats_bucket_begin(x, 0), 0);
            assert_int_equal(tt_stats_bucket_begin(x, x->n_buckets), 13);
            for (uint32_t at = 0; at < x->n_buckets; at++)
                assert_int_equal(tt_stats_series_batches(s)[at],
                                 tt_stats_bucket_begin(x, at + 1) - tt_stats_bucket_begin(x, at));
            for (uint32_t at = 0; at < x->n_buckets; at++)
                check_bucket(m, s, by[i], at);
            tt_stats_free(s);
        }
    /* Only some tokens; none. */
    const tt_filter some = {.has_batch = true, .batch_first = 3, .batch_last = 5};
    tt_stats_axis axis = tt_stats_axis_of(m, &some, 100);
    assert_int_equal(axis.first, 3);
    assert_int_equal(axis.n_buckets, 3);
    assert_int_equal(tt_stats_bucket(&axis, 2), TT_NONE);
    assert_int_equal(tt_stats_bucket(&axis, 5), 2);
    assert_int_equal(tt_stats_bucket(&axis, 6), TT_NONE);
    const tt_filter none = {.has_batch = true, .batch_first = 99, .batch_last = 99};
    axis = tt_stats_axis_of(m, &none, 100);
    assert_int_equal(axis.n_buckets, 0);
    tt_model_close(m);
    tt_bytes_free(&b);
}

static bool is_over(void *context)
{
    return ++*(unsigned *)context == 2;
}

static void a_walk_ends_when_nobody_waits(void **state)
{
    synth_plan p = synth_default();
    tt_bytes b;
    unsigned asked = 0;
    tt_error err;
    (void)state;
    p.generate = 200;
    tt_model *m = open_plan(&p, &b);
    tt_stats *s = tt_stats_new(m, TT_BY_OP, NULL);
    tt_stats_until(s, (tt_over){is_over, &asked});
    assert_int_equal(tt_stats_walk(&s, 1, m, NULL, NULL, &err), TT_E_IO);
    assert_int_equal(asked, 2);
    tt_stats_free(s);
    tt_model_close(m);
    tt_bytes_free(&b);
}

static void rows_are_sorted_as_asked(void **state)
{
    synth_plan p = synth_default();
    tt_bytes b;
    size_t n;
    (void)state;
    tt_model *m = open_plan(&p, &b);
    tt_stats *s = tt_stats_new(m, TT_BY_COMPONENT, NULL);
    assert_int_equal(tt_stats_walk(&s, 1, m, NULL, NULL, NULL), TT_OK);
    const tt_stats_row *rows = tt_stats_rows(s, &n);
    for (size_t i = 1; i < n; i++)
        assert_true(strcmp(rows[i - 1].key, rows[i].key) < 0);
    const tt_stats_context context = {tt_stats_total(s)};
    const tt_rowset set = tt_stats_rowset(&context, TT_BY_COMPONENT, rows, n);
    tt_listing l;
    assert_int_equal(tt_listing_make(&l, &set, &(tt_listing_wish){.sort = "p95"}, NULL), TT_OK);
    assert_int_equal(l.n, n);
    for (size_t i = 1; i < n; i++) {
        const tt_stats_row *x = tt_listing_row(&l, i - 1), *y = tt_listing_row(&l, i);
        assert_true(y->p95_ns <= x->p95_ns);
    }
    tt_listing_free(&l);
    tt_stats_free(s);
    tt_model_close(m);
    tt_bytes_free(&b);
}

static void quantiles_are_close(void **state)
{
    static const double shares[] = {0.01, 0.25, 0.5, 0.95, 0.999, 1};
    uint64_t random = 7;
    enum { N = 100000 };
    uint64_t *values = malloc(N * sizeof *values);
    (void)state;
    for (unsigned bits = 1; bits <= 64; bits += 9) {
        tt_quantiles q = {0};
        for (size_t i = 0; i < N; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            values[i] = random >> (64 - bits) >> (random % 8);
            tt_quantiles_add(&q, values[i]);
        }
        qsort(values, N, sizeof *values, compare);
        for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
            double exact = (double)values[(size_t)ceil(shares[i] * (double)N) - 1];
            double got = tt_quantiles_at(&q, shares[i]);
            assert_true(fabs(got - exact) <= 0.004 * exact);
        }
        tt_quantiles_free(&q);
    }
    free(values);
}

/* Two texts of one FNV-1a hash of 64 bits: rows of one are not rows of the other. */
static void names_of_one_hash_are_two_rows(void **state)
{
    static const char *const alike[] = {"8yn0iYCKYHlIj4-BwPqk", "GReLUrM4wMqfg9yzV3KQ"};
    synth_plan p = synth_default();
    tt_bytes b;
    tt_stats *s[1];
    size_t n, found = 0;
    (void)state;
    tt_model *m = open_plan(&p, &b);
    for (uint32_t i = 0, k = 0; i < m->graphs[0].n_nodes; i++)
        if (m->graphs[0].tensors[i].flags & TT_TENSOR_EXECUTES) {
            m->graphs[0].tensors[i].op_name = m->graphs[0].tensors[i].op_desc = alike[k % 2];
            k++;
        }
    s[0] = tt_stats_new(m, TT_BY_OP, NULL);
    assert_int_equal(tt_stats_walk(s, 1, m, NULL, NULL, NULL), TT_OK);
    const tt_stats_row *rows = tt_stats_rows(s[0], &n);
    for (size_t i = 0; i < n; i++)
        found += strcmp(rows[i].key, alike[0]) == 0 || strcmp(rows[i].key, alike[1]) == 0;
    assert_int_equal(found, 2);
    tt_stats_free(s[0]);
    tt_model_close(m);
    tt_bytes_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_by_op),
        cmocka_unit_test(tensors_of_one_hash),
        cmocka_unit_test(every_dimension_sums_to_the_same),
        cmocka_unit_test(bytes_of_weights),
        cmocka_unit_test(threads_are_counted_apart),
        cmocka_unit_test(filters_leave_what_was_asked_for),
        cmocka_unit_test(times_leave_what_was_asked_for),
        cmocka_unit_test(spans_leave_what_was_asked_for),
        cmocka_unit_test(a_series_is_its_tokens_one_by_one),
        cmocka_unit_test(a_walk_ends_when_nobody_waits),
        cmocka_unit_test(rows_are_sorted_as_asked),
        cmocka_unit_test(quantiles_are_close),
        cmocka_unit_test(names_of_one_hash_are_two_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
