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

tt_status tt_settings_load(const char *path, char **text, size_t *size, char folder[PATH_MAX],
                           tt_error *err)
{
    FILE *f = fopen(path, "rbe");
    *text = f ? malloc(TT_SETTINGS_BYTES_MAX + 1) : NULL;
    *size = *text ? fread(*text, 1, TT_SETTINGS_BYTES_MAX + 1, f) : 0;
    tt_status status = TT_OK;
    if (!f || (*text && (ferror(f) || !find_base(path, fileno(f), folder))))
        status = tt_error_set(err, errno == ENOENT ? TT_E_NOT_FOUND : TT_E_IO, TT_NO_OFFSET,
                              "cannot read the settings %.200s: %s", path, strerror(errno));
    else if (!*text)
        status = tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    if (f) (void)fclose(f);
    if (status == TT_OK) return TT_OK;
    free(*text);
    *text = NULL;
    return status;
}

tt_status tt_settings_read(tt_settings *s, const char *path, tt_diagnostics *diagnostics,
                           tt_error *err)
{
    char folder[PATH_MAX];
    char *text;
    size_t size;
    memset(s, 0, sizeof *s);
    tt_status status = tt_settings_load(path, &text, &size, folder, err);
    if (status == TT_OK) status = tt_settings_parse(s, text, size, path, folder, diagnostics, err);
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

static void complain_unknown_section(reading *r, const char *key)
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
        tt_diagnose(r->reader.diagnostics,
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
            tt_diagnose(r->reader.diagnostics, "%s: an object is expected, not %s", key,
                        tt_json_type_name(v));
    }
}

static void check_whole(reading *r)
{
    const tt_settings *s = r->s;
    for (size_t i = 0; i < TT_SET_COUNT; i++)
        if (tt_keys[i].required && s->of[i].n == 0 && !s->of[i].values)
            tt_diagnose(r->reader.diagnostics, "%s.%s is missing", tt_keys[i].section,
                        tt_keys[i].key);
    bool prompt = s->of[TT_SET_PROMPT].values, file = s->of[TT_SET_PROMPT_FILE].values;
    if (!prompt && !file) tt_diagnose(r->reader.diagnostics, "experiment.prompt is missing");
    if (prompt && file)
        tt_diagnose(r->reader.diagnostics,
                    "experiment.prompt and experiment.prompt_file exclude each other");
    if (s->program && s->of[TT_SET_ENGINE_PATH].n)
        tt_diagnose(r->reader.diagnostics,
                    "experiment.engine_path is for the built-in runner, and paths.llama_binary (or "
                    "llama_cpp_dir) names another program: leave one of them out");
    if (!s->program && s->of[TT_SET_PROGRAM_ARGUMENTS].n)
        tt_diagnose(r->reader.diagnostics, "experiment.program_arguments is for the program that "
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
    if (r->reader.no_memory) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    return TT_OK;
}

tt_status tt_settings_parse(tt_settings *s, const char *text, size_t size, const char *name,
                            const char *folder, tt_diagnostics *diagnostics, tt_error *err)
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
        status = read_root(&r, root, err);
    size_t n = tt_settings_experiments(s);
    if (status == TT_OK && diagnostics->n == before && n > TT_SETTINGS_EXPERIMENTS_MAX)
        status = tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET,
                              "%.100s: the sweep has %zu combinations; at most %u are taken", name,
                              n, TT_SETTINGS_EXPERIMENTS_MAX);
    if (status == TT_OK && diagnostics->n > before)
        status = tt_diagnostics_error(diagnostics, before, name, err);
    if (status != TT_OK) tt_settings_free(s);
    return status;
}

void tt_settings_free(tt_settings *s)
{
    for (size_t i = 0; i < TT_SET_COUNT; i++)
        free(s->of[i].values);
    tt_made_free(&s->made);
    free(s->program);
    free(s->output);
    json_decref(s->json);
    memset(s, 0, sizeof *s);
}
