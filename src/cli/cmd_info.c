/* tensortrace info FILE: what ran, and what is worth knowing about it. */
#include "cli/command.h"
#include "cli/info/info.h"
#include "cli/input.h"
#include "cli/report.h"

enum { OPT_BRIEF = 256 };

struct options {
    tt_input input;
    bool brief, verbose;
};

static const struct argp_option option_table[] = {
    {"brief", OPT_BRIEF, 0, 0, "Only what ran: no findings, so no walk over the ops", 1},
    {"verbose", 'v', 0, 0, "Also how it was recorded, and what the trace's bytes are", 1},
    {0},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;
    (void)arg;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->input;
        return 0;
    case OPT_BRIEF:
        o->brief = true;
        return 0;
    case 'v':
        o->verbose = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static bool print_json(const tt_info *info)
{
    tt_json j;
    tt_json_begin(&j, stdout, 2);
    tt_info_json(&j, info);
    return tt_json_end(&j);
}

static int find_and_print(const struct options *o, const tt_model *m)
{
    tt_info info;
    tt_error err;
    tt_progress bar;
    tt_progress_begin(&bar, "reading", m->n_runs, "runs");
    tt_status status =
        tt_info_collect(&info, m, o->input.path, !o->brief, tt_progress_callback, &bar, &err);
    tt_progress_end(&bar);
    int code;
    if (status != TT_OK)
        code = tt_report_error(&err);
    else
        code = tt_report_output(o->input.json ? print_json(&info)
                                              : tt_info_print_text(&info, o->verbose));
    tt_info_free(&info);
    return code;
}

static const struct argp_child children[] = {{&tt_input_argp, 0, NULL, 0}, {0}};

int tt_cmd_info(int argc, char **argv)
{
    static const struct argp argp = {
        option_table,
        parse_option,
        "FILE",
        "What the trace FILE holds: engine, model, options, times, and findings.\v"
        "See also: tensortrace stats, log and verify.",
        children,
        NULL,
        NULL};
    struct options o = {0};
    tt_model *m = NULL;
    tt_report_parse(&argp, argc, argv, 0, &o);
    int code = tt_input_open_trace(&o.input, TT_INPUT_TELLS, &m);
    if (code == TT_EXIT_OK) code = find_and_print(&o, m);
    tt_model_close(m);
    return code;
}
