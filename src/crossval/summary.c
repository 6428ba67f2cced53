#include "crossval/summary.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const char *tt_scenario_state_name(tt_scenario_state state)
{
    static const char *const names[] = {"not_tried", "matched", "diverged", "unmeasured", "failed"};
    return names[state];
}

static void copy_first(tt_crossval_first *out, const tt_valuediff_item *item)
{
    out->known = true;
    out->position = item->position;
    out->layer = item->layer;
    (void)snprintf(out->stage, sizeof out->stage, "%s", item->stage ? item->stage : "");
    (void)snprintf(out->name_a, sizeof out->name_a, "%s", item->a.name ? item->a.name : "");
    (void)snprintf(out->name_b, sizeof out->name_b, "%s", item->b.name ? item->b.name : "");
    out->verdict = item->verdict;
    out->blame = item->blame;
    out->rel_l2 = item->verdict == TT_VALUE_OTHER_BITS ? NAN : item->error.rel_l2;
    out->max_abs = item->error.max_abs;
    out->cosine = item->error.cosine;
}

/* Why there is nothing to compare. */
static void write_unmeasured(tt_crossval_end *end, const tt_valuediff *d)
{
    size_t paired = 0, batches = 0;
    end->lacks_values[0] = d->a->n_steps == 0;
    end->lacks_values[1] = d->b->n_steps == 0;
    for (size_t i = 0; i < d->n_steps; i++) {
        paired += d->steps[i].pairing == TT_PAIR_BOTH;
        batches += d->steps[i].pairing == TT_PAIR_BATCHES;
    }
    const char *why =
        d->a->n_steps == 0 && d->b->n_steps == 0 ? "neither side has values"
        : d->a->n_steps == 0                     ? "side a has no values"
        : d->b->n_steps == 0                     ? "side b has no values"
        : paired                                 ? "the sides have no value in common"
        : batches ? "the sides computed the tokens in other batches (batch_tokens, ubatch_tokens)"
                  : "the sides have no step in common";
    (void)snprintf(end->cause, sizeof end->cause, "%s", why);
}

static double worst_of(const tt_valuediff *d)
{
    double worst = NAN;
    for (size_t i = 0; i < d->n_steps; i++)
        if (isnan(worst) || d->steps[i].worst_rel_l2 > worst) worst = d->steps[i].worst_rel_l2;
    return worst;
}

void tt_crossval_evaluate(tt_crossval_end *end, const tt_valuediff *d)
{
    memcpy(end->counts, d->counts, sizeof end->counts);
    end->bands = tt_cosine_bands_of(d);
    end->worst_rel_l2 = worst_of(d);
    for (size_t i = 0; i < d->n_steps; i++)
        ++*(d->steps[i].pairing == TT_PAIR_BOTH ? &end->n_steps_compared : &end->n_steps_alone);
    if (d->has_first) copy_first(&end->first, &d->first);
    if (end->state == TT_SCENARIO_FAILED) return;
    if (d->stopped) {
        /* Both should have got the same input: the result is not what was requested. */
        end->state = TT_SCENARIO_FAILED;
        (void)snprintf(end->cause, sizeof end->cause,
                       "the sides were fed different tokens: not comparable from position %" PRId32
                       " on (%" PRId32 " and %" PRId32 ")",
                       d->stopped_position, d->stopped_token_a, d->stopped_token_b);
        return;
    }
    if (d->compared == 0) {
        end->state = TT_SCENARIO_UNMEASURED;
        write_unmeasured(end, d);
        return;
    }
    end->state = tt_value_diverging(d->counts) ? TT_SCENARIO_DIVERGED : TT_SCENARIO_MATCHED;
}

/* How many scenarios diverge first at this one's stage. */
static uint64_t like(const tt_crossval_summary *s, size_t number)
{
    uint64_t n = 0;
    for (size_t i = 0; i < s->n; i++)
        n += s->ends[i].first.known &&
             strcmp(s->ends[i].first.stage, s->ends[number].first.stage) == 0;
    return n;
}

tt_crossval_totals tt_crossval_totals_of(const tt_crossval_summary *s)
{
    tt_crossval_totals t = {.stage = NULL};
    for (size_t i = 0; i < s->n; i++) {
        const tt_crossval_end *end = &s->ends[i];
        t.n[end->state]++;
        for (size_t k = 0; k < TT_COSINE_BANDS; k++)
            t.bands.counts[k] += end->bands.counts[k];
        t.agreement.n_compared += end->agreement.n_compared;
        t.agreement.n_same += end->agreement.n_same;
        uint64_t n = end->first.known ? like(s, i) : 0;
        if (n <= t.n_stage) continue;
        t.n_stage = n;
        t.stage = end->first.stage;
    }
    return t;
}
