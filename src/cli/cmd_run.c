/* tensortrace run: starts a program, or the built-in runner, under the preload library,
 * and sees to it that the trace is whole when it ends, however it ends. */
#include "base/units.h"
#include "cli/command.h"
#include "cli/report.h"
#include "cli/runner_options.h"
#include "cli/traced.h"
#include "record/area.h"
#include "record/place.h"
#include "record/session.h"
#include "record/sweep.h"
#include "value/select.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    KEY_FORCE = 0x5400,
    KEY_MODE,
    KEY_THREAD_MEMORY,
    KEY_LIMIT,
    KEY_RING,
    KEY_BATCHES,
    KEY_TOKENS, /* what --batches was called: scripts go on */
    KEY_EVERY,
    KEY_FAULTS,
    KEY_RESIDENCY,
    KEY_NO_TEXT,
    KEY_VALUES
};

#define LIMIT_MIN (64u << 10)
#define RING_MIN (1u << 20)
#define PROGRAM_NOT_FOUND 127

typedef struct arguments {
    tt_runner_args runner;
    const char *output;
    tt_capture_options capture;
    bool force;
    bool quiet;
    char **program; /* PROGRAM ARGS..., NULL-terminated; NULL: the built-in runner */
} arguments;

static unsigned parse_faults(struct argp_state *state, const char *arg)
{
    static const char *const ways[] = {[TT_FAULTS_AUTO] = "auto",
                                       [TT_FAULTS_COUNTS] = "counts",
                                       [TT_FAULTS_EVENTS] = "events",
                                       [TT_FAULTS_BOTH] = "both"};
    for (unsigned i = TT_FAULTS_AUTO; arg && i <= TT_FAULTS_BOTH; i++)
        if (strcmp(arg, ways[i]) == 0) return i;
    if (arg) argp_error(state, "--faults: '%s' is none of auto, events, counts, both", arg);
    return TT_FAULTS_AUTO;
}

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0, "The trace (default: tensortrace-DATE-TIME.ttrace here)", 0},
    {"force", KEY_FORCE, 0, 0, "Replace FILE if it exists", 0},
    {"mode", KEY_MODE, "MODE", 0,
     "How ops are observed: hook (each thread), callback (the scheduler's), or auto: hook "
     "where the engine allows it (default)",
     0},
    {"faults", KEY_FAULTS, "WAY", OPTION_ARG_OPTIONAL,
     "Also record page faults, and for each batch what the kernel counts. WAY: events (each fault, "
     "with its address: nothing is spent where nothing faults), counts (of each op and thread, "
     "with "
     "CPU time and bytes read from disk), both, or auto: events where the kernel allows it "
     "(default)",
     0},
    {"residency", KEY_RESIDENCY, "N", OPTION_ARG_OPTIONAL,
     "Also record which pages of the model are in RAM, after every Nth batch (default: each)", 0},
    {"values", KEY_VALUES, "LEVEL[:SELECT]", 0,
     "Also record what ops put out: stats (counts of NaN and infinity, range, mean, RMS, a hash, "
     "samples), hash (also BLAKE3) or full (also the data); SELECT: terms like ffn_*, op=MUL_MAT, "
     "layer=0..3, batch=5, divided by commas (default: off)",
     0},
    {"no-text", KEY_NO_TEXT, 0, 0,
     "Keep token ids, their texts and the program's arguments out of the trace (not with --values, "
     "which tell them)",
     0},
    {"batches", KEY_BATCHES, "A..B", 0,
     "Record only these batches, counted from 0 (also N, A.. and ..B)", 0},
    {"tokens", KEY_TOKENS, "A..B", OPTION_HIDDEN, 0, 0},
    {"every", KEY_EVERY, "N", 0, "Record only every Nth batch (of --batches, from A on)", 0},
    {"limit", KEY_LIMIT, "SIZE", 0,
     "Stop recording when the trace has come to this size; what is computed from then on is "
     "only counted",
     0},
    {"ring", KEY_RING, "SIZE", 0,
     "Keep only the last SIZE of the trace (a flight recorder), however long the program runs", 0},
    {"thread-memory", KEY_THREAD_MEMORY, "SIZE", 0,
     "Memory for a thread's records on their way to the trace (default: 1M)", 0},
    {"quiet", 'q', 0, 0, "Say nothing when all is well", 0},
    {0}};

static void parse_size(struct argp_state *state, const char *option, const char *text, uint64_t min,
                       uint64_t max, uint64_t *bytes)
{
    tt_error err;
    char least[TT_UNITS_TEXT], most[TT_UNITS_TEXT];
    if (tt_units_parse_amount(text, bytes, &err) != TT_OK)
        argp_error(state, "%s: %s", option, err.message);
    if (*bytes < min || *bytes > max)
        argp_error(state, "%s: %s is out of range (%s to %s)", option, text,
                   tt_units_bytes(least, min), tt_units_bytes(most, max));
}

static void parse_every(struct argp_state *state, const char *option, const char *text,
                        uint64_t *every)
{
    tt_error err;
    int64_t n = 1;
    if (text && tt_units_parse_int(text, option, 1, INT32_MAX, &n, &err) != TT_OK)
        argp_error(state, "%s", err.message);
    *every = (uint64_t)n;
}

/* As tt_select_parse took it. */
static bool takes_values(const char *text)
{
    tt_select select;
    tt_error err;
    return text && tt_select_parse(text, &select, &err) == TT_OK && select.level != TT_VALUES_OFF;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    arguments *args = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &args->runner;
        return 0;
    case 'o':
        args->output = arg;
        return 0;
    case KEY_FORCE:
        args->force = true;
        return 0;
    case KEY_MODE:
        if (strcmp(arg, "auto") != 0 && strcmp(arg, "hook") != 0 && strcmp(arg, "callback") != 0)
            argp_error(state, "--mode: \"%s\" is not auto, hook or callback", arg);
        args->capture.mode = arg;
        return 0;
    case KEY_THREAD_MEMORY:
        parse_size(state, "--thread-memory", arg, TT_AREA_RING_BYTES_MIN, TT_AREA_RING_BYTES_MAX,
                   &args->capture.thread_bytes);
        return 0;
    case KEY_RING:
        parse_size(state, "--ring", arg, RING_MIN, INT64_MAX, &args->capture.keep_bytes);
        return 0;
    case KEY_BATCHES:
    case KEY_TOKENS: {
        uint32_t first, last;
        if (!tt_units_parse_range(arg, &first, &last))
            argp_error(state, "--batches: \"%.40s\" is not a number or a range like 3..9", arg);
        args->capture.tokens = arg;
        return 0;
    }
    case KEY_EVERY:
        parse_every(state, "--every", arg, &args->capture.every);
        return 0;
    case KEY_LIMIT:
        parse_size(state, "--limit", arg, LIMIT_MIN, INT64_MAX, &args->capture.limit_bytes);
        return 0;
    case KEY_FAULTS:
        args->capture.faults = parse_faults(state, arg);
        return 0;
    case KEY_RESIDENCY:
        parse_every(state, "--residency", arg, &args->capture.residency_every);
        return 0;
    case KEY_VALUES: {
        tt_select select;
        tt_error err;
        if (tt_select_parse(arg, &select, &err) != TT_OK)
            argp_error(state, "--values: %s", err.message);
        args->capture.values = arg;
        return 0;
    }
    case KEY_NO_TEXT:
        args->capture.no_text = true;
        return 0;
    case 'q':
        args->quiet = true;
        return 0;
    case ARGP_KEY_ARGS:
        args->program = state->argv + state->next;
        return 0;
    case ARGP_KEY_END:
        if (!args->program && !args->runner.options.model)
            argp_error(state, "nothing to run: give -m MODEL, or -- PROGRAM ARGS...");
        if (args->capture.keep_bytes && args->capture.limit_bytes)
            argp_error(state, "--ring keeps the last of the trace, --limit the first: not both");
        if (args->capture.no_text && takes_values(args->capture.values))
            argp_error(
                state,
                "--no-text keeps the text out of the trace, --values puts it in: from values, "
                "their statistics or hashes, whoever has the model finds the tokens. Leave "
                "one of them out");
        if (args->program && args->runner.any)
            argp_error(state,
                       "\"%s\" is taken for a PROGRAM, and -m and the other options of the "
                       "built-in runner do not go with one",
                       args->program[0]);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&tt_runner_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {
    options,
    parse,
    "-m MODEL\n-- PROGRAM [ARGS...]",
    "Runs a model with the built-in runner, or any program that uses ggml's shared "
    "libraries, and records every op into a trace.\v"
    "Exit code: the program's own (126 or 127 when it cannot be started), 2 for misuse, "
    "3 when the program ran but nothing could be traced. A program that dies by a signal "
    "makes this command die by the same.",
    children,
    NULL,
    NULL};

/* --- before --- */

static int choose_output(const arguments *args, char out[PATH_MAX])
{
    tt_error err;
    char name[64], dir[PATH_MAX];
    time_t now = time(NULL);
    struct tm local;
    (void)strftime(name, sizeof name, "tensortrace-%Y%m%d-%H%M%S.ttrace",
                   localtime_r(&now, &local));
    if (tt_place_absolute(out, PATH_MAX, args->output ? args->output : name, &err) != TT_OK)
        return tt_report_error(&err);
    if (tt_place_check(out, &err) != TT_OK) return tt_report_usage("%s with -o", err.message);
    if (!args->force && access(out, F_OK) == 0)
        return tt_report_usage("%s exists: choose another name with -o, or replace it with --force",
                               out);
    tt_place_dir(dir, sizeof dir, out);
    if (access(dir, F_OK) != 0 && errno == ENOENT)
        return tt_report_usage("folder %s does not exist", dir);
    if (access(dir, W_OK | X_OK) != 0)
        return tt_report_usage("cannot write into %s: choose another place with -o", dir);
    return TT_EXIT_OK;
}

/* A part file of an earlier run would make the first process take another name. */
static int check_part(const char *output)
{
    char part[PATH_MAX];
    if (tt_place_part(part, sizeof part, output, NULL) != TT_OK || access(part, F_OK) != 0)
        return TT_EXIT_OK;
    return tt_report_usage("%s is there, left by a run that did not end well: finish it with "
                           "`tensortrace recover %s`, or remove it",
                           part, part);
}

/* What this command exits with, once the program is gone. */
static int conclude(const arguments *args, const tt_traced_end *end)
{
    bool built_in_failed = !args->program && end->program.code != 0;
    bool nothing = end->n_traces == 0 && !built_in_failed && !end->unfinished;
    const bool failed = !end->program.signal && end->program.code != 0;
    if (nothing && failed)
        tt_report_note("nothing was traced: the program itself exited with %d", end->program.code);
    if (nothing && (!failed || end->why_is_certain))
        tt_report_note("%s%s%s", failed ? "" : "nothing was traced: ", end->why_nothing,
                       args->program ? " (see `tensortrace doctor -- PROGRAM`)" : "");
    if (end->program.signal) tt_spawn_die_by(end->program.signal);
    return nothing ? TT_EXIT_NO_TRACE : end->program.code;
}

static void note(void *context, const char *text)
{
    (void)context;
    tt_report_note("%s", text);
}

static int run_program(const arguments *args, char **argv, const char *output)
{
    tt_traced traced = {.capture = args->capture,
                        .output = output,
                        .force = args->force,
                        .quiet = args->quiet,
                        .note = note};
    tt_traced_end end;
    tt_error err;
    if (tt_traced_run(&traced, argv, &end, &err) == TT_OK) return conclude(args, &end);
    int code = tt_report_error(&err);
    if (!end.not_started) return code;
    const char *dot = strrchr(argv[0], '.');
    if (dot && strcmp(dot, ".gguf") == 0) tt_report_note("a model? run it with -m %s", argv[0]);
    return err.status == TT_E_NOT_FOUND ? PROGRAM_NOT_FOUND : PROGRAM_NOT_FOUND - 1;
}

int tt_cmd_run(int argc, char **argv)
{
    arguments args = {.output = NULL};
    char output[PATH_MAX], self[PATH_MAX];
    char **words = NULL;
    tt_runner_args_init(&args.runner);
    tt_report_parse(&argp, argc, argv, ARGP_IN_ORDER, &args);
    int code = choose_output(&args, output);
    if (code == TT_EXIT_OK) code = check_part(output);
    if (code != TT_EXIT_OK) return code;
    (void)tt_sweep();
    if (args.program) return run_program(&args, args.program, output);
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0) return tt_report_usage("/proc/self/exe cannot be read");
    self[n] = '\0';
    if (tt_runner_args_to_argv(&args.runner, self, 1, &words) < 0)
        return tt_report_usage("out of memory");
    code = run_program(&args, words, output);
    tt_runner_argv_free(words);
    return code;
}
