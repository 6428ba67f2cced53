/* The map of the memory and its heat: against slow counts, and against heat's own numbers. */
#include "tests.h"

#include "../golden/synth_trace.c"
#include "analyze/heat.h"
#include "analyze/log/log.h"
#include "analyze/memory/layout.h"
#include "analyze/residency.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct opened {
    tt_bytes bytes;
    tt_model *m;
    tt_memory_layout *s;
} opened;

static opened open_plan(synth_plan p)
{
    opened o = {.m = NULL};
    tt_bytes_init(&o.bytes, SIZE_MAX / 2);
    assert_true(synth_build(&p, &o.bytes));
    assert_int_equal(tt_model_open_memory(o.bytes.data, o.bytes.size, &o.m, NULL), TT_OK);
    assert_int_equal(tt_memory_layout_make(o.m, &o.s, NULL), TT_OK);
    return o;
}

static synth_plan experts_plan(void)
{
    synth_plan p = synth_default();
    p.experts = 8;
    p.experts_used = 2;
    p.memory = true;
    return p;
}

static void close_plan(opened *o)
{
    tt_memory_layout_free(o->s);
    tt_model_close(o->m);
    tt_bytes_free(&o->bytes);
}

/* --- the map --- */

static void assert_tiled(const tt_memory_layout *s)
{
    uint32_t next = 0, slices = 0;
    for (uint32_t i = 0; i < s->n_segments; i++) {
        const tt_memory_segment *of = &s->segments[i];
        uint64_t at = 0;
        assert_int_equal(of->first_region, next);
        for (uint32_t r = of->first_region; r < of->first_region + of->n_regions; r++) {
            const tt_region *region = &s->regions[r];
            assert_int_equal(region->segment, i);
            assert_true(region->begin == at && region->end > at);
            assert_int_equal(tt_memory_layout_find(s, i, at), r);
            assert_int_equal(tt_memory_layout_find(s, i, region->end - 1), r);
            if (region->n_slices) {
                assert_int_equal(region->first_slice, s->n_regions + slices);
                slices += region->n_slices;
            }
            at = region->end;
        }
        assert_true(at == of->size_bytes);
        assert_int_equal(tt_memory_layout_find(s, i, of->size_bytes), TT_NONE);
        next += of->n_regions;
    }
    assert_int_equal(next, s->n_regions);
    assert_int_equal(s->n_units, s->n_regions + slices);
}

/* What covers each region, found one by one. */
static void assert_covered(const tt_memory_layout *s)
{
    for (uint32_t r = 0; r < s->n_regions; r++) {
        const tt_region *region = &s->regions[r];
        uint32_t n = 0, first = TT_NONE;
        for (uint32_t i = 0; i < s->n_placed; i++) {
            const tt_placed *p = &s->placed[i];
            if (p->segment != region->segment || p->begin >= region->end || p->end <= region->begin)
                continue;
            if (n++ == 0) first = i;
        }
        assert_int_equal(region->n_placed, n);
        assert_int_equal(region->placed, first);
        if (n == 0)
            assert_true(region->kind == TT_REGION_GAP || region->kind == TT_REGION_HEAD);
        else
            assert_int_equal(region->kind, s->placed[first].kind);
    }
}

static void weights_have_their_regions(void **state)
{
    opened o = open_plan(experts_plan());
    uint32_t sliced = 0;
    (void)state;
    assert_tiled(o.s);
    assert_covered(o.s);
    assert_true(o.m->n_weights > 0);
    for (uint32_t i = 0; i < o.m->n_weights; i++) {
        const tt_weight *w = &o.m->weights[i];
        assert_int_not_equal(o.s->region_of_weight[i], TT_NONE);
        const tt_region *r = &o.s->regions[o.s->region_of_weight[i]];
        assert_int_equal(r->weight, i);
        assert_true(r->begin == w->offset_bytes && r->end - r->begin == w->size_bytes);
        if (r->n_slices == 0) continue;
        uint64_t begin, end, at = r->begin;
        assert_int_equal(r->n_slices, 8);
        for (uint32_t k = 0; k < r->n_slices; k++) {
            uint32_t first, last;
            tt_region_slice(r, k, &begin, &end);
            assert_true(begin == at);
            tt_region_slices_of(r, begin, end, &first, &last);
            assert_true(first == k && last == k + 1);
            at = end;
        }
        assert_true(at == r->end);
        tt_region_slices_of(r, r->begin, r->end, &sliced, &sliced);
        assert_int_equal(sliced, 8);
    }
    assert_int_equal(sliced, 8);
    assert_string_equal(tt_region_kind_name(TT_REGION_KV_CACHE), "kv_cache");
    close_plan(&o);
}

static void a_trace_without_a_model(void **state)
{
    synth_plan p = synth_default();
    p.no_model = true;
    opened o = open_plan(p);
    tt_memory_heat h;
    const tt_filter all = {0};
    (void)state;
    assert_int_equal(o.m->n_weights, 0);
    assert_tiled(o.s);
    assert_covered(o.s);
    for (uint32_t i = 0; i < o.s->n_segments; i++)
        assert_false(o.s->segments[i].is_file);
    assert_int_equal(tt_memory_heat_measure(o.m, o.s, &all, NULL, &h, NULL), TT_OK);
    assert_true(h.ops > 0);
    tt_memory_heat_free(&h);
    close_plan(&o);
}

/* A model that is nothing but tensors in one buffer, and a file. */
typedef struct made {
    tt_model m;
    tt_buffer buffer;
    tt_model_file file;
    tt_graph graph;
    tt_tensor *tensors;
    tt_weight weights[3];
} made;

static void make_model(made *k, uint64_t size, uint32_t n)
{
    memset(k, 0, sizeof *k);
    k->tensors = calloc(n, sizeof *k->tensors);
    k->buffer = (tt_buffer){.id = 1, .size_bytes = size, .kind = TT_BUFFER_COMPUTE};
    k->graph = (tt_graph){.n_nodes = n, .n_tensors = n, .tensors = k->tensors};
    for (uint32_t i = 0; i < n; i++)
        k->tensors[i] = (tt_tensor){.name = "t",
                                    .type_name = "f32",
                                    .root = i,
                                    .weight = TT_NONE,
                                    .place = {TT_LAYER_NONE, "other", "t"}};
    k->m.buffers = &k->buffer;
    k->m.n_buffers = 1;
    k->m.graphs = &k->graph;
    k->m.n_graphs = 1;
}

static void overlaps_are_cut(void **state)
{
    made k;
    tt_memory_layout *s;
    (void)state;
    /* 0..40, 20..60, again 20..60, 100..200 of which 128 are there, behind the end, nothing */
    static const uint64_t places[][2] = {{0, 40}, {20, 40}, {20, 40}, {100, 100}, {128, 9}, {5, 0}};
    make_model(&k, 128, 6);
    for (uint32_t i = 0; i < 6; i++) {
        k.tensors[i].location = places[i][0];
        k.tensors[i].size_bytes = places[i][1];
    }
    assert_int_equal(tt_memory_layout_make(&k.m, &s, NULL), TT_OK);
    assert_tiled(s);
    assert_covered(s);
    static const struct {
        uint64_t begin;
        uint32_t n;
    } want[] = {{0, 1}, {20, 2}, {40, 1}, {60, 0}, {100, 1}};
    assert_int_equal(s->n_regions, 5);
    for (uint32_t i = 0; i < 5; i++) {
        assert_true(s->regions[i].begin == want[i].begin);
        assert_int_equal(s->regions[i].n_placed, want[i].n);
    }
    assert_int_equal(s->n_placed, 3);
    assert_false(s->segments[0].coarse);
    tt_memory_layout_free(s);
    free(k.tensors);
}

/* So many that they are not told apart any more: still a map of all bytes. */
static void many_overlaps_get_coarse(void **state)
{
    const uint32_t n = TT_MEMORY_OVERLAPS_MAX;
    made k;
    tt_memory_layout *s;
    (void)state;
    make_model(&k, 10 * (uint64_t)n + 30, n);
    for (uint32_t i = 0; i < n; i++) {
        k.tensors[i].location = 10 * (uint64_t)i;
        k.tensors[i].size_bytes = 25;
    }
    assert_int_equal(tt_memory_layout_make(&k.m, &s, NULL), TT_OK);
    assert_true(s->segments[0].coarse);
    assert_true(s->n_regions <= TT_MEMORY_OVERLAPS_MAX && s->n_regions > 1000);
    assert_tiled(s);
    tt_memory_layout_free(s);
    /* As many that do not overlap stay what they are. */
    for (uint32_t i = 0; i < n; i++)
        k.tensors[i].size_bytes = 10;
    assert_int_equal(tt_memory_layout_make(&k.m, &s, NULL), TT_OK);
    assert_false(s->segments[0].coarse);
    assert_int_equal(s->n_regions, n + 1);
    tt_memory_layout_free(s);
    free(k.tensors);
}

static void damaged_files_are_a_map_too(void **state)
{
    made k;
    tt_memory_layout *s;
    (void)state;
    make_model(&k, 0, 1);
    k.file =
        (tt_model_file){.path = "m", .size_bytes = 50, .n_weights = 3, .data_offset_bytes = 10};
    for (int i = 0; i < 3; i++)
        k.weights[i] = (tt_weight){.name = "w", .place = {0, "ffn", "ffn_up"}};
    k.weights[0].offset_bytes = 10;
    k.weights[0].size_bytes = 30;
    /* Behind the end of the file, and behind that of any file. */
    k.weights[1].offset_bytes = 30;
    k.weights[1].size_bytes = 70;
    k.weights[2].offset_bytes = UINT64_MAX - 5;
    k.weights[2].size_bytes = 100;
    k.m.files = &k.file;
    k.m.n_files = 1;
    k.m.weights = k.weights;
    k.m.n_weights = 3;
    assert_int_equal(tt_memory_layout_make(&k.m, &s, NULL), TT_OK);
    assert_tiled(s);
    assert_covered(s);
    assert_int_equal(s->n_segments, 2);
    assert_true(s->segments[0].size_bytes == 100);
    assert_int_equal(s->regions[0].kind, TT_REGION_HEAD);
    assert_int_equal(s->regions[2].n_placed, 2);
    assert_int_equal(s->regions[2].weight, TT_NONE);
    assert_int_equal(s->region_of_weight[2], TT_NONE);
    tt_memory_layout_free(s);
    free(k.tensors);
}

/* --- heat --- */

static void assert_same_as_heat(const opened *o, const tt_filter *f)
{
    tt_reads reads;
    tt_heat by_tensor, by_expert;
    tt_memory_heat h;
    assert_int_equal(tt_reads_collect(o->m, f, &reads, NULL, NULL, NULL), TT_OK);
    assert_int_equal(tt_heat_measure(o->m, &reads, f, TT_HEAT_TENSOR, &by_tensor, NULL), TT_OK);
    assert_int_equal(tt_heat_measure(o->m, &reads, f, TT_HEAT_EXPERT, &by_expert, NULL), TT_OK);
    assert_int_equal(tt_memory_heat_measure(o->m, o->s, f, NULL, &h, NULL), TT_OK);
    for (size_t i = 0; i < by_tensor.n_rows + by_expert.n_rows; i++) {
        const tt_heat_row *row =
            i < by_tensor.n_rows ? &by_tensor.rows[i] : &by_expert.rows[i - by_tensor.n_rows];
        const tt_region *r = &o->s->regions[o->s->region_of_weight[row->weight]];
        const tt_unit_use *u = &h.units[row->expert >= 0 ? r->first_slice + (uint32_t)row->expert
                                                         : o->s->region_of_weight[row->weight]];
        assert_true(u->accesses == row->accesses);
        assert_true(u->read_bytes == row->read_bytes);
        assert_true(u->touched_bytes == row->touched_bytes);
        assert_true(u->written_bytes == 0);
        assert_int_equal(u->at_most, row->at_most);
        assert_int_equal(u->touched_at_most, row->unplaced);
        assert_true(u->timed == row->timed);
        if (row->accesses == 0) continue;
        assert_true(fabs(tt_model_span_ns(o->m, u->ticks) - row->time_ns) < 1e-3);
        assert_true(u->first_ticks == row->first_ticks && u->last_ticks == row->last_ticks);
        assert_int_equal(u->first_batch, row->first_batch);
        assert_int_equal(u->last_batch, row->last_batch);
    }
    tt_memory_heat_free(&h);
    tt_heat_free(&by_tensor);
    tt_heat_free(&by_expert);
    tt_reads_free(&reads);
}

static void weights_are_as_hot_as_heat_says(void **state)
{
    const tt_filter filters[] = {
        {0},
        {.has_batch = true, .batch_first = 1, .batch_last = 1},
        {.has_batch = true, .batch_first = 1, .batch_last = 3},
        {.has_layer = true, .layer = 1},
        {.op = "MUL_MAT"},
        {.has_from = true, .from_ns = 2e5},
        {.has_from = true, .from_ns = 1e5, .has_to = true, .to_ns = 3e5},
        {.has_batch = true, .batch_first = 99, .batch_last = 99},
    };
    (void)state;
    for (int experts = 0; experts < 2; experts++) {
        opened o = open_plan(experts ? experts_plan() : synth_default());
        for (size_t i = 0; i < sizeof filters / sizeof *filters; i++)
            assert_same_as_heat(&o, &filters[i]);
        close_plan(&o);
    }
}

/* Ops and the regions that they use, counted one by one. */
typedef struct slow {
    const opened *o;
    uint64_t *accesses; /* by region */
    uint64_t *last;
    uint64_t *written_bytes;
    uint64_t ops;
} slow;

static void slow_use(slow *k, const tt_graph *g, uint32_t tensor, uint64_t written)
{
    const tt_tensor *t = &g->tensors[tensor], *root = &g->tensors[t->root];
    if (root->buffer == TT_NONE) return;
    const uint64_t begin = root->location + t->root_offset_bytes, end = begin + t->size_bytes;
    for (uint32_t i = 0; i < k->o->s->n_regions; i++) {
        const tt_region *r = &k->o->s->regions[i];
        const tt_memory_segment *s = &k->o->s->segments[r->segment];
        if (s->is_file || s->index != root->buffer || r->begin >= end || r->end <= begin) continue;
        k->accesses[i] += k->last[i] != k->ops;
        k->last[i] = k->ops;
        if (written)
            k->written_bytes[i] +=
                (r->end < end ? r->end : end) - (r->begin > begin ? r->begin : begin);
    }
}

static bool slow_visit(void *context, const tt_log_op *op)
{
    slow *k = context;
    const tt_op *o = op->op;
    k->ops++;
    for (uint32_t i = 0; i < o->n_sources; i++)
        slow_use(k, o->graph, o->sources[i].tensor, 0);
    slow_use(k, o->graph, o->nodes[o->n_nodes - 1], 1);
    return true;
}

static void buffers_are_as_hot_as_a_slow_count_says(void **state)
{
    synth_plan plan = synth_default();
    plan.memory = true;
    opened o = open_plan(plan);
    slow k = {.o = &o};
    tt_memory_heat h;
    const tt_filter f = {.has_batch = true, .batch_first = 0, .batch_last = 2};
    uint64_t used = 0, kv = 0;
    (void)state;
    k.accesses = calloc(o.s->n_regions, sizeof *k.accesses);
    k.last = calloc(o.s->n_regions, sizeof *k.last);
    k.written_bytes = calloc(o.s->n_regions, sizeof *k.written_bytes);
    assert_int_equal(tt_log_walk(o.m, &f, false, slow_visit, &k, NULL), TT_OK);
    assert_int_equal(tt_memory_heat_measure(o.m, o.s, &f, NULL, &h, NULL), TT_OK);
    assert_true(h.ops == k.ops && h.ops > 0);
    for (uint32_t i = 0; i < o.s->n_regions; i++) {
        const tt_region *r = &o.s->regions[i];
        if (o.s->segments[r->segment].is_file) continue;
        assert_true(h.units[i].accesses == k.accesses[i]);
        used += k.accesses[i] > 0;
        if (r->kind == TT_REGION_KV_CACHE) {
            kv += h.units[i].written_bytes;
            assert_true(h.units[i].written_bytes < k.written_bytes[i] || k.written_bytes[i] == 0);
        } else if (r->kind == TT_REGION_COMPUTE) {
            assert_true(h.units[i].written_bytes == k.written_bytes[i]);
        }
        assert_true(h.units[i].touched_bytes <= r->end - r->begin);
    }
    assert_true(used > 0);
    assert_true(kv > 0);
    tt_memory_heat_free(&h);
    free(k.accesses);
    free(k.last);
    free(k.written_bytes);
    close_plan(&o);
}

/* Sums over tokens are those of the whole, as far as they can be added. */
static void tokens_add_up(void **state)
{
    opened o = open_plan(experts_plan());
    const tt_filter all = {0};
    tt_memory_heat whole, *part = calloc(o.m->n_batches + 1u, sizeof *part);
    (void)state;
    assert_int_equal(tt_memory_heat_measure(o.m, o.s, &all, NULL, &whole, NULL), TT_OK);
    for (uint32_t b = 0; b < o.m->n_batches; b++) {
        const uint32_t token = tt_model_batch_number(o.m, b);
        const tt_filter f = {.has_batch = true, .batch_first = token, .batch_last = token};
        assert_int_equal(tt_memory_heat_measure(o.m, o.s, &f, NULL, &part[b], NULL), TT_OK);
    }
    for (uint32_t i = 0; i < o.s->n_units; i++) {
        uint64_t accesses = 0, read = 0, ticks = 0;
        for (uint32_t b = 0; b < o.m->n_batches; b++) {
            accesses += part[b].units[i].accesses;
            read += part[b].units[i].read_bytes;
            ticks += part[b].units[i].ticks;
        }
        assert_true(accesses == whole.units[i].accesses && read == whole.units[i].read_bytes);
        assert_true(ticks == whole.units[i].ticks);
    }
    for (uint32_t b = 0; b < o.m->n_batches; b++)
        tt_memory_heat_free(&part[b]);
    tt_memory_heat_free(&whole);
    free(part);
    close_plan(&o);
}

/* --- residency --- */

/* What tt_residency_walk says that was in RAM of each weight, after the last sample that counts. */
typedef struct slow_pages {
    const opened *o;
    uint32_t token;
    uint64_t *bytes; /* by weight */
    uint32_t samples;
} slow_pages;

static void see_pages(void *context, const tt_residency_sample *s, const tt_ranges *now)
{
    slow_pages *k = context;
    if (s->batch == TT_NONE ? s->moment != TT_AT_BEGIN
                            : tt_model_batch_number(k->o->m, s->batch) > k->token)
        return;
    k->samples++;
    for (uint32_t i = 0; i < k->o->m->n_weights; i++) {
        const tt_weight *w = &k->o->m->weights[i];
        if (w->file == s->file)
            k->bytes[i] = tt_ranges_within(now, w->offset_bytes, w->offset_bytes + w->size_bytes);
    }
}

static void pages_are_those_of_the_last_sample(void **state)
{
    opened o = open_plan(experts_plan());
    uint64_t total = 0;
    (void)state;
    assert_true(o.m->n_residencies > 0);
    for (uint32_t token = 0; token < 3; token++) {
        const tt_memory_moment moment = {.has_batch = true, .token = token};
        slow_pages k = {&o, token, calloc(o.m->n_weights, sizeof(uint64_t)), 0};
        tt_memory_residency r;
        assert_int_equal(tt_residency_walk(o.m, see_pages, &k, NULL, NULL), TT_OK);
        assert_int_equal(tt_memory_residency_find(o.m, o.s, &moment, &r, NULL), TT_OK);
        assert_true(k.samples > 0);
        assert_int_not_equal(r.samples[0], TT_NONE);
        for (uint32_t i = 0; i < o.m->n_weights; i++) {
            const uint32_t at = o.s->region_of_weight[i];
            const tt_region *region = &o.s->regions[at];
            uint64_t sum = 0;
            assert_true(r.units[at].resident_bytes == k.bytes[i]);
            assert_true(r.units[at].resident_bytes <= r.units[at].observed_bytes);
            for (uint32_t e = 0; e < region->n_slices; e++)
                sum += r.units[region->first_slice + e].resident_bytes;
            if (region->n_slices) assert_true(sum == k.bytes[i]);
            total += k.bytes[i];
        }
        tt_memory_residency_free(&r);
        free(k.bytes);
    }
    assert_true(total > 0);
    /* Before anything was looked at nothing is known. */
    const tt_memory_moment before = {.has_ns = true, .ns = -1e18};
    tt_memory_residency r;
    assert_int_equal(tt_memory_residency_find(o.m, o.s, &before, &r, NULL), TT_OK);
    assert_int_equal(r.samples[0], TT_NONE);
    for (uint32_t i = 0; i < o.s->n_units; i++)
        assert_true(r.units[i].observed_bytes == 0);
    tt_memory_residency_free(&r);
    close_plan(&o);
}

/* A large file's pages come in several records; the same pages again are another sample. */
static void samples_are_told_apart(void **state)
{
    const uint64_t none[] = {2}, all[] = {0, 2};
    tt_residency records[] = {
        {.page_bytes = 10, .n_pages = 2, .n_intervals = 2, .intervals = all},
        {.page_bytes = 10, .first_page = 2, .n_pages = 2, .n_intervals = 2, .intervals = all},
        {.page_bytes = 10, .n_pages = 2, .n_intervals = 1, .intervals = none},
    };
    made k;
    tt_memory_layout *s;
    tt_memory_residency r;
    const tt_memory_moment last = {0};
    (void)state;
    make_model(&k, 0, 1);
    k.file = (tt_model_file){.path = "m", .size_bytes = 40};
    k.m.files = &k.file;
    k.m.n_files = 1;
    for (size_t i = 0; i < 3; i++) {
        records[i].batch = TT_NONE;
        records[i].moment = TT_AT_END;
    }
    k.m.residencies = records;
    assert_int_equal(tt_memory_layout_make(&k.m, &s, NULL), TT_OK);
    assert_int_equal(s->n_regions, 1);
    for (uint32_t n = 1; n <= 3; n++) {
        static const uint64_t observed[] = {20, 40, 20}, resident[] = {20, 40, 0};
        k.m.n_residencies = n;
        assert_int_equal(tt_memory_residency_find(&k.m, s, &last, &r, NULL), TT_OK);
        assert_int_equal(r.samples[0], n == 3 ? 2 : 0);
        assert_int_equal(r.units[0].observed_bytes, observed[n - 1]);
        assert_int_equal(r.units[0].resident_bytes, resident[n - 1]);
        tt_memory_residency_free(&r);
    }
    tt_memory_layout_free(s);
    free(k.tensors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_have_their_regions),
        cmocka_unit_test(a_trace_without_a_model),
        cmocka_unit_test(overlaps_are_cut),
        cmocka_unit_test(many_overlaps_get_coarse),
        cmocka_unit_test(damaged_files_are_a_map_too),
        cmocka_unit_test(weights_are_as_hot_as_heat_says),
        cmocka_unit_test(buffers_are_as_hot_as_a_slow_count_says),
        cmocka_unit_test(tokens_add_up),
        cmocka_unit_test(pages_are_those_of_the_last_sample),
        cmocka_unit_test(samples_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
