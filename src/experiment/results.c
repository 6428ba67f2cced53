#include "experiment/results.h"

#include "base/array.h"
#include "base/checksum.h"
#include "base/path.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static tt_status io_error(tt_error *err, const char *path)
{
    return tt_error_set(err, errno == ENOENT ? TT_E_NOT_FOUND : TT_E_IO, TT_NO_OFFSET,
                        "cannot read %.250s: %s", path, strerror(errno));
}

static void put_text(tt_bytes *out, const char *text)
{
    tt_bytes_str(out, text, strlen(text));
}

tt_status tt_stamp_file(tt_bytes *out, const char *path, tt_error *err)
{
    struct stat st;
    if (stat(path, &st) != 0) return io_error(err, path);
    put_text(out, path);
    tt_bytes_u64(out, (uint64_t)st.st_size);
    tt_bytes_u64(out, (uint64_t)st.st_mtim.tv_sec);
    tt_bytes_u64(out, (uint64_t)st.st_mtim.tv_nsec);
    return TT_OK;
}

static int is_library(const struct dirent *entry)
{
    const char *so = strstr(entry->d_name, ".so");
    return so && (so[3] == '\0' || so[3] == '.');
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

tt_status tt_stamp_libraries(tt_bytes *out, const char *folder, tt_error *err)
{
    struct dirent **entries;
    char path[2 * PATH_MAX];
    int n = scandir(folder, &entries, is_library, by_bytes);
    if (n < 0) return io_error(err, folder);
    tt_status status = TT_OK;
    for (int i = 0; i < n; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        if (status == TT_OK) status = tt_stamp_file(out, path, err);
        free(entries[i]);
    }
    free(entries);
    return status;
}

tt_status tt_stamp_content(tt_bytes *out, const char *path, size_t limit, tt_error *err)
{
    FILE *f = fopen(path, "rbe");
    char *content = f ? malloc(limit + 1) : NULL;
    tt_status status = TT_OK;
    if (!f) return io_error(err, path);
    size_t n = content ? fread(content, 1, limit + 1, f) : 0;
    if (!content)
        status = tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    else if (ferror(f))
        status = io_error(err, path);
    else if (n > limit)
        status = tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET, "%.250s has more than %zu bytes", path,
                              limit);
    else
        tt_bytes_u64(out, tt_checksum(content, n));
    free(content);
    (void)fclose(f);
    return status;
}

tt_status tt_stamp_key(const tt_bytes *stamp, char out[TT_STAMP_KEY], tt_error *err)
{
    if (stamp->failed) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    (void)snprintf(out, TT_STAMP_KEY, "%016" PRIx64, tt_checksum(stamp->data, stamp->size));
    return TT_OK;
}

#define FORMAT_VERSION 1

/* --- run.json --- */

const char *tt_result_short(char *out, size_t room, const char *text)
{
    const size_t n = text ? strlen(text) : 0;
    size_t keep = n > TT_RESULT_SHOWN ? TT_RESULT_SHOWN : n;
    char cut[TT_RESULT_SHOWN + 8];
    while (keep < n && keep > 0 && ((unsigned char)text[keep] & 0xc0) == 0x80)
        keep--;
    (void)snprintf(cut, sizeof cut, "%.*s%s", (int)keep, text ? text : "", keep < n ? "..." : "");
    tt_cell_text_copy(out, room, cut);
    return out;
}

const char *tt_result_file(const char *path)
{
    return path ? tt_base_name(path) : NULL;
}

/* A text in which "" means unknown. */
#define TEXT_OF(name_, text_)                                                                      \
    TT_COLUMN_GET(get_##name_, tt_result, r,                                                       \
                  tt_cell_text(cell, (text_) && *(text_) ? (text_) : NULL);)
/* The text as shown in tables. */
#define SHORT_OF(name_, text_)                                                                     \
    TT_COLUMN_SHOW(show_##name_, tt_result, r, (void)tt_result_short(out, room, text_);)

TEXT_OF(timestamp_start, r->timestamp_start)
TEXT_OF(model_file, r->model_file)
TEXT_OF(experiment_name, r->experiment_name)
TEXT_OF(label, r->label)
TEXT_OF(domain, r->domain)
TEXT_OF(options, r->options)
TEXT_OF(engine, r->engine)
TEXT_OF(condition, r->condition)
TEXT_OF(unmet, r->unmet)
TEXT_OF(ending, r->ending)
TEXT_OF(start, r->start)
SHORT_OF(condition, r->condition)
TT_COLUMN_GET(get_state, tt_result, r, tt_cell_text(cell, r->ending ? "killed" : "done");)
TT_COLUMN_KNOWN(has_limit, tt_result, r, r->memory_limit_bytes > 0)
TT_COLUMN_KNOWN(has_peak, tt_result, r, r->group_peak_bytes > 0)
TT_COLUMN_KNOWN(has_resident, tt_result, r, r->has_resident)
TT_COLUMN_KNOWN(has_repetition, tt_result, r, r->repetition > 0)
TT_COLUMN_KNOWN(has_order, tt_result, r, r->run_order > 0)
TT_COLUMN_KNOWN(has_order_seed, tt_result, r, r->has_order_seed)
SHORT_OF(model_file, tt_result_file(r->model_file))
SHORT_OF(prompt, r->prompt)
SHORT_OF(options, r->options)
SHORT_OF(engine, r->engine)
TT_COLUMN_GET(get_id, tt_result, r, tt_cell_text(cell, r->id);)
TT_COLUMN_GET(get_folder, tt_result, r, tt_cell_text(cell, r->folder);)
TT_COLUMN_GET(get_version, tt_result, r, tt_cell_text(cell, r->identity.version);)
TT_COLUMN_GET(get_current, tt_result, r, tt_cell_text(cell, r->is_current ? "*" : NULL);)
/* "2026-11-21 13:17:02" of "2026-11-21T13:17:02.123456Z" */
TT_COLUMN_SHOW(show_start, tt_result, r, char when[20];
               (void)snprintf(when, sizeof when, "%.19s", r->timestamp_start);
               if (strlen(when) == 19) when[10] = ' '; tt_cell_text_copy(out, room, when);)
TT_COLUMN_KNOWN(has_threads, tt_result, r, r->threads > 0)
TT_COLUMN_KNOWN(has_rate, tt_result, r, r->tokens_per_s > 0)
TT_COLUMN_SHOW(show_rate, tt_result, r,
               if (r->tokens_per_s > 0)(void) snprintf(out, room, "%.1f", r->tokens_per_s);
               else(void) snprintf(out, room, "-");)

#define TEXT(key_, title_, about_, ...)                                                            \
    TT_COLUMN(#key_, title_, NONE, about_, .nullable = true, .type = TT_CELL_NAME,                 \
              .get = get_##key_, __VA_ARGS__)
#define SHORT(key_, title_, about_, ...)                                                           \
    TEXT(key_, title_, about_, .text = show_##key_, .show = TT_SHOW_CUT __VA_ARGS__)
#define NUMBER(key_, title_, unit_, about_, ...)                                                   \
    TT_COLUMN(#key_, title_, unit_, about_, TT_MEMBER(tt_result, key_), __VA_ARGS__)

static const tt_column result_columns[] = {
    TT_COLUMN("current", "", NONE, "*: the folder's links point to it", .type = TT_CELL_NAME,
              .show = TT_SHOW_TEXT, .get = get_current),
    TT_COLUMN("folder", "FOLDER", NONE, "name of its folder", .type = TT_CELL_NAME,
              .show = TT_SHOW_CUT | TT_SHOW_KEY, .get = get_folder),
    TT_COLUMN("experiment_id", "ID", NONE, "id of its trace", .type = TT_CELL_NAME,
              .show = TT_SHOW_ASKED, .get = get_id),
    TEXT(timestamp_start, "STARTED (UTC)", "when it began", .show = TT_SHOW_WIDEST,
         .text = show_start),
    TEXT(experiment_name, NULL, "name shared by all experiments of a command"),
    TEXT(label, "LABEL", "its name within the command", .show = TT_SHOW_ASKED),
    TEXT(domain, "DOMAIN", "domain of its prompt", .show = TT_SHOW_WIDE | TT_SHOW_KNOWN),
    SHORT(model_file, "MODEL", "the model's file"),
    TT_COLUMN("prompt", "PROMPT", NONE, "its prompt, or the file with it", .nullable = true,
              .show = TT_SHOW_CUT | TT_SHOW_WIDEST, .text = show_prompt,
              TT_MEMBER(tt_result, prompt)),
    NUMBER(tokens_to_generate, "TOKENS", NONE, "number of tokens to generate",
           .show = TT_SHOW_WIDEST),
    NUMBER(threads, "THREADS", NONE, "threads of the program", .nullable = true,
           .known = has_threads, .show = TT_SHOW_DASH | TT_SHOW_WIDE),
    NUMBER(n_batches, "BATCHES", NONE, "number of batches computed", .show = TT_SHOW_WIDEST),
    NUMBER(tokens_per_s, "TOKENS/S", NONE, "rate of generation", .nullable = true,
           .known = has_rate, .text = show_rate),
    NUMBER(inference_ns, NULL, NS, "duration of the traced program"),
    NUMBER(duration_ns, NULL, NS, "duration of all stages"),
    NUMBER(n_files, NULL, COUNT, "files of the result"),
    NUMBER(size_bytes, "SIZE", BYTES, "size of the result", .show = TT_SHOW_WIDE),
    SHORT(engine, "ENGINE", "name and version of the engine, or the program", | TT_SHOW_WIDEST),
    SHORT(options, "OPTIONS", "other settings", | TT_SHOW_KNOWN),
    TT_COLUMN("state", "STATE", NONE, "done; killed (by the system, see ending)",
              .type = TT_CELL_NAME, .show = TT_SHOW_ASKED, .get = get_state),
    SHORT(condition, "CONDITION", "its settings and conditions, without prompt and repetition",
          | TT_SHOW_ASKED),
    TEXT(ending, "ENDING", "how the system killed it", .show = TT_SHOW_WIDE | TT_SHOW_KNOWN),
    TEXT(unmet, "UNMET", "conditions that the system did not allow",
         .show = TT_SHOW_WIDE | TT_SHOW_KNOWN),
    TEXT(start, "START", "cold: no page of the model was in RAM; warm: all pages were",
         .show = TT_SHOW_ASKED),
    NUMBER(memory_limit_bytes, "LIMIT", BYTES, "its memory limit", .nullable = true,
           .known = has_limit, .show = TT_SHOW_KNOWN),
    NUMBER(group_peak_bytes, "PEAK", BYTES, "the most memory that it used, including page cache",
           .nullable = true, .known = has_peak, .show = TT_SHOW_KNOWN | TT_SHOW_WIDE),
    NUMBER(resident_bytes, "RESIDENT", BYTES, "bytes of the model in RAM when it started",
           .nullable = true, .known = has_resident, .show = TT_SHOW_ASKED),
    NUMBER(repetition, "REPETITION", NONE, "number of this repetition of its combination",
           .nullable = true, .known = has_repetition, .show = TT_SHOW_ASKED),
    NUMBER(run_order, "ORDER", NONE,
           "position in the order in which the command ran its experiments", .nullable = true,
           .known = has_order, .show = TT_SHOW_ASKED),
    NUMBER(order_seed, "ORDER SEED", NONE, "seed of the random order", .nullable = true,
           .known = has_order_seed, .show = TT_SHOW_ASKED),
    TT_COLUMN("tensortrace_version", NULL, NONE, "version of tensortrace that made it",
              .type = TT_CELL_NAME, .get = get_version),
};

const tt_schema tt_result_schema = {"experiments", "an experiment that was kept", result_columns,
                                    sizeof result_columns / sizeof *result_columns};

void tt_result_json(tt_json *j, const tt_result *r)
{
    const tt_rowset set = TT_ROWSET(&tt_result_schema, 0, NULL, r, 1);
    tt_rowset_json(j, &set, r);
}

static const tt_column stage_columns[] = {
    TT_COLUMN("name", NULL, NONE, "of the stage", TT_MEMBER(tt_stage_sum, name)),
    TT_COLUMN("duration_ns", NULL, NS, "it took", TT_MEMBER(tt_stage_sum, duration_ns)),
    TT_COLUMN("n_files", NULL, COUNT, "it wrote", TT_MEMBER(tt_stage_sum, n_files)),
    TT_COLUMN("size_bytes", NULL, BYTES, "of them", TT_MEMBER(tt_stage_sum, size_bytes)),
};

static const tt_schema stage_schema = {"stages", "a stage of an experiment", stage_columns,
                                       sizeof stage_columns / sizeof *stage_columns};

static void put_value(tt_json *j, tt_setting setting, const tt_setting_value *v)
{
    char text[TT_SETTING_TEXT];
    const char *shown = tt_setting_show(setting, v, text);
    if (v->text)
        tt_json_string(j, v->text);
    else if (strcmp(shown, "true") == 0 || strcmp(shown, "false") == 0)
        tt_json_bool(j, v->integer != 0);
    else if (setting == TT_SET_TEMPERATURE)
        tt_json_double(j, v->number);
    else
        tt_json_i64(j, v->integer);
}

static void put_settings(tt_json *j, const tt_settings *s, const tt_experiment *e)
{
    tt_json_key(j, "settings");
    tt_json_object(j);
    for (size_t i = 0; i < TT_SET_COUNT; i++) {
        if (!e->of[i] || i == TT_SET_PROGRAM_ARGUMENTS) continue;
        const char *section = tt_setting_section((tt_setting)i);
        if (strcmp(section, "paths") == 0) continue; /* where, not what */
        char key[64];
        bool plain = strcmp(section, "experiment") == 0;
        (void)snprintf(key, sizeof key, "%s%s%s", plain ? "" : section, plain ? "" : ".",
                       tt_setting_key((tt_setting)i));
        tt_json_key(j, key);
        put_value(j, (tt_setting)i, e->of[i]);
    }
    const tt_setting_values *words = &s->of[TT_SET_PROGRAM_ARGUMENTS];
    if (words->n) {
        tt_json_key(j, tt_setting_key(TT_SET_PROGRAM_ARGUMENTS));
        tt_json_array(j);
        for (size_t i = 0; i < words->n; i++)
            tt_json_string(j, words->values[i].text);
        tt_json_array_end(j);
    }
    tt_json_object_end(j);
}

bool tt_result_write(const tt_result *r, const tt_settings *s, const tt_experiment *e, FILE *out)
{
    const tt_rowset stages = TT_ROWSET(&stage_schema, 0, NULL, r->stages, r->n_stages);
    tt_json j;
    tt_json_begin(&j, out, 2);
    tt_json_object(&j);
    tt_json_kv_u64(&j, "run_format", FORMAT_VERSION);
    tt_result_json(&j, r);
    tt_json_kv_string(&j, "command", r->command);
    put_settings(&j, s, e);
    tt_rowset_json_rows(&j, "stages", &stages, NULL);
    tt_json_key(&j, "identity");
    tt_json_object(&j);
    tt_json_kv_string(&j, "settings", r->identity.settings);
    tt_json_kv_string(&j, "model", r->identity.model);
    tt_json_kv_string(&j, "engine", r->identity.engine);
    tt_json_object_end(&j);
    tt_json_object_end(&j);
    return tt_json_end(&j);
}

/* --- names of folders --- */

bool tt_result_is_id(const char *name)
{
    return strspn(name, "0123456789abcdef") == TT_RESULT_ID - 1 && name[TT_RESULT_ID - 1] == '\0';
}

bool tt_result_is_name(const char *name)
{
    const size_t digits = strspn(name, "0123456789");
    const bool is_numbered = digits >= 2 && digits < 8 && name[digits] == '-';
    return (is_numbered || tt_result_is_id(name)) && strlen(name) < TT_RESULT_FOLDER;
}

bool tt_result_current(const char *folder, char name[TT_RESULT_FOLDER])
{
    char path[PATH_MAX];
    const int length = snprintf(path, sizeof path, "%s/" TT_RESULT_CURRENT, folder);
    if (length < 0 || length >= PATH_MAX) return false;
    ssize_t n = readlink(path, name, TT_RESULT_FOLDER);
    if (n <= 0 || n >= (ssize_t)TT_RESULT_FOLDER) return false;
    name[n] = '\0';
    return tt_result_is_name(name);
}

/* --- reading run.json --- */

static void get_text(const json_t *root, const char *key, char *out, size_t size)
{
    const char *text = json_string_value(json_object_get(root, key));
    (void)snprintf(out, size, "%s", text ? text : "");
}

static char *copy_text(const json_t *root, const char *key)
{
    const char *text = json_string_value(json_object_get(root, key));
    return text ? strdup(text) : NULL;
}

static uint64_t get_u64(const json_t *root, const char *key)
{
    json_int_t v = json_integer_value(json_object_get(root, key));
    return v > 0 ? (uint64_t)v : 0;
}

static bool read_result(tt_result *r, const json_t *root)
{
    const json_t *identity = json_object_get(root, "identity");
    get_text(root, "experiment_id", r->id, sizeof r->id);
    get_text(root, "timestamp_start", r->timestamp_start, sizeof r->timestamp_start);
    get_text(root, "tensortrace_version", r->identity.version, sizeof r->identity.version);
    get_text(identity, "settings", r->identity.settings, sizeof r->identity.settings);
    get_text(identity, "model", r->identity.model, sizeof r->identity.model);
    get_text(identity, "engine", r->identity.engine, sizeof r->identity.engine);
    r->experiment_name = copy_text(root, "experiment_name");
    r->label = copy_text(root, "label");
    r->domain = copy_text(root, "domain");
    r->model_file = copy_text(root, "model_file");
    if (!r->model_file) r->model_file = strdup("");
    r->prompt = copy_text(root, "prompt");
    r->engine = copy_text(root, "engine");
    r->options = copy_text(root, "options");
    r->command = copy_text(root, "command");
    r->condition = copy_text(root, "condition");
    r->unmet = copy_text(root, "unmet");
    r->ending = copy_text(root, "ending");
    get_text(root, "start", r->start, sizeof r->start);
    r->memory_limit_bytes = get_u64(root, "memory_limit_bytes");
    r->group_peak_bytes = get_u64(root, "group_peak_bytes");
    r->has_resident = json_is_integer(json_object_get(root, "resident_bytes"));
    r->resident_bytes = get_u64(root, "resident_bytes");
    r->repetition = get_u64(root, "repetition");
    r->run_order = get_u64(root, "run_order");
    r->has_order_seed = json_is_integer(json_object_get(root, "order_seed"));
    r->order_seed = get_u64(root, "order_seed");
    r->tokens_to_generate = json_integer_value(json_object_get(root, "tokens_to_generate"));
    r->threads = get_u64(root, "threads");
    r->n_batches = get_u64(root, "n_batches");
    r->inference_ns = get_u64(root, "inference_ns");
    r->duration_ns = get_u64(root, "duration_ns");
    r->n_files = get_u64(root, "n_files");
    r->size_bytes = get_u64(root, "size_bytes");
    double rate = json_number_value(json_object_get(root, "tokens_per_s"));
    r->tokens_per_s = rate > 0 && isfinite(rate) ? rate : 0;
    return tt_result_is_id(r->id) && json_is_object(identity) && r->model_file &&
           (!r->condition || strlen(r->condition) <= TT_RESULT_CONDITION_MAX);
}

tt_status tt_result_parse(tt_result *r, const char *text, size_t size, const char *name,
                          tt_error *err)
{
    json_error_t where;
    memset(r, 0, sizeof *r);
    json_t *root = json_loadb(text, size, 0, &where);
    if (!root)
        return tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET, "%.200s: line %d, column %d: not JSON",
                            name, where.line, where.column);
    bool ok = json_integer_value(json_object_get(root, "run_format")) == FORMAT_VERSION &&
              read_result(r, root);
    json_decref(root);
    if (ok) return TT_OK;
    return tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET,
                        "%.200s: not what this version of tensortrace writes", name);
}

void tt_result_free(tt_result *r)
{
    free(r->experiment_name);
    free(r->label);
    free(r->domain);
    free(r->model_file);
    free(r->prompt);
    free(r->engine);
    free(r->options);
    free(r->command);
    free(r->condition);
    free(r->unmet);
    free(r->ending);
    memset(r, 0, sizeof *r);
}

/* --- a folder of experiments --- */

static tt_status read_file(tt_result *r, const char *path, tt_error *err)
{
    FILE *f = fopen(path, "rbe");
    memset(r, 0, sizeof *r);
    if (!f)
        return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot read %.200s: %s", path,
                            strerror(errno));
    char *text = malloc(TT_RESULT_BYTES_MAX);
    size_t n = text ? fread(text, 1, TT_RESULT_BYTES_MAX, f) : 0;
    bool failed = ferror(f) != 0;
    (void)fclose(f);
    tt_status status;
    if (!text)
        status = tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    else if (failed || n == TT_RESULT_BYTES_MAX)
        status = tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot read %.200s", path);
    else
        status = tt_result_parse(r, text, n, path, err);
    free(text);
    return status;
}

bool tt_results_add(tt_results *results, tt_result *r)
{
    if (!tt_array_one_more(results->list, results->n, results->capacity)) return false;
    results->list[results->n++] = *r;
    memset(r, 0, sizeof *r);
    return true;
}

const tt_result *tt_results_by_id(const tt_results *results, const char *id)
{
    for (size_t i = results->n; i-- > 0;)
        if (strcmp(results->list[i].id, id) == 0) return &results->list[i];
    return NULL;
}

static tt_status add_file(tt_results *results, const char *folder, const char *name, tt_error *err)
{
    char path[PATH_MAX + 64];
    tt_error why;
    tt_result r;
    (void)snprintf(path, sizeof path, "%s/%s/" TT_RESULT_FILE, folder, name);
    tt_status status = read_file(&r, path, &why);
    if (status == TT_OK && tt_result_is_id(name) && strcmp(r.id, name) != 0)
        status =
            tt_error_set(&why, TT_E_FORMAT, TT_NO_OFFSET, "%.200s is of another experiment", path);
    (void)snprintf(r.folder, sizeof r.folder, "%s", name);
    if (status == TT_OK && !tt_results_add(results, &r))
        (void)tt_error_set(err, status = TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    tt_result_free(&r);
    if (status == TT_OK || status == TT_E_MEMORY) return status;
    if (results->n_unreadable++ == 0)
        (void)snprintf(results->unreadable, sizeof results->unreadable, "%.319s", why.message);
    return TT_OK;
}

static int by_time(const void *a, const void *b)
{
    const tt_result *x = a, *y = b;
    int order = strcmp(x->timestamp_start, y->timestamp_start);
    return order ? order : strcmp(x->id, y->id);
}

tt_status tt_results_scan(tt_results *results, const char *folder, tt_error *err)
{
    char current[TT_RESULT_FOLDER];
    memset(results, 0, sizeof *results);
    DIR *dir = opendir(folder);
    if (!dir && errno == ENOENT) return TT_OK;
    if (!dir)
        return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot read %.250s: %s", folder,
                            strerror(errno));
    tt_status status = TT_OK;
    const struct dirent *entry;
    while (status == TT_OK && (entry = readdir(dir)) != NULL) {
        if (!tt_result_is_name(entry->d_name)) continue;
        if (results->n >= TT_RESULTS_MAX)
            status = tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET,
                                  "%.250s holds more than %u experiments", folder, TT_RESULTS_MAX);
        else
            status = add_file(results, folder, entry->d_name, err);
    }
    (void)closedir(dir);
    if (results->n) qsort(results->list, results->n, sizeof *results->list, by_time);
    if (tt_result_current(folder, current))
        for (size_t i = 0; i < results->n; i++)
            results->list[i].is_current = strcmp(results->list[i].folder, current) == 0;
    if (status != TT_OK) tt_results_free(results);
    return status;
}

void tt_results_free(tt_results *results)
{
    for (size_t i = 0; i < results->n; i++)
        tt_result_free(&results->list[i]);
    free(results->list);
    memset(results, 0, sizeof *results);
}

const tt_result *tt_results_find(const tt_results *results, const tt_identity *wanted,
                                 char changed[64])
{
    changed[0] = '\0';
    for (size_t i = results->n; i-- > 0;) {
        const tt_identity *got = &results->list[i].identity;
        if (strcmp(got->settings, wanted->settings) != 0) continue;
        bool model = strcmp(got->model, wanted->model) != 0;
        bool engine = strcmp(got->engine, wanted->engine) != 0;
        bool version = strcmp(got->version, wanted->version) != 0;
        if (!model && !engine && !version) return &results->list[i];
        if (changed[0]) continue; /* report the newest of these */
        (void)snprintf(changed, 64, "%s%s%s%s%s", model ? "the model" : "",
                       model && engine ? ", " : "", engine ? "the engine" : "",
                       (model || engine) && version ? ", " : "", version ? "tensortrace" : "");
    }
    return NULL;
}

void tt_results_json(tt_json *j, const tt_results *results)
{
    tt_json_array(j);
    for (size_t i = 0; i < results->n; i++) {
        tt_json_object(j);
        tt_result_json(j, &results->list[i]);
        tt_json_kv_bool(j, "is_current", results->list[i].is_current);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
}
