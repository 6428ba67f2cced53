/* /api/v1/traces/ID/log/count, log/rows, log/locate: the ops in time order. */
#include "analyze/log/columns.h"
#include "analyze/log/log.h"
#include "serve/endpoints.h"
#include "serve/log_cache.h"
#include "serve/log_filter.h"

#include <stdlib.h>

#define ROWS_MAX 1000u

/* The number of rows, as far as known. */
TT_COLUMN_VALUE(get_estimate, tt_log_count, c, u64,
                c->done             ? c->rows
                : c->runs_done == 0 ? tt_pieces_records(((const tt_model *)context)->pieces)
                                    : (uint64_t)((double)c->rows / c->runs_done * c->runs))
TT_COLUMN_KNOWN(is_ended, tt_log_count, c, c->ended_by.status != TT_OK)

static const tt_column count_columns[] = {
    TT_FIELD("rows", "that are counted", TT_MEMBER(tt_log_count, rows)),
    TT_FIELD("done", "that are all", TT_MEMBER(tt_log_count, done)),
    TT_FIELD("runs_done", "that were looked at", TT_MEMBER(tt_log_count, runs_done)),
    TT_FIELD("runs", "all of them", TT_MEMBER(tt_log_count, runs)),
    TT_FIELD("rows_estimate", "of all", .type = TT_CELL_U64, .get = get_estimate),
    TT_FIELD("ended_by", "why there is no more", TT_MEMBER_CHARS(tt_log_count, ended_by.message),
             .known = is_ended),
};
static const tt_schema count_schema = TT_SCHEMA("count", "rows of a filter", count_columns);

/* Writes members of an open object. */
static void put_count(tt_json *j, const tt_model *m, const tt_log_count *c)
{
    tt_rowset_json(j, &TT_ROWSET(&count_schema, 0, m, c, 1), c);
}

/* What a request asks for: rows under a filter, in the order of time or another one. */
typedef struct wish {
    tt_filter filter;
    bool by_lane;
    bool sorted;
    tt_sort_key sort;
} wish;

static tt_status wish_of(tt_request *q, wish *w, tt_error *err)
{
    const char *sort = tt_request_text(q, "sort");
    if (!tt_log_filter_of(q, &w->filter, &w->by_lane, err)) return TT_E_USAGE;
    w->sorted = sort != NULL;
    if (!sort) return TT_OK;
    const tt_rowset set = tt_log_rowset(q->m, NULL, w->by_lane);
    return tt_sort_key_read(&w->sort, &set, sort, strlen(sort), err);
}

/* The index with `rows` rows counted, or with the sorted rows (*top, else NULL); to be released if
 * that succeeds. */
static tt_status acquire(tt_request *q, const wish *w, uint64_t rows, tt_log_lease *lease,
                         const tt_log_top **top, tt_error *err)
{
    *top = NULL;
    tt_status status =
        tt_log_cache_acquire(q, &w->filter, w->by_lane, w->sorted ? 0 : rows, lease, err);
    if (status != TT_OK || !w->sorted) return status;
    status = tt_log_cache_top(q, lease, w->sort, top, err);
    if (status != TT_OK) {
        tt_log_cache_release(lease);
        return status;
    }
    const uint32_t runs = q->m->n_runs;
    lease->count = (tt_log_count){.rows = (*top)->n,
                                  .runs_done = runs,
                                  .runs = runs,
                                  .done = true,
                                  .ended_by = (*top)->ended_by};
    return TT_OK;
}

/* Writes members of an open object. all: the rows that pass the filter, of which a sorted list has
 * the first. */
static void put_counts(tt_json *j, const tt_model *m, const tt_log_count *c, bool sorted,
                       uint64_t all)
{
    put_count(j, m, c);
    if (sorted) tt_json_kv_u64(j, "all_rows", all);
}

tt_status tt_answer_log_count(tt_request *q, tt_reply *r, tt_error *err)
{
    wish w;
    tt_log_lease lease;
    const tt_log_top *top;
    tt_status status = wish_of(q, &w, err);
    if (status == TT_OK) status = acquire(q, &w, UINT64_MAX, &lease, &top, err);
    if (status != TT_OK) return status;
    const uint64_t all = top ? top->n_all : 0;
    tt_log_cache_release(&lease);
    tt_json *j = tt_reply_json(r);
    tt_json_object(j);
    put_counts(j, q->m, &lease.count, w.sorted, all);
    tt_json_object_end(j);
    return TT_OK;
}

typedef struct rows {
    const tt_model *m;
    tt_log_picks picks;
    uint32_t runs[ROWS_MAX]; /* in m->runs, of each row */
    uint32_t n;
} rows;

static tt_status put_row(rows *w, const tt_log_op *row, tt_json *j, tt_error *err)
{
    const tt_op *op;
    const tt_access *list;
    size_t n;
    tt_status status = tt_log_picks_of(&w->picks, row, &op, &list, &n, err);
    if (status != TT_OK) return status;
    tt_log_json_op(j, w->m, row, op, list, n);
    w->runs[w->n++] = (uint32_t)(row->run - w->m->runs);
    return TT_OK;
}

static tt_status walk_rows(rows *w, const tt_log_index *x, tt_log_cursor *c, uint64_t first,
                           uint64_t n, tt_json *j, tt_error *err)
{
    tt_log_op row;
    bool more = true;
    tt_status status = tt_log_index_seek(x, c, first, err);
    for (uint64_t i = 0; i < n && more && status == TT_OK; i++) {
        status = tt_log_index_next(x, c, first + i, &more, err);
        if (status != TT_OK || !more) break;
        status = tt_log_cursor_op(c, &row) ? put_row(w, &row, j, err)
                                           : tt_error_memory(err, "rows of the log");
    }
    return status;
}

static tt_status put_rows(rows *w, const tt_log_lease *lease, const wish *asked, uint64_t first,
                          uint64_t n, tt_json *j, tt_error *err)
{
    tt_log_cursor *c;
    tt_status status = tt_log_cursor_open(w->m, tt_log_index_filter(lease->index), asked->by_lane,
                                          lease->order, &c, err);
    if (status == TT_OK) status = walk_rows(w, lease->index, c, first, n, j, err);
    tt_log_cursor_close(c);
    return status;
}

static tt_status put_sorted(rows *w, const tt_log_top *top, uint64_t first, uint64_t n, tt_json *j,
                            tt_error *err)
{
    tt_log_op row;
    tt_op_table *ops = tt_op_table_new(w->m);
    tt_status status = ops ? TT_OK : tt_error_memory(err, "rows of the log");
    for (uint64_t i = first; i < top->n && i - first < n && status == TT_OK; i++) {
        const tt_log_top_row *x = &top->rows[i];
        status = tt_log_item_op(ops, &w->m->runs[x->run], &x->item, &row)
                     ? put_row(w, &row, j, err)
                     : tt_error_memory(err, "rows of the log");
    }
    tt_op_table_free(ops);
    return status;
}

/* Writes the object. */
static tt_status put_answer(rows *w, const wish *asked, const tt_log_lease *lease,
                            const tt_log_top *top, uint64_t first, uint64_t n, tt_json *j,
                            tt_error *err)
{
    tt_json_object(j);
    tt_json_kv_u64(j, "first", first);
    put_counts(j, w->m, &lease->count, asked->sorted, top ? top->n_all : 0);
    tt_json_key(j, "ops");
    tt_json_array(j);
    const tt_status status =
        top ? put_sorted(w, top, first, n, j, err) : put_rows(w, lease, asked, first, n, j, err);
    tt_json_array_end(j);
    tt_json_key(j, "run");
    tt_json_array(j);
    for (uint32_t i = 0; i < w->n; i++)
        tt_json_u64(j, w->runs[i]);
    tt_json_array_end(j);
    tt_json_object_end(j);
    return status;
}

tt_status tt_answer_log_rows(tt_request *q, tt_reply *r, tt_error *err)
{
    wish asked;
    tt_log_lease lease;
    const tt_log_top *top;
    uint64_t first, n;
    tt_status status = wish_of(q, &asked, err);
    if (status != TT_OK) return status;
    if (!tt_request_u64(q, "first", 0, UINT64_MAX / 2, 0, &first, err) ||
        !tt_request_u64(q, "n", 1, ROWS_MAX, 100, &n, err))
        return TT_E_USAGE;
    rows *w = calloc(1, sizeof *w);
    if (!w) return tt_error_memory(err, "rows of the log");
    w->m = w->picks.m = q->m;
    status = acquire(q, &asked, first + n, &lease, &top, err);
    if (status == TT_OK) {
        status = put_answer(w, &asked, &lease, top, first, n, tt_reply_json(r), err);
        tt_log_cache_release(&lease);
    }
    tt_log_picks_free(&w->picks);
    free(w);
    return status;
}

/* Sorted rows have no place for what is not among them: *row is their number. */
static void locate_sorted(const tt_model *m, const tt_log_top *top, uint64_t run, uint64_t node,
                          uint64_t *row, bool *found)
{
    for (*row = 0; *row < top->n; (*row)++) {
        const tt_log_top_row *x = &top->rows[*row];
        *found = x->run == run && tt_log_item_has(m, x->run, &x->item, (uint32_t)node);
        if (*found) return;
    }
}

/* Index of the requested op or time among the counted rows. */
static tt_status locate(tt_request *q, const tt_log_lease *lease, const tt_log_top *top,
                        uint64_t run, uint64_t node, uint64_t *row, bool *found, tt_error *err)
{
    double ns;
    if (top) {
        locate_sorted(q->m, top, run, node, row, found);
        return TT_OK;
    }
    if (tt_request_text(q, "run"))
        return tt_log_index_locate_op(lease->index, q->m, (uint32_t)run, (uint32_t)node, row, found,
                                      err);
    if (!tt_request_double(q, "time_ns", -1e18, 1e18, 0, &ns, err)) return TT_E_USAGE;
    tt_status status = tt_log_index_locate_time(lease->index, q->m, ns, row, err);
    *found = status == TT_OK && *row < lease->count.rows;
    return status;
}

tt_status tt_answer_log_locate(tt_request *q, tt_reply *r, tt_error *err)
{
    wish w;
    bool found = false;
    tt_log_lease lease;
    const tt_log_top *top;
    uint64_t run, node, row = 0, all = 0;
    const bool by_op = tt_request_text(q, "run") != NULL;
    if (by_op == (tt_request_text(q, "time_ns") != NULL))
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "ask for run and node, or for time_ns");
    if (by_op != (tt_request_text(q, "node") != NULL))
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                            "an op needs the parameters run and node");
    if (by_op && q->m->n_runs == 0)
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "the trace has no run");
    tt_status status = wish_of(q, &w, err);
    if (status != TT_OK) return status;
    if (w.sorted && !by_op)
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                            "rows in another order have no place for a time");
    if (!tt_request_u64(q, "run", 0, q->m->n_runs ? q->m->n_runs - 1 : 0, 0, &run, err) ||
        !tt_request_u64(q, "node", 0, UINT32_MAX - 1, 0, &node, err))
        return TT_E_USAGE;
    /* Searches the known rows, then more. The reply has the progress: rows counted later may
     * contain it. */
    for (unsigned i = 0; i < 2 && !found; i++) {
        status = acquire(q, &w, i ? UINT64_MAX : 0, &lease, &top, err);
        if (status != TT_OK) return status;
        all = top ? top->n_all : 0;
        status = locate(q, &lease, top, run, node, &row, &found, err);
        tt_log_cache_release(&lease);
        if (status != TT_OK) return status;
        if (lease.count.done) break;
    }
    tt_json *j = tt_reply_json(r);
    tt_json_object(j);
    tt_json_kv_u64(j, "row", row);
    tt_json_kv_bool(j, "found", found);
    put_counts(j, q->m, &lease.count, w.sorted, all);
    tt_json_object_end(j);
    return TT_OK;
}
