#include "arrow/analyses.h"

#include "analyze/buffers.h"
#include "analyze/expert_steps.h"
#include "analyze/faults.h"
#include "analyze/heat.h"
#include "analyze/kernel.h"
#include "analyze/kvcache.h"
#include "analyze/lacking.h"
#include "analyze/loading.h"
#include "analyze/log/columns.h"
#include "analyze/page_faults.h"
#include "analyze/pool.h"
#include "analyze/routers_columns.h"
#include "analyze/stats.h"
#include "model/faults.h"

#include <stdlib.h>
#include <string.h>

#define FILTER "batch phase layer op tensor model context"
#define COUNT(a) (sizeof(a) / sizeof *(a))
#define STRETCHES_MAX 64u

tt_status tt_arrow_list(tt_arrow_listed *l, const tt_model *m, const tt_rowset *set,
                        const tt_arrow_options *o, const char *sort,
                        bool (*passes)(const void *context, const void *row), tt_error *err)
{
    const tt_listing_wish wish = {.columns = o->columns,
                                  .sort = o->sort ? o->sort : sort,
                                  .limit = o->limit,
                                  .csv = true,
                                  .passes = passes};
    tt_listing rows;
    tt_status status = tt_listing_make(&rows, set, &wish, err);
    if (status == TT_OK) status = tt_arrow_listed_all(l, &rows, m, err);
    tt_listing_free(&rows);
    return status;
}

tt_status tt_arrow_no_value(const char *option, const char *value, const char *names, tt_error *err)
{
    return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "%s: \"%.40s\" is not %s", option, value,
                        names);
}

static tt_status not_recorded(const tt_model *m, const char *what, const char *option,
                              tt_error *err)
{
    char how[TT_LACKING_TEXT];
    return tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET, "%s not recorded: %s", what,
                        tt_lacking_how(m, option, how));
}

/* --- heat --- */

static bool is_cold(const void *context, const void *row)
{
    (void)context;
    return ((const tt_heat_row *)row)->accesses == 0;
}

static tt_status heat(const tt_model *m, const tt_arrow_options *o, tt_arrow_listed *l,
                      tt_error *err)
{
    static const char *const names[] = {"tensor",    "expert", "layer",
                                        "component", "model",  "context"};
    const tt_heat_context x = {m};
    tt_reads reads = {0};
    tt_heat h = {0};
    unsigned by = 0;
    while (o->by && by < COUNT(names) && strcmp(o->by, names[by]) != 0)
        by++;
    if (by == COUNT(names))
        return tt_arrow_no_value("by", o->by, "tensor, expert, layer, component, model or context",
                                 err);
    tt_status status = tt_reads_collect(m, &o->filter, &reads, NULL, NULL, err);
    if (!o->by && tt_heat_has_experts(&reads)) by = TT_HEAT_EXPERT;
    if (status == TT_OK) status = tt_heat_measure(m, &reads, &o->filter, (tt_heat_by)by, &h, err);
    const tt_rowset set = tt_heat_rowset(&x, &h, (tt_heat_by)by);
    if (status == TT_OK)
        status =
            tt_arrow_list(l, m, &set, o, o->cold ? "size" : "read", o->cold ? is_cold : NULL, err);
    tt_heat_free(&h);
    tt_reads_free(&reads);
    return status;
}

/* --- stats --- */

static tt_status stats(const tt_model *m, const tt_arrow_options *o, tt_arrow_listed *l,
                       tt_error *err)
{
    const tt_stats_dimension *by = tt_stats_dimensions;
    const tt_stats_dimension *end = by + TT_STATS_DIMENSIONS;
    size_t n;
    while (o->by && by < end && strcmp(o->by, by->name) != 0)
        by++;
    if (by == end)
        return tt_arrow_no_value(
            "by", o->by,
            "op, layer, component, category, tensor, thread, batch, phase, model or context", err);
    tt_status status = tt_model_need_clock(m, err);
    if (status != TT_OK) return status;
    tt_stats *s = tt_stats_new(m, by->by, &o->filter);
    if (!s) return tt_error_memory(err, "the sums");
    status = tt_stats_walk(&s, 1, m, NULL, NULL, err);
    if (status == TT_OK) {
        const tt_stats_row *rows = tt_stats_rows(s, &n);
        const tt_stats_context x = {tt_stats_total(s)};
        const tt_rowset set = tt_stats_rowset(&x, by->by, rows, n);
        status = tt_arrow_list(l, m, &set, o, by->sort, NULL, err);
    }
    tt_stats_free(s);
    return status;
}

/* --- faults --- */

static tt_status fault_pages(const tt_model *m, const tt_arrow_options *o, tt_arrow_listed *l,
                             tt_error *err)
{
    const tt_fault_pages_by by = o->mappings ? TT_FAULT_PAGES_BY_MAPPING : TT_FAULT_PAGES_BY_PAGE;
    tt_page_faults f = {0};
    tt_fault_page *pages = NULL;
    size_t n;
    if (m->n_fault_spans == 0) return not_recorded(m, "page faults were", "--faults=both", err);
    tt_status status = tt_page_faults_find(&f, m, err);
    if (status == TT_OK) status = tt_fault_pages_sum(&f, by, &o->filter, &pages, &n, err);
    if (status == TT_OK) {
        const tt_rowset set = tt_fault_pages_rowset(&f, by, pages, n);
        status = tt_arrow_list(l, m, &set, o, o->mappings ? "faults" : NULL, NULL, err);
    }
    free(pages);
    tt_page_faults_free(&f);
    return status;
}

static tt_status loading(const tt_model *m, const tt_arrow_options *o, tt_arrow_listed *l,
                         tt_error *err)
{
    tt_loading found = {0};
    tt_status status = tt_loading_find(&found, m, true, err);
    if (status == TT_OK && found.n == 0)
        status = not_recorded(m, "how the model was loaded was", "--residency", err);
    if (status == TT_OK) {
        const tt_rowset set = tt_loading_rowset(&found);
        status = tt_arrow_list(l, m, &set, o, NULL, NULL, err);
    }
    tt_loading_free(&found);
    return status;
}

static tt_status pool(const tt_model *m, const tt_arrow_options *o, tt_arrow_listed *l,
                      tt_error *err)
{
    tt_pool_report p = {0};
    if (m->n_pool_states == 0)
        return tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET,
                            "`tensortrace boost` did not read in this run");
    tt_status status = tt_pool_find(&p, m, err);
    if (status == TT_OK) {
        const tt_rowset set = o->pool ? tt_pool_rowset(&p) : tt_pool_reads_rowset(&p);
        status = tt_arrow_list(l, m, &set, o, NULL, NULL, err);
    }
    tt_pool_free(&p);
    return status;
}

static tt_status fault_sums(const tt_model *m, const tt_arrow_options *o, tt_arrow_listed *l,
                            tt_error *err)
{
    const tt_faults_dimension *by = tt_faults_dimensions;
    const tt_faults_dimension *end = by + TT_FAULTS_DIMENSIONS;
    tt_kernel_sum process;
    size_t n;
    while (o->by && by < end && strcmp(o->by, by->name) != 0)
        by++;
    if (by == end)
        return tt_arrow_no_value("by", o->by,
                                 "tensor, expert, batch, layer, op, thread, model or context", err);
    if (!tt_model_has_faults(m)) return not_recorded(m, "faults of ops were", "--faults", err);
    tt_kernel *kernel = tt_kernel_new(m);
    tt_faults *f = tt_faults_new(m, by->by, &o->filter);
    tt_status status =
        kernel && f ? tt_faults_sum(f, NULL, NULL, err) : tt_error_memory(err, "the faults");
    if (status == TT_OK) {
        const tt_faults_row *rows = tt_faults_rows(f, &n);
        const tt_faults_context x = {m, kernel, by->by, tt_faults_total(f), &process};
        const tt_rowset set = tt_faults_rowset(&x, by->by, rows, n);
        status = tt_arrow_list(l, m, &set, o, by->sort, NULL, err);
    }
    tt_faults_free(f);
    tt_kernel_free(kernel);
    return status;
}

static tt_status faults(const tt_model *m, const tt_arrow_options *o, tt_arrow_listed *l,
                        tt_error *err)
{
    const bool whole = o->loading || o->pool || o->pool_reads;
    if (whole + o->pages + o->mappings + !!o->by > 1)
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                            "faults: one of by, pages, mappings, loading, pool and pool-reads");
    if (whole && o->filtered)
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                            "faults: loading, pool and pool-reads are of the whole run: they go "
                            "with no filter");
    if ((o->pages || o->mappings) && o->filter.op)
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                            "faults: pages and mappings take no op: faults outside of ops are of "
                            "no op");
    return o->loading                 ? loading(m, o, l, err)
           : o->pool || o->pool_reads ? pool(m, o, l, err)
           : o->pages || o->mappings  ? fault_pages(m, o, l, err)
                                      : fault_sums(m, o, l, err);
}

/* --- routing --- */

/* The experts of each layer that passes; a draft model has a layer of that number, too. */
static tt_status list_experts(const tt_routing_context *x, const tt_routing_rows *rows,
                              const tt_arrow_options *o, tt_arrow_listed *l, tt_error *err)
{
    tt_status status = TT_OK;
    for (size_t i = 0; i < rows->n && status == TT_OK; i++) {
        if (!tt_routing_passes(x, &rows->rows[i])) continue;
        const tt_rowset set = tt_routing_expert_rowset(x, &rows->rows[i]);
        status = tt_arrow_list(l, x->m, &set, o, "count", NULL, err);
    }
    return status;
}

static tt_status list_steps(const tt_model *m, const tt_routers *r, const tt_arrow_options *o,
                            tt_arrow_listed *l, tt_error *err)
{
    tt_expert_step *list = NULL;
    size_t n;
    tt_status status = tt_expert_steps_make(r, &list, &n, err);
    if (status == TT_OK) {
        const tt_rowset set = TT_ROWSET(&tt_expert_step_schema, TT_EXPERTS_OF_TRACE, NULL, list, n);
        status = tt_arrow_list(l, m, &set, o, "count", NULL, err);
    }
    free(list);
    return status;
}

static tt_status list_stretches(const tt_model *m, const tt_arrow_options *o, tt_arrow_listed *l,
                                tt_error *err)
{
    tt_expert_span *list = NULL;
    size_t n;
    tt_status status = tt_expert_spans_make(m, &o->filter, o->over_time, &list, &n, err);
    if (status == TT_OK) {
        const tt_rowset set = TT_ROWSET(&tt_expert_span_schema, TT_EXPERTS_OF_TRACE, NULL, list, n);
        status = tt_arrow_list(l, m, &set, o, NULL, NULL, err);
    }
    free(list);
    return status;
}

static tt_status list_routers(const tt_model *m, const tt_routers *r, const tt_arrow_options *o,
                              tt_arrow_listed *l, tt_error *err)
{
    const tt_routing_context x = {m, &o->filter};
    tt_routing_rows rows = {0};
    tt_status status = tt_routing_rows_make(r, &rows) ? TT_OK : tt_error_memory(err, "the routers");
    if (status == TT_OK && rows.n == 0)
        status = tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET,
                              "the trace holds no choices of experts");
    if (status == TT_OK && o->transitions) {
        status = list_steps(m, r, o, l, err);
    } else if (status == TT_OK && o->filter.has_layer) {
        status = list_experts(&x, &rows, o, l, err);
    } else if (status == TT_OK) {
        const tt_rowset set = tt_routing_layer_rowset(&x, TT_ROUTING_NO_EXPERTS, &rows);
        status = tt_arrow_list(l, m, &set, o, NULL, NULL, err);
    }
    tt_routing_rows_free(&rows);
    return status;
}

static tt_status routing(const tt_model *m, const tt_arrow_options *o, tt_arrow_listed *l,
                         tt_error *err)
{
    const uint8_t texts_of = (uint8_t)(o->filter.phase ? o->filter.phase : TT_PHASE_PROMPT);
    if ((o->transitions || o->over_time) && !o->filter.has_layer)
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                            "routing: transitions and over-time are of a layer");
    if (o->over_time > STRETCHES_MAX)
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "routing: over-time is 1 to %u",
                            STRETCHES_MAX);
    if (o->over_time) return list_stretches(m, o, l, err);
    tt_routers *r = tt_routers_new(m, &o->filter, texts_of);
    if (!r) return tt_error_memory(err, "the routers");
    if (o->transitions) tt_routers_keep_transitions(r);
    tt_status status = tt_routers_walk(r, NULL, NULL, err);
    if (status == TT_OK) status = list_routers(m, r, o, l, err);
    tt_routers_free(r);
    return status;
}

/* --- buffers --- */

static tt_status buffers(const tt_model *m, const tt_arrow_options *o, tt_arrow_listed *l,
                         tt_error *err)
{
    tt_buffers *b = NULL;
    tt_kv *kv = NULL;
    if (o->timeline && o->kv)
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "buffers: timeline or kv, not both");
    const tt_filter *f = o->filter.model || o->filter.has_context ? &o->filter : NULL;
    tt_status status = tt_buffers_of(m, f, &b, err);
    if (status == TT_OK) status = tt_kv_of(m, f, &kv, err);
    if (status == TT_OK) {
        const tt_buffers_context x = {.m = m, .buffers = b, .kv = kv};
        const tt_rowset set =
            o->timeline ? TT_ROWSET(&tt_buffer_event_schema, 0, &x, b->events, b->n_events)
            : o->kv     ? tt_kv_step_rowset(&x)
                        : TT_ROWSET(&tt_buffer_schema, 0, &x, m->buffers, m->n_buffers);
        status = tt_arrow_list(l, m, &set, o, NULL,
                               f && !o->timeline && !o->kv ? tt_buffers_is_used : NULL, err);
    }
    tt_buffers_free(b);
    tt_kv_free(kv);
    return status;
}

/* --- log --- */

typedef struct log_walk {
    const tt_model *m;
    tt_arrow_listed *l;
    const tt_listing *listing;
    tt_log_picks picks;
    tt_log_row row;
    tt_bytes text;
    uint64_t rows, limit;
    tt_status status;
    tt_error *err;
} log_walk;

static bool add_op(void *context, const tt_log_op *op)
{
    log_walk *w = context;
    tt_log_row *r = &w->row;
    if (w->limit && w->rows == w->limit) return false;
    w->rows++;
    *r = (tt_log_row){.row = op, .text = &w->text};
    w->status = tt_log_picks_of(&w->picks, op, &r->op, &r->accesses, &r->n_accesses, w->err);
    if (w->status == TT_OK) w->status = tt_arrow_listed_add(w->l, w->listing, r, w->err);
    if (w->status == TT_OK && w->text.failed) w->status = tt_error_memory(w->err, "texts");
    return w->status == TT_OK;
}

static tt_status walk_log(log_walk *w, const tt_arrow_options *o, bool by_lane)
{
    const tt_rowset set = tt_log_rowset(w->m, &w->row, by_lane);
    const tt_listing_wish wish = {.columns = o->columns, .csv = true};
    tt_listing listing;
    tt_status status = tt_listing_make(&listing, &set, &wish, w->err);
    w->listing = &listing;
    if (status == TT_OK) status = tt_arrow_listed_begin(w->l, &listing, w->m, w->err);
    if (status == TT_OK) status = tt_log_walk(w->m, &o->filter, by_lane, add_op, w, w->err);
    tt_listing_free(&listing);
    return status == TT_OK ? w->status : status;
}

static tt_status ops_log(const tt_model *m, const tt_arrow_options *o, tt_arrow_listed *l,
                         tt_error *err)
{
    log_walk w = {.m = m, .l = l, .picks = {.m = m}, .limit = o->limit, .err = err};
    tt_status status = tt_model_need_clock(m, err);
    if (status != TT_OK) return status;
    if (o->sort)
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "log: its order is that of time");
    tt_bytes_init(&w.text, (size_t)1 << 20);
    status = walk_log(&w, o, o->lanes || o->filter.has_lane);
    tt_log_picks_free(&w.picks);
    tt_bytes_free(&w.text);
    return status;
}

/* --- all of them --- */

static const tt_arrow_analysis_kind kinds[] = {
    {"heat", "how often each weight is read, and which are never read", "by cold " FILTER, heat},
    {"stats", "time and bytes of the ops, summed up", "by " FILTER, stats},
    {"faults", "what had to come from disk, for which weights",
     "by pages mappings loading pool pool-reads " FILTER, faults},
    {"whatif", "what a cache of some size would have to read from disk",
     "ram curve policy unit page-size order readahead warm reserve disk reader ahead depth guess boost "
     "model "
     "context",
     tt_arrow_whatif},
    {"routing", "which experts were chosen",
     "layer batch phase model context transitions over-time", routing},
    {"buffers", "what memory the engine asked for, when, and for what", "timeline kv model context",
     buffers},
    {"log", "the ops in the order in which they began",
     "lanes thread origin from to text min-duration max-duration " FILTER, ops_log},
    {"values", "outputs of the ops", "by outliers growth base_name only samples name " FILTER,
     tt_arrow_values},
};

const tt_arrow_analysis_kind *tt_arrow_analysis_at(uint32_t index)
{
    return index < COUNT(kinds) ? &kinds[index] : NULL;
}

const tt_arrow_analysis_kind *tt_arrow_analysis_find(const char *name)
{
    for (size_t i = 0; name && i < COUNT(kinds); i++)
        if (strcmp(kinds[i].name, name) == 0) return &kinds[i];
    return NULL;
}

tt_status tt_arrow_analysis_stream(const tt_model *m, const tt_arrow_analysis_kind *kind,
                                   const char *const *options, struct ArrowArrayStream *out,
                                   tt_error *err)
{
    char takes[256];
    tt_arrow_options o;
    tt_arrow_listed *l = calloc(1, sizeof *l);
    if (!l) return tt_error_memory(err, "the rows");
    (void)snprintf(takes, sizeof takes, "columns sort limit %s", kind->takes);
    tt_status status = tt_arrow_options_read(&o, kind->name, takes, options, err);
    if (status == TT_OK) status = kind->run(m, &o, l, err);
    if (status == TT_OK && !l->shape.table)
        status = tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET,
                              "%s: the trace has nothing of what was asked for", kind->name);
    tt_arrow_options_free(&o);
    if (status == TT_OK) return tt_arrow_listed_stream(l, out, err);
    tt_arrow_listed_free(l);
    return status;
}
