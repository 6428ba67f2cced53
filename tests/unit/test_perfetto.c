/* Perfetto traces: that slices nest whatever a trace claims, and that every text is UTF-8. Read
 * back by a walker of the wire format that knows a few field numbers. */
#include "tests.h"

#include "export_trace.h"

#include "base/json.h"
#include "export/perfetto/flows.h"
#include "export/perfetto/perfetto.h"

#define EVENTS_MAX 1024

typedef struct field {
    uint32_t number, wire;
    uint64_t value;
    tt_span bytes;
} field;

/* The next field of a message; false at its end. */
static bool next(tt_cursor *c, field *f)
{
    if (tt_cursor_left(c) == 0) return false;
    uint64_t tag = tt_cursor_varint(c);
    *f = (field){.number = (uint32_t)(tag >> 3), .wire = (uint32_t)(tag & 7)};
    if (f->wire == TT_PROTO_VARINT)
        f->value = tt_cursor_varint(c);
    else if (f->wire == TT_PROTO_FIXED64)
        f->value = tt_cursor_u64(c);
    else if (f->wire == TT_PROTO_LENGTH)
        f->bytes = tt_cursor_take(c, tt_cursor_varint(c));
    else
        fail_msg("a field of wire type %u", f->wire);
    assert_false(c->failed);
    return true;
}

typedef struct event {
    uint64_t time, track, type;
    uint32_t category; /* 0: none */
    uint32_t flows, ends;
    size_t place;
} event;

typedef struct events {
    event list[EVENTS_MAX];
    size_t n;
    size_t texts; /* interned */
} events;

static void read_track_event(tt_span bytes, event *e)
{
    tt_cursor c = tt_cursor_of(bytes.data, bytes.size);
    for (field f; next(&c, &f);) {
        if (f.number == 9) e->type = f.value;
        if (f.number == 11) e->track = f.value;
        if (f.number == 3) e->category = (uint32_t)f.value;
        e->flows += f.number == 47;
        e->ends += f.number == 48;
    }
}

static void check_texts(tt_span interned, size_t *n)
{
    tt_cursor c = tt_cursor_of(interned.data, interned.size);
    for (field f; next(&c, &f);) {
        tt_cursor entry = tt_cursor_of(f.bytes.data, f.bytes.size);
        for (field x; next(&entry, &x);) {
            if (x.number != 2) continue;
            for (size_t at = 0, one; at < x.bytes.size; at += one) {
                one = tt_utf8_length(x.bytes.data + at, x.bytes.size - at);
                assert_true(one > 0);
            }
            ++*n;
        }
    }
}

static int by_time(const void *a, const void *b)
{
    const event *x = a, *y = b;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    return x->place < y->place ? -1 : 1;
}

static events read_events(const written *w)
{
    events all = {.n = 0};
    tt_cursor c = tt_cursor_of(w->data, w->size);
    for (field packet; next(&c, &packet);) {
        assert_int_equal(packet.number, 1);
        event e = {.place = all.n};
        bool is_event = false;
        tt_cursor p = tt_cursor_of(packet.bytes.data, packet.bytes.size);
        for (field f; next(&p, &f);) {
            if (f.number == 8) e.time = f.value;
            if (f.number == 12) check_texts(f.bytes, &all.texts);
            if (f.number != 11) continue;
            read_track_event(f.bytes, &e);
            is_event = true;
        }
        if (!is_event || e.type == 3 || e.type == 4) continue;
        assert_true(all.n < EVENTS_MAX);
        all.list[all.n++] = e;
    }
    qsort(all.list, all.n, sizeof *all.list, by_time);
    return all;
}

/* Slices on a track: how many; none begins in another one, none ends that did not begin. */
static unsigned slices_of(const events *all, uint64_t track, unsigned *open)
{
    unsigned n = 0, depth = 0;
    for (size_t i = 0; i < all->n; i++) {
        if (all->list[i].track != track) continue;
        if (all->list[i].type == 1) {
            n++;
            assert_int_equal(depth++, 0);
        } else {
            assert_int_equal(depth--, 1);
        }
    }
    *open = depth;
    return n;
}

#define THREAD(row, lane) (0x100000u + (row)*512u + (lane))
#define GRAPHS(row) (0x2000u + (row))

/* Two nodes, one behind the other, of which the second reads the first. */
static void two_nodes(hand *h, uint32_t id, const char *first, const char *second)
{
    hand_tensor(h, first, "MUL_MAT", 4, 4, 1);
    tt_meta_tensor *t = hand_tensor(h, second, "ADD", 4, 4, 1);
    hand_source(t, 0);
    hand_graph(h, id, 2);
}

static written of(hand *h, tt_export_options options)
{
    tt_model *m = hand_open(h, true);
    written w = write_format(&tt_format_perfetto, m, options);
    hand_close(h, m);
    return w;
}

static void contexts_at_once_have_tracks_of_their_own(void **state)
{
    hand h;
    unsigned open;
    (void)state;
    hand_begin(&h);
    hand_clock(&h, 0, 1000);
    hand_clock(&h, 1000000, 1001000);
    two_nodes(&h, 1, "a", "b");
    for (uint32_t i = 1; i <= 2; i++) {
        hand_batch_at(&h, i, i, 100 * i);
        hand_run_at(&h, i, i, 1, 100 * i);
        hand_end(&h, TT_META_RUN_END, i, 100 * i + 200);
        hand_end(&h, TT_META_BATCH_END, i, 100 * i + 210);
    }
    hand_flush(&h);
    const tt_op_record one[] = {hand_op(1, 0, 0, 110, 180, 190), hand_op(1, 1, 0, 190, 280, 290)};
    const tt_op_record two[] = {hand_op(2, 0, 0, 210, 280, 290), hand_op(2, 1, 0, 290, 380, 380)};
    hand_ops(&h, 1, one, 2);
    hand_ops(&h, 2, two, 2);
    written w = of(&h, (tt_export_options){.flows = true});
    events all = read_events(&w);
    /* Two ops each; the last of the second waited for nobody. */
    assert_int_equal(slices_of(&all, THREAD(0, 0), &open), 4);
    assert_int_equal(slices_of(&all, THREAD(1, 0), &open), 3);
    assert_int_equal(slices_of(&all, GRAPHS(0), &open), 1);
    assert_int_equal(slices_of(&all, GRAPHS(1), &open), 1);
    unsigned flows = 0, ends = 0;
    for (size_t i = 0; i < all.n; i++) {
        flows += all.list[i].flows;
        ends += all.list[i].ends;
    }
    assert_int_equal(flows, 2);
    assert_int_equal(ends, 2);
    assert_string_equal(w.notes, "");
    free(w.data);
}

static void one_context_after_the_other_shares_its_track(void **state)
{
    hand h;
    unsigned open;
    (void)state;
    hand_begin(&h);
    hand_clock(&h, 0, 1000);
    hand_clock(&h, 1000000, 1001000);
    two_nodes(&h, 1, "a", "b");
    for (uint32_t i = 1; i <= 3; i++) {
        hand_batch_at(&h, i, 7, 100 * i);
        hand_run_at(&h, i, i, 1, 100 * i);
        /* The end of the second was not seen: it lasts until the third begins. */
        if (i != 2) hand_end(&h, TT_META_RUN_END, i, 100 * i + 100);
    }
    hand_flush(&h);
    const tt_op_record list[] = {hand_op(1, 0, 0, 110, 180, 180), hand_op(2, 0, 0, 210, 0, 0),
                                 hand_op(3, 0, 0, 310, 320, 320), hand_op(3, 1, 0, 330, 0, 0)};
    hand_ops(&h, 1, list, 4);
    written w = of(&h, (tt_export_options){.threads = 1});
    events all = read_events(&w);
    assert_int_equal(slices_of(&all, THREAD(0, 0), &open), 4);
    assert_int_equal(open, 0);
    assert_int_equal(slices_of(&all, GRAPHS(0), &open), 3);
    assert_int_equal(open, 0);
    for (size_t i = 0; i < all.n; i++)
        if (all.list[i].track == THREAD(0, 0) && all.list[i].time == 1300)
            assert_int_equal(all.list[i].type, 2);
    free(w.data);
}

static void what_did_not_end_stays_open(void **state)
{
    hand h;
    unsigned open;
    (void)state;
    hand_begin(&h);
    hand_clock(&h, 0, 1000);
    hand_clock(&h, 1000000, 1001000);
    two_nodes(&h, 1, "a", "b");
    hand_batch_at(&h, 1, 7, 100);
    hand_run_at(&h, 1, 1, 1, 100);
    hand_flush(&h);
    const tt_op_record list[] = {hand_op(1, 0, 0, 110, 180, 180), hand_op(1, 1, 0, 190, 0, 0)};
    hand_ops(&h, 1, list, 2);
    written w = of(&h, (tt_export_options){.threads = 1});
    events all = read_events(&w);
    assert_int_equal(slices_of(&all, THREAD(0, 0), &open), 2);
    assert_int_equal(open, 1);
    assert_int_equal(slices_of(&all, GRAPHS(0), &open), 1);
    assert_int_equal(open, 1);
    free(w.data);
}

static void impossible_times_are_bent_and_counted(void **state)
{
    hand h;
    unsigned open;
    (void)state;
    hand_begin(&h);
    hand_clock(&h, 0, 1000);
    hand_clock(&h, 1000000, 1001000);
    two_nodes(&h, 1, "a", "b");
    hand_batch_at(&h, 1, 7, 100);
    hand_run_at(&h, 1, 1, 1, 100);
    hand_end(&h, TT_META_RUN_END, 1, 200);
    hand_flush(&h);
    /* The first begins before its run and ends behind the second's begin, which ends too late. */
    const tt_op_record list[] = {hand_op(1, 0, 0, 50, 160, 170), hand_op(1, 1, 0, 120, 180, 5000)};
    hand_ops(&h, 1, list, 2);
    written w = of(&h, (tt_export_options){.threads = 1});
    events all = read_events(&w);
    assert_int_equal(slices_of(&all, THREAD(0, 0), &open), 4);
    assert_int_equal(open, 0);
    for (size_t i = 0; i < all.n; i++)
        assert_true(all.list[i].time >= 1100 && all.list[i].time <= 1200);
    assert_non_null(strstr(w.notes, "2 op records were bent"));
    free(w.data);
}

static void what_overlaps_too_much_is_left_out_and_said(void **state)
{
    hand h;
    unsigned open;
    (void)state;
    hand_begin(&h);
    hand_clock(&h, 0, 1000);
    hand_clock(&h, 1000000, 1001000);
    two_nodes(&h, 1, "a", "b");
    for (uint32_t i = 1; i <= 260; i++) {
        hand_batch_at(&h, i, i, 100 + i);
        hand_run_at(&h, i, i, 1, 100 + i);
        hand_end(&h, TT_META_RUN_END, i, 5000 + i);
        hand_end(&h, TT_META_BATCH_END, i, 5000 + i);
    }
    written w = of(&h, (tt_export_options){.threads = 2});
    events all = read_events(&w);
    assert_int_equal(slices_of(&all, GRAPHS(255), &open), 1);
    assert_int_equal(slices_of(&all, GRAPHS(256), &open), 0);
    assert_non_null(strstr(w.notes, "4 graph computations are left out"));
    assert_non_null(strstr(w.notes, "4 batches are left out"));
    free(w.data);
}

static void hostile_names_become_utf8(void **state)
{
    hand h;
    (void)state;
    hand_begin(&h);
    hand_clock(&h, 0, 1000);
    hand_clock(&h, 1000000, 1001000);
    two_nodes(&h, 1, "\"quoted\"\n<b>\\", "\xff\xfe broken \xed\xa0\x80");
    hand_batch_at(&h, 1, 7, 100);
    hand_run_at(&h, 1, 1, 1, 100);
    hand_end(&h, TT_META_RUN_END, 1, 200);
    hand_flush(&h);
    const tt_op_record list[] = {hand_op(1, 0, 0, 110, 120, 130), hand_op(1, 1, 0, 130, 140, 140)};
    hand_ops(&h, 1, list, 2);
    written w = of(&h, (tt_export_options){.threads = 1});
    events all = read_events(&w);
    assert_true(all.texts > 60);
    /* The lengths were told before anything was replaced. */
    assert_non_null(memmem(w.data, w.size, "\xef\xbf\xbd\xef\xbf\xbd broken", 13));
    free(w.data);
}

static void any_number_of_threads_writes_the_same(void **state)
{
    written w[2];
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        hand h;
        hand_begin(&h);
        hand_clock(&h, 0, 1000);
        hand_clock(&h, 1000000000, 1000001000);
        two_nodes(&h, 1, "a", "b");
        for (uint32_t r = 1; r <= 300; r++) {
            hand_batch_at(&h, r, 7, 100 * r);
            hand_run_at(&h, r, r, 1, 100 * r);
            hand_end(&h, TT_META_RUN_END, r, 100 * r + 90);
        }
        hand_flush(&h);
        for (uint32_t r = 1; r <= 300; r++) {
            const tt_op_record op = hand_op(r, r % 2, 0, 100 * r + 10, 100 * r + 20, 100 * r + 30);
            if (r % 60 == 0) hand_ops(&h, 1 + r / 60, &op, 1);
        }
        w[i] = of(&h, (tt_export_options){.threads = i ? 5 : 1});
    }
    assert_int_equal(w[0].size, w[1].size);
    assert_memory_equal(w[0].data, w[1].data, w[0].size);
    free(w[0].data);
    free(w[1].data);
}

static void a_cache_passes_values_on(void **state)
{
    hand h;
    tt_flows f = {0};
    (void)state;
    hand_begin(&h);
    /* 0 computes, 1 stores it in the cache (3), 2 reads the cache. */
    hand_tensor(&h, "k", "MUL_MAT", 4, 4, 1);
    tt_meta_tensor *t = hand_tensor(&h, "stored", "SET_ROWS", 4, 4, 1);
    hand_source(t, 0);
    t->view_src = 3 + 1;
    t = hand_tensor(&h, "read", "SOFT_MAX", 4, 4, 1);
    hand_source(t, 3);
    hand_tensor(&h, "cache_k_l0", "NONE", 4, 4, 1);
    hand_graph(&h, 1, 3);
    tt_model *m = hand_open(&h, true);
    tt_op_table *ops = tt_op_table_new(m);
    const uint32_t nodes[] = {0, 1, 2};
    const uint8_t covers[] = {0, 0, 0};
    assert_true(tt_flows_find(&f, m, 0, ops, nodes, covers, 3));
    assert_int_equal(f.n, 2);
    assert_int_equal(f.edges[0].from, 0);
    assert_int_equal(f.edges[0].to, 1);
    assert_int_equal(f.edges[1].from, 1);
    assert_int_equal(f.edges[1].to, 2);
    assert_int_equal(tt_flows_to(&f, 2), 1);
    assert_int_equal(f.by_from[tt_flows_from(&f, 1)], 1);
    assert_int_equal(tt_flows_from(&f, 2), 2);
    tt_flows_free(&f);
    tt_op_table_free(ops);
    hand_close(&h, m);
}

static void lengths_go_in_front(void **state)
{
    static char text[20000];
    static const size_t sizes[] = {0, 1, 127, 128, 16383, 16384, 19999};
    (void)state;
    memset(text, 'x', sizeof text);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        tt_bytes b;
        tt_bytes_init(&b, 1 << 20);
        size_t outer = tt_proto_begin(&b, 5), inner = tt_proto_begin(&b, 300);
        tt_proto_text_n(&b, 1, text, sizes[i]);
        tt_proto_int(&b, 2, -1);
        tt_proto_end(&b, inner);
        tt_proto_end(&b, outer);
        field f;
        tt_cursor c = tt_cursor_of(b.data, b.size);
        assert_true(next(&c, &f));
        assert_int_equal(f.number, 5);
        assert_int_equal(tt_cursor_left(&c), 0);
        c = tt_cursor_of(f.bytes.data, f.bytes.size);
        assert_true(next(&c, &f));
        assert_int_equal(f.number, 300);
        c = tt_cursor_of(f.bytes.data, f.bytes.size);
        assert_true(next(&c, &f));
        assert_int_equal(f.bytes.size, sizes[i]);
        assert_true(next(&c, &f));
        assert_true(f.value == UINT64_MAX);
        assert_false(next(&c, &f));
        tt_bytes_free(&b);
    }
}

static void failures_name_the_path(void **state)
{
    hand h;
    tt_error err;
    char path[] = "/tmp/tt-export-XXXXXX";
    int fd = mkstemp(path);
    (void)state;
    assert_true(fd >= 0);
    (void)close(fd);
    hand_begin(&h);
    two_nodes(&h, 1, "a", "b");
    tt_model *m = hand_open(&h, true);
    tt_export_options o = {.threads = 1};
    assert_int_not_equal(tt_format_perfetto.write(m, "/nowhere/x", &o, &err), TT_OK);
    assert_non_null(strstr(err.message, "CLOCK"));
    hand_close(&h, m);
    hand_begin(&h);
    hand_clock(&h, 0, 1000);
    hand_clock(&h, 1000000, 1001000);
    m = hand_open(&h, true);
    assert_int_equal(tt_format_perfetto.write(m, "/dev/null/x", &o, &err), TT_E_IO);
    assert_non_null(strstr(err.message, "/dev/null/x"));
    assert_int_equal(tt_format_perfetto.write(m, path, &o, &err), TT_E_EXISTS);
    assert_non_null(strstr(err.message, path));
    assert_int_equal(unlink(path), 0);
    o.compress = TT_COMPRESS_ZSTD;
    assert_int_equal(tt_format_perfetto.write(m, "/nowhere/x", &o, &err), TT_E_USAGE);
    hand_close(&h, m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contexts_at_once_have_tracks_of_their_own),
        cmocka_unit_test(one_context_after_the_other_shares_its_track),
        cmocka_unit_test(what_did_not_end_stays_open),
        cmocka_unit_test(impossible_times_are_bent_and_counted),
        cmocka_unit_test(what_overlaps_too_much_is_left_out_and_said),
        cmocka_unit_test(hostile_names_become_utf8),
        cmocka_unit_test(any_number_of_threads_writes_the_same),
        cmocka_unit_test(a_cache_passes_values_on),
        cmocka_unit_test(lengths_go_in_front),
        cmocka_unit_test(failures_name_the_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
