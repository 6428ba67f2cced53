/* Checks all inputs before anything is run. */
#include "base/path.h"
#include "cli/crossval/crossval.h"
#include "cli/hook_path.h"
#include "gguf/reader.h"
#include "runner/engine_find.h"
#include "runner/program_probe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROMPT_ARGUMENT_MAX                                                                        \
    ((size_t)100 << 10) /* the kernel's limit for an argument is 128 KiB                           \
                         */

static void check_model(const char *shown, const char *path, tt_diagnostics *diagnostics)
{
    tt_gguf model;
    tt_error why;
    if (access(path, R_OK) != 0)
        tt_diagnose(diagnostics, "%s.model: %s: %s", shown, path, strerror(errno));
    else if (tt_gguf_open(&model, path, &why) != TT_OK)
        tt_diagnose(diagnostics, "%s.model: %s", shown, why.message); /* it names the file */
    else
        tt_gguf_close(&model);
}

static void check_engine(const char *shown, const tt_crossval_side *side, tt_crossval_about *about,
                         tt_diagnostics *diagnostics)
{
    static tt_engine_found engine; /* large */
    tt_error why;
    if (tt_engine_find(side->engine, &engine, &why) != TT_OK) {
        tt_diagnose(diagnostics, "%s.engine: %s", shown, why.message);
        return;
    }
    (void)snprintf(about->release, sizeof about->release, "%s", engine.release);
    int n = snprintf(about->text, sizeof about->text, "llama.cpp %s, %s",
                     engine.release[0] ? engine.release : tt_base_name(engine.dir),
                     tt_base_name(side->model ? side->model : ""));
    if (side->threads && n > 0 && (size_t)n < sizeof about->text)
        (void)snprintf(about->text + n, sizeof about->text - (size_t)n, ", %lld thread%s",
                       (long long)side->threads, side->threads == 1 ? "" : "s");
}

static void check_command(const char *shown, const tt_crossval_side *side, tt_crossval_about *about,
                          tt_diagnostics *diagnostics)
{
    tt_program_probe *probe = NULL;
    tt_error why;
    if (!side->n_command) return;
    (void)snprintf(about->text, sizeof about->text, "%s", tt_base_name(side->command[0]));
    tt_status status = tt_program_probe_new(side->command[0], &probe, &why);
    if (status != TT_OK && (status != TT_E_FORMAT || side->records == TT_RECORDS_PRELOAD))
        tt_diagnose(diagnostics, "%s.command: %s", shown, why.message);
    else if (status == TT_OK && side->records == TT_RECORDS_PRELOAD &&
             probe->verdict == TT_PROGRAM_NO)
        tt_diagnose(diagnostics, "%s.command: %s cannot be traced: %s", shown, side->command[0],
                    probe->why);
    if (status == TT_OK) free(probe);
}

static void check_trace(const char *shown, const tt_crossval_side *side, tt_crossval_about *about,
                        tt_diagnostics *diagnostics)
{
    (void)snprintf(about->text, sizeof about->text, "%s", tt_base_name(side->trace));
    /* One per scenario is checked when that is run: the others are compared all the same. */
    if (!strstr(side->trace, "{scenario}") && access(side->trace, R_OK) != 0)
        tt_diagnose(diagnostics, "%s.trace: %s: %s", shown, side->trace, strerror(errno));
}

static void check_side(tt_crossval *x, size_t i, tt_diagnostics *diagnostics)
{
    const tt_crossval_side *side = &x->settings.sides[i];
    tt_crossval_about *about = &x->summary.sides[i];
    char shown[16];
    tt_error why;
    (void)snprintf(shown, sizeof shown, "sides.%c", "ab"[i]);
    if (side->stages && tt_stages_read(side->stages, &x->stages[i], &why) != TT_OK)
        tt_diagnose(diagnostics, "%s.stages: %s", shown, why.message);
    if (side->model) check_model(shown, side->model, diagnostics);
    if (side->kind == TT_SIDE_ENGINE) check_engine(shown, side, about, diagnostics);
    if (side->kind == TT_SIDE_COMMAND) check_command(shown, side, about, diagnostics);
    if (side->kind == TT_SIDE_TRACE) check_trace(shown, side, about, diagnostics);
    if (side->label) (void)snprintf(about->text, sizeof about->text, "%s", side->label);
}

static void check_scenarios(const tt_crossval_settings *s, tt_diagnostics *diagnostics)
{
    for (size_t i = 0; i < s->n_scenarios; i++) {
        const tt_crossval_scenario *c = &s->scenarios[i];
        if (c->prompt_file && access(c->prompt_file, R_OK) != 0)
            tt_diagnose(diagnostics, "scenarios[%zu].prompt_file: %s: %s", i, c->prompt_file,
                        strerror(errno));
        if (c->prompt && strlen(c->prompt) > PROMPT_ARGUMENT_MAX)
            tt_diagnose(diagnostics,
                        "scenarios[%zu].prompt: over %zu KiB are too much for a command line: put "
                        "it into a file and name that in prompt_file",
                        i, PROMPT_ARGUMENT_MAX >> 10);
    }
}

void tt_crossval_check(tt_crossval *x, tt_diagnostics *diagnostics)
{
    char hook[PATH_MAX];
    tt_error why;
    const tt_crossval_settings *s = &x->settings;
    bool preloads = false;
    for (size_t i = 0; i < 2; i++)
        preloads |=
            s->sides[i].kind == TT_SIDE_ENGINE ||
            (s->sides[i].kind == TT_SIDE_COMMAND && s->sides[i].records == TT_RECORDS_PRELOAD);
    if (preloads && tt_hook_path_find(hook, sizeof hook, &why) != TT_OK)
        tt_diagnose(diagnostics, "tensortrace's own library: %s", why.message);
    for (size_t i = 0; i < 2; i++)
        check_side(x, i, diagnostics);
    check_scenarios(s, diagnostics);
}
