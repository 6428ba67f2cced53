#include "experiment/settings.h"

#include "base/nearest.h"
#include "experiment/keys.h"
#include "experiment/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The base of relative paths in the settings: the file's folder, links followed; for a pipe or a
 * terminal, the current folder. */
static bool find_base(const char *path, int fd, char folder[PATH_MAX])
{
    struct stat st;
    bool is_file = fstat(fd, &st) != 0 || S_ISREG(st.st_mode);
    if (!is_file) return getcwd(folder, PATH_MAX) != NULL;
    if (!realpath(path, folder)) return false;
    char *slash = strrchr(folder, '/');
    if (slash) slash[slash == folder] = '\0';
    return true;
}

tt_status tt_settings_load(const char *what, const char *path, char **text, size_t *size,
                           char folder[PATH_MAX], tt_error *err)
{
    FILE *f = fopen(path, "rbe");
    *text = f ? malloc(TT_SETTINGS_BYTES_MAX + 1) : NULL;
    *size = *text ? fread(*text, 1, TT_SETTINGS_BYTES_MAX + 1, f) : 0;
    tt_status status = TT_OK;
    if (!f || (*text && (ferror(f) || !find_base(path, fileno(f), folder))))
        status = tt_error_set(err, errno == ENOENT ? TT_E_NOT_FOUND : TT_E_IO, TT_NO_OFFSET,
                              "cannot read %s %.200s: %s", what, path, strerror(errno));
    else if (!*text)
        status = tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    if (f) (void)fclose(f);
    if (status == TT_OK) return TT_OK;
    free(*text);
    *text = NULL;
    return status;
}

tt_status tt_settings_read(tt_settings *s, const char *path, const char *prompts,
                           tt_diagnostics *diagnostics, tt_error *err)
{
    char folder[PATH_MAX];
    char *text;
    size_t size;
    memset(s, 0, sizeof *s);
    tt_status status = tt_settings_load("the settings", path, &text, &size, folder, err);
    if (status == TT_OK)
        status = tt_settings_parse(s, text, size, path, folder, prompts != NULL, diagnostics, err);
    free(text);
    if (status == TT_OK && !prompts && s->of[TT_SET_PROMPTS_FILE].n)
        prompts = s->of[TT_SET_PROMPTS_FILE].values->text;
    if (status != TT_OK || !prompts) return status;
    status = tt_settings_load("the file of prompts", prompts, &text, &size, folder, err);
    if (status == TT_OK)
        status = tt_settings_add_prompts(s, text, size, prompts, diagnostics, err);
    else
        tt_settings_free(s);
    free(text);
    return status;
}

#define DEFAULT_BINARY "build/bin/llama-completion"
#define DEFAULT_OUTPUT "experiments"

/* State while settings are read. */
typedef struct reading {
    tt_settings *s;
    tt_settings_reader reader; /* its other_folder is llama_cpp_dir, if present */
} reading;

/* --- values --- */

static bool reserve(reading *r, tt_setting_values *list, size_t n)
{
    list->values = calloc(n, sizeof *list->values);
    if (!list->values) r->reader.no_memory = true;
    return list->values != NULL;
}

/* repetitions: 3 means the values 1, 2, 3. */
static void read_count(reading *r, const tt_key *k, const json_t *v, tt_setting_values *list)
{
    tt_setting_value count = {0};
    if (!tt_reader_value(&r->reader, k, v, &count) || !reserve(r, list, (size_t)count.integer))
        return;
    for (; list->n < (size_t)count.integer; list->n++)
        list->values[list->n].integer = (int64_t)list->n + 1;
}

static void read_array(reading *r, const tt_key *k, const json_t *v, tt_setting_values *list)
{
    size_t n = json_array_size(v);
    /* Allocated memory marks the key as present, even if its values are unusable. */
    if (!reserve(r, list, n && n <= TT_SETTINGS_VALUES_MAX ? n : 1)) return;
    if (n == 0 && k->type != TT_KEY_TEXTS) {
        tt_diagnose(r->reader.diagnostics,
                    "%s.%s: an empty array: no experiment could be made of it", k->section, k->key);
        return;
    }
    if (n > TT_SETTINGS_VALUES_MAX) {
        tt_diagnose(r->reader.diagnostics, "%s.%s: %zu values; at most %u are taken", k->section,
                    k->key, n, TT_SETTINGS_VALUES_MAX);
        return;
    }
    for (size_t i = 0; i < n; i++)
        if (tt_reader_value(&r->reader, k, json_array_get(v, i), &list->values[list->n])) list->n++;
}

static void read_key(reading *r, tt_setting setting, const json_t *v)
{
    const tt_key *k = &tt_keys[setting];
    tt_setting_values *list = &r->s->of[setting];
    if (json_is_array(v) && (tt_setting_is_swept(setting) || k->type == TT_KEY_TEXTS)) {
        read_array(r, k, v, list);
    } else if (k->type == TT_KEY_TEXTS) {
        tt_diagnose(r->reader.diagnostics, "%s.%s: %s is expected, not %s", k->section, k->key,
                    tt_key_type_name(k->type), tt_json_type_name(v));
    } else if (k->type == TT_KEY_COUNT) {
        read_count(r, k, v, list);
    } else if (reserve(r, list, 1) && tt_reader_value(&r->reader, k, v, list->values)) {
        list->n = 1;
    }
}

/* --- objects --- */

/* Earlier pipelines' settings have both keys, and use the first. */
#define TOKENS_KEY "tokens_to_generate"
#define TOKENS_OTHER_KEY "n_predict"

static void read_section(reading *r, const char *section, json_t *object)
{
    const char *key;
    json_t *v;
    json_object_foreach(object, key, v)
    {
        const bool is_experiment = strcmp(section, "experiment") == 0;
        if (is_experiment && strcmp(key, TOKENS_OTHER_KEY) == 0) {
            const json_t *first = json_object_get(object, TOKENS_KEY);
            r->s->tokens_differ = first && !json_equal(first, v);
            if (!first) read_key(r, TT_SET_TOKENS_TO_GENERATE, v);
            continue;
        }
        tt_setting found = TT_SET_COUNT;
        for (size_t i = 0; i < TT_SET_COUNT; i++)
            if (strcmp(tt_keys[i].section, section) == 0 && strcmp(tt_keys[i].key, key) == 0)
                found = (tt_setting)i;
        if (found == TT_SET_COUNT)
            tt_reader_unknown(&r->reader, tt_keys, TT_SET_COUNT, section, section, key);
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

static void diagnose_unknown_section(reading *r, const char *key)
{
    tt_nearest nearest = tt_nearest_begin(key);
    for (const char *const *s = tt_key_sections; *s; s++)
        tt_nearest_try(&nearest, *s);
    for (size_t i = 0; !nearest.name && i < TT_SET_COUNT; i++) {
        if (strcmp(tt_keys[i].key, key) != 0) continue;
        tt_diagnose(r->reader.diagnostics, "%.60s: no such section; the key belongs into \"%s\"",
                    key, tt_keys[i].section);
        return;
    }
    if (nearest.name)
        tt_diagnose(r->reader.diagnostics, "%.60s: no such section; did you mean \"%s\"?", key,
                    nearest.name);
    else
        tt_diagnose(
            r->reader.diagnostics,
            "%.60s: no such section; there are experiment, conditions, capture, dataset, paths and "
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
            diagnose_unknown_section(r, key);
        else if (!json_is_object(v))
            tt_diagnose(r->reader.diagnostics, "%s: an object is expected, not %s", key,
                        tt_json_type_name(v));
    }
}

static void check_whole(const tt_settings *s, tt_diagnostics *diagnostics)
{
    bool prompts_tell = s->n_prompts > 0;
    for (size_t i = 0; i < s->n_prompts; i++)
        prompts_tell = prompts_tell && s->prompts[i].has_tokens;
    for (size_t i = 0; i < TT_SET_COUNT; i++)
        if (tt_keys[i].required && s->of[i].n == 0 && !s->of[i].values &&
            !(i == TT_SET_TOKENS_TO_GENERATE && prompts_tell))
            tt_diagnose(diagnostics, "%s.%s is missing", tt_keys[i].section, tt_keys[i].key);
    bool prompt = s->of[TT_SET_PROMPT].values, file = s->of[TT_SET_PROMPT_FILE].values;
    if (!prompt && !file) tt_diagnose(diagnostics, "experiment.prompt is missing");
    if (prompt && file)
        tt_diagnose(diagnostics, s->prompts ? "a file of prompts and experiment.prompt_file "
                                              "exclude each other"
                                            : "experiment.prompt and experiment.prompt_file "
                                              "exclude each other");
    if (s->program && s->of[TT_SET_ENGINE_PATH].n)
        tt_diagnose(diagnostics,
                    "experiment.engine_path is for the built-in runner, and paths.llama_binary (or "
                    "llama_cpp_dir) names another program: leave one of them out");
    if (!s->program && s->of[TT_SET_PROGRAM_ARGUMENTS].n)
        tt_diagnose(diagnostics, "experiment.program_arguments is for the program that "
                                 "paths.llama_binary names, and it names none");
}

static void read_paths(reading *r, json_t *root)
{
    tt_settings *s = r->s;
    json_t *paths = json_object_get(root, "paths");
    const json_t *dir = paths ? json_object_get(paths, "llama_cpp_dir") : NULL;
    /* Read first, because the model is relative to it. */
    if (dir) read_key(r, TT_SET_LLAMA_CPP_DIR, dir);
    if (s->of[TT_SET_LLAMA_CPP_DIR].n)
        r->reader.other_folder = s->of[TT_SET_LLAMA_CPP_DIR].values->text;
    if (json_is_object(paths)) read_section(r, "paths", paths);
    const char *program = NULL;
    if (s->of[TT_SET_LLAMA_BINARY].n)
        program = s->of[TT_SET_LLAMA_BINARY].values->text;
    else if (s->of[TT_SET_LLAMA_CPP_DIR].n)
        program = tt_reader_join(&r->reader, r->reader.other_folder, DEFAULT_BINARY);
    const char *output = s->of[TT_SET_WEBUI_DATA_DIR].n
                             ? s->of[TT_SET_WEBUI_DATA_DIR].values->text
                             : tt_reader_join(&r->reader, r->reader.folder, DEFAULT_OUTPUT);
    if (program && !(s->program = strdup(program))) r->reader.no_memory = true;
    if (!(s->output = strdup(output))) r->reader.no_memory = true;
}

static tt_status read_root(reading *r, json_t *root, bool prompts_follow, tt_error *err)
{
    static const char *const sections[] = {"experiment", "conditions", "capture", "dataset"};
    check_sections(r, root);
    read_paths(r, root);
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        json_t *object = json_object_get(root, sections[i]);
        if (json_is_object(object)) read_section(r, sections[i], object);
    }
    r->s->has_conditions = json_object_get(root, "conditions") != NULL;
    r->s->has_temp_files = json_object_get(root, TT_KEY_IGNORED_SECTION) != NULL;
    if (!prompts_follow && !r->s->of[TT_SET_PROMPTS_FILE].n)
        check_whole(r->s, r->reader.diagnostics);
    if (r->reader.no_memory) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    return TT_OK;
}

/* Checks what was read: `before` diagnostics were there before. On failure *s is empty. */
static tt_status finish(tt_settings *s, tt_status status, const char *name,
                        const tt_diagnostics *diagnostics, size_t before, tt_error *err)
{
    const size_t n = tt_settings_experiments(s);
    if (status == TT_OK && diagnostics->n == before && n > TT_SETTINGS_EXPERIMENTS_MAX)
        status = tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET,
                              "%.100s: the sweep has %zu combinations; at most %u are taken", name,
                              n, TT_SETTINGS_EXPERIMENTS_MAX);
    if (status == TT_OK && diagnostics->n > before)
        status = tt_diagnostics_error(diagnostics, before, name, err);
    if (status != TT_OK) tt_settings_free(s);
    return status;
}

tt_status tt_settings_parse(tt_settings *s, const char *text, size_t size, const char *name,
                            const char *folder, bool prompts_follow, tt_diagnostics *diagnostics,
                            tt_error *err)
{
    reading r = {s, {diagnostics, folder, folder, &s->made, false}};
    size_t before = diagnostics->n;
    memset(s, 0, sizeof *s);
    json_t *root = NULL;
    tt_status status = tt_json_load(text, size, name, &root, err);
    if (status != TT_OK) return status;
    s->json = root;
    if (!json_is_object(root))
        tt_diagnose(diagnostics, "the settings are not an object but %s", tt_json_type_name(root));
    else
        status = read_root(&r, root, prompts_follow, err);
    return finish(s, status, name, diagnostics, before, err);
}

/* --- a file of prompts --- */

enum { PROMPT_TEXT, PROMPT_ID, PROMPT_DOMAIN, PROMPT_TOKENS, PROMPT_KEYS };
enum { PROMPTS_LIST, PROMPTS_NAME, PROMPTS_DESCRIPTION, PROMPTS_KEYS };

static const tt_key prompts_keys[PROMPTS_KEYS] = {
    {"", "prompts", TT_KEY_OTHER, 0, 0, NULL, true},
    {"", "experiment_name", TT_KEY_TEXT, 0, 0, NULL, false},
    {"", "description", TT_KEY_TEXT, 0, 0, NULL, false},
};

/* One prompt. In messages its keys are "prompts[2].domain". */
static void read_prompt(reading *r, size_t number, json_t *object, tt_prompt *out)
{
    char where[32];
    const char *key;
    json_t *v;
    (void)snprintf(where, sizeof where, "prompts[%zu]", number);
    const tt_key keys[PROMPT_KEYS] = {
        {where, "prompt", TT_KEY_TEXT, 0, 0, NULL, true},
        {where, "id", TT_KEY_TEXT, 0, 0, NULL, false},
        {where, "domain", TT_KEY_TEXT, 0, 0, NULL, false},
        {where, TOKENS_OTHER_KEY, TT_KEY_INTEGER, -1, tt_keys[TT_SET_TOKENS_TO_GENERATE].max, NULL,
         false},
    };
    tt_setting_value *const values[PROMPT_KEYS] = {&out->text, &out->label, &out->domain,
                                                   &out->tokens};
    if (!json_is_object(object)) {
        tt_diagnose(r->reader.diagnostics, "%s: an object is expected, not %s", where,
                    tt_json_type_name(object));
        return;
    }
    json_object_foreach(object, key, v)
    {
        size_t k = 0;
        while (k < PROMPT_KEYS && strcmp(keys[k].key, key) != 0)
            k++;
        if (k == PROMPT_KEYS)
            tt_reader_unknown(&r->reader, keys, PROMPT_KEYS, where, where, key);
        else if (tt_reader_value(&r->reader, &keys[k], v, values[k]) && k == PROMPT_TOKENS)
            out->has_tokens = true;
    }
    if (!json_object_get(object, "prompt"))
        tt_diagnose(r->reader.diagnostics, "%s.prompt is missing", where);
    out->text.integer = (int64_t)number;
}

static void read_prompts(reading *r, const json_t *list)
{
    tt_settings *s = r->s;
    const size_t n = json_array_size(list);
    tt_setting_values *values = &s->of[TT_SET_PROMPT];
    if (!json_is_array(list) || n == 0 || n > TT_SETTINGS_VALUES_MAX) {
        tt_diagnose(r->reader.diagnostics, "prompts: an array of 1 to %u prompts is expected",
                    TT_SETTINGS_VALUES_MAX);
        return;
    }
    free(values->values);
    *values = (tt_setting_values){0};
    s->prompts = calloc(n, sizeof *s->prompts);
    if (!s->prompts || !reserve(r, values, n)) {
        r->reader.no_memory = true;
        return;
    }
    s->n_prompts = values->n = n;
    for (size_t i = 0; i < n; i++) {
        read_prompt(r, i, json_array_get(list, i), &s->prompts[i]);
        values->values[i] = s->prompts[i].text;
    }
}

static void read_prompts_root(reading *r, json_t *root)
{
    static const tt_setting texts[PROMPTS_KEYS] = {
        [PROMPTS_NAME] = TT_SET_EXPERIMENT_NAME, [PROMPTS_DESCRIPTION] = TT_SET_DESCRIPTION};
    const char *key;
    json_t *v;
    json_object_foreach(root, key, v)
    {
        size_t k = 0;
        while (k < PROMPTS_KEYS && strcmp(prompts_keys[k].key, key) != 0)
            k++;
        if (k == PROMPTS_KEYS)
            tt_reader_unknown(&r->reader, prompts_keys, PROMPTS_KEYS, "", "", key);
        else if (k == PROMPTS_LIST)
            read_prompts(r, v);
        else if (!r->s->of[texts[k]].values)
            read_key(r, texts[k], v);
    }
    if (!json_object_get(root, "prompts")) tt_diagnose(r->reader.diagnostics, "prompts is missing");
}

tt_status tt_settings_add_prompts(tt_settings *s, const char *text, size_t size, const char *name,
                                  tt_diagnostics *diagnostics, tt_error *err)
{
    reading r = {s, {diagnostics, "/", "/", &s->made, false}};
    const size_t before = diagnostics->n;
    json_t *root = NULL;
    tt_status status = tt_json_load(text, size, name, &root, err);
    s->prompts_json = root;
    if (status == TT_OK && !json_is_object(root))
        tt_diagnose(diagnostics, "the prompts are not an object but %s", tt_json_type_name(root));
    else if (status == TT_OK)
        read_prompts_root(&r, root);
    if (status == TT_OK && diagnostics->n == before) check_whole(s, diagnostics);
    if (r.reader.no_memory) status = tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    return finish(s, status, name, diagnostics, before, err);
}

void tt_settings_free(tt_settings *s)
{
    for (size_t i = 0; i < TT_SET_COUNT; i++)
        free(s->of[i].values);
    tt_made_free(&s->made);
    free(s->prompts);
    free(s->program);
    free(s->output);
    json_decref(s->json);
    json_decref(s->prompts_json);
    memset(s, 0, sizeof *s);
}
