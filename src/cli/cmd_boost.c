/* tensortrace boost: runs a program whose models are larger than the memory they may use, and
 * prints a report. */
#include "base/units.h"
#include "boost/weights.h"
#include "cli/boosted.h"
#include "cli/command.h"
#include "cli/hook_path.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/runner_options.h"
#include "cli/traced.h"
#include "policy/policy.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROGRAM_NOT_FOUND 127

typedef struct arguments {
    tt_runner_args runner;
    uint64_t ram_bytes;
    const char *policy;
    const char *io;
    const char *output;
    tt_capture_options capture;
    bool force;
    bool json;
    bool quiet;
} arguments;

static const char *policy_at(size_t i)
{
    for (const tt_policy_info *each = tt_policies; each < tt_policies + TT_POLICIES; each++)
        if (!each->needs_future && !each->needs_counts && i-- == 0) return each->name;
    return NULL;
}

static void refuse_policy(tt_parse *p, const char *name)
{
    char names[160] = "auto";
    const char *each;
    for (size_t i = 0; (each = policy_at(i)); i++)
        (void)snprintf(names + strlen(names), sizeof names - strlen(names), ", %s", each);
    tt_parse_refuse(p, "\"%.40s\" is none of %s", name, names);
}

static void take_policy(void *name, char *arg, tt_parse *p)
{
    unsigned i = TT_POLICY_LRU;
    while (strcmp(arg, "auto") != 0 && i < TT_POLICIES && strcmp(tt_policies[i].name, arg) != 0)
        i++;
    if (i == TT_POLICIES) refuse_policy(p, arg);
    if (tt_policies[i].needs_future || tt_policies[i].needs_counts)
        tt_parse_refuse(p, "%s needs to know the future: it is for `tensortrace whatif`", arg);
    *(const char **)name = tt_policies[i].name;
}

/* 0: auto. */
static void take_ram(void *bytes, char *arg, tt_parse *p)
{
    tt_error err;
    uint64_t n = 0;
    if (strcmp(arg, "auto") != 0) {
        if (tt_units_parse_amount(arg, &n, &err) != TT_OK) tt_parse_refuse(p, "%s", err.message);
        if (n < TT_POLICY_RAM_MIN || n > INT64_MAX)
            tt_parse_refuse(p, "%s is not from %u KiB to %u EiB", arg, TT_POLICY_RAM_MIN >> 10, 8u);
    }
    *(uint64_t *)bytes = n;
}

static const char *const ios[] = {"io_uring", "threads"};

static const tt_option options[] = {
    {"ram", 0, "SIZE|auto",
     "Memory for the weights. auto (default): the free memory of the machine and the control "
     "group, adjusted while the program runs",
     0, TT_TAKE(arguments, ram_bytes, take_ram)},
    {"policy", 0, "NAME|auto", "Which experts are kept, as in whatif (auto, the default: lru)", 0,
     TT_TAKE(arguments, policy, take_policy), .names = policy_at},
    {"io", 0, "HOW",
     "How weights are read: io_uring (default), or threads, which are also taken where the kernel "
     "allows no io_uring",
     0, TT_WORD(arguments, io, ios)},
    {"output", 'o', "FILE", "Also record a trace, as run does", 0, TT_TEXT(arguments, output)},
    {"force", 0, 0, "Replace FILE if it exists", 0, TT_FLAG(arguments, force)},
    {"values", 0, "LEVEL[:SELECT]", "Also record op outputs, as run does (with -o)", 0,
     TT_TAKE(arguments, capture.values, tt_runner_take_values)},
    {"json", 0, 0,
     "With -m: one JSON object with the text, the runner's figures and boost's, instead of the "
     "text",
     0, TT_FLAG(arguments, json)},
    {"quiet", 'q', 0, "Print no progress and no summary", 0, TT_FLAG(arguments, quiet)},
    {0},
};

static void check_together(void *input, tt_parse *p)
{
    const arguments *args = input;
    if (args->capture.values && !args->output)
        tt_parse_error(p, "--values needs a trace to write to: -o FILE");
    if (args->json && args->runner.program)
        tt_parse_error(p,
                       "--json is the built-in runner's (-m MODEL): a PROGRAM has its own output");
}

static const tt_options command = {
    .words = "-m MODEL\n-- PROGRAM [ARGS...]",
    .about = "Runs a model that is larger than RAM or than its memory limit, with the built-in "
             "runner or any program that uses ggml's shared libraries and maps its model. Weights "
             "are read ahead, bypassing the page cache, into memory of limited size, at the "
             "addresses where the engine expects them. The results stay the same.\v"
             "The engine must map the model and not copy its weights (llama.cpp: --no-repack, "
             "which -m sets). Exit code: the program's own (126 or 127 when it cannot be started), "
             "2 for misuse, 3 when -o was given and nothing could be traced.",
    .sets = {{options, .check = check_together}, TT_RUNNER_OR_PROGRAM(arguments, runner)},
    .in_order = true};

/* --- the program --- */

static bool set_environment(const arguments *args)
{
    char ram[32] = "auto";
    if (args->ram_bytes) (void)snprintf(ram, sizeof ram, "%" PRIu64, args->ram_bytes);
    return setenv(TT_ENV_BOOST, ram, 1) == 0 &&
           setenv(TT_ENV_BOOST_POLICY, args->policy ? args->policy : "lru", 1) == 0 &&
           setenv(TT_ENV_BOOST_IO, args->io ? args->io : "io_uring", 1) == 0;
}

static void note(void *context, const char *text)
{
    (void)context;
    tt_report_note("%s", text);
}

static tt_status run_traced(const arguments *args, char **argv, const char *output,
                            tt_traced_end *end, tt_error *err)
{
    const tt_traced traced = {.capture = args->capture,
                              .output = output,
                              .force = args->force,
                              .quiet = args->quiet,
                              .note = note};
    return tt_traced_run(&traced, argv, end, err);
}

static void asked(void *context)
{
    (void)context;
}

static bool look(void *context)
{
    (void)context;
    return false;
}

static tt_status run_alone(char **argv, tt_traced_end *end, tt_error *err)
{
    static const tt_spawn_watch watch = {asked, look, NULL};
    char hook[PATH_MAX], preload[2 * PATH_MAX];
    const char *before = getenv("LD_PRELOAD");
    tt_status status = tt_hook_path_find(hook, sizeof hook, err);
    if (status != TT_OK) return status;
    int n = snprintf(preload, sizeof preload, "%s%s%s", hook, before && before[0] ? ":" : "",
                     before ? before : "");
    if (n < 0 || (size_t)n >= sizeof preload || setenv("LD_PRELOAD", preload, 1) != 0)
        return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot set up the program's environment");
    status = tt_spawn_and_wait(argv, NULL, &watch, &end->program, err);
    end->not_started = status != TT_OK;
    return status;
}

/* Memory for weights cannot be reclaimed: with too much, the kernel ends the program. */
static void warn_of_limits(const arguments *args)
{
    char asked[TT_UNITS_TEXT], here[TT_UNITS_TEXT];
    const uint64_t free_bytes = tt_budget_now(0).pool_bytes;
    if (!args->quiet && args->ram_bytes > free_bytes)
        tt_report_note(
            "boost: --ram %s is more than the %s that are free here, or that limits leave: "
            "the kernel may end the program; --ram auto keeps below",
            tt_units_bytes(asked, args->ram_bytes), tt_units_bytes(here, free_bytes));
}

static int run_program(const arguments *args, char **argv)
{
    char output[PATH_MAX];
    tt_traced_end end = {.not_started = false};
    tt_error err;
    if (args->output) {
        const int code = tt_traced_output(output, args->output, args->force);
        if (code != TT_EXIT_OK) return code;
    }
    warn_of_limits(args);
    const tt_boost_report *report = tt_boosted_report_new();
    if (!report || !set_environment(args))
        return tt_report_usage("the program's environment cannot be made: %s", strerror(errno));
    tt_status status =
        args->output ? run_traced(args, argv, output, &end, &err) : run_alone(argv, &end, &err);
    if (status != TT_OK) {
        int code = tt_report_error(&err);
        if (!end.not_started) return code;
        return err.status == TT_E_NOT_FOUND ? PROGRAM_NOT_FOUND : PROGRAM_NOT_FOUND - 1;
    }
    tt_boosted_report_print(report, args->quiet || args->json,
                            !args->runner.program && end.program.code != 0);
    if (args->output) return tt_traced_conclude(&end, !args->runner.program);
    if (end.program.signal) tt_spawn_die_by(end.program.signal);
    return end.program.code;
}

int tt_cmd_boost(int argc, char **argv)
{
    arguments args = {.output = NULL};
    char self[PATH_MAX];
    char **words = NULL;
    tt_runner_args_init(&args.runner);
    tt_options_parse(&command, argc, argv, &args);
    args.runner.options.no_repack = true;
    if (args.runner.options.mlock)
        return tt_report_usage("--mlock does not go with boost, which has the weights in a pool");
    if (args.runner.program) return run_program(&args, args.runner.program);
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0) return tt_report_usage("/proc/self/exe cannot be read");
    self[n] = '\0';
    const int n_words = tt_runner_args_to_argv(&args.runner, self, 1, &words);
    if (n_words < 0 || (args.json && !(words[n_words] = strdup("--json"))))
        return tt_report_memory();
    int code = run_program(&args, words);
    tt_runner_argv_free(words);
    return code;
}
