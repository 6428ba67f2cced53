/* The course of each domain's tokens: transitions between experts, and how their use changes. */
#include "analyze/domains.h"

#include <math.h>
#include <stdlib.h>

/* n counts, zero; NULL beyond the limit, which is noted, or if out of memory. */
static uint64_t *counts_new(tt_domains *d, uint64_t n, bool *ok)
{
    const uint64_t bytes = n * sizeof(uint64_t);
    if (bytes > TT_DOMAINS_COURSE_MAX - d->course_bytes) {
        d->course_left_out = true;
        return NULL;
    }
    uint64_t *counts = calloc(n, sizeof *counts);
    d->course_bytes += counts ? bytes : 0;
    *ok = *ok && counts;
    return counts;
}

/* NULL if out of memory. */
static tt_domain_course *course_of(tt_domain_layer *layer, size_t domain)
{
    if (!layer->courses) layer->courses = calloc(TT_DOMAINS_MAX, sizeof *layer->courses);
    return layer->courses ? &layer->courses[domain] : NULL;
}

bool tt_domain_course_add(tt_domains *d, size_t domain, const tt_routers *run)
{
    size_t n;
    const tt_router_layer *layers = tt_routers_layers(run, &n);
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++) {
        const uint64_t *followed, *from = tt_router_transitions(layers[i].router, &followed);
        const size_t experts = layers[i].n_experts, all = experts * experts;
        tt_domain_course *course = course_of(&d->layers[i], domain);
        if (!course) return false;
        if (!from) {
            d->course_left_out = true;
            continue;
        }
        if (!course->transitions) {
            course->transitions = counts_new(d, all, &ok);
            course->followed = course->transitions ? counts_new(d, experts, &ok) : NULL;
        }
        if (!course->transitions || !course->followed) continue;
        for (size_t k = 0; k < all; k++)
            course->transitions[k] += from[k];
        for (size_t k = 0; k < experts; k++)
            course->followed[k] += followed[k];
    }
    return ok;
}

/* An interval may lack some layers; those that it has are in the same order. */
static tt_domain_layer *find_layer(tt_domains *d, const tt_router_layer *layer, size_t *from)
{
    for (size_t i = *from; i < d->n_layers; i++)
        if (d->layers[i].layer_id == layer->layer_id &&
            d->layers[i].n_experts == layer->n_experts) {
            *from = i + 1;
            return &d->layers[i];
        }
    return NULL;
}

bool tt_domain_course_add_interval(tt_domains *d, size_t domain, size_t interval,
                                   const tt_routers *part)
{
    size_t n, from = 0;
    const tt_router_layer *layers = tt_routers_layers(part, &n);
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++) {
        tt_domain_layer *layer = find_layer(d, &layers[i], &from);
        tt_domain_course *course = layer ? course_of(layer, domain) : NULL;
        uint32_t experts;
        tt_router_sum sum;
        const tt_expert_use *uses = tt_router_uses(layers[i].router, &experts);
        if (!layer) continue;
        if (!course) return false;
        if (!course->uses)
            course->uses = counts_new(d, (uint64_t)TT_DOMAINS_INTERVALS * experts, &ok);
        if (!course->uses) continue;
        tt_router_sum_up(layers[i].router, &sum);
        course->tokens[interval] += sum.tokens;
        for (uint32_t e = 0; e < experts; e++)
            course->uses[interval * experts + e] += uses[e].count;
    }
    return ok;
}

void tt_domain_course_free(tt_domain_layer *layer)
{
    for (size_t k = 0; layer->courses && k < TT_DOMAINS_MAX; k++) {
        free(layer->courses[k].transitions);
        free(layer->courses[k].followed);
        free(layer->courses[k].uses);
    }
    free(layer->courses);
    layer->courses = NULL;
}

/* --- as rows --- */

bool tt_domain_steps(const tt_domains *d, size_t layer, size_t domain, tt_expert_step **list,
                     size_t *n)
{
    const tt_domain_layer *l = &d->layers[layer];
    const tt_domain_course *course = l->courses ? &l->courses[domain] : NULL;
    const size_t experts = l->n_experts;
    size_t count = 0;
    *n = 0;
    *list = NULL;
    if (!course || !course->followed) return true;
    for (size_t i = 0; i < experts * experts; i++)
        count += course->transitions[i] > 0;
    *list = calloc(count + 1, sizeof **list);
    for (size_t i = 0; *list && i < experts * experts; i++) {
        const size_t from = i / experts, to = i % experts;
        if (course->transitions[i] == 0) continue;
        tt_expert_step *step = &(*list)[(*n)++];
        *step = tt_expert_step_of(course->transitions[i], course->followed[from],
                                  l->counts[domain * experts + to], l->tokens[domain]);
        step->domain = d->domains[domain].name;
        step->layer_id = l->layer_id;
        step->expert_id = (uint32_t)from;
        step->next_expert_id = (uint32_t)to;
    }
    return *list;
}

bool tt_domain_spans(const tt_domains *d, size_t layer, size_t domain, tt_expert_span **list,
                     size_t *n)
{
    const tt_domain_layer *l = &d->layers[layer];
    const tt_domain_course *course = l->courses ? &l->courses[domain] : NULL;
    const size_t experts = l->n_experts;
    *n = 0;
    *list = NULL;
    if (!course || !course->uses) return true;
    *list = calloc(TT_DOMAINS_INTERVALS * experts, sizeof **list);
    for (uint32_t s = 0; *list && s < TT_DOMAINS_INTERVALS; s++) {
        const uint64_t *uses = course->uses + s * experts;
        uint64_t choices = 0;
        for (size_t e = 0; e < experts; e++)
            choices += uses[e];
        if (course->tokens[s] == 0) continue; /* runs with fewer batches than intervals */
        for (size_t e = 0; e < experts; e++)
            (*list)[(*n)++] =
                (tt_expert_span){.domain = d->domains[domain].name,
                                 .layer_id = l->layer_id,
                                 .expert_id = (uint32_t)e,
                                 .interval = s,
                                 .tokens = course->tokens[s],
                                 .count = uses[e],
                                 .share = choices ? (double)uses[e] / (double)choices : NAN};
    }
    return *list;
}
