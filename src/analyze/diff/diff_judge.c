/* What the rows of a comparison mean: corrections, the verdict, and where a change comes from. */
#include "analyze/diff/diff.h"

#include "gguf/layout.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the whole change, what the causes named have to explain; of a cause's, what its layers do. */
#define EXPLAINED 0.8
/* A cause has at least this share. */
#define CAUSE_MIN 0.1

/* --- corrections --- */

/* The families beside the total share the level among them. */
static tt_status correct_family(tt_diff_row *rows, size_t n, double level, tt_error *err)
{
    double *p = reallocarray(NULL, 2 * n + 1, sizeof *p);
    if (!p) return tt_error_memory(err, "the verdict");
    for (size_t i = 0; i < n; i++) {
        p[i] = rows[i].p;
        p[n + i] = rows[i].p_matters;
    }
    bool ok = tt_holm(p, n) && tt_holm(p + n, n);
    for (size_t i = 0; i < n && ok; i++) {
        rows[i].p_adjusted = p[i];
        rows[i].p_matters = p[n + i];
        rows[i].significant = p[i] < level;
        rows[i].matters = p[n + i] < level;
    }
    free(p);
    return ok ? TT_OK : tt_error_memory(err, "the verdict");
}

/* A token may take as long though its ops do not. */
static bool all_identical(const tt_diff_phase *p)
{
    bool all = p->rows[TT_DIFF_TOTAL][0].identical;
    for (size_t i = 0; i < p->n_rows[TT_DIFF_OPS] && all; i++) {
        const tt_diff_row *r = &p->rows[TT_DIFF_OPS][i];
        all = r->identical || (r->a.n_samples == 0 && r->b.n_samples == 0);
    }
    return all;
}

static tt_diff_verdict evaluate_total(const tt_diff_row *total, double threshold)
{
    if (total->identical) return TT_DIFF_SAME;
    /* Many tokens that are as good as few, all of one interval of noise, leave it open. */
    if (!total->shift.tested)
        return total->shift.n < TT_SHIFT_SAMPLES_MIN ? TT_DIFF_UNTESTED : TT_DIFF_UNDECIDED;
    if (total->matters) return total->change > 0 ? TT_DIFF_SLOWER : TT_DIFF_FASTER;
    /* exp(low) - 1 and exp(high) - 1 against 1 +- threshold. */
    bool inside = total->low >= -threshold && total->high <= threshold;
    return inside ? TT_DIFF_SAME : TT_DIFF_UNDECIDED;
}

static bool any_matters(const tt_diff_phase *p)
{
    for (size_t f = TT_DIFF_PARTS; f < TT_DIFF_FAMILIES; f++)
        for (size_t i = 0; i < p->n_rows[f]; i++)
            if (p->rows[f][i].matters) return true;
    return false;
}

/* --- causes --- */

static double towards(double delta, double whole)
{
    return whole < 0 ? -delta : delta;
}

typedef struct weighed {
    double delta;
    uint32_t at;
} weighed;

static int heaviest(const void *a, const void *b)
{
    const weighed *x = a, *y = b;
    if (x->delta != y->delta) return x->delta > y->delta ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static int ascending(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return x < y ? -1 : x > y;
}

/* "Attention V", from the op's own name where that says it; else the component. */
static void name_cause(tt_diff_cause *c, const tt_diff_phase *p)
{
    (void)snprintf(c->title, sizeof c->title, "%s", c->component);
    for (size_t i = 0; i < p->n_rows[TT_DIFF_OPS]; i++) {
        const tt_diff_row *op = &p->rows[TT_DIFF_OPS][i];
        if (strcmp(op->component, c->component) != 0) continue;
        tt_component what = tt_layout_classify(op->key);
        if (strcmp(what.component, c->component) != 0 || strcmp(what.component_type, "Other") == 0)
            continue;
        (void)snprintf(c->title, sizeof c->title, "%.63s", what.component_type);
        return;
    }
}

/* The layers that explain the component's change, the heaviest first, then in order. */
static void find_layers(tt_diff_cause *c, const tt_diff_phase *p, weighed *list, int32_t *layers)
{
    uint32_t n = 0, of = 0;
    double all = 0, sum = 0;
    for (uint32_t i = 0; i < p->n_rows[TT_DIFF_OPS]; i++) {
        const tt_diff_row *op = &p->rows[TT_DIFF_OPS][i];
        if (strcmp(op->component, c->component) != 0 || op->layer_id == TT_LAYER_NONE) continue;
        uint32_t k = 0;
        while (k < n && layers[k] != op->layer_id)
            k++;
        if (k == n) {
            layers[n] = op->layer_id;
            list[n++] = (weighed){0, k};
        }
        list[k].delta += towards(op->delta_ns, c->delta_ns);
    }
    for (uint32_t k = 0; k < n; k++)
        all += fmax(list[k].delta, 0);
    int32_t *of_weighed = layers + n;
    qsort(list, n, sizeof *list, heaviest);
    while (of < n && list[of].delta > 0 && sum < EXPLAINED * all) {
        sum += list[of].delta;
        of_weighed[of] = layers[list[of].at];
        of++;
    }
    /* Most of them: then "in all layers" is what a person would say. */
    c->all_layers = n > 1 && of * 3 >= n * 2;
    memmove(layers, of_weighed, of * sizeof *layers);
    qsort(layers, of, sizeof *layers, ascending);
    c->layers = layers;
    c->n_layers = of;
}

static tt_status find_causes(tt_diff_phase *p, tt_error *err)
{
    const size_t n = p->n_rows[TT_DIFF_COMPONENTS], ops = p->n_rows[TT_DIFF_OPS];
    const tt_diff_row *rows = p->rows[TT_DIFF_COMPONENTS];
    double whole = p->rows[TT_DIFF_TOTAL][0].delta_ns, sum = 0;
    weighed *list = reallocarray(NULL, (n > ops ? n : ops) + 1, sizeof *list);
    weighed *work = reallocarray(NULL, ops + 1, sizeof *work);
    p->layers = reallocarray(NULL, TT_DIFF_CAUSES_MAX * 2 * ops + 1, sizeof *p->layers);
    if (!list || !work || !p->layers) {
        free(list);
        free(work);
        return tt_error_memory(err, "the verdict");
    }
    for (uint32_t i = 0; i < n; i++) {
        /* Parts that balance each other have no common direction. */
        double delta = p->verdict == TT_DIFF_SHIFTED ? fabs(rows[i].delta_ns)
                                                     : towards(rows[i].delta_ns, whole);
        list[i] = (weighed){delta, i};
    }
    if (p->verdict == TT_DIFF_SHIFTED) whole = 0;
    qsort(list, n, sizeof *list, heaviest);
    for (uint32_t i = 0; i < n && p->n_causes < TT_DIFF_CAUSES_MAX; i++) {
        const tt_diff_row *row = &rows[list[i].at];
        if (list[i].delta <= 0 || sum >= EXPLAINED * fabs(whole)) {
            if (p->verdict != TT_DIFF_SHIFTED || !row->matters) break;
        }
        if (p->n_causes > 0 && list[i].delta < CAUSE_MIN * list[0].delta) break;
        sum += list[i].delta;
        tt_diff_cause *c = &p->causes[p->n_causes];
        *c = (tt_diff_cause){.component = row->key,
                             .delta_ns = row->delta_ns,
                             .delta_wait_ns = row->delta_wait_ns,
                             .significant = row->significant};
        name_cause(c, p);
        find_layers(c, p, work, p->layers + 2 * ops * p->n_causes);
        p->n_causes++;
    }
    free(list);
    free(work);
    return TT_OK;
}

tt_status tt_diff_judge_phase(tt_diff_phase *p, const tt_diff *d, tt_error *err)
{
    const double level = d->options.level;
    const tt_diff_family others = TT_DIFF_FAMILIES - TT_DIFF_PARTS;
    tt_status status = correct_family(p->rows[TT_DIFF_TOTAL], 1, level, err);
    for (size_t f = TT_DIFF_PARTS; f < TT_DIFF_FAMILIES && status == TT_OK; f++)
        status = correct_family(p->rows[f], p->n_rows[f], level / (double)others, err);
    if (status != TT_OK) return status;
    p->rows[TT_DIFF_TOTAL][0].identical = all_identical(p);
    p->verdict = evaluate_total(&p->rows[TT_DIFF_TOTAL][0], d->options.threshold);
    if (p->verdict != TT_DIFF_SLOWER && p->verdict != TT_DIFF_FASTER && any_matters(p))
        p->verdict = TT_DIFF_SHIFTED;
    if (p->verdict == TT_DIFF_SLOWER || p->verdict == TT_DIFF_FASTER ||
        p->verdict == TT_DIFF_SHIFTED)
        status = find_causes(p, err);
    return status;
}
