/* tensortrace bisect -m MODEL --engines DIR...: the same tokens through many builds of the engine.
 */
#include "base/order.h"
#include "base/units.h"
#include "cli/bisect/bisect.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/list.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/spawn.h"
#include "cli/trace_options.h"
#include "record/place.h"
#include "record/recover.h"
#include "report/render.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define DIRS_MAX 256u
#define OPS_DRAWN 4u /* lines in the plot besides the batch's */

typedef struct arguments {
    tt_runner_args runner;
    tt_list_options list;
    const char *dirs[DIRS_MAX];
    size_t n_dirs;
    const char *output;
    uint32_t runs, percent, timeout_s;
    unsigned phase;
    bool by_op, json, quiet;
} arguments;

static void take_by_op(void *options, char *arg, tt_parse *p)
{
    arguments *args = options;
    (void)arg;
    (void)p;
    args->by_op = true;
    args->list.schema = &tt_bisect_ops_schema;
}

static void take_dir(void *member, char *arg, tt_parse *p)
{
    arguments *args = member;
    if (args->n_dirs == DIRS_MAX) tt_parse_error(p, "more than %u folders", DIRS_MAX);
    args->dirs[args->n_dirs++] = arg;
}

/* The option's value, whose member is the whole. */
static void take_engines(void *member, char *arg, tt_parse *p)
{
    take_dir((char *)member - offsetof(arguments, n_dirs), arg, p);
}

/* Options are taken after all arguments; the texts of a command line are in memory in their order.
 */
static int by_place(const void *a, const void *b)
{
    const uintptr_t x = (uintptr_t)*(const char *const *)a, y = (uintptr_t)*(const char *const *)b;
    return tt_order(x, y);
}

static void check(void *input, tt_parse *p)
{
    arguments *args = input;
    qsort(args->dirs, args->n_dirs, sizeof *args->dirs, by_place);
    if (!args->runner.options.model) tt_parse_error(p, "no model given (-m FILE)");
    if (args->runner.options.engine)
        tt_parse_error(p, "--engine is one: name the builds with --engines");
    if (!args->n_dirs) tt_parse_error(p, "no builds given (--engines DIR...)");
    if (args->runner.write_ids)
        tt_parse_error(p, "--write-ids: the tokens are in the folder of the results");
}

static const tt_option options[] = {
    {"engines", 0, "DIR...", "A build, or a folder with builds in it; may be repeated", 0,
     TT_TAKE(arguments, n_dirs, take_engines)},
    {"runs", 0, "N", "Measured runs of each build (default: 5)", 0,
     TT_WHOLE(arguments, runs, 1, TT_BISECT_RUNS_MAX)},
    {"phase", 0, "PHASE", "The batches that count: generate (default), prompt or mixed", 0,
     TT_NAME(arguments, phase, tt_trace_phases)},
    {"least", 0, "PERCENT", "Ignore changes below this share of a batch's time (default: 5)", 0,
     TT_WHOLE(arguments, percent, 0, 1000)},
    {"by-op", 0, 0, "List the kinds of op of all builds", 0, .kind = TT_OPTION_TAKE,
     .take = take_by_op, .flags = TT_OPTION_FIRST},
    {"timeout", 0, "SECONDS", "Give a run up after that (default: 600; 0: never)", 0,
     TT_WHOLE(arguments, timeout_s, 0, 1000000)},
    {"output", 'o', "DIR", "The folder of the results (default: bisect-DATE-TIME here)", 0,
     TT_TEXT(arguments, output)},
    {"json", 0, 0, "Print JSON", 0, TT_FLAG(arguments, json), .excludes = "csv"},
    {"quiet", 'q', 0, "No progress, no sentences", 0, TT_FLAG(arguments, quiet)},
    {0},
};

static const tt_options command = {
    .words = "-m MODEL --engines DIR...",
    .about = "Runs the same tokens through many builds of llama.cpp, and shows where the time of a "
             "token, of a kind of op, or the values change.\v"
             "The first build that works chooses the tokens; all others are given them. Each build "
             "is run once with values, then N times in turns. A change counts when the ranges over "
             "the runs do not overlap. Builds that cannot be run or traced are listed with the "
             "reason.\n\n"
             "Exit codes: 0 nothing changes, 1 something does, 2 wrong usage or a folder that "
             "cannot be written, 3 no build could be traced.",
    .sets = {{options, 0, take_dir, check, NULL},
             TT_RUNNER(arguments, runner),
             TT_LIST(arguments, list)}};

/* --- the page --- */

static void draw_line(tt_plot *plot, const tt_bisect *x, const char *op, unsigned color)
{
    tt_series *line = tt_plot_series(plot, op ? op : "a batch", TT_SERIES_LINE, color, x->n);
    for (size_t i = 0; i < x->n; i++) {
        const tt_bisect_build *b = &x->builds[i];
        double ns = op ? NAN : b->time.median_ns;
        for (size_t k = 0; op && k < b->n_ops; k++)
            if (strcmp(b->ops[k].op, op) == 0) ns = b->ops[k].time.median_ns;
        if (op && isnan(ns)) ns = 0;
        if (b->runs) tt_series_add(line, (double)i, ns / 1e6, 0, 0);
    }
}

/* A kind of op over all builds. */
typedef struct changing {
    const char *op;
    double sum;   /* of its changes, whatever their sign */
    size_t place; /* among those found */
} changing;

static int most_first(const void *a, const void *b)
{
    const changing *x = a, *y = b;
    if (x->sum != y->sum) return x->sum < y->sum ? 1 : -1;
    return tt_order(x->place, y->place);
}

/* The kinds of op whose changes are the largest in sum; `out` has room for all. Returns their
 * number. */
static size_t choose_ops(const tt_bisect_op *ops, size_t n_ops, changing *out)
{
    size_t n = 0;
    for (size_t i = 0; i < n_ops; i++) {
        size_t at = 0;
        while (at < n && strcmp(out[at].op, ops[i].op) != 0)
            at++;
        if (at == n) out[n++] = (changing){ops[i].op, 0, at};
        if (ops[i].change.verdict != TT_BISECT_SAME) out[at].sum += fabs(ops[i].change.change);
    }
    qsort(out, n, sizeof *out, most_first);
    return n < OPS_DRAWN ? n : OPS_DRAWN;
}

static void picture(tt_page *p, const tt_bisect *x, const tt_rowset *ops)
{
    changing *list = tt_page_take(p, (ops->n + 1) * sizeof *list);
    const size_t n = list ? choose_ops(ops->rows, ops->n, list) : 0;
    tt_plot *plot = tt_page_plot(p, "Time of a batch by build", "build", "ms");
    tt_series *spans = tt_plot_series(plot, "", TT_SERIES_SPANS, 1, x->n);
    if (!spans) return;
    plot->x_labelled = plot->has_x = true;
    plot->x_min = -0.5;
    plot->x_max = (double)x->n - 0.5;
    for (size_t i = 0; i < x->n; i++) {
        const tt_bisect_build *b = &x->builds[i];
        tt_plot_label(plot, b->release[0] ? b->release : b->name);
        if (b->runs)
            tt_series_add(spans, (double)i, b->time.least_ns / 1e6, (double)i,
                          b->time.most_ns / 1e6);
    }
    draw_line(plot, x, NULL, 1);
    for (size_t i = 0; i < n; i++)
        draw_line(plot, x, list[i].op, (unsigned)i + 2);
    tt_plot_describe(plot, "A line each for a batch and for the kinds of op that change most: "
                           "medians over the runs; upright: from the least to the most of a batch. "
                           "Builds without a point were refused.");
}

static bool is_changed(const void *context, const void *row)
{
    const tt_bisect_build *b = row;
    (void)context;
    return b->change.verdict != TT_BISECT_SAME || b->most || strcmp(b->values, "differs") == 0;
}

static bool is_changed_op(const void *context, const void *row)
{
    (void)context;
    return ((const tt_bisect_op *)row)->change.verdict != TT_BISECT_SAME;
}

static size_t count_changes(const tt_bisect *x)
{
    size_t n = 0;
    for (size_t i = 0; i < x->n; i++)
        n += x->builds[i].runs && is_changed(NULL, &x->builds[i]);
    return n;
}

static size_t count_traced(const tt_bisect *x)
{
    size_t n = 0;
    for (size_t i = 0; i < x->n; i++)
        n += x->builds[i].runs > 0;
    return n;
}

static void sentence(const tt_bisect *x, char out[128])
{
    const size_t traced = count_traced(x), changes = count_changes(x);
    (void)snprintf(out, 128, "%zu of %zu builds traced; %zu differ%s from the one before", traced,
                   x->n, changes, changes == 1 ? "s" : "");
}

static void make_page(tt_page *p, const tt_bisect *x, const tt_rowset *builds, const tt_rowset *ops)
{
    char text[128];
    const tt_listing_wish wish = {.text = true};
    tt_page_open(p);
    p->title = "Builds compared";
    p->wide = true;
    sentence(x, text);
    tt_page_summary(p, "%s.", text);
    tt_page_section_begin(p, "builds", "Builds");
    picture(p, x, ops);
    tt_page_table *t = tt_page_rows(p, NULL, builds, &wish);
    if (t) t->marked = is_changed;
    tt_page_section_begin(p, "ops", "Kinds of op");
    t = tt_page_rows(p, NULL, ops, &wish);
    if (t) t->marked = is_changed_op;
}

/* --- the results --- */

TT_COLUMN_ROWSET(builds_of, tt_bisect, x, tt_bisect_rowset(x))
TT_COLUMN_GET(get_phase, tt_bisect, x, tt_cell_text(cell, tt_phase_name(x->phase));)
static const tt_column result_columns[] = {
    TT_FIELD("phase", "of the batches that count", .type = TT_CELL_NAME, .get = get_phase),
    TT_FIELD("least", "share of a batch's time: smaller changes are ignored",
             TT_MEMBER(tt_bisect, least)),
    TT_FIELD("builds", "in order", .type = TT_CELL_ROWS, .inner = &tt_bisect_schema,
             .rows = builds_of),
};
static const tt_schema result_schema = TT_SCHEMA("result", "of a bisection", result_columns);

static bool put_json(const tt_bisect *x, FILE *out)
{
    tt_json j;
    const tt_rowset set = TT_ROWSET(&result_schema, 0, NULL, x, 1);
    tt_json_begin(&j, out, 2);
    tt_json_object(&j);
    tt_rowset_json(&j, &set, x);
    tt_json_object_end(&j);
    return tt_json_end(&j);
}

static tt_status write_results(const tt_bisect *x, const tt_outdir *d, const tt_page *p,
                               tt_error *err)
{
    FILE *f = tt_outdir_file(d, "bisect.json", err);
    if (!f) return err->status;
    (void)put_json(x, f);
    tt_status status = tt_outdir_close(f, "bisect.json", err);
    if (status != TT_OK || !(f = tt_outdir_file(d, "bisect.html", err))) return err->status;
    tt_page_html(p, f);
    return tt_outdir_close(f, "bisect.html", err);
}

static int print(const arguments *args, const tt_bisect *x, const tt_rowset *builds,
                 const tt_rowset *ops, const char *path)
{
    char text[128];
    if (args->json) return tt_report_output(put_json(x, stdout));
    int code = tt_list_show(args->by_op ? ops : builds, &args->list, NULL);
    sentence(x, text);
    for (size_t i = 0; i < x->n && code == TT_EXIT_OK && !args->quiet; i++)
        if (!x->builds[i].runs)
            tt_report_note("%s refused: %s", x->builds[i].name, x->builds[i].refused);
    if (code == TT_EXIT_OK && !args->quiet)
        tt_report_note("%s; %s/bisect.html has the plot, the folders beside it the traces", text,
                       path);
    return code;
}

static int conclude(const arguments *args, const tt_bisect *x, tt_outdir *d)
{
    tt_page p;
    tt_error err;
    size_t n_ops;
    char *path = strdup(d->path);
    tt_bisect_op *list = tt_bisect_ops(x, &n_ops);
    const tt_rowset builds = tt_bisect_rowset(x);
    const tt_rowset ops = TT_ROWSET(&tt_bisect_ops_schema, 0, NULL, list, list ? n_ops : 0);
    make_page(&p, x, &builds, &ops);
    int code = TT_EXIT_OK;
    if (p.failed || !path)
        code = tt_report_memory();
    else if (write_results(x, d, &p, &err) != TT_OK || tt_outdir_commit(d, &err) != TT_OK)
        code = tt_report_error(&err);
    else
        code = print(args, x, &builds, &ops, path);
    tt_page_close(&p);
    free(list);
    free(path);
    if (code != TT_EXIT_OK) return code;
    if (!count_traced(x)) return TT_EXIT_NO_TRACE;
    return count_changes(x) ? TT_EXIT_DIFFERS : TT_EXIT_OK;
}

static int open_folder(const arguments *args, tt_outdir *d)
{
    char name[64], path[PATH_MAX];
    time_t now = time(NULL);
    struct tm local;
    tt_error err;
    (void)strftime(name, sizeof name, "bisect-%Y%m%d-%H%M%S", localtime_r(&now, &local));
    tt_status status =
        tt_place_absolute(path, sizeof path, args->output ? args->output : name, &err);
    if (status == TT_OK) status = tt_outdir_open(d, path, false, &err);
    if (status == TT_E_EXISTS)
        return tt_report_usage("%s: name another folder with -o", err.message);
    return status == TT_OK ? TT_EXIT_OK : tt_report_error(&err);
}

static int bisect(arguments *args, tt_bisect *x)
{
    tt_outdir folder = {.path = NULL};
    tt_error err;
    for (size_t i = 0; i < args->n_dirs; i++)
        if (tt_bisect_find(x, args->dirs[i], &err) != TT_OK) return tt_report_error(&err);
    if (access(args->runner.options.model, R_OK) != 0)
        return tt_report_usage("%s cannot be read", args->runner.options.model);
    int code = open_folder(args, &folder);
    if (code != TT_EXIT_OK) return code;
    (void)tt_sweep();
    const tt_bisect_plan plan = {.runner = &args->runner,
                                 .folder = &folder,
                                 .runs = args->runs,
                                 .timeout_ns = args->timeout_s * UINT64_C(1000000000)};
    tt_interrupt_watch();
    if (tt_bisect_run(x, &plan, &err) == TT_OK)
        code = conclude(args, x, &folder);
    else
        code = tt_report_error(&err);
    tt_outdir_abandon(&folder);
    tt_interrupt_end();
    if (tt_interrupted()) tt_spawn_die_by(tt_interrupted());
    return code;
}

/* Before anything runs. */
static int check_list(const arguments *args, const tt_bisect *x)
{
    const tt_rowset ops = TT_ROWSET(&tt_bisect_ops_schema, 0, NULL, (const tt_bisect_op *)NULL, 0);
    const tt_rowset builds = tt_bisect_rowset(x);
    const tt_listing_wish wish = tt_list_wish(&args->list, args->json, NULL);
    return tt_list_check(args->by_op ? &ops : &builds, &wish);
}

int tt_cmd_bisect(int argc, char **argv)
{
    arguments args = {.runs = 5, .percent = 5, .timeout_s = 600, .phase = TT_PHASE_GENERATE};
    tt_bisect x = {.n = 0};
    tt_runner_args_init(&args.runner);
    args.list.schema = &tt_bisect_schema;
    tt_options_parse(&command, argc, argv, &args);
    x.phase = args.phase;
    x.least = args.percent / 100.0;
    const int code = check_list(&args, &x) == TT_EXIT_OK ? bisect(&args, &x) : TT_EXIT_USAGE;
    tt_bisect_free(&x);
    tt_runner_args_free(&args.runner);
    return code;
}
