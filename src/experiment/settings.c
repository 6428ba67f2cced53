#include "experiment/settings.h"

#include "base/nearest.h"
#include "experiment/keys.h"

#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_BINARY "build/bin/llama-completion"
#define DEFAULT_OUTPUT "experiments"
#define KEYS_TEXT 600

static const char *type_name(const json_t *v)
{
    switch (json_typeof(v)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a text";
    case JSON_INTEGER:
    case JSON_REAL:
        return "a number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "true or false";
    default:
        return "null";
    }
}

static const char *wanted_name(tt_key_type type)
{
    switch (type) {
    case TT_KEY_INTEGER:
    case TT_KEY_COUNT:
        return "a whole number";
    case TT_KEY_NUMBER:
        return "a number";
    case TT_KEY_BOOL:
        return "true or false";
    case TT_KEY_TEXTS:
        return "an array of texts";
    default:
        return "a text";
    }
}

/* What a reader of settings needs besides them. */
typedef struct reading {
    tt_settings *s;
    tt_complaints *complaints;
    const char *folder;    /* what paths are relative to */
    const char *llama_dir; /* what the model and the binary are relative to */
    bool no_memory;
} reading;

/* --- paths --- */

static const char *keep(reading *r, char *text)
{
    char **made = text ? realloc(r->s->made, (r->s->n_made + 1) * sizeof *made) : NULL;
    if (!made) {
        free(text);
        r->no_memory = true;
        return "";
    }
    r->s->made = made;
    made[r->s->n_made++] = text;
    return text;
}

static const char *join(reading *r, const char *folder, const char *path)
{
    char *joined = NULL;
    if (path[0] == '/') return path;
    if (asprintf(&joined, "%s/%s", strcmp(folder, "/") == 0 ? "" : folder, path) < 0) joined = NULL;
    return keep(r, joined);
}

static const char *resolve(reading *r, tt_key_type type, const char *path)
{
    return join(r, type == TT_KEY_PATH ? r->folder : r->llama_dir, path);
}

/* --- values --- */

static bool is_choice(const char *choices, const char *text)
{
    size_t n = strlen(text);
    for (const char *p = choices; *p;) {
        size_t length = strcspn(p, " ");
        if (length == n && strncmp(p, text, n) == 0) return true;
        p += length + (p[length] == ' ');
    }
    return false;
}

static bool read_text(reading *r, const tt_key *k, const char *text, tt_setting_value *out)
{
    bool is_path = k->type == TT_KEY_PATH || k->type == TT_KEY_MODEL || k->type == TT_KEY_BINARY;
    if (k->type == TT_KEY_CHOICE && !is_choice(k->choices, text)) {
        tt_complain(r->complaints, "%s.%s: \"%.60s\" is none of: %s", k->section, k->key, text,
                    k->choices);
        return false;
    }
    if (is_path && !text[0]) {
        tt_complain(r->complaints, "%s.%s: an empty path", k->section, k->key);
        return false;
    }
    if (is_path && strlen(text) >= PATH_MAX / 2) {
        tt_complain(r->complaints, "%s.%s: the path is too long: %.60s...", k->section, k->key,
                    text);
        return false;
    }
    out->text = is_path ? resolve(r, k->type, text) : text;
    return true;
}

static bool read_integer(reading *r, const tt_key *k, int64_t v, tt_setting_value *out)
{
    if (v < k->min || v > k->max) {
        tt_complain(r->complaints,
                    "%s.%s: %" PRId64 " is out of range (%" PRId64 " to %" PRId64 ")", k->section,
                    k->key, v, k->min, k->max);
        return false;
    }
    out->integer = v;
    return true;
}

static bool read_number(reading *r, const tt_key *k, double v, tt_setting_value *out)
{
    if (!isfinite(v) || v < (double)k->min || v > (double)k->max) {
        tt_complain(r->complaints, "%s.%s: %g is out of range (%" PRId64 " to %" PRId64 ")",
                    k->section, k->key, v, k->min, k->max);
        return false;
    }
    out->number = v;
    return true;
}

static bool read_value(reading *r, const tt_key *k, const json_t *v, tt_setting_value *out)
{
    bool takes_integer = k->type == TT_KEY_INTEGER || k->type == TT_KEY_COUNT;
    bool takes_text = !takes_integer && k->type != TT_KEY_NUMBER && k->type != TT_KEY_BOOL;
    if (takes_integer && json_is_integer(v)) return read_integer(r, k, json_integer_value(v), out);
    if (k->type == TT_KEY_NUMBER && json_is_number(v))
        return read_number(r, k, json_number_value(v), out);
    if (takes_text && json_is_string(v)) return read_text(r, k, json_string_value(v), out);
    if (k->type == TT_KEY_BOOL && json_is_boolean(v)) {
        out->integer = json_is_true(v);
        return true;
    }
    bool is_real = json_is_real(v) && takes_integer;
    if (is_real && !read_number(r, k, json_real_value(v), out)) return false; /* 1e99 */
    tt_complain(r->complaints, "%s.%s: %s is expected, not %s", k->section, k->key,
                wanted_name(k->type),
                is_real ? "a number with a fraction or an exponent" : type_name(v));
    return false;
}

static bool reserve(reading *r, tt_setting_values *list, size_t n)
{
    list->values = calloc(n, sizeof *list->values);
    if (!list->values) r->no_memory = true;
    return list->values != NULL;
}

/* repetitions: 3 stands for the values 1, 2, 3. */
static void read_count(reading *r, const tt_key *k, const json_t *v, tt_setting_values *list)
{
    tt_setting_value count = {0};
    if (!read_value(r, k, v, &count) || !reserve(r, list, (size_t)count.integer)) return;
    for (; list->n < (size_t)count.integer; list->n++)
        list->values[list->n].integer = (int64_t)list->n + 1;
}

static void read_array(reading *r, const tt_key *k, const json_t *v, tt_setting_values *list)
{
    size_t n = json_array_size(v);
    /* The memory tells that the key is there, also when its values are of no use. */
    if (!reserve(r, list, n && n <= TT_SETTINGS_VALUES_MAX ? n : 1)) return;
    if (n == 0 && k->type != TT_KEY_TEXTS) {
        tt_complain(r->complaints, "%s.%s: an empty array: no experiment could be made of it",
                    k->section, k->key);
        return;
    }
    if (n > TT_SETTINGS_VALUES_MAX) {
        tt_complain(r->complaints, "%s.%s: %zu values; at most %u are taken", k->section, k->key, n,
                    TT_SETTINGS_VALUES_MAX);
        return;
    }
    for (size_t i = 0; i < n; i++)
        if (read_value(r, k, json_array_get(v, i), &list->values[list->n])) list->n++;
}

static void read_key(reading *r, tt_setting setting, const json_t *v)
{
    const tt_key *k = &tt_keys[setting];
    tt_setting_values *list = &r->s->of[setting];
    if (json_is_array(v) && (tt_setting_is_swept(setting) || k->type == TT_KEY_TEXTS)) {
        read_array(r, k, v, list);
    } else if (k->type == TT_KEY_TEXTS) {
        tt_complain(r->complaints, "%s.%s: %s is expected, not %s", k->section, k->key,
                    wanted_name(k->type), type_name(v));
    } else if (k->type == TT_KEY_COUNT) {
        read_count(r, k, v, list);
    } else if (reserve(r, list, 1) && read_value(r, k, v, list->values)) {
        list->n = 1;
    }
}

/* --- objects --- */

static void list_known(const char *section, char out[KEYS_TEXT])
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < TT_SET_COUNT && used + 1 < KEYS_TEXT; i++) {
        if (strcmp(tt_keys[i].section, section) != 0) continue;
        int n = snprintf(out + used, KEYS_TEXT - used, "%s%s", used ? ", " : "", tt_keys[i].key);
        if (n > 0) used += (size_t)n;
    }
}

static void complain_unknown(reading *r, const char *section, const char *key)
{
    char known[KEYS_TEXT];
    tt_nearest nearest = tt_nearest_begin(key);
    for (size_t i = 0; i < TT_SET_COUNT; i++)
        if (strcmp(tt_keys[i].section, section) == 0) tt_nearest_try(&nearest, tt_keys[i].key);
    if (nearest.name) {
        tt_complain(r->complaints, "%s.%.60s: no such key; did you mean \"%s\"?", section, key,
                    nearest.name);
        return;
    }
    for (size_t i = 0; i < TT_SET_COUNT; i++) {
        if (strcmp(tt_keys[i].key, key) != 0) continue;
        tt_complain(r->complaints, "%s.%.60s: no such key here; it belongs into \"%s\"", section,
                    key, tt_keys[i].section);
        return;
    }
    list_known(section, known);
    tt_complain(r->complaints, "%s.%.60s: no such key; there are %s", section, key, known);
}

static void read_section(reading *r, const char *section, json_t *object)
{
    const char *key;
    json_t *v;
    json_object_foreach(object, key, v)
    {
        tt_setting found = TT_SET_COUNT;
        for (size_t i = 0; i < TT_SET_COUNT; i++)
            if (strcmp(tt_keys[i].section, section) == 0 && strcmp(tt_keys[i].key, key) == 0)
                found = (tt_setting)i;
        if (found == TT_SET_COUNT)
            complain_unknown(r, section, key);
        else if (r->s->of[found].n == 0 && !r->s->of[found].values)
            read_key(r, found, v);
    }
}

static bool is_section(const char *key)
{
    for (const char *const *s = tt_key_sections; *s; s++)
        if (strcmp(*s, key) == 0) return true;
    return false;
}

static void complain_unknown_section(reading *r, const char *key)
{
    tt_nearest nearest = tt_nearest_begin(key);
    for (const char *const *s = tt_key_sections; *s; s++)
        tt_nearest_try(&nearest, *s);
    for (size_t i = 0; !nearest.name && i < TT_SET_COUNT; i++) {
        if (strcmp(tt_keys[i].key, key) != 0) continue;
        tt_complain(r->complaints, "%.60s: no such section; the key belongs into \"%s\"", key,
                    tt_keys[i].section);
        return;
    }
    if (nearest.name)
        tt_complain(r->complaints, "%.60s: no such section; did you mean \"%s\"?", key,
                    nearest.name);
    else
        tt_complain(r->complaints,
                    "%.60s: no such section; there are experiment, capture, dataset, paths and "
                    "temp_files",
                    key);
}

static void check_sections(reading *r, json_t *root)
{
    const char *key;
    json_t *v;
    json_object_foreach(root, key, v)
    {
        if (!is_section(key))
            complain_unknown_section(r, key);
        else if (!json_is_object(v))
            tt_complain(r->complaints, "%s: an object is expected, not %s", key, type_name(v));
    }
}

static void check_whole(reading *r)
{
    const tt_settings *s = r->s;
    for (size_t i = 0; i < TT_SET_COUNT; i++)
        if (tt_keys[i].required && s->of[i].n == 0 && !s->of[i].values)
            tt_complain(r->complaints, "%s.%s is missing", tt_keys[i].section, tt_keys[i].key);
    bool prompt = s->of[TT_SET_PROMPT].values, file = s->of[TT_SET_PROMPT_FILE].values;
    if (!prompt && !file) tt_complain(r->complaints, "experiment.prompt is missing");
    if (prompt && file)
        tt_complain(r->complaints,
                    "experiment.prompt and experiment.prompt_file exclude each other");
    if (s->program && s->of[TT_SET_ENGINE_PATH].n)
        tt_complain(r->complaints,
                    "experiment.engine_path is for the built-in runner, and paths.llama_binary (or "
                    "llama_cpp_dir) names another program: leave one of them out");
    if (!s->program && s->of[TT_SET_PROGRAM_ARGUMENTS].n)
        tt_complain(r->complaints, "experiment.program_arguments is for the program that "
                                   "paths.llama_binary names, and it names none");
}

static void read_paths(reading *r, json_t *root)
{
    tt_settings *s = r->s;
    json_t *paths = json_object_get(root, "paths");
    const json_t *dir = paths ? json_object_get(paths, "llama_cpp_dir") : NULL;
    /* This one first: the model is relative to it. */
    if (dir) read_key(r, TT_SET_LLAMA_CPP_DIR, dir);
    if (s->of[TT_SET_LLAMA_CPP_DIR].n) r->llama_dir = s->of[TT_SET_LLAMA_CPP_DIR].values->text;
    if (json_is_object(paths)) read_section(r, "paths", paths);
    const char *program = NULL;
    if (s->of[TT_SET_LLAMA_BINARY].n)
        program = s->of[TT_SET_LLAMA_BINARY].values->text;
    else if (s->of[TT_SET_LLAMA_CPP_DIR].n)
        program = join(r, r->llama_dir, DEFAULT_BINARY);
    const char *output = s->of[TT_SET_WEBUI_DATA_DIR].n ? s->of[TT_SET_WEBUI_DATA_DIR].values->text
                                                        : join(r, r->folder, DEFAULT_OUTPUT);
    if (program && !(s->program = strdup(program))) r->no_memory = true;
    if (!(s->output = strdup(output))) r->no_memory = true;
}

static tt_status read_root(reading *r, json_t *root, tt_error *err)
{
    static const char *const sections[] = {"experiment", "capture", "dataset"};
    check_sections(r, root);
    read_paths(r, root);
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        json_t *object = json_object_get(root, sections[i]);
        if (json_is_object(object)) read_section(r, sections[i], object);
    }
    r->s->has_temp_files = json_object_get(root, TT_KEY_IGNORED_SECTION) != NULL;
    check_whole(r);
    if (r->no_memory) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    return TT_OK;
}

/* What the JSON library says, as a person would. */
static tt_status refuse_json(const char *name, const char *text, size_t size, json_error_t *where,
                             tt_error *err)
{
    size_t at = 0;
    while (at < size && strchr(" \t\r\n", text[at]) && text[at])
        at++;
    if (at == size) return tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET, "%.100s is empty", name);
    enum json_error_code code = json_error_code(where);
    if (code == json_error_numeric_overflow)
        return tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET,
                            "%.100s: line %d, column %d: a number that is too large", name,
                            where->line, where->column);
    for (char *p = where->text; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f) *p = '?';
    return tt_error_set(err, code == json_error_stack_overflow ? TT_E_LIMIT : TT_E_FORMAT,
                        TT_NO_OFFSET, "%.100s: line %d, column %d: %s", name, where->line,
                        where->column, where->text);
}

tt_status tt_settings_parse(tt_settings *s, const char *text, size_t size, const char *name,
                            const char *folder, tt_complaints *complaints, tt_error *err)
{
    json_error_t where;
    reading r = {.s = s, .complaints = complaints, .folder = folder, .llama_dir = folder};
    size_t before = complaints->n;
    memset(s, 0, sizeof *s);
    if (size > TT_SETTINGS_BYTES_MAX)
        return tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET, "%.200s: more than %zu MiB of settings",
                            name, TT_SETTINGS_BYTES_MAX >> 20);
    json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &where);
    if (!root) return refuse_json(name, text, size, &where, err);
    s->json = root;
    tt_status status = TT_OK;
    if (!json_is_object(root))
        tt_complain(complaints, "the settings are not an object but %s", type_name(root));
    else
        status = read_root(&r, root, err);
    size_t n = tt_settings_experiments(s);
    if (status == TT_OK && complaints->n == before && n > TT_SETTINGS_EXPERIMENTS_MAX)
        status = tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET,
                              "%.100s: the sweep has %zu combinations; at most %u are taken", name,
                              n, TT_SETTINGS_EXPERIMENTS_MAX);
    if (status == TT_OK && complaints->n > before)
        status =
            tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "%.100s: %zu thing%s wrong", name,
                         complaints->n - before, complaints->n - before == 1 ? " is" : "s are");
    if (status != TT_OK) tt_settings_free(s);
    return status;
}

void tt_settings_free(tt_settings *s)
{
    for (size_t i = 0; i < TT_SET_COUNT; i++)
        free(s->of[i].values);
    for (size_t i = 0; i < s->n_made; i++)
        free(s->made[i]);
    free(s->made);
    free(s->program);
    free(s->output);
    json_decref(s->json);
    memset(s, 0, sizeof *s);
}
