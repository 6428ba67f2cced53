#include "answer/values.h"

/* The columns' context is the model. */

static void put_row(tt_rowset *out, const tt_schema *schema, const void *row)
{
    out->schema = schema;
    out->rows = row;
    out->n = row != NULL;
}

/* --- rows --- */

static const tt_values_counts *counts_of(const tt_values_view *v)
{
    return v->page       ? &v->page->counts
           : v->groups   ? &v->groups->counts
           : v->outliers ? &v->outliers->counts
                         : NULL;
}

static const char *by_name(tt_values_by by)
{
    static const char *const all[] = {[TT_VALUES_BY_TENSOR] = "tensor",
                                      [TT_VALUES_BY_BASE_NAME] = "base_name",
                                      [TT_VALUES_BY_OP] = "op",
                                      [TT_VALUES_BY_LAYER] = "layer",
                                      [TT_VALUES_BY_BATCH] = "batch"};
    return all[by];
}

TT_COLUMN_KNOWN(is_page, tt_values_view, v, v->page != NULL)
TT_COLUMN_KNOWN(is_grouped, tt_values_view, v, v->groups != NULL)
TT_COLUMN_KNOWN(is_outliers, tt_values_view, v, v->outliers != NULL)
TT_COLUMN_KNOWN(has_summary, tt_values_view, v, counts_of(v) != NULL)
TT_COLUMN_GET(get_by, tt_values_view, v, tt_cell_text(cell, by_name(v->groups->by));)
TT_COLUMN_KNOWN(is_growth, tt_values_view, v, v->grid != NULL)
TT_COLUMN_JSON(json_place, tt_values_view, v,
               tt_json_string(j, v->grid->place[0] ? v->grid->place : NULL);)
TT_COLUMN_LISTING(rows, tt_values_view, v, v->rows)
TT_COLUMN_VALUE(get_total, tt_values_view, v, u64,
                v->page       ? v->page->total
                : v->outliers ? v->outliers->total
                              : v->rows->n_all)

static void summary(const void *context, const void *row, tt_rowset *out)
{
    (void)context;
    put_row(out, &tt_values_summary_schema, counts_of(row));
}

#define IF(known_, key_, about_, ...)                                                              \
    TT_FIELD(key_, about_, .known = (known_), .show = TT_SHOW_OMIT, __VA_ARGS__)

static const tt_column columns[] = {
    TT_FIELD("file", "the trace", TT_MEMBER(tt_values_view, path)),
    IF(is_page, "offset", "outputs before the first one", TT_MEMBER(tt_values_view, offset)),
    IF(is_grouped, "by", "what a row is", .type = TT_CELL_NAME, .get = get_by),
    IF(is_growth, "base_name", "whose growth it is", .type = TT_CELL_NAME, .json = json_place),
    TT_FIELD("rows", "that are listed", .type = TT_CELL_ROWS, .rows = rows),
    TT_FIELD("rows_total", "also those behind the limit", .type = TT_CELL_U64, .get = get_total),
    IF(is_outliers, "compared", "outputs", TT_THROUGH(tt_values_view, outliers),
       TT_MEMBER(tt_values_outliers, compared)),
    IF(has_summary, "summary", "of all outputs", .type = TT_CELL_OBJECT, .rows = summary),
};
static const tt_schema schema = TT_SCHEMA("values", "what ops put out", columns);

void tt_values_json(tt_json *j, const tt_model *m, const tt_values_view *v)
{
    tt_row_json(j, NULL, &schema, m, v);
}

tt_status tt_values_rows_json(tt_json *j, const tt_model *m, const tt_rowset *set, tt_values_view v,
                              tt_error *err)
{
    const tt_listing_wish wish = {.passes = v.grid ? tt_values_growth_measured : NULL};
    tt_listing list;
    const tt_status status = tt_listing_make(&list, set, &wish, err);
    v.rows = &list;
    if (status == TT_OK) tt_values_json(j, m, &v);
    tt_listing_free(&list);
    return status;
}

/* --- the first bad value --- */

typedef struct first_view {
    const char *path;
    const tt_values_first *f;
} first_view;

TT_COLUMN_ROWS(origins, first_view, v, v->f->origins, v->f->n_origins)

static void spread(const void *context, const void *row, tt_rowset *out)
{
    (void)context;
    put_row(out, &tt_values_spread_schema, ((const first_view *)row)->f);
}

static void first_summary(const void *context, const void *row, tt_rowset *out)
{
    (void)context;
    put_row(out, &tt_values_summary_schema, &((const first_view *)row)->f->counts);
}

TT_COLUMN_KNOWN(was_measured, first_view, v, v->f->counts.outputs > 0)
#define OF_FIRST(member_)                                                                          \
    .known = was_measured, TT_THROUGH(first_view, f), TT_MEMBER(tt_values_first, member_)

static const tt_column first_columns[] = {
    TT_FIELD("file", "the trace", TT_MEMBER(first_view, path)),
    TT_FIELD("found", "there is a NaN or infinity", OF_FIRST(found)),
    TT_FIELD("first", "output that has one", .type = TT_CELL_OBJECT,
             .inner = &tt_values_origin_schema, .rows = origins),
    TT_FIELD("origins", "outputs that have one though no source does", .type = TT_CELL_ROWS,
             .inner = &tt_values_origin_schema, .rows = origins),
    TT_FIELD("origins_total", "also those that are not listed", OF_FIRST(origins_total)),
    TT_FIELD("spread", "how far they went", .type = TT_CELL_OBJECT, .rows = spread),
    TT_FIELD("summary", "of all outputs", .type = TT_CELL_OBJECT, .rows = first_summary),
};
static const tt_schema first_schema = TT_SCHEMA("first", "the first bad value", first_columns);

void tt_values_first_json(tt_json *j, const char *path, const tt_model *m, const tt_values_first *f)
{
    tt_row_json(j, NULL, &first_schema, m, &(first_view){path, f});
}
