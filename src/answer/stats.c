#include "answer/stats.h"

#include <string.h>

void tt_stats_json(tt_json *j, const tt_stats_view *v)
{
    tt_json_object(j);
    tt_json_kv_string(j, "file", v->path);
    tt_json_kv_string(j, "by", v->by->name);
    tt_json_key(j, "rows");
    tt_listing_json(j, v->rows);
    tt_json_key(j, "total");
    tt_json_object(j);
    tt_rowset_json_total(j, v->rows->set, v->total);
    tt_json_object_end(j);
    tt_json_kv_u64(j, "rows_total", v->rows->n_all);
    tt_json_kv_u64(j, "orphan_records", v->orphan);
    tt_json_kv_double(j, "quantile_error", 0.004);
    tt_json_object_end(j);
}

/* --- series --- */

static void axis_columns(tt_json *j, const tt_model *m, const tt_stats_axis *axis,
                         const uint32_t *batches)
{
    tt_json_key(j, "first_batch_id");
    tt_json_array(j);
    for (uint32_t i = 0; i < axis->n_buckets; i++)
        tt_json_u64(j, tt_model_batch_number(m, tt_stats_bucket_begin(axis, i)));
    tt_json_array_end(j);
    tt_json_key(j, "last_batch_id");
    tt_json_array(j);
    for (uint32_t i = 0; i < axis->n_buckets; i++)
        tt_json_u64(j, tt_model_batch_number(m, tt_stats_bucket_begin(axis, i + 1) - 1));
    tt_json_array_end(j);
    tt_json_key(j, "batches");
    tt_json_array(j);
    for (uint32_t i = 0; i < axis->n_buckets; i++)
        tt_json_u64(j, batches[i]);
    tt_json_array_end(j);
}

/* null for buckets in which no op has a time, which is not a time of 0. */
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

static const tt_stats_row *row_of(const tt_stats_view *v, size_t i)
{
    return tt_listing_row(v->rows, i);
}

/* The rest, in no listed row: by tensor, an op counts for each of its weights, so the rows may
 * add up to more than the total. */
static void others(tt_json *j, const tt_stats_view *v, const tt_stats_axis *axis, size_t listed)
{
    tt_json_key(j, "other");
    tt_json_object(j);
    tt_json_kv_u64(j, "rows", v->rows->n_all - listed);
    tt_json_key(j, "total_ns");
    tt_json_array(j);
    for (uint32_t k = 0; k < axis->n_buckets; k++) {
        uint64_t all = v->total->series[k].ticks, rows = 0;
        for (size_t i = 0; i < listed; i++)
            if (row_of(v, i)->series) rows += row_of(v, i)->series[k].ticks;
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
    const tt_column *key = tt_schema_find(v->rows->set, v->by->key, strlen(v->by->key));
    size_t listed = 0;
    tt_json_object(j);
    tt_json_kv_string(j, "file", v->path);
    tt_json_kv_string(j, "by", v->by->name);
    tt_json_kv_u64(j, "tokens", axis->n_batches);
    axis_columns(j, v->m, axis, tt_stats_series_batches(s));
    tt_json_key(j, "rows");
    tt_json_array(j);
    for (; listed < v->rows->n && row_of(v, listed)->series; listed++) {
        tt_json_object(j);
        tt_column_json(j, key, v->rows->set->context, row_of(v, listed));
        cells(j, v, axis, row_of(v, listed)->series);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
    if (axis->n_buckets) {
        others(j, v, axis, listed);
        tt_json_key(j, "all");
        tt_json_object(j);
        cells(j, v, axis, v->total->series);
        tt_json_object_end(j);
    }
    tt_json_kv_u64(j, "rows_total", v->rows->n_all);
    tt_json_object_end(j);
}
