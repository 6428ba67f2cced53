#include "analyze/bisect.h"

#include "analyze/stats.h"
#include "base/array.h"
#include "base/order.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

tt_bisect_build *tt_bisect_add(tt_bisect *x, const char *name, const char *dir)
{
    tt_bisect_build *b = tt_array_add(x->builds, x->n, x->capacity);
    if (!b) return NULL;
    *b = (tt_bisect_build){.name = strdup(name), .dir = strdup(dir), .worst_rel_l2 = NAN};
    if (b->name && b->dir) return b;
    free(b->name);
    free(b->dir);
    x->n--;
    return NULL;
}

void tt_bisect_free(tt_bisect *x)
{
    for (size_t i = 0; i < x->n; i++) {
        free(x->builds[i].name);
        free(x->builds[i].dir);
        free(x->builds[i].ops);
    }
    free(x->builds);
    memset(x, 0, sizeof *x);
}

/* --- a run --- */

static bool counts(const tt_batch *b, unsigned phase)
{
    return b->phase == phase && b->ended;
}

/* Selects the batches that count: of the phase, without the first generated one if there are more.
 * Sets `ns`, which has room for all of the trace's, to their durations. Returns their number. */
static uint32_t find_batches(const tt_model *m, unsigned phase, tt_filter *f, double *ns)
{
    uint32_t all = 0, n = 0, seen = 0;
    for (uint32_t i = 0; i < m->n_batches; i++)
        all += counts(&m->batches[i], phase);
    for (uint32_t i = 0; i < m->n_batches; i++) {
        const tt_batch *b = &m->batches[i];
        if (!counts(b, phase)) continue;
        if (seen++ == 0 && phase == TT_PHASE_GENERATE && all > 1) continue;
        if (!n) f->batch_first = tt_model_batch_number(m, i);
        f->batch_last = tt_model_batch_number(m, i);
        ns[n++] = tt_model_span_ns(m, b->end_ticks - b->begin_ticks);
    }
    return n;
}

static tt_bisect_op *op_of(tt_bisect_build *b, const char *name)
{
    for (size_t i = 0; i < b->n_ops; i++)
        if (strcmp(b->ops[i].op, name) == 0) return &b->ops[i];
    if (b->n_ops == TT_BISECT_OPS_MAX) return NULL;
    tt_bisect_op *op = &b->ops[b->n_ops++];
    memset(op, 0, sizeof *op);
    (void)snprintf(op->op, sizeof op->op, "%s", name);
    return op;
}

/* The median over the batches of an op kind's time in one. list: room for the buckets. */
static double batch_ns(const tt_model *m, const tt_stats *s, const tt_stats_row *row, double *list)
{
    const tt_stats_axis *axis = tt_stats_series_axis(s);
    const uint32_t *batches = tt_stats_series_batches(s);
    uint32_t n = 0;
    for (uint32_t i = 0; i < axis->n_buckets; i++)
        if (batches[i]) list[n++] = tt_model_span_ns(m, row->series[i].ticks) / batches[i];
    return n ? tt_median(list, n) : 0;
}

static tt_status add_ops(tt_bisect_build *b, const tt_model *m, const tt_filter *filter, uint32_t n,
                         double *list, tt_error *err)
{
    const uint32_t buckets = n < TT_STATS_SERIES_BUCKETS_MAX ? n : TT_STATS_SERIES_BUCKETS_MAX;
    size_t n_rows = 0;
    if (!b->ops) b->ops = calloc(TT_BISECT_OPS_MAX, sizeof *b->ops);
    tt_stats *s = b->ops ? tt_stats_new(m, TT_BY_OP, filter) : NULL;
    if (!s || !tt_stats_keep_series(s, buckets)) {
        tt_stats_free(s);
        return tt_error_memory(err, "the ops of a build");
    }
    tt_status status = tt_stats_walk(&s, 1, m, NULL, NULL, err);
    const tt_stats_row *rows = status == TT_OK ? tt_stats_rows(s, &n_rows) : NULL;
    for (size_t i = 0; i < n_rows; i++) {
        tt_bisect_op *op = op_of(b, rows[i].key);
        if (!op || !rows[i].series) continue;
        op->count = (double)rows[i].count / n;
        op->time.runs[b->runs] = batch_ns(m, s, &rows[i], list);
        op->each.runs[b->runs] = rows[i].p50_ns;
    }
    tt_stats_free(s);
    return status;
}

tt_status tt_bisect_add_run(const tt_bisect *x, tt_bisect_build *b, const tt_model *m,
                            tt_error *err)
{
    tt_filter filter = {.has_batch = true, .phase = x->phase};
    if (b->runs == TT_BISECT_RUNS_MAX)
        return tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET, "more than %u runs of a build",
                            TT_BISECT_RUNS_MAX);
    tt_status status = tt_model_need_clock(m, err);
    if (status != TT_OK) return status;
    double *list = calloc((size_t)m->n_batches + 1, sizeof *list);
    if (!list) return tt_error_memory(err, "the batches of a run");
    const uint32_t n = find_batches(m, x->phase, &filter, list);
    if (n) {
        b->time.runs[b->runs] = tt_median(list, n);
        b->batches = n;
        status = add_ops(b, m, &filter, n, list, err);
    } else
        status = tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET, "no batch of the phase \"%s\"",
                              tt_phase_name(x->phase));
    free(list);
    if (status == TT_OK) b->runs++;
    return status;
}

/* --- values --- */

void tt_bisect_set_values(tt_bisect_build *b, const tt_valuediff *d)
{
    const bool differs = tt_value_diverging(d->counts) > 0;
    const tt_valuediff_item *first = d->has_first           ? &d->first
                                     : d->has_first_unequal ? &d->first_unequal
                                                            : NULL;
    (void)snprintf(b->values, sizeof b->values, "%s",
                   differs                     ? "differs"
                   : d->compared == 0          ? "unmeasured"
                   : d->counts[TT_VALUE_CLOSE] ? "close"
                   : d->stopped                ? "tokens"
                                               : "equal");
    b->first[0] = '\0';
    b->worst_rel_l2 = NAN;
    for (size_t i = 0; i < d->n_layers; i++)
        if (!(d->layers[i].rel_l2 <= b->worst_rel_l2) && !isnan(d->layers[i].rel_l2))
            b->worst_rel_l2 = d->layers[i].rel_l2;
    if (!first) return;
    const tt_valuediff_place *at = first->b.present ? &first->b : &first->a;
    (void)snprintf(b->first, sizeof b->first, "%.120s%s%.60s%s", at->name ? at->name : first->stage,
                   at->op ? " (" : "", at->op ? at->op : "", at->op ? ")" : "");
}

/* --- the builds compared --- */

static void sum_up(tt_bisect_time *t, uint32_t n)
{
    if (!n) return;
    t->median_ns = tt_median(t->runs, n);
    t->least_ns = t->runs[0];
    t->most_ns = t->runs[n - 1];
}

static int longest_first(const void *a, const void *b)
{
    const tt_bisect_op *x = a, *y = b;
    if (x->time.median_ns != y->time.median_ns)
        return x->time.median_ns < y->time.median_ns ? 1 : -1;
    return strcmp(x->op, y->op);
}

static tt_bisect_change change_of(const tt_bisect *x, const tt_bisect_time *now,
                                  const tt_bisect_time *before, double batch_ns)
{
    const double by = now->median_ns - before->median_ns;
    tt_bisect_change c = {.before_ns = before->median_ns,
                          .change = batch_ns > 0 ? by / batch_ns : NAN};
    const bool apart = now->least_ns > before->most_ns || now->most_ns < before->least_ns;
    if (apart && fabs(c.change) >= x->least)
        c.verdict = by > 0 ? TT_BISECT_SLOWER : TT_BISECT_FASTER;
    return c;
}

static const tt_bisect_op *find_op(const tt_bisect_build *b, const char *name)
{
    for (size_t i = 0; i < b->n_ops; i++)
        if (strcmp(b->ops[i].op, name) == 0) return &b->ops[i];
    return NULL;
}

/* Of a changed build, the op kind with the largest change of the same sign, however small; else
 * only one that differs by itself. */
static void see_most(tt_bisect_build *b, const tt_bisect_op *op)
{
    const bool part =
        b->change.verdict != TT_BISECT_SAME && op->change.change * b->change.change > 0;
    if (op->change.verdict == TT_BISECT_SAME && !part) return;
    if (!b->most || fabs(op->change.change) > fabs(b->most->change.change)) b->most = op;
}

/* Ops that the build has no more stay as rows without a time. */
static void add_gone(tt_bisect_build *b, const tt_bisect_build *before)
{
    for (size_t i = 0; i < before->n_ops; i++)
        if (before->ops[i].count > 0 && !find_op(b, before->ops[i].op))
            (void)op_of(b, before->ops[i].op);
}

static void compare(const tt_bisect *x, tt_bisect_build *b, const tt_bisect_build *before)
{
    static const tt_bisect_time none;
    const double batch_ns = before->time.median_ns;
    b->change = change_of(x, &b->time, &before->time, batch_ns);
    for (size_t i = 0; i < b->n_ops; i++) {
        tt_bisect_op *op = &b->ops[i];
        const tt_bisect_op *was = find_op(before, op->op);
        op->change = change_of(x, &op->time, was ? &was->time : &none, batch_ns);
        see_most(b, op);
    }
}

void tt_bisect_compare(tt_bisect *x)
{
    const tt_bisect_build *before = NULL;
    for (size_t i = 0; i < x->n; i++) {
        tt_bisect_build *b = &x->builds[i];
        b->most = NULL;
        if (!b->runs) continue;
        if (before) add_gone(b, before);
        sum_up(&b->time, b->runs);
        for (size_t k = 0; k < b->n_ops; k++) {
            b->ops[k].build = b->name;
            sum_up(&b->ops[k].time, b->runs);
            sum_up(&b->ops[k].each, b->runs);
            b->ops[k].change = (tt_bisect_change){.before_ns = NAN, .change = NAN};
        }
        qsort(b->ops, b->n_ops, sizeof *b->ops, longest_first);
        b->change = (tt_bisect_change){.before_ns = NAN, .change = NAN};
        if (before) compare(x, b, before);
        before = b;
    }
}

/* --- rows --- */

static const char *verdict_name(tt_bisect_verdict v)
{
    static const char *const names[] = {"", "slower", "faster"};
    return names[v];
}

TT_COLUMN_KNOWN(is_traced, tt_bisect_build, b, b->runs > 0)
TT_COLUMN_KNOWN(has_before, tt_bisect_build, b, b->runs > 0 && !isnan(b->change.change))
TT_COLUMN_GET(get_state, tt_bisect_build, b, tt_cell_text(cell, b->runs ? "traced" : "refused");)
TT_COLUMN_GET(get_verdict, tt_bisect_build, b,
              if (b->runs) tt_cell_text(cell, verdict_name(b->change.verdict));)
TT_COLUMN_GET(get_most, tt_bisect_build, b, if (b->most) tt_cell_text(cell, b->most->op);)
TT_COLUMN_GET(
    get_most_ns, tt_bisect_build, b, if (b->most) {
        cell->f64 = b->most->time.median_ns;
        cell->known = true;
    })
TT_COLUMN_GET(
    get_most_before, tt_bisect_build, b, if (b->most) {
        cell->f64 = b->most->change.before_ns;
        cell->known = true;
    })
TT_COLUMN_ROWS(ops_of, tt_bisect_build, b, b->ops, b->n_ops)

static void get_rate(const void *context, const void *row, tt_cell *cell)
{
    const tt_bisect *x = context;
    const tt_bisect_build *b = row;
    cell->known = b->runs > 0 && x->phase == TT_PHASE_GENERATE && b->time.median_ns > 0;
    if (cell->known) cell->f64 = 1e9 / b->time.median_ns;
}

/* Of people's table, the last column: what it is about, or why there is nothing. */
TT_COLUMN_SHOW(show_values, tt_bisect_build, b, {
    if (b->refused[0])
        tt_cell_text_copy(out, room, b->refused);
    else
        (void)snprintf(out, room, "%s%s%s", b->values, b->first[0] ? ", first in " : "", b->first);
})
TT_COLUMN_GET(get_values, tt_bisect_build, b, tt_cell_text(cell, b->values[0] ? b->values : NULL);)

#define TIME(type, member_, key_, title_, about_, ...)                                             \
    TT_COLUMN(key_, title_, NS, about_, TT_MEMBER(type, member_), __VA_ARGS__)
#define OF_BUILD(member_, key_, title_, about_, ...)                                               \
    TIME(tt_bisect_build, member_, key_, title_, about_, .nullable = true, .known = is_traced,     \
         __VA_ARGS__)

TT_COLUMN_KNOWN(op_has_before, tt_bisect_op, o, !isnan(o->change.change))
TT_COLUMN_GET(get_op_verdict, tt_bisect_op, o, tt_cell_text(cell, verdict_name(o->change.verdict));)

static const tt_column op_columns[] = {
    TT_COLUMN("build", "BUILD", NONE, "the build's folder", .show = TT_SHOW_KEY | TT_SHOW_CUT,
              TT_MEMBER(tt_bisect_op, build)),
    TT_COLUMN("op", "OP", NONE, "the kind of op", .show = TT_SHOW_KEY | TT_SHOW_CUT,
              TT_MEMBER_CHARS(tt_bisect_op, op)),
    TT_COLUMN("count", "OPS", COUNT, "in a batch", TT_MEMBER(tt_bisect_op, count)),
    TIME(tt_bisect_op, time.median_ns, "batch_ns", "TIME",
         "of all of them in a batch: the median over the runs"),
    TIME(tt_bisect_op, time.least_ns, "batch_least_ns", NULL, "the least of the runs"),
    TIME(tt_bisect_op, time.most_ns, "batch_most_ns", NULL, "the most of the runs"),
    TIME(tt_bisect_op, each.median_ns, "op_ns", "AN OP",
         "of one op: the median over the runs of their medians"),
    TIME(tt_bisect_op, change.before_ns, "before_ns", "BEFORE", "batch_ns of the build before",
         .nullable = true, .known = op_has_before),
    TT_COLUMN("change", "CHANGE", SHARE, "of the batch's time before", .nullable = true,
              .known = op_has_before, .show = TT_SHOW_SIGN, TT_MEMBER(tt_bisect_op, change.change)),
    TT_COLUMN("verdict", "", NONE, "slower, faster; empty: not known to differ",
              .type = TT_CELL_NAME, .get = get_op_verdict),
};
const tt_schema tt_bisect_ops_schema = TT_SCHEMA("ops", "a kind of op in a build", op_columns);

static const tt_column columns[] = {
    TT_COLUMN("build", "BUILD", NONE, "its folder's name", .show = TT_SHOW_KEY | TT_SHOW_CUT,
              TT_MEMBER(tt_bisect_build, name)),
    TT_COLUMN("dir", NULL, NONE, "its folder", TT_MEMBER(tt_bisect_build, dir)),
    TT_COLUMN("release", "RELEASE", NONE, "of llama.cpp", .nullable = true,
              .show = TT_SHOW_CUT | TT_SHOW_WIDE | TT_SHOW_KNOWN,
              TT_MEMBER_CHARS(tt_bisect_build, release)),
    TT_COLUMN("state", NULL, NONE, "traced or refused", .type = TT_CELL_NAME, .get = get_state),
    TT_COLUMN("reason", NULL, NONE, "why it was refused", .nullable = true,
              TT_MEMBER_CHARS(tt_bisect_build, refused)),
    TT_COLUMN("runs", NULL, COUNT, "that were measured", TT_MEMBER(tt_bisect_build, runs)),
    TT_COLUMN("batches", NULL, COUNT, "of a run that count", TT_MEMBER(tt_bisect_build, batches)),
    TT_COLUMN("tokens_per_s", "TOKENS/S", FIGURE, "generated, at batch_ns", .type = TT_CELL_F64,
              .nullable = true, .show = TT_SHOW_WIDEST, .get = get_rate),
    OF_BUILD(time.median_ns, "batch_ns", "TIME", "of a batch: the median over the runs"),
    OF_BUILD(time.least_ns, "batch_least_ns", NULL, "the least of the runs"),
    OF_BUILD(time.most_ns, "batch_most_ns", NULL, "the most of the runs"),
    TT_COLUMN("change", "CHANGE", SHARE, "of batch_ns, against the traced build before",
              .nullable = true, .known = has_before, .show = TT_SHOW_SIGN,
              TT_MEMBER(tt_bisect_build, change.change)),
    TT_COLUMN("verdict", "", NONE, "slower, faster; empty: not known to differ", .nullable = true,
              .type = TT_CELL_NAME, .get = get_verdict),
    TT_COLUMN("op", "MOST IN", NONE, "the kind of op whose change is the largest",
              .type = TT_CELL_NAME, .nullable = true, .show = TT_SHOW_CUT, .get = get_most),
    TT_COLUMN("op_batch_ns", NULL, NS, "its time in a batch", .type = TT_CELL_F64, .nullable = true,
              .get = get_most_ns),
    TT_COLUMN("op_before_ns", NULL, NS, "the same of the build before", .type = TT_CELL_F64,
              .nullable = true, .get = get_most_before),
    TT_COLUMN("values", "VALUES", NONE,
              "against the traced build before: equal, close, differs, tokens (other ones), "
              "unmeasured",
              .type = TT_CELL_NAME, .nullable = true, .show = TT_SHOW_CUT, .get = get_values,
              .text = show_values),
    TT_COLUMN("first_value", NULL, NONE, "the first that is not equal", .nullable = true,
              TT_MEMBER_CHARS(tt_bisect_build, first)),
    TT_COLUMN("worst_rel_l2", NULL, FIGURE, "the largest relative error", .nullable = true,
              TT_MEMBER(tt_bisect_build, worst_rel_l2)),
    TT_FIELD("ops", "its kinds of op", .type = TT_CELL_ROWS, .inner = &tt_bisect_ops_schema,
             .rows = ops_of),
};
const tt_schema tt_bisect_schema = TT_SCHEMA("builds", "a build of the engine", columns);

tt_rowset tt_bisect_rowset(const tt_bisect *x)
{
    return TT_ROWSET(&tt_bisect_schema, 0, x, x->builds, x->n);
}

tt_bisect_op *tt_bisect_ops(const tt_bisect *x, size_t *n)
{
    *n = 0;
    for (size_t i = 0; i < x->n; i++)
        *n += x->builds[i].runs ? x->builds[i].n_ops : 0;
    tt_bisect_op *all = *n ? malloc(*n * sizeof *all) : NULL;
    size_t at = 0;
    for (size_t i = 0; all && i < x->n; i++) {
        const tt_bisect_build *b = &x->builds[i];
        if (!b->runs || !b->n_ops) continue;
        memcpy(all + at, b->ops, b->n_ops * sizeof *all);
        at += b->n_ops;
    }
    return all;
}
