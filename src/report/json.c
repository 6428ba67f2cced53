#include "report/json.h"

#include "answer/roofline.h"
#include "answer/values.h"
#include "base/hex.h"
#include "base/json.h"

#include <math.h>
#include <stdlib.h>

static void share(tt_json *j, const char *key, double part, double all)
{
    tt_json_kv_double(j, key, all > 0 ? part / all : NAN);
}

/* null for what there is no figure of. */
static void positive(tt_json *j, const char *key, double v)
{
    tt_json_kv_double(j, key, v > 0 ? v : NAN);
}

static void layer(tt_json *j, int64_t number)
{
    tt_json_key(j, "layer_id");
    if (number < 0)
        tt_json_null(j);
    else
        tt_json_i64(j, number);
}

/* --- time --- */

static void rollup_sums(tt_json *j, const tt_analysis *a, const tt_rollup *r)
{
    tt_json_kv_u64(j, "count", r->count);
    share(j, "share", r->work_ns, a->work_ns);
    share(j, "thread_time_share", r->compute_ns + r->wait_ns, a->total_ns);
    tt_json_kv_double(j, "work_ns", r->work_ns);
    tt_json_kv_double(j, "compute_ns", r->compute_ns);
    tt_json_kv_double(j, "wait_ns", a->waits_observed ? r->wait_ns : NAN);
    tt_json_kv_double(j, "total_ns", r->timed ? r->wall_ns : NAN);
}

static void rollups(tt_json *j, const tt_analysis *a, const char *list, const char *key,
                    const tt_rollups *rows)
{
    tt_json_key(j, list);
    tt_json_array(j);
    for (size_t i = 0; i < rows->n; i++) {
        tt_json_object(j);
        if (key)
            tt_json_kv_string(j, key, rows->list[i].key);
        else
            layer(j, rows->list[i].number);
        rollup_sums(j, a, &rows->list[i]);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
}

static void time_part(tt_json *j, const tt_analysis *a)
{
    tt_json_key(j, "time");
    if (!a->timed || a->total_ns <= 0) {
        tt_json_null(j);
        return;
    }
    tt_json_object(j);
    tt_json_kv_u64(j, "threads", a->lanes);
    tt_json_kv_double(j, "elapsed_ns", tt_model_span_ns(a->m, a->work.span_ticks));
    tt_json_kv_double(j, "thread_time_ns", a->total_ns);
    tt_json_kv_double(j, "work_ns", a->work_ns);
    tt_json_kv_double(j, "compute_ns", a->compute_ns);
    tt_json_kv_double(j, "wait_ns", a->waits_observed ? a->wait_ns : NAN);
    tt_json_kv_double(j, "off_cpu_ns",
                      a->work.off_cpu_known ? tt_model_span_ns(a->m, a->work.off_cpu_ticks) : NAN);
    tt_json_kv_double(j, "idle_ns", a->idle_ns);
    tt_json_kv_double(j, "between_batches_ns", a->between_ns);
    tt_json_kv_double(j, "overlap_ns", tt_model_span_ns(a->m, a->work.overlap_ticks));
    rollups(j, a, "by_category", "category", &a->by_part);
    rollups(j, a, "by_op", "op", &a->by_op);
    rollups(j, a, "by_layer", NULL, &a->by_layer);
    tt_json_object_end(j);
}

/* --- roofline --- */

static const char *from_name(tt_edges_from from)
{
    return from == TT_EDGES_MEASURED ? "measured" : from == TT_EDGES_GIVEN ? "given" : NULL;
}

static void edges(tt_json *j, const tt_edges *e)
{
    tt_json_kv_string(j, "bandwidth_from", from_name(e->bandwidth_from));
    positive(j, "bandwidth_bytes_per_s", e->bytes_per_s);
    tt_json_kv_string(j, "peak_from", from_name(e->peak_from));
    positive(j, "peak_flops_per_s", e->flops_per_s);
    positive(j, "peak_int8_ops_per_s", e->int8_ops_per_s);
    if (e->why_not[0]) tt_json_kv_string(j, "not_measured", e->why_not);
}

static void bounds(tt_json *j, const char *key, const tt_bounds *b)
{
    tt_json_key(j, key);
    tt_json_object(j);
    tt_json_kv_double(j, "total_ns", b->all_ns);
    tt_json_kv_double(j, "memory_ns", b->wall_ns[TT_BOUND_MEMORY]);
    tt_json_kv_double(j, "compute_ns", b->wall_ns[TT_BOUND_COMPUTE]);
    tt_json_kv_double(j, "neither_ns", b->wall_ns[TT_BOUND_NEITHER]);
    tt_json_kv_double(j, "unknown_ns", b->wall_ns[TT_BOUND_UNKNOWN]);
    tt_json_object_end(j);
}

static void roofline(tt_json *j, const tt_analysis *a)
{
    const tt_peaks peaks = tt_edges_peaks(&a->options.edges);
    tt_json_key(j, "roofline");
    tt_json_object(j);
    edges(j, &a->options.edges);
    bounds(j, "all", &a->bounds);
    bounds(j, "generate", &a->generate);
    tt_json_key(j, "ops");
    tt_json_array(j);
    for (size_t i = 0; i < a->points.n; i++)
        tt_roofline_point_json(j, &peaks, &a->points.list[i]);
    tt_json_array_end(j);
    tt_json_object_end(j);
}

/* --- threads --- */

static void threads(tt_json *j, const tt_analysis *a)
{
    const tt_work *w = &a->work;
    tt_json_key(j, "threads");
    tt_json_array(j);
    for (uint32_t i = 0; a->timed && i < w->n_lanes; i++) {
        tt_json_object(j);
        tt_json_kv_u64(j, "thread_id", i);
        tt_json_kv_u64(j, "ops", w->lanes[i].ops);
        tt_json_kv_double(j, "compute_ns", tt_model_span_ns(a->m, w->lanes[i].busy_ticks));
        tt_json_kv_double(j, "wait_ns",
                          a->waits_observed ? tt_model_span_ns(a->m, w->lanes[i].wait_ticks) : NAN);
        tt_json_kv_u64(j, "last_to_arrive", w->lanes[i].last);
        tt_json_key(j, "waited_for_ns");
        tt_json_array(j);
        for (uint32_t k = 0; w->waits && a->waits_observed && k < w->n_lanes; k++)
            tt_json_double(j, tt_model_span_ns(a->m, w->waits[(size_t)i * w->n_lanes + k]));
        tt_json_array_end(j);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
    tt_json_kv_u64(j, "barriers", w->barriers);
}

/* --- memory --- */

static void heat(tt_json *j, const tt_analysis *a)
{
    const tt_heat *h = &a->heat;
    const tt_rowset summary = {.schema = &tt_heat_summary_schema, .rows = h, .n = 1};
    tt_json_key(j, "reads");
    if (!a->has_heat) {
        tt_json_null(j);
        return;
    }
    tt_json_object(j);
    if (a->reads_cut) tt_json_kv_u64(j, "last_batch_id", a->reads_last_token);
    tt_rowset_json(j, &summary, h);
    tt_json_kv_double(j, "generate_batch_bytes",
                      h->of_phase[TT_PHASE_GENERATE].batches
                          ? (double)h->of_phase[TT_PHASE_GENERATE].distinct_bytes /
                                (double)h->of_phase[TT_PHASE_GENERATE].batches
                          : NAN);
    tt_json_object_end(j);
}

static void experts(tt_json *j, const tt_analysis *a)
{
    size_t n = 0;
    const tt_router_layer *layers = a->routers ? tt_routers_layers(a->routers, &n) : NULL;
    tt_json_key(j, "experts");
    tt_json_array(j);
    for (size_t i = 0; i < n; i++) {
        tt_router_sum s;
        tt_router_sum_up(layers[i].router, &s);
        tt_json_object(j);
        layer(j, layers[i].layer_id);
        tt_json_kv_u64(j, "experts", s.experts);
        tt_json_kv_u64(j, "picked", s.chosen_most);
        tt_json_kv_u64(j, "tokens", s.tokens);
        tt_json_kv_u64(j, "unused", s.unused);
        tt_json_kv_double(j, "evenness", s.evenness);
        tt_json_kv_double(j, "stickiness", s.stickiness);
        tt_json_kv_double(j, "chance", s.chance);
        positive(j, "expert_bytes", (double)layers[i].expert_bytes);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
}

static void disk(tt_json *j, const tt_analysis *a)
{
    const tt_kernel_sum *k = &a->kernel_batches;
    tt_json_key(j, "disk");
    if (!k->has_faults && !k->has_io && !a->faults) {
        tt_json_null(j);
        return;
    }
    tt_json_object(j);
    tt_json_kv_double(j, "major_faults", k->has_faults ? (double)k->major : NAN);
    tt_json_kv_double(j, "minor_faults", k->has_faults ? (double)k->minor : NAN);
    tt_json_kv_double(j, "read_bytes", k->has_io ? (double)k->read_bytes : NAN);
    const tt_faults_row *total = a->faults ? tt_faults_total(a->faults) : NULL;
    tt_json_kv_double(j, "ops_read_bytes",
                      total && total->counts.observed_reads ? (double)total->counts.read_bytes
                                                            : NAN);
    tt_json_kv_double(j, "ops_rate_bytes_per_s", total ? tt_faults_rate(total) : NAN);
    tt_json_object_end(j);
}

static void whatif_part(tt_json *j, const char *key, const tt_whatif_result *r)
{
    const tt_whatif_part *part = r->steady.tokens ? &r->steady
                                 : r->of_phase[TT_PHASE_GENERATE].tokens
                                     ? &r->of_phase[TT_PHASE_GENERATE]
                                     : &r->total;
    tt_json_key(j, key);
    tt_json_object(j);
    tt_json_kv_double(j, "missed_bytes_per_token",
                      part->tokens ? (double)part->missed_bytes / (double)part->tokens : NAN);
    positive(j, "tokens_per_s", tt_whatif_rate_apart(part));
    positive(j, "tokens_per_s_prefetched", tt_whatif_rate_overlap(part));
    tt_json_object_end(j);
}

static void whatif(tt_json *j, const tt_analysis *a)
{
    tt_json_key(j, "whatif");
    if (!a->has_whatif) {
        tt_json_null(j);
        return;
    }
    tt_json_object(j);
    tt_json_kv_double(j, "disk_bytes_per_s", a->disk_bytes_per_s);
    tt_json_kv_bool(j, "disk_assumed", a->options.disk_bytes_per_s <= 0);
    tt_json_kv_u64(j, "touched_bytes", a->touched_bytes);
    tt_json_key(j, "sizes");
    tt_json_array(j);
    for (size_t i = 0; i < TT_ANALYSIS_RAM_SIZES; i++) {
        tt_json_object(j);
        tt_json_kv_u64(j, "ram_bytes", a->lru[i].ram_bytes);
        whatif_part(j, "lru", &a->lru[i]);
        whatif_part(j, "belady", &a->belady[i]);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
    tt_json_object_end(j);
}

/* --- the whole --- */

static void phase(tt_json *j, const char *key, const tt_phase_summary *s)
{
    tt_json_key(j, key);
    tt_json_object(j);
    tt_json_kv_u64(j, "batches", s->batches);
    tt_json_kv_u64(j, "tokens", s->tokens);
    tt_json_kv_u64(j, "mixed_tokens", s->mixed_tokens);
    positive(j, "total_ns", s->total_ns);
    positive(j, "tokens_per_s", s->tokens_per_s);
    tt_json_object_end(j);
}

static void answers(tt_json *j, const tt_page *p)
{
    tt_json_key(j, "summary");
    tt_json_array(j);
    for (const tt_page_block *b = p->summary; b; b = b->next)
        tt_json_string(j, b->text);
    tt_json_array_end(j);
    tt_json_key(j, "answers");
    tt_json_array(j);
    for (const tt_page_section *s = p->sections; s; s = s->next) {
        for (const tt_page_block *b = s->blocks; b; b = b->next) {
            if (b->kind != TT_BLOCK_ANSWER) continue;
            tt_json_object(j);
            tt_json_kv_string(j, "question", s->title);
            tt_json_kv_string(j, "answer", b->text);
            tt_json_object_end(j);
        }
    }
    tt_json_array_end(j);
}

static void values(tt_json *j, const tt_analysis *a)
{
    const tt_values_outliers *o = &a->values_outliers;
    tt_json_key(j, "values");
    if (!a->has_values) {
        tt_json_null(j);
        return;
    }
    size_t n;
    tt_values_growth *list = tt_values_growth_list(a->m, &a->values_grid, &n);
    const tt_rowset growth = tt_values_growth_rowset(list, n);
    const tt_rowset outliers = tt_values_outliers_rowset(a->m, o, false);
    tt_error err;
    tt_json_object(j);
    tt_json_key(j, "first_bad");
    tt_values_first_json(j, a->path, a->m, &a->values_first);
    tt_json_key(j, "growth");
    if (!list ||
        tt_values_rows_json(j, a->m, &growth,
                            (tt_values_view){.path = a->path, .grid = &a->values_grid}, &err))
        tt_json_null(j);
    tt_json_key(j, "outliers");
    if (tt_values_rows_json(j, a->m, &outliers, (tt_values_view){.path = a->path, .outliers = o},
                            &err))
        tt_json_null(j);
    tt_json_object_end(j);
    free(list);
}

bool tt_report_json(const tt_page *p, tt_analysis *a, FILE *out)
{
    tt_json j;
    char id[33];
    tt_hex(id, a->m->trace.header.run_id, 16);
    tt_json_begin(&j, out, 2);
    tt_json_object(&j);
    tt_json_kv_string(&j, "file", a->path);
    tt_json_kv_string(&j, "run_id", id);
    answers(&j, p);
    phase(&j, "prompt", &a->summary.prompt);
    phase(&j, "generate", &a->summary.generate);
    phase(&j, "mixed", &a->summary.mixed);
    phase(&j, "warmup", &a->summary.warmup);
    time_part(&j, a);
    roofline(&j, a);
    threads(&j, a);
    heat(&j, a);
    experts(&j, a);
    disk(&j, a);
    whatif(&j, a);
    values(&j, a);
    tt_json_object_end(&j);
    return tt_json_end(&j);
}
