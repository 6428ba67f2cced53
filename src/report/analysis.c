#include "report/analysis.h"

#include "model/faults.h"

#include <stdlib.h>
#include <string.h>

/* Progress is a fraction: the passes over the ops, then over the reads, then the rest. */
#define PARTS 1000u

typedef struct stage {
    const tt_analysis_options *o;
    uint64_t from, to;
} stage;

static void progress(void *context, uint64_t done, uint64_t total)
{
    const stage *s = context;
    if (!s->o->progress) return;
    uint64_t at = total ? (s->to - s->from) * done / total : 0;
    s->o->progress(s->o->context, s->from + at, PARTS);
}

/* --- time --- */

static tt_status add_times(tt_analysis *a, tt_error *err)
{
    const tt_work *w = &a->work;
    stage s = {&a->options, 0, 600};
    tt_status status = tt_work_measure(a->m, &a->work, progress, &s, err);
    if (status != TT_OK) return status;
    for (size_t i = 0; i < w->n_windows; i++)
        if (w->windows[i].lanes > a->lanes) a->lanes = w->windows[i].lanes;
    a->compute_ns = tt_model_span_ns(a->m, w->busy_ticks);
    a->work_ns = tt_model_span_ns(a->m, w->busy_ticks - w->off_cpu_ticks);
    a->wait_ns = tt_model_span_ns(a->m, w->wait_ticks);
    a->idle_ns = tt_model_span_ns(a->m, w->idle_ticks);
    a->between_ns = tt_model_span_ns(a->m, w->between_ticks) * a->lanes;
    a->threads_observed = a->summary.runs_hooked > 0 || a->summary.runs_by_program > 0;
    a->waits_observed = a->threads_observed && a->m->waits_known;
    a->total_ns = a->compute_ns + a->wait_ns + a->idle_ns + a->between_ns;
    return tt_rollups_make(a) ? TT_OK : tt_error_memory(err, "the report");
}

/* --- reads --- */

/* Chooses as many first batches as have ops that fit into memory. */
static bool choose_batches(tt_analysis *a, tt_filter *filter)
{
    uint64_t ops = 0;
    for (size_t i = 0; i < a->work.n_cells; i++)
        ops += a->work.cells[i].count;
    if (ops <= TT_ANALYSIS_READS_OPS_MAX || a->m->n_batches < 2) return false;
    uint64_t keep = (uint64_t)((double)a->m->n_batches * TT_ANALYSIS_READS_OPS_MAX / (double)ops);
    if (keep < 1) keep = 1;
    filter->has_batch = true;
    filter->batch_first = tt_model_batch_number(a->m, 0);
    filter->batch_last = tt_model_batch_number(a->m, (uint32_t)keep - 1);
    a->reads_last_token = filter->batch_last;
    return true;
}

static tt_status add_whatif(tt_analysis *a, tt_error *err)
{
    const tt_whatif_plan plan = {.unit = TT_WHATIF_PAGE,
                                 .page_bytes = 4096,
                                 .disk.bytes_per_s = a->disk_bytes_per_s,
                                 .reader = TT_WHATIF_MMAP};
    uint64_t sizes[TT_ANALYSIS_RAM_SIZES];
    tt_whatif *w = NULL;
    tt_status status = tt_whatif_new(a->m, &a->reads, &plan, &w, err);
    if (status == TT_OK) {
        a->touched_bytes = tt_whatif_touched(w);
        tt_whatif_curve(w, TT_ANALYSIS_RAM_SIZES, sizes);
        status = tt_whatif_run(w, TT_POLICY_LRU, sizes, TT_ANALYSIS_RAM_SIZES, a->lru, err);
    }
    if (status == TT_OK)
        status = tt_whatif_run(w, TT_POLICY_BELADY, sizes, TT_ANALYSIS_RAM_SIZES, a->belady, err);
    a->has_whatif = status == TT_OK;
    tt_whatif_free(w);
    return status;
}

static tt_status add_reads(tt_analysis *a, tt_error *err)
{
    tt_filter filter = {0};
    stage s = {&a->options, 600, 800};
    a->reads_cut = choose_batches(a, &filter);
    tt_status status = tt_reads_collect(a->m, &filter, &a->reads, progress, &s, err);
    if (status != TT_OK || a->reads.n == 0) return status;
    a->has_reads = true;
    status = tt_heat_measure(a->m, &a->reads, &filter,
                             tt_heat_has_experts(&a->reads) ? TT_HEAT_EXPERT : TT_HEAT_TENSOR,
                             &a->heat, err);
    a->has_heat = status == TT_OK;
    return status == TT_OK ? add_whatif(a, err) : status;
}

/* --- the rest --- */

static tt_status add_routers(tt_analysis *a, tt_error *err)
{
    const tt_filter all = {0};
    stage s = {&a->options, 800, 900};
    a->expert_nodes = tt_routers_expert_nodes(a->m);
    if (a->expert_nodes == 0) return TT_OK;
    a->routers = tt_routers_new(a->m, &all, TT_PHASE_GENERATE);
    if (!a->routers) return tt_error_memory(err, "the report");
    return tt_routers_walk(a->routers, progress, &s, err);
}

static tt_status add_faults(tt_analysis *a, tt_error *err)
{
    stage s = {&a->options, 900, 1000};
    a->kernel = tt_kernel_new(a->m);
    if (!a->kernel) return tt_error_memory(err, "the report");
    const tt_filter all = {0};
    tt_kernel_batches(a->kernel, &all, &a->kernel_batches);
    tt_kernel_recording(a->kernel, &a->kernel_recording);
    if (!tt_model_has_faults(a->m) || !a->timed) return TT_OK;
    a->faults = tt_faults_new(a->m, TT_FAULTS_BY_BATCH, &all);
    if (!a->faults) return tt_error_memory(err, "the report");
    return tt_faults_sum(a->faults, progress, &s, err);
}

static tt_status add_pool(tt_analysis *a, tt_error *err)
{
    const tt_filter all = {0}, generated = {.phase = TT_PHASE_GENERATE};
    if (!a->m->n_pool_states || !a->timed) return TT_OK;
    tt_status status = tt_pool_find(&a->pool, a->m, err);
    if (status == TT_OK) status = tt_pool_time_find(&a->pool_time, a->m, err);
    if (status == TT_OK)
        status = tt_pool_sums_make(&a->pool_all, &a->pool, &a->pool_time, &all, err);
    if (status == TT_OK)
        status = tt_pool_sums_make(&a->pool_generated, &a->pool, &a->pool_time, &generated, err);
    if (status == TT_OK)
        status = tt_pool_bounds_find(&a->pool_bounds, &a->reads, &a->pool, &a->pool_time,
                                     a->options.disk_bytes_per_s, err);
    a->has_pool = status == TT_OK;
    return status;
}

static tt_status add_values(tt_analysis *a, tt_error *err)
{
    static const tt_values_query all, some = {.limit = TT_ANALYSIS_OUTLIERS};
    a->has_values = tt_outputs_any(a->m);
    if (!a->has_values) return TT_OK;
    tt_status status = tt_values_first_bad(a->m, &all, NULL, &a->values_first, err);
    if (status == TT_OK) status = tt_values_first_weights(a->m, NULL, &a->values_first, err);
    if (status == TT_OK) status = tt_values_grid_make(a->m, &all, NULL, NULL, &a->values_grid, err);
    if (status == TT_OK)
        status = tt_values_outliers_make(a->m, &some, NULL, &a->values_outliers, err);
    return status;
}

tt_status tt_analysis_make(const tt_model *m, const char *path, const tt_analysis_options *options,
                           tt_analysis *a, tt_error *err)
{
    memset(a, 0, sizeof *a);
    a->m = m;
    a->path = path;
    a->options = *options;
    a->timed = tt_model_need_clock(m, NULL) == TT_OK;
    a->disk_bytes_per_s =
        options->disk_bytes_per_s > 0 ? options->disk_bytes_per_s : TT_ANALYSIS_DISK_BYTES_PER_S;
    tt_summarize(m, &a->summary);
    tt_status status = tt_overview_make(m, NULL, NULL, NULL, NULL, &a->overview, err);
    if (status == TT_OK) status = add_times(a, err);
    if (status == TT_OK) status = add_reads(a, err);
    if (status == TT_OK) status = add_routers(a, err);
    if (status == TT_OK) status = add_faults(a, err);
    if (status == TT_OK) status = tt_loading_find(&a->loading, m, true, err);
    if (status == TT_OK) status = tt_buffers_analyze(m, &a->buffers, err);
    if (status == TT_OK) status = add_pool(a, err);
    if (status == TT_OK) status = add_values(a, err);
    return status;
}

void tt_analysis_free(tt_analysis *a)
{
    tt_rollups *rollups[] = {&a->by_part, &a->by_op, &a->by_layer, &a->points};
    tt_overview_free(&a->overview);
    tt_work_free(&a->work);
    for (size_t i = 0; i < sizeof rollups / sizeof *rollups; i++)
        free(rollups[i]->list);
    tt_heat_free(&a->heat);
    tt_reads_free(&a->reads);
    tt_routers_free(a->routers);
    tt_faults_free(a->faults);
    tt_kernel_free(a->kernel);
    tt_loading_free(&a->loading);
    tt_buffers_free(a->buffers);
    tt_pool_sums_free(&a->pool_all);
    tt_pool_sums_free(&a->pool_generated);
    tt_pool_time_free(&a->pool_time);
    tt_pool_free(&a->pool);
    tt_values_first_free(&a->values_first);
    tt_values_grid_free(&a->values_grid);
    tt_values_outliers_free(&a->values_outliers);
    memset(a, 0, sizeof *a);
}

/* --- experts, by layer --- */

TT_COLUMN_KNOWN(has_size, tt_layer_experts, l, l->expert_bytes > 0)
TT_COLUMN_SHOW(show_layer, tt_layer_experts, l, char text[TT_LAYER_TEXT];
               (void)snprintf(out, room, "%s",
                              l->layer_id < 0 ? "no layer" : tt_layer_text(text, l->layer_id));)

#define OF_LAYER(key_, title_, unit_, about_, member_, ...)                                        \
    TT_COLUMN(key_, title_, unit_, about_, TT_MEMBER(tt_layer_experts, member_), __VA_ARGS__)

static const tt_column experts_columns[] = {
    TT_COLUMN("layer_id", "LAYER", ID, "the layer", TT_LAYER,
              TT_LAYER_AT(tt_layer_experts, layer_id), .text = show_layer, .show = TT_SHOW_LEFT),
    TT_STACK(TT_LAYER_AT(tt_layer_experts, layer_id)),
    OF_LAYER("experts", "EXPERTS", COUNT, "that it has", sum.experts),
    OF_LAYER("picked", "A TOKEN PICKS", COUNT, "the most a token", sum.chosen_most),
    OF_LAYER("n_tokens", "TOKENS", COUNT, "routed", sum.tokens),
    OF_LAYER("unused", "UNUSED", COUNT, "experts", sum.unused),
    OF_LAYER("evenness", "EVENNESS", SHARE, "of the choices", sum.evenness),
    OF_LAYER("top_share", "MOST USED TAKES", SHARE, "of the choices", sum.top_share[0],
             .show = TT_SHOW_TEXT),
    OF_LAYER("stickiness", "KEPT FROM TOKEN BEFORE", SHARE, "chosen again", sum.stickiness),
    OF_LAYER("chance", "BY CHANCE", SHARE, "of that, by chance", sum.chance),
    OF_LAYER("expert_bytes", NULL, BYTES, "weights of one", expert_bytes, .known = has_size),
};
const tt_schema tt_layer_experts_schema = TT_SCHEMA("experts", "of a layer", experts_columns);

tt_layer_experts tt_layer_experts_of(const tt_router_layer *layer)
{
    tt_layer_experts l = {.layer_id = layer->layer_id, .expert_bytes = layer->expert_bytes};
    tt_router_sum_up(layer->router, &l.sum);
    return l;
}
