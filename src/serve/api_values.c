/* /api/v1/traces/ID/values and below it: what the ops put out, over layers and tokens. */
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

/* Which outputs are asked for. */
static bool query_of(const tt_request *q, tt_values_query *query, tt_error *err)
{
    *query = (tt_values_query){.name = tt_request_text(q, "name")};
    return tt_request_filter(q, &query->filter, err);
}

/* --- what there is --- */

static const tt_values_query everything;

typedef struct overview {
    tt_values_groups places;
    const char *level; /* NULL: there is no output */
} overview;

static void drop_overview(void *made)
{
    overview *o = made;
    tt_values_groups_free(&o->places);
    free(o);
}

/* How much was taken of the outputs, told by what there is: a text of --values. */
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

static tt_status make_overview(tt_model *m, void **out, tt_error *err)
{
    overview *o = calloc(1, sizeof *o);
    if (!o) return tt_error_memory(err, "the values");
    tt_status status = tt_outputs_any(m) ? level_of(m, &o->level, err) : TT_OK;
    if (status == TT_OK)
        status = tt_values_groups_make(m, &everything, TT_VALUES_BY_PLACE, NULL, &o->places, err);
    if (status != TT_OK)
        drop_overview(o);
    else
        *out = o;
    return status;
}

tt_status tt_answer_values(tt_request *q, tt_reply *r, tt_error *err)
{
    static const tt_source_memo memo = {make_overview, drop_overview};
    const void *made = NULL;
    tt_status status = tt_source_get(q, &memo, &made, err);
    if (status != TT_OK) return status;
    const overview *o = made;
    const tt_rowset set = tt_values_groups_rowset(&o->places);
    tt_json *j = tt_reply_json(r);
    if (!j) return tt_error_memory(err, "the values");
    tt_json_object(j);
    tt_json_kv_string(j, "level", o->level);
    tt_json_key(j, "places");
    const tt_values_view v = {.path = path_of(q), .groups = &o->places};
    status = tt_values_rows_json(j, q->m, &set, v, err);
    tt_json_object_end(j);
    return status;
}

/* --- one place over layers and tokens --- */

static double cell_number(const tt_values_cell *c, int which)
{
    if (c->outputs == 0) return (double)NAN;
    if (which == 4) return (double)c->elements;
    if (which == 5) return (double)c->n_nan;
    if (which == 6) return (double)c->n_inf;
    if (!c->has_range) return (double)NAN;
    return which == 0   ? c->rms
           : which == 1 ? c->mean
           : which == 2 ? (double)c->min
                        : (double)c->max;
}

static void put_cells(tt_columns *c, const tt_values_grid *g)
{
    static const char *const names[] = {"rms", "mean", "min", "max", "elements", "n_nan", "n_inf"};
    const size_t n = (size_t)g->n_layers * g->n_batches;
    for (int k = 0; k < 7; k++) {
        double *column = tt_columns_add(c, names[k], TT_COLUMN_F64, n);
        for (size_t i = 0; column && i < n; i++)
            column[i] = cell_number(&g->cells[i], k);
    }
    uint32_t *run = tt_columns_add(c, "run", TT_COLUMN_U32, n);
    for (size_t i = 0; run && i < n; i++)
        run[i] = g->cells[i].outputs ? g->cells[i].run : TT_COLUMNS_NO_U32;
    uint32_t *node = tt_columns_add(c, "node", TT_COLUMN_U32, n);
    for (size_t i = 0; node && i < n; i++)
        node[i] = g->cells[i].outputs ? g->cells[i].node : TT_COLUMNS_NO_U32;
    uint32_t *outputs = tt_columns_add(c, "outputs", TT_COLUMN_U32, n);
    for (size_t i = 0; outputs && i < n; i++)
        outputs[i] = g->cells[i].outputs;
    uint8_t *masking = tt_columns_add(c, "masking", TT_COLUMN_U8, n);
    for (size_t i = 0; masking && i < n; i++)
        masking[i] = g->cells[i].masking;
}

static void put_axes(tt_json *j, const tt_model *m, const tt_values_grid *g)
{
    tt_json_kv_string(j, "place", g->place);
    tt_json_kv_bool(j, "cut", g->cut);
    tt_json_key(j, "layers");
    tt_json_array(j);
    for (uint32_t i = 0; i < g->n_layers; i++)
        tt_json_u64_or_null(j, g->layers[i] >= 0, (uint64_t)(g->layers[i] >= 0 ? g->layers[i] : 0));
    tt_json_array_end(j);
    tt_json_key(j, "tokens");
    tt_json_array(j);
    for (uint32_t i = 0; i < g->n_batches; i++)
        tt_json_u64(j, tt_model_batch_number(m, g->batches[i]));
    tt_json_array_end(j);
}

tt_status tt_answer_values_grid(tt_request *q, tt_reply *r, tt_error *err)
{
    tt_values_query query;
    tt_values_grid grid = {0};
    tt_columns columns;
    const tt_over over = tt_request_over(q);
    if (!query_of(q, &query, err)) return TT_E_USAGE;
    tt_status status =
        tt_values_grid_make(q->m, &query, tt_request_text(q, "place"), &over, &grid, err);
    if (status == TT_OK) {
        if (tt_columns_begin(&columns)) {
            put_axes(columns.json, q->m, &grid);
            put_cells(&columns, &grid);
        }
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
    tt_json *j = status == TT_OK ? tt_reply_json(r) : NULL;
    if (status == TT_OK && !j) status = tt_error_memory(err, "the values");
    if (j) {
        const tt_rowset set = tt_values_rowset(q->m, page.rows, page.n, with == 1);
        const tt_values_view v = {.path = path_of(q), .page = &page, .offset = query.offset};
        status = tt_values_rows_json(j, q->m, &set, v, err);
    }
    tt_values_page_free(&page);
    return status;
}

/* --- NaN and infinities --- */

static void drop_first(void *made)
{
    tt_values_first_free(made);
    free(made);
}

static tt_status make_first(tt_model *m, void **out, tt_error *err)
{
    tt_values_first *f = calloc(1, sizeof *f);
    if (!f) return tt_error_memory(err, "the values");
    tt_status status = tt_values_first_bad(m, &everything, NULL, f, err);
    if (status == TT_OK) status = tt_values_first_weights(m, NULL, f, err);
    if (status != TT_OK)
        drop_first(f);
    else
        *out = f;
    return status;
}

tt_status tt_answer_values_first(tt_request *q, tt_reply *r, tt_error *err)
{
    static const tt_source_memo memo = {make_first, drop_first};
    const void *made = NULL;
    tt_status status = tt_source_get(q, &memo, &made, err);
    if (status != TT_OK) return status;
    tt_json *j = tt_reply_json(r);
    if (!j) return tt_error_memory(err, "the values");
    tt_values_first_json(j, path_of(q), q->m, made);
    return TT_OK;
}

static void drop_marks(void *made)
{
    tt_values_marks_free(made);
    free(made);
}

static tt_status make_marks(tt_model *m, void **out, tt_error *err)
{
    tt_values_marks *marks = calloc(1, sizeof *marks);
    if (!marks) return tt_error_memory(err, "the values");
    tt_status status = tt_values_marks_make(m, NULL, marks, err);
    if (status != TT_OK)
        drop_marks(marks);
    else
        *out = marks;
    return status;
}

static double mark_number(const tt_model *m, const tt_values_mark *mark, int which)
{
    if (which == 0) return (double)mark->n_nan;
    if (which == 1) return (double)mark->n_inf;
    if (!mark->timed) return (double)NAN;
    return tt_model_ns(m, which == 2 ? mark->start : mark->end);
}

static uint32_t mark_index(const tt_values_mark *mark, int which)
{
    const uint32_t layer = mark->layer < 0 ? TT_COLUMNS_NO_U32 : (uint32_t)mark->layer;
    const uint32_t of[] = {mark->run, mark->node, mark->op, layer, mark->token};
    return of[which];
}

tt_status tt_answer_values_bad(tt_request *q, tt_reply *r, tt_error *err)
{
    static const tt_source_memo memo = {make_marks, drop_marks};
    static const char *const indexes[] = {"run", "node", "op", "layer_id", "batch_id"};
    static const char *const numbers[] = {"n_nan", "n_inf", "start_ns", "end_ns"};
    const void *made = NULL;
    tt_columns c;
    tt_status status = tt_source_get(q, &memo, &made, err);
    if (status != TT_OK) return status;
    const tt_values_marks *marks = made;
    if (tt_columns_begin(&c)) {
        tt_json_kv_u64(c.json, "bad_outputs", marks->total);
        for (int k = 0; k < 5; k++) {
            uint32_t *column = tt_columns_add(&c, indexes[k], TT_COLUMN_U32, marks->n);
            for (size_t i = 0; column && i < marks->n; i++)
                column[i] = mark_index(&marks->list[i], k);
        }
        for (int k = 0; k < 4; k++) {
            double *column = tt_columns_add(&c, numbers[k], TT_COLUMN_F64, marks->n);
            for (size_t i = 0; column && i < marks->n; i++)
                column[i] = mark_number(q->m, &marks->list[i], k);
        }
    }
    return tt_columns_end(&c, r, err);
}
