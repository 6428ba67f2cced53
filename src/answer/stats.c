#include "answer/stats.h"

#include <string.h>

/* --- sums --- */

TT_COLUMN_LISTING(rows, tt_stats_view, v, v->rows)

static void total(const void *context, const void *row, tt_rowset *out)
{
    const tt_stats_view *v = row;
    (void)context;
    *out = *v->rows->set;
    out->rows = v->total;
    out->n = 1;
    out->sum = true;
}

static void get_error(const void *context, const void *row, tt_cell *cell)
{
    (void)context;
    (void)row;
    cell->known = true;
    cell->f64 = 0.004;
}

#define FILE_COLUMN TT_FIELD("file", "the trace", TT_MEMBER(tt_stats_view, path))
#define BY_COLUMN                                                                                  \
    TT_FIELD("by", "what a row is", TT_THROUGH(tt_stats_view, by),                                 \
             TT_MEMBER(tt_stats_dimension, name))
#define TOTAL_COLUMN                                                                               \
    TT_FIELD("rows_total", "also those behind the limit", TT_THROUGH(tt_stats_view, rows),         \
             TT_MEMBER(tt_listing, n_all))

static const tt_column columns[] = {
    FILE_COLUMN,
    BY_COLUMN,
    TT_FIELD("rows", "that are listed", .type = TT_CELL_ROWS, .rows = rows),
    TT_FIELD("total", "of all rows", .type = TT_CELL_OBJECT, .rows = total),
    TOTAL_COLUMN,
    TT_FIELD("orphan_records", "of no run", TT_MEMBER(tt_stats_view, orphan)),
    TT_FIELD("quantile_error", "of the quantiles, at most", .type = TT_CELL_F64, .get = get_error),
};
static const tt_schema schema = TT_SCHEMA("stats", "time and bytes summed up", columns);

void tt_stats_json(tt_json *j, const tt_stats_view *v)
{
    tt_row_json(j, NULL, &schema, NULL, v);
}

/* --- series --- */

/* The columns' context. */
typedef struct series {
    const tt_stats_view *v;
    const tt_stats_axis *axis;
    const uint32_t *batches;    /* by bucket */
    const tt_stats_cell **list; /* what is being written, by bucket */
    size_t listed;
} series;

static const series *of(const void *context)
{
    return context;
}

static const tt_stats_row *row_of(const series *s, size_t i)
{
    return tt_listing_row(s->v->rows, i);
}

#define LIST(key_, about_, inner_, rows_)                                                          \
    TT_FIELD(key_, about_, .type = TT_CELL_LIST, .inner = &(inner_##_schema), .rows = (rows_))
#define PLAIN(name, type_, ...)                                                                    \
    static const tt_column name##_columns[] = {TT_FIELD(#name, "", .type = (type_), __VA_ARGS__)}; \
    static const tt_schema name##_schema = TT_SCHEMA(#name, "by bucket", name##_columns)

static uint32_t batch_at(const series *s, uint32_t bucket)
{
    return tt_stats_bucket_begin(s->axis, bucket);
}

TT_COLUMN_VALUE(get_first, uint32_t, n, u64,
                tt_model_batch_number(of(context)->v->m,
                                      batch_at(context, (uint32_t)(n - of(context)->batches))))
TT_COLUMN_VALUE(get_last, uint32_t, n, u64,
                tt_model_batch_number(of(context)->v->m,
                                      batch_at(context, (uint32_t)(n - of(context)->batches) + 1) -
                                          1))
PLAIN(first, TT_CELL_U32, .get = get_first);
PLAIN(last, TT_CELL_U32, .get = get_last);
PLAIN(batches, TT_CELL_U32);
TT_COLUMN_ROWS(buckets, tt_stats_view, v, of(context)->batches,
               v ? of(context)->axis->n_buckets : 0)

/* Whether any op has a time in the bucket: else its time is unknown, not 0. */
static bool is_timed(const void *context, const void *cell)
{
    const series *s = context;
    return s->v->total->series[(const tt_stats_cell *)cell - *s->list].ticks > 0;
}

TT_COLUMN_VALUE(get_ns, tt_stats_cell, c, f64, tt_model_span_ns(of(context)->v->m, c->ticks))

/* By tensor, an op counts for each of its weights, so the rows may add up to more than the total.
 */
static void get_rest(const void *context, const void *row, tt_cell *cell)
{
    const series *s = context;
    const tt_stats_cell *all = row;
    uint64_t rows = 0;
    for (size_t i = 0; i < s->listed; i++)
        rows += row_of(s, i)->series[all - *s->list].ticks;
    cell->known = true;
    cell->f64 = tt_model_span_ns(s->v->m, all->ticks > rows ? all->ticks - rows : 0);
}

PLAIN(ns, TT_CELL_F64, .known = is_timed, .get = get_ns);
PLAIN(rest, TT_CELL_F64, .known = is_timed, .get = get_rest);
PLAIN(weights, TT_CELL_U64, .known = is_timed, .offset = offsetof(tt_stats_cell, weight_bytes));

static void cells(const void *context, const void *row, tt_rowset *out)
{
    const tt_stats_cell *list = ((const tt_stats_row *)row)->series;
    *of(context)->list = list;
    out->rows = list;
    out->row_bytes = sizeof *list;
    out->n = of(context)->axis->n_buckets;
}

TT_COLUMN_KNOWN(has_weights, tt_stats_row, r, r &&of(context)->v->by->by != TT_BY_THREAD)
static const tt_column row_columns[] = {
    LIST("total_ns", "of its ops", ns, cells),
    TT_FIELD("weight_bytes", "that they read", .type = TT_CELL_LIST, .inner = &weights_schema,
             .known = has_weights, .show = TT_SHOW_OMIT, .rows = cells),
};
static const tt_schema row_schema = TT_SCHEMA("rows", "a row, by bucket", row_columns);

TT_COLUMN_VALUE(get_rows, tt_stats_row, r, u64,
                of(context)->v->rows->n_all - (r ? of(context)->listed : 0))
static const tt_column other_columns[] = {
    TT_FIELD("rows", "that are not listed", .type = TT_CELL_U64, .get = get_rows),
    LIST("total_ns", "of ops in no listed row", rest, cells),
};
static const tt_schema other_schema = TT_SCHEMA("other", "what is in no listed row", other_columns);

TT_COLUMN_JSON(json_rows, tt_stats_view, v, {
    const series *s = context;
    const tt_rowset set = {.schema = &row_schema, .context = s};
    const tt_column *key = tt_schema_find(v->rows->set, v->by->key, strlen(v->by->key));
    tt_json_array(j);
    for (size_t i = 0; i < s->listed; i++) {
        tt_json_object(j);
        tt_column_json(j, key, v->rows->set->context, row_of(s, i));
        tt_rowset_json(j, &set, row_of(s, i));
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
})
TT_COLUMN_VALUE(get_total, tt_stats_view, v, u64, v ? of(context)->axis->n_batches : 0)
TT_COLUMN_KNOWN(has_buckets, tt_stats_view, v, v &&of(context)->axis->n_buckets > 0)
TT_COLUMN_ROWS(all, tt_stats_view, v, v->total, 1)

static const tt_column series_columns[] = {
    FILE_COLUMN,
    BY_COLUMN,
    TT_FIELD("batches_total", "from the first to the last", .type = TT_CELL_U32, .get = get_total),
    LIST("first_batch_id", "of a bucket", first, buckets),
    LIST("last_batch_id", "of a bucket", last, buckets),
    LIST("batches", "of a bucket, those that pass", batches, buckets),
    TT_FIELD("rows", "that are listed", .type = TT_CELL_ROWS, .json = json_rows),
    TT_FIELD("other", "what is in none of them", .type = TT_CELL_OBJECT, .inner = &other_schema,
             .known = has_buckets, .show = TT_SHOW_OMIT, .rows = all),
    TT_FIELD("all", "all ops", .type = TT_CELL_OBJECT, .inner = &row_schema, .known = has_buckets,
             .show = TT_SHOW_OMIT, .rows = all),
    TOTAL_COLUMN,
};
static const tt_schema series_schema = TT_SCHEMA("series", "sums over the batches", series_columns);

void tt_stats_series_json(tt_json *j, const tt_stats_view *v, const tt_stats *stats)
{
    const tt_stats_cell *list = NULL;
    series s = {.v = v,
                .axis = tt_stats_series_axis(stats),
                .batches = tt_stats_series_batches(stats),
                .list = &list};
    while (s.listed < v->rows->n && row_of(&s, s.listed)->series)
        s.listed++;
    tt_row_json(j, NULL, &series_schema, &s, v);
}
