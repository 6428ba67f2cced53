/* tensortrace heat FILE: which weights are hot, which are cold, and in what order they are read. */
#include "analyze/heat.h"
#include "cli/command.h"
#include "cli/heat_view.h"
#include "cli/input.h"
#include "cli/report.h"
#include "cli/trace_options.h"

#include <inttypes.h>
#include <string.h>

#define TABLE_ROWS 20

enum { OPT_BY = 256, OPT_SORT, OPT_LIMIT, OPT_COLD };

static const struct dimension {
    const char *name;
    const char *title;
    tt_heat_by by;
    tt_heat_sort sort; /* unless --sort says otherwise */
} dimensions[] = {
    {"tensor", "TENSOR", TT_HEAT_TENSOR, TT_HEAT_SORT_READ},
    {"expert", "TENSOR OR EXPERT", TT_HEAT_EXPERT, TT_HEAT_SORT_READ},
    {"layer", "LAYER", TT_HEAT_LAYER, TT_HEAT_SORT_READ},
    {"component", "COMPONENT", TT_HEAT_COMPONENT, TT_HEAT_SORT_READ},
};

static const struct {
    const char *name;
    tt_heat_sort sort;
} sorts[] = {
    {"accesses", TT_HEAT_SORT_ACCESSES}, {"read", TT_HEAT_SORT_READ},
    {"size", TT_HEAT_SORT_SIZE},         {"time", TT_HEAT_SORT_TIME},
    {"reuse", TT_HEAT_SORT_REUSE},       {"first", TT_HEAT_SORT_FIRST},
    {"last", TT_HEAT_SORT_LAST},         {"key", TT_HEAT_SORT_KEY},
};

#define COUNT(a) (sizeof(a) / sizeof *(a))

struct options {
    tt_input input;
    const struct dimension *by; /* NULL: by expert where choices were observed, else by tensor */
    tt_heat_sort sort;
    bool sorted;
    uint64_t limit;
    bool limited;
    bool cold;
    tt_filter filter;
};

static const struct argp_option option_table[] = {
    {"by", OPT_BY, "WHAT", 0,
     "A row for each tensor, expert, layer or component (default: expert where the choices of "
     "experts were observed, else tensor)",
     1},
    {"sort", OPT_SORT, "COLUMN", 0,
     "By accesses, read (default), size, time, reuse, first, last or key (as in the file)", 1},
    {"limit", OPT_LIMIT, "N", 0, "Only the first N rows (default: 20; JSON: all)", 1},
    {"cold", OPT_COLD, 0, 0, "Only what was never read", 1},
    {0},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->input;
        state->child_inputs[1] = &o->filter;
        return 0;
    case OPT_BY:
        o->by = &dimensions[tt_trace_name_option("--by", arg, state, dimensions, COUNT(dimensions),
                                                 sizeof *dimensions)];
        return 0;
    case OPT_SORT:
        o->sort =
            sorts[tt_trace_name_option("--sort", arg, state, sorts, COUNT(sorts), sizeof *sorts)]
                .sort;
        o->sorted = true;
        return 0;
    case OPT_LIMIT:
        o->limit = tt_trace_limit_option(arg, state);
        o->limited = true;
        return 0;
    case OPT_COLD:
        o->cold = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static bool print_json(const tt_heat_view *view, const tt_model *m, tt_heat *heat)
{
    tt_json j;
    tt_json_begin(&j, stdout, 2);
    tt_heat_json(&j, view, m, heat);
    return tt_json_end(&j);
}

static int print(struct options *o, const tt_model *m, tt_heat *heat)
{
    const tt_heat_view view = {.path = o->input.path,
                               .by = o->by->name,
                               .what = o->by->by,
                               .limit = o->limited || o->input.json ? o->limit : TABLE_ROWS,
                               .cold = o->cold};
    tt_heat_rows_sort(heat, m, o->sorted ? o->sort : o->cold ? TT_HEAT_SORT_SIZE : o->by->sort);
    if (o->input.json) {
        const int code = tt_report_output(print_json(&view, m, heat));
        if (code != TT_EXIT_OK || heat->reads || m->n_weights == 0) return code;
    }
    if (heat->reads == 0) {
        if (m->n_weights > 0) return tt_trace_none(m, &o->filter, "op that reads weights");
        tt_report_note("the trace names no weights of a model");
        return TT_EXIT_OK;
    }
    return tt_report_output(tt_heat_print_text(&view, o->by->title, m, heat));
}

static int measure_and_print(struct options *o, const tt_model *m)
{
    tt_error err;
    tt_progress bar;
    tt_reads reads;
    tt_heat heat = {0};
    tt_progress_begin(&bar, "reading", m->n_runs, "runs");
    tt_status status = tt_reads_collect(m, &o->filter, &reads, tt_progress_callback, &bar, &err);
    tt_progress_end(&bar);
    if (!o->by) o->by = &dimensions[tt_heat_has_experts(&reads) ? 1 : 0];
    if (status == TT_OK) status = tt_heat_measure(m, &reads, &o->filter, o->by->by, &heat, &err);
    if (reads.impossible)
        tt_report_note("%" PRIu64 " reads of places that no file has are left out",
                       reads.impossible);
    if (status == TT_OK && heat.at_most && !o->input.json)
        tt_report_note("which rows or experts some ops read was not observed: \"<=\" marks upper "
                       "bounds");
    int code = status == TT_OK ? print(o, m, &heat) : tt_report_error(&err);
    tt_heat_free(&heat);
    tt_reads_free(&reads);
    return code;
}

static const struct argp_child children[] = {
    {&tt_input_argp, 0, NULL, 0}, {&tt_trace_filter_argp, 0, NULL, 0}, {0}};

int tt_cmd_heat(int argc, char **argv)
{
    static const struct argp argp = {
        option_table,
        parse_option,
        "FILE",
        "Which weights are read how often in the trace FILE, which never, and in what order.\v"
        "REUSE is how many distinct bytes of weights are read from one use to the next, in the "
        "middle of all uses: a cache that drops what was used longest ago keeps the weight when "
        "it is at least that large.",
        children,
        NULL,
        NULL};
    struct options o = {0};
    tt_model *m = NULL;
    tt_report_parse(&argp, argc, argv, 0, &o);
    int code = tt_input_open_trace(&o.input, TT_INPUT_NOTES, &m);
    if (code == TT_EXIT_OK) code = measure_and_print(&o, m);
    tt_model_close(m);
    return code;
}
