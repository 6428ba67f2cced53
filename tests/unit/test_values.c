/* Outputs of a made-up trace: which are bad and where that began, lists, sums, grids, outliers. */
#include "tests.h"

#include "../golden/synth_trace.c"
#include "plan_trace.h"

#include "export/bitnet.h"

#include "analyze/values/first.h"
#include "analyze/values/grid.h"
#include "analyze/values/groups.h"
#include "analyze/values/values.h"
#include "answer/values.h"
#include "base/checksum.h"
#include "value/pack.h"
#include "value/type.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RUNS 5u     /* a prompt and four tokens */
#define OUTPUTS 51u /* of a run */
#define ANY UINT32_MAX

/* What is different about an output. */
typedef struct oddity {
    const char *name, *op; /* op NULL: any */
    uint32_t run;          /* index, or ANY */
    bool missing;
    uint64_t n_nan, n_inf;
    bool positive;
    double rms; /* 0: as usual */
    bool same;  /* its bytes do not depend on the run */
    bool zero;
} oddity;

static const oddity *odd;
static size_t n_odd;
static tt_model *plain; /* the same trace without values, for names */

static const oddity *find_odd(uint32_t run, const tt_tensor *t)
{
    for (size_t i = 0; i < n_odd; i++)
        if (strcmp(odd[i].name, t->name) == 0 && (odd[i].run == ANY || odd[i].run == run) &&
            (!odd[i].op || strcmp(odd[i].op, t->op_name) == 0))
            return &odd[i];
    return NULL;
}

static tt_fingerprint print_of(uint32_t run, uint32_t node, const tt_tensor *t, const oddity *o)
{
    const double rms = o && o->rms > 0 ? o->rms : 1.0 + 0.01 * (double)(run % 3);
    tt_fingerprint p = {.n = tt_elements(t), .first_bad = TT_VALUE_NONE, .has_range = true};
    p.min = (float)(-2 * rms);
    p.max = (float)(2 * rms);
    p.rms = rms;
    memcpy(p.hash, &node, sizeof node);
    if (!o || !o->same) memcpy(p.hash + 8, &run, sizeof run);
    p.n_prefix = p.n < TT_VALUE_PREFIX ? (uint32_t)p.n : TT_VALUE_PREFIX;
    p.n_samples = p.n < TT_VALUE_SAMPLES ? (uint32_t)p.n : TT_VALUE_SAMPLES;
    if (!o) return p;
    p.n_nan = o->n_nan;
    p.n_inf = o->n_inf;
    if (p.n_nan || p.n_inf) p.first_bad = 3;
    if (p.n_inf && !p.n_nan) p.prefix[3] = o->positive ? INFINITY : -INFINITY;
    if (o->zero) p.min = p.max = 0, p.rms = 0;
    return p;
}

static void put(synth_ring *ring, uint32_t run_id, uint32_t node, const tt_fingerprint *p)
{
    uint8_t packed[TT_DETAIL_VALUE_PARTS * TT_DETAIL_VALUE_BYTES] = {0};
    size_t size = tt_value_pack(p, packed);
    for (uint8_t part = 0; part * TT_DETAIL_VALUE_BYTES < size; part++) {
        tt_detail d = {.run = run_id, .place = tt_detail_place(node, 0, TT_DETAIL_VALUE)};
        d.value.part = part;
        memcpy(d.value.bytes, packed + part * TT_DETAIL_VALUE_BYTES, TT_DETAIL_VALUE_BYTES);
        if (ring->n_details == ring->detail_capacity) {
            ring->detail_capacity = ring->detail_capacity ? 2 * ring->detail_capacity : 64;
            ring->details =
                reallocarray(ring->details, ring->detail_capacity, sizeof *ring->details);
            assert_non_null(ring->details);
        }
        ring->details[ring->n_details++] = d;
    }
}

/* Every output of the first lane's ops. */
static void add_values(synth_plan *plan, synth_ring *rings)
{
    (void)plan;
    for (size_t i = 0; i < rings[0].n; i++) {
        const tt_op_record *r = &rings[0].records[i];
        const uint32_t run = tt_model_run(plain, r->run), node = tt_op_node(r) + tt_op_covers(r);
        const tt_tensor *t = &plain->graphs[plain->runs[run].graph].tensors[node];
        const oddity *o = find_odd(run, t);
        const tt_fingerprint p = print_of(run, node, t, o);
        if (!o || !o->missing) put(&rings[0], r->run, node, &p);
    }
}

static opened base;

/* With caches that are written through views. */
static synth_plan the_plan(void)
{
    synth_plan p = synth_default();
    p.memory = true;
    return p;
}

static opened open_odd(const oddity *list, size_t n)
{
    synth_plan p = the_plan();
    odd = list;
    n_odd = n;
    p.edit_ops = add_values;
    return open_plan(p);
}

#define OPEN(list) open_odd(list, sizeof(list) / sizeof *(list))

static const tt_values_query all;

static const char *name_at(const tt_model *m, uint32_t run, uint32_t node)
{
    return m->graphs[m->runs[run].graph].tensors[node].name;
}

/* --- exported --- */

/* Fingerprints without BLAKE3 of runs outside any batch: an error that says so. */
static void values_outside_batches_are_refused_by_name(void **state)
{
    opened o = open_odd(NULL, 0);
    const tt_export_options options = {.all = true, .force = true};
    tt_error err;
    (void)state;
    for (uint32_t i = 0; i < o.m->n_runs; i++)
        o.m->runs[i].batch = TT_NONE;
    assert_int_equal(tt_format_bitnet.write(o.m, "values-bitnet", &options, &err), TT_E_NOT_FOUND);
    assert_non_null(strstr(err.message, "outside any batch has no BLAKE3"));
    close_plan(&o);
}

/* --- first bad --- */

static void a_healthy_trace_has_nothing_bad(void **state)
{
    opened o = open_odd(NULL, 0);
    tt_values_first f;
    (void)state;
    assert_true(tt_outputs_any(o.m));
    assert_int_equal(tt_values_first_bad(o.m, &all, NULL, &f, NULL), TT_OK);
    assert_false(f.found);
    assert_int_equal(f.origins_total, 0);
    assert_int_equal(f.counts.unmeasured, 0);
    assert_int_equal(f.counts.runs, RUNS);
    assert_int_equal(f.counts.outputs, RUNS * OUTPUTS);
    assert_int_equal(f.logits, RUNS);
    tt_values_first_free(&f);
    close_plan(&o);
}

static void a_nan_is_followed_to_where_it_was_born(void **state)
{
    static const oddity list[] = {{.name = "ffn_out-1", .run = 1, .n_nan = 2},
                                  {.name = "l_out-1", .run = 1, .n_nan = 2},
                                  {.name = "attn_norm-2", .run = 1, .n_nan = 60},
                                  {.name = "result_output", .run = 1, .n_nan = 100},
                                  {.name = "ffn_out-1", .run = 3, .n_inf = 1, .positive = true}};
    opened o = OPEN(list);
    tt_values_first f;
    uint64_t at[4];
    (void)state;
    assert_int_equal(tt_values_first_bad(o.m, &all, NULL, &f, NULL), TT_OK);
    assert_true(f.found);
    const tt_values_origin *b = &f.origins[0];
    assert_int_equal(b->row.run, 1);
    assert_string_equal(name_at(o.m, b->row.run, b->row.node), "ffn_out-1");
    assert_int_equal(b->kind, TT_VALUES_MADE_HERE);
    assert_int_equal(b->times, 2);
    assert_int_equal(b->n_sources, 2);
    assert_int_equal(b->sources[0].state, TT_STATE_WEIGHT);
    assert_int_equal(b->sources[1].state, TT_STATE_FINITE);
    assert_string_equal(name_at(o.m, b->sources[1].output.run, b->sources[1].output.node),
                        "ffn_silu-1");
    assert_true(tt_values_coordinates(&o.m->graphs[o.m->runs[1].graph], b->row.node,
                                      b->row.print.first_bad, at));
    assert_int_equal(at[0], 3);
    assert_int_equal(f.n_origins, 2); /* result_output: what it reads is finite */
    assert_int_equal(f.origins_total, 3);
    assert_int_equal(f.bad_after, 4);
    assert_int_equal(f.inherited, 2);
    assert_int_equal(f.tokens_bad, 2);
    assert_int_equal(f.logits_bad, 1);
    tt_values_first_free(&f);
    close_plan(&o);
}

/* What an earlier batch left in a cache counts, though this batch's part of it is finite. */
static void caches_carry_it_to_later_batches(void **state)
{
    static const oddity list[] = {{.name = "node_17", .op = "SET_ROWS", .run = 0, .n_nan = 1},
                                  {.name = "kq-0", .run = 2, .n_nan = 1}};
    opened o = OPEN(list);
    tt_values_query q = {.filter = {.has_batch = true, .batch_first = 2, .batch_last = 2}};
    tt_values_first f;
    (void)state;
    assert_int_equal(tt_values_first_bad(o.m, &all, NULL, &f, NULL), TT_OK);
    assert_int_equal(f.origins_total, 3); /* a write in each of three layers; kq-0 is none */
    assert_int_equal(f.bad_after - f.inherited, 2);
    tt_values_first_free(&f);
    assert_int_equal(tt_values_first_bad(o.m, &q, NULL, &f, NULL), TT_OK);
    assert_int_equal(f.origins[0].kind, TT_VALUES_INHERITED);
    assert_int_equal(f.origins[0].sources[0].state, TT_STATE_NAN);
    assert_int_equal(f.origins[0].sources[0].output.run, 0);
    tt_values_first_free(&f);
    close_plan(&o);
}

/* The rows that a run's writes into caches take. */
static int64_t *cells_of(const tt_model *m, uint32_t run)
{
    const tt_graph *g = &m->graphs[m->runs[run].graph];
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const tt_tensor *t = &g->tensors[i];
        if (strcmp(t->op_name, "SET_ROWS") != 0) continue;
        const tt_indices *rows = tt_model_indices(m, run, t->src[1]);
        assert_non_null(rows);
        assert_int_equal(rows->n, 1);
        return (int64_t *)(uintptr_t)rows->values;
    }
    fail_msg("run %u writes into no cache", run);
    return NULL;
}

/* A cell that is written over holds nothing bad any longer: what is bad after that is born anew. */
static void cells_written_over_are_clean(void **state)
{
    static const oddity list[] = {{.name = "node_17", .op = "SET_ROWS", .run = 1, .n_nan = 1},
                                  {.name = "kq-0", .run = 2, .n_nan = 1},
                                  {.name = "kq-0", .run = 4, .n_nan = 1}};
    (void)state;
    for (int over = 0; over < 2; over++) {
        opened o = OPEN(list);
        tt_values_first f;
        if (over) *cells_of(o.m, 3) = *cells_of(o.m, 1);
        assert_int_equal(tt_values_first_bad(o.m, &all, NULL, &f, NULL), TT_OK);
        assert_int_equal(f.n_origins, over ? 2 : 1);
        assert_int_equal(f.origins_total, over ? 4 : 3);
        if (over) {
            assert_int_equal(f.origins[1].row.run, 4);
            assert_int_equal(f.origins[1].kind, TT_VALUES_MADE_HERE);
            assert_string_equal(name_at(o.m, 4, f.origins[1].row.node), "kq-0");
        }
        tt_values_first_free(&f);
        close_plan(&o);
    }
}

/* What a write into a cache overwrites, or leaves beside it, is no source of what it writes:
 * neither that nothing is known of the cache, nor that it holds NaN already, says anything of the
 * new rows. */
static void what_is_written_into_is_no_source(void **state)
{
    static const oddity list[] = {
        {.name = "node_17", .op = "SET_ROWS", .run = ANY, .n_inf = 1, .positive = true}};
    opened o = OPEN(list);
    tt_values_first f;
    (void)state;
    assert_int_equal(tt_values_first_bad(o.m, &all, NULL, &f, NULL), TT_OK);
    const tt_values_origin *b = &f.origins[0];
    assert_int_equal(b->kind, TT_VALUES_MADE_HERE);
    for (uint32_t i = 0; i < b->n_sources; i++)
        assert_int_not_equal(b->sources[i].state, TT_STATE_UNMEASURED);
    assert_int_equal(f.origins_total, 3 * RUNS); /* in each of three layers, in each token anew */
    assert_int_equal(f.inherited, 0);
    tt_values_first_free(&f);
    close_plan(&o);
}

static void what_was_not_measured_leaves_it_open(void **state)
{
    static const oddity list[] = {{.name = "ffn_silu-1", .run = ANY, .missing = true},
                                  {.name = "ffn_out-1", .run = 2, .n_inf = 1}};
    opened o = OPEN(list);
    tt_values_first f;
    (void)state;
    assert_int_equal(tt_values_first_bad(o.m, &all, NULL, &f, NULL), TT_OK);
    assert_int_equal(f.counts.unmeasured, RUNS);
    assert_int_equal(f.origins[0].kind, TT_VALUES_UNCERTAIN);
    assert_int_equal(f.origins[0].sources[1].state, TT_STATE_UNMEASURED);
    assert_false(f.origins[0].sources[1].measured);
    tt_values_first_free(&f);
    close_plan(&o);
}

/* --- masks --- */

enum { CAST, SUM, HIDDEN, STEP, LOG, PRODUCT, MASK, TOKENS, SCORES, TENSORS };

static tt_tensor made(const char *op, uint32_t self, uint32_t a, uint32_t b)
{
    return (tt_tensor){.name = op,
                       .op_name = op,
                       .op_desc = op,
                       .type_name = "f32",
                       .n_src = 2,
                       .src = {a, b},
                       .weight = TT_NONE,
                       .root = self};
}

static void masks_are_told_by_what_makes_them(void **state)
{
    tt_tensor t[TENSORS] = {[CAST] = made("CPY", CAST, MASK, TT_NONE),
                            [SUM] = made("ADD", SUM, SCORES, CAST),
                            [HIDDEN] = made("DIAG_MASK_INF", HIDDEN, SCORES, TT_NONE),
                            [STEP] = made("UNARY", STEP, SCORES, TT_NONE),
                            [LOG] = made("LOG", LOG, STEP, TT_NONE),
                            [PRODUCT] = made("MUL_MAT", PRODUCT, SCORES, SUM),
                            [MASK] = made("NONE", MASK, TT_NONE, TT_NONE),
                            [TOKENS] = made("NONE", TOKENS, TT_NONE, TT_NONE),
                            [SCORES] = made("NONE", SCORES, TT_NONE, TT_NONE)};
    tt_graph g = {.n_nodes = MASK, .n_tensors = TENSORS, .tensors = t};
    (void)state;
    t[STEP].op_desc = "STEP";
    t[MASK].flags = t[TOKENS].flags = TT_TENSOR_INPUT;
    t[TOKENS].type_name = "i32";
    uint8_t *may = tt_values_mask_of(&g);
    assert_memory_equal(may, ((uint8_t[]){1, 1, 1, 0, 1, 0}), 6);
    free(may);
    t[STEP].op_desc = "SIGMOID"; /* whose logarithm is infinite only when something is wrong */
    t[CAST].src[0] = TOKENS;
    may = tt_values_mask_of(&g);
    assert_memory_equal(may, ((uint8_t[]){0, 0, 1, 0, 0, 0}), 6);
    free(may);
}

/* --- lists --- */

static void pages_are_sorted_and_cut(void **state)
{
    static const oddity list[] = {{.name = "l_out-0", .run = 2, .rms = 50},
                                  {.name = "l_out-1", .run = 4, .rms = 70},
                                  {.name = "kq-1", .run = 1, .rms = 60},
                                  {.name = "kqv-2", .run = 3, .zero = true}};
    opened o = OPEN(list);
    const tt_listing_wish wish = {.columns = "name,rms", .sort = "rms", .limit = 3};
    tt_values_query q = {0};
    tt_values_page p;
    tt_listing rows;
    (void)state;
    assert_int_equal(tt_values_list(o.m, &q, NULL, &p, NULL), TT_OK);
    assert_int_equal(p.total, RUNS * OUTPUTS);
    assert_int_equal(p.n, RUNS * OUTPUTS);
    const tt_rowset set = tt_values_rowset(o.m, p.rows, p.n, false);
    assert_int_equal(tt_listing_make(&rows, &set, &wish, NULL), TT_OK);
    assert_int_equal(rows.n, 3);
    const tt_values_row *second = tt_listing_row(&rows, 1), *third = tt_listing_row(&rows, 2);
    assert_string_equal(name_at(o.m, second->run, second->node), "kq-1");
    assert_string_equal(name_at(o.m, third->run, third->node), "l_out-0");
    assert_true(third->print.rms > 49 && third->print.rms < 51);
    tt_listing_free(&rows);
    tt_values_page_free(&p);
    q = (tt_values_query){.name = "l_out-*", .offset = 13};
    assert_int_equal(tt_values_list(o.m, &q, NULL, &p, NULL), TT_OK);
    assert_int_equal(p.total, RUNS * 3);
    assert_int_equal(p.n, 2);
    assert_string_equal(name_at(o.m, p.rows[1].run, p.rows[1].node), "l_out-2");
    tt_values_page_free(&p);
    q = (tt_values_query){.which = TT_VALUES_ZERO};
    assert_int_equal(tt_values_list(o.m, &q, NULL, &p, NULL), TT_OK);
    assert_int_equal(p.n, 1);
    assert_int_equal(p.counts.zero, 1);
    assert_int_equal(p.counts.constant, 1);
    assert_string_equal(name_at(o.m, p.rows[0].run, p.rows[0].node), "kqv-2");
    tt_values_page_free(&p);
    /* A fused op is found by its name. */
    q = (tt_values_query){.filter = {.op = "RMS_NORM+MUL"}};
    assert_int_equal(tt_values_list(o.m, &q, NULL, &p, NULL), TT_OK);
    assert_int_equal(p.total, RUNS * 7);
    tt_values_page_free(&p);
    close_plan(&o);
}

/* --- sums --- */

static void grids_have_a_cell_for_each_layer_and_batch(void **state)
{
    static const oddity list[] = {{.name = "l_out-0", .run = ANY, .rms = 1},
                                  {.name = "l_out-1", .run = ANY, .rms = 2},
                                  {.name = "l_out-2", .run = 3, .missing = true},
                                  {.name = "l_out-2", .run = ANY, .rms = 8}};
    opened o = OPEN(list);
    tt_values_growth growth[3];
    tt_values_grid g;
    (void)state;
    assert_int_equal(tt_values_grid_make(o.m, &all, NULL, NULL, &g, NULL), TT_OK);
    assert_string_equal(g.place, "l_out");
    assert_int_equal(g.n_layers, 3);
    assert_int_equal(g.n_batches, RUNS);
    assert_int_equal(g.cells[2 * RUNS + 3].outputs, 0);
    assert_int_equal(g.cells[2 * RUNS + 4].outputs, 1);
    assert_true(fabs(g.cells[1 * RUNS + 2].rms - 2) < 1e-12);
    assert_int_equal(tt_values_growth_of(o.m, &g, TT_PHASE_GENERATE, growth), RUNS - 1);
    assert_int_equal(growth[2].outputs, RUNS - 2);
    assert_true(growth[2].has_ratio && fabs(growth[2].ratio - 4) < 1e-12);
    assert_false(growth[0].has_ratio);
    tt_values_grid_free(&g);
    assert_int_equal(tt_values_grid_make(o.m, &all, "no such place", NULL, &g, NULL), TT_OK);
    assert_int_equal(g.n_layers, 0);
    tt_values_grid_free(&g);
    close_plan(&o);
}

static const tt_values_group *group(const tt_values_groups *g, const char *key)
{
    for (size_t i = 0; i < g->n; i++)
        if (strcmp(g->list[i].key, key) == 0) return &g->list[i];
    fail_msg("no group %s", key);
    return NULL;
}

static void groups_sum_up_and_count_repeats(void **state)
{
    static const oddity list[] = {{.name = "kqv-1", .run = ANY, .same = true},
                                  {.name = "l_out-1", .run = 2, .n_nan = 5}};
    opened o = OPEN(list);
    tt_values_groups g;
    (void)state;
    assert_int_equal(tt_values_groups_make(o.m, &all, TT_VALUES_BY_BASE_NAME, NULL, &g, NULL),
                     TT_OK);
    assert_int_equal(group(&g, "l_out")->outputs, RUNS * 3);
    assert_int_equal(group(&g, "l_out")->bad, 1);
    assert_int_equal(group(&g, "l_out")->n_nan, 5);
    assert_int_equal(group(&g, "l_out")->repeated, 0);
    /* The prompt's has more elements: it is no repeat. */
    assert_int_equal(group(&g, "kqv")->repeated, RUNS - 2);
    tt_values_groups_free(&g);
    assert_int_equal(tt_values_groups_make(o.m, &all, TT_VALUES_BY_LAYER, NULL, &g, NULL), TT_OK);
    assert_int_equal(g.n, 4);
    assert_int_equal(g.list[0].layer, TT_LAYER_NONE);
    assert_int_equal(g.list[3].layer, 2);
    tt_values_groups_free(&g);
    assert_int_equal(tt_values_groups_make(o.m, &all, TT_VALUES_BY_BATCH, NULL, &g, NULL), TT_OK);
    assert_int_equal(g.n, RUNS);
    assert_int_equal(g.list[2].outputs, OUTPUTS);
    tt_values_groups_free(&g);
    close_plan(&o);
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

/* Texts are compared, not only their hashes: in groups, and where an output may repeat the last
 * one. */
static void groups_of_one_hash(void **state)
{
    static const oddity list[] = {{.name = "kqv-1", .run = ANY, .same = true},
                                  {.name = "l_out-1", .run = 2, .n_nan = 5}};
    opened o = OPEN(list);
    tt_values_groups g;
    size_t n = 0;
    (void)state;
    for (int turn = 0; turn < 2; turn++) {
        if (turn) rename_to_same_hash(o.m, "kqv-1", "l_out-1");
        assert_int_equal(tt_values_groups_make(o.m, &all, TT_VALUES_BY_TENSOR, NULL, &g, NULL),
                         TT_OK);
        if (!turn) n = g.n;
        assert_int_equal(g.n, n);
        assert_int_equal(group(&g, turn ? same_hash[0] : "kqv-1")->repeated, RUNS - 2);
        assert_int_equal(group(&g, turn ? same_hash[1] : "l_out-1")->n_nan, 5);
        tt_values_groups_free(&g);
    }
    close_plan(&o);
}

static void outliers_stand_out_of_their_place(void **state)
{
    static const oddity list[] = {{.name = "ffn_out-1", .run = 3, .rms = 40},
                                  {.name = "kq-0", .run = 4, .rms = 0.01},
                                  {.name = "kqv-0", .run = 4, .rms = 1.9},   /* less than twice */
                                  {.name = "l_out-0", .run = 0, .rms = 90}}; /* too few prompts */
    opened o = OPEN(list);
    tt_values_outliers x;
    (void)state;
    assert_int_equal(tt_values_outliers_make(o.m, &all, NULL, &x, NULL), TT_OK);
    assert_int_equal(x.total, 2);
    assert_string_equal(name_at(o.m, x.list[0].row.run, x.list[0].row.node), "ffn_out-1");
    assert_true(x.list[0].score > 3.5);
    assert_string_equal(name_at(o.m, x.list[1].row.run, x.list[1].row.node), "kq-0");
    assert_true(x.list[1].score < -3.5);
    assert_int_equal(x.list[0].among, (RUNS - 1) * 3);
    assert_true(x.list[0].by_max && fabs(x.list[0].value - 80) < 1e-3);
    tt_values_outliers_free(&x);
    close_plan(&o);
}

static void place_is(const char *name, int32_t layer, const char *expected)
{
    char out[TT_VALUES_KEY_TEXT];
    const tt_tensor t = {.name = name, .op_desc = "MUL_MAT", .place = {.layer_id = layer}};
    assert_string_equal(tt_values_base_name(&t, out), expected);
}

static void places_are_names_without_their_layer(void **state)
{
    (void)state;
    place_is("l_out-3", 3, "l_out");
    place_is("l_out-31", 3, "l_out-31");
    place_is("Qcur-0 (view)", 0, "Qcur (view)");
    place_is("cache_k_l12 (view)", 12, "cache_k (view)");
    place_is("blk.2.q_proj", 2, "q_proj");
    place_is("node_17", 2, "MUL_MAT");
    place_is("", TT_LAYER_NONE, "MUL_MAT");
    place_is("result_output", TT_LAYER_NONE, "result_output");
}

static int open_base(void **state)
{
    (void)state;
    base = open_plan(the_plan());
    plain = base.m;
    return 0;
}

static int close_base(void **state)
{
    (void)state;
    close_plan(&base);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_written_over_are_clean),
        cmocka_unit_test(values_outside_batches_are_refused_by_name),
        cmocka_unit_test(a_healthy_trace_has_nothing_bad),
        cmocka_unit_test(a_nan_is_followed_to_where_it_was_born),
        cmocka_unit_test(caches_carry_it_to_later_batches),
        cmocka_unit_test(what_is_written_into_is_no_source),
        cmocka_unit_test(what_was_not_measured_leaves_it_open),
        cmocka_unit_test(masks_are_told_by_what_makes_them),
        cmocka_unit_test(pages_are_sorted_and_cut),
        cmocka_unit_test(grids_have_a_cell_for_each_layer_and_batch),
        cmocka_unit_test(groups_sum_up_and_count_repeats),
        cmocka_unit_test(groups_of_one_hash),
        cmocka_unit_test(outliers_stand_out_of_their_place),
        cmocka_unit_test(places_are_names_without_their_layer),
    };
    return cmocka_run_group_tests(tests, open_base, close_base);
}
