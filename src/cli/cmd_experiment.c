/* tensortrace experiment [SETTINGS] | list [DIR|SETTINGS]: from a settings file to a folder that
 * others read, in one command. */
#include "base/clock.h"
#include "base/units.h"
#include "base/words.h"
#include "cli/command.h"
#include "cli/experiment/experiment.h"
#include "cli/options.h"
#include "cli/spawn.h"
#include "experiment/conditions.h"
#include "record/place.h"
#include "record/recover.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SETTINGS_DEFAULT "settings.json"
#define SETTINGS_REMEDY                                                                            \
    "correct the settings; `man tensortrace-experiment` has an example and all keys"

struct options {
    bool list, force, json, dry_run;
    const char *output, *prompts;
    tt_list_options rows;
    const char *path; /* of the settings; with `list` also a folder */
    unsigned n_words;
};

static const tt_option option_table[] = {
    {"output", 'o', "DIR", "The folder of the results (default: paths.webui_data_dir)", 0,
     TT_TEXT(struct options, output)},
    {"prompts", 0, "FILE",
     "Run each prompt of FILE, with its id, domain and number of tokens (default: "
     "experiment.prompts_file)",
     0, TT_TEXT(struct options, prompts)},
    {"force", 0, 0,
     "Repeat experiments that are up to date, and keep the existing results; move aside files of "
     "an earlier pipeline",
     0, TT_FLAG(struct options, force)},
    {"dry-run", 0, 0, "Check everything and show what would be run", 0,
     TT_FLAG(struct options, dry_run)},
    {"json", 0, 0, "Print JSON", 0, TT_FLAG(struct options, json)},
    {0},
};

static void take_word(void *options, char *arg, tt_parse *p)
{
    struct options *o = options;
    if (o->n_words++ == 0 && strcmp(arg, "list") == 0)
        o->list = true;
    else if (o->path)
        tt_parse_error(p, "one %s only", o->list ? "folder or settings file" : "settings file");
    else
        o->path = arg;
}

static void check_list(void *options, tt_parse *p)
{
    const struct options *o = options;
    if (o->list && (o->force || o->dry_run))
        tt_parse_error(p, "list takes no --force and no --dry-run");
    if (!o->list && (o->rows.columns || o->rows.sort || o->rows.limited || o->rows.csv))
        tt_parse_error(p, "--columns, --sort, --limit and --csv go with list");
}

static const tt_options options_of = {
    .words = "[SETTINGS]\nlist [DIR|SETTINGS]",
    .about =
        "Runs a model under trace according to SETTINGS (default: settings.json here), and keeps "
        "the observations as a dataset that other tools read; or lists the existing experiments.\v"
        "Exit codes: 0 all experiments exist, 1 a traced program failed, 2 wrong usage, "
        "unusable settings or a folder that cannot be written, 3 nothing could be traced. With "
        "several experiments: the code of the first failure.",
    .sets = {{option_table, 0, take_word, check_list, NULL}, TT_LIST(struct options, rows)}};

/* --- before --- */

static int stop(tt_bench *b, const char *stage, const tt_diagnostics *diagnostics,
                const char *cause, const char *remedy)
{
    size_t at = 0;
    const char *text;
    tt_log_line(&b->log, stage, "FAILED: %s", cause);
    while ((text = tt_diagnostics_next(diagnostics, &at)) != NULL)
        tt_log_line(&b->log, stage, "  %s", text);
    if (diagnostics->n > at) tt_log_line(&b->log, stage, "  and %zu more", diagnostics->n - at);
    tt_log_line(&b->log, stage, "what to do: %s", remedy);
    return TT_EXIT_USAGE;
}

/* With conditions or repetitions the order is random, so that changes over time (other users of a
 * disk, the machine's temperature) do not pass for their effect. */
static void choose_order(tt_bench *b, const char *stage, size_t n)
{
    const tt_setting_values *order = &b->settings.of[TT_SET_ORDER],
                            *seed = &b->settings.of[TT_SET_ORDER_SEED];
    b->order_seed =
        seed->n ? (uint64_t)seed->values->integer : tt_clock_ns(CLOCK_REALTIME) / 1000 % 1000000;
    b->is_shuffled = (b->settings.has_conditions || b->settings.of[TT_SET_REPETITIONS].n > 1) &&
                     n > 1 && !(order->n && strcmp(order->values->text, "given") == 0);
    if (!b->is_shuffled) return;
    tt_log_line(&b->log, stage, "in random order, by the seed %" PRIu64 " (conditions.order_seed)",
                b->order_seed);
}

static int load_settings(tt_bench *b, const struct options *o)
{
    static const char stage[] = "load settings";
    tt_diagnostics diagnostics = {.n = 0};
    char output[PATH_MAX];
    tt_error err;
    const char *path = o->path ? o->path : SETTINGS_DEFAULT;
    tt_status status = tt_settings_read(&b->settings, path, o->prompts, &diagnostics, &err);
    if (status == TT_OK && o->output) {
        status = tt_place_absolute(output, sizeof output, o->output, &err);
        char *copy = status == TT_OK ? strdup(output) : NULL;
        if (copy) {
            free(b->settings.output);
            b->settings.output = copy;
        }
    }
    int code = TT_EXIT_OK;
    if (status != TT_OK)
        code = stop(b, stage, &diagnostics, err.message,
                    status == TT_E_NOT_FOUND ? "write one, or name another; `man "
                                               "tensortrace-experiment` has an example"
                                             : SETTINGS_REMEDY);
    tt_diagnostics_free(&diagnostics);
    if (code != TT_EXIT_OK) return code;
    size_t n = tt_settings_experiments(&b->settings);
    tt_log_line(&b->log, stage, "%s: %zu experiment%s", path, n, n == 1 ? "" : "s");
    if (b->settings.n_prompts)
        tt_log_line(&b->log, stage, "%zu prompts%s%s, in place of experiment.prompt",
                    b->settings.n_prompts, b->settings.of[TT_SET_EXPERIMENT_NAME].n ? " of " : "",
                    b->settings.of[TT_SET_EXPERIMENT_NAME].n
                        ? b->settings.of[TT_SET_EXPERIMENT_NAME].values->text
                        : "");
    if (b->settings.tokens_differ)
        tt_log_line(
            &b->log, stage,
            "experiment.n_predict is another number than tokens_to_generate, which is used");
    choose_order(b, stage, n);
    if (b->settings.has_temp_files)
        tt_log_line(&b->log, stage,
                    "temp_files is ignored: everything on the way is kept in the output folder");
    return TT_EXIT_OK;
}

static void report_inputs(tt_bench *b, const char *stage)
{
    const tt_bench_inputs *in = &b->inputs;
    for (size_t i = 0; i < in->n_engines; i++)
        tt_log_line(&b->log, stage, "%s: %s", b->settings.program ? "program" : "engine",
                    in->engines[i].about);
    for (size_t i = 0; i < in->n_models; i++)
        tt_log_line(&b->log, stage, "model: %s: %s",
                    b->settings.of[TT_SET_MODEL_PATH].values[i].text, in->models[i].about);
    tt_log_line(&b->log, stage, "output folder: %s", b->settings.output);
}

static int verify(tt_bench *b)
{
    static const char stage[] = "verify prerequisites";
    tt_diagnostics diagnostics = {.n = 0};
    char cause[80];
    tt_error err;
    tt_status status =
        tt_bench_inputs_check(&b->inputs, &b->settings, b->force, &diagnostics, &err);
    int code = TT_EXIT_OK;
    (void)snprintf(cause, sizeof cause, "%zu thing%s missing or wrong", diagnostics.n,
                   diagnostics.n == 1 ? " is" : "s are");
    if (status != TT_OK)
        code = stop(b, stage, &diagnostics, err.message, "see above");
    else if (diagnostics.n)
        code = stop(b, stage, &diagnostics, cause,
                    "see to what is listed, or correct the paths in the settings");
    else
        report_inputs(b, stage);
    tt_diagnostics_free(&diagnostics);
    return code;
}

static int clean(tt_bench *b)
{
    static const char stage[] = "clean";
    static const tt_diagnostics none;
    char moved[PATH_MAX];
    tt_error err;
    const char *folder = b->settings.output;
    if (tt_store_open(&b->store, folder, &err) != TT_OK)
        return stop(b, stage, &none, err.message,
                    err.status == TT_E_EXISTS
                        ? "wait until that is done, or name another folder with -o"
                        : "see to it that the folder can be written, or name another in "
                          "paths.webui_data_dir or with -o");
    if ((b->settings.of[TT_SET_READAHEAD].n || b->settings.of[TT_SET_SWAPPINESS].n) &&
        tt_conditions_claim(TT_CONDITIONS_MACHINE, &err) != TT_OK)
        return stop(b, stage, &none, err.message, "wait until that is done");
    size_t n = tt_store_clean(&b->store);
    (void)tt_sweep(); /* leftovers of that, too */
    if (b->store.lock < 0)
        tt_log_line(&b->log, stage,
                    "this file system has no locks: what experiments that were "
                    "killed left is not looked for");
    else if (n)
        tt_log_line(&b->log, stage, "removed what %zu experiment%s that %s killed had left", n,
                    n == 1 ? "" : "s", n == 1 ? "was" : "were");
    else
        tt_log_line(&b->log, stage, "nothing to remove");
    if (b->force && tt_store_foreign(folder, NULL, NULL)) {
        if (tt_store_move_foreign(folder, moved, &err) != TT_OK)
            return stop(b, stage, &none, err.message, "move those files away yourself");
        tt_log_line(&b->log, stage, "what an earlier pipeline had left is in %s now", moved);
    }
    if (tt_results_scan(&b->results, folder, &err) != TT_OK)
        return stop(b, stage, &none, err.message, "name another folder with -o");
    if (b->results.n_unreadable)
        tt_log_line(&b->log, stage, "%zu folder%s passed over: %s", b->results.n_unreadable,
                    b->results.n_unreadable == 1 ? " is" : "s are", b->results.unreadable);
    return TT_EXIT_OK;
}

/* --- running --- */

static int first_code(const tt_experiment_end *ends, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (ends[i].state == TT_OUTCOME_FAILED || ends[i].code) return ends[i].code;
    return TT_EXIT_OK;
}

/* What to do with the newest. */
static void report_next(const tt_bench *b, size_t there)
{
    for (size_t i = b->results.n; i-- > 0;) {
        const tt_result *r = &b->results.list[i];
        if (!r->is_current) continue;
        const bool many = there > 1;
        tt_report_note("next: tensortrace serve %s%s%s  (look at %s in the browser)",
                       b->store.folder, many ? "" : "/", many ? "" : r->folder,
                       many ? "them" : "it");
        tt_report_note("      tensortrace report %s%s%s -o report.html%s", b->store.folder,
                       many ? "" : "/", many ? "" : r->folder,
                       many ? "  (what they say together)" : "");
        if (many) tt_report_note("      tensortrace experiment list %s", b->store.folder);
        return;
    }
}

#define LEFT_EVERY_NS UINT64_C(10000000000)

/* Prints occasionally how long the remaining ones will take, by those that were run. */
static void report_remaining(tt_bench *b, size_t left, size_t run, uint64_t run_ns,
                             uint64_t *reported_ns)
{
    char text[TT_UNITS_TEXT];
    const uint64_t now = tt_clock_ns(CLOCK_MONOTONIC);
    if (!left || !run || now - *reported_ns < LEFT_EVERY_NS || tt_interrupted()) return;
    *reported_ns = now;
    tt_log_line(&b->log, "time left", "about %s, for %zu more",
                tt_units_wait(text, (double)run_ns / (double)run * (double)left), left);
}

static int run_all(tt_bench *b, bool json)
{
    char took[TT_UNITS_TEXT];
    size_t n = tt_settings_experiments(&b->settings), failed = 0, killed = 0, there = 0;
    tt_experiment_end *ends = calloc(n, sizeof *ends);
    if (!ends) return tt_report_memory();
    size_t *order = tt_experiment_order(b);
    if (!order) {
        free(ends);
        return tt_report_memory();
    }
    tt_log_common(&b->log);
    size_t run = 0;
    uint64_t run_ns = 0, reported_ns = tt_clock_ns(CLOCK_MONOTONIC);
    for (size_t i = 0; i < n && !tt_interrupted(); i++) {
        tt_experiment_end *end = &ends[order[i]];
        const uint64_t begin_ns = tt_clock_ns(CLOCK_MONOTONIC);
        tt_experiment_run(b, order[i], i, end);
        if (end->state != TT_OUTCOME_UP_TO_DATE) {
            run++;
            run_ns += tt_clock_ns(CLOCK_MONOTONIC) - begin_ns;
        }
        report_remaining(b, n - i - 1, run, run_ns, &reported_ns);
        failed += end->state == TT_OUTCOME_FAILED;
        killed += end->state == TT_OUTCOME_KILLED;
        there += end->state == TT_OUTCOME_DONE || end->state == TT_OUTCOME_UP_TO_DATE ||
                 end->state == TT_OUTCOME_KILLED;
    }
    free(order);
    b->log.counter[0] = '\0';
    const double ns = (double)(tt_clock_ns(CLOCK_MONOTONIC) - b->begun_ns);
    if (n > 1)
        tt_log_line(&b->log, "summary",
                    "%zu of %zu experiments are in %s, %zu killed by the system, %zu failed, %s",
                    there, n, b->store.folder, killed, failed,
                    ns < 60e9 ? tt_units_ns(took, ns) : tt_units_wait(took, ns));
    int written = tt_report_output(tt_experiment_summary(b, ends, n, json));
    if (there && !json) report_next(b, there);
    int code = first_code(ends, n);
    free(ends);
    if (tt_interrupted()) tt_spawn_die_by(tt_interrupted());
    return code == TT_EXIT_OK ? written : code;
}

/* Prints an experiment that would be run, or why not. */
static int report_planned(tt_bench *b, size_t number, size_t position, size_t n)
{
    char changed[64];
    tt_error err;
    tt_experiment e;
    tt_identity identity;
    tt_settings_experiment(&b->settings, number, &e);
    if (tt_bench_inputs_identity(&b->inputs, &b->settings, &e, &identity, &err) != TT_OK)
        return tt_report_error(&err);
    const tt_result *r = tt_results_find(&b->results, &identity, changed);
    const size_t twin = tt_experiment_twin(b, number, position);
    char **words = tt_experiment_words(&b->settings, &e);
    char *line = words ? tt_words_quote(words) : NULL,
         *condition = b->settings.has_conditions ? tt_experiment_condition(&e) : NULL;
    if (r && !b->force)
        tt_log_line(&b->log, "dry run", "up to date: %s", r->folder);
    else if (twin && !b->force)
        tt_log_line(&b->log, "dry run", "the same as %zu/%zu: not run again", twin, n);
    else
        tt_log_line(&b->log, "dry run", "would run %s%s%s%s", line ? line : "(out of memory)",
                    condition ? " (" : "", condition ? condition : "", condition ? ")" : "");
    free(condition);
    free(line);
    tt_words_free(words);
    return TT_EXIT_OK;
}

/* Prints what would be run, in order, without changing anything. */
static int report_plan(tt_bench *b)
{
    tt_error err;
    const size_t n = tt_settings_experiments(&b->settings);
    if (tt_results_scan(&b->results, b->settings.output, &err) != TT_OK)
        return tt_report_error(&err);
    size_t *order = tt_experiment_order(b);
    int code = order ? TT_EXIT_OK : tt_report_memory();
    for (size_t i = 0; i < n && code == TT_EXIT_OK; i++) {
        tt_log_experiment(&b->log, i, n);
        code = report_planned(b, order[i], i, n);
    }
    free(order);
    return code;
}

static char *join_words(int argc, char **argv)
{
    char **words = calloc((size_t)argc + 2, sizeof *words);
    char *line = NULL;
    static char program[] = "tensortrace", verb[] = "experiment";
    if (!words) return NULL;
    words[0] = program;
    words[1] = verb;
    for (int i = 1; i < argc; i++)
        words[i + 1] = argv[i];
    line = tt_words_quote(words);
    free(words);
    return line;
}

static int experiment(const struct options *o, const char *command)
{
    tt_bench b = {.command = command, .force = o->force, .store = {.lock = -1}};
    b.begun_ns = tt_clock_ns(CLOCK_MONOTONIC);
    tt_interrupt_outlive_pipes();
    tt_log_begin(&b.log);
    int code = load_settings(&b, o);
    if (code == TT_EXIT_OK) code = verify(&b);
    if (code == TT_EXIT_OK && o->dry_run)
        code = report_plan(&b);
    else if (code == TT_EXIT_OK && (code = clean(&b)) == TT_EXIT_OK)
        code = run_all(&b, o->json);
    tt_store_close(&b.store);
    free(b.place);
    tt_results_free(&b.results);
    tt_bench_inputs_free(&b.inputs);
    tt_settings_free(&b.settings);
    tt_log_free(&b.log);
    return code;
}

/* --- list --- */

/* The given folder, or that of the settings. */
static int find_folder(const struct options *o, char out[PATH_MAX])
{
    tt_diagnostics diagnostics = {.n = 0};
    tt_settings settings;
    struct stat st;
    tt_error err;
    const char *text, *path = o->output ? o->output : o->path ? o->path : SETTINGS_DEFAULT;
    size_t at = 0;
    if (o->output || (stat(path, &st) == 0 && S_ISDIR(st.st_mode))) {
        (void)snprintf(out, PATH_MAX, "%s", path);
        return TT_EXIT_OK;
    }
    if (tt_settings_read(&settings, path, o->prompts, &diagnostics, &err) == TT_OK) {
        (void)snprintf(out, PATH_MAX, "%s", settings.output);
        tt_settings_free(&settings);
        return TT_EXIT_OK;
    }
    int code =
        err.status == TT_E_NOT_FOUND
            ? tt_report_usage("%.4000s: there is no such folder, and no such settings file", path)
            : tt_report_error(&err);
    while ((text = tt_diagnostics_next(&diagnostics, &at)) != NULL)
        tt_report_note("  %s", text);
    tt_diagnostics_free(&diagnostics);
    return code;
}

static int list(const struct options *o)
{
    char folder[PATH_MAX];
    tt_results results;
    struct stat st;
    tt_error err;
    int code = find_folder(o, folder);
    if (code != TT_EXIT_OK) return code;
    if (stat(folder, &st) == 0 && !S_ISDIR(st.st_mode))
        return tt_report_usage("%s is not a folder", folder);
    if (tt_results_scan(&results, folder, &err) != TT_OK) return tt_report_error(&err);
    if (results.n_unreadable)
        tt_report_note("%zu folder%s left out: %s", results.n_unreadable,
                       results.n_unreadable == 1 ? " is" : "s are", results.unreadable);
    code = tt_experiment_list(&results, folder, &o->rows, o->json);
    tt_results_free(&results);
    return code;
}

int tt_cmd_experiment(int argc, char **argv)
{
    struct options o = {.rows.schema = &tt_result_schema};
    char *command = join_words(argc, argv);
    tt_options_parse(&options_of, argc, argv, &o);
    int code = !command ? tt_report_memory() : o.list ? list(&o) : experiment(&o, command);
    free(command);
    return code;
}
