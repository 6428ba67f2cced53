#include "answer/values.h"

static void put_summary(tt_json *j, const tt_model *m, const tt_values_counts *c)
{
    const tt_rowset set = TT_ROWSET(&tt_values_summary_schema, 0, m, c, 1);
    tt_json_key(j, "summary");
    tt_json_object(j);
    tt_rowset_json(j, &set, c);
    tt_json_object_end(j);
}

static const char *by_name(tt_values_by by)
{
    static const char *const all[] = {[TT_VALUES_BY_TENSOR] = "tensor",
                                      [TT_VALUES_BY_PLACE] = "place",
                                      [TT_VALUES_BY_OP] = "op",
                                      [TT_VALUES_BY_LAYER] = "layer",
                                      [TT_VALUES_BY_BATCH] = "batch"};
    return all[by];
}

void tt_values_json(tt_json *j, const tt_model *m, const tt_values_view *v)
{
    const tt_values_counts *counts = v->page       ? &v->page->counts
                                     : v->groups   ? &v->groups->counts
                                     : v->outliers ? &v->outliers->counts
                                                   : NULL;
    tt_json_object(j);
    tt_json_kv_string(j, "file", v->path);
    if (v->page) tt_json_kv_u64(j, "offset", v->offset);
    if (v->groups) tt_json_kv_string(j, "by", by_name(v->groups->by));
    if (v->grid) tt_json_kv_string(j, "place", v->grid->place[0] ? v->grid->place : NULL);
    tt_json_key(j, "rows");
    tt_listing_json(j, v->rows);
    tt_json_kv_u64(j, "rows_total",
                   v->page       ? v->page->total
                   : v->outliers ? v->outliers->total
                                 : v->rows->n_all);
    if (v->outliers) tt_json_kv_u64(j, "compared", v->outliers->compared);
    if (counts) put_summary(j, m, counts);
    tt_json_object_end(j);
}

tt_status tt_values_rows_json(tt_json *j, const tt_model *m, const tt_rowset *set, tt_values_view v,
                              tt_error *err)
{
    const tt_listing_wish wish = {.passes = v.grid ? tt_values_growth_measured : NULL};
    tt_listing rows;
    const tt_status status = tt_listing_make(&rows, set, &wish, err);
    v.rows = &rows;
    if (status == TT_OK) tt_values_json(j, m, &v);
    tt_listing_free(&rows);
    return status;
}

void tt_values_first_json(tt_json *j, const char *path, const tt_model *m, const tt_values_first *f)
{
    const tt_rowset births = TT_ROWSET(&tt_values_birth_schema, 0, m, f->births, f->n_births);
    const tt_rowset spread = TT_ROWSET(&tt_values_spread_schema, 0, m, f, 1);
    tt_json_object(j);
    tt_json_kv_string(j, "file", path);
    tt_json_kv_bool(j, "found", f->found);
    tt_json_key(j, "first");
    if (f->n_births) {
        tt_json_object(j);
        tt_rowset_json(j, &births, f->births);
        tt_json_object_end(j);
    } else {
        tt_json_null(j);
    }
    tt_rowset_json_rows(j, "births", &births, NULL);
    tt_json_kv_u64(j, "births_total", f->births_total);
    tt_json_key(j, "spread");
    tt_json_object(j);
    tt_rowset_json(j, &spread, f);
    tt_json_object_end(j);
    put_summary(j, m, &f->counts);
    tt_json_object_end(j);
}
