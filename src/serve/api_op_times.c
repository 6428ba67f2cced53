/* /api/v1/traces/ID/op/times: how long one op took each time. */
#include "analyze/op_times.h"
#include "serve/endpoints.h"

#include <stdlib.h>

#define TIMES_MAX 20000u
#define TIMES_DEFAULT 4000u

/* The n executions that took longest, in the order of time. */
static bool is_longer(const tt_op_time *a, const tt_op_time *b)
{
    return a->ticks != b->ticks ? a->ticks > b->ticks : a < b;
}

static int by_length(const void *a, const void *b)
{
    const tt_op_time *x = *(const tt_op_time *const *)a, *y = *(const tt_op_time *const *)b;
    return x == y ? 0 : is_longer(x, y) ? -1 : 1;
}

static int by_place(const void *a, const void *b)
{
    const tt_op_time *x = *(const tt_op_time *const *)a, *y = *(const tt_op_time *const *)b;
    return x == y ? 0 : x < y ? -1 : 1;
}

/* NULL if out of memory; *n: how many were kept. */
static tt_op_time *longest(const tt_op_times *t, size_t most, size_t *n)
{
    const tt_op_time **order = malloc((t->n + 1) * sizeof *order);
    tt_op_time *kept = malloc((t->n + 1) * sizeof *kept);
    *n = t->n < most ? t->n : most;
    for (size_t i = 0; order && i < t->n; i++)
        order[i] = &t->list[i];
    if (order && t->n) {
        qsort(order, t->n, sizeof *order, by_length);
        qsort(order, *n, sizeof *order, by_place);
    }
    for (size_t i = 0; order && kept && i < *n; i++)
        kept[i] = *order[i];
    if (!order) {
        free(kept);
        kept = NULL;
    }
    free(order);
    return kept;
}

static void put_ns(tt_json *j, const char *key, bool known, double value)
{
    tt_json_key(j, key);
    if (known)
        tt_json_double(j, value);
    else
        tt_json_null(j);
}

static void put_figures(tt_json *j, const tt_op_times *t)
{
    const bool any = t->n > 0;
    tt_json_kv_string(j, "name", t->name);
    tt_json_kv_u64(j, "count", t->n);
    put_ns(j, "min_ns", any, t->min_ns);
    put_ns(j, "p25_ns", any, t->p25_ns);
    put_ns(j, "median_ns", any, t->median_ns);
    put_ns(j, "p75_ns", any, t->p75_ns);
    put_ns(j, "p95_ns", any, t->p95_ns);
    put_ns(j, "max_ns", any, t->max_ns);
    put_ns(j, "mean_ns", any, t->mean_ns);
    put_ns(j, "own_ns", t->own != TT_NONE, t->own != TT_NONE ? t->list[t->own].time_ns : 0);
    put_ns(j, "own_ratio", t->own != TT_NONE, t->own != TT_NONE ? t->list[t->own].ratio : 0);
    put_ns(j, "longer", t->own != TT_NONE, t->rank);
}

tt_status tt_answer_op_times(tt_request *q, tt_reply *r, tt_error *err)
{
    tt_filter filter;
    tt_op_times t;
    uint32_t run, node;
    uint64_t most;
    size_t n;
    const tt_over over = tt_request_over(q);
    if (!tt_request_filter(q, &filter, err) ||
        !tt_request_u64(q, "limit", 1, TIMES_MAX, TIMES_DEFAULT, &most, err))
        return TT_E_USAGE;
    tt_status status = tt_request_op(q, &run, &node, err);
    if (status != TT_OK) return status;
    status = tt_op_times_find(q->m, &filter, run, node, &over, &t, err);
    tt_op_time *kept = status == TT_OK ? longest(&t, (size_t)most, &n) : NULL;
    if (status == TT_OK && !kept) status = tt_error_memory(err, "the times of an op");
    if (status == TT_OK) {
        tt_json *j = tt_reply_json(r);
        tt_json_object(j);
        put_figures(j, &t);
        tt_rowset_json_columns(j, "bars",
                               &TT_ROWSET(&tt_op_bars_schema, 0, q->m, t.bars, t.n_bars));
        tt_rowset_json_columns(j, "times", &TT_ROWSET(&tt_op_times_schema, 0, q->m, kept, n));
        tt_json_object_end(j);
    }
    free(kept);
    tt_op_times_free(&t);
    return status;
}
