#include "analyze/values/values_groups.h"
#include "analyze/values/values_keys.h"
#include "analyze/values/values_walk.h"
#include "base/array.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An output by the logarithms of its RMS and of its largest magnitude. */
typedef struct sample {
    uint32_t run, node;
    uint32_t place;
    uint32_t phase;
    double log[2];
} sample;

typedef struct ref {
    uint32_t run, node;
} ref;

typedef struct found {
    ref of;
    tt_values_outlier outlier;
} found;

typedef struct looking {
    const tt_model *m;
    tt_values_keys keys;
    sample *list;
    size_t n, capacity;
    found *found;
    size_t n_found, found_capacity;
} looking;

static tt_status take(void *context, tt_values_walk *w, const tt_values_seen *seen, tt_error *err)
{
    looking *l = context;
    const tt_fingerprint *p = seen->print;
    if (!p || !p->has_range || tt_values_state_is_bad(seen->state)) return TT_OK;
    if (!(p->rms > 0) || !(tt_values_max_abs(p) > 0)) return TT_OK;
    const uint32_t place = tt_values_keys_of(&l->keys, w, seen);
    const uint32_t batch = l->m->runs[seen->run].batch;
    if (place == TT_NONE) return tt_error_memory(err, "comparing values");
    if (!tt_array_one_more(l->list, l->n, l->capacity))
        return tt_error_memory(err, "comparing values");
    l->list[l->n++] = (sample){.run = seen->run,
                               .node = seen->node,
                               .place = place,
                               .phase = batch == TT_NONE ? 0 : l->m->batches[batch].phase,
                               .log = {log2(p->rms), log2(tt_values_max_abs(p))}};
    return TT_OK;
}

static int by_place(const void *a, const void *b)
{
    const sample *x = a, *y = b;
    if (x->place != y->place) return x->place < y->place ? -1 : 1;
    if (x->phase != y->phase) return x->phase < y->phase ? -1 : 1;
    if (x->run != y->run) return x->run < y->run ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of n > 0 numbers, which are sorted by it. */
static double median(double *v, size_t n)
{
    qsort(v, n, sizeof *v, ascending);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* The z of one that is 1 off from the median: what to multiply with; 0: all are the same. */
static double scale_of(const double *v, double middle, size_t n, double *room)
{
    double mean = 0;
    for (size_t i = 0; i < n; i++) {
        room[i] = fabs(v[i] - middle);
        mean += room[i] / (double)n;
    }
    const double mad = median(room, n);
    if (mad > 0) return 0.6745 / mad;
    return mean > 0 ? 1 / (1.253314 * mean) : 0;
}

static bool keep(looking *l, const sample *s, const tt_values_outlier *o)
{
    if (!tt_array_one_more(l->found, l->n_found, l->found_capacity)) return false;
    l->found[l->n_found++] = (found){{s->run, s->node}, *o};
    return true;
}

/* The group's outputs that stand out; room: for 2 n numbers. */
static bool evaluate(looking *l, const sample *group, size_t n, double *room)
{
    double middle[2], scale[2];
    for (unsigned k = 0; k < 2; k++) {
        for (size_t i = 0; i < n; i++)
            room[i] = group[i].log[k];
        middle[k] = median(room, n);
        scale[k] = scale_of(room, middle[k], n, room + n);
    }
    for (size_t i = 0; i < n; i++) {
        double z[2], off[2];
        for (unsigned k = 0; k < 2; k++) {
            off[k] = group[i].log[k] - middle[k];
            z[k] = off[k] * scale[k];
            if (fabs(off[k]) <= log2(TT_VALUES_OUTLIER_FACTOR) ||
                fabs(z[k]) <= TT_VALUES_OUTLIER_SCORE)
                z[k] = 0;
        }
        /* Said once of an output: by what stands out more. */
        const unsigned k = fabs(z[1]) > fabs(z[0]) ? 1 : 0;
        if (!(fabs(z[k]) > 0)) continue;
        const tt_values_outlier o = {.by_max = k == 1,
                                     .value = exp2(group[i].log[k]),
                                     .usual = exp2(middle[k]),
                                     .score = z[k],
                                     .among = n};
        if (!keep(l, &group[i], &o)) return false;
    }
    return true;
}

static bool evaluate_all(looking *l)
{
    double *room = calloc(2 * l->n + 1, sizeof *room);
    bool ok = room != NULL;
    if (ok && l->n) qsort(l->list, l->n, sizeof *l->list, by_place);
    for (size_t i = 0, end; ok && i < l->n; i = end) {
        for (end = i + 1; end < l->n && l->list[end].place == l->list[i].place &&
                          l->list[end].phase == l->list[i].phase;)
            end++;
        if (end - i >= TT_VALUES_OUTLIER_AMONG) ok = evaluate(l, l->list + i, end - i, room);
    }
    free(room);
    return ok;
}

static int by_score(const void *a, const void *b)
{
    const found *x = a, *y = b;
    const double p = fabs(x->outlier.score), q = fabs(y->outlier.score);
    if (p > q || p < q) return p > q ? -1 : 1;
    if (x->of.run != y->of.run) return x->of.run < y->of.run ? -1 : 1;
    return (x->of.node > y->of.node) - (x->of.node < y->of.node);
}

typedef struct fetching {
    const ref *refs;
    size_t *order; /* of refs: that of execution */
    size_t n, next;
    tt_values_row *rows;
} fetching;

static tt_status fetch(void *context, tt_values_walk *w, const tt_values_seen *seen, tt_error *err)
{
    fetching *f = context;
    (void)w;
    (void)err;
    if (f->next == f->n || !seen->print) return TT_OK;
    const size_t at = f->order[f->next];
    if (f->refs[at].run != seen->run || f->refs[at].node != seen->node) return TT_OK;
    f->rows[at] = tt_values_seen_row(seen);
    f->next++;
    return TT_OK;
}

static int by_execution(const void *a, const void *b, void *refs)
{
    const ref *x = (const ref *)refs + *(const size_t *)a;
    const ref *y = (const ref *)refs + *(const size_t *)b;
    if (x->run != y->run) return x->run < y->run ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

/* The fingerprints of what stands out, in a second walk: so that not all need be held. rows[i], of
 * n, becomes what refs[i] names, which q lets pass. */
static tt_status fetch_rows(const tt_model *m, const tt_values_query *q, const ref *refs, size_t n,
                            const tt_over *over, tt_values_row *rows, tt_error *err)
{
    fetching f = {.refs = refs, .n = n, .rows = rows};
    tt_values_counts again;
    if (n == 0) return TT_OK;
    f.order = calloc(n, sizeof *f.order);
    if (!f.order) return tt_error_memory(err, "the list of values");
    for (size_t i = 0; i < n; i++)
        f.order[i] = i;
    qsort_r(f.order, n, sizeof *f.order, by_execution, (void *)(uintptr_t)refs);
    tt_status status = tt_values_walk_all(m, q, false, over, fetch, &f, &again, err);
    if (status == TT_OK && f.next < n)
        status = tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET,
                              "the trace's values are not the same when read again");
    free(f.order);
    return status;
}

/* The first of what was found, with their fingerprints. */
static tt_status finish(looking *l, const tt_values_query *q, const tt_over *over,
                        tt_values_outliers *out, tt_error *err)
{
    size_t n = q->limit && q->limit < l->n_found ? (size_t)q->limit : l->n_found;
    ref *refs = calloc(n + 1, sizeof *refs);
    tt_values_row *rows = calloc(n + 1, sizeof *rows);
    out->list = calloc(n + 1, sizeof *out->list);
    tt_status status = refs && rows && out->list ? TT_OK : tt_error_memory(err, "comparing values");
    if (l->n_found) qsort(l->found, l->n_found, sizeof *l->found, by_score);
    for (size_t i = 0; status == TT_OK && i < n; i++)
        refs[i] = l->found[i].of;
    if (status == TT_OK) status = fetch_rows(l->m, q, refs, n, over, rows, err);
    for (size_t i = 0; status == TT_OK && i < n; i++) {
        out->list[i] = l->found[i].outlier;
        out->list[i].row = rows[i];
        out->n++;
    }
    free(refs);
    free(rows);
    return status;
}

tt_status tt_values_outliers_make(const tt_model *m, const tt_values_query *q, const tt_over *over,
                                  tt_values_outliers *out, tt_error *err)
{
    looking l = {.m = m, .keys = {.what = TT_VALUES_KEY_PLACE_AND_OP, .m = m}};
    memset(out, 0, sizeof *out);
    tt_status status = tt_values_walk_all(m, q, false, over, take, &l, &out->counts, err);
    if (status == TT_OK && !evaluate_all(&l)) status = tt_error_memory(err, "comparing values");
    if (status == TT_OK) {
        out->compared = l.n;
        out->total = l.n_found;
        status = finish(&l, q, over, out, err);
    }
    free(l.list);
    free(l.found);
    tt_values_keys_free(&l.keys);
    return status;
}

void tt_values_outliers_free(tt_values_outliers *o)
{
    free(o->list);
    memset(o, 0, sizeof *o);
}
