/* /api/v1/traces/ID/values and below it: outputs of ops, over layers and tokens. */
#include "analyze/values/outputs.h"
#include "analyze/values/values.h"
#include "answer/values.h"
#include "serve/columns.h"
#include "serve/endpoints.h"
#include "serve/request.h"
#include "serve/source.h"
#include "serve/traces.h"

#include <math.h>
#include <stdlib.h>

#define LIST_DEFAULT 200u
#define LIST_MAX 5000u

static const char *path_of(const tt_request *q)
{
    return tt_traces_path(q->traces, q->trace_id);
}

/* Which outputs are requested. */
static bool query_of(const tt_request *q, tt_values_query *query, tt_error *err)
{
    *query = (tt_values_query){.name = tt_request_text(q, "name")};
    return tt_request_filter(q, &query->filter, err);
}

/* --- what was recorded --- */

static const tt_values_query everything;
static const tt_listing_wish all;

typedef struct overview {
    tt_values_groups places;
    const char *level; /* NULL: no output */
} overview;

static void release_overview(overview *o)
{
    tt_values_groups_free(&o->places);
}

/* The recorded detail of outputs, derived from the records: an argument of --values. */
static tt_status level_of(const tt_model *m, const char **level, tt_error *err)
{
    tt_outputs outputs = {0};
    tt_status status = TT_OK;
    *level = NULL;
    for (uint32_t i = 0; i < m->n_runs && status == TT_OK && outputs.n == 0; i++)
        status = tt_outputs_of_run(&outputs, m, i, err);
    if (status == TT_OK && outputs.n > 0)
        *level = tt_output_data_any(m)              ? "full"
                 : outputs.list[0].print.has_blake3 ? "hash"
                                                    : "stats";
    tt_outputs_free(&outputs);
    return status;
}

static tt_status find_overview(overview *o, tt_model *m, tt_error *err)
{
    tt_status status = tt_outputs_any(m) ? level_of(m, &o->level, err) : TT_OK;
    if (status != TT_OK) return status;
    return tt_values_groups_make(m, &everything, TT_VALUES_BY_BASE_NAME, NULL, &o->places, err);
}

TT_SOURCE_MEMO(overview_memo, overview, "the values", find_overview, release_overview)

tt_status tt_answer_values(tt_request *q, tt_reply *r, tt_error *err)
{
    const void *made = NULL;
    tt_status status = tt_source_get(q, &overview_memo, &made, err);
    if (status != TT_OK) return status;
    const overview *o = made;
    const tt_rowset set = tt_values_groups_rowset(q->m, &o->places);
    tt_json *j = tt_reply_json(r);
    tt_json_object(j);
    tt_json_kv_string(j, "level", o->level);
    tt_json_key(j, "base_names");
    const tt_values_view v = {.path = path_of(q), .groups = &o->places};
    status = tt_values_rows_json(j, q->m, &set, v, err);
    tt_json_object_end(j);
    return status;
}

/* --- one stage over layers and tokens --- */

TT_COLUMN_KNOWN(has_output, tt_values_cell, c, c->outputs > 0)
TT_COLUMN_KNOWN(has_range, tt_values_cell, c, c->outputs > 0 && c->has_range)

#define OF_CELL(member_, known_)                                                                   \
    TT_FIELD(#member_, "", TT_MEMBER(tt_values_cell, member_), .known = known_)
static const tt_column cell_columns[] = {
    OF_CELL(rms, has_range),    OF_CELL(mean, has_range),      OF_CELL(min, has_range),
    OF_CELL(max, has_range),    OF_CELL(elements, has_output), OF_CELL(n_nan, has_output),
    OF_CELL(n_inf, has_output), OF_CELL(run, has_output),      OF_CELL(node, has_output),
    OF_CELL(outputs, NULL),     OF_CELL(masking, NULL),
};
static const tt_schema cell_schema = TT_SCHEMA("grid", "a layer in a batch", cell_columns);

TT_COLUMN_GET(get_place, tt_values_grid, g, tt_cell_text(cell, g->place);)
TT_COLUMN_JSON(json_layers, tt_values_grid, g, {
    tt_json_array(j);
    for (uint32_t i = 0; i < g->n_layers; i++)
        tt_json_u64_or_null(j, g->layers[i] >= 0, (uint64_t)g->layers[i]);
    tt_json_array_end(j);
})
TT_COLUMN_JSON(json_batches, tt_values_grid, g, {
    tt_json_array(j);
    for (uint32_t i = 0; i < g->n_batches; i++)
        tt_json_u64(j, tt_model_batch_number(context, g->batches[i]));
    tt_json_array_end(j);
})

static const tt_column grid_columns[] = {
    TT_FIELD("base_name", "a name without its layer", .type = TT_CELL_NAME, .get = get_place),
    TT_FIELD("cut", "there are more", TT_MEMBER(tt_values_grid, cut)),
    TT_FIELD("layers", "its rows", .type = TT_CELL_ROWS, .json = json_layers),
    TT_FIELD("batches", "its columns", .type = TT_CELL_ROWS, .json = json_batches),
};
static const tt_schema grid_schema = TT_SCHEMA("grid", "one base name", grid_columns);

tt_status tt_answer_values_grid(tt_request *q, tt_reply *r, tt_error *err)
{
    tt_values_query query;
    tt_values_grid grid = {0};
    tt_columns columns;
    const tt_over over = tt_request_over(q);
    if (!query_of(q, &query, err)) return TT_E_USAGE;
    tt_status status =
        tt_values_grid_make(q->m, &query, tt_request_text(q, "base_name"), &over, &grid, err);
    if (status == TT_OK) {
        tt_columns_begin(&columns, &TT_ROWSET(&grid_schema, 0, q->m, &grid, 1));
        tt_columns_add_rows(
            &columns,
            &TT_ROWSET(&cell_schema, 0, NULL, grid.cells, (size_t)grid.n_layers * grid.n_batches),
            &all);
        status = tt_columns_end(&columns, r, err);
    }
    tt_values_grid_free(&grid);
    return status;
}

/* --- lists --- */

tt_status tt_answer_values_list(tt_request *q, tt_reply *r, tt_error *err)
{
    static const char *const which[] = {"all", "bad", "masking", "constant", "zero", NULL};
    static const char *const samples[] = {"0", "1", NULL};
    tt_values_query query;
    tt_values_page page = {0};
    size_t at = 0, with = 0;
    const tt_over over = tt_request_over(q);
    if (!query_of(q, &query, err) || !tt_request_choice(q, "which", which, 0, &at, err) ||
        !tt_request_choice(q, "samples", samples, 0, &with, err) ||
        !tt_request_u64(q, "offset", 0, UINT32_MAX, 0, &query.offset, err) ||
        !tt_request_u64(q, "limit", 1, LIST_MAX, LIST_DEFAULT, &query.limit, err))
        return TT_E_USAGE;
    query.which = (tt_values_which)at;
    tt_status status = tt_values_list(q->m, &query, &over, &page, err);
    if (status == TT_OK) {
        const tt_rowset set = tt_values_rowset(q->m, page.rows, page.n, with == 1);
        const tt_values_view v = {.path = path_of(q), .page = &page, .offset = query.offset};
        status = tt_values_rows_json(tt_reply_json(r), q->m, &set, v, err);
    }
    tt_values_page_free(&page);
    return status;
}

/* --- NaN and infinities --- */

static tt_status find_first(tt_values_first *f, tt_model *m, tt_error *err)
{
    tt_status status = tt_values_first_bad(m, &everything, NULL, f, err);
    return status == TT_OK ? tt_values_first_weights(m, NULL, f, err) : status;
}

TT_SOURCE_MEMO(first_memo, tt_values_first, "the values", find_first, tt_values_first_free)

tt_status tt_answer_values_first(tt_request *q, tt_reply *r, tt_error *err)
{
    const void *made = NULL;
    tt_status status = tt_source_get(q, &first_memo, &made, err);
    if (status == TT_OK) tt_values_first_json(tt_reply_json(r), path_of(q), q->m, made);
    return status;
}

static tt_status find_marks(tt_values_marks *marks, tt_model *m, tt_error *err)
{
    return tt_values_marks_make(m, NULL, marks, err);
}

TT_SOURCE_MEMO(marks_memo, tt_values_marks, "the values", find_marks, tt_values_marks_free)

TT_COLUMN_KNOWN(is_timed, tt_values_mark, mark, mark->timed)
TT_COLUMN_VALUE(get_mark_start, tt_values_mark, mark, f64, tt_model_ns(context, mark->start))
TT_COLUMN_VALUE(get_mark_end, tt_values_mark, mark, f64, tt_model_ns(context, mark->end))

TT_COLUMN_KNOWN(has_mark_layer, tt_values_mark, mark, mark->layer >= 0)
TT_COLUMN_VALUE(get_mark_layer, tt_values_mark, mark, u64, (uint64_t)mark->layer)
static const tt_column mark_columns[] = {
    TT_FIELD("run", "", TT_MEMBER(tt_values_mark, run)),
    TT_FIELD("node", "", TT_MEMBER(tt_values_mark, node)),
    TT_FIELD("op", "", TT_MEMBER(tt_values_mark, op)),
    TT_FIELD(TT_LAYER_KEY, "", .type = TT_CELL_U32, .get = get_mark_layer, .known = has_mark_layer),
    TT_FIELD("batch_id", "", TT_MEMBER(tt_values_mark, token)),
    TT_FIELD("n_nan", "", TT_MEMBER(tt_values_mark, n_nan)),
    TT_FIELD("n_inf", "", TT_MEMBER(tt_values_mark, n_inf)),
    TT_FIELD("start_relative_ns", "", .type = TT_CELL_F64, .get = get_mark_start,
             .known = is_timed),
    TT_FIELD("end_relative_ns", "", .type = TT_CELL_F64, .get = get_mark_end, .known = is_timed),
};
static const tt_schema mark_schema = TT_SCHEMA("bad", "a bad output", mark_columns);

static bool any_output(const void *context, const void *row)
{
    (void)row;
    return tt_outputs_any(context);
}

tt_status tt_answer_values_bad(tt_request *q, tt_reply *r, tt_error *err)
{
    static const tt_column total =
        TT_FIELD("bad", "", .known = any_output, TT_MEMBER(tt_values_marks, total));
    static const tt_schema head = {"bad", "of the trace", &total, 1};
    const void *made = NULL;
    tt_columns c;
    tt_status status = tt_source_get(q, &marks_memo, &made, err);
    if (status != TT_OK) return status;
    const tt_values_marks *marks = made;
    tt_columns_begin(&c, &TT_ROWSET(&head, 0, q->m, marks, 1));
    tt_columns_add_rows(&c, &TT_ROWSET(&mark_schema, 0, q->m, marks->list, marks->n), &all);
    return tt_columns_end(&c, r, err);
}
