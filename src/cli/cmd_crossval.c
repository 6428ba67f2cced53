/* tensortrace crossval SETTINGS: scenarios run on two engines, builds or settings, and their values
 * compared. */
#include "base/clock.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/crossval/crossval.h"
#include "cli/interrupt.h"
#include "cli/list.h"
#include "cli/options.h"
#include "cli/spawn.h"
#include "record/place.h"
#include "record/recover.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SETTINGS_DEFAULT "crossval.json"
#define SETTINGS_REMEDY                                                                            \
    "correct the settings; `man tensortrace-crossval` has an example and all keys"
#define SUMMARY_JSON "summary.json"
#define SUMMARY_MARKDOWN "summary.md"

struct options {
    bool force, json, dry_run;
    const char *output;
    const char *path;
    tt_list_options list;
};

static const tt_option option_table[] = {
    {"output", 'o', "DIR", "The folder of the results (default: output of the settings)", 0,
     TT_TEXT(struct options, output)},
    {"force", 0, 0, "Replace existing results", 0, TT_FLAG(struct options, force)},
    {"dry-run", 0, 0, "Check everything and show what would be run", 0,
     TT_FLAG(struct options, dry_run)},
    {"json", 0, 0, "Print the summary as JSON", 0, TT_FLAG(struct options, json),
     .excludes = "columns sort limit"},
    {0},
};

static void take_path(void *options, char *arg, tt_parse *p)
{
    struct options *o = options;
    if (o->path) tt_parse_error(p, "one settings file only");
    o->path = arg;
}

static const tt_options command = {
    .words = "[SETTINGS]",
    .about = "Runs each scenario of SETTINGS (default: crossval.json here) on two sides - engines, "
             "builds, settings, programs - feeds both the same tokens, compares the values that "
             "they computed, and writes a folder of results.\v"
             "Exit codes: 0 all scenarios matched, 1 some diverged, failed, or could not be "
             "compared, 2 wrong usage, unusable settings or a folder that cannot be written.",
    .sets = {{option_table, 0, take_path, NULL, NULL}, TT_LIST(struct options, list)}};

/* --- before --- */

static int stop(tt_crossval *x, const char *stage, const tt_diagnostics *diagnostics,
                const char *cause, const char *remedy)
{
    size_t at = 0;
    const char *text;
    tt_log_line(&x->log, stage, "FAILED: %s", cause);
    while ((text = tt_diagnostics_next(diagnostics, &at)) != NULL)
        tt_log_line(&x->log, stage, "  %s", text);
    if (diagnostics->n > at) tt_log_line(&x->log, stage, "  and %zu more", diagnostics->n - at);
    tt_log_line(&x->log, stage, "what to do: %s", remedy);
    return TT_EXIT_USAGE;
}

/* Reports all errors: in the settings, and if these can be read, in the files they name. */
static int load(tt_crossval *x, const char *path)
{
    tt_diagnostics diagnostics = {.n = 0};
    tt_error err;
    int code = TT_EXIT_OK;
    tt_status status = tt_crossval_settings_read(&x->settings, path, &diagnostics, &err);
    if (status != TT_OK) {
        code = stop(x, "load settings", &diagnostics, err.message,
                    status == TT_E_NOT_FOUND ? "write one, or name another; `man "
                                               "tensortrace-crossval` has an example"
                                             : SETTINGS_REMEDY);
    } else {
        tt_crossval_check(x, &diagnostics);
        if (diagnostics.n && tt_diagnostics_error(&diagnostics, 0, path, &err) != TT_OK)
            code = stop(x, "verify prerequisites", &diagnostics, err.message,
                        "see to what is listed, or correct the paths in the settings");
    }
    tt_diagnostics_free(&diagnostics);
    if (code != TT_EXIT_OK) return code;
    for (size_t i = 0; i < 2; i++)
        if (!x->stages[i]) x->stages[i] = tt_stages_builtin();
    x->summary.n = x->settings.n_scenarios;
    x->summary.ends = calloc(x->summary.n, sizeof *x->summary.ends);
    if (!x->stages[0] || !x->stages[1] || !x->summary.ends) return tt_report_memory();
    for (size_t i = 0; i < x->summary.n; i++) {
        x->summary.ends[i].name = x->settings.scenarios[i].name;
        x->summary.ends[i].worst_rel_l2 = NAN;
    }
    tt_log_line(&x->log, "load settings", "%s: %zu scenario%s", path, x->summary.n,
                x->summary.n == 1 ? "" : "s");
    for (size_t i = 0; i < 2; i++)
        tt_log_line(&x->log, "load settings", "side %c: %s", "ab"[i], x -> summary.sides[i].text);
    return TT_EXIT_OK;
}

static int open_folder(tt_crossval *x, const struct options *o, bool *there)
{
    static const tt_diagnostics none;
    struct stat st;
    tt_error err;
    tt_status status = tt_place_absolute(x->output, sizeof x->output,
                                         o->output ? o->output : x->settings.output, &err);
    *there = status == TT_OK && lstat(x->output, &st) == 0;
    if (status == TT_OK) status = tt_outdir_open(&x->folder, x->output, o->force, &err);
    if (status == TT_OK) return TT_EXIT_OK;
    return stop(x, "output folder", &none, err.message,
                status == TT_E_EXISTS ? "name another folder with -o, or replace what is there "
                                        "with --force"
                                      : "name another folder in output or with -o");
}

/* --- running --- */

static void begin(tt_crossval *x, const char *path)
{
    time_t now = time(NULL);
    struct tm utc;
    (void)strftime(x->summary.timestamp_start, sizeof x->summary.timestamp_start,
                   "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    x->summary.settings = &x->settings;
    x->summary.settings_file = path;
    x->summary.folder = x->output;
    x->summary.version = TT_VERSION;
}

static void run_all(tt_crossval *x)
{
    uint64_t begun_ns = tt_clock_ns(CLOCK_MONOTONIC);
    tt_interrupt_watch();
    for (size_t i = 0; i < x->summary.n && !tt_interrupted(); i++) {
        if (x->summary.n > 1)
            (void)snprintf(x->log.counter, sizeof x->log.counter, "%zu/%zu ", i + 1, x->summary.n);
        tt_crossval_scenario_run(x, i);
    }
    x->log.counter[0] = '\0';
    x->summary.interrupted = tt_interrupted() != 0;
    x->summary.duration_ns = tt_clock_ns(CLOCK_MONOTONIC) - begun_ns;
}

static bool write_file(tt_crossval *x, const char *name, tt_error *err)
{
    FILE *f = tt_outdir_file(&x->folder, name, err);
    if (!f) return false;
    if (strcmp(name, SUMMARY_JSON) == 0)
        (void)tt_crossval_summary_json(&x->summary, f);
    else if (strcmp(name, SUMMARY_MARKDOWN) == 0)
        (void)tt_crossval_summary_markdown(&x->summary, f);
    else
        (void)fwrite(x->log.text.data, 1, x->log.text.size, f);
    return tt_outdir_close(f, name, err) == TT_OK;
}

/* Moves the folder to its final path. An interrupted sweep replaces no other's. */
static int keep(tt_crossval *x, bool there)
{
    static const tt_diagnostics none;
    char path[PATH_MAX];
    tt_error err;
    (void)snprintf(path, sizeof path, "%s", x->folder.path);
    size_t done = 0;
    for (size_t i = 0; i < x->summary.n; i++)
        done += x->summary.ends[i].state != TT_SCENARIO_NOT_TRIED;
    if (x->summary.interrupted && (there || done == 0)) {
        tt_outdir_abandon(&x->folder);
        tt_log_line(&x->log, "summary", "interrupted: %s",
                    there ? "the results that were there are kept, those of this sweep are not"
                          : "nothing was done, and nothing is kept");
        return TT_EXIT_OK;
    }
    tt_log_line(&x->log, "summary", "the results are in %s", path);
    if (write_file(x, SUMMARY_JSON, &err) && write_file(x, SUMMARY_MARKDOWN, &err) &&
        write_file(x, TT_LOG_FILE, &err) && tt_outdir_commit(&x->folder, &err) == TT_OK)
        return TT_EXIT_OK;
    tt_outdir_abandon(&x->folder);
    return stop(x, "summary", &none, err.message,
                err.status == TT_E_EXISTS
                    ? "name another folder with -o: what is there holds what this sweep has not"
                    : "see to it that the folder can be written and has room, or name another");
}

/* As a list if that was asked for. */
static int write_summary(tt_crossval *x, const struct options *o)
{
    const tt_list_options *l = &o->list;
    const tt_rowset scenarios = tt_crossval_scenarios(&x->summary);
    if (l->columns || l->sort || l->limited || l->csv) return tt_list_show(&scenarios, l, NULL);
    return tt_report_output(o->json ? tt_crossval_summary_json(&x->summary, stdout)
                                    : tt_crossval_summary_markdown(&x->summary, stdout));
}

static int conclude(tt_crossval *x, const struct options *o, bool there)
{
    int code = keep(x, there);
    int written = write_summary(x, o);
    tt_interrupt_end();
    if (tt_interrupted()) tt_spawn_die_by(tt_interrupted());
    if (code != TT_EXIT_OK) return code;
    for (size_t i = 0; i < x->summary.n; i++)
        if (x->summary.ends[i].state != TT_SCENARIO_MATCHED) return TT_EXIT_DIFFERS;
    return written;
}

static void report_plan(tt_crossval *x)
{
    for (size_t i = 0; i < x->summary.n; i++) {
        const tt_crossval_scenario *c = &x->settings.scenarios[i];
        tt_crossval_lead lead = tt_crossval_leader(&x->settings, c);
        tt_log_line(&x->log, "dry run", "%s: %s says what both sides are fed", c->name,
                    lead == TT_LEAD_A   ? "side a"
                    : lead == TT_LEAD_B ? "side b"
                                        : "the file");
    }
}

static int crossval(tt_crossval *x, const struct options *o)
{
    const char *path = o->path ? o->path : SETTINGS_DEFAULT;
    bool there = false;
    tt_interrupt_outlive_pipes();
    int code = load(x, path);
    if (code == TT_EXIT_OK && o->dry_run) {
        report_plan(x);
        return code;
    }
    if (code == TT_EXIT_OK) code = open_folder(x, o, &there);
    if (code != TT_EXIT_OK) return code;
    (void)tt_sweep();
    begin(x, path);
    run_all(x);
    return conclude(x, o, there);
}

/* Before anything runs. */
static int check_list(const tt_crossval *x, const struct options *o)
{
    const tt_rowset none = tt_crossval_scenarios(&x->summary);
    const tt_listing_wish wish = tt_list_wish(&o->list, o->json, NULL);
    return tt_list_check(&none, &wish);
}

int tt_cmd_crossval(int argc, char **argv)
{
    struct options o = {.list.schema = &tt_crossval_scenario_schema};
    tt_crossval *x = calloc(1, sizeof *x);
    tt_options_parse(&command, argc, argv, &o);
    if (!x) return tt_report_memory();
    tt_log_begin(&x->log);
    int code = check_list(x, &o);
    if (code == TT_EXIT_OK) code = crossval(x, &o);
    tt_stages_free(x->stages[0]);
    tt_stages_free(x->stages[1]);
    free(x->summary.ends);
    tt_crossval_settings_free(&x->settings);
    tt_log_free(&x->log);
    free(x);
    return code;
}
