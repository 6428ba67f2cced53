#include "crossval/settings.h"

#include "crossval/parse.h"
#include "value/select.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_OUTPUT "crossval"
#define DEFAULT_VALUES "hash"
#define TOKENS_MAX (1 << 20)
#define TIMEOUT_MAX_S (30 * 24 * 3600)

enum { WHOLE_SCENARIOS, WHOLE_SIDES, WHOLE_TOLERANCE, WHOLE_MODEL, WHOLE_VALUES, WHOLE_STAGES };
enum { WHOLE_EXACT = WHOLE_STAGES + 1, WHOLE_TIMEOUT, WHOLE_OUTPUT, WHOLE_KEYS };
static const tt_key whole_keys[WHOLE_KEYS] = {
    [WHOLE_SCENARIOS] = {"", "scenarios", TT_KEY_OTHER, 0, 0, NULL, true},
    [WHOLE_SIDES] = {"", "sides", TT_KEY_OTHER, 0, 0, NULL, true},
    [WHOLE_TOLERANCE] = {"", "tolerance", TT_KEY_OTHER, 0, 0, NULL, false},
    [WHOLE_MODEL] = {"", "model", TT_KEY_PATH, 0, 0, NULL, false},
    [WHOLE_VALUES] = {"", "values", TT_KEY_TEXT, 0, 0, NULL, false},
    [WHOLE_STAGES] = {"", "stages", TT_KEY_PATH, 0, 0, NULL, false},
    [WHOLE_EXACT] = {"", "exact", TT_KEY_BOOL, 0, 0, NULL, false},
    [WHOLE_TIMEOUT] = {"", "timeout_s", TT_KEY_INTEGER, 1, TIMEOUT_MAX_S, NULL, false},
    [WHOLE_OUTPUT] = {"", "output", TT_KEY_PATH, 0, 0, NULL, false},
};

enum { SCENARIO_NAME, SCENARIO_PROMPT, SCENARIO_FILE, SCENARIO_IDS, SCENARIO_FORCE };
enum { SCENARIO_TOKENS = SCENARIO_FORCE + 1, SCENARIO_KEYS };
static const tt_key scenario_keys[SCENARIO_KEYS] = {
    [SCENARIO_NAME] = {"scenarios", "name", TT_KEY_TEXT, 0, 0, NULL, true},
    [SCENARIO_PROMPT] = {"scenarios", "prompt", TT_KEY_TEXT, 0, 0, NULL, false},
    [SCENARIO_FILE] = {"scenarios", "prompt_file", TT_KEY_PATH, 0, 0, NULL, false},
    [SCENARIO_IDS] = {"scenarios", "token_ids", TT_KEY_OTHER, 0, 0, NULL, false},
    [SCENARIO_FORCE] = {"scenarios", "force_ids", TT_KEY_OTHER, 0, 0, NULL, false},
    [SCENARIO_TOKENS] = {"scenarios", "tokens", TT_KEY_INTEGER, 0, TOKENS_MAX, NULL, false},
};

enum { TOLERANCE_REL_L2, TOLERANCE_COSINE, TOLERANCE_MAX_ABS, TOLERANCE_KEYS };
static const tt_key tolerance_keys[TOLERANCE_KEYS] = {
    [TOLERANCE_REL_L2] = {"tolerance", "rel_l2", TT_KEY_NUMBER, 0, INT32_MAX, NULL, false},
    [TOLERANCE_COSINE] = {"tolerance", "cosine", TT_KEY_NUMBER, -1, 1, NULL, false},
    [TOLERANCE_MAX_ABS] = {"tolerance", "max_abs", TT_KEY_NUMBER, 0, INT32_MAX, NULL, false},
};

/* --- objects --- */

void tt_cv_diagnose(tt_cv_reading *r, const char *shown, const char *key, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    tt_diagnose(r->reader.diagnostics, "%s%s%s: %s", shown, shown[0] && key ? "." : "",
                key ? key : "", text);
}

bool tt_cv_object_read(tt_cv_reading *r, const tt_key *keys, size_t n, json_t *v, tt_cv_object *o)
{
    const char *name;
    json_t *value;
    if (!json_is_object(v)) {
        tt_cv_diagnose(r, o->shown, NULL, "an object is expected, not %s", tt_json_type_name(v));
        return false;
    }
    json_object_foreach(v, name, value)
    {
        size_t i = 0;
        while (i < n && strcmp(keys[i].key, name) != 0)
            i++;
        if (i == n) {
            tt_reader_unknown(&r->reader, keys, n, keys[0].section, o->shown, name);
            continue;
        }
        tt_key key = keys[i];
        key.section = o->shown;
        o->raw[i] = value;
        o->has[i] =
            key.type == TT_KEY_OTHER || tt_reader_value(&r->reader, &key, value, &o->values[i]);
    }
    for (size_t i = 0; i < n; i++)
        if (keys[i].required && !o->raw[i])
            tt_diagnose(r->reader.diagnostics, "%s%s%s is missing", o->shown,
                        o->shown[0] ? "." : "", keys[i].key);
    return true;
}

static const char *text_or(const tt_cv_object *o, size_t key, const char *otherwise)
{
    return o->has[key] ? o->values[key].text : otherwise;
}

static double number_or_nan(const tt_cv_object *o, size_t key)
{
    return o->has[key] ? o->values[key].number : NAN;
}

/* --- scenarios --- */

static void read_ids(tt_cv_reading *r, const tt_cv_object *o, size_t key, tt_id_list *out)
{
    const json_t *v = o->raw[key];
    const char *name = scenario_keys[key].key;
    size_t n = json_array_size(v);
    if (!v) return;
    if (!json_is_array(v) || n == 0 || n > TT_CROSSVAL_IDS_MAX) {
        tt_cv_diagnose(r, o->shown, name, "an array of 1 to %zu token ids is expected, not %s",
                       TT_CROSSVAL_IDS_MAX,
                       json_is_array(v) ? "one of this length" : tt_json_type_name(v));
        return;
    }
    out->ids = calloc(n, sizeof *out->ids);
    if (!out->ids) {
        r->reader.no_memory = true;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        json_int_t id = json_integer_value(json_array_get(v, i));
        if (!json_is_integer(json_array_get(v, i)) || id < 0 || id > INT32_MAX) {
            tt_cv_diagnose(r, o->shown, name, "a token id (0 to 2147483647) is expected at [%zu]",
                           i);
            return;
        }
        out->ids[i] = (int32_t)id;
    }
    out->n = n;
}

static bool has_engine(const tt_cv_reading *r)
{
    return r->s->sides[0].kind == TT_SIDE_ENGINE || r->s->sides[1].kind == TT_SIDE_ENGINE;
}

static void read_scenario(tt_cv_reading *r, json_t *v, tt_cv_object *o, tt_crossval_scenario *out)
{
    if (!tt_cv_object_read(r, scenario_keys, SCENARIO_KEYS, v, o)) return;
    out->name = text_or(o, SCENARIO_NAME, NULL);
    out->prompt = text_or(o, SCENARIO_PROMPT, NULL);
    out->prompt_file = text_or(o, SCENARIO_FILE, NULL);
    read_ids(r, o, SCENARIO_IDS, &out->token_ids);
    read_ids(r, o, SCENARIO_FORCE, &out->force_ids);
    out->tokens = o->has[SCENARIO_TOKENS] ? o->values[SCENARIO_TOKENS].integer
                  : out->force_ids.n      ? (int64_t)out->force_ids.n
                  : has_engine(r)         ? TT_CROSSVAL_TOKENS
                                          : 1;
    if (o->raw[SCENARIO_PROMPT] && o->raw[SCENARIO_FILE])
        tt_cv_diagnose(r, o->shown, NULL, "prompt and prompt_file exclude each other");
    if (o->raw[SCENARIO_IDS] && (o->raw[SCENARIO_PROMPT] || o->raw[SCENARIO_FILE]))
        tt_cv_diagnose(r, o->shown, NULL, "token_ids and the text of a prompt exclude each other");
}

static void read_scenarios(tt_cv_reading *r, const json_t *v)
{
    size_t n = json_array_size(v);
    if (!v) return;
    if (!json_is_array(v) || n == 0 || n > TT_CROSSVAL_SCENARIOS_MAX) {
        tt_cv_diagnose(r, "scenarios", NULL, "an array of 1 to %u objects is expected, not %s",
                       TT_CROSSVAL_SCENARIOS_MAX,
                       !json_is_array(v) ? tt_json_type_name(v)
                       : n               ? "a longer one"
                                         : "an empty one");
        return;
    }
    r->s->scenarios = calloc(n, sizeof *r->s->scenarios);
    if (!r->s->scenarios) {
        r->reader.no_memory = true;
        return;
    }
    r->s->n_scenarios = n;
    for (size_t i = 0; i < n; i++) {
        tt_cv_object o = {.shown = ""};
        (void)snprintf(o.shown, sizeof o.shown, "scenarios[%zu]", i);
        read_scenario(r, json_array_get(v, i), &o, &r->s->scenarios[i]);
    }
}

/* --- everything --- */

static void read_sides(tt_cv_reading *r, const json_t *v)
{
    static const char *const names[2] = {"a", "b"};
    const char *name;
    json_t *side;
    if (!v) return;
    if (!json_is_object(v)) {
        tt_cv_diagnose(r, "sides", NULL, "an object with a and b is expected, not %s",
                       tt_json_type_name(v));
        return;
    }
    json_object_foreach((json_t *)(uintptr_t)v, name, side)
    {
        if (strcmp(name, names[0]) != 0 && strcmp(name, names[1]) != 0)
            tt_diagnose(r->reader.diagnostics, "sides.%.60s: no such side; there are a and b",
                        name);
    }
    for (size_t i = 0; i < 2; i++) {
        side = json_object_get(v, names[i]);
        if (side)
            tt_cv_side_read(r, side, names[i], &r->s->sides[i]);
        else
            tt_diagnose(r->reader.diagnostics, "sides.%s is missing", names[i]);
    }
}

static void read_tolerance(tt_cv_reading *r, json_t *v)
{
    tt_cv_object o = {.shown = "tolerance"};
    tt_crossval_settings *s = r->s;
    if (!v || !tt_cv_object_read(r, tolerance_keys, TOLERANCE_KEYS, v, &o)) return;
    s->has_tolerance = true;
    s->rel_l2 = number_or_nan(&o, TOLERANCE_REL_L2);
    s->cosine = number_or_nan(&o, TOLERANCE_COSINE);
    s->max_abs = number_or_nan(&o, TOLERANCE_MAX_ABS);
    if (s->exact)
        tt_cv_diagnose(r, "tolerance", NULL, "with exact there is none: leave one of them out");
}

static void read_values(tt_cv_reading *r)
{
    tt_select select;
    tt_error err;
    if (tt_select_parse(r->s->values, &select, &err) != TT_OK)
        tt_cv_diagnose(r, "", "values", "%.300s", err.message);
    else if (select.level == TT_VALUES_OFF)
        tt_cv_diagnose(r, "", "values", "off leaves nothing to compare; stats, hash or full");
}

static void read_whole(tt_cv_reading *r, json_t *root)
{
    tt_crossval_settings *s = r->s;
    tt_cv_object o = {.shown = ""};
    if (!json_is_object(root)) {
        tt_diagnose(r->reader.diagnostics, "the settings are not an object but %s",
                    tt_json_type_name(root));
        return;
    }
    (void)tt_cv_object_read(r, whole_keys, WHOLE_KEYS, root, &o);
    s->values = text_or(&o, WHOLE_VALUES, DEFAULT_VALUES);
    s->has_values = o.has[WHOLE_VALUES];
    s->exact = o.has[WHOLE_EXACT] && o.values[WHOLE_EXACT].integer;
    s->timeout_s = o.has[WHOLE_TIMEOUT] ? o.values[WHOLE_TIMEOUT].integer : TT_CROSSVAL_TIMEOUT_S;
    s->output = o.has[WHOLE_OUTPUT] ? o.values[WHOLE_OUTPUT].text
                                    : tt_reader_join(&r->reader, r->reader.folder, DEFAULT_OUTPUT);
    read_values(r);
    read_tolerance(r, json_object_get(root, "tolerance"));
    for (size_t i = 0; i < 2; i++)
        s->sides[i] = (tt_crossval_side){.model = text_or(&o, WHOLE_MODEL, NULL),
                                         .stages = text_or(&o, WHOLE_STAGES, NULL)};
    read_sides(r, o.raw[WHOLE_SIDES]);
    read_scenarios(r, o.raw[WHOLE_SCENARIOS]);
    tt_cv_check(r);
}

tt_status tt_crossval_settings_parse(tt_crossval_settings *s, const char *text, size_t size,
                                     const char *name, const char *folder,
                                     tt_diagnostics *diagnostics, tt_error *err)
{
    tt_cv_reading r = {s, {diagnostics, folder, folder, &s->made, false}};
    size_t before = diagnostics->n;
    json_t *root = NULL;
    memset(s, 0, sizeof *s);
    s->rel_l2 = s->cosine = s->max_abs = NAN;
    tt_status status = tt_json_load(text, size, name, &root, err);
    if (status != TT_OK) return status;
    s->json = root;
    read_whole(&r, root);
    if (r.reader.no_memory)
        status = tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    else if (diagnostics->n > before)
        status = tt_diagnostics_error(diagnostics, before, name, err);
    if (status != TT_OK) tt_crossval_settings_free(s);
    return status;
}

tt_status tt_crossval_settings_read(tt_crossval_settings *s, const char *path,
                                    tt_diagnostics *diagnostics, tt_error *err)
{
    char folder[PATH_MAX];
    char *text;
    size_t size;
    memset(s, 0, sizeof *s);
    tt_status status = tt_settings_load("the settings", path, &text, &size, folder, err);
    if (status == TT_OK)
        status = tt_crossval_settings_parse(s, text, size, path, folder, diagnostics, err);
    free(text);
    return status;
}

void tt_crossval_settings_free(tt_crossval_settings *s)
{
    for (size_t i = 0; i < s->n_scenarios; i++) {
        free(s->scenarios[i].token_ids.ids);
        free(s->scenarios[i].force_ids.ids);
    }
    free(s->scenarios);
    for (size_t i = 0; i < 2; i++) {
        free(s->sides[i].command);
        free(s->sides[i].environment);
    }
    tt_made_free(&s->made);
    json_decref(s->json);
    memset(s, 0, sizeof *s);
}
