#include "analyze/dumps/valuediff.h"

#include "analyze/dumps/stages.h"
#include "analyze/texts.h"
#include "base/array.h"
#include "base/order.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The known error of inputs. */
typedef struct tt_blame_state {
    double rel_l2; /* the largest known */
    bool bad;      /* one differs, is NaN or has another shape */
    bool unknown;  /* one is unknown */
    bool close;    /* one is close, not equal */
    bool weak;     /* ... of which only statistics and first elements are known */
    bool computes; /* steps in between that were not measured on both sides did, see
                      tt_dump_value.ops_between */
    /* The coarsest type (tt_type_coarseness) of steps in between that were not measured on both
     * sides. */
    unsigned coarseness;
} tt_blame_state;

/* Errors that earlier steps may have left in a KV cache, by the value that reads it. */
typedef struct tt_blame_cache {
    int32_t layer;
    const char *stage; /* each text is stored once */
    uint32_t occurrence;
    tt_blame_state state;
} tt_blame_cache;

/* State of a comparison; zero-filled is ready. */
typedef struct tt_blame {
    tt_blame_state *states; /* by value of the step: its own, for those that read it */
    size_t n_states;
    tt_blame_cache *caches;
    size_t n_caches;
    tt_blame_state others; /* of the value's inputs on the other side */
    bool brings;           /* one side's ops since them read what the other side does not */
    bool blind;            /* inputs of values are unknown on this side */
    bool cut;              /* earlier steps were not compared, or there are too many caches */
} tt_blame;

#define CACHES_MAX 4096u
#define EXTRA_MAX 64u /* ops, or values, between a value and its compared inputs */

/* Call it before the values of a step of n values. False if out of memory. */
static bool blame_begin(tt_blame *b, size_t n)
{
    return tt_array_room(b->states, b->n_states, n);
}

static void join(tt_blame_state *into, const tt_blame_state *s)
{
    into->rel_l2 = tt_larger(into->rel_l2, s->rel_l2);
    into->bad |= s->bad;
    into->unknown |= s->unknown;
    into->close |= s->close;
    into->weak |= s->weak;
    into->computes |= s->computes;
    if (s->coarseness > into->coarseness) into->coarseness = s->coarseness;
}

static tt_blame_state of_inputs(const tt_blame *b, const tt_dump_value *v, size_t i)
{
    tt_blame_state all = {.unknown = v->more_inputs || b->blind};
    for (uint32_t k = 0; k < v->n_inputs; k++) {
        if (v->inputs[k] < i) join(&all, &b->states[v->inputs[k]]);
    }
    return all;
}

/* What earlier steps may have left in the cache that a value reads: the worst error among its
 * inputs so far, which include keys and values. */
static bool of_cache(tt_blame *b, const tt_valuediff_item *item, const tt_blame_state *inputs,
                     tt_blame_state *out)
{
    *out = (tt_blame_state){.unknown = b->cut};
    for (size_t k = 0; k < b->n_caches; k++) {
        tt_blame_cache *c = &b->caches[k];
        if (c->layer != item->layer || c->stage != item->stage || c->occurrence != item->occurrence)
            continue;
        join(out, &c->state);
        join(&c->state, inputs);
        return true;
    }
    if (b->n_caches == CACHES_MAX) {
        b->cut = true;
        return true;
    }
    if (!b->caches && !(b->caches = calloc(CACHES_MAX, sizeof *b->caches))) return false;
    b->caches[b->n_caches++] =
        (tt_blame_cache){item->layer, item->stage, item->occurrence, *inputs};
    return true;
}

/* An error of unknown size counts as any. */
static double size_of(const tt_valuediff_item *item)
{
    if (item->verdict == TT_VALUE_EQUAL) return 0;
    if (item->verdict == TT_VALUE_NAN || item->verdict == TT_VALUE_SHAPE) return INFINITY;
    return isnan(item->error.rel_l2) ? INFINITY : item->error.rel_l2;
}

/* Whether a value consists of elements of its inputs: its op makes no error, but may select those
 * with the largest. */
static bool is_moved(const tt_dump_value *v, const tt_blame_state *from)
{
    return v->n_inputs && tt_op_only_moves(v->op) && !v->ops_between && !from->computes;
}

static tt_value_blame evaluate(const tt_valuediff_item *item, const tt_dump_value *v,
                               const tt_blame_state *from)
{
    double size = size_of(item);
    bool sized = item->verdict != TT_VALUE_OTHER_BITS;
    if (item->verdict == TT_VALUE_EQUAL || item->verdict == TT_VALUE_UNMEASURED)
        return TT_BLAME_NONE;
    if (isinf(from->rel_l2)) return TT_BLAME_INHERITED;
    /* If the error's size is unknown, all that is known: with equal inputs, it is made here. */
    if (!sized && !from->bad && (from->close || from->rel_l2 > 0)) return TT_BLAME_UNKNOWN;
    /* For an error without a size (an order, a choice of experts): the smallest earlier change may
     * have caused it. */
    if (item->error.basis == TT_BASIS_HASH && from->rel_l2 > 0) return TT_BLAME_INHERITED;
    bool moves = is_moved(v, from),
         larger = !moves && sized && size > TT_VALUEDIFF_OWN * from->rel_l2;
    if (from->bad && !larger) return TT_BLAME_INHERITED;
    if (from->unknown || (from->weak && (larger || from->rel_l2 == 0))) return TT_BLAME_UNKNOWN;
    /* For close inputs, 0 means only that the known elements are equal. */
    if (from->close && moves) return TT_BLAME_INHERITED;
    return from->rel_l2 == 0 || larger ? TT_BLAME_OWN : TT_BLAME_INHERITED;
}

/* Sets blame, input_rel_l2 and jump of value i of the step, for `item` (which has its verdict so
 * far, and its error); may change close to differs. *cache: the error in the cache that it reads,
 * if it does. `coarseness`: of its own_type, on either side; `rel_l2`: the user's tolerance for all
 * steps, or NAN. False if out of memory. */
static bool blame_value(tt_blame *b, const tt_dump_step *s, size_t i, unsigned coarseness,
                        double rel_l2, tt_valuediff_item *item, tt_blame_state *cache)
{
    const tt_dump_value *v = &s->values[i];
    tt_blame_state from = of_inputs(b, v, i);
    join(&from, &b->others);
    *cache = (tt_blame_state){0};
    if (v->reads_cache) {
        if (!of_cache(b, item, &from, cache)) return false;
        join(&from, cache);
    }
    if (coarseness > from.coarseness) from.coarseness = coarseness;
    tt_tolerance step = tt_tolerance_of_step(from.coarseness);
    if (!isnan(rel_l2)) step.rel_l2 = rel_l2;
    item->blame = evaluate(item, v, &from);
    if (item->blame == TT_BLAME_OWN && (item->only_a || item->only_b) && b->brings)
        item->blame = TT_BLAME_EXTRA;
    item->input_rel_l2 = from.unknown ? NAN : from.rel_l2;
    if (item->verdict == TT_VALUE_CLOSE && item->blame == TT_BLAME_OWN &&
        item->error.rel_l2 > step.rel_l2) {
        item->verdict = TT_VALUE_DIFFERS;
        item->jump = true;
        item->tolerance = step;
    }
    tt_blame_state *own = &b->states[i];
    if (item->verdict == TT_VALUE_UNMEASURED) {
        *own = from; /* readers of it inherit its inputs instead */
        own->computes |= v->ops_between || !tt_op_only_moves(v->op);
        if (!v->n_inputs) own->unknown = true;
        return true;
    }
    if (item->verdict == TT_VALUE_OTHER_BITS) {
        *own = (tt_blame_state){.unknown = true}; /* its size is unknown */
        return true;
    }
    *own = (tt_blame_state){
        .rel_l2 = size_of(item),
        .bad = item->verdict != TT_VALUE_EQUAL && item->verdict != TT_VALUE_CLOSE,
        .close = item->verdict == TT_VALUE_CLOSE,
        .weak = item->verdict == TT_VALUE_CLOSE &&
                (item->error.basis == TT_BASIS_STATS || item->error.basis == TT_BASIS_FIRST)};
    return true;
}

static void blame_free(tt_blame *b)
{
    free(b->states);
    free(b->caches);
    memset(b, 0, sizeof *b);
}

/* State of a comparison. */
typedef struct walk {
    tt_valuediff *d;
    tt_dump *a, *b;
    const tt_valuediff_options *o;
    tt_texts *texts;
    tt_dump_step step_a, step_b;
    uint32_t *order_b;   /* B's values by key */
    uint32_t *partner_a; /* by A's value: B's, or TT_NONE */
    uint32_t *partner_b;
    size_t room_a, room_b, room_order;
    tt_blame blame;
    tt_valuediff_tally tally;
    size_t item_capacity;
    size_t pair;
    uint32_t n_done; /* values of the step */
    tt_error *err;
} walk;

static tt_status no_memory(walk *w)
{
    return tt_error_set(w->err, TT_E_MEMORY, TT_NO_OFFSET, "no memory to compare values");
}

static int compare_keys(const tt_dump_value *a, const tt_dump_value *b)
{
    if (a->layer != b->layer) return a->layer < b->layer ? -1 : 1;
    int order = strcmp(a->stage, b->stage);
    if (order) return order;
    return a->occurrence < b->occurrence ? -1 : a->occurrence > b->occurrence;
}

static int by_key(const void *left, const void *right, void *values)
{
    const tt_dump_value *list = values;
    return compare_keys(&list[*(const uint32_t *)left], &list[*(const uint32_t *)right]);
}

static uint32_t find_in_b(const walk *w, const tt_dump_value *key)
{
    const tt_dump_value *list = w->step_b.values;
    size_t at;
    tt_lower_bound(at, w->step_b.n, compare_keys(&list[w->order_b[at]], key) < 0);
    if (at == w->step_b.n || compare_keys(&list[w->order_b[at]], key) != 0) return TT_NONE;
    return w->order_b[at];
}

static bool is_product(const tt_dump_value *v)
{
    return v->weight && strncmp(v->op, "MUL_MAT", strlen("MUL_MAT")) == 0;
}

static int by_weight(const void *left, const void *right, void *values)
{
    const uint32_t i = *(const uint32_t *)left, k = *(const uint32_t *)right;
    const tt_dump_value *list = values, *a = &list[i], *b = &list[k];
    int order = strcmp(a->weight, b->weight);
    if (!order) order = strcmp(a->op, b->op);
    return order ? order : tt_order(i, k);
}

static size_t list_products(const tt_dump_step *s, uint32_t *list)
{
    size_t n = 0;
    for (uint32_t i = 0; i < s->n; i++)
        if (is_product(&s->values[i])) list[n++] = i;
    qsort_r(list, n, sizeof *list, by_weight, s->values);
    return n;
}

/* Products with the same weight are the same, whatever the engine calls them: an adapter adds to
 * what then has their name. */
static bool match_products(walk *w)
{
    const tt_dump_value *a = w->step_a.values, *b = w->step_b.values;
    uint32_t *list = reallocarray(NULL, w->step_a.n + w->step_b.n + 1, sizeof *list);
    if (!list) return false;
    const size_t n_a = list_products(&w->step_a, list);
    uint32_t *list_b = list + n_a;
    const size_t n_b = list_products(&w->step_b, list_b);
    for (size_t i = 0, k = 0; i < n_a && k < n_b;) {
        int order = strcmp(a[list[i]].weight, b[list_b[k]].weight);
        if (!order) order = strcmp(a[list[i]].op, b[list_b[k]].op);
        if (order == 0) {
            w->partner_a[list[i]] = list_b[k];
            w->partner_b[list_b[k]] = list[i];
        }
        i += order <= 0;
        k += order >= 0;
    }
    free(list);
    return true;
}

/* Finds the values of the two steps with the same weight, or the same key. */
static bool match_values(walk *w)
{
    if (!tt_array_room(w->partner_a, w->room_a, w->step_a.n + 1) ||
        !tt_array_room(w->partner_b, w->room_b, w->step_b.n + 1) ||
        !tt_array_room(w->order_b, w->room_order, w->step_b.n + 1))
        return false;
    for (uint32_t i = 0; i < w->step_b.n; i++) {
        w->order_b[i] = i;
        w->partner_b[i] = TT_NONE;
    }
    qsort_r(w->order_b, w->step_b.n, sizeof *w->order_b, by_key, w->step_b.values);
    for (uint32_t i = 0; i < w->step_a.n; i++)
        w->partner_a[i] = TT_NONE;
    if (!match_products(w)) return false;
    for (uint32_t i = 0; i < w->step_a.n; i++) {
        if (w->partner_a[i] != TT_NONE) continue;
        const uint32_t other = find_in_b(w, &w->step_a.values[i]);
        if (other == TT_NONE || w->partner_b[other] != TT_NONE) continue;
        /* Of other weights: not the same. */
        if (is_product(&w->step_a.values[i]) && is_product(&w->step_b.values[other])) continue;
        w->partner_a[i] = other;
        w->partner_b[other] = i;
    }
    return true;
}

static bool fill_place(walk *w, const tt_dump *d, uint32_t step, const tt_dump_value *v,
                       tt_valuediff_place *p)
{
    *p = (tt_valuediff_place){.step = step,
                              .token = step == TT_NONE ? TT_NONE : d->steps[step].token,
                              .run = TT_NONE,
                              .node = TT_NONE};
    if (!v) return true;
    p->present = true;
    p->name = tt_texts_keep(w->texts, v->name);
    p->op = tt_texts_keep(w->texts, v->op);
    p->type = tt_texts_keep(w->texts, v->type);
    p->weight = v->weight ? tt_texts_keep(w->texts, v->weight) : NULL;
    p->run = v->run;
    p->node = v->node;
    p->n_dims = v->n_dims;
    memcpy(p->ne, v->ne, sizeof p->ne);
    p->n = v->print.n;
    p->has_counts = (v->known & TT_KNOWN_STATS) != 0;
    if (p->has_counts) {
        p->n_nan = v->print.n_nan;
        p->n_inf = v->print.n_inf;
    }
    p->has_rms = (v->known & TT_KNOWN_RMS) != 0;
    p->rms = v->print.rms;
    return p->name && p->op && p->type && (!v->weight || p->weight);
}

static bool is_wanted(const walk *w, const tt_valuediff_item *i)
{
    const tt_valuediff_options *o = w->o;
    int32_t number;
    if (o->has_layers && (i->layer < o->layer_first || i->layer > o->layer_last)) return false;
    return !o->stage || tt_stage_match(o->stage, i->stage, &number);
}

static bool keep(walk *w, const tt_valuediff_item *item)
{
    tt_valuediff *d = w->d;
    uint32_t most = w->o->items_max ? w->o->items_max : TT_VALUEDIFF_ITEMS_DEFAULT;
    if (most > TT_VALUEDIFF_KEPT_MAX) most = TT_VALUEDIFF_KEPT_MAX;
    if (!w->o->keep_all &&
        (item->verdict == TT_VALUE_EQUAL || item->verdict == TT_VALUE_UNMEASURED))
        return true;
    if (d->n_items == most) {
        d->items_left_out++;
        return true;
    }
    if (!tt_array_one_more(d->items, d->n_items, w->item_capacity)) return false;
    d->items[d->n_items++] = *item;
    return true;
}

/* The inputs of the first divergence; unmeasured ones are replaced by theirs. */
static bool list_inputs(walk *w, const tt_dump_step *s, size_t value,
                        const tt_valuediff_item *results)
{
    tt_valuediff *d = w->d;
    uint32_t queue[TT_DUMP_INPUTS_MAX * 4];
    size_t n = 0;
    d->first_inputs = calloc(sizeof queue / sizeof *queue, sizeof *d->first_inputs);
    if (!d->first_inputs) return false;
    for (uint32_t k = 0; k < s->values[value].n_inputs; k++)
        queue[n++] = s->values[value].inputs[k];
    for (size_t at = 0; at < n; at++) {
        const tt_dump_value *v = &s->values[queue[at]];
        const tt_valuediff_item *r = &results[queue[at]];
        if (r->verdict == TT_VALUE_UNMEASURED && v->n_inputs) {
            for (uint32_t k = 0; k < v->n_inputs; k++) {
                size_t known = 0;
                while (known < n && queue[known] != v->inputs[k])
                    known++;
                if (known == n && n < sizeof queue / sizeof *queue) queue[n++] = v->inputs[k];
            }
            continue;
        }
        const char *name = r->a.present ? r->a.name : r->b.name;
        d->first_inputs[d->n_first_inputs++] = (tt_valuediff_input){
            r->stage, name, r->layer, r->occurrence, r->verdict, r->error.rel_l2};
    }
    return true;
}

static bool note_first(walk *w, const tt_dump_step *s, size_t value, const tt_valuediff_item *item,
                       const tt_valuediff_item *results, const tt_blame_state *cache)
{
    tt_valuediff *d = w->d;
    bool unequal = item->verdict != TT_VALUE_EQUAL && item->verdict != TT_VALUE_UNMEASURED;
    if (unequal && !d->has_first_unequal) {
        d->has_first_unequal = true;
        d->first_unequal = *item;
    }
    bool diverges = tt_value_diverges(item->verdict);
    if (diverges && item->verdict != TT_VALUE_OTHER_BITS && !d->has_first_certain) {
        d->has_first_certain = true;
        d->first_certain = *item;
    }
    if (!diverges || d->has_first) return true;
    d->has_first = true;
    d->first = *item;
    if (value >= s->n) return true;
    d->first_reads_cache = s->values[value].reads_cache;
    d->first_cache_rel_l2 = cache->unknown ? NAN : cache->rel_l2;
    d->first_cache = cache->bad          ? TT_VALUE_DIFFERS
                     : cache->unknown    ? TT_VALUE_UNMEASURED
                     : cache->rel_l2 > 0 ? TT_VALUE_CLOSE
                                         : TT_VALUE_EQUAL;
    return list_inputs(w, s, value, results);
}

/* Compares the pair of values, one of which may be missing; blame comes later. */
static tt_status compare_pair(walk *w, const tt_dump_value *va, const tt_dump_value *vb,
                              tt_valuediff_item *item)
{
    const tt_valuediff_step *s = &w->d->steps[w->pair];
    const tt_dump_value *v = va ? va : vb;
    /* Of products that were paired by their weight, the name that is a stage's. */
    if (va && vb && strcmp(va->stage, vb->stage) != 0 &&
        tt_stages_rank(w->a->stages, va->stage) == UINT32_MAX)
        v = vb;
    *item = (tt_valuediff_item){.pair = (uint32_t)w->pair,
                                .order = w->n_done++,
                                .position = s->position,
                                .layer = v->layer,
                                .stage = tt_texts_keep(w->texts, v->stage),
                                .occurrence = v->occurrence,
                                .verdict = TT_VALUE_UNMEASURED,
                                .error = {.max_abs = NAN,
                                          .worst = TT_VALUE_NONE,
                                          .rel_l2 = NAN,
                                          .cosine = NAN,
                                          .rms_change = NAN},
                                .input_rel_l2 = NAN};
    if (!item->stage || !fill_place(w, w->a, s->a, va, &item->a) ||
        !fill_place(w, w->b, s->b, vb, &item->b))
        return no_memory(w);
    if (!va || !vb) return TT_OK;
    item->other_axes = strcmp(va->basis, vb->basis) != 0;
    if (item->other_axes) {
        if (w->d->other_axes++ > 0) return TT_OK;
        w->d->axes_a = tt_texts_keep(w->texts, va->basis);
        w->d->axes_b = tt_texts_keep(w->texts, vb->basis);
        return w->d->axes_a && w->d->axes_b ? TT_OK : no_memory(w);
    }
    tt_error problem = {.status = TT_OK};
    item->verdict =
        tt_value_compare(w->a, va, w->b, vb, w->o, &item->tolerance, &item->error, &problem);
    if (problem.status == TT_E_MEMORY) return no_memory(w);
    uint32_t na = w->a->steps[s->a].n_tokens, nb = w->b->steps[s->b].n_tokens;
    /* Perhaps of other batches: rows of other tokens. */
    if (item->verdict == TT_VALUE_SHAPE && (!na || !nb)) item->verdict = TT_VALUE_UNMEASURED;
    return TT_OK;
}

/* Ops of one side between a value and the inputs of it that were compared. */
typedef struct path {
    tt_dump_op list[EXTRA_MAX];
    uint32_t n;
    uint32_t ends[EXTRA_MAX]; /* compared values */
    uint32_t n_ends;
    bool more;
} path;

static void add_op(path *p, tt_dump_op op)
{
    if (p->n == EXTRA_MAX)
        p->more = true;
    else
        p->list[p->n++] = op;
}

/* Values without a partner, and with one along other axes, are replaced by their inputs. */
static void follow(const tt_dump_step *s, size_t value, const uint32_t *partner,
                   const tt_dump_step *other, path *p)
{
    uint32_t queue[EXTRA_MAX], n = 0;
    memset(p, 0, sizeof *p);
    queue[n++] = (uint32_t)value;
    for (uint32_t at = 0; at < n; at++) {
        const tt_dump_value *v = &s->values[queue[at]];
        if (at > 0 && !tt_op_only_moves(v->op)) add_op(p, (tt_dump_op){v->op, v->operand});
        for (uint32_t i = 0; i < v->n_between; i++)
            add_op(p, v->between[i]);
        p->more |= v->more_inputs;
        for (uint32_t i = 0; i < v->n_inputs; i++) {
            const uint32_t input = v->inputs[i], with = partner[input];
            uint32_t known = 0;
            while (known < n && queue[known] != input)
                known++;
            if (known < n) continue;
            const bool compared =
                with != TT_NONE && strcmp(s->values[input].basis, other->values[with].basis) == 0;
            if (compared && p->n_ends < EXTRA_MAX)
                p->ends[p->n_ends++] = input;
            else if (!compared && n < EXTRA_MAX)
                queue[n++] = input;
            else
                p->more = true;
        }
    }
}

static bool is_same_op(const tt_dump_op *a, const tt_dump_op *b)
{
    return strcmp(a->op, b->op) == 0 &&
           (a->operand && b->operand ? strcmp(a->operand, b->operand) == 0
                                     : a->operand == b->operand);
}

/* The ops of p that q lacks: "MUL_MAT with attn_inp_k_rot, ADD"; NULL: none. */
static bool name_extra(walk *w, const path *p, const path *q, const char **out)
{
    char text[320] = "";
    bool used[EXTRA_MAX] = {false};
    *out = NULL;
    for (uint32_t i = p->n; i-- > 0;) { /* in the order of execution, nearly */
        const tt_dump_op *op = &p->list[i];
        uint32_t k = 0;
        while (k < q->n && (used[k] || !is_same_op(op, &q->list[k])))
            k++;
        if (k < q->n) {
            used[k] = true;
            continue;
        }
        const size_t at = strlen(text);
        (void)snprintf(text + at, sizeof text - at, "%s%.40s%s%.80s", at ? ", " : "",
                       *op->op ? op->op : "an unknown op", op->operand ? " with " : "",
                       op->operand ? op->operand : "");
    }
    if (!text[0]) return true;
    *out = tt_texts_keep(w->texts, text);
    return *out != NULL;
}

/* Whether an op of p reads a weight, or an input of the graph, that neither q nor the value there
 * does. If none does, one op may do on one side what several do on the other. Each engine has the
 * mask of attention in its own way. */
static bool brings_operand(const path *p, const path *q, const char *own)
{
    for (uint32_t i = 0; i < p->n; i++) {
        const char *operand = p->list[i].operand;
        bool known = !operand || (own && strcmp(operand, own) == 0) ||
                     strcmp(p->list[i].op, "SOFT_MAX") == 0;
        for (uint32_t k = 0; k < q->n && !known; k++)
            known = q->list[k].operand && strcmp(operand, q->list[k].operand) == 0;
        if (!known) return true;
    }
    return false;
}

/* What only one side computes between the value and its compared inputs, if that brings in
 * something else; and the errors of those inputs that it has on the other side. */
static bool find_extra(walk *w, const tt_dump_step *s, size_t value, const tt_dump_step *other,
                       uint32_t with, const uint32_t *partner, const uint32_t *back, bool by_a,
                       tt_valuediff_item *item)
{
    path here, there;
    if (!w->a->has_inputs || !w->b->has_inputs) return true;
    follow(s, value, partner, other, &here);
    follow(other, with, back, s, &there);
    for (uint32_t i = 0; i < there.n_ends; i++) {
        const uint32_t input = back[there.ends[i]];
        if (input < value)
            join(&w->blame.others, &w->blame.states[input]);
        else
            w->blame.others.unknown = true;
    }
    w->blame.others.unknown |= there.more;
    w->blame.brings = brings_operand(&here, &there, other->values[with].operand) ||
                      brings_operand(&there, &here, s->values[value].operand);
    return name_extra(w, &here, &there, by_a ? &item->only_a : &item->only_b) &&
           name_extra(w, &there, &here, by_a ? &item->only_b : &item->only_a);
}

static unsigned own_coarseness(const tt_dump_value *va, const tt_dump_value *vb)
{
    unsigned a = va ? tt_type_coarseness(va->own_type) : 0;
    unsigned b = vb ? tt_type_coarseness(vb->own_type) : 0;
    return a > b ? a : b;
}

static tt_status compare_values(walk *w, tt_valuediff_item *results)
{
    bool by_a = w->a->has_order || !w->b->has_order;
    const tt_dump_step *s = by_a ? &w->step_a : &w->step_b, *other = by_a ? &w->step_b : &w->step_a;
    const uint32_t *partner = by_a ? w->partner_a : w->partner_b;
    const uint32_t *back = by_a ? w->partner_b : w->partner_a;
    double step = w->o->has_tolerance ? w->o->tolerance.rel_l2 : NAN;
    if (!blame_begin(&w->blame, s->n)) return no_memory(w);
    w->blame.blind = !(by_a ? w->a : w->b)->has_inputs;
    w->n_done = 0;
    w->tally.behind = false;
    w->tally.rows_of_step = 0;
    for (size_t i = 0; i < s->n + other->n; i++) {
        tt_valuediff_item loose, *item = i < s->n ? &results[i] : &loose;
        tt_blame_state cache = {0};
        if (i >= s->n && back[i - s->n] != TT_NONE) continue;
        const tt_dump_value *own = i < s->n ? &s->values[i] : NULL;
        const tt_dump_value *others = i >= s->n               ? &other->values[i - s->n]
                                      : partner[i] == TT_NONE ? NULL
                                                              : &other->values[partner[i]];
        const tt_dump_value *va = by_a ? own : others, *vb = by_a ? others : own;
        tt_status status = compare_pair(w, va, vb, item);
        if (status != TT_OK) return status;
        w->blame.others = (tt_blame_state){0};
        w->blame.brings = false;
        if (own && others && !item->other_axes &&
            !find_extra(w, s, i, other, partner[i], partner, back, by_a, item))
            return no_memory(w);
        if (own && !blame_value(&w->blame, s, i, own_coarseness(va, vb), step, item, &cache))
            return no_memory(w);
        if (item->blame != TT_BLAME_EXTRA && item->blame != TT_BLAME_OWN)
            item->only_a = item->only_b = NULL;
        if (!is_wanted(w, item)) continue;
        if (!tt_valuediff_tally_item(w->d, &w->tally, item) || !keep(w, item) ||
            !note_first(w, s, i, item, results, &cache))
            return no_memory(w);
    }
    return TT_OK;
}

static bool is_step_wanted(const walk *w, const tt_valuediff_step *s)
{
    int64_t first = s->position, last = first + (s->n_tokens ? s->n_tokens : 1) - 1;
    if (!w->o->has_steps) return true;
    if (s->position == TT_DUMP_POSITION_UNKNOWN) first = last = s->a != TT_NONE ? s->a : s->b;
    return first <= w->o->step_last && last >= w->o->step_first;
}

static tt_status compare_step(walk *w)
{
    const tt_valuediff_step *s = &w->d->steps[w->pair];
    if (s->pairing != TT_PAIR_BOTH || !is_step_wanted(w, s)) {
        w->blame.cut = true;
        return TT_OK;
    }
    /* If the comparison begins after the text's start, what that left in the cache is unknown. */
    if (w->pair == 0 && s->position != TT_DUMP_POSITION_UNKNOWN && s->position > 0)
        w->blame.cut = true;
    tt_status status = tt_dump_load(w->a, s->a, &w->step_a, w->err);
    if (status == TT_OK) status = tt_dump_load(w->b, s->b, &w->step_b, w->err);
    if (status != TT_OK) return status;
    w->d->incomplete_a += w->step_a.incomplete;
    w->d->incomplete_b += w->step_b.incomplete;
    if (!match_values(w)) return no_memory(w);
    size_t n = w->step_a.n > w->step_b.n ? w->step_a.n : w->step_b.n;
    tt_valuediff_item *results = malloc((n ? n : 1) * sizeof *results);
    if (!results) return no_memory(w);
    status = compare_values(w, results);
    free(results);
    return status;
}

tt_status tt_valuediff_make(tt_dump *a, tt_dump *b, const tt_valuediff_options *options,
                            tt_valuediff **out, tt_error *err)
{
    tt_valuediff *d = calloc(1, sizeof *d);
    walk w = {.d = d, .a = a, .b = b, .o = options, .err = err};
    const uint64_t unreadable_a = a->unreadable, unreadable_b = b->unreadable;
    *out = NULL;
    if (d) d->memory = w.texts = calloc(1, sizeof *w.texts);
    if (!d || !w.texts) {
        free(d);
        return no_memory(&w);
    }
    d->a = a;
    d->b = b;
    d->first_cache_rel_l2 = NAN;
    d->first_cache = TT_VALUE_UNMEASURED;
    bool ok = tt_valuediff_pair_steps(d, options);
    if (ok && a->model && b->model) ok = tt_diff_compare_models(a->model, b->model, &d->models);
    tt_status status = ok ? TT_OK : no_memory(&w);
    for (w.pair = 0; status == TT_OK && w.pair < d->n_steps; w.pair++) {
        status = tt_over_check(&options->over, err);
        if (status == TT_OK) status = compare_step(&w);
        if (options->progress) options->progress(options->context, w.pair + 1, d->n_steps);
    }
    tt_valuediff_tally_end(d);
    d->incomplete_a += a->unreadable - unreadable_a;
    d->incomplete_b += b->unreadable - unreadable_b;
    tt_dump_step_free(&w.step_a);
    tt_dump_step_free(&w.step_b);
    blame_free(&w.blame);
    free(w.order_b);
    free(w.partner_a);
    free(w.partner_b);
    if (status == TT_OK)
        *out = d;
    else
        tt_valuediff_free(d);
    return status;
}

void tt_valuediff_free(tt_valuediff *d)
{
    if (!d) return;
    tt_texts_free(d->memory);
    free(d->memory);
    free(d->steps);
    free(d->items);
    free(d->first_inputs);
    free(d->depth);
    free(d->layers);
    free(d->stages);
    free(d);
}

/* Error over depth, and the rows by layer and by stage. */

/* Pairs the steps of two dumps. */

/* How far to search for a step's partner. */
#define AHEAD_MAX 65536u
#define OVERLAP_AHEAD_MAX 4096u

static bool has_place(const tt_dump_head *h)
{
    return h->position != TT_DUMP_POSITION_UNKNOWN;
}

static bool same_place(const tt_dump_head *a, const tt_dump_head *b)
{
    if (a->no_place || b->no_place) return false;
    if (a->position != b->position || a->sequence != b->sequence) return false;
    return a->n_tokens == b->n_tokens || !a->n_tokens || !b->n_tokens;
}

static bool know_tokens(const tt_dump_head *a, const tt_dump_head *b)
{
    return a->tokens && b->tokens && a->n_tokens == b->n_tokens;
}

/* The first token in which they differ, or n_tokens. Tokens at one position are in the order of the
 * batch. */
static uint32_t first_other_token(const tt_dump_head *a, const tt_dump_head *b)
{
    for (uint32_t i = 0; i < a->n_tokens; i++) {
        if (a->tokens[i] != b->tokens[i]) return i;
        if (a->positions && b->positions && a->positions[i] != b->positions[i]) return i;
    }
    return a->n_tokens;
}

/* The partner of step `a` among B's from `from` on: at the same position, preferably with the same
 * tokens, because a text may be computed several times. */
static uint32_t partner_of(const tt_valuediff *d, const tt_dump_head *a, uint32_t from)
{
    uint32_t other = TT_NONE;
    for (uint32_t i = from; i < d->b->n_steps && i - from < AHEAD_MAX; i++) {
        const tt_dump_head *b = &d->b->steps[i];
        if (!same_place(a, b)) continue;
        if (!know_tokens(a, b) || first_other_token(a, b) == a->n_tokens) return i;
        if (other == TT_NONE) other = i;
    }
    return other;
}

static bool overlap(const tt_dump_head *a, const tt_dump_head *b)
{
    int64_t na = a->n_tokens ? a->n_tokens : 1, nb = b->n_tokens ? b->n_tokens : 1;
    return has_place(a) && has_place(b) && !a->no_place && !b->no_place &&
           a->sequence == b->sequence && a->position < b->position + nb &&
           b->position < a->position + na;
}

static tt_valuediff_step *add(tt_valuediff *d, tt_valuediff_pairing pairing, uint32_t a, uint32_t b)
{
    const tt_dump_head *h = a != TT_NONE ? &d->a->steps[a] : &d->b->steps[b];
    tt_valuediff_step *s = &d->steps[d->n_steps++];
    *s = (tt_valuediff_step){.pairing = pairing,
                             .a = a,
                             .b = b,
                             .sequence = h->sequence,
                             .position = h->position,
                             .n_tokens = h->n_tokens,
                             .worst_rel_l2 = NAN};
    return s;
}

/* Adds a pair; false if its tokens differ, after which nothing is comparable. */
static bool add_pair(tt_valuediff *d, uint32_t ia, uint32_t ib)
{
    const tt_dump_head *a = &d->a->steps[ia], *b = &d->b->steps[ib];
    uint32_t other = know_tokens(a, b) ? first_other_token(a, b) : a->n_tokens;
    if (!know_tokens(a, b)) d->tokens_known = false;
    if (other == a->n_tokens) {
        (void)add(d, TT_PAIR_BOTH, ia, ib);
        return true;
    }
    (void)add(d, TT_PAIR_TOKENS, ia, ib);
    d->stopped = true;
    d->stopped_sequence = a->sequence;
    d->stopped_position = a->positions ? a->positions[other] : TT_DUMP_POSITION_UNKNOWN;
    d->stopped_token_a = a->tokens[other];
    d->stopped_token_b = b->tokens[other];
    return false;
}

static bool counts_differ(const tt_dump_head *a, const tt_dump_head *b)
{
    return a->n_tokens && b->n_tokens && a->n_tokens != b->n_tokens;
}

static void pair_by_order(tt_valuediff *d)
{
    d->by_order = true;
    uint32_t na = (uint32_t)d->a->n_steps, nb = (uint32_t)d->b->n_steps;
    for (uint32_t i = 0; i < na || i < nb; i++) {
        if (i >= na || i >= nb)
            (void)add(d, i < na ? TT_PAIR_ONLY_A : TT_PAIR_ONLY_B, i < na ? i : TT_NONE,
                      i < nb ? i : TT_NONE);
        else if (counts_differ(&d->a->steps[i], &d->b->steps[i])) {
            /* What follows is of other tokens, too. */
            for (; i < na || i < nb; i++) {
                if (i < na) (void)add(d, TT_PAIR_BATCHES, i, TT_NONE);
                if (i < nb) (void)add(d, TT_PAIR_BATCHES, TT_NONE, i);
            }
            return;
        } else if (!add_pair(d, i, i))
            return;
    }
}

/* Marks steps of one side whose tokens the other side has in other batches. */
static void mark_batches(tt_valuediff *d)
{
    for (size_t i = 0; i < d->n_steps; i++) {
        tt_valuediff_step *s = &d->steps[i];
        for (size_t k = i + 1; s->pairing == TT_PAIR_ONLY_A && k < d->n_steps; k++) {
            tt_valuediff_step *o = &d->steps[k];
            if (o->pairing == TT_PAIR_BOTH || k - i > OVERLAP_AHEAD_MAX) break;
            if (o->b != TT_NONE && overlap(&d->a->steps[s->a], &d->b->steps[o->b]))
                s->pairing = TT_PAIR_BATCHES;
        }
    }
    for (size_t i = d->n_steps; i-- > 0;) {
        tt_valuediff_step *s = &d->steps[i];
        for (size_t k = i; s->pairing == TT_PAIR_ONLY_B && k-- > 0;) {
            tt_valuediff_step *o = &d->steps[k];
            if (o->pairing == TT_PAIR_BOTH || i - k > OVERLAP_AHEAD_MAX) break;
            if (o->a != TT_NONE && overlap(&d->a->steps[o->a], &d->b->steps[s->b]))
                s->pairing = TT_PAIR_BATCHES;
        }
    }
}

static void pair_by_place(tt_valuediff *d)
{
    uint32_t next = 0;
    bool alike = true;
    for (uint32_t i = 0; alike && i < d->a->n_steps; i++) {
        uint32_t partner = partner_of(d, &d->a->steps[i], next);
        if (partner == TT_NONE) {
            (void)add(d, TT_PAIR_ONLY_A, i, TT_NONE);
            continue;
        }
        for (; next < partner; next++)
            (void)add(d, TT_PAIR_ONLY_B, TT_NONE, next);
        alike = add_pair(d, i, partner);
        next = partner + 1;
    }
    for (; alike && next < d->b->n_steps; next++)
        (void)add(d, TT_PAIR_ONLY_B, TT_NONE, next);
    mark_batches(d);
}

/* The last position of the trace's first text; TT_DUMP_POSITION_UNKNOWN. */
static int32_t end_of_prompt(const tt_dump *d)
{
    int64_t last = TT_DUMP_POSITION_UNKNOWN;
    for (size_t i = 0; i < d->n_steps && d->steps[i].phase == TT_PHASE_PROMPT; i++) {
        const tt_dump_head *h = &d->steps[i];
        if (!has_place(h) || h->sequence != d->steps[0].sequence) break;
        if (i > 0 && h->position != last + 1) break; /* another text, or a warm-up before */
        last = (int64_t)h->position + (h->n_tokens ? h->n_tokens : 1) - 1;
    }
    return last > INT32_MAX ? TT_DUMP_POSITION_UNKNOWN : (int32_t)last;
}

/* Records of unknown position get that of the end of the other side's prompt, where their writer
 * stopped; none if that is unknown. */
static void place_records(tt_dump *d, const tt_dump *other)
{
    if (d->places != TT_PLACES_UNKNOWN || other->places == TT_PLACES_UNKNOWN) return;
    int32_t last = other->model ? end_of_prompt(other) : TT_DUMP_POSITION_UNKNOWN;
    if (!other->model && other->n_steps == 1) return; /* one against one */
    for (size_t i = 0; i < d->n_steps; i++) {
        d->steps[i].no_place = last == TT_DUMP_POSITION_UNKNOWN;
        if (!d->steps[i].no_place) d->steps[i].position = last;
    }
}

bool tt_valuediff_pair_steps(tt_valuediff *d, const tt_valuediff_options *o)
{
    bool places = true;
    if (!o->by_order) {
        place_records(d->a, d->b);
        place_records(d->b, d->a);
    }
    size_t most = d->a->n_steps + d->b->n_steps;
    d->steps = calloc(most ? most : 1, sizeof *d->steps);
    if (!d->steps) return false;
    for (size_t i = 0; i < d->a->n_steps; i++)
        places = places && has_place(&d->a->steps[i]);
    for (size_t i = 0; i < d->b->n_steps; i++)
        places = places && has_place(&d->b->steps[i]);
    d->tokens_known = true;
    if (places && !o->by_order)
        pair_by_place(d);
    else
        pair_by_order(d);
    return true;
}

/* Networks have some hundred layers and stages; further ones in a damaged trace are counted, but
 * are not in the rows. */
#define ROWS_MAX 4096u
#define DEPTH_MAX ((size_t)1 << 20)

/* The error in rows and plots: without mere lower bounds. */
static double shown_error(const tt_valuediff_item *i)
{
    return i->verdict == TT_VALUE_OTHER_BITS ? NAN : i->error.rel_l2;
}

static bool put_depth(tt_valuediff *d, tt_valuediff_tally *t, const tt_valuediff_item *i,
                      bool behind)
{
    tt_valuediff_depth *row = NULL;
    /* Its layer is near the end of the list, because a layer's nodes are consecutive. */
    for (size_t k = d->n_depth; !row && k-- > 0 && d->depth[k].pair == i->pair;) {
        if (d->depth[k].layer == i->layer && d->depth[k].behind == behind) row = &d->depth[k];
    }
    if (!row) {
        if (d->n_depth == DEPTH_MAX || t->rows_of_step == ROWS_MAX) return true;
        t->rows_of_step++;
        if (!tt_array_one_more(d->depth, d->n_depth, t->depth_capacity)) return false;
        row = &d->depth[d->n_depth++];
        *row = (tt_valuediff_depth){
            .pair = i->pair, .layer = i->layer, .behind = behind, .rel_l2 = NAN, .cosine_gap = NAN};
    }
    row->counts[i->verdict]++;
    if (!isnan(shown_error(i)) && !(row->rel_l2 >= shown_error(i))) {
        row->rel_l2 = shown_error(i);
        row->stage = i->stage;
    }
    row->cosine_gap = tt_larger(row->cosine_gap, tt_cosine_gap(i->error.cosine));
    return true;
}

static void put(tt_valuediff_row *r, const tt_valuediff_item *i)
{
    r->counts[i->verdict]++;
    if (!isnan(shown_error(i)) && !(r->rel_l2 >= shown_error(i))) {
        r->rel_l2 = shown_error(i);
        r->worst_pair = i->pair;
    }
    r->max_abs = tt_larger(r->max_abs, i->error.max_abs);
    r->cosine_gap = tt_larger(r->cosine_gap, tt_cosine_gap(i->error.cosine));
}

static tt_valuediff_row *new_row(tt_valuediff_row **rows, size_t *n, size_t *capacity)
{
    if (!tt_array_one_more(*rows, *n, *capacity)) return NULL;
    tt_valuediff_row *r = &(*rows)[(*n)++];
    *r = (tt_valuediff_row){.layer = TT_STAGE_LAYER_UNKNOWN,
                            .rel_l2 = NAN,
                            .max_abs = NAN,
                            .cosine_gap = NAN,
                            .worst_pair = TT_NONE};
    return r;
}

static bool put_layer(tt_valuediff *d, tt_valuediff_tally *t, const tt_valuediff_item *i,
                      bool behind)
{
    for (size_t k = 0; k < d->n_layers; k++) {
        if (d->layers[k].layer != i->layer || d->layers[k].behind != behind) continue;
        put(&d->layers[k], i);
        return true;
    }
    if (d->n_layers == ROWS_MAX) return true;
    tt_valuediff_row *r = new_row(&d->layers, &d->n_layers, &t->layer_capacity);
    if (!r) return false;
    r->layer = i->layer;
    r->behind = behind;
    put(r, i);
    return true;
}

bool tt_valuediff_tally_item(tt_valuediff *d, tt_valuediff_tally *t, const tt_valuediff_item *i)
{
    bool behind = i->layer < 0 && t->behind;
    if (i->layer >= 0) t->behind = true;
    d->counts[i->verdict]++;
    d->steps[i->pair].counts[i->verdict]++;
    d->steps[i->pair].worst_rel_l2 = tt_larger(d->steps[i->pair].worst_rel_l2, shown_error(i));
    if (i->verdict != TT_VALUE_UNMEASURED) d->compared++;
    if (!put_depth(d, t, i, behind) || !put_layer(d, t, i, behind)) return false;
    for (size_t k = 0; k < d->n_stages; k++) {
        if (d->stages[k].stage != i->stage) continue; /* each text is stored once */
        put(&d->stages[k], i);
        return true;
    }
    if (d->n_stages == ROWS_MAX) return true;
    tt_valuediff_row *r = new_row(&d->stages, &d->n_stages, &t->stage_capacity);
    if (!r) return false;
    r->stage = i->stage;
    put(r, i);
    return true;
}

/* Before the layers, the layers, after all of them, logits. */
static int place_of(int32_t layer, bool behind)
{
    if (layer >= 0) return 1;
    return !behind ? 0 : layer == TT_STAGE_LAYER_AFTER_ALL ? 2 : 3;
}

static int by_layer(const void *left, const void *right)
{
    const tt_valuediff_row *a = left, *b = right;
    int pa = place_of(a->layer, a->behind), pb = place_of(b->layer, b->behind);
    if (pa != pb) return pa < pb ? -1 : 1;
    return a->layer < b->layer ? -1 : a->layer > b->layer;
}

static int by_depth(const void *left, const void *right)
{
    const tt_valuediff_depth *a = left, *b = right;
    if (a->pair != b->pair) return a->pair < b->pair ? -1 : 1;
    int pa = place_of(a->layer, a->behind), pb = place_of(b->layer, b->behind);
    if (pa != pb) return pa < pb ? -1 : 1;
    return a->layer < b->layer ? -1 : a->layer > b->layer;
}

void tt_valuediff_tally_end(tt_valuediff *d)
{
    if (d->n_layers) qsort(d->layers, d->n_layers, sizeof *d->layers, by_layer);
    if (d->n_depth) qsort(d->depth, d->n_depth, sizeof *d->depth, by_depth);
}
