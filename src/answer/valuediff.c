#include "answer/valuediff.h"

#include <math.h>

static void number(tt_json *j, const char *key, double v)
{
    tt_json_kv_double(j, key, v); /* NAN and infinities: null */
}

static void index_or_null(tt_json *j, const char *key, uint32_t v)
{
    tt_json_kv_u64_or_null(j, key, v != TT_NONE, v);
}

static void position(tt_json *j, int32_t v)
{
    tt_json_key(j, "position");
    if (v == TT_DUMP_POSITION_UNKNOWN)
        tt_json_null(j);
    else
        tt_json_i64(j, v);
}

static void layer(tt_json *j, int32_t v)
{
    tt_json_key(j, "layer");
    if (v == TT_STAGE_LAYER_UNKNOWN)
        tt_json_null(j);
    else
        tt_json_i64(j, v);
}

static void counts(tt_json *j, const uint64_t list[TT_VALUE_VERDICTS])
{
    tt_json_key(j, "counts");
    tt_json_object(j);
    for (unsigned v = 0; v < TT_VALUE_VERDICTS; v++)
        tt_json_kv_u64(j, tt_value_verdict_name(v), list[v]);
    tt_json_object_end(j);
}

static void place(tt_json *j, const char *key, const tt_valuediff_place *p)
{
    tt_json_key(j, key);
    if (!p->present) {
        tt_json_null(j);
        return;
    }
    tt_json_object(j);
    tt_json_kv_string(j, "name", p->name);
    tt_json_kv_string(j, "op", *p->op ? p->op : NULL);
    tt_json_kv_string(j, "type", *p->type ? p->type : NULL);
    tt_json_kv_string(j, "weight", p->weight);
    tt_json_kv_u64(j, "step", p->step);
    index_or_null(j, "token", p->token);
    index_or_null(j, "run", p->run);
    index_or_null(j, "node", p->node);
    tt_json_key(j, "ne");
    tt_json_array(j);
    for (uint32_t i = 0; i < p->n_dims && i < 8; i++)
        tt_json_u64(j, p->ne[i]);
    tt_json_array_end(j);
    tt_json_kv_u64(j, "elements", p->n);
    tt_json_kv_u64_or_null(j, "nan", p->has_counts, p->n_nan);
    tt_json_kv_u64_or_null(j, "inf", p->has_counts, p->n_inf);
    tt_json_kv_double_or_null(j, "rms", p->has_rms, p->rms);
    tt_json_object_end(j);
}

static void error(tt_json *j, const tt_value_error *e)
{
    tt_json_kv_string(j, "basis", tt_value_basis_name(e->basis));
    tt_json_kv_u64(j, "elements_compared", e->n_compared);
    number(j, "rel_l2", e->rel_l2);
    tt_json_kv_bool(j, "rel_l2_at_least", e->at_least);
    /* JSON has no infinity. */
    tt_json_kv_bool(j, "rel_l2_infinite", isinf(e->rel_l2));
    number(j, "cosine", e->cosine);
    number(j, "max_abs", e->max_abs);
    bool worst = e->worst != TT_VALUE_NONE;
    tt_json_kv_u64_or_null(j, "worst_index", worst, e->worst);
    tt_json_kv_double_or_null(j, "worst_a", worst, (double)e->worst_a);
    tt_json_kv_double_or_null(j, "worst_b", worst, (double)e->worst_b);
    number(j, "rms_change", e->rms_change);
}

static void item_fields(tt_json *j, const tt_valuediff_item *i)
{
    tt_json_kv_u64(j, "pair", i->pair);
    tt_json_kv_u64(j, "order", i->order);
    position(j, i->position);
    layer(j, i->layer);
    tt_json_kv_string(j, "stage", i->stage);
    tt_json_kv_u64(j, "occurrence", i->occurrence);
    tt_json_kv_string(j, "verdict", tt_value_verdict_name(i->verdict));
    tt_json_kv_string(j, "blame", tt_value_blame_name(i->blame));
    tt_json_kv_bool(j, "jump", i->jump);
    error(j, &i->error);
    number(j, "input_rel_l2", i->input_rel_l2);
    number(j, "tolerance_rel_l2", i->tolerance.rel_l2);
    number(j, "tolerance_cosine", i->tolerance.cosine);
    number(j, "tolerance_max_abs", i->tolerance.max_abs);
    place(j, "a", &i->a);
    place(j, "b", &i->b);
}

static void item(tt_json *j, const char *key, bool there, const tt_valuediff_item *i)
{
    if (key) tt_json_key(j, key);
    if (!there) {
        tt_json_null(j);
        return;
    }
    tt_json_object(j);
    item_fields(j, i);
    tt_json_object_end(j);
}

static void first(tt_json *j, const tt_valuediff *d)
{
    tt_json_key(j, "first");
    if (!d->has_first) {
        tt_json_null(j);
        return;
    }
    tt_json_object(j);
    item_fields(j, &d->first);
    tt_json_key(j, "inputs");
    tt_json_array(j);
    for (size_t i = 0; i < d->n_first_inputs; i++) {
        const tt_valuediff_input *in = &d->first_inputs[i];
        tt_json_object(j);
        layer(j, in->layer);
        tt_json_kv_string(j, "stage", in->stage);
        tt_json_kv_u64(j, "occurrence", in->occurrence);
        tt_json_kv_string(j, "name", in->name);
        tt_json_kv_string(j, "verdict", tt_value_verdict_name(in->verdict));
        number(j, "rel_l2", in->rel_l2);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
    tt_json_kv_string(j, "cache",
                      d->first_reads_cache ? tt_value_verdict_name(d->first_cache) : NULL);
    number(j, "cache_rel_l2", d->first_cache_rel_l2);
    tt_json_object_end(j);
}

static void steps(tt_json *j, const tt_valuediff *d)
{
    tt_json_key(j, "steps");
    tt_json_array(j);
    for (size_t i = 0; i < d->n_steps; i++) {
        const tt_valuediff_step *s = &d->steps[i];
        tt_json_object(j);
        tt_json_kv_string(j, "pairing", tt_valuediff_pairing_name(s->pairing));
        index_or_null(j, "a", s->a);
        index_or_null(j, "b", s->b);
        index_or_null(j, "token_a", s->a == TT_NONE ? TT_NONE : d->a->steps[s->a].token);
        index_or_null(j, "token_b", s->b == TT_NONE ? TT_NONE : d->b->steps[s->b].token);
        tt_json_kv_i64(j, "sequence", s->sequence);
        position(j, s->position);
        tt_json_kv_u64_or_null(j, "n_tokens", s->n_tokens > 0, s->n_tokens);
        counts(j, s->counts);
        number(j, "rel_l2", s->worst_rel_l2);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
}

static void depth(tt_json *j, const tt_valuediff *d)
{
    tt_json_key(j, "depth");
    tt_json_array(j);
    for (size_t i = 0; i < d->n_depth; i++) {
        const tt_valuediff_depth *r = &d->depth[i];
        tt_json_object(j);
        tt_json_kv_u64(j, "pair", r->pair);
        layer(j, r->layer);
        tt_json_kv_bool(j, "behind", r->behind);
        counts(j, r->counts);
        number(j, "rel_l2", r->rel_l2);
        number(j, "cosine_gap", r->cosine_gap);
        tt_json_kv_string(j, "stage", r->stage);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
}

static void rows(tt_json *j, const char *key, const tt_valuediff_row *list, size_t n)
{
    tt_json_key(j, key);
    tt_json_array(j);
    for (size_t i = 0; i < n; i++) {
        const tt_valuediff_row *r = &list[i];
        tt_json_object(j);
        if (r->stage) {
            tt_json_kv_string(j, "stage", r->stage);
        } else {
            layer(j, r->layer);
            tt_json_kv_bool(j, "behind", r->behind);
        }
        counts(j, r->counts);
        number(j, "rel_l2", r->rel_l2);
        number(j, "cosine_gap", r->cosine_gap);
        number(j, "max_abs", r->max_abs);
        index_or_null(j, "worst_pair", r->worst_pair);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
}

static void stopped(tt_json *j, const tt_valuediff *d)
{
    tt_json_key(j, "not_comparable_from");
    if (!d->stopped) {
        tt_json_null(j);
        return;
    }
    tt_json_object(j);
    tt_json_kv_i64(j, "sequence", d->stopped_sequence);
    position(j, d->stopped_position);
    tt_json_kv_i64(j, "token_id_a", d->stopped_token_a);
    tt_json_kv_i64(j, "token_id_b", d->stopped_token_b);
    tt_json_object_end(j);
}

void tt_valuediff_json(tt_json *j, const tt_valuediff *d, const char *const paths[2])
{
    char text[TT_VALUEDIFF_SENTENCE];
    tt_json_object(j);
    tt_json_kv_string(j, "a", paths[0]);
    tt_json_kv_string(j, "b", paths[1]);
    tt_json_kv_string(j, "verdict", tt_valuediff_outcome_name(tt_valuediff_outcome_of(d)));
    tt_json_kv_string(j, "text", tt_valuediff_say(d, text));
    tt_json_kv_u64(j, "compared", d->compared);
    counts(j, d->counts);
    tt_json_kv_bool(j, "tokens_known", d->tokens_known);
    tt_json_kv_bool(j, "by_order", d->by_order);
    tt_json_kv_u64(j, "incomplete_a", d->incomplete_a);
    tt_json_kv_u64(j, "incomplete_b", d->incomplete_b);
    stopped(j, d);
    first(j, d);
    item(j, "first_certain", d->has_first_certain, &d->first_certain);
    item(j, "first_unequal", d->has_first_unequal, &d->first_unequal);
    steps(j, d);
    depth(j, d);
    rows(j, "layers", d->layers, d->n_layers);
    rows(j, "stages", d->stages, d->n_stages);
    tt_json_key(j, "items");
    tt_json_array(j);
    for (size_t i = 0; i < d->n_items; i++)
        item(j, NULL, true, &d->items[i]);
    tt_json_array_end(j);
    tt_json_kv_u64(j, "items_left_out", d->items_left_out);
    tt_json_key(j, "notes");
    tt_json_array(j);
    for (unsigned i = 0; i < TT_VALUEDIFF_NOTES; i++) {
        if (tt_valuediff_note(d, i, text)) tt_json_string(j, text);
    }
    tt_json_array_end(j);
    tt_json_object_end(j);
}
