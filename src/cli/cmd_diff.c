/* tensortrace diff A B: two runs compared. */
#include "analyze/diff/diff.h"
#include "base/outfile.h"
#include "cli/command.h"
#include "cli/diff/diff_view.h"
#include "cli/diff/valuediff_view.h"
#include "cli/input.h"
#include "cli/list.h"
#include "cli/report.h"
#include "cli/trace_options.h"

#include <stdlib.h>
#include <string.h>

enum { OPT_THRESHOLD = 256, OPT_CONFIDENCE, OPT_STRUCTURE, OPT_STRICT, OPT_HTML, OPT_BY };
enum { OPT_FORCE = 300, OPT_JSON };

#define THRESHOLD_DEFAULT 0.03
#define CONFIDENCE_DEFAULT 0.99
#define LIMIT_DEFAULT 10u

struct options {
    const char *paths[TT_DIFF_FILES_MAX];
    size_t n_files;
    size_t n_behind; /* behind "--": B's; 0: there was none */
    bool divided;
    tt_diff_options diff;
    tt_list_options list;
    const char *by_name; /* as it was said; NULL: the whole comparison, but for `list` */
    tt_diff_family by;   /* TT_DIFF_FAMILIES: the whole comparison */
    bool strict, json, force;
    const char *html;
    bool of_times; /* an option that is only of times was given */
    tt_valuediff_settings values;
};

static const struct argp_option option_table[] = {
    {"threshold", OPT_THRESHOLD, "PERCENT", 0,
     "A change of a batch's time by up to this much does not matter (default: 3%)", 1},
    {"confidence", OPT_CONFIDENCE, "PERCENT", 0, "How sure a difference has to be (default: 99%)",
     1},
    {"structure-only", OPT_STRUCTURE, 0, 0, "Only what was computed: no times", 1},
    {"strict", OPT_STRICT, 0, 0, "Exit with 1 also when noise leaves open whether the times differ",
     1},
    {"by", OPT_BY, "WHAT", 0,
     "Only one list: part, component, op, layer or node; with --values: value, stage, layer or "
     "batch",
     2},
    {"html", OPT_HTML, "FILE", 0, "Also write it as a page that needs no other file", 2},
    {"force", OPT_FORCE, 0, 0, "Replace the page if it exists", 2},
    {"json", OPT_JSON, 0, 0, "Print JSON", 9},
    {0},
};

static const struct {
    const char *name;
    tt_diff_family family;
} families[] = {{"node", TT_DIFF_OPS},
                {"part", TT_DIFF_PARTS},
                {"component", TT_DIFF_COMPONENTS},
                {"op", TT_DIFF_KINDS},
                {"layer", TT_DIFF_LAYERS}};

/* "3%", "3 %", "0.5"; of a hundred. */
static double percent_option(const char *option, const char *arg, double least, double most,
                             struct argp_state *state)
{
    char *end;
    double v = strtod(arg, &end);
    while (*end == ' ')
        end++;
    if (*end == '%') end++;
    if (end == arg || *end || !(v >= least && v <= most))
        argp_error(state, "%s: \"%.40s\" is not a percentage from %g to %g", option, arg, least,
                   most);
    return v / 100;
}

/* Columns, an order and CSV are of one list: the first, unless --by names one. */
static void check_list(struct options *o, struct argp_state *state)
{
    const bool one = o->by_name || o->list.columns || o->list.sort || o->list.csv;
    const size_t n = sizeof families / sizeof *families;
    o->by = TT_DIFF_FAMILIES;
    tt_list_check(&o->list, o->json, state);
    if (one && o->json)
        argp_error(state, "--json has all lists: not with --by, --columns or --sort");
    if (one && o->diff.structure_only)
        argp_error(state, "--by, --columns, --sort and --csv are of times: not with "
                          "--structure-only");
    if (!one && !o->list.limited) o->list.limit = LIMIT_DEFAULT;
    if (one && o->values.values)
        o->values.by = tt_valuediff_by_option(o->by_name, state);
    else if (one)
        o->by = o->by_name ? families[tt_trace_name_option("--by", o->by_name, state, families, n,
                                                           sizeof *families)]
                                 .family
                           : TT_DIFF_OPS;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->values;
        state->child_inputs[1] = &o->list;
        return 0;
    case OPT_THRESHOLD:
        o->of_times = true;
        o->diff.threshold = percent_option("--threshold", arg, 0, 1000, state);
        return 0;
    case OPT_CONFIDENCE:
        o->of_times = true;
        o->diff.level = 1 - percent_option("--confidence", arg, 50, 99.9999, state);
        return 0;
    case OPT_STRUCTURE:
        o->of_times = true;
        o->diff.structure_only = true;
        return 0;
    case OPT_STRICT:
        o->of_times = true;
        o->strict = true;
        return 0;
    case OPT_BY:
        o->by_name = arg;
        return 0;
    case OPT_HTML:
        o->html = arg;
        return 0;
    case OPT_FORCE:
        o->force = true;
        return 0;
    case OPT_JSON:
        o->json = true;
        return 0;
    case ARGP_KEY_ARG:
        if (o->n_files == TT_DIFF_FILES_MAX)
            argp_error(state, "at most %u files", TT_DIFF_FILES_MAX);
        o->paths[o->n_files++] = arg;
        return 0;
    case ARGP_KEY_END:
        check_list(o, state);
        if (o->values.values && o->of_times)
            argp_error(state, "--threshold, --confidence, --structure-only and --strict are of "
                              "times: not with --values");
        if (o->values.values && o->divided)
            argp_error(state, "--values compares one run with one: no \"--\"");
        if (o->divided && (o->n_behind == 0 || o->n_behind >= o->n_files))
            argp_error(state, "name runs on both sides of \"--\"");
        if (!o->divided && o->n_files != 2)
            argp_error(state, o->n_files < 2 ? "which two traces?"
                                             : "more than two traces: put \"--\" between the runs "
                                               "of A and those of B");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Before all the work: a page that may not be written must not cost a comparison, and --force is no
 * leave to put it in the place of a trace. */
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
    if (!tt_diff_write_html(v, page->stream) && !ferror(page->stream))
        return tt_report_usage("out of memory for the page");
    /* Says when anything could not be written. */
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

int tt_cmd_diff(int argc, char **argv)
{
    static const struct argp_child children[] = {
        {&tt_valuediff_argp, 0, NULL, 0}, {&tt_list_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        option_table,
        parse_option,
        "A B\nA1 A2 ... -- B1 B2 ...",
        "Compares two runs: what was computed, how long it took and where, what was read, what was "
        "around it.\v"
        "Ops are aligned by name, kind and place, batches by their position. Several runs on a "
        "side are repeats: then what differs between them is the noise.\n\n"
        "Exit codes: 0 no difference that matters was found; 1 something else was computed, "
        "or a batch's time (or that of a part of it) changed by more than the threshold; 2 "
        "wrong usage, nothing to compare, or too few batches to compare their times.\n\n"
        "With --values: 0 all that both sides measured is equal or close; 1 something differs; 2 "
        "wrong usage, or nothing to compare.",
        children,
        NULL,
        NULL};
    struct options o = {.diff = {.threshold = THRESHOLD_DEFAULT, .level = 1 - CONFIDENCE_DEFAULT},
                        .list.schema = &tt_diff_row_schema};
    tt_model *models[TT_DIFF_FILES_MAX] = {NULL};
    for (int i = 1; i < argc && !o.divided; i++) {
        if (strcmp(argv[i], "--values") == 0) o.list.schema = &tt_valuediff_item_schema;
        if (strcmp(argv[i], "--") != 0) continue;
        o.divided = true;
        o.n_behind = (size_t)(argc - i - 1);
    }
    tt_report_parse(&argp, argc, argv, 0, &o);
    if (o.values.values)
        return tt_valuediff_run(&o.values, o.paths, &o.list, o.json, o.html, o.force);
    tt_outfile page = {0};
    int code = o.html ? open_page(&o, &page) : TT_EXIT_OK;
    for (size_t f = 0; f < o.n_files && code == TT_EXIT_OK; f++) {
        const tt_input input = {.path = o.paths[f]};
        code = tt_input_open_trace(&input, TT_INPUT_WALKS, &models[f]);
    }
    if (code == TT_EXIT_OK) code = compare(&o, &page, models);
    tt_outfile_abandon(&page);
    for (size_t f = 0; f < o.n_files; f++)
        tt_model_close(models[f]);
    return code;
}
