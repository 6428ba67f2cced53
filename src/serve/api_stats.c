/* /api/v1/traces/ID/stats and /series: time and bytes of the ops, summed; and by token. */
#include "answer/stats.h"
#include "serve/endpoints.h"
#include "serve/request.h"
#include "serve/source.h"
#include "serve/traces.h"

#include <stdlib.h>
#include <string.h>

#define ROWS_DEFAULT 1000u
#define ROWS_MAX 20000u
#define SERIES_ROWS_DEFAULT 8u
#define SERIES_ROWS_MAX 64u
#define POINTS_DEFAULT 400u

/* --- whole traces, memoised --- */

static tt_status walk(tt_model *m, tt_stats *s, tt_error *err)
{
    return tt_stats_walk(&s, 1, m, NULL, NULL, err);
}

static tt_status make(tt_model *m, tt_stats_by by, void **out, tt_error *err)
{
    tt_stats *s = tt_stats_new(m, by, NULL);
    if (!s) return tt_error_memory(err, "the statistics");
    tt_status status = walk(m, s, err);
    if (status != TT_OK)
        tt_stats_free(s);
    else
        *out = s;
    return status;
}

static void drop(void *made)
{
    tt_stats_free(made);
}

/* One per dimension, so that a request for one does not wait for the others. */
#define MEMO(by)                                                                                   \
    static tt_status make_##by(tt_model *m, void **out, tt_error *err)                             \
    {                                                                                              \
        return make(m, by, out, err);                                                              \
    }                                                                                              \
    static const tt_source_memo memo_##by = {make_##by, drop};

MEMO(TT_BY_OP)
MEMO(TT_BY_LAYER)
MEMO(TT_BY_COMPONENT)
MEMO(TT_BY_CATEGORY)
MEMO(TT_BY_TENSOR)
MEMO(TT_BY_THREAD)
MEMO(TT_BY_BATCH)
MEMO(TT_BY_PHASE)
MEMO(TT_BY_MODEL)
MEMO(TT_BY_CONTEXT)

static const tt_source_memo *const memos[] = {
    [TT_BY_OP] = &memo_TT_BY_OP,
    [TT_BY_LAYER] = &memo_TT_BY_LAYER,
    [TT_BY_COMPONENT] = &memo_TT_BY_COMPONENT,
    [TT_BY_CATEGORY] = &memo_TT_BY_CATEGORY,
    [TT_BY_TENSOR] = &memo_TT_BY_TENSOR,
    [TT_BY_THREAD] = &memo_TT_BY_THREAD,
    [TT_BY_BATCH] = &memo_TT_BY_BATCH,
    [TT_BY_PHASE] = &memo_TT_BY_PHASE,
    [TT_BY_MODEL] = &memo_TT_BY_MODEL,
    [TT_BY_CONTEXT] = &memo_TT_BY_CONTEXT,
};

/* --- request --- */

static bool which(const tt_request *q, const tt_stats_dimension **by, tt_error *err)
{
    const char *names[TT_STATS_DIMENSIONS + 1] = {NULL};
    size_t at = 0;
    for (size_t i = 0; i < TT_STATS_DIMENSIONS; i++)
        names[i] = tt_stats_dimensions[i].name;
    if (!tt_request_choice(q, "by", names, 0, &at, err)) return false;
    *by = &tt_stats_dimensions[at];
    return true;
}

/* The sorted rows of a walk that others may be reading. */
static tt_status list(tt_stats_view *v, tt_rowset *set, tt_listing *l, tt_stats_context *context,
                      const tt_stats *s, const tt_listing_wish *wish, tt_error *err)
{
    size_t n;
    const tt_stats_row *rows = tt_stats_rows(s, &n);
    v->total = context->total = tt_stats_total(s);
    v->orphan = tt_stats_orphan(s);
    v->rows = l;
    *set = tt_stats_rowset(context, v->by->by, rows, n);
    return tt_listing_make(l, set, wish, err);
}

/* *own: set if it was made for this request; to be freed. */
static tt_status sums_of(tt_request *q, const tt_stats_dimension *by, const tt_stats **s,
                         tt_stats **own, tt_error *err)
{
    tt_filter filter;
    if (tt_request_is_unfiltered(q)) {
        const void *made = NULL;
        tt_status status = tt_source_get(q, memos[by->by], &made, err);
        *s = made;
        return status;
    }
    if (!tt_request_filter(q, &filter, err)) return TT_E_USAGE;
    *s = *own = tt_stats_new(q->m, by->by, &filter);
    if (!*own) return tt_error_memory(err, "the statistics");
    tt_stats_until(*own, tt_request_over(q));
    return walk(q->m, *own, err);
}

tt_status tt_answer_stats(tt_request *q, tt_reply *r, tt_error *err)
{
    const tt_stats *s = NULL;
    tt_stats *own = NULL;
    tt_rowset set;
    tt_listing l = {0};
    tt_stats_context context;
    tt_listing_wish wish = {.sort = tt_request_text(q, "sort"),
                            .columns = tt_request_text(q, "columns")};
    tt_stats_view v = {.path = tt_traces_path(q->traces, q->trace_id), .m = q->m};
    if (!which(q, &v.by, err) ||
        !tt_request_u64(q, "limit", 1, ROWS_MAX, ROWS_DEFAULT, &wish.limit, err))
        return TT_E_USAGE;
    if (!wish.sort) wish.sort = v.by->sort;
    tt_status status = sums_of(q, v.by, &s, &own, err);
    if (status == TT_OK) status = list(&v, &set, &l, &context, s, &wish, err);
    if (status == TT_OK) tt_stats_json(tt_reply_json(r), &v);
    tt_listing_free(&l);
    tt_stats_free(own);
    return status;
}

/* The listed rows always include the one with that key; by layer: of that layer, as in a filter. */
static void list_too(tt_listing *l, tt_stats_by by, const char *key)
{
    int32_t layer = TT_LAYER_NONE;
    const bool is_layer = key && by == TT_BY_LAYER && tt_layer_read(key, &layer);
    for (size_t i = l->n; key && i < l->n_all; i++) {
        const tt_stats_row *row = tt_listing_row(l, i);
        if (is_layer ? !tt_layer_passes(layer, (int32_t)row->number) : strcmp(row->key, key) != 0)
            continue;
        const size_t at = l->order[i];
        l->order[i] = l->order[l->n - 1];
        l->order[l->n - 1] = at;
        return;
    }
}

tt_status tt_answer_series(tt_request *q, tt_reply *r, tt_error *err)
{
    uint64_t points;
    tt_filter filter;
    tt_rowset set;
    tt_listing l = {0};
    tt_stats_context context;
    tt_listing_wish wish = {.sort = "total_ns"};
    tt_stats_view v = {.path = tt_traces_path(q->traces, q->trace_id), .m = q->m};
    if (!which(q, &v.by, err) || !tt_request_filter(q, &filter, err) ||
        !tt_request_u64(q, "points", 2, TT_STATS_SERIES_BUCKETS_MAX, POINTS_DEFAULT, &points,
                        err) ||
        !tt_request_u64(q, "limit", 1, SERIES_ROWS_MAX, SERIES_ROWS_DEFAULT, &wish.limit, err))
        return TT_E_USAGE;
    if (v.by->by == TT_BY_BATCH)
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                            "a series is batch by batch already: by must be another");
    tt_stats *s = tt_stats_new(q->m, v.by->by, &filter);
    if (!s || !tt_stats_keep_series(s, (uint32_t)points)) {
        tt_stats_free(s);
        return tt_error_memory(err, "the statistics");
    }
    tt_stats_until(s, tt_request_over(q));
    tt_status status = walk(q->m, s, err);
    if (status == TT_OK) status = list(&v, &set, &l, &context, s, &wish, err);
    if (status == TT_OK) {
        list_too(&l, v.by->by, tt_request_text(q, "with"));
        tt_stats_series_json(tt_reply_json(r), &v, s);
    }
    tt_listing_free(&l);
    tt_stats_free(s);
    return status;
}
