#include "answer/stats.h"

const tt_stats_dimension tt_stats_dimensions[TT_STATS_DIMENSIONS] = {
    {"op", "OP", "op", false, TT_BY_OP, TT_SORT_TOTAL},
    {"layer", "LAYER", "layer_id", true, TT_BY_LAYER, TT_SORT_KEY},
    {"component", "COMPONENT", "component", false, TT_BY_COMPONENT, TT_SORT_TOTAL},
    {"category", "CATEGORY", "category", false, TT_BY_CATEGORY, TT_SORT_TOTAL},
    {"tensor", "TENSOR", "tensor", false, TT_BY_TENSOR, TT_SORT_TOTAL},
    {"thread", "THREAD", "thread_id", true, TT_BY_THREAD, TT_SORT_KEY},
    {"token", "TOKEN", "token_id", true, TT_BY_TOKEN, TT_SORT_KEY},
    {"phase", "PHASE", "phase", false, TT_BY_PHASE, TT_SORT_TOTAL},
};

const tt_stats_order tt_stats_orders[TT_STATS_ORDERS] = {
    {"total", TT_SORT_TOTAL}, {"count", TT_SORT_COUNT}, {"mean", TT_SORT_MEAN},
    {"max", TT_SORT_MAX},     {"wait", TT_SORT_WAIT},   {"bytes", TT_SORT_BYTES},
    {"rate", TT_SORT_RATE},   {"key", TT_SORT_KEY},
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

static void json_row(tt_json *j, const tt_stats_dimension *by, const tt_stats_row *r, double all_ns)
{
    if (by->by != TT_BY_THREAD) {
        tt_json_kv_u64(j, "weight_bytes", r->weight_bytes);
        tt_json_kv_bool(j, "weight_bytes_at_most", r->at_most);
        json_time(j, "rate_bytes_per_s", r, tt_stats_rate(r));
    }
    tt_json_kv_u64(j, "count", r->count);
    json_time(j, "share", r, all_ns > 0 ? r->total_ns / all_ns : 0);
    json_time(j, "total_ns", r, r->total_ns);
    json_time(j, "mean_ns", r, r->mean_ns);
    json_time(j, "p50_ns", r, r->p50_ns);
    json_time(j, "p95_ns", r, r->p95_ns);
    json_time(j, "max_ns", r, r->max_ns);
    json_time(j, "busy_ns", r, r->busy_ns);
    json_time(j, "wait_ns", r, r->wait_ns);
}

void tt_stats_json(tt_json *j, const char *path, const tt_stats_dimension *by, tt_stats_sort sort,
                   uint64_t limit, tt_stats *s)
{
    size_t n;
    const tt_stats_row *rows = tt_stats_rows(s, sort, &n), *total = tt_stats_total(s);
    tt_json_object(j);
    tt_json_kv_string(j, "file", path);
    tt_json_kv_string(j, "by", by->name);
    tt_json_key(j, "rows");
    tt_json_array(j);
    for (size_t i = 0; i < n && (!limit || i < limit); i++) {
        tt_json_object(j);
        tt_json_key(j, by->key);
        if (!by->number)
            tt_json_string(j, rows[i].key);
        else if (rows[i].number < 0)
            tt_json_null(j);
        else
            tt_json_i64(j, rows[i].number);
        json_row(j, by, &rows[i], total->total_ns);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
    tt_json_key(j, "total");
    tt_json_object(j);
    json_row(j, by, total, total->total_ns);
    tt_json_object_end(j);
    tt_json_kv_u64(j, "rows_total", n);
    tt_json_kv_u64(j, "stray_records", tt_stats_stray(s));
    tt_json_kv_double(j, "quantile_error", 0.004);
    tt_json_object_end(j);
}
