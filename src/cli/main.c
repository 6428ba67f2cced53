/* tensortrace VERB ...: finds the command and lets it run. */
#include "base/nearest.h"
#include "cli/command.h"
#include "cli/complete.h"
#include "cli/options.h"
#include "cli/report.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

/* In the order of use: get a model, trace it, examine, check, repair. */
static const tt_command commands[] = {
    {"run", "trace a program, or the built-in runner on a model", tt_cmd_run, 0},
    {"boost", "run a model that is larger than RAM, faster", tt_cmd_boost, 0},
    {"info", "a summary of a trace: engine, model, times, findings", tt_cmd_info, 0},
    {"why", "where the time went, what was slow, and why", tt_cmd_why, 0},
    {"stats", "sums by op, layer, component, category, tensor, thread, batch, phase", tt_cmd_stats,
     0},
    {"log", "the ops of a trace in time order", tt_cmd_log, 0},
    {"heat", "hot and cold weights, reuse, and the order in which a model is read", tt_cmd_heat, 0},
    {"whatif", "what a cache of some size would have to read from disk", tt_cmd_whatif, 0},
    {"buffers", "memory that was allocated, mapped and freed, and the KV cache's fill",
     tt_cmd_buffers, 0},
    {"graph", "the computation graph, as text, JSON or a picture", tt_cmd_graph, 0},
    {"faults", "which weights had to come from disk, when, in which batch", tt_cmd_faults, 0},
    {"routing", "which experts were chosen, how evenly, and how often again", tt_cmd_routing, 0},
    {"values", "op outputs: NaN, range, RMS, outliers, growth over layers", tt_cmd_values, 0},
    {"diff", "two runs compared: what was computed, how long it took, and where", tt_cmd_diff, 0},
    {"report", "one page of answers, with plots: time, bounds, waits, reads, heat, RAM",
     tt_cmd_report, 0},
    {"serve", "a page in the browser: every view of a trace, linked", tt_cmd_serve, 0},
    {"export", "a trace in the formats of other tools: CSV, Parquet, Perfetto, ...", tt_cmd_export,
     0},
    {"import", "routing of experts that others recorded, as a trace", tt_cmd_import, 0},
    {"experiment", "trace a model by a settings file, and keep the results as a dataset",
     tt_cmd_experiment, 0},
    {"crossval", "run prompts on two engines or settings, and compare their values",
     tt_cmd_crossval, 0},
    {"bisect", "the same tokens through many builds: which made it slower, in which op",
     tt_cmd_bisect, 0},
    {"verify", "check that a trace is complete, or show what is missing", tt_cmd_verify, 0},
    {"recover", "finish the trace of a process that was cut off", tt_cmd_recover, 0},
    {"gguf", "the tensors of a model file and their offsets", tt_cmd_gguf, 0},
    {"synth", "write a model with made-up weights, for tests and demos", tt_cmd_synth, 0},
    {"doctor", "which calls of an engine can be hooked, and how it would be traced", tt_cmd_doctor,
     0},
    {"runner", "the program that `run -m` traces", tt_cmd_runner, 1},
};

#define COMMAND_COUNT (sizeof commands / sizeof *commands)

static void print_help(FILE *out)
{
    fputs("Usage: tensortrace COMMAND [OPTION...]\n"
          "Shows what a language model's inference does to memory, tensor by tensor.\n\n"
          "Commands:\n",
          out);
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (!commands[i].hidden)
            fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fputs("  help       the options of a command: tensortrace help COMMAND\n\n"
          "A first look, with a model of yours:\n"
          "  tensortrace run -o my.ttrace -m MODEL.gguf -p \"Hello\" -n 16\n"
          "  tensortrace info my.ttrace\n\n"
          "Exit codes: 0 done, 1 a check failed or tracing cannot work, 2 wrong usage or\n"
          "unusable input, 3 nothing in the program could be traced.\n"
          "Manual: man tensortrace\n",
          out);
}

static const tt_command *find_command(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(commands[i].name, name) == 0) return &commands[i];
    return NULL;
}

static int unknown_command(const char *name)
{
    tt_nearest nearest = tt_nearest_begin(name);
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (!commands[i].hidden) tt_nearest_try(&nearest, commands[i].name);
    if (nearest.name)
        return tt_report_usage("no command \"%s\"; did you mean \"%s\"?", name, nearest.name);
    return tt_report_usage("no command \"%s\"; `tensortrace --help` lists them", name);
}

/* argv[0] is the verb; it becomes "tensortrace VERB", the prefix of messages. */
static int run_command(int argc, char **argv)
{
    char title[64];
    const tt_command *command = find_command(argv[0]);
    if (!command) return unknown_command(argv[0]);
    (void)snprintf(title, sizeof title, "tensortrace %s", command->name);
    argv[0] = title;
    return command->run(argc, argv);
}

static int help(int argc, char **argv)
{
    char option[] = "--help";
    if (argc > 1) return tt_report_usage("help takes one command");
    if (argc == 1) {
        char *words[] = {argv[0], option, NULL};
        return run_command(2, words);
    }
    print_help(stdout);
    return TT_EXIT_OK;
}

/* For scripts/list-options, which writes the manual. */
static int list_options(int argc, char **argv)
{
    if (argc != 1) return tt_report_usage("options takes one command");
    tt_options_list();
    return run_command(argc, argv);
}

/* The script of a shell, which calls `tensortrace complete`. */
static int print_completion(int argc, char **argv)
{
    const char *script = argc == 1 ? tt_complete_script(argv[0]) : NULL;
    if (!script) return tt_report_usage("--completion takes bash, zsh or fish");
    fputs(script, stdout);
    return TT_EXIT_OK;
}

/* For the scripts of --completion: what the last of the words may be. */
static int complete(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[0], "help") == 0) return TT_EXIT_OK;
    if (argc > 1 && strcmp(argv[0], "--completion") == 0) {
        puts("bash\nzsh\nfish");
    } else if (argc > 1 && strcmp(argv[0], "help") != 0) {
        if (!find_command(argv[0])) return TT_EXIT_USAGE;
        tt_complete_options();
        return run_command(argc, argv);
    } else if (argc == 1 && argv[0][0] == '-') {
        puts("--help\tPrint the commands\n--version\tPrint the version\n"
             "--completion\tPrint the completion script of a shell");
    } else if (argc > 0) {
        for (size_t i = 0; i < COMMAND_COUNT; i++)
            if (!commands[i].hidden) printf("%s\t%s\n", commands[i].name, commands[i].summary);
        if (argc == 1) puts("help\tthe options of a command");
    }
    return TT_EXIT_OK;
}

static int dispatch(int argc, char **argv)
{
    const char *verb = argc > 1 ? argv[1] : NULL;
    if (!verb) {
        print_help(stderr);
        return TT_EXIT_USAGE;
    }
    if (strcmp(verb, "help") == 0) return help(argc - 2, argv + 2);
    if (strcmp(verb, "options") == 0) return list_options(argc - 2, argv + 2);
    if (strcmp(verb, "complete") == 0) return complete(argc - 2, argv + 2);
    if (strcmp(verb, "--completion") == 0) return print_completion(argc - 2, argv + 2);
    if (strcmp(verb, "--help") == 0 || strcmp(verb, "-h") == 0) return help(0, NULL);
    if (strcmp(verb, "--version") == 0 || strcmp(verb, "-V") == 0) {
        puts("tensortrace " TT_VERSION);
        return TT_EXIT_OK;
    }
    if (verb[0] == '-')
        return tt_report_usage("no option \"%s\" before the command; see `tensortrace --help`",
                               verb);
    return run_command(argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    /* Only the character set of the user's locale: numbers keep their point, so that JSON and CSV
     * are the same everywhere. */
    (void)setlocale(LC_CTYPE, "");
    tt_report_called_as(argv[0]);
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--json") == 0) tt_progress_only_drawn();
    int code = dispatch(argc, argv);
    /* A full disk must not pass for success. */
    int written = tt_report_output(true);
    return code == TT_EXIT_OK ? written : code;
}
