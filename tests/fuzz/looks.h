/* Analyses of a trace, whatever it says: each ends, and what it says holds together. Included as
 * source. */
#ifndef TT_FUZZ_LOOKS_H
#define TT_FUZZ_LOOKS_H

#include "analyze/access.h"
#include "analyze/buffers.h"
#include "analyze/cache/whatif.h"
#include "analyze/faults.h"
#include "analyze/heat.h"
#include "analyze/kernel.h"
#include "analyze/kvcache.h"
#include "analyze/loading.h"
#include "analyze/log/log.h"
#include "analyze/page_faults.h"
#include "analyze/residency.h"
#include "analyze/routers.h"
#include "analyze/stats.h"
#include "analyze/summary.h"
#include "analyze/topology.h"
#include "analyze/values/first.h"
#include "analyze/values/grid.h"
#include "analyze/values/groups.h"
#include "analyze/verify/verify.h"
#include "limits.h"
#include "model/faults.h"

#include <stdlib.h>

#define LOG_OPS_MAX 5000u
#define GRAPHS_MAX 8u
#define RUNS_MAX 100u

static bool visit(void *context, const tt_log_op *op)
{
    unsigned *left = context;
    if (op->op->n_sources > TT_OP_SOURCES_MAX || op->op->node >= op->op->graph->n_nodes) abort();
    return --*left > 0;
}

static void look_at_buffers(const tt_model *m)
{
    tt_buffers *buffers;
    tt_kv *kv;
    tt_error err;
    if (tt_buffers_analyze(m, &buffers, &err) == TT_OK)
        for (uint32_t i = 0; i < m->n_buffers; i++)
            if (buffers->uses[i].used_bytes > m->buffers[i].size_bytes) abort();
    tt_buffers_free(buffers);
    if (tt_kv_analyze(m, &kv, &err) == TT_OK)
        for (uint32_t i = 0; i < kv->n_tensors; i++)
            if (kv->tensors[i].written > kv->tensors[i].cells) abort();
    tt_kv_free(kv);
}

/* What is bad is counted the same by each of them. */
static void look_at_values(const tt_model *m)
{
    static const tt_values_query all, last = {.offset = 3, .limit = 5};
    tt_values_page page;
    tt_values_first first;
    tt_values_groups groups;
    tt_values_outliers outliers;
    tt_values_grid grid;
    tt_error err;
    uint64_t bad = 0;
    const bool found = tt_values_first_bad(m, &all, NULL, &first, &err) == TT_OK;
    if (found && (first.n_origins > first.origins_total || first.found != (first.counts.bad > 0) ||
                  first.origins_total + first.inherited < first.counts.bad))
        abort();
    if (tt_values_groups_make(m, &all, TT_VALUES_BY_TENSOR, NULL, &groups, &err) == TT_OK) {
        for (size_t i = 0; i < groups.n; i++)
            bad += groups.list[i].bad;
        if (bad != groups.counts.bad || (found && bad != first.counts.bad)) abort();
    }
    if (tt_values_list(m, &last, NULL, &page, &err) == TT_OK && page.n > 5) abort();
    if (tt_values_outliers_make(m, &last, NULL, &outliers, &err) == TT_OK && outliers.n > 5)
        abort();
    if (tt_values_grid_make(m, &all, NULL, NULL, &grid, &err) == TT_OK &&
        (uint64_t)grid.n_layers * grid.n_batches > TT_VALUES_GRID_CELLS_MAX)
        abort();
    tt_values_first_free(&first);
    tt_values_groups_free(&groups);
    tt_values_page_free(&page);
    tt_values_outliers_free(&outliers);
    tt_values_grid_free(&grid);
}

static void look_at_graphs(const tt_model *m)
{
    tt_error err;
    for (uint32_t i = 0; i < m->n_graphs && i < GRAPHS_MAX; i++) {
        tt_topology *t;
        if (tt_topology_make(m, i, tt_topology_last_run(m, i), &t, &err) != TT_OK) continue;
        if (t->n_ops > t->graph->n_nodes || t->n_views > t->graph->n_nodes) abort();
        tt_topology_free(t);
    }
}

/* In order, and within what the format allows. */
static void check_details(const tt_detail *list, size_t n, uint32_t run)
{
    for (size_t i = 0; i < n; i++) {
        const tt_detail *d = &list[i];
        unsigned kind = tt_detail_kind_of(d);
        if (d->run != run || kind == TT_DETAIL_NONE || kind >= TT_DETAIL_KINDS) abort();
        if (i > 0 && tt_detail_node(d) < tt_detail_node(d - 1)) abort();
        unsigned most = kind == TT_DETAIL_EXPERTS ? TT_DETAIL_EXPERTS_MAX : TT_DETAIL_WEIGHTS_MAX;
        if (kind != TT_DETAIL_FAULTS && kind != TT_DETAIL_VALUE &&
            (d->experts.n == 0 || d->experts.n > most))
            abort();
    }
}

static void look_at_memory(const tt_model *m)
{
    tt_accesses *accesses = tt_accesses_new(m);
    tt_error err;
    if (!accesses) abort();
    for (unsigned kind = TT_DETAIL_FAULTS; kind < TT_DETAIL_KINDS; kind++)
        (void)tt_details_has(m->details, (enum tt_detail_kind)kind);
    for (uint32_t i = 0; i < m->n_runs && i < RUNS_MAX; i++) {
        const tt_detail *list;
        size_t n;
        if (tt_details_of_run(m->details, m->runs[i].id, &list, &n, &err) == TT_OK)
            check_details(list, n, m->runs[i].id);
        if (tt_accesses_run(accesses, i, &err) == TT_OK) (void)tt_accesses_choices(accesses, &n);
    }
    tt_accesses_free(accesses);
}

/* Rows add up to the whole, whatever is in the file. */
static void look_at_faults(const tt_model *m)
{
    const tt_filter any = {0};
    tt_error err;
    for (tt_faults_by by = TT_FAULTS_BY_TENSOR; by <= TT_FAULTS_BY_BATCH; by++) {
        size_t n;
        uint64_t minor = 0;
        tt_faults *f = tt_faults_new(m, by, &any);
        if (!f) abort();
        if (tt_faults_sum(f, NULL, NULL, &err) == TT_OK) {
            const tt_faults_row *rows = tt_faults_rows(f, &n);
            for (size_t i = 0; i < n; i++)
                minor += rows[i].counts.minor;
            if (minor > tt_faults_total(f)->counts.minor) abort();
        }
        tt_faults_free(f);
    }
    tt_kernel_sum sum;
    tt_kernel *k = tt_kernel_new(m);
    if (!k) abort();
    tt_kernel_batches(k, &any, &sum);
    tt_kernel_recording(k, &sum);
    tt_kernel_free(k);
}

/* Each fault is on a page once, and in an op once at most. */
static void look_at_page_faults(const tt_model *m)
{
    const tt_filter any = {0};
    tt_page_faults f;
    tt_error err;
    for (uint32_t i = 0; i < m->n_runs && i < RUNS_MAX; i++) {
        const tt_detail *list;
        size_t n;
        if (tt_model_faults_of_run(m, i, &list, &n, &err) == TT_OK)
            check_details(list, n, m->runs[i].id);
    }
    if (tt_page_faults_find(&f, m, &err) == TT_OK)
        for (tt_fault_pages_by by = TT_FAULT_PAGES_BY_PAGE; by <= TT_FAULT_PAGES_BY_MAPPING; by++) {
            tt_fault_page *pages = NULL;
            size_t n;
            uint64_t total = 0;
            if (tt_fault_pages_sum(&f, by, &any, &pages, &n, &err) == TT_OK) {
                for (size_t i = 0; i < n; i++)
                    total += pages[i].total;
                if (total != m->n_page_faults) abort();
            }
            free(pages);
        }
    tt_page_faults_free(&f);
}

/* What came in a phase was read, stayed or went: each byte once. */
static void look_at_loading(const tt_model *m)
{
    tt_loading l;
    tt_error err;
    const bool found = tt_loading_find(&l, m, true, &err) == TT_OK;
    for (size_t i = 0; found && i < l.n; i++) {
        const tt_loading_row *r = &l.rows[i];
        const uint64_t all = r->phase == TT_LOADING_OPENED ? r->resident_bytes : r->fetched_bytes;
        if (r->looked && r->resident_bytes > r->observed_bytes) abort();
        if (!r->evaluated) continue;
        if (r->used_bytes + r->unused_bytes + r->evicted_bytes != all) abort();
        if (r->again_bytes > all || r->again_most_bytes > all) abort();
    }
    tt_loading_free(&l);
}

static void visit_sample(void *context, const tt_residency_sample *s, const tt_ranges *now)
{
    const tt_model *m = context;
    if (s->resident_bytes > s->observed_bytes || s->came_bytes > s->resident_bytes ||
        s->observed_bytes > m->files[s->file].size_bytes ||
        tt_ranges_total(now) != s->resident_bytes)
        abort();
}

static void look_at_pages_and_experts(const tt_model *m)
{
    const tt_filter any = {0};
    tt_error err;
    size_t n;
    tt_residency_weight *weights = calloc((size_t)m->n_weights + 1, sizeof *weights);
    if (!weights) abort();
    (void)tt_residency_walk(m, visit_sample, (void *)m, weights, &err);
    free(weights);
    tt_routers *r = tt_routers_new(m, &any, TT_PHASE_PROMPT);
    if (!r) abort();
    if (tt_routers_walk(r, NULL, NULL, &err) == TT_OK) {
        const tt_router_layer *layers = tt_routers_layers(r, &n);
        for (size_t i = 0; i < n; i++) {
            tt_router_sum sum;
            tt_router_sum_up(layers[i].router, &sum);
            if (sum.unused > sum.experts || sum.choices > sum.tokens * sum.experts) abort();
        }
    }
    tt_routers_free(r);
}

/* Each way to look at the same accesses counts the same bytes, and so many of each are never read.
 */
static void look_at_heat(const tt_model *m)
{
    static const tt_heat_by ways[] = {TT_HEAT_TENSOR, TT_HEAT_EXPERT, TT_HEAT_LAYER,
                                      TT_HEAT_COMPONENT};
    const tt_filter any = {0};
    uint64_t reads[4] = {0};
    tt_reads collected;
    tt_heat heat;
    tt_error err;
    bool all = tt_reads_collect(m, &any, &collected, NULL, NULL, &err) == TT_OK;
    for (size_t i = 0; all && i < 4; i++) {
        all = tt_heat_measure(m, &collected, &any, ways[i], &heat, &err) == TT_OK;
        for (size_t k = 0; all && k < heat.n_rows; k++)
            if (__builtin_add_overflow(reads[i], heat.rows[k].read_bytes, &reads[i])) all = false;
        tt_heat_free(&heat);
    }
    if (all && (reads[0] != reads[1] || reads[0] != reads[2] || reads[0] != reads[3])) abort();
    tt_reads_free(&collected);
}

/* Every rule and size, of one unit, warm or cold, with or without reading ahead: never more misses
 * with more RAM (lru). */
static void look_at_caches(const tt_model *m, uint8_t choice)
{
    static const uint64_t ram[] = {0, 4096, 1 << 20, UINT64_MAX};
    const tt_filter any = {0};
    tt_whatif_result r[4];
    tt_reads reads;
    tt_error err;
    if (tt_pieces_records(m->pieces) > LOG_OPS_MAX) return;
    if (tt_reads_collect(m, &any, &reads, NULL, NULL, &err) == TT_OK) {
        const tt_whatif_unit unit = (tt_whatif_unit)(choice % 3);
        const bool reads_ahead = unit == TT_WHATIF_PAGE && choice / 6 % 2;
        const bool direct = choice % 2 == 0;
        const tt_whatif_plan plan = {.unit = unit,
                                     .page_bytes = 4096,
                                     .warm = choice / 3 % 2,
                                     .readahead_bytes = reads_ahead ? 1 << 17 : 0,
                                     .disk = {.bytes_per_s = 1e9,
                                              .latency_ns = choice % 5 * 1e4,
                                              .request_ns = choice % 7 * 1e3,
                                              .begin_ns = choice % 3 * 1e5,
                                              .group_ns = choice % 4 * 1e5,
                                              .move_ns = choice % 9 * 1e5,
                                              .grouped = choice % 8 < 6},
                                     .reader = direct ? TT_WHATIF_DIRECT : TT_WHATIF_MMAP,
                                     .boost = direct && unit == TT_WHATIF_EXPERT,
                                     .ahead_bytes = choice % 4 ? (uint64_t)choice << 16 : 0,
                                     .depth = 1u + choice % 32};
        tt_whatif *w = NULL;
        if (tt_whatif_new(m, &reads, &plan, &w, &err) == TT_OK)
            for (tt_policy p = TT_POLICY_LRU; p < TT_POLICIES; p++) {
                if (plan.readahead_bytes && p != TT_POLICY_LRU) continue;
                if (tt_whatif_run(w, p, ram, 4, r, &err) != TT_OK) continue;
                for (size_t i = 0; i < 4; i++)
                    if (!(r[i].total.ns >= r[i].total.compute_ns) ||
                        !(r[i].total.causal_ns >= r[i].total.compute_ns))
                        abort();
                if (p == TT_POLICY_LRU && plan.unit == TT_WHATIF_PAGE && !plan.readahead_bytes &&
                    (r[1].total.missed_bytes > r[0].total.missed_bytes ||
                     r[2].total.missed_bytes > r[1].total.missed_bytes))
                    abort();
            }
        tt_whatif_free(w);
    }
    tt_reads_free(&reads);
}

/* No rule fetches less than belady, and sets add up, whatever the trace says. */
static void look_at_reads(const tt_model *m)
{
    const tt_filter any = {0};
    tt_error err;
    const tt_whatif_plan plan = {.unit = TT_WHATIF_PAGE, .page_bytes = 4096},
                         ahead = {
                             .unit = TT_WHATIF_PAGE, .page_bytes = 4096, .readahead_bytes = 32768};
    const uint64_t ram = 64 << 10;
    tt_whatif_result lru, belady;
    tt_whatif *w;
    tt_reads reads;
    tt_heat heat;
    if (tt_pieces_records(m->pieces) > LOG_OPS_MAX) return;
    if (tt_reads_collect(m, &any, &reads, NULL, NULL, &err) == TT_OK) {
        if (tt_heat_measure(m, &reads, &any, TT_HEAT_EXPERT, &heat, &err) == TT_OK &&
            heat.every.bytes + heat.some.bytes + heat.never.bytes != heat.model_bytes)
            abort();
        tt_heat_free(&heat);
        if (tt_whatif_new(m, &reads, &plan, &w, &err) == TT_OK &&
            tt_whatif_run(w, TT_POLICY_LRU, &ram, 1, &lru, &err) == TT_OK &&
            tt_whatif_run(w, TT_POLICY_BELADY, &ram, 1, &belady, &err) == TT_OK &&
            belady.total.missed_bytes > lru.total.missed_bytes)
            abort();
        tt_whatif_free(w);
        if (tt_whatif_new(m, &reads, &ahead, &w, &err) == TT_OK)
            (void)tt_whatif_run(w, TT_POLICY_LRU, &ram, 1, &lru, &err);
        tt_whatif_free(w);
    }
    tt_reads_free(&reads);
}

static void look_at_stats(const tt_model *m)
{
    static const tt_stats_by by[] = {TT_BY_OP,    TT_BY_TENSOR,    TT_BY_THREAD,   TT_BY_BATCH,
                                     TT_BY_LAYER, TT_BY_COMPONENT, TT_BY_CATEGORY, TT_BY_PHASE};
    tt_stats *stats[sizeof by / sizeof *by];
    tt_error err;
    size_t n;
    for (size_t i = 0; i < sizeof by / sizeof *by; i++)
        if (!(stats[i] = tt_stats_new(m, by[i], NULL))) abort();
    if (tt_stats_walk(stats, sizeof by / sizeof *by, m, NULL, NULL, &err) == TT_OK) {
        /* An op of two weights counts for both; all other sums are of the same ops. */
        for (size_t k = 0; k < sizeof by / sizeof *by; k++) {
            const tt_stats_row *rows = tt_stats_rows(stats[k], &n);
            uint64_t count = 0;
            if (by[k] == TT_BY_TENSOR || by[k] == TT_BY_THREAD) continue;
            for (size_t i = 0; i < n; i++)
                count += rows[i].count;
            if (count != tt_stats_total(stats[k])->count) abort();
        }
    } else if (err.status == TT_OK || !err.message[0]) {
        abort();
    }
    for (size_t i = 0; i < sizeof by / sizeof *by; i++)
        tt_stats_free(stats[i]);
}

static void look_at_log(const tt_model *m)
{
    const tt_filter any = {0},
                    some = {.has_layer = true, .layer = 1, .tensor = "*attn*", .has_lane = true};
    unsigned left = LOG_OPS_MAX;
    tt_error err;
    (void)tt_log_walk(m, &any, false, visit, &left, &err);
    left = LOG_OPS_MAX;
    (void)tt_log_walk(m, &some, true, visit, &left, &err);
}

static void look_at_checks(const tt_model *m)
{
    tt_check checks[TT_CHECKS_MAX];
    tt_summary summary;
    tt_error err;
    size_t n;
    tt_summarize(m, &summary);
    (void)tt_verify(m, checks, &n, NULL, NULL, &err);
}

static void (*const looks[])(const tt_model *) = {
    look_at_stats,   look_at_log,    look_at_checks, look_at_memory,
    look_at_buffers, look_at_graphs, look_at_faults, look_at_pages_and_experts,
    look_at_reads,   look_at_values, look_at_heat,   look_at_page_faults,
    look_at_loading};

#define LOOKS (sizeof looks / sizeof *looks + 1)

/* What it may hold besides the trace itself. */
static uint64_t look_bytes(size_t which)
{
    const bool by_page = which + 1 == LOOKS || looks[which] == look_at_reads;
    return by_page ? LIMITS_PAGES_BYTES : LIMITS_ANSWER_BYTES;
}

/* One of LOOKS; `choice` is of a way to look, where there are many. */
static void look_at(const tt_model *m, size_t which, uint8_t choice)
{
    if (which + 1 < LOOKS)
        looks[which](m);
    else
        look_at_caches(m, choice);
}

#endif
