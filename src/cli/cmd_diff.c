/* tensortrace diff A B: two runs compared. */
#include "analyze/diff/diff.h"
#include "base/outfile.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/diff/runs.h"
#include "cli/diff/valuediff_view.h"
#include "cli/diff/view.h"
#include "cli/input.h"
#include "cli/list.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/trace_options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define THRESHOLD_DEFAULT 0.03
#define CONFIDENCE_DEFAULT 0.99
#define LIMIT_DEFAULT 10u

struct options {
    const char *paths[TT_DIFF_FILES_MAX];
    size_t n_files;
    size_t n_behind; /* after "--": B's; 0: none */
    bool divided;
    tt_where where, against; /* both sides are runs of one folder */
    tt_diff_options diff;
    tt_list_options list;
    const char *by_name; /* as given; NULL: the whole comparison, except for `list` */
    tt_diff_family by;   /* TT_DIFF_FAMILIES: the whole comparison */
    bool strict, json, force;
    const char *html;
    tt_valuediff_settings values;
};

/* --- the options of --values --- */

static bool parse_i32(const char *from, const char *end, int32_t *v)
{
    uint32_t u;
    if (from == end || !tt_units_parse_u32(from, end, &u) || u > INT32_MAX) return false;
    *v = (int32_t)u;
    return true;
}

static void take_places(const char *arg, tt_parse *p, int32_t *first, int32_t *last)
{
    const char *end = arg + strlen(arg), *dash = strchr(arg, '-');
    bool ok = parse_i32(arg, dash ? dash : end, first) && (!dash || parse_i32(dash + 1, end, last));
    if (ok && !dash) *last = *first;
    if (!ok || *last < *first)
        tt_parse_refuse(p, "\"%.40s\" is not a number, or a range as 3-7", arg);
}

static double number(const char *text, size_t n, double least, double most, tt_parse *p)
{
    char copy[40], *end;
    if (n < sizeof copy) {
        memcpy(copy, text, n);
        copy[n] = '\0';
        double v = strtod(copy, &end);
        if (n && !*end && v >= least && v <= most) return v;
    }
    tt_parse_refuse(p, "\"%.*s\" is not a number from %g to %g", (int)n, text, least, most);
}

static void take_tolerance(void *options, char *arg, tt_parse *p)
{
    tt_valuediff_options *o = options;
    static const struct {
        const char *key;
        double least, most;
    } keys[] = {{"rel_l2=", 0, 1e9}, {"cosine=", -1, 1}, {"max_abs=", 0, 1e300}};
    double *const values[] = {&o->tolerance.rel_l2, &o->tolerance.cosine, &o->tolerance.max_abs};
    for (const char *at = arg;;) {
        size_t n = strcspn(at, ","), k = 0;
        while (k < 3 && strncmp(at, keys[k].key, strlen(keys[k].key)) != 0)
            k++;
        if (k == 3)
            tt_parse_refuse(p, "\"%.*s\" is none of rel_l2=, cosine=, max_abs=", (int)n, at);
        *values[k] = number(at + strlen(keys[k].key), n - strlen(keys[k].key), keys[k].least,
                            keys[k].most, p);
        if (!at[n]) break;
        at += n + 1;
    }
}

static void take_position(void *options, char *arg, tt_parse *p)
{
    tt_valuediff_options *o = options;
    take_places(arg, p, &o->step_first, &o->step_last);
}

static void take_layers(void *options, char *arg, tt_parse *p)
{
    tt_valuediff_options *o = options;
    take_places(arg, p, &o->layer_first, &o->layer_last);
}

static void take_stages(void *settings, char *arg, tt_parse *p)
{
    tt_valuediff_settings *s = settings;
    (void)p;
    s->maps[0] = s->maps[1] = arg;
}

#define OF_VALUES .needs = "values"

static const tt_option value_options[] = {
    {"values", 0, 0,
     "Compare what was computed, not how long it took; a side may be a folder of BitNet-style "
     "records",
     3, TT_FLAG(struct options, values.values)},
    {"exact", 0, 0, "With --values: values with any different bit differ", 3,
     TT_FLAG(struct options, values.options.exact), OF_VALUES, .excludes = "tolerance"},
    {"tolerance", 0, "LIST",
     "With --values: tolerances, instead of those by type: rel_l2=1e-3,cosine=0.999,"
     "max_abs=0.1",
     3, TT_TAKE(struct options, values.options, take_tolerance),
     TT_GIVEN(struct options, values.options.has_tolerance), OF_VALUES},
    {"stages", 0, "FILE", "With --values: the map of stages, instead of the built-in one", 3,
     TT_TAKE(struct options, values, take_stages), OF_VALUES},
    {"stages-a", 0, "FILE", "The same, for A only", 3, TT_TEXT(struct options, values.maps[0]),
     OF_VALUES},
    {"stages-b", 0, "FILE", "The same, for B only", 3, TT_TEXT(struct options, values.maps[1]),
     OF_VALUES},
    {"position", 0, "N[-M]",
     "With --values: only batches with tokens at these positions in the text", 3,
     TT_TAKE(struct options, values.options, take_position),
     TT_GIVEN(struct options, values.options.has_steps), OF_VALUES},
    {"layer", 0, "N[-M]", "With --values: only these layers", 3,
     TT_TAKE(struct options, values.options, take_layers),
     TT_GIVEN(struct options, values.options.has_layers), OF_VALUES},
    {"stage", 0, "PATTERN", "With --values: only stages that match (*, ?)", 3,
     TT_TEXT(struct options, values.options.stage), OF_VALUES},
    {"by-order", 0, 0,
     "With --values: compare batches by order, whatever their positions in the text", 3,
     TT_FLAG(struct options, values.options.by_order), OF_VALUES},
    {"all", 0, 0, "With --values: list equal and unmeasured values, too", 3,
     TT_FLAG(struct options, values.options.keep_all), OF_VALUES},
    {"svg", 0, "FILE", "With --values: write the picture of error over depth", 3,
     TT_TEXT(struct options, values.svg), OF_VALUES},
    {0},
};

/* --- and of times --- */

/* "3%", "3 %", "0.5"; of a hundred. */
static double percent(const char *arg, double least, double most, tt_parse *p)
{
    char *end;
    double v = strtod(arg, &end);
    while (*end == ' ')
        end++;
    if (*end == '%') end++;
    if (end == arg || *end || !(v >= least && v <= most))
        tt_parse_refuse(p, "\"%.40s\" is not a percentage from %g to %g", arg, least, most);
    return v / 100;
}

static void take_threshold(void *share, char *arg, tt_parse *p)
{
    *(double *)share = percent(arg, 0, 1000, p);
}

static void take_confidence(void *level, char *arg, tt_parse *p)
{
    *(double *)level = 1 - percent(arg, 50, 99.9999, p);
}

static const tt_option option_table[] = {
    {"where", 0, "COLUMN=VALUE",
     "With one folder of experiments: A is its runs that have it, as memory_limit=60% or "
     "label=train "
     "(experiment list --columns help); may be repeated",
     1, TT_TAKE(struct options, where, tt_where_take), .needs = "against"},
    {"against", 0, "COLUMN=VALUE", "B is the runs that have this instead, else what A has", 1,
     TT_TAKE(struct options, against, tt_where_take), .needs = "where"},
    {"threshold", 0, "PERCENT",
     "A change of a batch's time by up to this much does not matter (default: 3%)", 1,
     TT_TAKE(struct options, diff.threshold, take_threshold), .excludes = "values"},
    {"confidence", 0, "PERCENT", "Confidence that a difference must have (default: 99%)", 1,
     TT_TAKE(struct options, diff.level, take_confidence), .excludes = "values"},
    {"structure-only", 0, 0, "Compare only what was computed, not times", 1,
     TT_FLAG(struct options, diff.structure_only), .excludes = "values"},
    {"strict", 0, 0, "Exit with 1 also when noise leaves open whether the times differ", 1,
     TT_FLAG(struct options, strict), .excludes = "values"},
    {"by", 0, "WHAT",
     "Only one list: part, component, op, layer or node; with --values: value, stage, layer or "
     "batch",
     2, TT_TEXT(struct options, by_name)},
    {"html", 0, "FILE", "Also write it as a page that needs no other file", 2,
     TT_TEXT(struct options, html)},
    {"force", 0, 0, "Replace the page if it exists", 2, TT_FLAG(struct options, force)},
    {"json", 0, 0, "Print JSON", 9, TT_FLAG(struct options, json)},
    {0},
};

static void take_file(void *options, char *arg, tt_parse *p)
{
    struct options *o = options;
    if (o->n_files == TT_DIFF_FILES_MAX) tt_parse_error(p, "at most %u files", TT_DIFF_FILES_MAX);
    o->paths[o->n_files++] = arg;
}

static const tt_option_name families[] = {{"node", TT_DIFF_OPS},
                                          {"part", TT_DIFF_PARTS},
                                          {"component", TT_DIFF_COMPONENTS},
                                          {"op", TT_DIFF_KINDS},
                                          {"layer", TT_DIFF_LAYERS}};
static const tt_option_name value_lists[] = {{"value", TT_VALUEDIFF_BY_VALUE},
                                             {"stage", TT_VALUEDIFF_BY_STAGE},
                                             {"layer", TT_VALUEDIFF_BY_LAYER},
                                             {"batch", TT_VALUEDIFF_BY_BATCH}};
#define COUNT(a) (sizeof(a) / sizeof *(a))

/* The value of --by; NULL: the first. */
static int list_named(const char *name, const tt_option_name *lists, size_t n, const char *names,
                      tt_parse *p)
{
    for (size_t i = 0; i < n; i++)
        if (!name || strcasecmp(name, lists[i].name) == 0) return lists[i].value;
    tt_parse_error(p, "--by: \"%.40s\" is not %s", name, names);
}

/* Columns, an order and CSV apply to one list: the first, unless --by names one. */
static void check_list(struct options *o, tt_parse *p)
{
    const bool one = o->by_name || o->list.columns || o->list.sort || o->list.csv;
    o->by = TT_DIFF_FAMILIES;
    if (one && o->json)
        tt_parse_error(p, "--json has all lists: not with --by, --columns or --sort");
    if (one && o->diff.structure_only)
        tt_parse_error(p, "--by, --columns, --sort and --csv are of times: not with "
                          "--structure-only");
    if (!one && !o->list.limited) o->list.limit = LIMIT_DEFAULT;
    if (one && o->values.values)
        o->values.by = (tt_valuediff_by)list_named(o->by_name, value_lists, COUNT(value_lists),
                                                   "value, stage, layer or batch", p);
    else if (one)
        o->by = (tt_diff_family)list_named(o->by_name, families, COUNT(families),
                                           "node, part, component, op or layer", p);
}

static void check_all(void *options, tt_parse *p)
{
    check_list(options, p);
    struct options *o = options;
    if (o->values.values) o->list.schema = &tt_valuediff_item_schema;
    if (o->values.values && o->divided)
        tt_parse_error(p, "--values compares one run with one: no \"--\"");
    if (o->divided && (o->n_behind == 0 || o->n_behind >= o->n_files))
        tt_parse_error(p, "name runs on both sides of \"--\"");
    if (o->against.n && (o->divided || o->n_files != 1))
        tt_parse_error(p, "--where and --against go with one folder of experiments");
    if (o->against.n) return;
    if (!o->divided && o->n_files == 1 && tt_chosen_is_folder(o->paths[0]))
        tt_parse_error(p,
                       "which runs of %s? --where memory_limit=none --against memory_limit=60%%, "
                       "for example; `%s report %s` compares all conditions",
                       o->paths[0], tt_report_program(), o->paths[0]);
    if (!o->divided && o->n_files < 2) tt_parse_error(p, "which two traces?");
    if (!o->divided && o->n_files > 2)
        tt_parse_error(p, "more than two traces: put \"--\" between the runs of A and those of B");
}

/* Before all the work: a page that cannot be written must not cost a comparison, and --force does
 * not allow to replace a trace. */
static int open_page(const struct options *o, tt_outfile *page)
{
    tt_error err;
    for (size_t f = 0; f < o->n_files; f++) {
        const tt_input input = {.path = o->paths[f]};
        if (tt_input_is_within(&input, o->html))
            return tt_report_usage("%s is, or holds, a trace that is read; name another --html",
                                   o->html);
    }
    return tt_outfile_open(page, o->html, o->force, &err) == TT_OK ? TT_EXIT_OK
                                                                   : tt_report_error(&err);
}

static int exit_code(const tt_diff_view *v)
{
    static const int codes[] = {[TT_DIFF_ALIKE] = TT_EXIT_OK,
                                [TT_DIFF_DIFFERS] = TT_EXIT_DIFFERS,
                                [TT_DIFF_UNKNOWN] = TT_EXIT_USAGE};
    return codes[tt_diff_outcome_of(v)];
}

static bool print_json(const tt_diff_view *v)
{
    tt_json j;
    tt_json_begin(&j, stdout, 2);
    tt_diff_json(&j, v);
    return tt_json_end(&j);
}

static bool print_text(const tt_diff_view *v)
{
    tt_page p;
    tt_diff_page_make(&p, v, false);
    const bool ok = tt_page_print(&p, stdout);
    tt_page_close(&p);
    return ok;
}

static int write_page(const tt_diff_view *v, tt_outfile *page)
{
    tt_error err;
    if (!tt_diff_write_html(v, page->stream) && !ferror(page->stream)) return tt_report_memory();
    /* Reports a failed write. */
    return tt_outfile_commit(page, &err) == TT_OK ? TT_EXIT_OK : tt_report_error(&err);
}

static int show(const struct options *o, tt_outfile *page, const tt_diff *d)
{
    const tt_diff_view v = {d, o->paths, o->list.limit, o->strict};
    if (!tt_diff_main(d) || !tt_diff_comparable(d))
        return tt_report_usage("nothing to compare: there is no batch of which both traces have "
                               "ops; `tensortrace info` says what a trace holds");
    int code = o->html ? write_page(&v, page) : TT_EXIT_OK;
    if (code != TT_EXIT_OK) return code;
    if (o->by < TT_DIFF_FAMILIES) {
        const tt_rowset set = tt_diff_rowset(tt_diff_main(d), o->by);
        code = tt_list_show(&set, &o->list, o->by == TT_DIFF_LAYERS ? NULL : "size_of_change");
    } else {
        code = tt_report_output(o->json ? print_json(&v) : print_text(&v));
    }
    if (code != TT_EXIT_OK) return code;
    code = exit_code(&v);
    if (code == TT_EXIT_USAGE)
        tt_report_note(
            "what was computed is the same, but whether the times are could not be "
            "tested: that takes %u batches, or repeats; --structure-only leaves times out",
            TT_SHIFT_SAMPLES_MIN);
    return code;
}

static int compare(const struct options *o, tt_outfile *page, tt_model *const *models)
{
    tt_error err;
    tt_progress bar;
    tt_diff *d;
    tt_diff_options options = o->diff;
    size_t n_a = o->divided ? o->n_files - o->n_behind : 1;
    tt_progress_begin(&bar, "comparing", 0, "tokens");
    options.progress = tt_progress_callback;
    options.context = &bar;
    tt_status status =
        tt_diff_make((const tt_model *const *)models, o->n_files, n_a, &options, &d, &err);
    tt_progress_end(&bar);
    for (size_t f = 0; f < o->n_files; f++)
        tt_trace_note_damage(models[f]);
    if (status != TT_OK) return tt_report_error(&err);
    int code = show(o, page, d);
    tt_diff_free(d);
    return code;
}

static int compare_files(const struct options *o)
{
    tt_model *models[TT_DIFF_FILES_MAX] = {NULL};
    tt_outfile page = {0};
    int code = o->html ? open_page(o, &page) : TT_EXIT_OK;
    for (size_t f = 0; f < o->n_files && code == TT_EXIT_OK; f++) {
        const tt_input input = {.path = o->paths[f]};
        code = tt_input_open_trace(&input, TT_INPUT_WALKS, &models[f]);
    }
    if (code == TT_EXIT_OK) code = compare(o, &page, models);
    tt_outfile_abandon(&page);
    for (size_t f = 0; f < o->n_files; f++)
        tt_model_close(models[f]);
    return code;
}

/* Replaces a folder of experiments by the runs of both sides. */
static int take_runs(struct options *o, tt_diff_runs *runs)
{
    size_t n_a, n_b;
    int code = tt_diff_runs_find(runs, o->paths[0], &o->where, &o->against, o->paths, &n_a, &n_b);
    if (code != TT_EXIT_OK) return code;
    if (o->values.values && (n_a > 1 || n_b > 1))
        return tt_report_usage("--values compares one run with one, and these are %zu and %zu: "
                               "--where repetition=1 chooses",
                               n_a, n_b);
    o->n_files = n_a + n_b;
    o->n_behind = n_b;
    o->divided = true;
    return TT_EXIT_OK;
}

int tt_cmd_diff(int argc, char **argv)
{
    static const tt_options command = {
        .words = "A B\nA1 A2 ... -- B1 B2 ...\nDIR --where COLUMN=VALUE --against COLUMN=VALUE",
        .about =
            "Compares two runs: what was computed, how long it took and where, bytes read, and "
            "settings.\v"
            "Ops are aligned by name, kind and order, batches by position. Several runs on a side "
            "are repeats: their differences measure the noise.\n\n"
            "Exit codes: 0 no difference that matters was found; 1 something else was computed, or "
            "the time of a batch or a part of it changed by more than the threshold; 2 wrong "
            "usage, nothing to compare, or too few batches to compare their times.\n\n"
            "With --values: 0 all that both sides measured is equal or close; 1 something differs; "
            "2 wrong usage, or nothing to compare.",
        .sets = {{option_table, 0, take_file, check_all, NULL},
                 TT_LIST(struct options, list),
                 {.options = value_options}}};
    struct options o = {.diff = {.threshold = THRESHOLD_DEFAULT, .level = 1 - CONFIDENCE_DEFAULT},
                        .list.schema = &tt_diff_row_schema,
                        .values.options.tolerance = {NAN, NAN, NAN}};
    for (int i = 1; i < argc && !o.divided; i++) {
        if (strcmp(argv[i], "--values") == 0) o.list.schema = &tt_valuediff_item_schema;
        if (strcmp(argv[i], "--") != 0) continue;
        o.divided = true;
        o.n_behind = (size_t)(argc - i - 1);
    }
    tt_options_parse(&command, argc, argv, &o);
    tt_diff_runs runs = {0};
    int code = TT_EXIT_OK;
    if (o.against.n) code = take_runs(&o, &runs);
    if (code == TT_EXIT_OK)
        code = o.values.values
                   ? tt_valuediff_run(&o.values, o.paths, &o.list, o.json, o.html, o.force)
                   : compare_files(&o);
    tt_diff_runs_free(&runs);
    return code;
}
