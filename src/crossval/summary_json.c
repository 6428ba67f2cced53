/* summary.json, and the columns of the list of scenarios; docs/crossval.md has the keys. */
#include "analyze/dumps/valuediff_columns.h"
#include "crossval/summary.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define FORMAT_VERSION 1

#define TEXT(key_, title_, about_, ...)                                                            \
    TT_COLUMN(key_, title_, NONE, about_, .type = TT_CELL_NAME, __VA_ARGS__)
#define MEMBER(type, key_, about_, member_, ...)                                                   \
    TT_FIELD(key_, about_, TT_MEMBER(type, member_), __VA_ARGS__)

/* --- parts of a row --- */

#define BAND(type, in, prefix, band, key_, title_, show_)                                          \
    TT_COLUMN(prefix key_, title_, COUNT, "values with that cosine",                               \
              TT_MEMBER(type, in counts[TT_BAND_##band]), .show = (show_))
#define BANDS(type, in, prefix, show)                                                              \
    BAND(type, in, prefix, 9999, "ge_0_9999", ">= 0.9999", show),                                  \
        BAND(type, in, prefix, 999, "ge_0_999", ">= 0.999", show),                                 \
        BAND(type, in, prefix, 99, "ge_0_99", ">= 0.99", show),                                    \
        BAND(type, in, prefix, 9, "ge_0_9", ">= 0.9", show),                                       \
        BAND(type, in, prefix, BELOW, "below_0_9", "BELOW", show),                                 \
        BAND(type, in, prefix, NAN, "nan", "NAN", show),                                           \
        BAND(type, in, prefix, UNKNOWN, "unknown", "UNKNOWN", show)

static const tt_column bands_columns[] = {BANDS(tt_cosine_bands, , "", 0)};
static const tt_schema bands_schema = TT_SCHEMA("cosine_bands", "values by cosine", bands_columns);

TT_COLUMN_KNOWN(position_known, tt_crossval_first, f, f->position != TT_DUMP_POSITION_UNKNOWN)
TT_COLUMN_KNOWN(layer_known, tt_crossval_first, f, f->layer != TT_STAGE_LAYER_UNKNOWN)
TT_COLUMN_GET(get_verdict, tt_crossval_first, f,
              tt_cell_text(cell, tt_value_verdict_name(f->verdict));)
TT_COLUMN_GET(get_blame, tt_crossval_first, f, tt_cell_text(cell, tt_value_blame_name(f->blame));)

static const tt_column first_columns[] = {
    MEMBER(tt_crossval_first, "position", "of the token", position, .known = position_known),
    MEMBER(tt_crossval_first, "layer", "negative: outside the layers", layer, .known = layer_known),
    TT_FIELD("stage", "of the layer", TT_MEMBER_CHARS(tt_crossval_first, stage)),
    TT_FIELD("name_a", "of the value on side a", TT_MEMBER_CHARS(tt_crossval_first, name_a)),
    TT_FIELD("name_b", "of the value on side b", TT_MEMBER_CHARS(tt_crossval_first, name_b)),
    TEXT("verdict", NULL, "of the comparison", .get = get_verdict),
    TEXT("blame", NULL, "where it is made", .get = get_blame),
    MEMBER(tt_crossval_first, "rel_l2", "relative error", rel_l2),
    MEMBER(tt_crossval_first, "max_abs", "largest difference", max_abs),
    MEMBER(tt_crossval_first, "cosine", "between the sides", cosine),
};
static const tt_schema first_schema = TT_SCHEMA("first_divergence", "a value", first_columns);

#define OF_SCENARIO 1u
#define OF_ALL 2u

TT_COLUMN_VALUE(get_share, tt_agreement, a, f64, (double)a->n_same / (double)a->n_compared)
TT_COLUMN_KNOWN(has_other, tt_agreement, a, a->n_same < a->n_compared)

static const tt_column agreement_columns[] = {
    MEMBER(tt_agreement, "n_compared", "tokens", n_compared),
    MEMBER(tt_agreement, "n_same", "chosen by both sides", n_same),
    TT_FIELD("share", "of these", .type = TT_CELL_F64, .get = get_share),
    MEMBER(tt_agreement, "first_other", "number of the first other token", first_other,
           .known = has_other, .kinds = OF_SCENARIO),
};
static const tt_schema agreement_schema =
    TT_SCHEMA("token_agreement", "tokens that the sides would choose", agreement_columns);

static tt_rowset agreement_of(const tt_agreement *a, uint8_t kind)
{
    return TT_ROWSET(&agreement_schema, kind, NULL, a, a->n_compared > 0);
}

/* --- scenarios --- */

static void show_agreement(const tt_agreement *a, char *out, size_t room)
{
    if (a->n_compared)
        (void)snprintf(out, room, "%" PRIu64 " of %" PRIu64, a->n_same, a->n_compared);
    else
        (void)snprintf(out, room, "not measured");
}

static void show_divergence(const tt_crossval_first *f, char *out, size_t room)
{
    char position[32] = "", layer[32] = "", verdict[64] = "", error[48] = "";
    if (f->position != TT_DUMP_POSITION_UNKNOWN)
        (void)snprintf(position, sizeof position, "position %" PRId32 ", ", f->position);
    if (f->layer >= 0) (void)snprintf(layer, sizeof layer, "layer %" PRId32 ", ", f->layer);
    if (f->verdict == TT_VALUE_OTHER_BITS)
        (void)snprintf(verdict, sizeof verdict, ", other bits by an amount that is not known");
    else if (f->verdict != TT_VALUE_DIFFERS)
        (void)snprintf(verdict, sizeof verdict, " (%s)", tt_value_verdict_name(f->verdict));
    if (!isnan(f->rel_l2)) (void)snprintf(error, sizeof error, ", relative error %.3g", f->rel_l2);
    (void)snprintf(out, room, "%s%s%s%s%s%s", position, layer, f->stage, verdict, error,
                   f->blame == TT_BLAME_OWN         ? ", made there"
                   : f->blame == TT_BLAME_INHERITED ? ", inherited"
                                                    : "");
}

TT_COLUMN_GET(get_state, tt_crossval_end, e, tt_cell_text(cell, tt_scenario_state_name(e->state));)
TT_COLUMN_SHOW(show_state, tt_crossval_end, e,
               (void)snprintf(out, room, "%s",
                              e->state == TT_SCENARIO_NOT_TRIED    ? "not tried"
                              : e->state == TT_SCENARIO_UNMEASURED ? "not measured"
                              : e->state == TT_SCENARIO_FAILED     ? "FAILED"
                                                               : tt_scenario_state_name(e->state));)
TT_COLUMN_GET(
    get_side, tt_crossval_end, e, if (e->failed_side) {
        cell->room[0] = e->failed_side;
        cell->room[1] = '\0';
        tt_cell_text(cell, cell->room);
    })
TT_COLUMN_KNOWN(a_was_run, tt_crossval_end, e, e->duration_ns[0] > 0)
TT_COLUMN_KNOWN(b_was_run, tt_crossval_end, e, e->duration_ns[1] > 0)
TT_COLUMN_SHOW(show_steps, tt_crossval_end, e,
               int n = snprintf(out, room, "%" PRIu64, e->n_steps_compared);
               if (e->n_steps_alone)(void)
                   snprintf(out + n, room - (size_t)n, " (%" PRIu64 " not measured)",
                            e->n_steps_alone);)
TT_COLUMN_JSON(put_values, tt_crossval_end, e, tt_valuediff_json_counts(j, e->counts);)
TT_COLUMN_SHOW(show_worst, tt_crossval_end, e,
               (void)snprintf(out, room, isnan(e->worst_rel_l2) ? "-" : "%.3g", e->worst_rel_l2);)
TT_COLUMN_GET(get_agreement, tt_crossval_end, e,
              show_agreement(&e->agreement, cell->room, sizeof cell->room);
              tt_cell_text(cell, cell->room);)
TT_COLUMN_ROWSET(agreement, tt_crossval_end, e, agreement_of(&e->agreement, OF_SCENARIO))
TT_COLUMN_GET(
    get_divergence, tt_crossval_end, e, if (e->first.known) {
        show_divergence(&e->first, cell->room, sizeof cell->room);
        tt_cell_text(cell, cell->room);
    })
TT_COLUMN_ROWS(first, tt_crossval_end, e, &e->first, e->first.known)

#define COUNT_OF(verdict, key_, title_, about_)                                                    \
    TT_COLUMN(key_, title_, COUNT, about_, TT_MEMBER(tt_crossval_end, counts[TT_VALUE_##verdict]), \
              .show = TT_SHOW_FLAT)

static const tt_column scenario_columns[] = {
    TT_COLUMN("name", "SCENARIO", NONE, "its name", TT_MEMBER(tt_crossval_end, name),
              .show = TT_SHOW_CUT | TT_SHOW_KEY),
    TEXT("state", "RESULT", "matched, diverged, unmeasured, failed or not_tried", .get = get_state,
         .text = show_state),
    TEXT("failed_side", NULL, "a or b; null: no side failed", .nullable = true, .get = get_side),
    TT_FIELD("cause", "why it failed or is unmeasured", .nullable = true,
             TT_MEMBER_CHARS(tt_crossval_end, cause)),
    MEMBER(tt_crossval_end, "n_prompt_tokens", "tokens fed to both sides", n_prompt),
    MEMBER(tt_crossval_end, "n_generated_tokens", "tokens chosen", n_generated),
    TT_COLUMN("duration_a_ns", NULL, NS, "of the program of side a; null: not run",
              .nullable = true, .known = a_was_run, TT_MEMBER(tt_crossval_end, duration_ns[0])),
    TT_COLUMN("duration_b_ns", NULL, NS, "of the program of side b; null: not run",
              .nullable = true, .known = b_was_run, TT_MEMBER(tt_crossval_end, duration_ns[1])),
    TT_COLUMN("n_steps_compared", "BATCHES", COUNT, "batches that both sides have",
              TT_MEMBER(tt_crossval_end, n_steps_compared), .text = show_steps),
    MEMBER(tt_crossval_end, "n_steps_alone", "batches that are not compared", n_steps_alone),
    TT_FIELD("values", "numbers of values by verdict", .type = TT_CELL_OBJECT, .json = put_values),
    COUNT_OF(EQUAL, "equal", "EQUAL", "values with equal bits"),
    COUNT_OF(CLOSE, "close", "CLOSE", "values within their tolerance"),
    COUNT_OF(OTHER_BITS, "other_bits", "OTHER BITS", "values that differ by an unknown amount"),
    COUNT_OF(DIFFERS, "differs", "DIFFER", "values beyond their tolerance"),
    COUNT_OF(NAN, "nan", "NAN", "values with a NaN on one side"),
    COUNT_OF(SHAPE, "shape", "SHAPE", "values of other shapes"),
    TT_COLUMN("unmeasured", "NOT MEASURED", COUNT, "values that could not be compared",
              TT_MEMBER(tt_crossval_end, counts[TT_VALUE_UNMEASURED]), .show = TT_SHOW_FLAT),
    TT_COLUMN("worst_rel_l2", "WORST RELATIVE ERROR", NONE, "the largest relative error",
              .nullable = true, TT_MEMBER(tt_crossval_end, worst_rel_l2), .text = show_worst),
    TT_FIELD("cosine_bands", "values by cosine",
             TT_MEMBER_OBJECT(tt_crossval_end, bands, &bands_schema)),
    BANDS(tt_crossval_end, bands., "cosine_", TT_SHOW_FLAT | TT_SHOW_ASKED),
    TEXT("tokens_alike", "TOKENS ALIKE", "tokens that the sides would have chosen alike",
         .get = get_agreement, .show = TT_SHOW_FLAT),
    TEXT("first", "FIRST DIVERGENCE", "the first value that diverges", .nullable = true,
         .get = get_divergence, .show = TT_SHOW_FLAT | TT_SHOW_WRAP | TT_SHOW_DASH),
    TT_FIELD("first_divergence", "the first value that diverges", .type = TT_CELL_OBJECT,
             .inner = &first_schema, .rows = first),
    TT_FIELD("token_agreement", "tokens that the sides would have chosen", .type = TT_CELL_OBJECT,
             .inner = &agreement_schema, .rows = agreement),
};
const tt_schema tt_crossval_scenario_schema =
    TT_SCHEMA("scenarios", "a scenario of a sweep", scenario_columns);

tt_rowset tt_crossval_scenarios(const tt_crossval_summary *s)
{
    return TT_ROWSET(&tt_crossval_scenario_schema, 0, s, s->ends, s->n);
}

/* --- summary.json --- */

static void number(tt_json *j, const char *key, double v)
{
    tt_json_kv_double_or_null(j, key, !isnan(v), v);
}

/* null if a side's choices are unknown. */
static void put_agreement(tt_json *j, const tt_agreement *a)
{
    const tt_rowset set = agreement_of(a, OF_ALL);
    tt_json_key(j, "token_agreement");
    if (a->n_compared == 0) {
        tt_json_null(j);
        return;
    }
    tt_json_object(j);
    tt_rowset_json(j, &set, a);
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
    tt_row_json(j, "cosine_bands", &bands_schema, NULL, &t.bands);
    put_agreement(j, &t.agreement);
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
    const tt_rowset scenarios = tt_crossval_scenarios(s);
    tt_rowset_json_rows(&j, "scenarios", &scenarios, NULL);
    put_next(&j, s);
    tt_json_object_end(&j);
    return tt_json_end(&j);
}
