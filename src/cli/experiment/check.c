/* Checks all inputs before anything is run. */
#include "base/units.h"
#include "cli/experiment/experiment.h"
#include "cli/hook_path.h"
#include "experiment/conditions.h"
#include "gguf/reader.h"
#include "runner/engine_find.h"
#include "runner/program_probe.h"
#include "value/select.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROMPT_FILE_MAX ((size_t)64 << 20)
#define PROMPT_ARGUMENT_MAX                                                                        \
    ((size_t)100 << 10) /* the kernel's limit for an argument is 128 KiB                           \
                         */

static char *copy(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static char *copy(const char *fmt, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, fmt);
    int n = vasprintf(&text, fmt, args);
    va_end(args);
    return n < 0 ? NULL : text;
}

static tt_status finish(tt_bytes *stamp, tt_bench_input *out, tt_error *err)
{
    tt_status status = tt_stamp_key(stamp, out->key, err);
    tt_bytes_free(stamp);
    return status;
}

/* --- models --- */

static void diagnose_model(const char *path, const tt_settings *s, const tt_error *why,
                           tt_diagnostics *diagnostics)
{
    const char *relative = s->of[TT_SET_LLAMA_CPP_DIR].n
                               ? "; experiment.model_path is relative to paths.llama_cpp_dir"
                               : "";
    if (access(path, F_OK) != 0)
        tt_diagnose(diagnostics, "the model %s: %s%s", path, strerror(errno), relative);
    else
        tt_diagnose(diagnostics, "the model %s", why->message); /* it names the file */
}

static tt_status check_model(const char *path, const tt_settings *s, tt_bench_input *out,
                             tt_diagnostics *diagnostics, tt_error *err)
{
    tt_gguf model;
    tt_error why;
    tt_bytes stamp;
    char size[TT_UNITS_TEXT];
    if (tt_gguf_open(&model, path, &why) != TT_OK) {
        diagnose_model(path, s, &why, diagnostics);
        return TT_OK;
    }
    tt_gguf_shape shape = tt_gguf_shape_of(&model);
    tt_bytes_init(&stamp, TT_STAMP_BYTES_MAX);
    tt_status status = TT_OK;
    for (size_t i = 0; status == TT_OK && i < model.n_parts; i++)
        status = tt_stamp_file(&stamp, model.parts[i].path, err);
    tt_units_bytes(size, model.size_bytes);
    out->about = shape.n_layers < 0 ? copy("%zu tensors, %s", model.n_tensors, size)
                                    : copy("%" PRId64 " layers, %zu tensors, %s", shape.n_layers,
                                           model.n_tensors, size);
    out->size_bytes = model.size_bytes;
    out->files = calloc(model.n_parts + 1, sizeof *out->files);
    for (size_t i = 0; out->files && i < model.n_parts; i++)
        if ((out->files[i] = strdup(model.parts[i].path))) out->n_files++;
    if (out->n_files < model.n_parts) status = tt_error_memory(err, "the names of a model's files");
    tt_gguf_close(&model);
    if (status != TT_OK) {
        tt_bytes_free(&stamp);
        return status;
    }
    return finish(&stamp, out, err);
}

/* --- engines and programs --- */

static tt_status check_engine(const char *dir, tt_bench_input *out, tt_diagnostics *diagnostics,
                              tt_error *err)
{
    tt_engine_found engine;
    tt_error why;
    tt_bytes stamp;
    if (tt_engine_find(dir, &engine, &why) != TT_OK) {
        tt_diagnose(diagnostics, "the engine%s: %s", dir ? " (experiment.engine_path)" : "",
                    why.message);
        return TT_OK;
    }
    tt_bytes_init(&stamp, TT_STAMP_BYTES_MAX);
    tt_status status = tt_stamp_libraries(&stamp, engine.dir, err);
    if (status != TT_OK) {
        tt_bytes_free(&stamp);
        return status;
    }
    out->about = copy("llama.cpp %s in %s",
                      engine.release[0] ? engine.release : "(no release name)", engine.dir);
    return finish(&stamp, out, err);
}

/* The program, the llama.cpp libraries it links, and those beside it, which it may open later. */
static tt_status stamp_program(tt_bytes *stamp, const tt_program_probe *probe, const char *program,
                               tt_error *err)
{
    char folder[PATH_MAX];
    (void)snprintf(folder, sizeof folder, "%s", program);
    char *slash = strrchr(folder, '/');
    if (slash) slash[slash == folder] = '\0';
    tt_status status = tt_stamp_file(stamp, program, err);
    if (status == TT_OK) status = tt_stamp_libraries(stamp, folder, err);
    for (size_t i = 0; status == TT_OK && i < probe->n_libraries; i++) {
        const tt_program_library *l = &probe->libraries[i];
        if (l->path[0] && (strstr(l->name, "llama") || strstr(l->name, "ggml")))
            status = tt_stamp_file(stamp, l->path, err);
    }
    return status;
}

static tt_status check_program(const char *program, tt_bench_input *out,
                               tt_diagnostics *diagnostics, tt_error *err)
{
    tt_program_probe *probe;
    tt_error why;
    tt_bytes stamp;
    struct stat st;
    if (stat(program, &st) != 0) {
        tt_diagnose(diagnostics, "the program %s: %s (paths.llama_cpp_dir, paths.llama_binary)",
                    program, strerror(errno));
        return TT_OK;
    }
    if (!S_ISREG(st.st_mode) || access(program, X_OK) != 0) {
        tt_diagnose(diagnostics, "the program %s: not an executable file (paths.llama_binary)",
                    program);
        return TT_OK;
    }
    if (tt_program_probe_new(program, &probe, &why) != TT_OK) {
        tt_diagnose(diagnostics, "the program %s: %s", program, why.message);
        return TT_OK;
    }
    if (probe->verdict == TT_PROGRAM_NO)
        tt_diagnose(diagnostics, "the program %s cannot be traced: %s", program, probe->why);
    tt_bytes_init(&stamp, TT_STAMP_BYTES_MAX);
    tt_status status = stamp_program(&stamp, probe, program, err);
    free(probe);
    if (status != TT_OK) {
        tt_bytes_free(&stamp);
        return status;
    }
    out->about = copy("%s", program);
    return finish(&stamp, out, err);
}

/* --- prompts --- */

static tt_status check_prompt_file(const char *path, tt_bench_input *out,
                                   tt_diagnostics *diagnostics, tt_error *err)
{
    tt_error why;
    tt_bytes stamp;
    tt_bytes_init(&stamp, TT_STAMP_BYTES_MAX);
    if (tt_stamp_content(&stamp, path, PROMPT_FILE_MAX, &why) != TT_OK) {
        tt_diagnose(diagnostics, "the prompt: %s", why.message);
        tt_bytes_free(&stamp);
        return TT_OK;
    }
    return finish(&stamp, out, err);
}

static void check_prompts(const tt_settings *s, tt_diagnostics *diagnostics)
{
    const tt_setting_values *prompts = &s->of[TT_SET_PROMPT];
    for (size_t i = 0; i < prompts->n; i++)
        if (strlen(prompts->values[i].text) > PROMPT_ARGUMENT_MAX)
            tt_diagnose(diagnostics,
                        "experiment.prompt: number %zu has over %zu KiB, too much for a command "
                        "line: put it into a file and name that in experiment.prompt_file",
                        i + 1, PROMPT_ARGUMENT_MAX >> 10);
}

/* --- the rest --- */

static void diagnose_foreign(void *context, const char *name)
{
    tt_diagnose(context,
                "\"%s\" is there already, made by something else (--force moves it into a "
                "folder earlier-DATE-TIME)",
                name);
}

/* The folder of the results, or the existing part of its path. */
static void check_output(const tt_settings *s, bool replaces, tt_diagnostics *diagnostics)
{
    char path[PATH_MAX];
    struct stat st;
    (void)snprintf(path, sizeof path, "%s", s->output);
    while (stat(path, &st) != 0 && errno == ENOENT) {
        char *slash = strrchr(path, '/');
        if (!slash) return;
        slash[slash == path] = '\0';
    }
    if (stat(path, &st) != 0)
        tt_diagnose(diagnostics, "the output folder %s: %s", s->output, strerror(errno));
    else if (!S_ISDIR(st.st_mode))
        tt_diagnose(diagnostics, "the output folder %s: %s is not a folder", s->output, path);
    else if (access(path, W_OK | X_OK) != 0)
        tt_diagnose(diagnostics, "the output folder %s: cannot write into %s: %s", s->output, path,
                    strerror(errno));
    else if (!replaces && strcmp(path, s->output) == 0)
        (void)tt_store_foreign(s->output, diagnose_foreign, diagnostics);
}

static bool is_ever_false(const tt_setting_values *list)
{
    bool found = false;
    for (size_t i = 0; i < list->n; i++)
        found |= list->values[i].integer == 0;
    return found;
}

static void check_capture(const tt_settings *s, tt_diagnostics *diagnostics)
{
    char hook[PATH_MAX];
    tt_error why;
    uint32_t first, last;
    tt_select select;
    const tt_setting_values *tokens = &s->of[TT_SET_CAPTURE_TOKENS];
    const tt_setting_values *values = &s->of[TT_SET_CAPTURE_VALUES];
    if (tt_hook_path_find(hook, sizeof hook, &why) != TT_OK)
        tt_diagnose(diagnostics, "tensortrace's own library: %s", why.message);
    if (tokens->n && !tt_units_parse_range(tokens->values->text, &first, &last))
        tt_diagnose(diagnostics, "capture.tokens: \"%.40s\" is not a number or a range like 3..9",
                    tokens->values->text);
    if (values->n && tt_select_parse(values->values->text, &select, &why) != TT_OK)
        tt_diagnose(diagnostics, "capture.values: %s", why.message);
    else if (values->n && select.level != TT_VALUES_OFF &&
             is_ever_false(&s->of[TT_SET_CAPTURE_TEXT]))
        tt_diagnose(diagnostics,
                    "capture.text: false keeps the text out, and capture.values puts it "
                    "in: values tell the tokens to whoever has the model");
}

static void check_conditions(const tt_settings *s, tt_diagnostics *diagnostics)
{
    const tt_setting_values *limits = &s->of[TT_SET_MEMORY_LIMIT];
    bool wanted = false;
    tt_error why;
    for (size_t i = 0; i < limits->n; i++)
        wanted |= limits->values[i].integer > 0 || limits->values[i].number > 0;
    if (wanted && tt_conditions_can_limit(&why) != TT_OK)
        tt_diagnose(diagnostics,
                    "conditions.memory_limit: %s (run this as root, or where systemd runs for this "
                    "user, or leave the limit out)",
                    why.message);
}

static bool make_room(tt_bench_inputs *in, const tt_settings *s)
{
    in->n_models = s->of[TT_SET_MODEL_PATH].n;
    in->n_engines = s->of[TT_SET_ENGINE_PATH].n ? s->of[TT_SET_ENGINE_PATH].n : 1;
    in->n_prompt_files = s->of[TT_SET_PROMPT_FILE].n;
    in->models = calloc(in->n_models, sizeof *in->models);
    in->engines = calloc(in->n_engines, sizeof *in->engines);
    in->prompt_files = calloc(in->n_prompt_files + 1, sizeof *in->prompt_files);
    return in->models && in->engines && in->prompt_files;
}

tt_status tt_bench_inputs_check(tt_bench_inputs *in, const tt_settings *s, bool replaces,
                                tt_diagnostics *diagnostics, tt_error *err)
{
    const tt_setting_values *models = &s->of[TT_SET_MODEL_PATH];
    const tt_setting_values *engines = &s->of[TT_SET_ENGINE_PATH];
    const tt_setting_values *files = &s->of[TT_SET_PROMPT_FILE];
    memset(in, 0, sizeof *in);
    if (!make_room(in, s)) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    check_capture(s, diagnostics);
    check_prompts(s, diagnostics);
    check_conditions(s, diagnostics);
    tt_status status = TT_OK;
    if (s->program) status = check_program(s->program, in->engines, diagnostics, err);
    for (size_t i = 0; !s->program && status == TT_OK && i < in->n_engines; i++)
        status = check_engine(engines->n ? engines->values[i].text : NULL, &in->engines[i],
                              diagnostics, err);
    for (size_t i = 0; status == TT_OK && i < in->n_models; i++)
        status = check_model(models->values[i].text, s, &in->models[i], diagnostics, err);
    for (size_t i = 0; status == TT_OK && i < in->n_prompt_files; i++)
        status = check_prompt_file(files->values[i].text, &in->prompt_files[i], diagnostics, err);
    check_output(s, replaces, diagnostics);
    return status;
}

static void free_list(tt_bench_input *list, size_t n)
{
    for (size_t i = 0; list && i < n; i++) {
        for (size_t k = 0; k < list[i].n_files; k++)
            free(list[i].files[k]);
        free(list[i].files);
        free(list[i].about);
    }
    free(list);
}

void tt_bench_inputs_free(tt_bench_inputs *in)
{
    free_list(in->models, in->n_models);
    free_list(in->engines, in->n_engines);
    free_list(in->prompt_files, in->n_prompt_files);
    memset(in, 0, sizeof *in);
}

/* --- identity --- */

static size_t number_of(const tt_settings *s, const tt_experiment *e, tt_setting setting)
{
    return e->of[setting] ? (size_t)(e->of[setting] - s->of[setting].values) : 0;
}

const tt_bench_input *tt_bench_inputs_engine(const tt_bench_inputs *in, const tt_settings *s,
                                             const tt_experiment *e)
{
    return &in->engines[number_of(s, e, TT_SET_ENGINE_PATH)];
}

const tt_bench_input *tt_bench_inputs_model(const tt_bench_inputs *in, const tt_settings *s,
                                            const tt_experiment *e)
{
    return &in->models[number_of(s, e, TT_SET_MODEL_PATH)];
}

static void put_text(tt_bytes *out, const char *text)
{
    tt_bytes_str(out, text, strlen(text));
}

/* All settings, except where the results go and how many threads write them. */
static void put_settings(tt_bytes *out, const tt_settings *s, const tt_experiment *e)
{
    char shown[TT_SETTING_TEXT];
    for (size_t i = 0; i < TT_SET_ORDER; i++) {
        if (!e->of[i] || i == TT_SET_PROGRAM_ARGUMENTS) continue;
        put_text(out, tt_setting_section((tt_setting)i));
        put_text(out, tt_setting_key((tt_setting)i));
        put_text(out, tt_setting_show((tt_setting)i, e->of[i], shown));
    }
    if (s->program) put_text(out, s->program);
    const tt_setting_values *words = &s->of[TT_SET_PROGRAM_ARGUMENTS];
    for (size_t i = 0; i < words->n; i++)
        put_text(out, words->values[i].text);
}

tt_status tt_bench_inputs_identity(const tt_bench_inputs *in, const tt_settings *s,
                                   const tt_experiment *e, tt_identity *out, tt_error *err)
{
    tt_bytes text;
    memset(out, 0, sizeof *out);
    tt_bytes_init(&text, TT_STAMP_BYTES_MAX);
    put_settings(&text, s, e);
    if (e->of[TT_SET_PROMPT_FILE])
        put_text(&text, in->prompt_files[number_of(s, e, TT_SET_PROMPT_FILE)].key);
    tt_status status = tt_stamp_key(&text, out->settings, err);
    tt_bytes_free(&text);
    memcpy(out->model, tt_bench_inputs_model(in, s, e)->key, TT_STAMP_KEY);
    memcpy(out->engine, tt_bench_inputs_engine(in, s, e)->key, TT_STAMP_KEY);
    (void)snprintf(out->version, sizeof out->version, "%s", TT_VERSION);
    return status;
}
