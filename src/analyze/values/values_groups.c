#include "analyze/values/values_groups.h"

#include "analyze/values/values_keys.h"
#include "analyze/values/values_sum.h"
#include "base/array.h"
#include "base/checksum.h"

#include <stdlib.h>
#include <string.h>

/* The output of a node, by name, op and occurrence in the run, that was met last. */
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
    tt_idmap by_number;   /* of layers and tokens: index in out->list */
    tt_values_keys *keys; /* of texts: their numbers are those indices */
    last *lasts;
    occurrence *occurrences;
    uint32_t n_lasts, n_occurrences;
    size_t lasts_capacity, occurrences_capacity;
    tt_idmap last_by_key, occurrence_by_key;
} grouping;

/* --- repeats --- */

static bool find(tt_idmap *map, uint64_t key, uint32_t *n, uint32_t *at, bool *isnew)
{
    uint32_t was;
    *at = tt_idmap_get(map, key);
    *isnew = *at == TT_NONE;
    if (!*isnew) return true;
    *at = (*n)++;
    return tt_idmap_add(map, key, *at, &was);
}

/* Whether the bytes are those of the same output in the batch before. False in *ok without memory.
 */
static bool repeats(grouping *g, const tt_values_seen *seen, bool *ok)
{
    const tt_tensor *t = &g->m->graphs[seen->graph].tensors[seen->node];
    const tt_fingerprint *p = seen->print;
    const uint32_t batch = g->m->runs[seen->run].batch;
    uint64_t key[3] = {tt_checksum(t->name, strlen(t->name)),
                       tt_checksum(t->op_name, strlen(t->op_name)), 0};
    uint32_t at;
    bool isnew;
    if (!tt_array_one_more(g->occurrences, g->n_occurrences, g->occurrences_capacity) ||
        !tt_array_one_more(g->lasts, g->n_lasts, g->lasts_capacity) ||
        !find(&g->occurrence_by_key, tt_checksum(key, sizeof key), &g->n_occurrences, &at, &isnew))
        return *ok = false;
    occurrence *o = &g->occurrences[at];
    if (isnew || o->run != seen->run) *o = (occurrence){seen->run, 0};
    key[2] = ++o->n;
    if (!find(&g->last_by_key, tt_checksum(key, sizeof key), &g->n_lasts, &at, &isnew))
        return *ok = false;
    last *l = &g->lasts[at];
    const bool same = !isnew && l->n == p->n && p->n > 1 && l->batch != batch &&
                      memcmp(l->hash, p->hash, sizeof l->hash) == 0;
    *l = (last){.n = p->n, .batch = batch};
    memcpy(l->hash, p->hash, sizeof l->hash);
    return same;
}

/* --- groups --- */

static int64_t number_of(const grouping *g, const tt_values_seen *seen)
{
    const tt_run *r = &g->m->runs[seen->run];
    if (g->out->by == TT_VALUES_BY_LAYER)
        return g->m->graphs[seen->graph].tensors[seen->node].place.layer_id;
    return r->batch == TT_NONE ? -1 : (int64_t)tt_model_batch_number(g->m, r->batch);
}

/* The group's index; TT_NONE without memory. */
static uint32_t group_of(grouping *g, tt_values_walk *w, const tt_values_seen *seen)
{
    tt_values_groups *out = g->out;
    const bool texts = out->by <= TT_VALUES_BY_OP;
    const int64_t number = texts ? 0 : number_of(g, seen);
    uint32_t was, at = texts ? tt_values_keys_of(g->keys, w, seen)
                             : tt_idmap_get(&g->by_number, (uint64_t)(number + 1));
    if (texts && at == TT_NONE) return TT_NONE;
    if (at < out->n) return at;
    if (!tt_array_one_more(out->list, out->n, g->capacity) ||
        !tt_array_one_more(g->sums, out->n, g->sums_capacity))
        return TT_NONE;
    at = (uint32_t)out->n;
    if (!texts && !tt_idmap_add(&g->by_number, (uint64_t)(number + 1), at, &was)) return TT_NONE;
    out->list[at] = (tt_values_group){.key = texts ? g->keys->texts[at] : NULL, .number = number};
    g->sums[at] = (tt_values_sum){0};
    out->n++;
    return at;
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
    return (x->number > y->number) - (x->number < y->number);
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
                                         [TT_VALUES_BY_PLACE] = TT_VALUES_KEY_PLACE,
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
    tt_idmap_free(&g.occurrence_by_key);
    return status;
}

void tt_values_groups_free(tt_values_groups *g)
{
    if (g->names) tt_values_keys_free(g->names);
    free(g->names);
    free(g->list);
    memset(g, 0, sizeof *g);
}
