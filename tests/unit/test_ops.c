/* OPS chunks: what is written comes back, whatever it is; sizes; bytes that break the format. */
#include "tests.h"

#include "format/chunk.h"
#include "format/ops.h"
#include "format/ops_columns.h"
#include "format/pack.h"

#include <stdlib.h>
#include <string.h>

static uint64_t random_state;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static uint64_t below(uint64_t n)
{
    return next_random() % n;
}

/* What records look like. */
typedef struct shape {
    uint32_t nodes;       /* of a graph */
    uint32_t node_step;   /* nodes are at most so far apart */
    uint32_t lanes;       /* that take turns in the ring, a run each */
    uint32_t cut_percent; /* of the runs end early */
    uint32_t granule;
    uint32_t odd_percent;  /* times that are no multiple of it */
    uint32_t wild_percent; /* times that are anything: backwards, beyond 2^63 */
    uint32_t open_percent;
    uint32_t gap_percent;
} shape;

static uint64_t some_time(const shape *s, uint64_t typical)
{
    uint64_t t = (typical / 2 + below(typical + 1)) * s->granule;
    if (below(100) < s->odd_percent) t += below(s->granule);
    if (below(100) < s->wild_percent) t = below(2) ? next_random() : 0 - below(5000);
    return t;
}

/* The runs are of one graph: what a node's op takes depends on the node. */
static void make_records(tt_op_record *r, size_t n, const shape *s)
{
    uint64_t t = next_random() >> 8;
    uint32_t run = (uint32_t)below(1000), seed = (uint32_t)next_random(),
             at = (uint32_t)below(s->nodes);
    uint32_t lane = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t mixed = (at + 1) * 2654435761u ^ seed;
        uint32_t node = at * s->node_step + (s->node_step > 1 ? mixed % s->node_step : 0);
        uint64_t typical = (uint64_t)1 << (mixed >> 8) % 20;
        if (below(100) < s->gap_percent) t += some_time(s, 300);
        r[i] = (tt_op_record){.start = t, .run = run};
        r[i].place = tt_op_place(node, lane, mixed % 9 == 0 ? 1 + mixed % 7 : 0);
        if (below(100) >= s->open_percent) {
            r[i].arrive = t + some_time(s, typical);
            r[i].release = t = r[i].arrive + some_time(s, typical / 4);
            if (t == 0) r[i].release = t = 1; /* 0 would be an op under way */
        }
        if (++at < s->nodes && below(100 * (uint64_t)s->nodes) >= s->cut_percent) continue;
        at = 0;
        lane = (lane + 1) % s->lanes;
        run = below(50) ? run + 1 : (uint32_t)next_random();
    }
}

static void assert_same(const tt_ops_block *b, const tt_op_record *r, size_t n, unsigned shift)
{
    size_t next = 0;
    assert_int_equal(b->n, n);
    for (size_t s = 0; s < b->n_segments; s++) {
        const tt_ops_segment *g = &b->segments[s];
        assert_int_equal(g->first, next);
        next += g->count;
        for (size_t i = g->first; i < next; i++) {
            bool open = r[i].release == 0;
            uint64_t arrive = open ? r[i].start : r[i].arrive;
            uint64_t release = open ? r[i].start : r[i].release;
            if (g->run != r[i].run || g->lane != tt_op_lane(&r[i]) || g->open != open ||
                b->node[i] != tt_op_node(&r[i]) || b->covers[i] != tt_op_covers(&r[i]) ||
                b->start[i] != r[i].start >> shift << shift ||
                b->arrive[i] != arrive >> shift << shift ||
                b->release[i] != release >> shift << shift)
                fail_msg("record %zu of %zu differs", i, n);
        }
    }
    assert_int_equal(next, n);
}

/* Encodes, decodes into the same block as ever, and compares; the bytes are the caller's. */
static void assert_comes_back(const tt_op_record *r, size_t n, unsigned shift, tt_bytes *out)
{
    static tt_ops_block block;
    static tt_ops_scratch scratch;
    tt_ops_cost cost;
    tt_error err;
    tt_bytes_init(out, TT_CHUNK_PAYLOAD_MAX);
    assert_true(tt_ops_encode(out, r, n, shift));
    tt_span payload = {out->data, out->size};
    if (tt_ops_decode_again(payload, n, true, &block, &scratch, &err) != TT_OK)
        fail_msg("%s", err.message);
    assert_same(&block, r, n, shift);
    assert_int_equal(tt_ops_cost_of(payload, n, &cost, &err), TT_OK);
    assert_int_equal(cost.front_bytes + cost.sequence_bytes + cost.segment_bytes + cost.gap_bytes +
                         cost.busy_bytes + cost.wait_bytes + cost.exception_bytes,
                     out->size);
    if (n > 5000 || n % 3) return;
    tt_ops_block_free(&block);
    tt_ops_scratch_free(&scratch);
}

static void records_come_back(size_t n, unsigned shift, const shape *s)
{
    tt_op_record *r = malloc(n * sizeof *r);
    tt_bytes out;
    assert_non_null(r);
    make_records(r, n, s);
    assert_comes_back(r, n, shift, &out);
    tt_bytes_free(&out);
    free(r);
}

static void records_of_every_shape_come_back(void **state)
{
    static const uint32_t granules[] = {1, 2, 13, 26, 1000, 3000000000u};
    (void)state;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        random_state = seed * 0x9e3779b97f4a7c15u;
        shape s = {.nodes = 1 + (uint32_t)below(below(2) ? 20 : 700),
                   .node_step = 1 + (uint32_t)below(5),
                   .lanes = 1 + (uint32_t)below(3),
                   .cut_percent = below(2) ? 0 : (uint32_t)below(100),
                   .granule = granules[below(6)],
                   .odd_percent = below(2) ? 0 : (uint32_t)below(30),
                   .wild_percent = below(3) ? 0 : (uint32_t)below(100),
                   .open_percent = below(3) ? 0 : (uint32_t)below(20),
                   .gap_percent = (uint32_t)below(3) * 50};
        records_come_back(1 + below(below(2) ? 40 : 4000), below(3) ? 0 : (unsigned)below(33), &s);
    }
}

static void chunks_of_every_size_come_back(void **state)
{
    const shape runs = {.nodes = 300, .node_step = 2, .lanes = 1, .granule = 26, .odd_percent = 1};
    shape one_run = runs, single = runs;
    (void)state;
    random_state = 88172645463325252u;
    one_run.nodes = TT_OPS_CHUNK_RECORDS_MAX;
    single.nodes = 1;
    for (size_t n = 1; n < 200; n++)
        records_come_back(n, 0, &runs);
    records_come_back(TT_OPS_CHUNK_RECORDS_MAX, 0, &runs);
    records_come_back(TT_OPS_CHUNK_RECORDS_MAX, 0, &one_run); /* all nodes different */
    records_come_back(TT_OPS_CHUNK_RECORDS_MAX, 0, &single);  /* as many segments */
}

static void too_many_or_none_are_refused(void **state)
{
    tt_op_record r = {.start = 1, .arrive = 2, .release = 3};
    tt_ops_block block;
    tt_bytes out;
    (void)state;
    tt_bytes_init(&out, TT_CHUNK_PAYLOAD_MAX);
    assert_false(tt_ops_encode(&out, &r, 0, 0));
    tt_bytes_clear(&out);
    assert_false(tt_ops_encode(&out, &r, TT_OPS_CHUNK_RECORDS_MAX + 1, 0));
    tt_bytes_clear(&out);
    assert_false(tt_ops_encode(&out, &r, 1, 33));
    tt_bytes_clear(&out);
    assert_true(tt_ops_encode(&out, &r, 1, 0));
    tt_span payload = {out.data, out.size};
    assert_int_equal(tt_ops_decode(payload, 0, true, &block, NULL), TT_E_LIMIT);
    assert_int_equal(tt_ops_decode(payload, 2, true, &block, NULL), TT_E_FORMAT);
    assert_null(block.memory);
    tt_bytes_free(&out);
}

/* --- sizes --- */

static double bytes_a_record(size_t n, const shape *s, tt_ops_cost *cost)
{
    tt_op_record *r = malloc(n * sizeof *r);
    tt_bytes out;
    random_state = 88172645463325252u;
    make_records(r, n, s);
    assert_comes_back(r, n, 0, &out);
    double bytes = (double)out.size / (double)n;
    assert_int_equal(tt_ops_cost_of((tt_span){out.data, out.size}, n, cost, NULL), TT_OK);
    tt_bytes_free(&out);
    free(r);
    return bytes;
}

/* A counter that advances by 26 ticks costs little more than one that advances by one, also when
 * now and then it does not. */
static void the_granule_is_found(void **state)
{
    enum { N = 8192 };
    const shape fine = {.nodes = 300, .node_step = 1, .lanes = 1, .granule = 1};
    shape coarse = fine, odd = fine;
    tt_ops_cost cost;
    (void)state;
    coarse.granule = odd.granule = 26;
    odd.odd_percent = 1;
    double least = bytes_a_record(N, &fine, &cost);
    assert_true(bytes_a_record(N, &coarse, &cost) < least + 0.05);
    assert_true(bytes_a_record(N, &odd, &cost) < least + 0.15);
}

static void granules_of_columns(void **state)
{
    enum { N = 1000 };
    static uint64_t busy[N], wait[N];
    (void)state;
    random_state = 1;
    for (size_t i = 0; i < N; i++) {
        busy[i] = 13 * below(10000);
        wait[i] = i % 50 ? 13 * below(100) : next_random();
    }
    assert_int_equal(tt_ops_granule_find(busy, wait, N).ticks, 13);
    for (size_t i = 0; i < N; i++)
        wait[i] = below(100);
    assert_int_equal(tt_ops_granule_find(busy, wait, N).ticks, 1);
    memset(wait, 0, sizeof wait);
    assert_int_equal(tt_ops_granule_find(busy, wait, N).ticks, 13);
    assert_int_equal(tt_ops_granule_find(wait, wait, N).ticks, 1);
    for (size_t i = 0; i < N; i++)
        busy[i] = wait[i] = 2 * below(1000) + (below(10) == 0); /* saves less than it costs */
    assert_int_equal(tt_ops_granule_find(busy, wait, N).ticks, 1);
    busy[0] = 0 - (uint64_t)26; /* the signed one */
    wait[0] = 0;
    assert_int_equal(tt_ops_granule_find(busy, wait, 1).ticks, 26);
    busy[0] = (uint64_t)1 << 63;
    assert_int_equal(tt_ops_granule_find(busy, wait, 1).ticks, 1);
}

static void splits_are_exact(void **state)
{
    static const uint32_t ticks[] = {2, 3, 13, 26, 1000003, UINT32_MAX};
    (void)state;
    random_state = 7;
    for (size_t k = 0; k < sizeof ticks / sizeof *ticks; k++) {
        tt_ops_granule g = tt_ops_granule_of(ticks[k]);
        for (unsigned i = 0; i < 20000; i++) {
            uint64_t v = next_random() >> below(64), remainder;
            if (i < 4) v = (uint64_t[]){0, UINT32_MAX, (uint64_t)1 << 63, UINT64_MAX}[i];
            if (i % 7 == 0) v = 0 - v;
            uint64_t q = tt_ops_granule_split(&g, v, &remainder);
            assert_true(remainder < ticks[k]);
            assert_true(q * ticks[k] + remainder == v);
            /* Rounded down, so that it is small where v is. */
            __int128 exact = (__int128)(int64_t)q * ticks[k] + (int64_t)remainder;
            assert_true(exact == (int64_t)v);
        }
    }
}

/* A chunk that begins and ends in the middle of a run lists that run's nodes once. */
static void a_cut_run_is_a_part(void **state)
{
    const shape s = {.nodes = 500, .node_step = 3, .lanes = 1, .granule = 1};
    tt_ops_cost whole, cut;
    (void)state;
    (void)bytes_a_record(1500, &s, &whole); /* begins at any node, and so ends */
    (void)bytes_a_record(5300, &s, &cut);
    assert_true(whole.sequence_bytes >= 500);
    assert_int_equal(cut.sequence_bytes, whole.sequence_bytes);
}

/* --- encoding 1 --- */

static void put_old(tt_bytes *out, const uint64_t *columns[3], size_t n)
{
    uint64_t mapped[64];
    tt_bytes_varint(out, 1);
    tt_bytes_varint(out, 2); /* shift */
    tt_bytes_u64(out, 1000); /* first start */
    tt_bytes_varint(out, 1); /* sequences */
    tt_bytes_varint(out, n / 2);
    for (size_t i = 0; i < n / 2; i++)
        tt_bytes_varint(out, i == 0 ? 2 * 7 : 0); /* nodes 7, 8, 9 ... */
    tt_bytes_varint(out, 2);                      /* segments */
    for (size_t i = 0; i < 2; i++) {
        tt_bytes_zigzag(out, 40);
        tt_bytes_varint(out, i);
        tt_bytes_varint(out, 0);
    }
    for (size_t c = 0; c < 3; c++) {
        /* Transposed: one of the first segment, one of the second, and so on. */
        for (size_t i = 0; i < n; i++)
            mapped[i] = tt_zigzag_map((int64_t)columns[c][i % 2 * (n / 2) + i / 2]);
        tt_pack_column(out, mapped, n);
    }
}

static void encoding_1_is_read(void **state)
{
    enum { N = 60 };
    uint64_t gap[N], busy[N], wait[N], t = 1000;
    const uint64_t *columns[] = {gap, busy, wait};
    tt_ops_block b;
    tt_bytes out;
    (void)state;
    random_state = 5;
    for (size_t i = 0; i < N; i++) {
        gap[i] = i ? below(50) : 0;
        busy[i] = below(1000);
        wait[i] = below(10) ? below(30) : 0 - below(30);
    }
    tt_bytes_init(&out, TT_CHUNK_PAYLOAD_MAX);
    put_old(&out, columns, N);
    assert_int_equal(tt_ops_decode((tt_span){out.data, out.size}, N, true, &b, NULL), TT_OK);
    assert_int_equal(b.n_segments, 2);
    assert_int_equal(b.segments[1].run, 80);
    assert_int_equal(b.segments[1].lane, 1);
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(b.node[i], 7 + i % (N / 2));
        t += gap[i];
        assert_true(b.start[i] == t << 2);
        t += busy[i];
        assert_true(b.arrive[i] == t << 2);
        t += wait[i];
        assert_true(b.release[i] == t << 2);
    }
    tt_ops_block_free(&b);
    for (size_t i = 0; i < out.size; i++) {
        uint8_t was = out.data[i];
        assert_int_not_equal(tt_ops_decode((tt_span){out.data, i}, N, true, &b, NULL), TT_OK);
        out.data[i] = (uint8_t)next_random();
        if (tt_ops_decode((tt_span){out.data, out.size}, N, true, &b, NULL) == TT_OK)
            tt_ops_block_free(&b);
        out.data[i] = was;
    }
    tt_bytes_free(&out);
}

/* --- what breaks the format --- */

/* A run of four nodes on lane 0, and what the caller says of a second one. */
static void put_front(tt_bytes *out, uint64_t which, uint64_t first, uint64_t count)
{
    tt_bytes_clear(out);
    tt_bytes_varint(out, 2);
    tt_bytes_varint(out, 0);
    tt_bytes_u64(out, 5);
    tt_bytes_varint(out, 1);
    tt_bytes_varint(out, 4);
    for (int i = 0; i < 4; i++)
        tt_bytes_varint(out, 0);
    tt_bytes_varint(out, 2);
    for (int i = 0; i < 3; i++)
        tt_bytes_varint(out, 0);
    tt_bytes_zigzag(out, 1);
    tt_bytes_varint(out, 0);
    tt_bytes_varint(out, which);
    if (!(which & 1)) return;
    tt_bytes_varint(out, first);
    tt_bytes_varint(out, count);
}

/* Granule, three columns of nothing; the first with a listed value and a remainder. */
static void put_columns(tt_bytes *out, uint64_t granule, uint8_t form, uint64_t place,
                        uint64_t remainder)
{
    tt_bytes_varint(out, granule);
    for (int c = 0; c < 3; c++) {
        tt_bytes_u8(out, c ? 0 : form);
        tt_bytes_varint(out, c ? 0 : 1);
        if (!c) tt_bytes_varint(out, place);
        if (!c) tt_bytes_zigzag(out, 3);
        tt_bytes_varint(out, c ? 0 : 1);
        if (!c) tt_bytes_varint(out, place);
        if (!c) tt_bytes_varint(out, remainder);
    }
}

static tt_status decode_status(const tt_bytes *out, size_t n, uint64_t *start)
{
    tt_ops_block b;
    tt_status status = tt_ops_decode((tt_span){out->data, out->size}, n, true, &b, NULL);
    if (status != TT_OK) return status;
    *start = b.start[n - 1];
    tt_ops_block_free(&b);
    return status;
}

static void what_breaks_the_format_is_refused(void **state)
{
    static const struct {
        uint64_t which, first, count; /* of the segment */
        uint64_t granule;
        uint8_t form;
        uint64_t place, remainder;
        tt_status status;
    } cases[] = {
        {0, 0, 4, 10, 0, 7, 4, TT_OK},
        {1, 1, 3, 10, 0, 6, 4, TT_OK},
        {2, 0, 4, 10, 0, 7, 4, TT_E_FORMAT}, /* no such sequence */
        {1, 2, 3, 10, 0, 6, 4, TT_E_FORMAT}, /* beyond its end */
        {1, 4, 0, 10, 0, 3, 4, TT_E_FORMAT}, /* nothing of it */
        {1, 0, 0, 10, 0, 3, 4, TT_E_FORMAT},
        {1, UINT64_MAX, 2, 10, 0, 5, 4, TT_E_FORMAT},
        {0, 0, 4, 0, 0, 7, 4, TT_E_FORMAT}, /* granules */
        {0, 0, 4, (uint64_t)1 << 32, 0, 7, 4, TT_E_FORMAT},
        {0, 0, 4, 10, 2, 7, 4, TT_E_FORMAT}, /* a form that is none */
        {0, 0, 4, 10, 0, 8, 4, TT_E_FORMAT}, /* places */
        {0, 0, 4, 10, 0, UINT64_MAX, 4, TT_E_FORMAT},
        {0, 0, 4, 10, 0, 7, 10, TT_E_FORMAT}, /* remainders */
        {0, 0, 4, 1, 0, 7, 1, TT_E_FORMAT},
    };
    tt_bytes out;
    (void)state;
    tt_bytes_init(&out, TT_CHUNK_PAYLOAD_MAX);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t n = 4 + cases[i].count;
        uint64_t start = 0;
        put_front(&out, cases[i].which, cases[i].first, cases[i].count);
        put_columns(&out, cases[i].granule, cases[i].form, cases[i].place, cases[i].remainder);
        assert_int_equal(decode_status(&out, n, &start), cases[i].status);
        if (cases[i].status == TT_OK) assert_int_equal(start, 5 + 3 * 10 + 4);
    }
    tt_bytes_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_of_every_shape_come_back),
        cmocka_unit_test(chunks_of_every_size_come_back),
        cmocka_unit_test(too_many_or_none_are_refused),
        cmocka_unit_test(the_granule_is_found),
        cmocka_unit_test(granules_of_columns),
        cmocka_unit_test(splits_are_exact),
        cmocka_unit_test(a_cut_run_is_a_part),
        cmocka_unit_test(encoding_1_is_read),
        cmocka_unit_test(what_breaks_the_format_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
