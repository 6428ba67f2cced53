#include "analyze/op_times.h"

#include "analyze/log/log.h"
#include "analyze/quantiles.h"
#include "base/array.h"
#include "base/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct search {
    const tt_model *m;
    const tt_tensor *wanted;
    uint32_t *nodes; /* by graph: the op's node; TT_NONE: it has none; TT_NONE - 1: not known */
    tt_log_load load;
    tt_op_times *out;
} search;

/* Times of more than so many times the 95th percentile share the last bar. */
#define OUTLIER 4.0
#define UNKNOWN (TT_NONE - 1)

static const tt_tensor *tensor_of(const tt_graph *g, uint32_t node)
{
    return node < g->n_nodes ? &g->tensors[node] : NULL;
}

static bool is_same(const tt_tensor *a, const tt_tensor *b)
{
    return a->op == b->op && strcmp(a->name, b->name) == 0;
}

static uint32_t node_in(search *s, uint32_t graph)
{
    const tt_graph *g = &s->m->graphs[graph];
    if (s->nodes[graph] != UNKNOWN) return s->nodes[graph];
    uint32_t node = 0;
    while (node < g->n_nodes && !is_same(tensor_of(g, node), s->wanted))
        node++;
    return s->nodes[graph] = node < g->n_nodes ? node : TT_NONE;
}

static tt_status take_run(search *s, uint32_t run, tt_error *err)
{
    tt_op_times *t = s->out;
    if (!tt_log_load_may(&s->load, run)) return TT_OK;
    const uint32_t node = node_in(s, s->m->runs[run].graph);
    if (node == TT_NONE) return TT_OK;
    const bool waits = tt_model_waits_known(s->m, &s->m->runs[run]);
    tt_status status = tt_log_load_run(&s->load, run, err);
    for (size_t i = 0; i < s->load.n && status == TT_OK; i++) {
        const tt_log_item *x = &s->load.items[i];
        if (x->open || x->arrive < x->start || !tt_log_item_has(s->m, run, x, node)) continue;
        if (!tt_array_one_more(t->list, t->n, t->capacity))
            return tt_error_memory(err, "the times of an op");
        const uint64_t ticks = x->arrive - x->start;
        t->list[t->n++] = (tt_op_time){.run = run,
                                       .node = x->node,
                                       .ticks = ticks,
                                       .time_ns = tt_model_span_ns(s->m, ticks),
                                       .wait_ns = waits ? tt_model_span_ns(s->m, x->wait) : NAN};
    }
    return status;
}

static tt_status read_all(search *s, const tt_filter *filter, const tt_over *over, tt_error *err)
{
    uint32_t *order = tt_log_order(s->m);
    tt_status status = order ? TT_OK : tt_error_memory(err, "the times of an op");
    tt_log_load_begin(&s->load, s->m, filter, false);
    for (uint32_t i = 0; i < s->m->n_runs && status == TT_OK; i++) {
        status = tt_over_check(over, err);
        if (status == TT_OK) status = take_run(s, order[i], err);
    }
    tt_log_load_free(&s->load);
    free(order);
    return status;
}

/* --- statistics --- */

static void make_bars(tt_op_times *t, const double *sorted)
{
    /* Times of less than a tick of the clock are all in the first bar. */
    const double low = fmax(t->min_ns, 1);
    const double high = fmax(fmin(t->max_ns, OUTLIER * t->p95_ns), low);
    t->n_bars = high > low * 1.0001 ? TT_OP_TIMES_BARS : 1;
    const double factor = pow(high / low, 1.0 / t->n_bars);
    size_t at = 0;
    for (uint32_t i = 0; i < t->n_bars; i++) {
        tt_op_bar *b = &t->bars[i];
        b->from_ns = i ? t->bars[i - 1].to_ns : t->min_ns;
        b->to_ns = i + 1 == t->n_bars ? t->max_ns : low * pow(factor, i + 1);
        for (b->count = 0; at < t->n && (i + 1 == t->n_bars || sorted[at] < b->to_ns); at++)
            b->count++;
    }
}

static tt_status add_up(tt_op_times *t, tt_error *err)
{
    double sum = 0;
    if (t->n == 0) return TT_OK;
    double *sorted = malloc(t->n * sizeof *sorted);
    if (!sorted) return tt_error_memory(err, "the times of an op");
    for (size_t i = 0; i < t->n; i++) {
        sorted[i] = t->list[i].time_ns;
        sum += sorted[i];
    }
    qsort(sorted, t->n, sizeof *sorted, tt_by_f64);
    t->min_ns = sorted[0];
    t->max_ns = sorted[t->n - 1];
    t->mean_ns = sum / (double)t->n;
    t->p25_ns = tt_quantiles_sorted(sorted, t->n, 0.25);
    t->median_ns = tt_quantiles_sorted(sorted, t->n, 0.5);
    t->p75_ns = tt_quantiles_sorted(sorted, t->n, 0.75);
    t->p95_ns = tt_quantiles_sorted(sorted, t->n, 0.95);
    for (size_t i = 0; i < t->n; i++)
        t->list[i].ratio = t->median_ns > 0 ? t->list[i].time_ns / t->median_ns : NAN;
    make_bars(t, sorted);
    free(sorted);
    return TT_OK;
}

static void find_own(tt_op_times *t, uint32_t run, uint32_t node)
{
    t->own = TT_NONE;
    for (size_t i = 0; i < t->n && t->own == TT_NONE; i++)
        if (t->list[i].run == run && t->list[i].node <= node) t->own = (uint32_t)i;
    for (size_t i = 0; i < t->n && t->own != TT_NONE; i++)
        t->rank += t->list[i].ticks > t->list[t->own].ticks;
}

tt_status tt_op_times_find(const tt_model *m, const tt_filter *filter, uint32_t run, uint32_t node,
                           const tt_over *over, tt_op_times *out, tt_error *err)
{
    *out = (tt_op_times){.own = TT_NONE};
    tt_status status = tt_model_need_clock(m, err);
    if (status != TT_OK) return status;
    const uint32_t graph = m->runs[run].graph;
    const tt_tensor *wanted = graph == TT_NONE ? NULL : tensor_of(&m->graphs[graph], node);
    if (!wanted) return tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET, "the run has no such node");
    search s = {.m = m, .wanted = wanted, .out = out};
    s.nodes = malloc(((size_t)m->n_graphs + 1) * sizeof *s.nodes);
    if (!s.nodes) return tt_error_memory(err, "the times of an op");
    for (uint32_t i = 0; i < m->n_graphs; i++)
        s.nodes[i] = UNKNOWN;
    out->name = wanted->name;
    status = read_all(&s, filter, over, err);
    free(s.nodes);
    if (status == TT_OK) status = add_up(out, err);
    if (status == TT_OK) find_own(out, run, node);
    return status;
}

void tt_op_times_free(tt_op_times *t)
{
    free(t->list);
    *t = (tt_op_times){0};
}

/* --- columns --- */

TT_COLUMN_KNOWN(in_batch, tt_op_time, x, ((const tt_model *)context)->runs[x->run].batch != TT_NONE)
TT_COLUMN_VALUE(get_batch, tt_op_time, x, u64,
                tt_model_batch_number(context, ((const tt_model *)context)->runs[x->run].batch))

static const tt_column columns[] = {
    TT_FIELD("run", "as an index", TT_MEMBER(tt_op_time, run)),
    TT_FIELD("node", "the op's first node", TT_MEMBER(tt_op_time, node)),
    TT_FIELD("batch_id", "the batch; null: outside any", .type = TT_CELL_U64, .get = get_batch,
             .nullable = true, .known = in_batch),
    TT_FIELD("time_ns", "of the op", TT_MEMBER(tt_op_time, time_ns)),
    TT_FIELD("wait_ns", "of all threads, after it", TT_MEMBER(tt_op_time, wait_ns)),
    TT_FIELD("ratio", "to the median", TT_MEMBER(tt_op_time, ratio)),
};
const tt_schema tt_op_times_schema = TT_SCHEMA("times", "one execution", columns);

static const tt_column bar_columns[] = {
    TT_FIELD("from_ns", "times from", TT_MEMBER(tt_op_bar, from_ns)),
    TT_FIELD("to_ns", "up to", TT_MEMBER(tt_op_bar, to_ns)),
    TT_FIELD("count", "executions", TT_MEMBER(tt_op_bar, count)),
};
const tt_schema tt_op_bars_schema = TT_SCHEMA("bars", "a bar of a histogram", bar_columns);
