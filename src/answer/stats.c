#include "answer/stats.h"

const tt_stats_dimension tt_stats_dimensions[TT_STATS_DIMENSIONS] = {
    {"op", "OP", "op", false, TT_BY_OP, TT_SORT_WORK},
    {"layer", "LAYER", "layer_id", true, TT_BY_LAYER, TT_SORT_KEY},
    {"component", "COMPONENT", "component", false, TT_BY_COMPONENT, TT_SORT_WORK},
    {"category", "CATEGORY", "category", false, TT_BY_CATEGORY, TT_SORT_WORK},
    {"tensor", "TENSOR", "tensor", false, TT_BY_TENSOR, TT_SORT_WORK},
    {"thread", "THREAD", "thread_id", true, TT_BY_THREAD, TT_SORT_KEY},
    {"token", "BATCH", "token_id", true, TT_BY_TOKEN, TT_SORT_KEY},
    {"phase", "PHASE", "phase", false, TT_BY_PHASE, TT_SORT_WORK},
};

const tt_stats_order tt_stats_orders[TT_STATS_ORDERS] = {
    {"work", TT_SORT_WORK}, {"total", TT_SORT_TOTAL}, {"count", TT_SORT_COUNT},
    {"mean", TT_SORT_MEAN}, {"p50", TT_SORT_P50},     {"p95", TT_SORT_P95},
    {"max", TT_SORT_MAX},   {"wait", TT_SORT_WAIT},   {"bytes", TT_SORT_BYTES},
    {"rate", TT_SORT_RATE}, {"key", TT_SORT_KEY},
};

/* null where no op of the row has an end. */
static void json_time(tt_json *j, const char *key, const tt_stats_row *r, double value)
{
    tt_json_key(j, key);
    if (r->timed)
        tt_json_double(j, value);
    else
        tt_json_null(j);
}

static void json_row(tt_json *j, const tt_stats_dimension *by, const tt_stats_row *r,
                     const tt_stats_row *all)
{
    if (by->by != TT_BY_THREAD) {
        tt_json_kv_u64(j, "weight_bytes", r->weight_bytes);
        tt_json_kv_bool(j, "weight_bytes_at_most", r->at_most);
        json_time(j, "rate_bytes_per_s", r, tt_stats_rate(r));
    }
    tt_json_kv_u64(j, "count", r->count);
    tt_json_kv_u64(j, "without_end", r->count - r->timed);
    tt_json_kv_u64(j, "times_bent", r->bent);
    json_time(j, "share", r, tt_stats_share(r, all));
    json_time(j, "work_ns", r, r->work_ns);
    json_time(j, "total_ns", r, r->total_ns);
    json_time(j, "mean_ns", r, r->mean_ns);
    json_time(j, "p50_ns", r, r->p50_ns);
    json_time(j, "p95_ns", r, r->p95_ns);
    json_time(j, "max_ns", r, r->max_ns);
    json_time(j, "busy_ns", r, r->busy_ns);
    json_time(j, "wait_ns", r, r->wait_ns);
    json_time(j, "off_cpu_ns", r, r->off_cpu_ns);
}

/* null where the row is of no layer, no batch. */
static void row_key(tt_json *j, const tt_stats_dimension *by, const tt_stats_row *r)
{
    tt_json_key(j, by->key);
    if (!by->number)
        tt_json_string(j, r->key);
    else if (r->number < 0)
        tt_json_null(j);
    else
        tt_json_i64(j, r->number);
}

void tt_stats_json(tt_json *j, const tt_stats_view *v)
{
    tt_json_object(j);
    tt_json_kv_string(j, "file", v->path);
    tt_json_kv_string(j, "by", v->by->name);
    tt_json_key(j, "rows");
    tt_json_array(j);
    for (size_t i = 0; i < v->n_rows && (!v->limit || i < v->limit); i++) {
        tt_json_object(j);
        row_key(j, v->by, &v->rows[i]);
        json_row(j, v->by, &v->rows[i], v->total);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
    tt_json_key(j, "total");
    tt_json_object(j);
    json_row(j, v->by, v->total, v->total);
    tt_json_object_end(j);
    tt_json_kv_u64(j, "rows_total", v->n_rows);
    tt_json_kv_u64(j, "stray_records", v->stray);
    tt_json_kv_double(j, "quantile_error", 0.004);
    tt_json_object_end(j);
}

/* --- series --- */

static void axis_columns(tt_json *j, const tt_model *m, const tt_stats_axis *axis,
                         const uint32_t *batches)
{
    tt_json_key(j, "first_token_id");
    tt_json_array(j);
    for (uint32_t i = 0; i < axis->n_buckets; i++)
        tt_json_u64(j, tt_model_token(m, tt_stats_bucket_begin(axis, i)));
    tt_json_array_end(j);
    tt_json_key(j, "last_token_id");
    tt_json_array(j);
    for (uint32_t i = 0; i < axis->n_buckets; i++)
        tt_json_u64(j, tt_model_token(m, tt_stats_bucket_begin(axis, i + 1) - 1));
    tt_json_array_end(j);
    tt_json_key(j, "batches");
    tt_json_array(j);
    for (uint32_t i = 0; i < axis->n_buckets; i++)
        tt_json_u64(j, batches[i]);
    tt_json_array_end(j);
}

/* null where no op of the bucket has a time: not a time of 0. */
static void cells(tt_json *j, const tt_stats_view *v, const tt_stats_axis *axis,
                  const tt_stats_cell *list)
{
    const tt_stats_cell *all = v->total->series;
    tt_json_key(j, "total_ns");
    tt_json_array(j);
    for (uint32_t i = 0; i < axis->n_buckets; i++)
        if (all[i].ticks)
            tt_json_double(j, tt_model_span_ns(v->m, list[i].ticks));
        else
            tt_json_null(j);
    tt_json_array_end(j);
    if (v->by->by == TT_BY_THREAD) return;
    tt_json_key(j, "weight_bytes");
    tt_json_array(j);
    for (uint32_t i = 0; i < axis->n_buckets; i++)
        if (all[i].ticks)
            tt_json_u64(j, list[i].weight_bytes);
        else
            tt_json_null(j);
    tt_json_array_end(j);
}

/* What no row that is said has: by tensor an op counts for each of its weights, so that the rows
 * may add up to more than there is. */
static void others(tt_json *j, const tt_stats_view *v, const tt_stats_axis *axis, size_t said)
{
    tt_json_key(j, "other");
    tt_json_object(j);
    tt_json_kv_u64(j, "rows", v->n_rows - said);
    tt_json_key(j, "total_ns");
    tt_json_array(j);
    for (uint32_t k = 0; k < axis->n_buckets; k++) {
        uint64_t all = v->total->series[k].ticks, rows = 0;
        for (size_t i = 0; i < said; i++)
            if (v->rows[i].series) rows += v->rows[i].series[k].ticks;
        if (all)
            tt_json_double(j, tt_model_span_ns(v->m, all > rows ? all - rows : 0));
        else
            tt_json_null(j);
    }
    tt_json_array_end(j);
    tt_json_object_end(j);
}

void tt_stats_series_json(tt_json *j, const tt_stats_view *v, const tt_stats *s)
{
    const tt_stats_axis *axis = tt_stats_series_axis(s);
    size_t said = 0;
    tt_json_object(j);
    tt_json_kv_string(j, "file", v->path);
    tt_json_kv_string(j, "by", v->by->name);
    tt_json_kv_u64(j, "tokens", axis->n_batches);
    axis_columns(j, v->m, axis, tt_stats_series_batches(s));
    tt_json_key(j, "rows");
    tt_json_array(j);
    for (; said < v->n_rows && (!v->limit || said < v->limit) && v->rows[said].series; said++) {
        tt_json_object(j);
        row_key(j, v->by, &v->rows[said]);
        cells(j, v, axis, v->rows[said].series);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
    if (axis->n_buckets) {
        others(j, v, axis, said);
        tt_json_key(j, "all");
        tt_json_object(j);
        cells(j, v, axis, v->total->series);
        tt_json_object_end(j);
    }
    tt_json_kv_u64(j, "rows_total", v->n_rows);
    tt_json_object_end(j);
}
