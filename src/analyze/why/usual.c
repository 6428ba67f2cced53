#include "analyze/why/usual.h"

#include "analyze/quantiles.h"
#include "base/array.h"
#include "base/checksum.h"
#include "base/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TEXTS_BYTES_MAX ((size_t)64 << 20)
/* Unusual: this share above the median, and so many times the usual deviation. */
#define SLOW_SHARE 0.3
#define SLOW_DEVIATIONS 5.0
#define DEVIATION_OF_MAD 1.4826 /* of a normal distribution */
/* About as many tokens: */
#define TOKENS_LESS 0.8
#define TOKENS_MORE 1.25

/* --- values --- */

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return tt_order(*x, *y);
}

tt_usual_value tt_usual_of(double *values, size_t n)
{
    tt_usual_value u = {.n = (uint32_t)n};
    if (n == 0) return u;
    qsort(values, n, sizeof *values, by_value);
    u.median_ns = tt_quantiles_sorted(values, n, 0.5);
    u.low_ns = tt_quantiles_sorted(values, n, 0.1);
    u.high_ns = tt_quantiles_sorted(values, n, 0.9);
    for (size_t i = 0; i < n; i++)
        values[i] = fabs(values[i] - u.median_ns);
    qsort(values, n, sizeof *values, by_value);
    const double deviation = DEVIATION_OF_MAD * tt_quantiles_sorted(values, n, 0.5);
    /* What one of ten takes is not unusual, however the others vary. */
    u.slow_ns =
        fmax(u.high_ns, u.median_ns + fmax(SLOW_SHARE * u.median_ns, SLOW_DEVIATIONS * deviation));
    return u;
}

/* --- comparable batches --- */

static double time_of(const tt_model *m, const tt_batch *b)
{
    return b->ended && b->end_ticks > b->begin_ticks
               ? tt_model_span_ns(m, b->end_ticks - b->begin_ticks)
               : NAN;
}

double tt_usual_before_ns(const tt_model *m, uint32_t before, uint32_t batch)
{
    const tt_batch *a = &m->batches[before], *b = &m->batches[batch];
    return a->ended && a->end_ticks <= b->begin_ticks
               ? tt_model_span_ns(m, b->begin_ticks - a->end_ticks)
               : NAN;
}

uint32_t tt_usual_batch_before(const tt_model *m, uint32_t batch)
{
    const tt_batch *b = &m->batches[batch];
    for (uint32_t i = batch; i-- > 0;)
        if (m->batches[i].context == b->context && (m->batches[i].n_tokens || !b->n_tokens))
            return i;
    return TT_NONE;
}

static bool is_comparable(const tt_usual *u, uint32_t i, uint32_t context)
{
    const tt_batch *b = &u->m->batches[i];
    return i > 0 && b->phase == u->phase && (context == TT_NONE || b->context == context) &&
           b->n_tokens > 0 && b->n_tokens >= TOKENS_LESS * u->n_tokens &&
           b->n_tokens <= TOKENS_MORE * u->n_tokens;
}

/* The tokens of most of the generated batches. */
static uint32_t usual_tokens(const tt_model *m, uint32_t context, double *values)
{
    size_t n = 0;
    for (uint32_t i = 1; i < m->n_batches; i++)
        if (m->batches[i].phase == TT_PHASE_GENERATE &&
            (context == TT_NONE || m->batches[i].context == context))
            values[n++] = (double)m->batches[i].n_tokens;
    if (n == 0) return 1;
    qsort(values, n, sizeof *values, by_value);
    return (uint32_t)tt_quantiles_sorted(values, n, 0.5);
}

static void sum_up(tt_usual_value *time, double *values, size_t n, tt_usual_value *before,
                   double *gaps, size_t n_gaps)
{
    *time = tt_usual_of(values, n);
    *before = tt_usual_of(gaps, n_gaps);
    /* A short time before a batch does not make it slow. */
    before->slow_ns = fmax(before->slow_ns, before->median_ns + SLOW_SHARE * time->median_ns);
}

static void find(tt_usual *u, uint32_t context, double *values)
{
    size_t n = 0, n_before = 0;
    double *before = values + u->m->n_batches;
    tt_idmap last = {0}; /* batch, by context */
    u->n_batches = 0;
    for (uint32_t i = 0; i < u->m->n_batches; i++) {
        const uint32_t of = u->m->batches[i].context, was = tt_idmap_get(&last, of);
        if (u->m->batches[i].n_tokens)
            u->failed |= !(was == TT_NONE ? tt_idmap_add(&last, of, i, &(uint32_t){0})
                                          : tt_idmap_set(&last, of, i));
        if (!is_comparable(u, i, context)) continue;
        const double ns = time_of(u->m, &u->m->batches[i]);
        if (isnan(ns)) continue;
        values[n++] = ns;
        u->previous[u->n_batches] = was;
        u->batches[u->n_batches++] = i;
        if (was == TT_NONE) continue;
        before[n_before] = tt_usual_before_ns(u->m, was, i);
        if (!isnan(before[n_before])) n_before++;
    }
    tt_idmap_free(&last);
    sum_up(&u->time, values, n, &u->before, before, n_before);
}

/* The comparable batches near that one: *first .. *end - 1. False: all are, or they are too few. */
static bool find_near(const tt_usual *u, uint32_t batch, uint32_t *first, uint32_t *end)
{
    uint32_t at;
    tt_lower_bound(at, u->n_batches, u->batches[at] < batch);
    *first = at > TT_USUAL_NEAR ? at - TT_USUAL_NEAR : 0;
    *end = u->n_batches - *first > 2 * TT_USUAL_NEAR ? *first + 2 * TT_USUAL_NEAR : u->n_batches;
    if (*end > 2 * TT_USUAL_NEAR) *first = *end - 2 * TT_USUAL_NEAR;
    return *end - *first < u->n_batches && *end - *first >= TT_USUAL_LEAST;
}

bool tt_usual_near(const tt_usual *u, uint32_t batch, tt_usual_value *time, tt_usual_value *before)
{
    double values[2 * TT_USUAL_NEAR], gaps[2 * TT_USUAL_NEAR];
    size_t n = 0, n_gaps = 0;
    uint32_t at, end;
    if (!find_near(u, batch, &at, &end)) return false;
    for (; at < end; at++) {
        const uint32_t i = u->batches[at], was = u->previous[at];
        values[n++] = time_of(u->m, &u->m->batches[i]);
        const double gap = was == TT_NONE ? (double)NAN : tt_usual_before_ns(u->m, was, i);
        if (!isnan(gap)) gaps[n_gaps++] = gap;
    }
    sum_up(time, values, n, before, gaps, n_gaps);
    return true;
}

void tt_usual_narrow(tt_usual *u, uint32_t batch)
{
    uint32_t first, end;
    if (!find_near(u, batch, &first, &end) || !tt_usual_near(u, batch, &u->time, &u->before))
        return;
    memmove(u->batches, u->batches + first, (end - first) * sizeof *u->batches);
    memmove(u->previous, u->previous + first, (end - first) * sizeof *u->previous);
    u->n_batches = end - first;
    u->near = true;
}

bool tt_usual_is_slow(const tt_usual_value *time, const tt_usual_value *before, double ns,
                      double before_ns)
{
    return tt_usual_known(time) &&
           (ns > time->slow_ns || (tt_usual_known(before) && before_ns > before->slow_ns));
}

tt_status tt_usual_find(const tt_model *m, uint32_t batch, tt_usual *u, tt_error *err)
{
    const tt_batch *b = batch == TT_NONE ? NULL : &m->batches[batch];
    const uint32_t context = b ? b->context : TT_NONE;
    *u = (tt_usual){.m = m, .phase = TT_PHASE_GENERATE};
    tt_arena_init(&u->texts, TEXTS_BYTES_MAX);
    tt_status status = tt_model_need_clock(m, err);
    if (status != TT_OK) return status;
    u->batches = calloc(((size_t)m->n_batches + 1) * 2, sizeof *u->batches);
    u->table = tt_op_table_new(m);
    double *values = malloc(((size_t)m->n_batches + 1) * 2 * sizeof *values);
    if (!u->batches || !u->table || !values) {
        free(values);
        return tt_error_memory(err, "what is usual");
    }
    u->previous = u->batches + m->n_batches + 1;
    if (b && b->phase != TT_PHASE_MIXED) u->phase = b->phase;
    const bool generates = u->phase == TT_PHASE_GENERATE;
    u->n_tokens = generates ? usual_tokens(m, context, values) : b->n_tokens;
    /* Speculation, several sequences: batches with as many tokens, if there are enough. */
    if (generates && b && b->phase == TT_PHASE_GENERATE && b->n_tokens != u->n_tokens) {
        const uint32_t usual = u->n_tokens;
        u->n_tokens = b->n_tokens;
        find(u, context, values);
        if (!tt_usual_known(&u->time)) u->n_tokens = usual;
    }
    find(u, context, values);
    free(values);
    return u->failed ? tt_error_memory(err, "what is usual") : TT_OK;
}

void tt_usual_free(tt_usual *u)
{
    free(u->batches);
    free(u->ops);
    tt_idmap_free(&u->op_of_key);
    tt_op_table_free(u->table);
    tt_arena_free(&u->texts);
    *u = (tt_usual){0};
}

/* --- ops by name and layer: those without a name have numbers, which recur in each layer --- */

typedef struct looked_for {
    const tt_usual *u;
    const char *name, *op;
    int32_t layer_id;
} looked_for;

static bool is_op(const void *context, uint32_t index)
{
    const looked_for *l = context;
    const tt_usual_op *o = &l->u->ops[index];
    return strcmp(o->name, l->name) == 0 && strcmp(o->op, l->op) == 0 && o->layer_id == l->layer_id;
}

tt_usual_op *tt_usual_op_of(tt_usual *u, const tt_parts_op *op, const tt_op **described)
{
    const tt_op *d =
        tt_op_table_get(u->table, u->m->runs[op->run].graph, op->node, op->times->covers);
    if (described) *described = d;
    if (!d) return NULL;
    const looked_for l = {u, d->name, d->op, d->place.layer_id};
    uint64_t key = tt_checksum(d->name, strlen(d->name)) + 31 * tt_checksum(d->op, strlen(d->op));
    key = tt_hash_mix(key, (uint32_t)l.layer_id);
    uint32_t at = tt_idmap_find(&u->op_of_key, &key, is_op, &l);
    if (at != TT_NONE) return &u->ops[at];
    if (u->n_ops >= TT_USUAL_OPS_MAX || !tt_array_one_more(u->ops, u->n_ops, u->capacity))
        return NULL;
    const char *text = tt_arena_text(&u->texts, d->op, strlen(d->op));
    if (!text || !tt_idmap_add(&u->op_of_key, key, (uint32_t)u->n_ops, &at)) return NULL;
    u->ops[u->n_ops] = (tt_usual_op){.name = d->name,
                                     .op = text,
                                     .layer_id = d->place.layer_id,
                                     .attends = strcmp(d->place.category, "attention") == 0 &&
                                                d->weight_bytes == 0,
                                     .picks_experts = strstr(d->op, "MUL_MAT_ID") != NULL,
                                     .run = TT_NONE};
    return &u->ops[u->n_ops++];
}

tt_usual_value tt_usual_op_time(const tt_usual *u, const tt_usual_op *op)
{
    double values[TT_USUAL_SAMPLES];
    size_t n = 0;
    for (uint32_t i = 0; i < u->n_samples; i++)
        if (op->samples_ns[i] > 0) values[n++] = (double)op->samples_ns[i];
    return tt_usual_of(values, n);
}

/* --- samples --- */

typedef struct sampling {
    tt_usual *u;
    uint32_t sample;
} sampling;

static void add_op(void *context, const tt_parts_op *op)
{
    sampling *s = context;
    tt_usual_op *row = tt_usual_op_of(s->u, op, NULL);
    if (row)
        row->samples_ns[s->sample] += (float)tt_model_span_ns(s->u->m, tt_parts_sum(&op->parts));
}

uint32_t tt_usual_typical(const tt_usual *u, uint32_t *chosen, uint32_t n)
{
    uint32_t typical = 0, taken = 0;
    for (unsigned pass = 0; pass < 2; pass++) {
        uint32_t i = 0;
        for (uint32_t k = 0; k < u->n_batches; k++) {
            const double ns = time_of(u->m, &u->m->batches[u->batches[k]]);
            if (ns < u->time.low_ns || ns > u->time.high_ns) continue;
            if (pass == 0)
                typical++;
            else if (taken < n && (uint64_t)i++ * n >= (uint64_t)taken * typical)
                chosen[taken++] = u->batches[k];
        }
    }
    return taken;
}

tt_status tt_usual_sample(tt_usual *u, tt_parts_walker *w, const tt_over *over, tt_error *err)
{
    uint32_t chosen[TT_USUAL_SAMPLES];
    double part_ns[TT_PARTS][TT_USUAL_SAMPLES];
    tt_status status = TT_OK;
    if (!tt_usual_known(&u->time)) return TT_OK;
    const uint32_t n = tt_usual_typical(u, chosen, TT_USUAL_SAMPLES);
    for (uint32_t i = 0; i < n && status == TT_OK; i++) {
        tt_parts_state state;
        sampling s = {.u = u, .sample = i};
        status = tt_over_check(over, err);
        if (status == TT_OK) status = tt_parts_batch(w, chosen[i], &state, add_op, &s, err);
        if (status != TT_OK) return status;
        for (unsigned p = 0; p < TT_PARTS; p++)
            part_ns[p][i] = tt_model_span_ns(u->m, state.parts.ticks[p]);
    }
    u->n_samples = n;
    for (unsigned p = 0; p < TT_PARTS; p++)
        u->part_ns[p] = tt_usual_of(part_ns[p], n).median_ns;
    return TT_OK;
}
