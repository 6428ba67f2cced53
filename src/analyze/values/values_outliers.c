#include "analyze/values/values_fetch.h"
#include "analyze/values/values_groups.h"
#include "analyze/values/values_keys.h"

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

typedef struct found {
    tt_values_ref ref;
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
    if (l->n == l->capacity) {
        size_t larger = l->capacity ? l->capacity * 2 : 1024;
        sample *more = realloc(l->list, larger * sizeof *more);
        if (!more) return tt_error_memory(err, "comparing values");
        l->list = more;
        l->capacity = larger;
    }
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
    if (l->n_found == l->found_capacity) {
        size_t larger = l->found_capacity ? l->found_capacity * 2 : 64;
        found *more = realloc(l->found, larger * sizeof *more);
        if (!more) return false;
        l->found = more;
        l->found_capacity = larger;
    }
    l->found[l->n_found++] = (found){{s->run, s->node}, *o};
    return true;
}

/* The group's outputs that stand out; room: for 2 n numbers. */
static bool judge(looking *l, const sample *group, size_t n, double *room)
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

static bool judge_all(looking *l)
{
    double *room = calloc(2 * l->n + 1, sizeof *room);
    bool ok = room != NULL;
    if (ok && l->n) qsort(l->list, l->n, sizeof *l->list, by_place);
    for (size_t i = 0, end; ok && i < l->n; i = end) {
        for (end = i + 1; end < l->n && l->list[end].place == l->list[i].place &&
                          l->list[end].phase == l->list[i].phase;)
            end++;
        if (end - i >= TT_VALUES_OUTLIER_AMONG) ok = judge(l, l->list + i, end - i, room);
    }
    free(room);
    return ok;
}

static int by_score(const void *a, const void *b)
{
    const found *x = a, *y = b;
    const double p = fabs(x->outlier.score), q = fabs(y->outlier.score);
    if (p > q || p < q) return p > q ? -1 : 1;
    if (x->ref.run != y->ref.run) return x->ref.run < y->ref.run ? -1 : 1;
    return (x->ref.node > y->ref.node) - (x->ref.node < y->ref.node);
}

/* The first of what was found, with their fingerprints. */
static tt_status finish(looking *l, const tt_values_query *q, const tt_over *over,
                        tt_values_outliers *out, tt_error *err)
{
    size_t n = q->limit && q->limit < l->n_found ? (size_t)q->limit : l->n_found;
    tt_values_ref *refs = calloc(n + 1, sizeof *refs);
    tt_values_row *rows = calloc(n + 1, sizeof *rows);
    out->list = calloc(n + 1, sizeof *out->list);
    tt_status status = refs && rows && out->list ? TT_OK : tt_error_memory(err, "comparing values");
    if (l->n_found) qsort(l->found, l->n_found, sizeof *l->found, by_score);
    for (size_t i = 0; status == TT_OK && i < n; i++)
        refs[i] = l->found[i].ref;
    if (status == TT_OK) status = tt_values_fetch(l->m, q, refs, n, over, rows, err);
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
    if (status == TT_OK && !judge_all(&l)) status = tt_error_memory(err, "comparing values");
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
