/* tensortrace doctor: would tracing work here, in which mode, and if not, why. */
#include "base/ggml_layout.h"
#include "cli/command.h"
#include "cli/doctor/doctor.h"
#include "cli/hook_path.h"
#include "cli/options.h"
#include "cli/report.h"

#include <stdlib.h>
#include <string.h>

typedef struct arguments {
    const char *engine;
    const char *program;
    const char *disk;
    bool json;
    tt_list_options list; /* of the rates with `disk` */
} arguments;

static const tt_option option_table[] = {
    {"engine", 0, "DIR",
     "Folder of llama.cpp's libraries (default: those PROGRAM links, $TENSORTRACE_ENGINE, the "
     "bundled one, the system's)",
     0, TT_TEXT(arguments, engine)},
    {"disk", 0, "FILE",
     "Instead: the disk that holds FILE, and how fast it is read, by size and number of requests; "
     "takes up to 6 seconds",
     1, TT_TEXT(arguments, disk), .excludes = "engine"},
    {"json", 0, 0, "Print JSON", 8, TT_FLAG(arguments, json)},
    {0},
};

/* The program's own arguments are ignored, but may be given. */
static void take_program(void *options, char *arg, tt_parse *p)
{
    arguments *args = options;
    args->program = arg;
    (void)tt_parse_rest(p);
}

static void check(void *options, tt_parse *p)
{
    const arguments *args = options;
    const tt_list_options *l = &args->list;
    if (args->disk && args->program)
        tt_parse_error(p, "--disk is about FILE alone: it goes with no program");
    if (!args->disk && (l->columns || l->sort || l->limited || l->csv))
        tt_parse_error(p, "--columns, --sort, --limit and --csv go with --disk");
}

static const tt_options command = {
    .words = "[-- PROGRAM [ARG...]]",
    .about =
        "Shows which of an engine's calls can be hooked, how it would be traced, and what is "
        "missing; with "
        "PROGRAM, whether that program's engine can be traced. Nothing of PROGRAM is executed. "
        "With --disk, how fast a disk is instead; nothing is written to it.\v"
        "Exit code: 0 tracing can work, 1 it cannot, 2 unusable input.",
    .sets = {{option_table, 0, take_program, check, NULL}, TT_LIST(arguments, list)}};

/* A folder with ggml but no libllama: whisper.cpp and similar. */
static bool has_ggml_only(tt_doctor *d, const char *dir)
{
    char real[PATH_MAX];
    tt_engine_probe *probe = NULL;
    tt_engine_found *e = &d->engine;
    if (!realpath(dir, real)) return false;
    (void)snprintf(e->dir, sizeof e->dir, "%s", real);
    e->llama[0] = '\0';
    bool found = tt_engine_probe_new(e, false, &probe, NULL) == TT_OK;
    tt_engine_probe_free(probe);
    return found;
}

/* The engine that a program links takes precedence, except over a requested one. */
static tt_status find_engine(tt_doctor *d, const char *dir, tt_error *err)
{
    const char *linked = d->program && d->program->engine_dir[0] ? d->program->engine_dir : NULL;
    const char *named = dir ? dir : linked;
    tt_status status = tt_engine_find(named, &d->engine, err);
    return status != TT_OK && named && has_ggml_only(d, named) ? TT_OK : status;
}

static void look_at_engine(tt_doctor *d, const char *dir)
{
    tt_error err;
    tt_status status = find_engine(d, dir, &err);
    if (status == TT_OK) status = tt_engine_probe_new(&d->engine, true, &d->probe, &err);
    if (status != TT_OK)
        (void)snprintf(d->engine_problem, sizeof d->engine_problem, "%s", err.message);
}

/* Without an engine of its own the program decides: the default engine is not relevant to it. */
static bool needs_engine(const tt_doctor *d)
{
    return !d->program || d->program->engine_dir[0];
}

static const char *obstacle(const tt_doctor *d)
{
    const tt_engine_probe *p = d->probe;
    if (d->program && d->program->verdict == TT_PROGRAM_NO) return d->program->why;
    if (needs_engine(d) && !p) return d->engine_problem;
    if (p && p->mode == TT_ENGINE_MODE_NONE)
        return "the engine offers no hook; use a build with shared libraries "
               "(BUILD_SHARED_LIBS=ON)";
    if (p && !d->program && d->engine.llama[0] && p->answer.failure[0]) return p->answer.failure;
    if (p && !p->is_layout_known)
        return "the engine's struct ggml_tensor has an unknown layout: " TT_GGML_LAYOUT_ADVICE;
    if (!d->has_hook) return d->hook_problem;
    return d->host.has_shm || d->host.has_tmp ? NULL : "neither /dev/shm nor /tmp can be used";
}

static void evaluate(tt_doctor *d)
{
    const char *no = obstacle(d);
    bool is_refused = (d->program && d->program->verdict == TT_PROGRAM_NO) ||
                      (d->probe && !d->probe->is_layout_known);
    d->mode = d->probe && !is_refused         ? tt_mode_name(d->probe->mode)
              : needs_engine(d) || is_refused ? "none"
                                              : "unknown";
    d->can_trace = no == NULL;
    if (no)
        (void)snprintf(d->verdict, sizeof d->verdict, "Tracing cannot work: %s.", no);
    else if (d->program && d->program->verdict == TT_PROGRAM_LATE)
        (void)snprintf(d->verdict, sizeof d->verdict, "Tracing may work: %s.", d->program->why);
    else if (d->probe && d->probe->mode == TT_ENGINE_MODE_UNKNOWN)
        (void)snprintf(d->verdict, sizeof d->verdict,
                       "Tracing may work: the engine could not be asked, and its CPU library was "
                       "not found.");
    else
        (void)snprintf(d->verdict, sizeof d->verdict, "Tracing can work, in %s mode.", d->mode);
}

static int examine(const arguments *args, tt_doctor *d)
{
    tt_error err;
    if (args->program && tt_program_probe_new(args->program, &d->program, &err) != TT_OK) {
        (void)tt_report_error(&err);
        return TT_EXIT_USAGE;
    }
    tt_doctor_host_look(&d->host);
    d->has_hook = tt_hook_path_find(d->hook_path, sizeof d->hook_path, &err) == TT_OK;
    if (!d->has_hook) (void)snprintf(d->hook_problem, sizeof d->hook_problem, "%s", err.message);
    if (args->engine || needs_engine(d)) look_at_engine(d, args->engine);
    if (args->engine && !d->probe) return tt_report_usage("%s", d->engine_problem);
    evaluate(d);
    return d->can_trace ? TT_EXIT_OK : TT_EXIT_DIFFERS;
}

int tt_cmd_doctor(int argc, char **argv)
{
    arguments args = {.list.schema = &tt_doctor_disk_schema};
    tt_options_parse(&command, argc, argv, &args);
    if (args.disk) return tt_doctor_disk(args.disk, &args.list, args.json);
    tt_doctor *d = calloc(1, sizeof *d);
    if (!d) return tt_report_memory();
    int code = examine(&args, d);
    if (code != TT_EXIT_USAGE) {
        bool ok = true;
        if (args.json)
            ok = tt_doctor_print_json(d, stdout);
        else
            tt_doctor_print_text(d, stdout);
        if (tt_report_output(ok) != TT_EXIT_OK) code = TT_EXIT_USAGE;
    }
    tt_engine_probe_free(d->probe);
    free(d->program);
    free(d);
    return code;
}
