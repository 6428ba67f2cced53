/* The columns of statistics, for every output. */
#include "analyze/stats.h"

#include "base/path.h"

#include <math.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))
#define BY(dimension) (uint16_t)(1u << TT_BY_##dimension)
#define NOT_BY(dimension) (uint16_t) ~(1u << TT_BY_##dimension)

const tt_stats_dimension tt_stats_dimensions[TT_STATS_DIMENSIONS] = {
    {"op", "op", TT_BY_OP, "work_ns"},
    {"layer", "layer_id", TT_BY_LAYER, "key"},
    {"component", "component", TT_BY_COMPONENT, "work_ns"},
    {"category", "category", TT_BY_CATEGORY, "work_ns"},
    {"tensor", "tensor", TT_BY_TENSOR, "work_ns"},
    {"thread", "thread_id", TT_BY_THREAD, "key"},
    {"batch", "batch_id", TT_BY_BATCH, "key"},
    {"phase", "phase", TT_BY_PHASE, "work_ns"},
    {"model", "model_file", TT_BY_MODEL, "work_ns"},
    {"context", "context_id", TT_BY_CONTEXT, "key"},
};

TT_COLUMN_KNOWN(has_number, tt_stats_row, r, r->number >= 0)

/* A dash for no layer, no batch. */
TT_COLUMN_SHOW(show_key, tt_stats_row, r, tt_cell_text_copy(out, room, r->key);)

TT_COLUMN_GET(get_layer, tt_stats_row, r, tt_cell_id(cell, r->number);)
TT_COLUMN_SHOW(show_model, tt_stats_row, r,
               tt_cell_text_copy(out, room, r->model_file ? tt_base_name(r->model_file) : "-");)
TT_COLUMN_SHOW(show_label, tt_stats_row, r, tt_cell_text_copy(out, room, r->model_label);)

/* Ops without an observed end have no times, which is not a time of 0. */
TT_COLUMN_KNOWN(is_timed, tt_stats_row, r, r->timed > 0)

static tt_certainty reads_at_most(const void *context, const void *row)
{
    (void)context;
    return ((const tt_stats_row *)row)->at_most ? TT_AT_MOST : TT_EXACT;
}

TT_COLUMN_VALUE(get_without_end, tt_stats_row, r, u64, r->count - r->timed)

static void get_share(const void *context, const void *row, tt_cell *cell)
{
    const tt_stats_context *x = context;
    cell->f64 = tt_stats_share(row, x->total);
    cell->known = true;
}

static void get_count_share(const void *context, const void *row, tt_cell *cell)
{
    const tt_stats_context *x = context;
    const uint64_t all = x->total->count;
    cell->f64 = all ? (double)((const tt_stats_row *)row)->count / (double)all : 0;
    cell->known = true;
}

static double of_sources(const tt_stats_row *r, uint64_t n)
{
    return r->sources ? (double)n / (double)r->sources : 0;
}

TT_COLUMN_VALUE(get_sources, tt_stats_row, r, f64,
                r->count ? (double)r->sources / (double)r->count : 0)
TT_COLUMN_VALUE(get_file, tt_stats_row, r, f64, of_sources(r, r->file_sources))
TT_COLUMN_VALUE(get_buffer, tt_stats_row, r, f64, of_sources(r, r->buffer_sources))
TT_COLUMN_KNOWN(has_tensors, tt_stats_row, r, r->tensors > 0)

static void get_wait_share(const void *context, const void *row, tt_cell *cell)
{
    (void)context;
    const tt_stats_row *r = row;
    const double all = r->busy_ns + r->wait_ns;
    cell->f64 = all > 0 ? r->wait_ns / all : isnan(all) ? NAN : 0;
    cell->known = true;
}

static void get_rate(const void *context, const void *row, tt_cell *cell)
{
    (void)context;
    cell->f64 = tt_stats_rate(row);
    cell->known = true;
}

/* Empty for ops that read no weights: "0 B" would imply that they could have. */
static void show_weights(const void *context, const void *row, char *out, size_t room)
{
    static const tt_column plain =
        TT_COLUMN("weight_bytes", NULL, BYTES, "", .bound = reads_at_most,
                  TT_MEMBER(tt_stats_row, weight_bytes));
    if (((const tt_stats_row *)row)->weight_bytes) tt_cell_show(&plain, context, row, out, room);
}

static void show_rate(const void *context, const void *row, char *out, size_t room)
{
    static const tt_column plain =
        TT_COLUMN("bytes_per_s", NULL, BYTES_PER_S, "", .type = TT_CELL_F64, .known = is_timed,
                  .get = get_rate);
    if (((const tt_stats_row *)row)->weight_bytes) tt_cell_show(&plain, context, row, out, room);
}

#define KEY_TEXT(dimension, key_, title_, about_)                                                  \
    TT_COLUMN(key_, title_, NONE, about_, .kinds = BY(dimension),                                  \
              .show = TT_SHOW_CUT | TT_SHOW_KEY, TT_MEMBER(tt_stats_row, key))
#define KEY_NUMBER(dimension, key_, title_, about_)                                                \
    TT_COLUMN(key_, title_, ID, about_, .kinds = BY(dimension), .nullable = true,                  \
              .show = TT_SHOW_LEFT | TT_SHOW_CUT | TT_SHOW_KEY, .known = has_number,               \
              TT_MEMBER(tt_stats_row, number), .text = show_key)
#define TIME(key_, title_, member_, show_, about_)                                                 \
    TT_COLUMN(key_, title_, NS, about_, .nullable = true, .show = (show_), .known = is_timed,      \
              TT_MEMBER(tt_stats_row, member_))

static const tt_column columns[] = {
    KEY_TEXT(OP, "op", "OP", "the kind of op"),
    TT_COLUMN("layer_id", "LAYER", ID, "the layer; null: ops of no layer", TT_LAYER,
              .kinds = BY(LAYER), .show = TT_SHOW_LEFT | TT_SHOW_CUT | TT_SHOW_KEY,
              .get = get_layer, .text = show_key),
    TT_STACK(.kinds = BY(LAYER), .get = get_layer),
    KEY_TEXT(COMPONENT, "component", "COMPONENT", "role in its layer (attn_q, ffn_up, ...)"),
    KEY_TEXT(CATEGORY, "category", "CATEGORY", "the part of the network"),
    KEY_TEXT(TENSOR, "tensor", "TENSOR", "the weight; an op of two weights counts for both"),
    KEY_NUMBER(THREAD, "thread_id", "THREAD", "number of the thread in the graph computation"),
    KEY_NUMBER(BATCH, "batch_id", "BATCH", "the batch; null: outside any"),
    KEY_TEXT(PHASE, "phase", "PHASE", "phase of the batch"),
    KEY_NUMBER(CONTEXT, "context_id", "CONTEXT", "the engine's context; null: outside any batch"),
    TT_COLUMN("model_file", "MODEL", NONE, "path of the model; null: not known", .nullable = true,
              .kinds = BY(MODEL), .show = TT_SHOW_CUT | TT_SHOW_KEY,
              TT_MEMBER(tt_stats_row, model_file), .text = show_model),
    TT_COLUMN("model_file", "MODEL", NONE, "path of its model", .nullable = true,
              .kinds = BY(LAYER) | BY(TENSOR), .show = TT_SHOW_KNOWN | TT_SHOW_CUT,
              TT_MEMBER(tt_stats_row, model_file), .text = show_label),
    TT_COLUMN("count", "COUNT", COUNT, "number of ops", TT_MEMBER(tt_stats_row, count)),
    TT_COLUMN("count_share", "OF OPS", SHARE, "share of the count of all rows", .type = TT_CELL_F64,
              .show = TT_SHOW_ASKED, .get = get_count_share, .sort = "count"),
    TT_COLUMN("sources_per_op", "SOURCES", NONE, "tensors that an op reads, on average",
              .type = TT_CELL_F64, .show = TT_SHOW_ASKED, .get = get_sources),
    TT_COLUMN("tensors", "TENSORS", COUNT, "number of different tensors among these",
              .nullable = true, .show = TT_SHOW_ASKED, .known = has_tensors,
              TT_MEMBER(tt_stats_row, tensors)),
    TT_COLUMN("file_share", "FILE", SHARE, "share of the sources that are in a mapped model file",
              .type = TT_CELL_F64, .show = TT_SHOW_ASKED, .get = get_file),
    TT_COLUMN("buffer_share", "BUFFER", SHARE, "share of the sources that are in a buffer",
              .type = TT_CELL_F64, .show = TT_SHOW_ASKED, .get = get_buffer),
    TIME("work_ns", "WORK", work_ns, 0,
         "own work of all threads: busy_ns minus off_cpu_ns and wait_inside_ns"),
    TT_COLUMN("share", "SHARE", SHARE, "share of the work of all rows", .type = TT_CELL_F64,
              .nullable = true, .known = is_timed, .get = get_share, .sort = "work_ns"),
    TIME("total_ns", "TOTAL", total_ns, 0,
         "from the first thread's start to the last thread's arrival"),
    TIME("mean_ns", "MEAN", mean_ns, TT_SHOW_WIDE, "mean of an op"),
    TIME("median_ns", "P50", p50_ns, TT_SHOW_WIDE, "median: half of the ops took no longer"),
    TIME("p95_ns", "P95", p95_ns, 0, "95 % of the ops took no longer"),
    TIME("max_ns", "MAX", max_ns, TT_SHOW_WIDE, "longest op"),
    TIME("busy_ns", NULL, busy_ns, 0, "time of all threads, from start to arrival"),
    TIME("wait_ns", "WAIT", wait_ns, 0, "time of all threads at the barrier after the op"),
    TT_COLUMN("wait_share", "WAITING", SHARE, "share of wait in busy_ns and wait_ns",
              .type = TT_CELL_F64, .nullable = true, .show = TT_SHOW_ASKED, .known = is_timed,
              .get = get_wait_share),
    TIME("off_cpu_ns", "OFF CPU", off_cpu_ns, TT_SHOW_WIDE | TT_SHOW_KNOWN,
         "the part of busy_ns on no processor"),
    TIME("wait_inside_ns", NULL, wait_inside_ns, 0,
         "the part of busy_ns that threads waited for others, at barriers inside ops"),
    TT_COLUMN("weight_bytes", "WEIGHTS", BYTES, "bytes read from weights", .kinds = NOT_BY(THREAD),
              TT_MEMBER(tt_stats_row, weight_bytes), .text = show_weights),
    TT_COLUMN("weight_bytes_at_most", NULL, NONE,
              "an upper bound: rows or experts were not observed", .kinds = NOT_BY(THREAD),
              TT_MEMBER(tt_stats_row, at_most)),
    TT_COLUMN("bytes_per_s", "RATE", BYTES_PER_S, "weight_bytes divided by the time of their ops",
              .type = TT_CELL_F64, .nullable = true, .kinds = NOT_BY(THREAD), .show = TT_SHOW_WIDE,
              .known = is_timed, .get = get_rate, .text = show_rate),
    TT_COLUMN("without_end", NULL, COUNT, "ops whose end was not seen", .type = TT_CELL_U64,
              .get = get_without_end),
    TT_COLUMN("times_bent", NULL, COUNT, "ops with times outside of their graph computation",
              TT_MEMBER(tt_stats_row, bent)),
};

const tt_schema tt_stats_schema = {"stats", "ops, summed up", columns, COUNT(columns)};

tt_rowset tt_stats_rowset(const tt_stats_context *x, tt_stats_by by, const tt_stats_row *rows,
                          size_t n)
{
    return TT_ROWSET(&tt_stats_schema, (1u << by), x, rows, n);
}
