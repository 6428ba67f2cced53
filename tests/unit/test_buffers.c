/* Buffers over time and the cells of KV caches. */
#include "tests.h"

#include "../golden/synth_trace.c"
#include "analyze/buffers.h"
#include "analyze/kvcache.h"

#include <stdlib.h>
#include <string.h>

typedef struct opened {
    tt_bytes bytes;
    tt_model *m;
    tt_indices *indices; /* the model's own, while a test puts others in their place */
} opened;

static opened open_plan(synth_plan p)
{
    opened o = {.m = NULL};
    tt_bytes_init(&o.bytes, SIZE_MAX / 2);
    assert_true(synth_build(&p, &o.bytes));
    assert_int_equal(tt_model_open_memory(o.bytes.data, o.bytes.size, &o.m, NULL), TT_OK);
    o.indices = o.m->indices;
    return o;
}

static void close_plan(opened *o)
{
    o->m->indices = o->indices;
    tt_model_close(o->m);
    tt_bytes_free(&o->bytes);
}

/* --- buffers: a model with nothing but these --- */

static tt_buffers *analyze(tt_buffer *list, uint32_t n)
{
    static tt_model m;
    tt_buffers *b;
    m = (tt_model){.buffers = list, .n_buffers = n};
    assert_int_equal(tt_buffers_analyze(&m, &b, NULL), TT_OK);
    return b;
}

/* What was freed and allocated again is not there twice. */
static void a_peak_is_of_one_moment(void **state)
{
    tt_buffer list[] = {
        {.alloc_ticks = 10, .free_ticks = 40, .size_bytes = 100, .kind = TT_BUFFER_WEIGHTS},
        {.alloc_ticks = 50, .free_ticks = 70, .size_bytes = 80, .kind = TT_BUFFER_WEIGHTS},
        {.alloc_ticks = 60, .size_bytes = 15, .kind = TT_BUFFER_WEIGHTS},
        {.alloc_ticks = 20, .size_bytes = 50, .kind = TT_BUFFER_COMPUTE},
        {.alloc_ticks = 30, .size_bytes = 60, .flags = TT_BUFFER_FILE, .kind = TT_BUFFER_COMPUTE},
    };
    const tt_model m = {.buffers = list, .n_buffers = 5};
    tt_buffers_peak peaks[TT_BUFFER_KINDS];
    (void)state;
    assert_int_equal(tt_buffers_peaks(&m, peaks, NULL), TT_OK);
    assert_int_equal(peaks[TT_BUFFER_WEIGHTS].bytes, 100);
    assert_int_equal(peaks[TT_BUFFER_WEIGHTS].count, 1);
    assert_int_equal(peaks[TT_BUFFER_COMPUTE].bytes, 110);
    assert_int_equal(peaks[TT_BUFFER_COMPUTE].count, 2);
    assert_int_equal(peaks[TT_BUFFER_KV_CACHE].count, 0);
}

static void sums_follow_allocations_and_frees(void **state)
{
    tt_buffer list[] = {
        {.id = 1,
         .alloc_ticks = 10,
         .free_ticks = 40,
         .size_bytes = 100,
         .kind = TT_BUFFER_WEIGHTS},
        {.id = 2, .alloc_ticks = 20, .free_ticks = 30, .size_bytes = 50, .kind = TT_BUFFER_COMPUTE},
        {.id = 3, .alloc_ticks = 30, .size_bytes = 60, .kind = TT_BUFFER_COMPUTE},
        {.id = 4,
         .alloc_ticks = 25,
         .size_bytes = 1000,
         .flags = TT_BUFFER_FILE,
         .kind = TT_BUFFER_WEIGHTS},
        {.id = 5, .alloc_ticks = 50, .size_bytes = 7, .flags = TT_BUFFER_PLACE_UNKNOWN},
    };
    const tt_model m = {.buffers = list, .n_buffers = 5};
    uint64_t kinds[TT_BUFFER_KINDS];
    (void)state;
    tt_buffers *b = analyze(list, 5);
    static const struct {
        uint64_t ticks, allocated, mapped;
        uint32_t active;
        bool is_free;
    } want[] = {{10, 100, 0, 1, false},   {20, 150, 0, 2, false},    {25, 150, 1000, 3, false},
                {30, 100, 1000, 2, true}, {30, 160, 1000, 3, false}, {40, 60, 1000, 2, true},
                {50, 60, 1000, 3, false}};
    assert_int_equal(b->n_events, 7);
    for (uint32_t i = 0; i < 7; i++) {
        assert_int_equal(b->events[i].ticks, want[i].ticks);
        assert_int_equal(b->events[i].bytes[TT_BACKING_ALLOCATED], want[i].allocated);
        assert_int_equal(b->events[i].bytes[TT_BACKING_FILE], want[i].mapped);
        assert_int_equal(b->events[i].n_active, want[i].active);
        assert_int_equal(b->events[i].is_free, want[i].is_free);
    }
    assert_int_equal(b->events[6].bytes[TT_BACKING_UNKNOWN], 7);
    /* What was freed at the moment of the peak has no part in it. */
    assert_int_equal(b->peak[TT_BACKING_ALLOCATED], 4);
    assert_int_equal(b->peak[TT_BACKING_FILE], 2);
    assert_false(tt_buffers_active(b, 1, 4));
    tt_buffers_by_kind(b, &m, 4, TT_BACKING_ALLOCATED, kinds);
    assert_int_equal(kinds[TT_BUFFER_WEIGHTS], 100);
    assert_int_equal(kinds[TT_BUFFER_COMPUTE], 60);
    assert_int_equal(kinds[TT_BUFFER_OTHER], 0);
    tt_buffers_free(b);
}

static void nonsense_is_not_counted_twice(void **state)
{
    tt_buffer list[] = {
        /* Freed before it came; came and went at one moment, together with another's end. */
        {.id = 1, .alloc_ticks = 20, .free_ticks = 5, .size_bytes = 8},
        {.id = 2, .alloc_ticks = 20, .free_ticks = 20, .size_bytes = 4},
        {.id = 3, .alloc_ticks = 1, .free_ticks = 20, .size_bytes = UINT64_MAX},
        {.id = 4, .alloc_ticks = 2, .free_ticks = 3, .size_bytes = UINT64_MAX},
    };
    (void)state;
    tt_buffers *b = analyze(list, 4);
    assert_int_equal(b->n_events, 8);
    assert_true(b->events[1].bytes[TT_BACKING_ALLOCATED] == UINT64_MAX);
    for (uint32_t i = 0; i < b->n_events; i++)
        assert_true(b->events[i].n_active <= 4);
    assert_int_equal(b->events[7].n_active, 0);
    assert_int_equal(b->events[7].bytes[TT_BACKING_ALLOCATED], 0);
    tt_buffers_free(b);
    b = analyze(NULL, 0);
    assert_int_equal(b->n_events, 0);
    assert_int_equal(b->peak[TT_BACKING_ALLOCATED], TT_NONE);
    tt_buffers_free(b);
}

static uint64_t at_point(const tt_buffers_point *p, tt_backing backing)
{
    uint64_t sum = 0;
    for (unsigned k = 0; k < TT_BUFFER_KINDS; k++)
        sum += p->bytes[backing][k];
    return sum;
}

/* Every point of a curve says what its event says; kinds as tt_buffers_by_kind has them. */
static void check_points(const tt_buffers *b, const tt_model *m, const tt_buffers_point *points,
                         uint32_t n)
{
    uint64_t kinds[TT_BUFFER_KINDS];
    for (uint32_t i = 0; i < n; i++) {
        const tt_buffer_event *e = &b->events[points[i].event];
        assert_true(points[i].ticks == e->ticks);
        if (i > 0) assert_true(points[i].event > points[i - 1].event);
        for (unsigned k = 0; k < TT_BACKINGS; k++) {
            assert_true(at_point(&points[i], (tt_backing)k) == e->bytes[k]);
            tt_buffers_by_kind(b, m, points[i].event, (tt_backing)k, kinds);
            assert_memory_equal(kinds, points[i].bytes[k], sizeof kinds);
        }
    }
}

static void a_curve_keeps_the_peaks(void **state)
{
    enum { N = 300 };
    static tt_buffer list[N];
    uint64_t random = 3, most = 0;
    uint32_t n, peak = 0;
    tt_buffers_point *points;
    (void)state;
    for (uint32_t i = 0; i < N; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        list[i] = (tt_buffer){.id = i,
                              .alloc_ticks = random >> 40 & 0xffff,
                              .size_bytes = random >> 33 & 0xfff,
                              .kind = (tt_buffer_kind)(random >> 20 & 3),
                              .flags = random >> 25 & 1 ? TT_BUFFER_FILE : 0};
        list[i].free_ticks = random >> 50 & 1 ? list[i].alloc_ticks + 1 + (random >> 52) : 0;
    }
    const tt_model m = {.buffers = list, .n_buffers = N};
    tt_buffers *b = analyze(list, N);
    assert_int_equal(tt_buffers_curve(b, &m, 0, UINT64_MAX, 2000, &points, &n, NULL), TT_OK);
    assert_int_equal(n, b->n_events);
    check_points(b, &m, points, n);
    free(points);
    for (uint32_t i = 0; i < b->n_events; i++) {
        uint64_t sum = b->events[i].bytes[0] + b->events[i].bytes[1];
        if (sum > most) {
            most = sum;
            peak = i;
        }
    }
    for (uint32_t room = 4; room < 60; room += 7) {
        bool kept = false;
        assert_int_equal(tt_buffers_curve(b, &m, 0, UINT64_MAX, room, &points, &n, NULL), TT_OK);
        assert_true(n <= room);
        check_points(b, &m, points, n);
        for (uint32_t i = 0; i < n; i++)
            kept |= points[i].event == peak;
        assert_true(kept);
        assert_int_equal(points[n - 1].event, b->n_events - 1);
        free(points);
    }
    /* A part: it begins with what was there before. */
    const uint64_t from = b->events[100].ticks + 1, to = b->events[140].ticks;
    assert_int_equal(tt_buffers_curve(b, &m, from, to, 2000, &points, &n, NULL), TT_OK);
    check_points(b, &m, points, n);
    assert_true(points[0].ticks < from);
    assert_true(points[1].ticks >= from);
    assert_true(points[n - 1].ticks <= to);
    assert_true(b->events[points[n - 1].event + 1].ticks > to);
    free(points);
    tt_buffers_free(b);
}

/* Bytes of a buffer that any tensor covers, one by one. */
static uint64_t slow_used(const tt_model *m, uint32_t buffer)
{
    uint64_t used = 0, size = m->buffers[buffer].size_bytes;
    uint8_t *bytes = calloc(size + 1, 1);
    for (uint32_t k = 0; k < m->n_graphs; k++)
        for (uint32_t i = 0; i < m->graphs[k].n_tensors; i++) {
            const tt_tensor *t = &m->graphs[k].tensors[i];
            if (t->buffer != buffer || t->root != i) continue;
            for (uint64_t at = t->location; at < t->location + t->size_bytes && at < size; at++) {
                used += !bytes[at];
                bytes[at] = 1;
            }
        }
    free(bytes);
    return used;
}

static void buffers_know_what_is_in_them(void **state)
{
    opened o = open_plan(synth_default());
    tt_buffers *b;
    (void)state;
    assert_int_equal(tt_buffers_analyze(o.m, &b, NULL), TT_OK);
    assert_true(o.m->n_buffers >= 4);
    for (uint32_t i = 0; i < o.m->n_buffers; i++) {
        assert_true(b->uses[i].used_bytes == slow_used(o.m, i));
        assert_true(b->uses[i].n_layers == 0 || o.m->buffers[i].kind != TT_BUFFER_COMPUTE);
        if (o.m->buffers[i].kind == TT_BUFFER_KV_CACHE) {
            assert_int_equal(b->uses[i].n_layers, 3);
            for (int32_t layer = 0; layer < 3; layer++)
                assert_int_equal(b->uses[i].layers[layer], layer);
        }
    }
    tt_buffers_free(b);
    close_plan(&o);
}

/* --- KV caches --- */

static uint32_t leaf(const tt_graph *g, const char *name)
{
    for (uint32_t i = g->n_nodes; i < g->n_tensors; i++)
        if (strcmp(g->tensors[i].name, name) == 0) return i;
    fail_msg("no %s", name);
    return 0;
}

#define ROW 128u   /* bytes of a cell */
#define CELLS 512u /* of a layer */

/* Makes the writes to cache_k_l0 those of an engine of that op; returns the node. */
static uint32_t shape_write(tt_graph *g, const char *op, uint32_t index)
{
    uint32_t cache = leaf(g, "cache_k_l0");
    g->tensors[cache].size_bytes = (uint64_t)ROW * CELLS;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        tt_tensor *t = &g->tensors[i];
        if (strcmp(t->op_name, "SET_ROWS") != 0) continue;
        t->op_name = op;
        t->view_src = t->root = cache;
        t->root_offset_bytes = 0;
        t->src[1] = index;
        t->n_src = 2;
        t->nb[1] = ROW;
        t->ne[2] = t->ne[3] = 1;
        return i;
    }
    fail_msg("no SET_ROWS");
    return 0;
}

static const tt_kv_tensor *find(const tt_kv *kv, const char *name)
{
    for (uint32_t i = 0; i < kv->n_tensors; i++)
        if (strcmp(kv->tensors[i].name, name) == 0) return &kv->tensors[i];
    return NULL;
}

static void set_rows_fill_cells(void **state)
{
    opened o = open_plan(synth_default());
    int64_t rows[] = {3, 4, 5, 6, 7, 8, 8, 9, 10};
    tt_indices indices[5];
    tt_kv *kv;
    (void)state;
    for (uint32_t i = 0; i < o.m->n_graphs; i++)
        (void)shape_write(&o.m->graphs[i], "SET_ROWS", leaf(&o.m->graphs[i], "inp_tokens"));
    assert_int_equal(o.m->n_runs, 5);
    /* The prompt's five rows, then one per token; the third run writes the second's again. */
    for (uint32_t i = 0; i < 5; i++)
        indices[i] = (tt_indices){.run = i,
                                  .tensor = leaf(&o.m->graphs[o.m->runs[i].graph], "inp_tokens"),
                                  .n = i == 0 ? 5 : 1,
                                  .values = i == 0 ? rows : rows + 4 + i};
    o.m->indices = indices;
    o.m->n_indices = 5;
    assert_int_equal(tt_kv_analyze(o.m, &kv, NULL), TT_OK);
    const tt_kv_tensor *k = find(kv, "cache_k_l0");
    assert_non_null(k);
    assert_int_equal(k->layer_id, 0);
    assert_int_equal(k->role, 'k');
    assert_int_equal(k->cells, CELLS);
    assert_int_equal(k->written, 8);
    assert_true(k->observed && !k->at_least);
    assert_int_equal(tt_kv_written_bytes(kv, k), 8 * ROW);
    assert_int_equal(kv->n_caches, 1);
    const tt_kv_cache *c = &kv->caches[0];
    static const uint64_t want[] = {5, 6, 6, 7, 8};
    assert_int_equal(c->n_steps, 5);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(c->steps[i].batch, i);
        assert_int_equal(c->steps[i].cells_written, want[i]);
        assert_int_equal(c->steps[i].written_bytes, want[i] * ROW);
    }
    tt_kv_free(kv);
    close_plan(&o);
}

static void rows_not_observed_are_told(void **state)
{
    opened o = open_plan(synth_default());
    int64_t rows[] = {1, -1, CELLS, 2};
    tt_indices one = {.run = 1, .n = 1, .values = rows};
    tt_kv *kv;
    (void)state;
    for (uint32_t i = 0; i < o.m->n_graphs; i++)
        (void)shape_write(&o.m->graphs[i], "SET_ROWS", leaf(&o.m->graphs[i], "inp_tokens"));
    o.m->n_indices = 0;
    assert_int_equal(tt_kv_analyze(o.m, &kv, NULL), TT_OK);
    assert_int_equal(find(kv, "cache_k_l0")->cells, CELLS);
    assert_false(find(kv, "cache_k_l0")->observed);
    assert_false(kv->caches[0].observed);
    tt_kv_free(kv);
    /* Of one run only: a lower bound. */
    one.tensor = leaf(&o.m->graphs[o.m->runs[1].graph], "inp_tokens");
    o.m->indices = &one;
    o.m->n_indices = 1;
    assert_int_equal(tt_kv_analyze(o.m, &kv, NULL), TT_OK);
    assert_int_equal(find(kv, "cache_k_l0")->written, 1);
    assert_true(kv->caches[0].observed && kv->caches[0].at_least);
    tt_kv_free(kv);
    /* Rows outside the cache are not cells of it. */
    one.n = 4;
    assert_int_equal(tt_kv_analyze(o.m, &kv, NULL), TT_OK);
    assert_true(find(kv, "cache_k_l0")->written <= 2);
    assert_true(find(kv, "cache_k_l0")->at_least);
    tt_kv_free(kv);
    close_plan(&o);
}

static void copies_fill_cells(void **state)
{
    opened o = open_plan(synth_default());
    tt_kv *kv;
    (void)state;
    for (uint32_t i = 0; i < o.m->n_graphs; i++) {
        tt_graph *g = &o.m->graphs[i];
        uint32_t n = o.m->batches[i].n_tokens, node = shape_write(g, "CPY", leaf(g, "cache_k_l0"));
        g->tensors[node].size_bytes = (uint64_t)n * ROW;
        g->tensors[node].root_offset_bytes = i == 0 ? 0 : 5 * ROW;
    }
    assert_int_equal(tt_kv_analyze(o.m, &kv, NULL), TT_OK);
    /* All generated tokens share a graph here, and so one place. */
    assert_int_equal(find(kv, "cache_k_l0")->cells, CELLS);
    assert_int_equal(find(kv, "cache_k_l0")->written, 6);
    assert_false(kv->caches[0].at_least);
    tt_kv_free(kv);
    /* A copy that begins inside a cell, or that ends behind the last, is not understood. */
    for (uint32_t i = 0; i < o.m->n_graphs; i++)
        for (uint32_t k = 0; k < o.m->graphs[i].n_nodes; k++)
            if (strcmp(o.m->graphs[i].tensors[k].op_name, "CPY") == 0)
                o.m->graphs[i].tensors[k].root_offset_bytes = i ? ROW / 2 : (uint64_t)ROW * CELLS;
    assert_int_equal(tt_kv_analyze(o.m, &kv, NULL), TT_OK);
    assert_false(kv->caches[0].observed);
    tt_kv_free(kv);
    close_plan(&o);
}

static void values_follow_their_keys(void **state)
{
    opened o = open_plan(synth_default());
    tt_kv *kv;
    (void)state;
    for (uint32_t i = 0; i < o.m->n_graphs; i++) {
        tt_graph *g = &o.m->graphs[i];
        uint32_t node = shape_write(g, "CPY", leaf(g, "cache_k_l0"));
        g->tensors[node].size_bytes = (uint64_t)o.m->batches[i].n_tokens * ROW;
        /* Another layer's keys, taken for this one's values; and a recurrent state. */
        tt_tensor *v = &g->tensors[leaf(g, "cache_k_l1")];
        v->name = "cache_v_l0";
        v->size_bytes = 2ull * ROW * CELLS;
        g->tensors[leaf(g, "cache_k_l2")].name = "cache_s_l2";
    }
    assert_int_equal(tt_kv_analyze(o.m, &kv, NULL), TT_OK);
    const tt_kv_tensor *v = find(kv, "cache_v_l0"), *s = find(kv, "cache_s_l2");
    assert_int_equal(v->cells, CELLS);
    assert_int_equal(v->written, 5);
    assert_int_equal(tt_kv_written_bytes(kv, v), 5 * 2 * ROW);
    assert_int_equal(s->role, 's');
    assert_int_equal(s->cells, 0);
    assert_false(s->observed);
    assert_int_equal(tt_kv_written_bytes(kv, s), 0);
    assert_int_equal(kv->caches[0].written_bytes, 5 * 3 * ROW);
    tt_kv_free(kv);
    close_plan(&o);
}

static void a_run_cut_off_wrote_nothing_certain(void **state)
{
    synth_plan p = synth_default();
    p.last_run_open = true;
    opened o = open_plan(p);
    tt_kv *kv;
    (void)state;
    for (uint32_t i = 0; i < o.m->n_graphs; i++) {
        tt_graph *g = &o.m->graphs[i];
        uint32_t node = shape_write(g, "CPY", leaf(g, "cache_k_l0"));
        g->tensors[node].size_bytes = (uint64_t)o.m->batches[i].n_tokens * ROW;
    }
    assert_int_equal(tt_kv_analyze(o.m, &kv, NULL), TT_OK);
    assert_true(kv->caches[0].observed && kv->caches[0].at_least);
    tt_kv_free(kv);
    close_plan(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_peak_is_of_one_moment),
        cmocka_unit_test(sums_follow_allocations_and_frees),
        cmocka_unit_test(nonsense_is_not_counted_twice),
        cmocka_unit_test(a_curve_keeps_the_peaks),
        cmocka_unit_test(buffers_know_what_is_in_them),
        cmocka_unit_test(set_rows_fill_cells),
        cmocka_unit_test(rows_not_observed_are_told),
        cmocka_unit_test(copies_fill_cells),
        cmocka_unit_test(values_follow_their_keys),
        cmocka_unit_test(a_run_cut_off_wrote_nothing_certain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
