#include "report/json.h"

#include "answer/info.h"
#include "answer/roofline.h"
#include "answer/values.h"
#include "base/hex.h"
#include "base/json.h"

#include <math.h>
#include <stdlib.h>

static double of(double part, double all)
{
    return all > 0 ? part / all : NAN;
}

/* An unknown figure is NAN, which becomes null. */
static double positive(double v)
{
    return v > 0 ? v : NAN;
}

static double span(const tt_analysis *a, bool known, uint64_t ticks)
{
    return known ? tt_model_span_ns(a->m, ticks) : NAN;
}

/* A figure of a row R; the context A is the analysis part. */
#define FIGURE(name, row_type, r, value)                                                           \
    static void name(const void *context, const void *row, tt_cell *cell)                          \
    {                                                                                              \
        const tt_analysis *a = context;                                                            \
        const row_type *r = row;                                                                   \
        (void)a;                                                                                   \
        (void)r;                                                                                   \
        cell->f64 = (value);                                                                       \
        cell->known = true;                                                                        \
    }
#define F64(getter) .type = TT_CELL_F64, .get = (getter)

/* --- time --- */

enum { BY_CATEGORY = 1, BY_OP = 2, BY_LAYER = 4 };

FIGURE(rollup_share, tt_rollup, r, of(r->work_ns, a->work_ns))
FIGURE(rollup_thread_share, tt_rollup, r, of(r->compute_ns + r->wait_ns, a->total_ns))
FIGURE(rollup_wait, tt_rollup, r, a->waits_observed ? r->wait_ns : NAN)
TT_COLUMN_KNOWN(has_wall, tt_rollup, r, r->timed > 0)

TT_COLUMN_GET(get_layer, tt_rollup, r, tt_cell_id(cell, r->number);)
TT_COLUMN_GET(get_layer_model, tt_rollup, r, const tt_analysis *a = context; if (r->number >= 0)
                  tt_cell_text(cell, tt_model_path(a->m, tt_layer_model((int32_t)r->number)));)
static const tt_column rollup_columns[] = {
    TT_FIELD("category", "part of the network", TT_MEMBER(tt_rollup, key), .kinds = BY_CATEGORY),
    TT_FIELD("op", "kind of op", TT_MEMBER(tt_rollup, key), .kinds = BY_OP),
    TT_FIELD("layer_id", "null: outside any", TT_LAYER, .get = get_layer, .kinds = BY_LAYER),
    TT_STACK(.kinds = BY_LAYER, .get = get_layer),
    TT_FIELD("model_file", "of the layer; null: outside any, or not known", .type = TT_CELL_NAME,
             .get = get_layer_model, .kinds = BY_LAYER),
    TT_FIELD("count", "executions", TT_MEMBER(tt_rollup, count)),
    TT_FIELD("share", "of all own work", F64(rollup_share)),
    TT_FIELD("thread_time_share", "of the threads' time", F64(rollup_thread_share)),
    TT_FIELD("work_ns", "own work", TT_MEMBER(tt_rollup, work_ns)),
    TT_FIELD("compute_ns", "of threads, in ops", TT_MEMBER(tt_rollup, compute_ns)),
    TT_FIELD("wait_ns", "of threads, for others", F64(rollup_wait)),
    TT_FIELD("total_ns", "from begin to end", TT_MEMBER(tt_rollup, wall_ns), .known = has_wall),
};
static const tt_schema rollup_schema = TT_SCHEMA("rollup", "ops summed up", rollup_columns);

static void rollups(const tt_rollups *rows, unsigned by, tt_rowset *out)
{
    out->kind = (uint8_t)by;
    out->rows = rows->list;
    out->row_bytes = sizeof *rows->list;
    out->n = rows->n;
}

#define ROLLUPS(name, member, by)                                                                  \
    static void name(const void *context, const void *row, tt_rowset *out)                         \
    {                                                                                              \
        (void)context;                                                                             \
        rollups(&((const tt_analysis *)row)->member, (by), out);                                   \
    }
ROLLUPS(by_category, by_part, BY_CATEGORY)
ROLLUPS(by_op, by_op, BY_OP)
ROLLUPS(by_layer, by_layer, BY_LAYER)

FIGURE(elapsed, tt_analysis, r, span(a, true, a->work.span_ticks))
FIGURE(waited, tt_analysis, r, a->waits_observed ? a->wait_ns : NAN)
FIGURE(off_cpu, tt_analysis, r, span(a, a->work.off_cpu_known, a->work.off_cpu_ticks))
FIGURE(overlap, tt_analysis, r, span(a, true, a->work.overlap_ticks))

static const tt_column time_columns[] = {
    TT_FIELD("threads", "the most at once", TT_MEMBER(tt_analysis, lanes)),
    TT_FIELD("elapsed_ns", "of all computations", F64(elapsed)),
    TT_FIELD("thread_time_ns", "of all threads", TT_MEMBER(tt_analysis, total_ns)),
    TT_FIELD("work_ns", "own work", TT_MEMBER(tt_analysis, work_ns)),
    TT_FIELD("compute_ns", "in ops", TT_MEMBER(tt_analysis, compute_ns)),
    TT_FIELD("wait_ns", "for other threads", F64(waited)),
    TT_FIELD("off_cpu_ns", "on no processor in ops", F64(off_cpu)),
    TT_FIELD("idle_ns", "in computations, without an op", TT_MEMBER(tt_analysis, idle_ns)),
    TT_FIELD("between_batches_ns", "in no computation", TT_MEMBER(tt_analysis, between_ns)),
    TT_FIELD("overlap_ns", "in two computations or more", F64(overlap)),
    TT_FIELD("by_category", "by part of the network", .type = TT_CELL_ROWS, .inner = &rollup_schema,
             .rows = by_category),
    TT_FIELD("by_op", "by kind of op", .type = TT_CELL_ROWS, .inner = &rollup_schema,
             .rows = by_op),
    TT_FIELD("by_layer", "by layer", .type = TT_CELL_ROWS, .inner = &rollup_schema,
             .rows = by_layer),
};
static const tt_schema time_schema = TT_SCHEMA("time", "where it went", time_columns);

/* --- roofline --- */

static const char *from_name(tt_edges_from from)
{
    return from == TT_EDGES_MEASURED ? "measured" : from == TT_EDGES_GIVEN ? "given" : NULL;
}

TT_COLUMN_GET(bandwidth_from, tt_edges, e, tt_cell_text(cell, from_name(e->bandwidth_from));)
TT_COLUMN_GET(peak_from, tt_edges, e, tt_cell_text(cell, from_name(e->peak_from));)
FIGURE(bandwidth, tt_edges, e, positive(e->bytes_per_s))
FIGURE(peak_flops, tt_edges, e, positive(e->flops_per_s))
FIGURE(peak_int8, tt_edges, e, positive(e->int8_ops_per_s))

static const tt_column bounds_columns[] = {
    TT_FIELD("total_ns", "of all ops", TT_MEMBER(tt_bounds, all_ns)),
    TT_FIELD("memory_ns", "bound by memory", TT_MEMBER(tt_bounds, wall_ns[TT_BOUND_MEMORY])),
    TT_FIELD("compute_ns", "by the peak", TT_MEMBER(tt_bounds, wall_ns[TT_BOUND_COMPUTE])),
    TT_FIELD("neither_ns", "far from both", TT_MEMBER(tt_bounds, wall_ns[TT_BOUND_NEITHER])),
    TT_FIELD("unknown_ns", "not known", TT_MEMBER(tt_bounds, wall_ns[TT_BOUND_UNKNOWN])),
};
static const tt_schema bounds_schema = TT_SCHEMA("bounds", "what bounds ops", bounds_columns);

static const tt_column edges_columns[] = {
    TT_FIELD("bandwidth_from", "measured or given", .type = TT_CELL_NAME, .get = bandwidth_from),
    TT_FIELD("bandwidth_bytes_per_s", "of memory", F64(bandwidth)),
    TT_FIELD("peak_from", "measured or given", .type = TT_CELL_NAME, .get = peak_from),
    TT_FIELD("peak_flops_per_s", "of the machine", F64(peak_flops)),
    TT_FIELD("peak_int8_ops_per_s", "with integers", F64(peak_int8)),
    TT_FIELD("not_measured", "why", TT_MEMBER_CHARS(tt_edges, why_not), .show = TT_SHOW_OMIT),
};
static const tt_schema edges_schema = TT_SCHEMA("edges", "of the machine", edges_columns);

TT_COLUMN_ROWS(points, tt_analysis, a, a->points.list, a->points.n)

static const tt_column roofline_columns[] = {
    TT_FIELD("all", "all ops", TT_MEMBER_OBJECT(tt_analysis, bounds, &bounds_schema)),
    TT_FIELD("generate", "of generated tokens",
             TT_MEMBER_OBJECT(tt_analysis, generate, &bounds_schema)),
    TT_FIELD("ops", "points of the roofline", .type = TT_CELL_ROWS,
             .inner = &tt_roofline_point_schema, .rows = points),
};
static const tt_schema roofline_schema = TT_SCHEMA("roofline", "what bounds", roofline_columns);

TT_COLUMN_JSON(json_roofline, tt_analysis, a, {
    const tt_peaks peaks = tt_edges_peaks(&a->options.edges);
    const tt_rowset edges = TT_ROWSET(&edges_schema, 0, a, &a->options.edges, 1);
    const tt_rowset bounds = TT_ROWSET(&roofline_schema, 0, &peaks, a, 1);
    tt_json_object(j);
    tt_rowset_json(j, &edges, edges.rows);
    tt_rowset_json(j, &bounds, a);
    tt_json_object_end(j);
})

/* --- threads --- */

TT_COLUMN_VALUE(thread_id, tt_work_lane, l, u64,
                (uint64_t)(l - ((const tt_analysis *)context)->work.lanes))
FIGURE(thread_busy, tt_work_lane, l, span(a, true, l->busy_ticks))
FIGURE(thread_wait, tt_work_lane, l, span(a, a->waits_observed, l->wait_ticks))
FIGURE(thread_last, tt_work_lane, l, a->waits_observed ? (double)l->last : NAN)
TT_COLUMN_JSON(json_waited_for, tt_work_lane, l, {
    const tt_analysis *a = context;
    const tt_work *w = &a->work;
    const size_t at = (size_t)(l - w->lanes) * w->n_lanes;
    tt_json_array(j);
    for (uint32_t k = 0; w->waits && a->waits_observed && k < w->n_lanes; k++)
        tt_json_double(j, tt_model_span_ns(a->m, w->waits[at + k]));
    tt_json_array_end(j);
})

static const tt_column thread_columns[] = {
    TT_FIELD("thread_id", "the thread", .type = TT_CELL_U64, .get = thread_id),
    TT_FIELD("ops", "that it took part in", TT_MEMBER(tt_work_lane, ops)),
    TT_FIELD("compute_ns", "in ops", F64(thread_busy)),
    TT_FIELD("wait_ns", "for other threads", F64(thread_wait)),
    TT_FIELD("last_to_arrive", "times at a barrier", F64(thread_last)),
    TT_FIELD("waited_for_ns", "for each thread", .type = TT_CELL_ROWS, .json = json_waited_for),
};
static const tt_schema thread_schema = TT_SCHEMA("threads", "of the engine", thread_columns);

/* --- memory --- */

TT_COLUMN_KNOWN(has_heat, tt_analysis, a, a->has_heat)
TT_COLUMN_KNOWN(is_cut, tt_analysis, a, a->reads_cut)
FIGURE(generate_bytes, tt_analysis, r,
       of((double)a->heat.of_phase[TT_PHASE_GENERATE].distinct_bytes,
          (double)a->heat.of_phase[TT_PHASE_GENERATE].batches))

static const tt_column cut_columns[] = {
    TT_FIELD("last_batch_id", "whose reads were analysed", .known = is_cut, .show = TT_SHOW_OMIT,
             TT_MEMBER(tt_analysis, reads_last_token)),
};
static const tt_schema cut_schema = TT_SCHEMA("reads", "of which batches", cut_columns);

static const tt_column generate_columns[] = {
    TT_FIELD("generate_batch_bytes", "distinct, of a batch that generates", F64(generate_bytes)),
};
static const tt_schema generate_schema = TT_SCHEMA("reads", "of a batch", generate_columns);

/* The columns of the heat's summary are between the analysis' own. */
TT_COLUMN_JSON(json_reads, tt_analysis, a, {
    const tt_rowset cut = TT_ROWSET(&cut_schema, 0, a, a, 1),
                    summary = TT_ROWSET(&tt_heat_summary_schema, 0, NULL, &a->heat, 1),
                    generate = TT_ROWSET(&generate_schema, 0, a, a, 1);
    tt_json_object(j);
    tt_rowset_json(j, &cut, a);
    tt_rowset_json(j, &summary, &a->heat);
    tt_rowset_json(j, &generate, a);
    tt_json_object_end(j);
})

TT_COLUMN_JSON(json_experts, tt_analysis, a, {
    size_t n = 0;
    const tt_router_layer *layers = a->routers ? tt_routers_layers(a->routers, &n) : NULL;
    tt_json_array(j);
    for (size_t i = 0; i < n; i++) {
        const tt_layer_experts l = tt_layer_experts_of(&layers[i]);
        tt_row_json(j, NULL, &tt_layer_experts_schema, NULL, &l);
    }
    tt_json_array_end(j);
})

static const tt_faults_row *ops_reads(const tt_analysis *a)
{
    return a->faults ? tt_faults_total(a->faults) : NULL;
}

static double ops_read_bytes(const tt_faults_row *total)
{
    return total && total->counts.observed_reads ? (double)total->counts.read_bytes : NAN;
}

FIGURE(major, tt_kernel_sum, k, k->has_faults ? (double)k->major : NAN)
FIGURE(minor, tt_kernel_sum, k, k->has_faults ? (double)k->minor : NAN)
FIGURE(disk_read, tt_kernel_sum, k, k->has_io ? (double)k->read_bytes : NAN)
FIGURE(ops_read, tt_kernel_sum, k, ops_read_bytes(ops_reads(a)))
FIGURE(ops_rate, tt_kernel_sum, k, ops_reads(a) ? tt_faults_rate(ops_reads(a)) : NAN)

static const tt_column disk_columns[] = {
    TT_FIELD("major_faults", "of the process", F64(major)),
    TT_FIELD("minor_faults", "of the process", F64(minor)),
    TT_FIELD("read_bytes", "of the process", F64(disk_read)),
    TT_FIELD("batches_not_observed", "without figures of the process",
             TT_MEMBER(tt_kernel_sum, missing)),
    TT_FIELD("ops_read_bytes", "while in ops", F64(ops_read)),
    TT_FIELD("ops_rate_bytes_per_s", "while in ops", F64(ops_rate)),
};
static const tt_schema disk_schema = TT_SCHEMA("disk", "in batches", disk_columns);

static double missed(const tt_whatif_part *p)
{
    return of((double)p->missed_bytes, (double)p->tokens);
}

FIGURE(missed_bytes, tt_whatif_part, p, missed(p))
FIGURE(rate_apart, tt_whatif_part, p, positive(tt_whatif_rate_apart(p)))
FIGURE(rate_overlap, tt_whatif_part, p, positive(tt_whatif_rate_overlap(p)))

static const tt_column part_columns[] = {
    TT_FIELD("missed_bytes_per_token", "from disk", F64(missed_bytes)),
    TT_FIELD("tokens_per_s", "reading, then computing", F64(rate_apart)),
    TT_FIELD("tokens_per_s_prefetched", "both at once", F64(rate_overlap)),
};
static const tt_schema part_schema = TT_SCHEMA("part", "with so much RAM", part_columns);

/* A row is the result of LRU; that of Belady has the same index in its own list. */
TT_COLUMN_ROWS(lru, tt_whatif_result, r, tt_whatif_told(r), 1)
TT_COLUMN_ROWS(belady, tt_whatif_result, r,
               tt_whatif_told(&((const tt_analysis *)context)
                                   ->belady[r - ((const tt_analysis *)context)->lru]),
               1)

static const tt_column size_columns[] = {
    TT_FIELD("ram_bytes", "of the cache", TT_MEMBER(tt_whatif_result, ram_bytes)),
    TT_FIELD("lru", "least recently used is dropped", .type = TT_CELL_OBJECT, .inner = &part_schema,
             .rows = lru),
    TT_FIELD("belady", "what is needed last is dropped", .type = TT_CELL_OBJECT,
             .inner = &part_schema, .rows = belady),
};
static const tt_schema size_schema = TT_SCHEMA("sizes", "a size of the cache", size_columns);

TT_COLUMN_KNOWN(has_whatif, tt_analysis, a, a->has_whatif)
TT_COLUMN_VALUE(is_assumed, tt_analysis, a, boolean, a->options.disk_bytes_per_s <= 0)
TT_COLUMN_ROWS(sizes, tt_analysis, a, a->lru, TT_ANALYSIS_RAM_SIZES)

static const tt_column whatif_columns[] = {
    TT_FIELD("disk_bytes_per_s", "of the disk", TT_MEMBER(tt_analysis, disk_bytes_per_s)),
    TT_FIELD("disk_assumed", "that was not given", .type = TT_CELL_BOOL, .get = is_assumed),
    TT_FIELD("touched_bytes", "distinct bytes read", TT_MEMBER(tt_analysis, touched_bytes)),
    TT_FIELD("sizes", "by size of the cache", .type = TT_CELL_ROWS, .inner = &size_schema,
             .rows = sizes),
};
static const tt_schema whatif_schema = TT_SCHEMA("whatif", "smaller caches", whatif_columns);

/* --- values --- */

TT_COLUMN_KNOWN(has_values, tt_analysis, a, a->has_values)
TT_COLUMN_JSON(json_first_bad, tt_analysis, a,
               tt_values_first_json(j, a->path, a->m, &a->values_first);)

static void put_values(tt_json *j, const tt_analysis *a, const tt_rowset *set, tt_values_view v)
{
    tt_error err;
    v.path = a->path;
    if (tt_values_rows_json(j, a->m, set, v, &err) != TT_OK) tt_json_null(j);
}

TT_COLUMN_JSON(json_growth, tt_analysis, a, {
    size_t n;
    tt_values_growth *list = tt_values_growth_list(a->m, &a->values_grid, &n);
    const tt_rowset growth = tt_values_growth_rowset(a->m, list, n);
    if (list)
        put_values(j, a, &growth, (tt_values_view){.grid = &a->values_grid});
    else
        tt_json_null(j);
    free(list);
})
TT_COLUMN_JSON(json_outliers, tt_analysis, a, {
    const tt_rowset outliers = tt_values_outliers_rowset(a->m, &a->values_outliers, false);
    put_values(j, a, &outliers, (tt_values_view){.outliers = &a->values_outliers});
})

static const tt_column values_columns[] = {
    TT_FIELD("first_bad", "a NaN or infinity", .type = TT_CELL_OBJECT, .json = json_first_bad),
    TT_FIELD("growth", "over the layers", .type = TT_CELL_OBJECT, .json = json_growth),
    TT_FIELD("outliers", "unlike others", .type = TT_CELL_OBJECT, .json = json_outliers),
};
static const tt_schema values_schema = TT_SCHEMA("values", "what ops put out", values_columns);

/* --- boost --- */

static const tt_column pool_bounds_columns[] = {
    TT_COLUMN("n_tokens", NULL, COUNT, "generated after the first batch",
              TT_MEMBER(tt_pool_bounds, tokens)),
    TT_COLUMN("disk_bytes_per_s", NULL, BYTES_PER_S, "of the reads",
              TT_MEMBER(tt_pool_bounds, disk_bytes_per_s)),
    TT_COLUMN("tokens_per_s", NULL, FIGURE, "as it was", TT_MEMBER(tt_pool_bounds, rate)),
    TT_COLUMN("at_most_tokens_per_s", NULL, FIGURE, "read as early as can be known",
              TT_MEMBER(tt_pool_bounds, at_most_rate)),
    TT_COLUMN("overlap_tokens_per_s", NULL, FIGURE, "as if experts were known beforehand",
              TT_MEMBER(tt_pool_bounds, overlap_rate)),
    TT_COLUMN("predicted_bytes_per_token", NULL, BYTES, "by whatif --boost",
              TT_MEMBER(tt_pool_bounds, predicted_bytes)),
};
static const tt_schema pool_bounds_schema =
    TT_SCHEMA("pool_bounds", "what was possible", pool_bounds_columns);

TT_COLUMN_KNOWN(has_pool, tt_analysis, a, a->has_pool)

#define POOL(name, member)                                                                         \
    static void name(const void *context, const void *row, tt_rowset *out)                         \
    {                                                                                              \
        const tt_analysis *a = row;                                                                \
        (void)context;                                                                             \
        out->context = &a->pool;                                                                   \
        out->rows = &a->member;                                                                    \
    }
POOL(pool_all, pool_all)
POOL(pool_generated, pool_generated)
TT_COLUMN_ROWS(pool_bounds, tt_analysis, a, &a->pool_bounds, a->pool_bounds.known ? 1 : 0)

static const tt_column pool_columns[] = {
    TT_FIELD("all", "of all batches", .type = TT_CELL_OBJECT, .inner = &tt_pool_sums_schema,
             .rows = pool_all),
    TT_FIELD("generated", "of generated tokens", .type = TT_CELL_OBJECT,
             .inner = &tt_pool_sums_schema, .rows = pool_generated),
    TT_FIELD("bounds", "what was possible", .type = TT_CELL_OBJECT, .inner = &pool_bounds_schema,
             .rows = pool_bounds),
};
static const tt_schema pool_schema = TT_SCHEMA("pool", "of weights, by boost", pool_columns);

/* --- the whole --- */

typedef struct document_answer {
    const char *question, *answer;
} document_answer;

static const tt_column answer_columns[] = {
    TT_FIELD("question", "of a section", TT_MEMBER(document_answer, question)),
    TT_FIELD("answer", "in a sentence", TT_MEMBER(document_answer, answer)),
};
static const tt_schema answer_schema = TT_SCHEMA("answers", "what was asked", answer_columns);

/* The columns' context is the page. */
TT_COLUMN_JSON(json_summary, tt_analysis, a, {
    const tt_page *p = context;
    (void)a;
    tt_json_array(j);
    for (const tt_page_block *b = p->summary; b; b = b->next)
        tt_json_string(j, b->text);
    tt_json_array_end(j);
})
TT_COLUMN_JSON(json_answers, tt_analysis, a, {
    const tt_page *p = context;
    (void)a;
    tt_json_array(j);
    for (const tt_page_section *s = p->sections; s; s = s->next)
        for (const tt_page_block *b = s->blocks; b; b = b->next)
            if (b->kind == TT_BLOCK_ANSWER)
                tt_row_json(j, NULL, &answer_schema, NULL, &(document_answer){s->title, b->text});
    tt_json_array_end(j);
})

TT_COLUMN_GET(get_run_id, tt_analysis, a, tt_hex(cell->room, a->m->trace.header.run_id, 16);
              tt_cell_text(cell, cell->room);)
TT_COLUMN_KNOWN(has_time, tt_analysis, a, a->timed && a->total_ns > 0)

/* Parts of the analysis have it as their context. */
#define PART(name, list, n_)                                                                       \
    static void name(const void *context, const void *row, tt_rowset *out)                         \
    {                                                                                              \
        const tt_analysis *a = row;                                                                \
        (void)context;                                                                             \
        out->context = a;                                                                          \
        out->rows = (list);                                                                        \
        out->row_bytes = sizeof *(list);                                                           \
        out->n = (n_);                                                                             \
    }
PART(itself, a, 1)
PART(threads, a->work.lanes, a->timed ? a->work.n_lanes : 0)
PART(disk, &a->kernel_batches,
     a->kernel_batches.has_faults || a->kernel_batches.has_io || a->faults ? 1 : 0)

#define PHASE(name)                                                                                \
    static void name(const void *context, const void *row, tt_rowset *out)                         \
    {                                                                                              \
        (void)context;                                                                             \
        out->context = NULL; /* no model: a time of zero is null */                                \
        out->rows = &((const tt_analysis *)row)->summary.name;                                     \
    }
PHASE(prompt)
PHASE(generate)
PHASE(mixed)
PHASE(warmup)

#define OBJECT(key_, about_, schema_, rows_, ...)                                                  \
    TT_FIELD(key_, about_, .type = TT_CELL_OBJECT, .inner = &(schema_), .rows = (rows_),           \
             __VA_ARGS__)
#define WRITTEN(key_, about_, type_, json_, ...)                                                   \
    TT_FIELD(key_, about_, .type = TT_CELL_##type_, .json = (json_), __VA_ARGS__)

FIGURE(barriers, tt_analysis, r, r->waits_observed ? (double)r->work.barriers : NAN)

static const tt_column columns[] = {
    TT_FIELD("file", "the trace", TT_MEMBER(tt_analysis, path)),
    TT_FIELD("run_id", "of the recording", .type = TT_CELL_NAME, .get = get_run_id),
    WRITTEN("summary", "sentences, the most important first", LIST, json_summary, .known = NULL),
    WRITTEN("answers", "to the questions of the sections", ROWS, json_answers, .known = NULL),
    OBJECT("prompt", "batches of prompts", tt_phase_summary_schema, prompt, .known = NULL),
    OBJECT("generate", "of generated tokens", tt_phase_summary_schema, generate, .known = NULL),
    OBJECT("mixed", "with both", tt_phase_summary_schema, mixed, .known = NULL),
    OBJECT("warmup", "of the engine's warm-up", tt_phase_summary_schema, warmup, .known = NULL),
    OBJECT("time", "where it went", time_schema, itself, .known = has_time),
    WRITTEN("roofline", "what bounds ops", OBJECT, json_roofline, .known = NULL),
    TT_FIELD("threads", "of the engine", .type = TT_CELL_ROWS, .inner = &thread_schema,
             .rows = threads),
    TT_FIELD("barriers", "that threads met at", F64(barriers)),
    WRITTEN("reads", "of weights", OBJECT, json_reads, .known = has_heat),
    WRITTEN("experts", "by layer", ROWS, json_experts, .known = NULL),
    OBJECT("disk", "in batches", disk_schema, disk, .known = NULL),
    OBJECT("pool", "of weights, by boost", pool_schema, itself, .known = has_pool),
    OBJECT("whatif", "smaller caches", whatif_schema, itself, .known = has_whatif),
    OBJECT("values", "what ops put out", values_schema, itself, .known = has_values),
};
static const tt_schema schema = TT_SCHEMA("report", "the findings", columns);

bool tt_report_json(const tt_page *p, tt_analysis *a, FILE *out)
{
    return tt_row_json_print(out, &schema, p, a);
}
