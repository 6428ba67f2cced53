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

tt_status tt_answer_log_count(tt_request *q, tt_reply *r, tt_error *err)
{
    tt_filter f;
    bool by_lane;
    tt_log_lease lease;
    if (!tt_log_filter_of(q, &f, &by_lane, err)) return TT_E_USAGE;
    tt_status status = tt_log_cache_acquire(q, &f, by_lane, UINT64_MAX, &lease, err);
    if (status != TT_OK) return status;
    tt_log_cache_release(&lease);
    return tt_reply_row(r, &count_schema, q->m, &lease.count);
}

typedef struct rows {
    const tt_model *m;
    tt_log_cursor *cursor;
    tt_log_picks picks;
    uint32_t runs[ROWS_MAX]; /* in m->runs, of each row */
    uint32_t n;
} rows;

static tt_status put_row(rows *w, tt_json *j, tt_error *err)
{
    tt_log_op row;
    const tt_op *op;
    const tt_access *list;
    size_t n;
    if (!tt_log_cursor_op(w->cursor, &row)) return tt_error_memory(err, "rows of the log");
    tt_status status = tt_log_picks_of(&w->picks, &row, &op, &list, &n, err);
    if (status != TT_OK) return status;
    tt_log_json_op(j, w->m, &row, op, list, n);
    w->runs[w->n++] = (uint32_t)(row.run - w->m->runs);
    return TT_OK;
}

static tt_status put_rows(rows *w, const tt_log_index *x, uint64_t first, uint64_t n, tt_json *j,
                          tt_error *err)
{
    bool more = true;
    tt_status status = tt_log_index_seek(x, w->cursor, first, err);
    for (uint64_t i = 0; i < n && more && status == TT_OK; i++) {
        status = tt_log_index_next(x, w->cursor, first + i, &more, err);
        if (status == TT_OK && more) status = put_row(w, j, err);
    }
    return status;
}

tt_status tt_answer_log_rows(tt_request *q, tt_reply *r, tt_error *err)
{
    tt_filter f;
    bool by_lane;
    tt_log_lease lease;
    uint64_t first, n;
    if (!tt_log_filter_of(q, &f, &by_lane, err) ||
        !tt_request_u64(q, "first", 0, UINT64_MAX / 2, 0, &first, err) ||
        !tt_request_u64(q, "n", 1, ROWS_MAX, 100, &n, err))
        return TT_E_USAGE;
    tt_json *j = tt_reply_json(r);
    rows *w = calloc(1, sizeof *w);
    if (!w) return tt_error_memory(err, "rows of the log");
    w->m = w->picks.m = q->m;
    tt_status status = tt_log_cache_acquire(q, &f, by_lane, first + n, &lease, err);
    if (status == TT_OK) {
        tt_json_object(j);
        tt_json_kv_u64(j, "first", first);
        put_count(j, q->m, &lease.count);
        tt_json_key(j, "ops");
        tt_json_array(j);
        status = tt_log_cursor_open(q->m, tt_log_index_filter(lease.index), by_lane, lease.order,
                                    &w->cursor, err);
        if (status == TT_OK) status = put_rows(w, lease.index, first, n, j, err);
        tt_log_cursor_close(w->cursor);
        tt_log_cache_release(&lease);
        tt_json_array_end(j);
        tt_json_key(j, "run");
        tt_json_array(j);
        for (uint32_t i = 0; i < w->n; i++)
            tt_json_u64(j, w->runs[i]);
        tt_json_array_end(j);
        tt_json_object_end(j);
    }
    tt_log_picks_free(&w->picks);
    free(w);
    return status;
}

/* Index of the requested op or time among the counted rows. */
static tt_status locate(tt_request *q, const tt_log_lease *lease, uint64_t run, uint64_t node,
                        uint64_t *row, bool *found, tt_error *err)
{
    double ns;
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
    tt_filter f;
    bool by_lane, found = false;
    tt_log_lease lease;
    uint64_t run, node, row = 0;
    const bool by_op = tt_request_text(q, "run") != NULL;
    if (by_op == (tt_request_text(q, "time_ns") != NULL))
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "ask for run and node, or for time_ns");
    if (by_op != (tt_request_text(q, "node") != NULL))
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                            "an op needs the parameters run and node");
    if (by_op && q->m->n_runs == 0)
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "the trace has no run");
    if (!tt_log_filter_of(q, &f, &by_lane, err) ||
        !tt_request_u64(q, "run", 0, q->m->n_runs ? q->m->n_runs - 1 : 0, 0, &run, err) ||
        !tt_request_u64(q, "node", 0, UINT32_MAX - 1, 0, &node, err))
        return TT_E_USAGE;
    /* Searches the known rows, then more. The reply has the progress: rows counted later may
     * contain it. */
    for (unsigned i = 0; i < 2 && !found; i++) {
        tt_status status = tt_log_cache_acquire(q, &f, by_lane, i ? UINT64_MAX : 0, &lease, err);
        if (status != TT_OK) return status;
        status = locate(q, &lease, run, node, &row, &found, err);
        tt_log_cache_release(&lease);
        if (status != TT_OK) return status;
        if (lease.count.done) break;
    }
    tt_json *j = tt_reply_json(r);
    tt_json_object(j);
    tt_json_kv_u64(j, "row", row);
    tt_json_kv_bool(j, "found", found);
    put_count(j, q->m, &lease.count);
    tt_json_object_end(j);
    return TT_OK;
}
