#include "tests.h"

#include "format/chunk.h"
#include "format/detail.h"
#include "format/meta.h"
#include "format/ops.h"
#include "format/pack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t random_state = 88172645463325252u;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static void column_comes_back(const uint64_t *values, size_t n)
{
    tt_bytes b;
    uint64_t *back = malloc((n + 1) * sizeof *back);
    tt_bytes_init(&b, 1 << 24);
    tt_pack_column(&b, values, n);
    assert_false(b.failed);
    tt_cursor c = tt_cursor_of(b.data, b.size);
    assert_true(tt_unpack_column(&c, back, n));
    assert_int_equal(tt_cursor_left(&c), 0);
    if (n) assert_memory_equal(back, values, n * sizeof *back);
    /* Cut anywhere, it must be refused. */
    for (size_t cut = 0; cut < b.size; cut += 1 + b.size / 50) {
        c = tt_cursor_of(b.data, cut);
        assert_false(tt_unpack_column(&c, back, n));
    }
    free(back);
    tt_bytes_free(&b);
}

static void columns_of_every_width(void **state)
{
    uint64_t values[200];
    (void)state;
    for (unsigned width = 0; width <= 64; width++) {
        for (size_t n = 0; n <= 200; n += n < 3 ? 1 : 61) {
            for (size_t i = 0; i < n; i++)
                values[i] = width ? next_random() >> (64 - width) : 7;
            column_comes_back(values, n);
            /* A few values that stand out, and a sequence that climbs. */
            for (size_t i = 0; i < n; i += 17)
                values[i] = next_random();
            column_comes_back(values, n);
            for (size_t i = 0; i < n; i++)
                values[i] = UINT64_MAX - 1000 + i * width;
            column_comes_back(values, n);
        }
    }
}

/* Records as lanes write them: intervals of a graph's nodes, now and then cut. */
static size_t make_records(tt_op_record *r, size_t n, bool tidy)
{
    uint64_t t = 1000000;
    uint32_t run = 5, node = 0, lane = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t busy = next_random() % (tidy ? 500 : 1u << 30), wait = next_random() % 90;
        bool open = !tidy && next_random() % 50 == 0;
        r[i] = (tt_op_record){t, open ? 0 : t + busy, open ? 0 : t + busy + wait, run,
                              tt_op_place(node, lane, node % 7 == 3 ? 1 : 0)};
        t += (open ? 0 : busy + wait) + next_random() % 40;
        node += node % 7 == 3 ? 2u : 1u;
        if (node > 60 || (!tidy && next_random() % 40 == 0)) {
            node = 0;
            run = tidy ? run + 1 : (uint32_t)(next_random() % 100);
            if (!tidy) lane = (uint32_t)(next_random() % 4);
        }
    }
    return n;
}

static void records_come_back(size_t n, unsigned shift, bool tidy)
{
    tt_op_record *r = malloc(n * sizeof *r);
    tt_bytes b;
    tt_ops_block block, front;
    make_records(r, n, tidy);
    tt_bytes_init(&b, TT_CHUNK_PAYLOAD_MAX);
    assert_true(tt_ops_encode(&b, r, n, shift));
    assert_int_equal(tt_ops_decode((tt_span){b.data, b.size}, n, true, &block, NULL), TT_OK);
    assert_int_equal(tt_ops_decode((tt_span){b.data, b.size}, n, false, &front, NULL), TT_OK);
    assert_int_equal(block.n_segments, front.n_segments);
    assert_null(front.start);
    for (size_t s = 0; s < block.n_segments; s++) {
        const tt_ops_segment *g = &block.segments[s];
        for (size_t i = g->first; i < g->first + g->count; i++) {
            assert_int_equal(g->run, r[i].run);
            assert_int_equal(g->lane, tt_op_lane(&r[i]));
            assert_int_equal(g->open, r[i].release == 0);
            assert_int_equal(block.node[i], tt_op_node(&r[i]));
            assert_int_equal(block.covers[i], tt_op_covers(&r[i]));
            assert_true(block.start[i] == r[i].start >> shift << shift);
            uint64_t arrive = g->open ? r[i].start : r[i].arrive;
            uint64_t release = g->open ? r[i].start : r[i].release;
            assert_true(block.arrive[i] == arrive >> shift << shift);
            assert_true(block.release[i] == release >> shift << shift);
        }
    }
    tt_ops_block_free(&block);
    tt_ops_block_free(&front);
    tt_bytes_free(&b);
    free(r);
}

static void ops_of_every_kind(void **state)
{
    static const size_t sizes[] = {1, 2, 63, 64, 65, 500, 5000};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (unsigned shift = 0; shift < 8; shift += 3) {
            records_come_back(sizes[i], shift, true);
            records_come_back(sizes[i], shift, false);
        }
}

static void ops_with_wrong_bytes_are_refused_or_read(void **state)
{
    enum { N = 300 };
    tt_op_record r[N];
    tt_bytes b;
    (void)state;
    make_records(r, N, false);
    tt_bytes_init(&b, TT_CHUNK_PAYLOAD_MAX);
    assert_true(tt_ops_encode(&b, r, N, 0));
    for (size_t i = 0; i < b.size; i++) {
        tt_ops_block block;
        uint8_t was = b.data[i];
        b.data[i] = (uint8_t)next_random();
        if (tt_ops_decode((tt_span){b.data, b.size}, N, true, &block, NULL) == TT_OK)
            tt_ops_block_free(&block);
        b.data[i] = was;
        assert_int_not_equal(tt_ops_decode((tt_span){b.data, i}, N, true, &block, NULL), TT_OK);
        assert_null(block.node);
    }
    tt_bytes_free(&b);
}

static tt_detail make_detail(uint32_t run, uint32_t node, uint32_t lane, enum tt_detail_kind kind)
{
    tt_detail d = {.run = run, .place = tt_detail_place(node, lane, kind)};
    if (kind == TT_DETAIL_FAULTS) {
        d.faults.minor = (uint32_t)next_random();
        d.faults.major = (uint32_t)(next_random() % 3);
        d.faults.cpu_ns = next_random() >> next_random() % 64;
        d.faults.read_bytes = next_random() % 2 ? UINT64_MAX : next_random();
    }
    if (kind == TT_DETAIL_EXPERTS) {
        d.experts.token = (uint32_t)(next_random() % 9);
        d.experts.n = (uint16_t)(1 + next_random() % TT_DETAIL_EXPERTS_MAX);
        d.experts.first_rank = (uint16_t)(65536u - d.experts.n);
        for (unsigned i = 0; i < d.experts.n; i++)
            d.experts.expert[i] = (uint16_t)next_random();
    }
    if (kind == TT_DETAIL_WEIGHTS_F32) {
        d.weights.token = UINT32_MAX;
        d.weights.n = (uint16_t)(1 + next_random() % TT_DETAIL_WEIGHTS_MAX);
        for (unsigned i = 0; i < d.weights.n; i++)
            d.weights.weight[i] = (float)(next_random() % 1000) / 7;
    }
    if (kind == TT_DETAIL_VALUE) {
        d.value.part = (uint8_t)(next_random() % TT_DETAIL_VALUE_PARTS);
        for (unsigned i = 0; i < TT_DETAIL_VALUE_BYTES; i++)
            d.value.bytes[i] = (uint8_t)next_random();
    }
    return d;
}

/* By ascending (run, node, lane, kind), one of each; kinds 0, and above 4, that are not kept. */
static size_t make_details(tt_detail *d, size_t n, tt_detail *kept)
{
    size_t n_kept = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t kind = (uint32_t)(next_random() % 6);
        d[i] = make_detail((uint32_t)(i / 90) * 47721858u, (uint32_t)(i % 90) * 11781u,
                           (uint32_t)(next_random() % 512), (enum tt_detail_kind)kind);
        if (kind >= TT_DETAIL_FAULTS && kind < TT_DETAIL_KINDS) kept[n_kept++] = d[i];
    }
    return n_kept;
}

static void details_of_every_kind(void **state)
{
    static const size_t sizes[] = {1, 2, 63, 64, 65, 500, 5000};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t n = sizes[i], n_back;
        tt_detail *d = malloc(n * sizeof *d), *kept = malloc(n * sizeof *kept), *back;
        tt_bytes b;
        tt_bytes_init(&b, TT_CHUNK_PAYLOAD_MAX);
        size_t n_kept = make_details(d, n, kept);
        assert_true(tt_detail_encode(&b, d, n));
        assert_int_equal(tt_detail_decode((tt_span){b.data, b.size}, n, &back, &n_back, NULL),
                         TT_OK);
        assert_int_equal(n_back, n_kept);
        if (n_kept) assert_memory_equal(back, kept, n_kept * sizeof *kept);
        free(back);
        /* What there is more of than the header says is refused. */
        if (n_kept > 1)
            assert_int_not_equal(
                tt_detail_decode((tt_span){b.data, b.size}, n_kept - 1, &back, &n_back, NULL),
                TT_OK);
        tt_bytes_free(&b);
        free(d);
        free(kept);
    }
}

static void details_are_sorted_and_incomplete_ones_left_out(void **state)
{
    tt_detail d[] = {
        make_detail(2, 5, 0, TT_DETAIL_EXPERTS), {.run = 9, .place = 77},
        make_detail(2, 5, 1, TT_DETAIL_FAULTS),  make_detail(2, 5, 0, TT_DETAIL_FAULTS),
        make_detail(2, 4, 1, TT_DETAIL_FAULTS),  make_detail(1, 9, 9, TT_DETAIL_EXPERTS),
        make_detail(2, 5, 0, TT_DETAIL_EXPERTS), make_detail(3, 1, 1, TT_DETAIL_EXPERTS)};
    static const unsigned order[] = {5, 4, 3, 6, 0, 2};
    enum { N = sizeof d / sizeof *d, KEPT = sizeof order / sizeof *order };
    tt_detail *back;
    size_t n;
    tt_bytes b;
    (void)state;
    d[0].experts.token = 7;
    d[6].experts.token = 6;
    d[7].experts.n = TT_DETAIL_EXPERTS_MAX + 1; /* as a damaged area may have it */
    tt_bytes_init(&b, TT_CHUNK_PAYLOAD_MAX);
    assert_true(tt_detail_encode(&b, d, N));
    assert_int_equal(tt_detail_decode((tt_span){b.data, b.size}, N, &back, &n, NULL), TT_OK);
    assert_int_equal(n, KEPT);
    for (size_t i = 0; i < n; i++)
        assert_memory_equal(&back[i], &d[order[i]], sizeof *back);
    free(back);
    /* Only NONE: a payload all the same, since the stream's positions go on. */
    tt_bytes_clear(&b);
    assert_true(tt_detail_encode(&b, &d[1], 1));
    assert_int_equal(tt_detail_decode((tt_span){b.data, b.size}, 1, &back, &n, NULL), TT_OK);
    assert_int_equal(n, 0);
    free(back);
    /* A kind of a later version: what precedes it is kept. */
    tt_bytes_clear(&b);
    assert_true(tt_detail_encode(&b, &d[2], 1));
    tt_bytes_put(&b, "\x09\x01\xff\xff", 4);
    assert_int_equal(tt_detail_decode((tt_span){b.data, b.size}, 2, &back, &n, NULL), TT_OK);
    assert_int_equal(n, 1);
    free(back);
    assert_false(tt_detail_encode(&b, d, 0));
    tt_bytes_free(&b);
}

static void details_out_of_range_are_refused(void **state)
{
    /* One detail; the column that is too large by one, or whose list is empty. */
    static const struct {
        uint8_t kind;
        uint64_t columns[8]; /* run, node, lane, ...; the items last */
        unsigned n;
    } cases[] = {{1, {2ull << 32, 0, 0, 0, 0, 0, 0}, 7}, {1, {1, 0, 0, 0, 0, 0, 0}, 7},
                 {1, {0, 2ull << 20, 0, 0, 0, 0, 0}, 7}, {1, {0, 0, 512, 0, 0, 0, 0}, 7},
                 {1, {0, 0, 0, 1ull << 32, 0, 0, 0}, 7}, {1, {0, 0, 0, 0, 1ull << 32, 0, 0}, 7},
                 {2, {0, 0, 0, 2ull << 32, 0, 1, 3}, 7}, {2, {0, 0, 0, 0, 1ull << 16, 1, 3}, 7},
                 {2, {0, 0, 0, 0, 0, 0, 3}, 7},          {2, {0, 0, 0, 0, 0, 9, 3}, 7},
                 {2, {0, 0, 0, 0, 65535, 2, 3, 3}, 8},   {2, {0, 0, 0, 0, 0, 1, 1ull << 16}, 7},
                 {3, {0, 0, 0, 0, 0, 5, 3}, 7},          {3, {0, 0, 0, 0, 0, 1, 1ull << 32}, 7},
                 {0, {0, 0, 0, 0, 0, 0, 0}, 7}};
    tt_detail *back;
    size_t n;
    tt_bytes b;
    (void)state;
    tt_bytes_init(&b, 1 << 16);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tt_bytes_clear(&b);
        tt_bytes_u8(&b, 1);
        tt_bytes_u8(&b, cases[i].kind);
        tt_bytes_u8(&b, 1);
        for (unsigned c = 0; c < 6; c++)
            tt_pack_column(&b, &cases[i].columns[c], 1);
        tt_pack_column(&b, &cases[i].columns[6], cases[i].n - 6);
        assert_int_equal(tt_detail_decode((tt_span){b.data, b.size}, 1, &back, &n, NULL),
                         TT_E_FORMAT);
        assert_null(back);
    }
    tt_bytes_clear(&b);
    tt_bytes_u8(&b, 1);
    assert_int_equal(tt_detail_decode((tt_span){b.data, b.size}, 0, &back, &n, NULL), TT_E_LIMIT);
    assert_int_equal(tt_detail_decode((tt_span){b.data, b.size}, TT_DETAIL_CHUNK_RECORDS_MAX + 1,
                                      &back, &n, NULL),
                     TT_E_LIMIT);
    tt_bytes_free(&b);
}

static void details_with_wrong_bytes_are_refused_or_read(void **state)
{
    enum { N = 300 };
    tt_detail d[N], kept[N], *back;
    size_t n;
    tt_bytes b;
    (void)state;
    make_details(d, N, kept);
    tt_bytes_init(&b, TT_CHUNK_PAYLOAD_MAX);
    assert_true(tt_detail_encode(&b, d, N));
    for (size_t i = 0; i < b.size; i++) {
        uint8_t was = b.data[i];
        b.data[i] = (uint8_t)next_random();
        if (tt_detail_decode((tt_span){b.data, b.size}, N, &back, &n, NULL) == TT_OK) {
            assert_true(n <= N);
            free(back);
        }
        b.data[i] = was;
        /* Cut off, it ends with a kind, or is refused. */
        if (tt_detail_decode((tt_span){b.data, i}, N, &back, &n, NULL) == TT_OK) free(back);
    }
    tt_bytes_free(&b);
}

static void headers_come_back(void **state)
{
    uint8_t bytes[TT_FILE_HEADER_BYTES];
    tt_file_header h = {1, 0, {1, 2, 3}, 99, 77}, back;
    tt_error err;
    (void)state;
    tt_file_header_encode(&h, bytes);
    assert_int_equal(tt_file_header_decode(bytes, sizeof bytes, &back, &err), TT_OK);
    assert_memory_equal(back.run_id, h.run_id, 16);
    assert_true(back.created_unix_ns == 99 && back.pid == 77);
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] ^= 4;
        assert_int_not_equal(tt_file_header_decode(bytes, sizeof bytes, &back, &err), TT_OK);
        bytes[i] ^= 4;
        assert_int_not_equal(tt_file_header_decode(bytes, i, &back, &err), TT_OK);
    }
}

static void a_chunk_is_its_checksum(void **state)
{
    uint8_t bytes[TT_CHUNK_HEADER_BYTES + 24] = {0};
    tt_chunk_header h = {.type = TT_CHUNK_OPS, .stored_bytes = 24, .raw_bytes = 24, .count = 3},
                    back;
    tt_error err;
    (void)state;
    memset(bytes + TT_CHUNK_HEADER_BYTES, 0x5a, 24);
    tt_chunk_header_encode(&h, 7, bytes + TT_CHUNK_HEADER_BYTES, bytes);
    assert_int_equal(tt_chunk_header_decode(bytes, sizeof bytes, 640, 7, &back, &err), TT_OK);
    /* With another run's seed it is none. */
    assert_int_equal(tt_chunk_header_decode(bytes, sizeof bytes, 640, 8, &back, &err),
                     TT_E_CHECKSUM);
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] ^= 1;
        assert_int_not_equal(tt_chunk_header_decode(bytes, sizeof bytes, 640, 7, &back, &err),
                             TT_OK);
        assert_true(err.offset >= 640);
        bytes[i] ^= 1;
    }
}

static void an_index_comes_back(void **state)
{
    const tt_index_meta about = {1u << 31 | 5, 2, 3, 4,          1,
                                 UINT32_MAX,   6, 7, 1ull << 40, 1ull << 50};
    const tt_index_entry in[] = {{64, TT_CHUNK_META, 0, 0, 9, 0, 0, about},
                                 {640, TT_CHUNK_OPS, 3, 1ull << 40, 200, 7, 1ull << 31, {0}},
                                 {6400, TT_CHUNK_DETAIL, 3, 17, 20, 4, 9, {0}},
                                 {1ull << 40, 99, 4, 5, 6, 0, 0, {0}}};
    enum { N = sizeof in / sizeof *in };
    tt_index_entry *back;
    size_t n;
    uint8_t flags;
    tt_bytes b;
    (void)state;
    tt_bytes_init(&b, 1 << 16);
    tt_index_encode(&b, in, N, TT_END_RECOVERED);
    assert_int_equal(
        tt_index_decode((tt_span){b.data, b.size}, 1ull << 41, &back, &n, &flags, NULL), TT_OK);
    assert_int_equal(n, N);
    assert_int_equal(flags, TT_END_RECOVERED);
    for (size_t i = 0; i < n; i++) {
        assert_true(back[i].offset == in[i].offset && back[i].position == in[i].position);
        assert_true(back[i].run_min == in[i].run_min && back[i].run_max == in[i].run_max);
        assert_int_equal(back[i].type, in[i].type);
        assert_int_equal(back[i].stream, in[i].stream);
        assert_int_equal(back[i].count, in[i].count);
        assert_memory_equal(&back[i].meta, &in[i].meta, sizeof in[i].meta);
    }
    free(back);
    for (size_t cut = 0; cut < b.size; cut++)
        assert_int_not_equal(
            tt_index_decode((tt_span){b.data, cut}, 1ull << 41, &back, &n, &flags, NULL), TT_OK);
    tt_bytes_free(&b);
}

static void put_meta_record(tt_bytes *out, uint8_t type, tt_bytes *payload)
{
    tt_meta_put_record(out, type, payload);
    tt_bytes_clear(payload);
}

/* What the index says of a META chunk; of one with a record that is cut off, nothing. */
static void meta_is_described(void **state)
{
    tt_bytes b, r;
    tt_index_meta about;
    uint32_t n;
    (void)state;
    tt_bytes_init(&b, 1 << 16);
    tt_bytes_init(&r, 1 << 16);
    const tt_meta_batch batch = {.id = 7, .ticks = 500};
    tt_meta_put_batch(&r, &batch, NULL, NULL, NULL);
    put_meta_record(&b, TT_META_BATCH, &r);
    const tt_meta_run run = {.id = 40, .batch = 6, .graph = 1, .ticks = 510};
    tt_meta_put_run(&r, &run);
    put_meta_record(&b, TT_META_RUN, &r);
    const tt_meta_indices x = {.run = 44, .tensor = 1};
    tt_meta_put_indices(&r, &x);
    put_meta_record(&b, TT_META_INDICES, &r);
    const tt_meta_end end = {39, 499, 0};
    tt_meta_put_end(&r, &end);
    put_meta_record(&b, TT_META_RUN_END, &r);
    const size_t good = b.size;
    tt_bytes_u8(&r, 1);
    put_meta_record(&b, 77, &r);
    tt_meta_describe((tt_span){b.data, b.size}, &about, &n);
    const tt_index_meta want = {
        1u << 6 | 1u << 8 | 1u << 9 | 1u << 16 | 1u << 31, 1, 1, 1, 6, 7, 39, 44, 499, 510};
    assert_int_equal(n, 5);
    assert_memory_equal(&about, &want, sizeof want);
    tt_meta_describe((tt_span){b.data, good - 1}, &about, &n);
    assert_int_equal(n, 3);
    assert_int_equal(about.kinds, 0);
    tt_bytes_free(&b);
    tt_bytes_free(&r);
}

static void meta_records_come_back(void **state)
{
    tt_meta_tensor t = {.name = 3,
                        .op = 29,
                        .flags = TT_TENSOR_EXECUTES,
                        .ne = {64, 5, 1, 1},
                        .nb = {4, 256, 1280, 1280},
                        .size_bytes = 1280,
                        .n_src = 2,
                        .src = {4, 0},
                        .view_src = 9,
                        .view_offset_bytes = 77,
                        .location = 0x7f0012345678u},
                   t2;
    tt_meta_batch m = {.id = 2,
                       .n_tokens = 3,
                       .flags = TT_BATCH_TOKENS | TT_BATCH_POSITIONS | TT_BATCH_SEQUENCES,
                       .vocabulary = 4},
                  m2;
    const int32_t tokens[] = {5, -1, 2147483647}, positions[] = {10, 11, 3}, ids[] = {7, 1, -2};
    const uint32_t first[] = {0, 1, 1, 3};
    const tt_batch_sequences sequences = {first, ids};
    tt_bytes b;
    (void)state;
    tt_bytes_init(&b, 1 << 16);
    tt_meta_put_tensor(&b, &t);
    tt_cursor c = tt_cursor_of(b.data, b.size);
    assert_true(tt_meta_get_tensor(&c, &t2));
    assert_memory_equal(&t, &t2, sizeof t);
    assert_int_equal(tt_cursor_left(&c), 0);
    tt_bytes_clear(&b);
    tt_meta_put_batch(&b, &m, tokens, positions, &sequences);
    c = tt_cursor_of(b.data, b.size);
    assert_true(tt_meta_get_batch(&c, &m2));
    assert_int_equal(m2.n_tokens, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(tt_cursor_zigzag(&c), tokens[i]);
    int64_t position = 0;
    for (int i = 0; i < 3; i++)
        assert_int_equal(position += tt_cursor_zigzag(&c), positions[i]);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(tt_cursor_varint(&c), first[i + 1] - first[i]);
        for (uint32_t k = first[i]; k < first[i + 1]; k++)
            assert_int_equal(tt_cursor_zigzag(&c), ids[k]);
    }
    tt_cursor older = tt_cursor_of(c.data, c.at); /* ended there in earlier traces */
    older.at = c.at;
    assert_true(tt_meta_get_batch_end(&older, &m2));
    assert_int_equal(m2.vocabulary, 0);
    assert_true(tt_meta_get_batch_end(&c, &m2));
    assert_int_equal(m2.vocabulary, 4);
    assert_int_equal(tt_cursor_left(&c), 0);
    assert_false(c.failed);
    tt_bytes_free(&b);
}

/* A mixed batch says how many of its tokens were generated: no more than it has. */
static void meta_mixed_batch(void **state)
{
    tt_bytes b;
    (void)state;
    tt_bytes_init(&b, 1 << 10);
    for (uint32_t n = 0; n < 5; n++) {
        const tt_meta_batch m = {
            .id = 2, .n_tokens = 3, .phase = TT_PHASE_MIXED, .vocabulary = 4, .n_generate = n};
        tt_meta_batch got;
        tt_bytes_clear(&b);
        tt_meta_put_batch(&b, &m, NULL, NULL, NULL);
        tt_cursor c = tt_cursor_of(b.data, b.size);
        assert_true(tt_meta_get_batch(&c, &got));
        assert_int_equal(tt_meta_get_batch_end(&c, &got), n <= 3);
        if (n <= 3) assert_int_equal(got.n_generate, n);
        c = tt_cursor_of(b.data, b.size - 1);
        assert_true(tt_meta_get_batch(&c, &got));
        assert_false(tt_meta_get_batch_end(&c, &got));
    }
    tt_bytes_free(&b);
}

/* --- docs/format.md's table of fields --- */

#define WORDS_u8(name) "u8 " #name
#define WORDS_u64(name) "u64 " #name
#define WORDS_str(name) "str " #name
#define WORDS_varint32(name) "varint " #name
#define WORDS_varint64(name) "varint " #name
#define WORDS_zigzag32(name) "zigzag " #name
#define WORDS_zigzag64(name) "zigzag " #name
#define WORDS_count1(name) "varint " #name
#define WORDS_count3(name) "varint " #name
#define WORDS_count4(name) "varint " #name
#define WORDS_tensors(name) "varint " #name
#define WORDS_dims(name) "n_dims varints " #name
#define WORDS_four(name) "4 varints " #name
#define WORDS_sources(name) "n_src varints " #name
#define WORDS_file32(name) "(varint " #name ")"
#define WORDS_file64(name) "(varint " #name ")"
#define WORDS_late32(name) "(varint " #name ")"
#define WORDS_view64(name) "(varint " #name ")"
#define WORDS_place(name) "varint or u64 " #name
#define WORDS_mixed(name) "(varint " #name ")"
#define WORDS_faults(name) "(varint " #name ")"
#define WORDS_io(name) "(varint " #name ")"
#define WORDS_devices(name) "(varint n_" #name ", as many devices)"
#define WORDS(kind, name) ", " WORDS_##kind(name)
#define ROW(name, fields, where) {where, fields(WORDS)},

static void the_document_has_these_fields(void **state)
{
    static const struct {
        const char *where, *fields; /* ", FIELD, FIELD" */
    } rows[] = {TT_META_RECORDS(ROW) ROW(batch, TT_META_BATCH_FIELDS, "7 BATCH")
                    ROW(batch, TT_META_BATCH_TAIL_FIELDS, "7 BATCH, behind the lists")};
    const size_t n = sizeof rows / sizeof *rows;
    static char text[1 << 20];
    (void)state;
    FILE *f = fopen(TT_SOURCE_DIR "/docs/format.md", "r");
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    assert_int_equal(fclose(f), 0);
    char *begin = strstr(text, "<!-- fields of META: begin -->\n");
    char *end = begin ? strstr(begin, "<!-- fields of META: end -->\n") : NULL;
    assert_non_null(end);
    *end = '\0';
    for (size_t i = 0; i < n; i++) {
        char row[1000];
        (void)snprintf(row, sizeof row, "\n| %s | %s |\n", rows[i].where, rows[i].fields + 2);
        if (!strstr(begin, row)) fail_msg("docs/format.md, fields of META: there is no row%s", row);
    }
    size_t lines = 0;
    for (const char *at = begin; (at = strstr(at, "\n| ")) != NULL; at++)
        lines++;
    assert_int_equal(lines, n + 1); /* and the head */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_of_every_width),
        cmocka_unit_test(ops_of_every_kind),
        cmocka_unit_test(ops_with_wrong_bytes_are_refused_or_read),
        cmocka_unit_test(details_of_every_kind),
        cmocka_unit_test(details_are_sorted_and_incomplete_ones_left_out),
        cmocka_unit_test(details_out_of_range_are_refused),
        cmocka_unit_test(details_with_wrong_bytes_are_refused_or_read),
        cmocka_unit_test(headers_come_back),
        cmocka_unit_test(a_chunk_is_its_checksum),
        cmocka_unit_test(an_index_comes_back),
        cmocka_unit_test(meta_is_described),
        cmocka_unit_test(meta_records_come_back),
        cmocka_unit_test(meta_mixed_batch),
        cmocka_unit_test(the_document_has_these_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
