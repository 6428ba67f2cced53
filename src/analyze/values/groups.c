#include "analyze/values/groups.h"
#include "analyze/values/values.h"
#include "base/array.h"
#include "base/order.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where `mark` is in the name, followed by `end` or the end of the name; NULL if nowhere. */
static const char *find_mark(const char *name, const char *mark, char end)
{
    size_t n = strlen(mark);
    for (const char *at = strstr(name, mark); at; at = strstr(at + 1, mark))
        if (at[n] == end || at[n] == '\0') return at;
    return NULL;
}

static bool is_number(const char *text)
{
    if (!*text) return false;
    while (isdigit((unsigned char)*text))
        text++;
    return *text == '\0';
}

/* ggml's names of unnamed tensors. */
static bool is_unnamed(const char *name)
{
    return !*name || (strncmp(name, "node_", 5) == 0 && is_number(name + 5));
}

char *tt_values_base_name(const tt_tensor *t, char out[TT_VALUES_KEY_TEXT])
{
    static const char *const marks[] = {"-", "_l"};
    const int32_t layer = t->place.layer_id;
    char mark[24];
    (void)snprintf(out, TT_VALUES_KEY_TEXT, "%s", is_unnamed(t->name) ? t->op_desc : t->name);
    if (layer < 0 || is_unnamed(t->name)) return out;
    (void)snprintf(mark, sizeof mark, "blk.%" PRId32 ".", tt_layer_number(layer));
    if (strncmp(t->name, mark, strlen(mark)) == 0) {
        (void)snprintf(out, TT_VALUES_KEY_TEXT, "%s", t->name + strlen(mark));
        return out;
    }
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        (void)snprintf(mark, sizeof mark, "%s%" PRId32, marks[i], tt_layer_number(layer));
        const char *at = find_mark(t->name, mark, ' ');
        if (!at || at == t->name) continue;
        (void)snprintf(out, TT_VALUES_KEY_TEXT, "%.*s%s", (int)(at - t->name), t->name,
                       at + strlen(mark));
        return out;
    }
    return out;
}

static uint32_t make(tt_values_keys *k, tt_values_walk *w, const tt_values_seen *seen)
{
    char text[TT_VALUES_KEY_TEXT + 64];
    const tt_tensor *t = &k->m->graphs[seen->graph].tensors[seen->node];
    if (k->what == TT_VALUES_KEY_NAME) return tt_texts_number(&k->texts, t->name);
    if (k->what == TT_VALUES_KEY_OP) {
        const tt_op *op = tt_values_walk_op(w, seen);
        return op ? tt_texts_number(&k->texts, op->op) : TT_NONE;
    }
    tt_values_base_name(t, text);
    if (k->what == TT_VALUES_KEY_BASE_NAME_AND_OP) {
        size_t used = strlen(text);
        (void)snprintf(text + used, sizeof text - used, "\n%s", t->op_desc);
    }
    return tt_texts_number(&k->texts, text);
}

uint32_t tt_values_keys_of(tt_values_keys *k, tt_values_walk *w, const tt_values_seen *seen)
{
    if (!k->of_graph) k->of_graph = calloc((size_t)k->m->n_graphs + 1, sizeof *k->of_graph);
    if (!k->of_graph) return TT_NONE;
    uint32_t **of = &k->of_graph[seen->graph];
    if (!*of) *of = calloc((size_t)k->m->graphs[seen->graph].n_nodes + 1, sizeof **of);
    if (!*of) return TT_NONE;
    if (!(*of)[seen->node]) {
        uint32_t number = make(k, w, seen);
        if (number == TT_NONE) return TT_NONE;
        (*of)[seen->node] = number + 1;
    }
    return (*of)[seen->node] - 1;
}

void tt_values_keys_free(tt_values_keys *k)
{
    for (uint32_t i = 0; k->of_graph && i < k->m->n_graphs; i++)
        free(k->of_graph[i]);
    free(k->of_graph);
    tt_texts_free(&k->texts);
    memset(k, 0, sizeof *k);
}

/* The last output of a node, by name, op and occurrence in the run. */
typedef struct last {
    uint8_t hash[16];
    uint64_t n;
    uint32_t batch;
} last;

/* How often a name and op occurred in a run. */
typedef struct occurrence {
    uint32_t run;
    uint32_t n;
} occurrence;

typedef struct grouping {
    const tt_model *m;
    tt_values_groups *out;
    tt_values_sum *sums; /* as out->list */
    size_t capacity, sums_capacity;
    tt_idmap by_number;   /* of all but names and ops: index in out->list */
    tt_values_keys *keys; /* of texts: their numbers are those indices */
    last *lasts;
    occurrence *occurrences;
    uint32_t n_lasts, n_occurrences;
    size_t lasts_capacity, occurrences_capacity;
    tt_texts nodes;       /* names and ops: their numbers are indices in occurrences */
    tt_idmap last_by_key; /* by that number and the occurrence */
} grouping;

/* --- repeats --- */

/* The number of the node's name and op, in that context; TT_NONE if out of memory. */
static uint32_t number_of_node(grouping *g, const tt_tensor *t, uint32_t context)
{
    char *text = NULL;
    if (asprintf(&text, "%" PRIu32 "\n%s\n%s", context, t->op_name, t->name) < 0) return TT_NONE;
    const uint32_t number = tt_texts_number(&g->nodes, text);
    free(text);
    if (number == TT_NONE || number < g->n_occurrences) return number;
    if (!tt_array_one_more(g->occurrences, g->n_occurrences, g->occurrences_capacity))
        return TT_NONE;
    g->occurrences[g->n_occurrences++] = (occurrence){TT_NONE, 0};
    return number;
}

/* Whether the bytes are those of the same output in the previous batch. False in *ok if out of
 * memory. */
static bool repeats(grouping *g, const tt_values_seen *seen, bool *ok)
{
    const tt_tensor *t = &g->m->graphs[seen->graph].tensors[seen->node];
    const tt_fingerprint *p = seen->print;
    const uint32_t batch = g->m->runs[seen->run].batch;
    const uint32_t node = number_of_node(g, t, batch == TT_NONE ? 0 : g->m->batches[batch].context);
    if (node == TT_NONE || !tt_array_one_more(g->lasts, g->n_lasts, g->lasts_capacity))
        return *ok = false;
    occurrence *o = &g->occurrences[node];
    if (o->run != seen->run) *o = (occurrence){seen->run, 0};
    uint32_t at;
    if (!tt_idmap_add(&g->last_by_key, (uint64_t)node << 32 | o->n++, g->n_lasts, &at))
        return *ok = false;
    const bool isnew = at == TT_NONE;
    if (isnew) at = g->n_lasts++;
    last *l = &g->lasts[at];
    const bool same = !isnew && l->n == p->n && p->n > 1 && l->batch != batch &&
                      memcmp(l->hash, p->hash, sizeof l->hash) == 0;
    *l = (last){.n = p->n, .batch = batch};
    memcpy(l->hash, p->hash, sizeof l->hash);
    return same;
}

/* --- groups --- */

/* Without counts. False: out of memory. */
static bool describe(grouping *g, tt_values_walk *w, const tt_values_seen *seen,
                     tt_values_group *out, uint64_t *key)
{
    const tt_values_by by = g->out->by;
    const tt_graph *graph = &g->m->graphs[seen->graph];
    const tt_run *r = &g->m->runs[seen->run];
    *out = (tt_values_group){.number = -1, .layer = TT_LAYER_NONE, .model = TT_NONE};
    *key = 0;
    if (by == TT_VALUES_BY_BATCH && r->batch != TT_NONE)
        out->number = (int64_t)tt_model_batch_number(g->m, r->batch);
    if (by == TT_VALUES_BY_BATCH) *key = (uint64_t)(out->number + 1);
    if (by == TT_VALUES_BY_LAYER || by == TT_VALUES_BY_TENSOR) {
        out->layer = graph->tensors[seen->node].place.layer_id;
        out->model = graph->model;
        /* A layer is of one model; what is outside the layers is of its model, too. */
        *key = out->layer >= 0 ? (uint32_t)out->layer : (1u << 31 | (out->model & INT32_MAX));
    }
    if (by > TT_VALUES_BY_OP) return true;
    const uint32_t text = tt_values_keys_of(g->keys, w, seen);
    if (text == TT_NONE) return false;
    out->key = g->keys->texts.list[text];
    *key |= (uint64_t)text << 32;
    return true;
}

/* The group's index; TT_NONE if out of memory. */
static uint32_t group_of(grouping *g, tt_values_walk *w, const tt_values_seen *seen)
{
    tt_values_groups *out = g->out;
    tt_values_group group;
    uint64_t key;
    uint32_t was;
    if (!describe(g, w, seen, &group, &key) ||
        !tt_idmap_add(&g->by_number, key, (uint32_t)out->n, &was))
        return TT_NONE;
    if (was != TT_NONE) return was;
    if (!tt_array_one_more(out->list, out->n, g->capacity) ||
        !tt_array_one_more(g->sums, out->n, g->sums_capacity))
        return TT_NONE;
    out->list[out->n] = group;
    g->sums[out->n] = (tt_values_sum){0};
    return (uint32_t)out->n++;
}

static tt_status take(void *context, tt_values_walk *w, const tt_values_seen *seen, tt_error *err)
{
    grouping *g = context;
    const tt_fingerprint *p = seen->print;
    bool ok = true;
    if (!p) return TT_OK;
    const uint32_t at = group_of(g, w, seen);
    if (at == TT_NONE) return tt_error_memory(err, "groups of values");
    tt_values_group *o = &g->out->list[at];
    const bool bad = tt_values_state_is_bad(seen->state);
    o->outputs++;
    o->elements += p->n;
    o->n_nan += p->n_nan;
    o->n_inf += p->n_inf;
    o->bad += bad;
    o->masking += seen->state == TT_STATE_MASKING;
    o->constant += tt_values_is_constant(p);
    o->zero += tt_values_is_zero(p);
    o->repeated += repeats(g, seen, &ok);
    if (p->has_range) {
        if (!o->has_range || p->rms < o->rms_min) o->rms_min = p->rms;
        if (!o->has_range || p->rms > o->rms_max) o->rms_max = p->rms;
        o->has_range = true;
    }
    tt_values_sum_add(&g->sums[at], p);
    return ok ? TT_OK : tt_error_memory(err, "groups of values");
}

static int by_number(const void *a, const void *b)
{
    const tt_values_group *x = a, *y = b;
    if (x->layer != y->layer) return x->layer < y->layer ? -1 : 1;
    if (x->number != y->number) return x->number < y->number ? -1 : 1;
    return (x->model > y->model) - (x->model < y->model);
}

static void finish(grouping *g)
{
    tt_values_groups *out = g->out;
    for (size_t i = 0; i < out->n; i++) {
        tt_values_group *o = &out->list[i];
        o->min = g->sums[i].min;
        o->max = g->sums[i].max;
        o->rms = tt_values_sum_rms(&g->sums[i]);
        o->mean = tt_values_sum_mean(&g->sums[i]);
    }
    if (out->by > TT_VALUES_BY_OP && out->n) qsort(out->list, out->n, sizeof *out->list, by_number);
}

tt_status tt_values_groups_make(const tt_model *m, const tt_values_query *q, tt_values_by by,
                                const tt_over *over, tt_values_groups *out, tt_error *err)
{
    static const tt_values_key what[] = {[TT_VALUES_BY_TENSOR] = TT_VALUES_KEY_NAME,
                                         [TT_VALUES_BY_BASE_NAME] = TT_VALUES_KEY_BASE_NAME,
                                         [TT_VALUES_BY_OP] = TT_VALUES_KEY_OP};
    tt_values_keys *keys = calloc(1, sizeof *keys);
    grouping g = {.m = m, .out = out, .keys = keys};
    *out = (tt_values_groups){.by = by, .names = keys};
    if (!keys) return tt_error_memory(err, "groups of values");
    keys->m = m;
    if (by <= TT_VALUES_BY_OP) keys->what = what[by];
    tt_status status = tt_values_walk_all(m, q, false, over, take, &g, &out->counts, err);
    if (status == TT_OK) finish(&g);
    free(g.sums);
    free(g.lasts);
    free(g.occurrences);
    tt_idmap_free(&g.by_number);
    tt_idmap_free(&g.last_by_key);
    tt_texts_free(&g.nodes);
    return status;
}

void tt_values_groups_free(tt_values_groups *g)
{
    if (g->names) tt_values_keys_free(g->names);
    free(g->names);
    free(g->list);
    memset(g, 0, sizeof *g);
}

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

static tt_status take_sample(void *context, tt_values_walk *w, const tt_values_seen *seen,
                             tt_error *err)
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

/* The z of a deviation of 1 from the median, as a factor; 0: all are equal. */
static double scale_of(const double *v, double middle, size_t n, double *room)
{
    double mean = 0;
    for (size_t i = 0; i < n; i++) {
        room[i] = fabs(v[i] - middle);
        mean += room[i] / (double)n;
    }
    const double mad = tt_median(room, n);
    if (mad > 0) return 0.6745 / mad;
    return mean > 0 ? 1 / (1.253314 * mean) : 0;
}

static bool keep(looking *l, const sample *s, const tt_values_outlier *o)
{
    if (!tt_array_one_more(l->found, l->n_found, l->found_capacity)) return false;
    l->found[l->n_found++] = (found){{s->run, s->node}, *o};
    return true;
}

/* The group's outliers; room: for 2 n numbers. */
static bool evaluate(looking *l, const sample *group, size_t n, double *room)
{
    double middle[2], scale[2];
    for (unsigned k = 0; k < 2; k++) {
        for (size_t i = 0; i < n; i++)
            room[i] = group[i].log[k];
        middle[k] = tt_median(room, n);
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
        /* Reported once per output: by the larger deviation. */
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
    size_t *order; /* the execution order of refs */
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

/* The fingerprints of outliers, by a second walk, so that not all need to be kept. rows[i], of n,
 * is set for refs[i], which q lets pass. */
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

/* The first results, with their fingerprints. */
static tt_status finish_outliers(looking *l, const tt_values_query *q, const tt_over *over,
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
    looking l = {.m = m, .keys = {.what = TT_VALUES_KEY_BASE_NAME_AND_OP, .m = m}};
    memset(out, 0, sizeof *out);
    tt_status status = tt_values_walk_all(m, q, false, over, take_sample, &l, &out->counts, err);
    if (status == TT_OK && !evaluate_all(&l)) status = tt_error_memory(err, "comparing values");
    if (status == TT_OK) {
        out->compared = l.n;
        out->total = l.n_found;
        status = finish_outliers(&l, q, over, out, err);
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
