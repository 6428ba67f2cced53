/* The tables of `diff`: what the ops computed and how long they took. */
#include "base/units.h"
#include "cli/diff/diff_view.h"
#include "cli/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct ordered {
    double weight;
    size_t at;
} ordered;

static int heaviest(const void *a, const void *b)
{
    const ordered *x = a, *y = b;
    if (x->weight != y->weight) return x->weight > y->weight ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static char *signed_ns(char out[TT_UNITS_TEXT + 1], double ns)
{
    char text[TT_UNITS_TEXT];
    const char *sign = isnan(ns) ? "" : ns < 0 ? "-" : "+";
    (void)snprintf(out, TT_UNITS_TEXT + 1, "%s%s", sign, tt_units_ns(text, fabs(ns)));
    return out;
}

#define INTERVAL_TEXT (2 * TT_DIFF_PERCENT + 4)

static char *interval(char out[INTERVAL_TEXT], const tt_diff_row *r)
{
    char low[TT_DIFF_PERCENT], high[TT_DIFF_PERCENT];
    out[0] = '\0';
    if (r->shift.tested)
        (void)snprintf(out, INTERVAL_TEXT, "%s .. %s",
                       isinf(r->low) || r->low <= -1 ? "?" : tt_diff_percent(low, r->low),
                       isinf(r->high) ? "?" : tt_diff_percent(high, r->high));
    return out;
}

static char *probability(char out[16], double p)
{
    out[0] = '\0';
    if (isnan(p)) return out;
    if (p < 0.0001)
        (void)snprintf(out, 16, "<0.0001");
    else
        (void)snprintf(out, 16, "%.4f", p);
    return out;
}

static const char *mark(const tt_diff_row *r)
{
    return r->matters ? "!" : r->significant ? "*" : "";
}

/* --- the whole --- */

static void whole_table(const tt_diff_view *v, const tt_diff_sink *sink)
{
    char title[40];
    (void)snprintf(title, sizeof title, "%.4g %% SURE OF", 100 * (1 - v->d->options.level));
    const tt_diff_column columns[] = {
        {"PHASE", false, false, 0},
        {"COMPARED", true, false, 0},
        {"A", true, false, 0},
        {"A: 25 .. 75 %", true, false, TT_COLUMN_WIDE},
        {"B", true, false, 0},
        {"B: 25 .. 75 %", true, false, TT_COLUMN_WIDE},
        {"CHANGE", true, false, 0},
        {title, true, false, TT_COLUMN_IF_KNOWN},
        {"INDEPENDENT", true, false, TT_COLUMN_WIDEST | TT_COLUMN_IF_KNOWN},
        {"VERDICT", false, false, 0}};
    sink->heading(sink->context, "Time of a batch (medians)");
    sink->table(sink->context, columns, sizeof columns / sizeof *columns, NULL);
    for (size_t i = 0; i < TT_DIFF_PHASES; i++) {
        const tt_diff_phase *p = &v->d->phases[i];
        if (p->pairs.n == 0 || p->n_rows[TT_DIFF_TOTAL] == 0) continue;
        const tt_diff_row *r = &p->rows[TT_DIFF_TOTAL][0];
        char n[TT_UNITS_TEXT], ns[6][TT_UNITS_TEXT], half[2][2 * TT_UNITS_TEXT + 4];
        char change[TT_DIFF_PERCENT], sure[INTERVAL_TEXT], effective[24] = "";
        (void)snprintf(half[0], sizeof half[0], "%s .. %s", tt_units_ns(ns[2], r->a.p25_ns),
                       tt_units_ns(ns[3], r->a.p75_ns));
        (void)snprintf(half[1], sizeof half[1], "%s .. %s", tt_units_ns(ns[4], r->b.p25_ns),
                       tt_units_ns(ns[5], r->b.p75_ns));
        if (r->shift.tested && !r->shift.by_levels)
            (void)snprintf(effective, sizeof effective, "%.1f", r->shift.n_effective);
        const char *cells[] = {tt_diff_phase_title(p->phase),
                               tt_units_count(n, p->pairs.n),
                               tt_units_ns(ns[0], r->a.median_ns),
                               half[0],
                               tt_units_ns(ns[1], r->b.median_ns),
                               half[1],
                               tt_diff_percent(change, r->change),
                               interval(sure, r),
                               effective,
                               tt_diff_verdict_name(p->verdict)};
        sink->row(sink->context, cells, NAN, p->verdict >= TT_DIFF_SLOWER);
    }
    sink->table_end(sink->context);
}

/* --- families --- */

static const char *row_key(tt_diff_family family, const tt_diff_row *r, char *out, size_t room)
{
    if (family == TT_DIFF_LAYERS) {
        if (r->layer_id == TT_LAYER_NONE) return "no layer";
        (void)snprintf(out, room, "%" PRId32, r->layer_id);
        return out;
    }
    if (r->key_b) {
        (void)snprintf(out, room, "%s | %s", r->key, r->key_b);
        return out;
    }
    return r->key[0] ? r->key : "(between ops)";
}

static const char *row_ops(const tt_diff_row *r, char *out, size_t room)
{
    if (!r->op_a)
        (void)snprintf(out, room, "only B: %s", r->op_b ? r->op_b : "");
    else if (!r->op_b)
        (void)snprintf(out, room, "only A: %s", r->op_a);
    else if (strcmp(r->op_a, r->op_b) == 0)
        (void)snprintf(out, room, "%s", r->op_a);
    else
        (void)snprintf(out, room, "%s | %s", r->op_a, r->op_b);
    return out;
}

static void family_row(const tt_diff_sink *sink, tt_diff_family family, const tt_diff_row *r,
                       double largest)
{
    char ns[2][TT_UNITS_TEXT], delta[2][TT_UNITS_TEXT + 1], change[TT_DIFF_PERCENT], p[16];
    char sure[INTERVAL_TEXT], key[256], ops[256];
    const char *cells[10];
    size_t n = 0;
    cells[n++] = row_key(family, r, key, sizeof key);
    if (family == TT_DIFF_OPS) cells[n++] = row_ops(r, ops, sizeof ops);
    cells[n++] = r->a.n_samples ? tt_units_ns(ns[0], r->a.median_ns) : "";
    cells[n++] = r->b.n_samples ? tt_units_ns(ns[1], r->b.median_ns) : "";
    cells[n++] = signed_ns(delta[0], r->delta_ns);
    cells[n++] = signed_ns(delta[1], r->delta_wait_ns);
    cells[n++] = tt_diff_percent(change, r->change);
    cells[n++] = interval(sure, r);
    cells[n++] = probability(p, r->p_adjusted);
    cells[n++] = mark(r);
    sink->row(sink->context, cells, largest > 0 ? r->delta_ns / largest : NAN, r->matters);
}

static void family_columns(const tt_diff_view *v, const tt_diff_sink *sink, tt_diff_family family,
                           double largest)
{
    static const char *const titles[TT_DIFF_FAMILIES] = {"",   "PART",  "COMPONENT",
                                                         "OP", "LAYER", "NODE"};
    char title[40], bar[TT_UNITS_TEXT];
    tt_diff_column columns[10];
    size_t n = 0;
    (void)snprintf(title, sizeof title, "%.4g %% SURE OF", 100 * (1 - v->d->options.level));
    columns[n++] = (tt_diff_column){titles[family], false, true, 0};
    if (family == TT_DIFF_OPS) columns[n++] = (tt_diff_column){"OP", false, true, 0};
    columns[n++] = (tt_diff_column){"A", true, false, 0};
    columns[n++] = (tt_diff_column){"B", true, false, 0};
    columns[n++] = (tt_diff_column){"B - A", true, false, 0};
    columns[n++] = (tt_diff_column){"OF IT WAITING", true, false, TT_COLUMN_WIDE};
    columns[n++] = (tt_diff_column){"CHANGE", true, false, 0};
    columns[n++] = (tt_diff_column){title, true, false, TT_COLUMN_IF_KNOWN};
    columns[n++] = (tt_diff_column){"P", true, false, TT_COLUMN_WIDEST | TT_COLUMN_IF_KNOWN};
    columns[n++] = (tt_diff_column){"", false, false, TT_COLUMN_IF_KNOWN};
    sink->table(sink->context, columns, n, largest > 0 ? tt_units_ns(bar, largest) : NULL);
}

static void family_table(const tt_diff_view *v, const tt_diff_sink *sink, const tt_diff_phase *p,
                         tt_diff_family family, const char *title)
{
    const size_t n = p->n_rows[family];
    ordered *list = malloc((n + 1) * sizeof *list);
    if (!list || n == 0) {
        free(list);
        return;
    }
    for (size_t i = 0; i < n; i++)
        list[i] = (ordered){fabs(p->rows[family][i].delta_ns), i};
    qsort(list, n, sizeof *list, heaviest);
    double largest = list[0].weight;
    size_t shown = v->limit && v->limit < n ? (size_t)v->limit : n;
    /* Of all layers, in order; of some, those that changed most. */
    if (family == TT_DIFF_LAYERS && shown == n)
        for (size_t i = 0; i < n; i++)
            list[i] = (ordered){-(double)p->rows[family][i].layer_id, i};
    qsort(list, n, sizeof *list, heaviest);
    char heading[120];
    (void)snprintf(heading, sizeof heading, "Time of a %s, by %s%s", tt_diff_unit(p), title,
                   shown < n ? ": what changed most" : "");
    sink->heading(sink->context, heading);
    family_columns(v, sink, family, largest);
    for (size_t i = 0; i < n; i++) {
        if (i == shown && !sink->more(sink->context, n - shown, "")) break;
        family_row(sink, family, &p->rows[family][list[i].at], largest);
    }
    sink->table_end(sink->context);
    free(list);
}

/* --- structure --- */

/* A kind of change: what happened, to which ops. */
typedef struct kind {
    char what[256];
    const tt_diff_change *first;
    uint64_t count;
    size_t at;
} kind;

static const char *op_of(const tt_tensor *t)
{
    return t ? t->op_name : "";
}

static int by_what(const void *a, const void *b)
{
    const kind *x = a, *y = b;
    int order = strcmp(x->what, y->what);
    if (order == 0) order = strcmp(op_of(x->first->a), op_of(y->first->a));
    if (order == 0) order = strcmp(op_of(x->first->b), op_of(y->first->b));
    return order ? order : x->at < y->at ? -1 : x->at > y->at;
}

static int most_first(const void *a, const void *b)
{
    const kind *x = a, *y = b;
    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static size_t merge_kinds(kind *list, size_t n)
{
    size_t kinds = 0;
    qsort(list, n, sizeof *list, by_what);
    for (size_t i = 0; i < n; i++) {
        kind *last = kinds ? &list[kinds - 1] : NULL;
        if (last && strcmp(last->what, list[i].what) == 0 &&
            strcmp(op_of(last->first->a), op_of(list[i].first->a)) == 0 &&
            strcmp(op_of(last->first->b), op_of(list[i].first->b)) == 0)
            last->count++;
        else
            list[kinds++] = list[i];
    }
    qsort(list, kinds, sizeof *list, most_first);
    return kinds;
}

static void structure_table(const tt_diff_view *v, const tt_diff_sink *sink, const tt_diff_phase *p)
{
    static const tt_diff_column columns[] = {{"NODES", true, false, 0},
                                             {"OP IN A", false, true, 0},
                                             {"OP IN B", false, true, 0},
                                             {"WHAT", false, true, 0},
                                             {"FIRST", false, true, 0}};
    const tt_diff_structure *s = &p->structure;
    kind *list = s->n ? malloc(s->n * sizeof *list) : NULL;
    char text[160], count[TT_UNITS_TEXT];
    if (!list) return;
    for (size_t i = 0; i < s->n; i++) {
        list[i] = (kind){.first = &s->list[i], .count = 1, .at = i};
        (void)tt_diff_say_change(&s->list[i], list[i].what, sizeof list[i].what);
    }
    size_t kinds = merge_kinds(list, s->n), shown = kinds;
    if (v->limit && shown > v->limit) shown = (size_t)v->limit;
    (void)snprintf(text, sizeof text, "What was computed (%s): nodes that differ",
                   tt_diff_phase_title(p->phase));
    sink->heading(sink->context, text);
    sink->table(sink->context, columns, sizeof columns / sizeof *columns, NULL);
    for (size_t i = 0; i < kinds; i++) {
        if (i == shown && !sink->more(sink->context, kinds - shown, "kinds")) break;
        const tt_diff_change *c = list[i].first;
        const char *cells[] = {tt_units_count(count, list[i].count), op_of(c->a), op_of(c->b),
                               list[i].what, c->a ? c->a->name : c->b->name};
        sink->row(sink->context, cells, NAN, false);
    }
    sink->table_end(sink->context);
    free(list);
}

void tt_diff_tables(const tt_diff_view *v, const tt_diff_sink *sink)
{
    const tt_diff_phase *p = tt_diff_main(v->d);
    if (p && tt_diff_common(v->d) > 0 && !v->d->options.structure_only) {
        whole_table(v, sink);
        family_table(v, sink, p, TT_DIFF_PARTS, "part of the network");
        family_table(v, sink, p, TT_DIFF_COMPONENTS, "component");
        family_table(v, sink, p, TT_DIFF_KINDS, "op");
        family_table(v, sink, p, TT_DIFF_LAYERS, "layer");
        family_table(v, sink, p, TT_DIFF_OPS, "node");
    }
    for (size_t i = 0; i < TT_DIFF_PHASES; i++)
        structure_table(v, sink, &v->d->phases[i]);
    tt_diff_around_tables(v, sink);
}
