/* tensortrace run: starts a program, or the built-in runner, with the preload library, and finishes
 * its trace however it ends. */
#include "base/units.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/runner_options.h"
#include "cli/traced.h"
#include "record/area.h"
#include "record/recover.h"
#include "record/session.h"
#include "value/select.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIMIT_MIN (64u << 10)
#define RING_MIN (1u << 20)
#define PROGRAM_NOT_FOUND 127

typedef struct arguments {
    tt_runner_args runner;
    const char *output;
    tt_capture_options capture;
    bool force;
    bool quiet;
} arguments;

/* Valid as in tt_select_parse. */
static bool takes_values(const char *text)
{
    tt_select select;
    tt_error err;
    return text && tt_select_parse(text, &select, &err) == TT_OK && select.level != TT_VALUES_OFF;
}

static void take_batches(void *text, char *arg, tt_parse *p)
{
    uint32_t first, last;
    if (!tt_units_parse_range(arg, &first, &last))
        tt_parse_refuse(p, "\"%.40s\" is not a number or a range like 3..9", arg);
    *(const char **)text = arg;
}

/* The first is for none. */
static const char *const ways[] = {[TT_FAULTS_AUTO] = "auto",
                                   [TT_FAULTS_COUNTS] = "counts",
                                   [TT_FAULTS_EVENTS] = "events",
                                   [TT_FAULTS_BOTH] = "both"};

static void take_faults(void *way, char *arg, tt_parse *p)
{
    if (!tt_session_faults_way(arg ? arg : "auto", way))
        tt_parse_refuse(p, "\"%.40s\" is not auto, events, counts or both", arg);
}

static const char *const modes[] = {"auto", "hook", "callback"};

static const tt_option options[] = {
    {"output", 'o', "FILE", "The trace (default: tensortrace-DATE-TIME.ttrace here)", 0,
     TT_TEXT(arguments, output)},
    {"force", 0, 0, "Replace FILE if it exists", 0, TT_FLAG(arguments, force)},
    {"mode", 0, "auto|hook|callback",
     "How ops are observed: hook (each thread), callback (the scheduler's), or auto: hook "
     "where the engine allows it (default)",
     0, TT_WORD(arguments, capture.mode, modes)},
    {"faults", 0, "WAY",
     "Also record page faults, and the kernel's counts for each batch. WAY: events (each fault "
     "with its address; free without faults), counts (per op and thread, with CPU time and bytes "
     "read from disk), both, or auto: events if the kernel allows them, else counts (default)",
     0, TT_TAKE(arguments, capture.faults, take_faults), TT_ROWS_(ways),
     .flags = TT_OPTION_OPTIONAL},
    {"residency", 0, "N",
     "Also record which pages of the model are in RAM, after every Nth batch (default: each)", 0,
     TT_WHOLE(arguments, capture.residency_every, 1, INT32_MAX), .flags = TT_OPTION_OPTIONAL},
    {"values", 0, "LEVEL[:SELECT]",
     "Also record op outputs: stats (counts of NaN and infinity, range, mean, RMS, a hash, "
     "samples), hash (also BLAKE3) or full (also the data); SELECT: terms like ffn_*, op=MUL_MAT, "
     "layer=0..3, batch=5, separated by commas (default: off)",
     0, TT_TAKE(arguments, capture.values, tt_runner_take_values)},
    {"no-text", 0, 0,
     "Keep token ids, their texts and the program's arguments out of the trace (not with --values, "
     "which reveal them)",
     0, TT_FLAG(arguments, capture.no_text)},
    {"batches", 0, "A..B", "Record only these batches, counted from 0 (also N, A.. and ..B)", 0,
     TT_TAKE(arguments, capture.tokens, take_batches)},
    {"tokens", 0, TT_FORMER},
    {"every", 0, "N", "Record only every Nth batch (of --batches, from A on)", 0,
     TT_WHOLE(arguments, capture.every, 1, INT32_MAX)},
    {"limit", 0, "SIZE",
     "Stop recording when the trace has reached this size; later batches are only counted", 0,
     TT_AMOUNT(arguments, capture.limit_bytes, LIMIT_MIN, INT64_MAX)},
    {"ring", 0, "SIZE",
     "Keep only the last SIZE of the trace (a flight recorder), however long the program runs", 0,
     TT_AMOUNT(arguments, capture.keep_bytes, RING_MIN, INT64_MAX), .excludes = "limit"},
    {"thread-memory", 0, "SIZE", "Memory for a thread's unwritten records (default: 1M)", 0,
     TT_AMOUNT(arguments, capture.thread_bytes, TT_AREA_RING_BYTES_MIN, TT_AREA_RING_BYTES_MAX)},
    {"quiet", 'q', 0, "Print no progress and no summary", 0, TT_FLAG(arguments, quiet)},
    {0},
};

static void check_together(void *input, tt_parse *p)
{
    const arguments *args = input;
    if (args->capture.no_text && takes_values(args->capture.values))
        tt_parse_error(p, "--no-text keeps the text out of the trace, --values puts it in: from "
                          "values, their statistics or hashes, whoever has the model finds the "
                          "tokens. Leave one of them out");
    for (const tt_option *o = tt_runner_options_table; args->runner.program && o->about; o++)
        if (o->name && tt_parse_given(p, o->name))
            tt_parse_error(p,
                           "\"%s\" is taken for a PROGRAM, and -m and the other options of the "
                           "built-in runner do not go with one",
                           args->runner.program[0]);
}

static const tt_options command = {
    .words = "-m MODEL\n-- PROGRAM [ARGS...]",
    .about = "Runs a model with the built-in runner, or any program that uses ggml's shared "
             "libraries, and records every op into a trace.\v"
             "Exit code: the program's own (126 or 127 when it cannot be started), 2 for misuse, 3 "
             "when nothing in the program could be traced. If a signal ends the program, the "
             "same signal ends this command.",
    .sets = {{options, .check = check_together}, TT_RUNNER_OR_PROGRAM(arguments, runner)},
    .in_order = true};

/* --- the program --- */

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
    if (tt_traced_run(&traced, argv, &end, &err) == TT_OK)
        return tt_traced_conclude(&end, !args->runner.program);
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
    tt_options_parse(&command, argc, argv, &args);
    int code = tt_traced_output(output, args.output, args.force);
    if (code != TT_EXIT_OK) return code;
    (void)tt_sweep();
    if (args.runner.program) return run_program(&args, args.runner.program, output);
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0) return tt_report_usage("/proc/self/exe cannot be read");
    self[n] = '\0';
    if (tt_runner_args_to_argv(&args.runner, self, 1, &words) < 0) return tt_report_memory();
    code = run_program(&args, words, output);
    tt_runner_argv_free(words);
    return code;
}
