/* tensortrace info FILE: what ran, and what is worth knowing about it. */
#include "base/json.h"
#include "cli/command.h"
#include "cli/info.h"
#include "cli/report.h"

#include <errno.h>
#include <string.h>

enum { OPT_JSON = 256, OPT_BRIEF };

struct options {
    const char *path;
    bool json;
    bool brief;
};

static const struct argp_option option_table[] = {
    {"brief", OPT_BRIEF, 0, 0, "Only what ran: no findings, so no walk over the ops", 1},
    {"json", OPT_JSON, 0, 0, "Print JSON", 1},
    {0},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;
    switch (key) {
    case OPT_JSON:
        o->json = true;
        return 0;
    case OPT_BRIEF:
        o->brief = true;
        return 0;
    case ARGP_KEY_ARG:
        if (o->path) argp_error(state, "one FILE only");
        o->path = arg;
        return 0;
    case ARGP_KEY_END:
        if (!o->path) argp_error(state, "which FILE?");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void progress(void *context, uint64_t done, uint64_t total)
{
    tt_progress *p = context;
    p->total = total;
    tt_progress_update(p, done);
}

static int find_and_print(const struct options *o, const tt_model *m)
{
    tt_info info;
    tt_error err;
    tt_progress bar;
    tt_progress_begin(&bar, "reading", m->n_runs, "runs");
    tt_status status = tt_info_collect(&info, m, o->path, !o->brief, progress, &bar, &err);
    tt_progress_end(&bar);
    int code = TT_EXIT_OK;
    if (status != TT_OK)
        code = tt_report_error(&err);
    else if (!(o->json ? tt_info_print_json(&info) : tt_info_print_text(&info)))
        code = tt_report_usage("cannot write to standard output: %s", strerror(errno));
    tt_info_free(&info);
    return code;
}

int tt_cmd_info(int argc, char **argv)
{
    static const struct argp argp = {
        option_table,
        parse_option,
        "FILE",
        "What the trace FILE holds: engine, model, options, times, and findings.\v"
        "See also: tensortrace stats, log and verify.",
        NULL,
        NULL,
        NULL};
    struct options o = {0};
    tt_model *m = NULL;
    tt_error err;
    tt_report_parse(&argp, argc, argv, 0, &o);
    if (tt_model_open(o.path, &m, &err) != TT_OK) return tt_report_error(&err);
    int code = find_and_print(&o, m);
    tt_model_close(m);
    return code;
}
