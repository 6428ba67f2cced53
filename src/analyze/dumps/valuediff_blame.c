#include "analyze/dumps/valuediff_blame.h"

#include "analyze/dumps/valuediff_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CACHES_MAX 4096u

bool tt_blame_begin(tt_blame *b, size_t n)
{
    if (n <= b->n_states) return true;
    tt_blame_state *more = realloc(b->states, n * sizeof *more);
    if (!more) return false;
    b->states = more;
    b->n_states = n;
    return true;
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

/* What those before it may have left in the cache that a value reads: the worst that it was
 * computed from until now, as keys and values are among that. */
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

/* An error without a size counts as any. */
static double size_of(const tt_valuediff_item *item)
{
    if (item->verdict == TT_VALUE_EQUAL) return 0;
    if (item->verdict == TT_VALUE_NAN || item->verdict == TT_VALUE_SHAPE) return INFINITY;
    return isnan(item->error.rel_l2) ? INFINITY : item->error.rel_l2;
}

/* Whether a value is elements of its inputs, moved: its op makes no error, but may pick those that
 * have the most. */
static bool is_moved(const tt_dump_value *v, const tt_blame_state *from)
{
    return v->n_inputs && tt_op_only_moves(v->op) && !v->ops_between && !from->computes;
}

static tt_value_blame judge(const tt_valuediff_item *item, const tt_dump_value *v,
                            const tt_blame_state *from)
{
    double size = size_of(item);
    bool sized = item->verdict != TT_VALUE_OTHER_BITS;
    if (item->verdict == TT_VALUE_EQUAL || item->verdict == TT_VALUE_UNMEASURED)
        return TT_BLAME_NONE;
    if (isinf(from->rel_l2)) return TT_BLAME_INHERITED;
    /* Of an error of unknown size only this is known: from the same inputs, it is made here. */
    if (!sized && !from->bad && (from->close || from->rel_l2 > 0)) return TT_BLAME_UNKNOWN;
    /* Of an error without a size (an order, a choice of experts): the least change before it can
     * have made it. */
    if (item->error.basis == TT_BASIS_HASH && from->rel_l2 > 0) return TT_BLAME_INHERITED;
    bool moves = is_moved(v, from),
         larger = !moves && sized && size > TT_VALUEDIFF_OWN * from->rel_l2;
    if (from->bad && !larger) return TT_BLAME_INHERITED;
    if (from->unknown || (from->weak && (larger || from->rel_l2 == 0))) return TT_BLAME_UNKNOWN;
    /* Of inputs that are close, 0 is only what the elements that are known show. */
    if (from->close && moves) return TT_BLAME_INHERITED;
    return from->rel_l2 == 0 || larger ? TT_BLAME_OWN : TT_BLAME_INHERITED;
}

bool tt_blame_value(tt_blame *b, const tt_dump_step *s, size_t i, unsigned coarseness,
                    double rel_l2, tt_valuediff_item *item, tt_blame_state *cache)
{
    const tt_dump_value *v = &s->values[i];
    tt_blame_state from = of_inputs(b, v, i);
    *cache = (tt_blame_state){0};
    if (v->reads_cache) {
        if (!of_cache(b, item, &from, cache)) return false;
        join(&from, cache);
    }
    if (coarseness > from.coarseness) from.coarseness = coarseness;
    tt_tolerance step = tt_tolerance_of_step(from.coarseness);
    if (!isnan(rel_l2)) step.rel_l2 = rel_l2;
    item->blame = judge(item, v, &from);
    item->input_rel_l2 = from.unknown ? NAN : from.rel_l2;
    if (item->verdict == TT_VALUE_CLOSE && item->blame == TT_BLAME_OWN &&
        item->error.rel_l2 > step.rel_l2) {
        item->verdict = TT_VALUE_DIFFERS;
        item->jump = true;
        item->tolerance = step;
    }
    tt_blame_state *own = &b->states[i];
    if (item->verdict == TT_VALUE_UNMEASURED) {
        *own = from; /* those that read it are looked through to what it was computed from */
        own->computes |= v->ops_between || !tt_op_only_moves(v->op);
        if (!v->n_inputs) own->unknown = true;
        return true;
    }
    if (item->verdict == TT_VALUE_OTHER_BITS) {
        *own = (tt_blame_state){.unknown = true}; /* it may be of any size */
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

void tt_blame_free(tt_blame *b)
{
    free(b->states);
    free(b->caches);
    memset(b, 0, sizeof *b);
}
