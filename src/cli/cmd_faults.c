/* tensortrace faults FILE: what had to come from disk, for which weights, when. */
#include "cli/command.h"
#include "cli/faults/faults_text.h"
#include "cli/faults/faults_view.h"
#include "cli/report.h"
#include "cli/trace_options.h"
#include "model/faults.h"

#include <inttypes.h>
#include <string.h>

#define TABLE_LIMIT 30u /* rows of a table, unless --limit says otherwise */

enum { OPT_BY = 256, OPT_RESIDENCY, OPT_READS };

static const struct argp_option option_table[] = {
    {"by", OPT_BY, "WHAT", 0, "Sum up by tensor (default), batch, layer, op or thread", 1},
    {"reads", OPT_READS, 0, 0, "Each op that had to wait for a device, in the order of time", 1},
    {"residency", OPT_RESIDENCY, 0, 0,
     "Which bytes of the model were in RAM: by batch, or with --by tensor", 1},
    {0},
};

static void check_together(const tt_faults_options *o, struct argp_state *state)
{
    tt_list_check(&o->list, o->input.json, state);
    if (o->residency && o->reads) argp_error(state, "--residency or --reads, not both");
    if (o->residency && o->by->by != TT_FAULTS_BY_TENSOR && o->by->by != TT_FAULTS_BY_TOKEN)
        argp_error(state, "--residency is by batch or by tensor");
    if ((o->residency || o->reads) && (o->list.columns || o->list.csv))
        argp_error(state, "--columns and --csv do not go with --residency and --reads");
    if (o->residency && o->list.sort) argp_error(state, "--sort does not go with --residency");
    if (o->reads && (o->by_given || o->list.sort))
        argp_error(state, "--reads lists ops in the order of time, without --by and --sort");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    tt_faults_options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->input;
        state->child_inputs[1] = &o->list;
        state->child_inputs[2] = &o->filter;
        return 0;
    case OPT_BY:
        o->by = &tt_faults_dimensions[tt_trace_name_option("--by", arg, state, tt_faults_dimensions,
                                                           TT_FAULTS_DIMENSIONS,
                                                           sizeof *tt_faults_dimensions)];
        o->by_given = true;
        return 0;
    case OPT_RESIDENCY:
        o->residency = true;
        return 0;
    case OPT_READS:
        o->reads = true;
        return 0;
    case ARGP_KEY_END:
        check_together(o, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Why something is not in the trace, as its recorder said; or which option would have had it. */
static void reason_text(const tt_model *m, const char *key, const char *option, char *out,
                        size_t room)
{
    const char *said = tt_model_environment(m, key);
    char text[300];
    if (said && strncmp(said, "not observed", strlen("not observed")) == 0)
        (void)snprintf(out, room, "%s", tt_trace_text(text, sizeof text, said));
    else if (said && strcmp(said, "on") == 0)
        (void)snprintf(out, room, "%s was on, but nothing was recorded", option);
    else
        (void)snprintf(out, room, "run with %s", option);
}

/* TT_EXIT_OK when there is something to show. What there is not is told. */
static int tell_missing(const tt_faults_options *o, const tt_faults_view *v)
{
    char reason[320];
    const tt_model *m = v->m;
    if (v->residency) {
        if (m->n_residencies) return TT_EXIT_OK;
        reason_text(m, "capture_residency", "--residency", reason, sizeof reason);
        return tt_report_usage("%s: residency was not recorded: %s", v->path, reason);
    }
    if (v->counted) return TT_EXIT_OK;
    reason_text(m, "capture_faults", "--faults", reason, sizeof reason);
    if (o->reads || (!m->n_residencies && !m->n_usages))
        return tt_report_usage("%s: faults were not recorded: %s", v->path, reason);
    tt_report_note("faults of ops were not recorded: %s", reason);
    return TT_EXIT_OK;
}

static bool print_json(tt_faults_view *v)
{
    tt_json j;
    tt_json_begin(&j, stdout, 2);
    bool ok = tt_faults_json(&j, v);
    return tt_json_end(&j) && ok;
}

static int show(const tt_faults_options *o, const tt_model *m)
{
    tt_faults_view v = {.path = o->input.path,
                        .m = m,
                        .filter = &o->filter,
                        .by = o->by,
                        .by_given = o->by_given,
                        .wish = {.columns = o->list.columns,
                                 .sort = o->list.sort ? o->list.sort : o->by->sort,
                                 .limit = o->list.limit,
                                 .text = !o->input.json && !o->list.csv,
                                 .csv = o->list.csv},
                        .residency = o->residency,
                        .counted = tt_model_has_faults(m)};
    tt_error err;
    int code = tell_missing(o, &v);
    if (code != TT_EXIT_OK) return code;
    if (o->reads) return tt_faults_print_reads(o, m);
    tt_progress bar;
    tt_progress_begin(&bar, "reading", m->n_runs, "runs");
    tt_status status = tt_faults_collect(&v, tt_progress_callback, &bar, &err);
    tt_progress_end(&bar);
    int none = TT_EXIT_OK;
    if (status == TT_OK && !v.residency && v.sums && tt_faults_total(v.sums)->count == 0)
        none = tt_trace_none(m, &o->filter, "op");
    if (status != TT_OK)
        code = tt_list_error(&err);
    else if (o->input.json)
        code = tt_report_output(print_json(&v));
    else if (o->list.csv && v.rows)
        code = tt_report_output(tt_list_print_csv(v.rows));
    else if (none == TT_EXIT_OK) /* the kernel's totals are not of ops that are not there */
        code = tt_report_output(tt_faults_print_text(&v));
    if (code == TT_EXIT_OK) code = none;
    tt_faults_view_free(&v);
    return code;
}

static const struct argp_child children[] = {{&tt_input_argp, 0, NULL, 0},
                                             {&tt_list_argp, 0, NULL, 0},
                                             {&tt_trace_filter_argp, 0, NULL, 0},
                                             {0}};

int tt_cmd_faults(int argc, char **argv)
{
    static const struct argp argp = {
        option_table,
        parse_option,
        "FILE",
        "What had to come from disk in the trace FILE: page faults and bytes read, for which "
        "weights, when, at what rate, in which batch.\v"
        "Needs a trace that was made with --faults (and --residency for what was in RAM). READ is "
        "what the kernel asked a device for while a thread was in the op, readahead included. "
        "USED is the bytes of weights that the ops read in the mapped file, each byte once. "
        "BLOCKED is the threads' "
        "time in the ops without a processor.",
        children,
        NULL,
        NULL};
    tt_faults_options o = {.list.schema = &tt_faults_schema, .by = &tt_faults_dimensions[0]};
    tt_model *m = NULL;
    tt_report_parse(&argp, argc, argv, 0, &o);
    if (!o.list.limited && !o.input.json && !o.list.csv) o.list.limit = TABLE_LIMIT;
    int code = tt_input_open_trace(&o.input, TT_INPUT_NOTES, &m);
    if (code == TT_EXIT_OK) code = show(&o, m);
    tt_model_close(m);
    return code;
}
