/* summary.json; docs/crossval.md has its keys. */
#include "crossval/summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT_VERSION 1

static void number(tt_json *j, const char *key, double v)
{
    tt_json_kv_double_or_null(j, key, !isnan(v), v);
}

static void put_layer(tt_json *j, int32_t layer)
{
    tt_json_kv_i64_or_null(j, "layer", layer != TT_STAGE_LAYER_UNKNOWN, layer);
}

static void put_first(tt_json *j, const tt_crossval_first *f)
{
    tt_json_key(j, "first_divergence");
    if (!f->known) {
        tt_json_null(j);
        return;
    }
    tt_json_object(j);
    tt_json_kv_i64_or_null(j, "position", f->position != TT_DUMP_POSITION_UNKNOWN, f->position);
    put_layer(j, f->layer);
    tt_json_kv_text_or_null(j, "stage", f->stage);
    tt_json_kv_text_or_null(j, "name_a", f->name_a);
    tt_json_kv_text_or_null(j, "name_b", f->name_b);
    tt_json_kv_text_or_null(j, "verdict", tt_value_verdict_name(f->verdict));
    tt_json_kv_text_or_null(j, "blame", tt_value_blame_name(f->blame));
    number(j, "rel_l2", f->rel_l2);
    number(j, "max_abs", f->max_abs);
    number(j, "cosine", f->cosine);
    tt_json_object_end(j);
}

static void put_bands(tt_json *j, const tt_cosine_bands *bands)
{
    tt_json_key(j, "cosine_bands");
    tt_json_object(j);
    for (size_t i = 0; i < TT_COSINE_BANDS; i++)
        tt_json_kv_u64(j, tt_cosine_band_name((tt_cosine_band)i), bands->counts[i]);
    tt_json_object_end(j);
}

/* null if a side's choices are unknown. */
static void put_agreement(tt_json *j, const tt_agreement *a, bool is_total)
{
    bool known = a->n_compared > 0;
    tt_json_key(j, "token_agreement");
    if (!known) {
        tt_json_null(j);
        return;
    }
    tt_json_object(j);
    tt_json_kv_u64(j, "n_compared", a->n_compared);
    tt_json_kv_u64(j, "n_same", a->n_same);
    tt_json_kv_double(j, "share", (double)a->n_same / (double)a->n_compared);
    if (!is_total)
        tt_json_kv_u64_or_null(j, "first_other", a->n_same < a->n_compared, a->first_other);
    tt_json_object_end(j);
}

static void put_end(tt_json *j, const tt_crossval_end *end)
{
    char side[2] = {end->failed_side, '\0'};
    tt_json_object(j);
    tt_json_kv_string(j, "name", end->name);
    tt_json_kv_string(j, "state", tt_scenario_state_name(end->state));
    tt_json_kv_text_or_null(j, "failed_side", side);
    tt_json_kv_text_or_null(j, "cause", end->cause);
    tt_json_kv_u64(j, "n_prompt_tokens", end->n_prompt);
    tt_json_kv_u64(j, "n_generated_tokens", end->n_generated);
    tt_json_kv_u64_or_null(j, "duration_a_ns", end->duration_ns[0] > 0, end->duration_ns[0]);
    tt_json_kv_u64_or_null(j, "duration_b_ns", end->duration_ns[1] > 0, end->duration_ns[1]);
    tt_json_kv_u64(j, "n_steps_compared", end->n_steps_compared);
    tt_json_kv_u64(j, "n_steps_alone", end->n_steps_alone);
    tt_json_key(j, "values");
    tt_json_object(j);
    for (size_t i = 0; i < TT_VALUE_VERDICTS; i++)
        tt_json_kv_u64(j, tt_value_verdict_name((tt_value_verdict)i), end->counts[i]);
    tt_json_object_end(j);
    number(j, "worst_rel_l2", end->worst_rel_l2);
    put_bands(j, &end->bands);
    put_first(j, &end->first);
    put_agreement(j, &end->agreement, false);
    tt_json_object_end(j);
}

static void put_side(tt_json *j, const char *key, const tt_crossval_side *side,
                     const tt_crossval_about *about)
{
    tt_json_key(j, key);
    tt_json_object(j);
    tt_json_kv_string(j, "kind", tt_side_kind_name(side->kind));
    tt_json_kv_text_or_null(j, "about", about->text);
    tt_json_kv_text_or_null(j, "release", about->release);
    tt_json_kv_text_or_null(j, "engine", side->engine);
    tt_json_kv_text_or_null(j, "model", side->model);
    tt_json_kv_text_or_null(j, "trace", side->trace);
    if (side->n_command) {
        tt_json_key(j, "command");
        tt_json_array(j);
        for (size_t i = 0; i < side->n_command; i++)
            tt_json_string(j, side->command[i]);
        tt_json_array_end(j);
        tt_json_kv_string(j, "records", tt_side_records_name(side->records));
    }
    tt_json_object_end(j);
}

static void put_tolerance(tt_json *j, const tt_crossval_settings *s)
{
    tt_json_kv_bool(j, "exact", s->exact);
    tt_json_key(j, "tolerance");
    if (!s->has_tolerance) {
        tt_json_null(j);
        return;
    }
    tt_json_object(j);
    number(j, "rel_l2", s->rel_l2);
    number(j, "cosine", s->cosine);
    number(j, "max_abs", s->max_abs);
    tt_json_object_end(j);
}

static void put_totals(tt_json *j, const tt_crossval_summary *s)
{
    tt_crossval_totals t = tt_crossval_totals_of(s);
    tt_json_kv_u64(j, "n_scenarios", s->n);
    tt_json_kv_u64(j, "n_matched", t.n[TT_SCENARIO_MATCHED]);
    tt_json_kv_u64(j, "n_diverged", t.n[TT_SCENARIO_DIVERGED]);
    tt_json_kv_u64(j, "n_unmeasured", t.n[TT_SCENARIO_UNMEASURED]);
    tt_json_kv_u64(j, "n_failed", t.n[TT_SCENARIO_FAILED]);
    tt_json_kv_u64(j, "n_not_tried", t.n[TT_SCENARIO_NOT_TRIED]);
    tt_json_kv_bool(j, "interrupted", s->interrupted);
    tt_json_kv_string(j, "most_frequent_first_stage", t.stage);
    tt_json_kv_u64(j, "most_frequent_first_stage_scenarios", t.n_stage);
    put_bands(j, &t.bands);
    put_agreement(j, &t.agreement, true);
}

static void put_next(tt_json *j, const tt_crossval_summary *s)
{
    tt_crossval_advice advice;
    tt_json_key(j, "next");
    tt_json_array(j);
    for (int rule = 0; rule < TT_RULE_NONE; rule++) {
        if (!tt_crossval_next(s, (tt_crossval_rule)rule, &advice)) continue;
        tt_json_object(j);
        tt_json_kv_string(j, "reason", advice.reason);
        tt_json_kv_string(j, "command", advice.command);
        tt_json_object_end(j);
        free(advice.text);
    }
    tt_json_array_end(j);
}

bool tt_crossval_summary_json(const tt_crossval_summary *s, FILE *out)
{
    tt_json j;
    tt_json_begin(&j, out, 2);
    tt_json_object(&j);
    tt_json_kv_u64(&j, "crossval_format", FORMAT_VERSION);
    tt_json_kv_string(&j, "tensortrace_version", s->version);
    tt_json_kv_string(&j, "timestamp_start", s->timestamp_start);
    tt_json_kv_u64(&j, "duration_ns", s->duration_ns);
    tt_json_kv_string(&j, "settings_file", s->settings_file);
    tt_json_kv_string(&j, "values", s->settings->values);
    put_tolerance(&j, s->settings);
    tt_json_key(&j, "sides");
    tt_json_object(&j);
    put_side(&j, "a", &s->settings->sides[0], &s->sides[0]);
    put_side(&j, "b", &s->settings->sides[1], &s->sides[1]);
    tt_json_object_end(&j);
    put_totals(&j, s);
    tt_json_key(&j, "scenarios");
    tt_json_array(&j);
    for (size_t i = 0; i < s->n; i++)
        put_end(&j, &s->ends[i]);
    tt_json_array_end(&j);
    put_next(&j, s);
    tt_json_object_end(&j);
    return tt_json_end(&j);
}
