/* tensortrace info FILE: what ran, and what is worth knowing about it. */
#include "cli/command.h"
#include "cli/info/info.h"
#include "cli/input.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/runs.h"

struct options {
    tt_input input;
    bool brief, verbose;
    tt_where where;
};

static const tt_option option_table[] = {
    {"brief", 0, 0, "Only what ran, without findings: the ops are not read", 1,
     TT_FLAG(struct options, brief)},
    {"verbose", 'v', 0, "Also how it was recorded, and the size of each part of the trace", 1,
     TT_FLAG(struct options, verbose)},
    TT_WHERE(struct options, where, 1),
    {0},
};

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

static int show(void *options)
{
    const struct options *o = options;
    tt_model *m = NULL;
    int code = tt_input_open_trace(&o->input, TT_INPUT_REPORTED, &m);
    if (code == TT_EXIT_OK) code = find_and_print(o, m);
    tt_model_close(m);
    return code;
}

int tt_cmd_info(int argc, char **argv)
{
    static const tt_options command = {
        .words = "FILE",
        .about = "Summarises the trace FILE: engine, model, options, times, and findings.\v"
                 "See also: tensortrace stats, log and verify.",
        .sets = {{.options = option_table}, TT_INPUT(struct options, input)}};
    struct options o = {0};
    tt_options_parse(&command, argc, argv, &o);
    return tt_runs_each(&o.input, &o.where, false, show, &o);
}
