#include "answer/valuediff.h"

static void position(tt_json *j, int32_t v)
{
    tt_json_key(j, "position");
    if (v == TT_DUMP_POSITION_UNKNOWN)
        tt_json_null(j);
    else
        tt_json_i64(j, v);
}

static void rows(tt_json *j, const char *key, const tt_rowset set)
{
    tt_rowset_json_rows(j, key, &set, NULL);
}

static void item(tt_json *j, const char *key, bool there, const tt_valuediff *d,
                 const tt_valuediff_item *i, void (*more)(tt_json *j, const tt_valuediff *d))
{
    const tt_rowset set = tt_valuediff_items(d, i, 1);
    tt_json_key(j, key);
    if (!there) {
        tt_json_null(j);
        return;
    }
    tt_json_object(j);
    tt_rowset_json(j, &set, i);
    if (more) more(j, d);
    tt_json_object_end(j);
}

static void first_inputs(tt_json *j, const tt_valuediff *d)
{
    rows(j, "inputs", tt_valuediff_inputs(d->first_inputs, d->n_first_inputs));
    tt_json_kv_string(j, "cache",
                      d->first_reads_cache ? tt_value_verdict_name(d->first_cache) : NULL);
    tt_json_kv_double(j, "cache_rel_l2", d->first_cache_rel_l2);
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
    tt_json_kv_string(j, "text", tt_valuediff_text(d, text));
    tt_json_kv_u64(j, "compared", d->compared);
    tt_json_key(j, "counts");
    tt_valuediff_json_counts(j, d->counts);
    tt_json_kv_bool(j, "tokens_known", d->tokens_known);
    tt_json_kv_bool(j, "by_order", d->by_order);
    tt_json_kv_u64(j, "incomplete_a", d->incomplete_a);
    tt_json_kv_u64(j, "incomplete_b", d->incomplete_b);
    stopped(j, d);
    item(j, "first", d->has_first, d, &d->first, first_inputs);
    item(j, "first_certain", d->has_first_certain, d, &d->first_certain, NULL);
    item(j, "first_unequal", d->has_first_unequal, d, &d->first_unequal, NULL);
    rows(j, "steps", tt_valuediff_steps(d));
    rows(j, "depth", tt_valuediff_depths(d));
    rows(j, "layers", tt_valuediff_rows(d, false));
    rows(j, "stages", tt_valuediff_rows(d, true));
    rows(j, "items", tt_valuediff_items(d, d->items, d->n_items));
    tt_json_kv_u64(j, "items_left_out", d->items_left_out);
    tt_json_key(j, "notes");
    tt_json_array(j);
    for (unsigned i = 0; i < TT_VALUEDIFF_NOTES; i++) {
        if (tt_valuediff_note(d, i, text)) tt_json_string(j, text);
    }
    tt_json_array_end(j);
    tt_json_object_end(j);
}
