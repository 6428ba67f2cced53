#include "crossval/settings.h"

#include "experiment/reader.h"
#include "value/select.h"

#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_OUTPUT "crossval"
#define DEFAULT_VALUES "hash"
#define TOKENS_MAX (1 << 20)  /* to generate */
#define CONTEXT_MAX (1 << 24) /* of a side */
#define TIMEOUT_MAX_S (30 * 24 * 3600)

#define SHOWN 64
#define KEYS_MAX 24u

typedef struct reading {
    tt_crossval_settings *s;
    tt_settings_reader reader;
} reading;

/* The values of one object; those of the type TT_KEY_OTHER are in `raw`. */
typedef struct object {
    char shown[SHOWN]; /* "scenarios[2]"; "" is the whole */
    bool has[KEYS_MAX];
    tt_setting_value values[KEYS_MAX];
    const json_t *raw[KEYS_MAX]; /* NULL: absent */
} object;

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

/* Adds a diagnostic about "SHOWN.KEY"; KEY may be NULL: "SHOWN". */
__attribute__((format(printf, 4, 5))) static void diagnose(reading *r, const char *shown,
                                                           const char *key, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    tt_diagnose(r->reader.diagnostics, "%s%s%s: %s", shown, shown[0] && key ? "." : "",
                key ? key : "", text);
}

/* Reads the keys of an object by a table of n <= KEYS_MAX rows, and reports others. False: not an
 * object. */
static bool read_object(reading *r, const tt_key *keys, size_t n, json_t *v, object *o)
{
    const char *name;
    json_t *value;
    if (!json_is_object(v)) {
        diagnose(r, o->shown, NULL, "an object is expected, not %s", tt_json_type_name(v));
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

static const char *text_or(const object *o, size_t key, const char *otherwise)
{
    return o->has[key] ? o->values[key].text : otherwise;
}

static double number_or_nan(const object *o, size_t key)
{
    return o->has[key] ? o->values[key].number : NAN;
}

static int64_t integer(const object *o, size_t key)
{
    return o->has[key] ? o->values[key].integer : 0;
}

/* --- sides --- */

enum {
    SIDE_ENGINE,
    SIDE_COMMAND,
    SIDE_TRACE,
    SIDE_LABEL,
    SIDE_STAGES,
    SIDE_MODEL, /* for sides that are run, from here on */
    SIDE_ENVIRONMENT,
    SIDE_RECORDS, /* for a command ... */
    SIDE_PRINTS,  /* ... as well */
    SIDE_THREADS, /* for an engine, from here on ... */
    SIDE_CONTEXT,
    SIDE_BATCH,
    SIDE_UBATCH,
    SIDE_FLASH,
    SIDE_MMAP,
    SIDE_REPACK,
    SIDE_MODE, /* ... and for a command that is traced by preloading */
    SIDE_KEYS
};
static const tt_key side_keys[SIDE_KEYS] = {
    [SIDE_ENGINE] = {"sides", "engine", TT_KEY_PATH, 0, 0, NULL, false},
    [SIDE_COMMAND] = {"sides", "command", TT_KEY_OTHER, 0, 0, NULL, false},
    [SIDE_TRACE] = {"sides", "trace", TT_KEY_PATH, 0, 0, NULL, false},
    [SIDE_LABEL] = {"sides", "label", TT_KEY_TEXT, 0, 0, NULL, false},
    [SIDE_STAGES] = {"sides", "stages", TT_KEY_PATH, 0, 0, NULL, false},
    [SIDE_MODEL] = {"sides", "model", TT_KEY_PATH, 0, 0, NULL, false},
    [SIDE_ENVIRONMENT] = {"sides", "environment", TT_KEY_OTHER, 0, 0, NULL, false},
    [SIDE_RECORDS] = {"sides", "records", TT_KEY_CHOICE, 0, 0, "trace bitnet preload", false},
    [SIDE_PRINTS] = {"sides", "prints", TT_KEY_CHOICE, 0, 0, "text ids", false},
    [SIDE_THREADS] = {"sides", "threads", TT_KEY_INTEGER, 1, 512, NULL, false},
    [SIDE_CONTEXT] = {"sides", "context_tokens", TT_KEY_INTEGER, 1, CONTEXT_MAX, NULL, false},
    [SIDE_BATCH] = {"sides", "batch_tokens", TT_KEY_INTEGER, 1, CONTEXT_MAX, NULL, false},
    [SIDE_UBATCH] = {"sides", "ubatch_tokens", TT_KEY_INTEGER, 1, CONTEXT_MAX, NULL, false},
    [SIDE_FLASH] = {"sides", "flash_attention", TT_KEY_CHOICE, 0, 0, "on off auto", false},
    [SIDE_MMAP] = {"sides", "mmap", TT_KEY_BOOL, 0, 0, NULL, false},
    [SIDE_REPACK] = {"sides", "repack", TT_KEY_BOOL, 0, 0, NULL, false},
    [SIDE_MODE] = {"sides", "mode", TT_KEY_CHOICE, 0, 0, "auto hook callback", false},
};

const char *tt_side_kind_name(tt_side_kind kind)
{
    static const char *const names[] = {"engine", "command", "trace"};
    return names[kind];
}

const char *tt_side_records_name(tt_side_records records)
{
    static const char *const names[] = {"trace", "bitnet", "preload"};
    return names[records];
}

static void read_word(reading *r, const object *o, size_t i, const json_t *v,
                      tt_crossval_side *side)
{
    size_t n;
    const char *word = json_string_value(v);
    const char *unknown = word ? tt_crossval_unknown_placeholder(word, &n) : NULL;
    if (!word || (i == 0 && !word[0]))
        diagnose(r, o->shown, "command", "%s is expected at [%zu]",
                 i ? "a text" : "the name of a program", i);
    else if (unknown)
        diagnose(r, o->shown, "command",
                 "%.*s is no placeholder; there are {scenario}, {model}, {out}, {prompt}, "
                 "{token_ids}, {prompt_ids}, {force_ids} and {n}",
                 n < 60 ? (int)n : 60, unknown);
    /* A program relative to the settings gets an absolute path; one without a slash is searched in
     * the PATH. */
    else if (i == 0 && strchr(word, '/'))
        side->command[side->n_command++] = tt_reader_join(&r->reader, r->reader.folder, word);
    else
        side->command[side->n_command++] = word;
}

static void read_command(reading *r, const object *o, tt_crossval_side *side)
{
    const json_t *v = o->raw[SIDE_COMMAND];
    size_t n = json_array_size(v);
    if (!v) return;
    if (!json_is_array(v) || n == 0 || n > TT_CROSSVAL_WORDS_MAX) {
        diagnose(r, o->shown, "command", "an array of 1 to %u texts is expected, not %s",
                 TT_CROSSVAL_WORDS_MAX,
                 json_is_array(v) ? "one of this length" : tt_json_type_name(v));
        return;
    }
    side->command = calloc(n + 1, sizeof *side->command);
    if (!side->command) r->reader.no_memory = true;
    for (size_t i = 0; side->command && i < n; i++)
        read_word(r, o, i, json_array_get(v, i), side);
}

/* Variables that this command sets for the programs it starts. */
static bool is_ours(const char *name)
{
    return strcmp(name, "TENSORTRACE") == 0 || strcmp(name, "BITNET_TRACE_DIR") == 0 ||
           strncmp(name, "TENSORTRACE_", 12) == 0;
}

static void read_environment(reading *r, const object *o, tt_crossval_side *side)
{
    json_t *v = (json_t *)(uintptr_t)o->raw[SIDE_ENVIRONMENT], *value;
    const char *name;
    size_t n = json_object_size(v);
    if (!v) return;
    if (!json_is_object(v) || n > TT_CROSSVAL_WORDS_MAX) {
        diagnose(r, o->shown, "environment", "an object of texts is expected, not %s",
                 json_is_object(v) ? "one of this size" : tt_json_type_name(v));
        return;
    }
    side->environment = calloc(n + 1, sizeof *side->environment);
    if (!side->environment) r->reader.no_memory = true;
    if (!side->environment) return;
    json_object_foreach(v, name, value)
    {
        if (!name[0] || strchr(name, '='))
            diagnose(r, o->shown, "environment", "\"%.60s\" cannot be a variable", name);
        else if (is_ours(name))
            diagnose(r, o->shown, "environment", "%.60s is set by this command itself", name);
        else if (!json_is_string(value) && !json_is_null(value))
            diagnose(r, o->shown, "environment",
                     "%.60s: a text, or null for none, is expected, not %s", name,
                     tt_json_type_name(value));
        else
            side->environment[side->n_environment++] =
                (tt_side_variable){name, json_string_value(value)};
    }
}

/* Rejects keys that this kind of side does not use. */
static void check_keys(reading *r, const object *o, const tt_crossval_side *side)
{
    static const char *const say[] = {"is for a command",
                                      "is for an engine: write it into the words of the command",
                                      "is for a side that is run"};
    bool preloaded = side->kind == TT_SIDE_COMMAND && side->records == TT_RECORDS_PRELOAD;
    for (size_t i = SIDE_MODEL; i < SIDE_KEYS; i++) {
        if (!o->raw[i]) continue;
        if (side->kind == TT_SIDE_TRACE)
            diagnose(r, o->shown, side_keys[i].key, "%s", say[2]);
        else if (side->kind == TT_SIDE_ENGINE && (i == SIDE_RECORDS || i == SIDE_PRINTS))
            diagnose(r, o->shown, side_keys[i].key, "%s", say[0]);
        else if (side->kind == TT_SIDE_COMMAND && i >= SIDE_THREADS &&
                 !(preloaded && i == SIDE_MODE))
            diagnose(r, o->shown, side_keys[i].key, "%s", say[1]);
    }
}

/* *side already has what applies to both. */
static void read_side(reading *r, json_t *v, const char *name, tt_crossval_side *side)
{
    object o = {.shown = ""};
    (void)snprintf(o.shown, sizeof o.shown, "sides.%s", name);
    if (!read_object(r, side_keys, SIDE_KEYS, v, &o)) return;
    if (!!o.raw[SIDE_ENGINE] + !!o.raw[SIDE_COMMAND] + !!o.raw[SIDE_TRACE] > 1)
        diagnose(r, o.shown, NULL, "engine, command and trace exclude each other");
    side->kind = o.raw[SIDE_COMMAND] ? TT_SIDE_COMMAND
                 : o.raw[SIDE_TRACE] ? TT_SIDE_TRACE
                                     : TT_SIDE_ENGINE;
    side->label = text_or(&o, SIDE_LABEL, NULL);
    side->engine = text_or(&o, SIDE_ENGINE, NULL);
    side->trace = text_or(&o, SIDE_TRACE, NULL);
    if (o.has[SIDE_MODEL]) side->model = text_or(&o, SIDE_MODEL, NULL);
    if (o.has[SIDE_STAGES]) side->stages = text_or(&o, SIDE_STAGES, NULL);
    const char *records = text_or(&o, SIDE_RECORDS, NULL);
    side->records = !records || strcmp(records, "trace") == 0 ? TT_RECORDS_TRACE
                    : strcmp(records, "bitnet") == 0          ? TT_RECORDS_BITNET
                                                              : TT_RECORDS_PRELOAD;
    side->prints_ids = o.has[SIDE_PRINTS] && strcmp(text_or(&o, SIDE_PRINTS, NULL), "ids") == 0;
    side->mode = text_or(&o, SIDE_MODE, NULL);
    side->flash_attention = text_or(&o, SIDE_FLASH, NULL);
    side->threads = integer(&o, SIDE_THREADS);
    side->context_tokens = integer(&o, SIDE_CONTEXT);
    side->batch_tokens = integer(&o, SIDE_BATCH);
    side->ubatch_tokens = integer(&o, SIDE_UBATCH);
    side->no_mmap = o.has[SIDE_MMAP] && !integer(&o, SIDE_MMAP);
    side->no_repack = o.has[SIDE_REPACK] && !integer(&o, SIDE_REPACK);
    read_command(r, &o, side);
    read_environment(r, &o, side);
    check_keys(r, &o, side);
    if (side->kind == TT_SIDE_ENGINE && !side->model && !o.raw[SIDE_MODEL])
        tt_diagnose(r->reader.diagnostics, "%s.model is missing, and so is model", o.shown);
}

/* --- scenarios --- */

static void read_ids(reading *r, const object *o, size_t key, tt_id_list *out)
{
    const json_t *v = o->raw[key];
    const char *name = scenario_keys[key].key;
    size_t n = json_array_size(v);
    if (!v) return;
    if (!json_is_array(v) || n == 0 || n > TT_CROSSVAL_IDS_MAX) {
        diagnose(r, o->shown, name, "an array of 1 to %zu token ids is expected, not %s",
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
            diagnose(r, o->shown, name, "a token id (0 to 2147483647) is expected at [%zu]", i);
            return;
        }
        out->ids[i] = (int32_t)id;
    }
    out->n = n;
}

static bool has_engine(const reading *r)
{
    return r->s->sides[0].kind == TT_SIDE_ENGINE || r->s->sides[1].kind == TT_SIDE_ENGINE;
}

static void read_scenario(reading *r, json_t *v, object *o, tt_crossval_scenario *out)
{
    if (!read_object(r, scenario_keys, SCENARIO_KEYS, v, o)) return;
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
        diagnose(r, o->shown, NULL, "prompt and prompt_file exclude each other");
    if (o->raw[SCENARIO_IDS] && (o->raw[SCENARIO_PROMPT] || o->raw[SCENARIO_FILE]))
        diagnose(r, o->shown, NULL, "token_ids and the text of a prompt exclude each other");
}

static void read_scenarios(reading *r, const json_t *v)
{
    size_t n = json_array_size(v);
    if (!v) return;
    if (!json_is_array(v) || n == 0 || n > TT_CROSSVAL_SCENARIOS_MAX) {
        diagnose(r, "scenarios", NULL, "an array of 1 to %u objects is expected, not %s",
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
        object o = {.shown = ""};
        (void)snprintf(o.shown, sizeof o.shown, "scenarios[%zu]", i);
        read_scenario(r, json_array_get(v, i), &o, &r->s->scenarios[i]);
    }
}

/* --- checks --- */

tt_crossval_lead tt_crossval_leader(const tt_crossval_settings *s, const tt_crossval_scenario *c)
{
    bool given = c->prompt || c->prompt_file || c->token_ids.n;
    tt_side_kind wanted = given ? TT_SIDE_ENGINE : TT_SIDE_TRACE;
    for (size_t i = 0; i < 2; i++)
        if (s->sides[i].kind == wanted) return (tt_crossval_lead)i;
    return TT_LEAD_SETTINGS;
}

/* It becomes a folder beside the summary. */
static bool is_folder_name(const char *name)
{
    size_t n = strlen(name);
    return n > 0 && n <= TT_CROSSVAL_NAME_MAX && name[0] != '.' &&
           strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-") == n &&
           strncmp(name, "summary.", 8) != 0 && strcmp(name, "log.txt") != 0;
}

static void check_name(reading *r, const char *shown, size_t number)
{
    const tt_crossval_scenario *list = r->s->scenarios;
    const char *name = list[number].name;
    if (!name) return;
    if (!is_folder_name(name))
        diagnose(r, shown, "name",
                 "\"%.80s\" cannot be the folder of its results: 1 to %u letters, digits, "
                 "_, - and . are taken, and no names of ours",
                 name, TT_CROSSVAL_NAME_MAX);
    for (size_t i = 0; i < number; i++)
        if (list[i].name && strcmp(list[i].name, name) == 0)
            diagnose(r, shown, "name", "\"%.80s\" is the name of scenarios[%zu], too", name, i);
}

/* Both sides get the same ids, which must come from somewhere. */
static void check_tokens(reading *r, const char *shown, const tt_crossval_scenario *c)
{
    tt_crossval_lead lead = tt_crossval_leader(r->s, c);
    bool text = c->prompt || c->prompt_file;
    if (lead == TT_LEAD_SETTINGS && !text && !c->token_ids.n)
        diagnose(r, shown, NULL, "a prompt, prompt_file or token_ids is missing");
    else if (lead == TT_LEAD_SETTINGS && text)
        diagnose(r, shown, NULL,
                 "token_ids is needed instead of the prompt: without an engine neither "
                 "side can be asked for its tokens");
    else if (lead == TT_LEAD_SETTINGS && c->tokens > 1 && !c->force_ids.n)
        diagnose(r, shown, "tokens",
                 "without an engine neither side can be asked what to generate: give "
                 "force_ids, or 1");
    if (lead != TT_LEAD_SETTINGS && r->s->sides[lead].kind == TT_SIDE_TRACE && c->force_ids.n)
        diagnose(r, shown, "force_ids", "the tokens are those of sides.%c.trace", "ab"[lead]);
    if (c->force_ids.n && c->tokens > (int64_t)c->force_ids.n)
        diagnose(r, shown, "tokens", "%lld is more than force_ids has", (long long)c->tokens);
}

/* Checks the settings as a whole, after the single keys. */
static void check_all(reading *r)
{
    const tt_crossval_settings *s = r->s;
    bool has_sides = true;
    for (size_t i = 0; i < 2; i++)
        has_sides &= s->sides[i].model || s->sides[i].n_command || s->sides[i].trace;
    for (size_t i = 0; i < s->n_scenarios; i++) {
        char shown[SHOWN];
        (void)snprintf(shown, sizeof shown, "scenarios[%zu]", i);
        check_name(r, shown, i);
        if (has_sides) check_tokens(r, shown, &s->scenarios[i]);
    }
}

/* --- everything --- */

static void read_sides(reading *r, const json_t *v)
{
    static const char *const names[2] = {"a", "b"};
    const char *name;
    json_t *side;
    if (!v) return;
    if (!json_is_object(v)) {
        diagnose(r, "sides", NULL, "an object with a and b is expected, not %s",
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
            read_side(r, side, names[i], &r->s->sides[i]);
        else
            tt_diagnose(r->reader.diagnostics, "sides.%s is missing", names[i]);
    }
}

static void read_tolerance(reading *r, json_t *v)
{
    object o = {.shown = "tolerance"};
    tt_crossval_settings *s = r->s;
    if (!v || !read_object(r, tolerance_keys, TOLERANCE_KEYS, v, &o)) return;
    s->has_tolerance = true;
    s->rel_l2 = number_or_nan(&o, TOLERANCE_REL_L2);
    s->cosine = number_or_nan(&o, TOLERANCE_COSINE);
    s->max_abs = number_or_nan(&o, TOLERANCE_MAX_ABS);
    if (s->exact) diagnose(r, "tolerance", NULL, "with exact there is none: leave one of them out");
}

static void read_values(reading *r)
{
    tt_select select;
    tt_error err;
    if (tt_select_parse(r->s->values, &select, &err) != TT_OK)
        diagnose(r, "", "values", "%.300s", err.message);
    else if (select.level == TT_VALUES_OFF)
        diagnose(r, "", "values", "off leaves nothing to compare; stats, hash or full");
}

static void read_whole(reading *r, json_t *root)
{
    tt_crossval_settings *s = r->s;
    object o = {.shown = ""};
    if (!json_is_object(root)) {
        tt_diagnose(r->reader.diagnostics, "the settings are not an object but %s",
                    tt_json_type_name(root));
        return;
    }
    (void)read_object(r, whole_keys, WHOLE_KEYS, root, &o);
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
    check_all(r);
}

tt_status tt_crossval_settings_parse(tt_crossval_settings *s, const char *text, size_t size,
                                     const char *name, const char *folder,
                                     tt_diagnostics *diagnostics, tt_error *err)
{
    reading r = {s, {diagnostics, folder, folder, &s->made, false}};
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
