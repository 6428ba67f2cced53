#include "analyze/expert_steps.h"

#include "base/array.h"

#include <math.h>
#include <stdlib.h>

/* --- from token to token --- */

tt_expert_step tt_expert_step_of(uint64_t count, uint64_t followed, uint64_t uses, uint64_t tokens)
{
    const double share = (double)count / (double)followed;
    const double chance = (double)uses / (double)tokens;
    return (tt_expert_step){
        .count = count, .followed = followed, .share = share, .lift = share / chance};
}

static bool add_steps(const tt_router_layer *layer, tt_expert_step **list, size_t *n, size_t *room)
{
    const uint64_t *followed, *counts = tt_router_transitions(layer->router, &followed);
    uint32_t experts;
    tt_router_sum sum;
    const tt_expert_use *uses = tt_router_uses(layer->router, &experts);
    tt_router_sum_up(layer->router, &sum);
    for (size_t i = 0; counts && i < (size_t)experts * experts; i++) {
        const uint32_t from = (uint32_t)(i / experts), to = (uint32_t)(i % experts);
        if (counts[i] == 0) continue;
        if (!tt_array_one_more(*list, *n, *room)) return false;
        tt_expert_step *step = &(*list)[(*n)++];
        *step = tt_expert_step_of(counts[i], followed[from], uses[to].count, sum.tokens);
        step->layer_id = layer->layer_id;
        step->expert_id = from;
        step->next_expert_id = to;
    }
    return true;
}

tt_status tt_expert_steps_make(const tt_routers *r, tt_expert_step **out, size_t *n, tt_error *err)
{
    size_t n_layers, room = 0;
    const tt_router_layer *layers = tt_routers_layers(r, &n_layers);
    bool ok = true;
    *out = NULL;
    *n = 0;
    for (size_t i = 0; ok && i < n_layers; i++)
        ok = add_steps(&layers[i], out, n, &room);
    if (ok) return TT_OK;
    free(*out);
    *out = NULL;
    return tt_error_memory(err, "the experts");
}

/* --- over a run --- */

static bool add_spans(const tt_routers *r, int32_t layer, uint32_t first, uint32_t last,
                      tt_expert_span **list, size_t *n, size_t *room)
{
    size_t n_layers;
    const tt_router_layer *layers = tt_routers_layers(r, &n_layers);
    for (size_t i = 0; i < n_layers; i++) {
        uint32_t experts;
        tt_router_sum sum;
        const tt_expert_use *uses = tt_router_uses(layers[i].router, &experts);
        if (!tt_layer_passes(layer, layers[i].layer_id)) continue;
        tt_router_sum_up(layers[i].router, &sum);
        for (uint32_t e = 0; e < experts; e++) {
            if (!tt_array_one_more(*list, *n, *room)) return false;
            (*list)[(*n)++] = (tt_expert_span){
                .layer_id = layers[i].layer_id,
                .expert_id = e,
                .first_batch_id = first,
                .last_batch_id = last,
                .tokens = sum.tokens,
                .count = uses[e].count,
                .share = sum.choices ? (double)uses[e].count / (double)sum.choices : NAN};
        }
    }
    return true;
}

typedef struct batches {
    uint32_t first;
    uint64_t n;
} batches;

static batches batches_of(const tt_model *m, const tt_filter *filter)
{
    const uint32_t first = m->n_batches ? tt_model_batch_number(m, 0) : 0;
    const uint32_t last = m->n_batches ? tt_model_batch_number(m, m->n_batches - 1) : 0;
    const uint32_t from =
        filter->has_batch && filter->batch_first > first ? filter->batch_first : first;
    const uint32_t to = filter->has_batch && filter->batch_last < last ? filter->batch_last : last;
    return (batches){from, m->n_batches && to >= from ? (uint64_t)to - from + 1 : 0};
}

bool tt_expert_interval(const tt_model *m, const tt_filter *filter, uint32_t parts, uint32_t i,
                        tt_filter *out)
{
    const batches all = batches_of(m, filter);
    const uint64_t first = i * all.n / parts, end = (i + 1ull) * all.n / parts;
    *out = *filter;
    out->has_batch = true;
    out->batch_first = all.first + (uint32_t)first;
    out->batch_last = all.first + (uint32_t)end - 1;
    return end > first;
}

tt_status tt_expert_spans_make(const tt_model *m, const tt_filter *filter, uint32_t parts,
                               tt_expert_span **out, size_t *n, tt_error *err)
{
    const uint64_t all = batches_of(m, filter).n;
    tt_status status = TT_OK;
    tt_filter part;
    size_t room = 0;
    *out = NULL;
    *n = 0;
    if (parts > all) parts = (uint32_t)all;
    for (uint32_t i = 0; status == TT_OK && i < parts; i++) {
        if (!tt_expert_interval(m, filter, parts, i, &part)) continue;
        tt_routers *r = tt_routers_new(m, &part, TT_PHASE_PROMPT);
        status = r ? tt_routers_walk(r, NULL, NULL, err) : tt_error_memory(err, "the experts");
        if (status == TT_OK &&
            !add_spans(r, filter->layer, part.batch_first, part.batch_last, out, n, &room))
            status = tt_error_memory(err, "the experts");
        tt_routers_free(r);
    }
    if (status == TT_OK) return TT_OK;
    free(*out);
    *out = NULL;
    return status;
}

/* --- columns --- */

static const tt_column step_columns[] = {
    TT_COLUMN("domain", "DOMAIN", NONE, "of the tokens", .kinds = TT_EXPERTS_OF_DOMAINS,
              TT_MEMBER(tt_expert_step, domain)),
    TT_COLUMN("layer_id", "LAYER", ID, "the layer", TT_LAYER,
              TT_LAYER_AT(tt_expert_step, layer_id)),
    TT_STACK(TT_LAYER_AT(tt_expert_step, layer_id)),
    TT_COLUMN("expert_id", "EXPERT", ID, "expert that a token chose",
              TT_MEMBER(tt_expert_step, expert_id)),
    TT_COLUMN("next_expert_id", "NEXT", ID, "expert that the next token of its sequence chose",
              TT_MEMBER(tt_expert_step, next_expert_id)),
    TT_COLUMN("count", "COUNT", COUNT, "number of such pairs", TT_MEMBER(tt_expert_step, count)),
    TT_COLUMN("followed", "OF", COUNT, "tokens that chose EXPERT and have a next one",
              TT_MEMBER(tt_expert_step, followed)),
    TT_COLUMN("share", "SHARE", SHARE, "P(next | expert)", TT_MEMBER(tt_expert_step, share)),
    TT_COLUMN("lift", "LIFT", FIGURE, "share, divided by the share of all tokens that chose NEXT",
              TT_MEMBER(tt_expert_step, lift)),
};
const tt_schema tt_expert_step_schema =
    TT_SCHEMA("transitions", "an expert after an expert", step_columns);

static const tt_column span_columns[] = {
    TT_COLUMN("domain", "DOMAIN", NONE, "of the tokens", .kinds = TT_EXPERTS_OF_DOMAINS,
              TT_MEMBER(tt_expert_span, domain)),
    TT_COLUMN("layer_id", "LAYER", ID, "the layer", TT_LAYER,
              TT_LAYER_AT(tt_expert_span, layer_id)),
    TT_STACK(TT_LAYER_AT(tt_expert_span, layer_id)),
    TT_COLUMN("expert_id", "EXPERT", ID, "its number in the layer",
              TT_MEMBER(tt_expert_span, expert_id)),
    TT_COLUMN("stretch", "STRETCH", ID, "of the domain's runs: 0 to 15",
              .kinds = TT_EXPERTS_OF_DOMAINS, TT_MEMBER(tt_expert_span, interval)),
    TT_COLUMN("first_batch_id", "FROM BATCH", ID, "the first batch", .kinds = TT_EXPERTS_OF_TRACE,
              TT_MEMBER(tt_expert_span, first_batch_id)),
    TT_COLUMN("last_batch_id", "TO BATCH", ID, "the last batch", .kinds = TT_EXPERTS_OF_TRACE,
              TT_MEMBER(tt_expert_span, last_batch_id)),
    TT_COLUMN("n_tokens", "TOKENS", COUNT, "tokens routed in these batches",
              TT_MEMBER(tt_expert_span, tokens)),
    TT_COLUMN("count", "COUNT", COUNT, "tokens that chose the expert",
              TT_MEMBER(tt_expert_span, count)),
    TT_COLUMN("share", "SHARE", SHARE, "share of the choices in these batches", .nullable = true,
              TT_MEMBER(tt_expert_span, share)),
};
const tt_schema tt_expert_span_schema =
    TT_SCHEMA("experts over time", "an expert in some batches", span_columns);
