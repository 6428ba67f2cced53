/* tensortrace values FILE: what the ops put out, where NaN comes from, what stands out. */
#include "cli/command.h"
#include "cli/input.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/trace_options.h"
#include "cli/values/values_view.h"

#include <inttypes.h>
#include <string.h>

#define TABLE_LIMIT 40u /* rows of a table, unless --limit says otherwise */
#define COUNT(a) (sizeof(a) / sizeof *(a))

static const struct dimension {
    const char *name;
    tt_values_by by;
} dimensions[] = {
    {"tensor", TT_VALUES_BY_TENSOR}, {"place", TT_VALUES_BY_PLACE}, {"op", TT_VALUES_BY_OP},
    {"layer", TT_VALUES_BY_LAYER},   {"batch", TT_VALUES_BY_BATCH},
};

static const tt_option_name sorts[] = {
    {"execution", TT_VALUES_BY_EXECUTION},
    {"rms", TT_VALUES_BY_RMS},
    {"largest", TT_VALUES_BY_MAX_ABS},
    {"mean", TT_VALUES_BY_MEAN},
    {"bad", TT_VALUES_BY_BAD},
    {"elements", TT_VALUES_BY_ELEMENTS},
    {"name", TT_VALUES_BY_NAME},
};

static const tt_option_name kinds[] = {
    {"bad", TT_VALUES_BAD},
    {"mask", TT_VALUES_MASKING},
    {"constant", TT_VALUES_CONSTANT},
    {"zero", TT_VALUES_ZERO},
};

struct options {
    tt_input input;
    const struct dimension *by; /* NULL: a list */
    tt_values_query query;
    const char *place;
    bool limited, first_bad, outliers, growth, samples;
};

#define VIEWS "first-bad outliers growth by"

static const tt_option option_table[] = {
    {"first-bad", 0, 0,
     "Where NaN or infinities begin: the op, the state of its sources, and how far they spread "
     "(exit code 1 when there are any)",
     1, TT_FLAG(struct options, first_bad), .excludes = "outliers growth by"},
    {"outliers", 0, 0,
     "Outputs whose RMS or largest magnitude stands out among those of the same place", 1,
     TT_FLAG(struct options, outliers), .excludes = "growth by"},
    {"growth", 0, 0, "RMS and range over the layers", 1, TT_FLAG(struct options, growth),
     .excludes = "by"},
    {"place", 0, "NAME",
     "With --growth: of these outputs, named without the layer (default: l_out, what each layer "
     "passes on)",
     1, TT_TEXT(struct options, place), .needs = "growth"},
    {"by", 0, "WHAT", "Sum up by tensor, place (a name without its layer), op, layer or batch", 1,
     TT_ROW(struct options, by, dimensions, COUNT(dimensions))},
    {"only", 0, "WHAT",
     "Only outputs that are bad, mask (hold a mask's infinities), constant or zero", 1,
     TT_NAME(struct options, query.which, kinds), .excludes = VIEWS},
    {"sort", 0, "COLUMN",
     "By execution (default), rms, largest (magnitude), mean, bad (elements), elements or name", 1,
     TT_NAME(struct options, query.sort, sorts), .excludes = VIEWS},
    {"limit", 0, "N", "Only the first N rows; 0: all (the default is 40, with --json all)", 1,
     TT_WHOLE(struct options, query.limit, 0, INT64_MAX), TT_GIVEN(struct options, limited)},
    {"samples", 0, 0, "With the first elements; in JSON also those in between", 1,
     TT_FLAG(struct options, samples)},
    {"name", 0, "GLOB", "Only outputs of nodes with such a name", 2,
     TT_TEXT(struct options, query.name)},
    {0},
};

/* What is asked of the trace; each prints it, or says what is amiss in *err. */

static tt_status list(const struct options *o, const tt_values_view *v, const tt_model *m,
                      tt_json *j, bool *ok, bool *none, tt_error *err)
{
    tt_values_page p;
    tt_status status = tt_values_list(m, &o->query, NULL, &p, err);
    if (status == TT_OK && j)
        tt_values_list_json(j, v, m, &p);
    else if (status == TT_OK && p.total > 0)
        *ok = tt_values_print_list(v, m, &p);
    *none = status == TT_OK && p.total == 0;
    tt_values_page_free(&p);
    return status;
}

static tt_status groups(const struct options *o, const tt_values_view *v, const tt_model *m,
                        tt_json *j, bool *ok, bool *none, tt_error *err)
{
    tt_values_groups g;
    tt_status status = tt_values_groups_make(m, &o->query, o->by->by, NULL, &g, err);
    if (status == TT_OK && j)
        tt_values_groups_json(j, v, m, &g);
    else if (status == TT_OK)
        *ok = tt_values_print_groups(v, &g);
    *none = status == TT_OK && g.n == 0;
    tt_values_groups_free(&g);
    return status;
}

static tt_status outliers(const struct options *o, const tt_values_view *v, const tt_model *m,
                          tt_json *j, bool *ok, bool *none, tt_error *err)
{
    tt_values_outliers x;
    tt_status status = tt_values_outliers_make(m, &o->query, NULL, &x, err);
    if (status == TT_OK && j)
        tt_values_outliers_json(j, v, m, &x);
    else if (status == TT_OK && x.counts.outputs > 0)
        *ok = tt_values_print_outliers(v, m, &x);
    *none = status == TT_OK && x.counts.outputs == 0;
    tt_values_outliers_free(&x);
    return status;
}

static tt_status growth(const struct options *o, const tt_values_view *v, const tt_model *m,
                        tt_json *j, bool *ok, bool *none, tt_error *err)
{
    tt_values_grid g;
    tt_status status = tt_values_grid_make(m, &o->query, o->place, NULL, &g, err);
    const tt_filter *f = &o->query.filter;
    const bool filtered = f->has_batch || f->has_layer || f->phase || f->op || f->tensor;
    *none = status == TT_OK && g.n_layers == 0 && filtered && !o->place;
    if (status == TT_OK && g.n_layers == 0 && !*none)
        status = tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                              "%s: no output of %.60s was measured; --by place lists what was",
                              v->path, o->place ? o->place : "a layer");
    else if (status == TT_OK && !*none)
        *ok = j ? tt_values_growth_json(j, v, m, &g) : tt_values_print_growth(v, m, &g);
    tt_values_grid_free(&g);
    return status;
}

static tt_status first_bad(const struct options *o, const tt_values_view *v, const tt_model *m,
                           tt_json *j, bool *ok, bool *found, bool *none, tt_error *err)
{
    tt_values_first f;
    tt_status status = tt_values_first_bad(m, &o->query, NULL, &f, err);
    if (status == TT_OK) status = tt_values_first_weights(m, NULL, &f, err);
    *none = status == TT_OK && f.counts.outputs == 0;
    if (status == TT_OK && !*none && j)
        tt_values_first_json(j, v, m, &f);
    else if (status == TT_OK && !*none)
        *ok = tt_values_print_first(v, m, &f);
    *found = f.found;
    tt_values_first_free(&f);
    return status;
}

static int say_none(const struct options *o, const tt_model *m)
{
    if (!o->query.name && !o->query.which)
        return tt_trace_none(m, &o->query.filter, "output that was measured");
    tt_report_note("no output passes these filters");
    return TT_EXIT_DIFFERS;
}

static int show(const struct options *o, const tt_model *m)
{
    const tt_values_view v = {.path = o->input.path, .query = &o->query, .samples = o->samples};
    tt_json json, *j = o->input.json ? &json : NULL;
    tt_error err;
    tt_status status;
    bool ok = true, found = false, none = false;
    if (j) tt_json_begin(j, stdout, 2);
    if (o->first_bad)
        status = first_bad(o, &v, m, j, &ok, &found, &none, &err);
    else if (o->outliers)
        status = outliers(o, &v, m, j, &ok, &none, &err);
    else if (o->growth)
        status = growth(o, &v, m, j, &ok, &none, &err);
    else if (o->by)
        status = groups(o, &v, m, j, &ok, &none, &err);
    else
        status = list(o, &v, m, j, &ok, &none, &err);
    if (status != TT_OK) return tt_report_error(&err);
    if (none && o->growth) return say_none(o, m);
    if (none && o->first_bad) {
        /* Nothing looked at is neither nothing found nor something found. */
        (void)say_none(o, m);
        return TT_EXIT_USAGE;
    }
    if (j) ok = tt_json_end(j) && ok;
    int code = tt_report_output(ok);
    if (code == TT_EXIT_OK && none) return say_none(o, m);
    return code == TT_EXIT_OK && found ? TT_EXIT_DIFFERS : code;
}

/* Why there are none, and how there would be. */
static int no_values(const char *path, const tt_model *m)
{
    char text[4 * 64];
    const char *asked = tt_model_environment(m, "capture_values");
    if (!asked || strcmp(asked, "off") == 0 || strncmp(asked, "not observed", 12) == 0)
        return tt_report_usage("%s: values were not recorded: run with --values=stats (or hash, "
                               "full)",
                               path);
    return tt_report_usage("%s: no output was taken: --values=%s selected none that was executed; "
                           "--values=hash (or TENSORTRACE_VALUES=hash) takes all",
                           path, tt_trace_text(text, sizeof text, asked));
}

int tt_cmd_values(int argc, char **argv)
{
    static const tt_options command = {
        .words = "FILE",
        .about = "What the ops put out in the trace FILE: shape, NaN and infinities, range, mean, "
                 "RMS and hash of each output, in the order of execution.\v"
                 "Needs a trace that was made with --values. Infinities of attention masks are no "
                 "fault and are told apart. Exit code: 0, with --first-bad 1 when something is "
                 "bad; 2 when there are no values to look at.",
        .sets = {{.options = option_table},
                 TT_INPUT(struct options, input),
                 TT_FILTER(struct options, query.filter)}};
    struct options o = {0};
    tt_model *m = NULL;
    tt_options_parse(&command, argc, argv, &o);
    if (!o.limited && !o.input.json) o.query.limit = TABLE_LIMIT;
    int code = tt_input_open_trace(&o.input, TT_INPUT_NOTES, &m);
    if (code == TT_EXIT_OK && !tt_outputs_any(m)) code = no_values(o.input.path, m);
    if (code == TT_EXIT_OK) code = show(&o, m);
    tt_model_close(m);
    return code;
}
