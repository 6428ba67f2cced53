#include "answer/values.h"

#include "base/units.h"

#include <inttypes.h>
#include <stdio.h>

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
    const tt_rowset origins = TT_ROWSET(&tt_values_origin_schema, 0, m, f->origins, f->n_origins);
    const tt_rowset spread = TT_ROWSET(&tt_values_spread_schema, 0, m, f, 1);
    tt_json_object(j);
    tt_json_kv_string(j, "file", path);
    tt_json_kv_bool(j, "found", f->found);
    tt_json_key(j, "first");
    if (f->n_origins) {
        tt_json_object(j);
        tt_rowset_json(j, &origins, f->origins);
        tt_json_object_end(j);
    } else {
        tt_json_null(j);
    }
    tt_rowset_json_rows(j, "origins", &origins, NULL);
    tt_json_kv_u64(j, "origins_total", f->origins_total);
    tt_json_key(j, "spread");
    tt_json_object(j);
    tt_rowset_json(j, &spread, f);
    tt_json_object_end(j);
    put_summary(j, m, &f->counts);
    tt_json_object_end(j);
}

const char *tt_values_where_text(char out[TT_VALUES_WHERE_TEXT], const tt_model *m, uint32_t run)
{
    const uint32_t batch = m->runs[run].batch;
    if (batch == TT_NONE)
        (void)snprintf(out, TT_VALUES_WHERE_TEXT, "run %" PRIu32 ", outside any batch",
                       m->runs[run].id);
    else
        (void)snprintf(out, TT_VALUES_WHERE_TEXT, "batch %" PRIu32 " (%s)",
                       tt_model_batch_number(m, batch), tt_phase_name(m->batches[batch].phase));
    return out;
}

const char *tt_values_weight_text(char *out, size_t room, const tt_values_weight *w)
{
    char n[TT_UNITS_TEXT], of[TT_UNITS_TEXT], where[4 * 24] = "";
    const uint64_t *at = w->first_bad_at;
    if (!w->looked_at) {
        (void)snprintf(out, room, "was not looked at: %s", w->why_not ? w->why_not : "not asked");
        return out;
    }
    (void)tt_units_count(of, w->elements);
    if (w->n_bad == 0) {
        (void)snprintf(out, room, "all %s elements are finite", of);
        return out;
    }
    if (w->has_place)
        (void)snprintf(where, sizeof where, "[%" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64 "]",
                       at[0], at[1], at[2], at[3]);
    else
        (void)snprintf(where, sizeof where, "element %" PRIu64, w->first_bad);
    if (w->told_apart)
        (void)snprintf(out, room, "%s NaN and %s infinite of %s elements, the first at %s",
                       tt_units_count(n, w->n_nan),
                       tt_units_count((char[TT_UNITS_TEXT]){0}, w->n_inf), of, where);
    else
        (void)snprintf(out, room, "%s of %s elements are not finite, the first at %s",
                       tt_units_count(n, w->n_bad), of, where);
    return out;
}
