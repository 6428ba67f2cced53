/* tensortrace why FILE: the run at a glance, or why a batch, a layer or an op took its time. */
#include "analyze/why/columns.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/list.h"
#include "cli/options.h"
#include "cli/overview_text.h"
#include "cli/report.h"
#include "cli/runs.h"
#include "cli/table.h"
#include "cli/trace_options.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
    tt_input input;
    tt_where where;
    uint32_t batch;
    bool has_batch;
    tt_filter filter; /* layer, model, context */
    const char *op;   /* NULL: not given */
};

static const tt_option option_table[] = {
    {"batch", 'b', "N", "This batch (0 is the first)", 1,
     TT_WHOLE(struct options, batch, 0, UINT32_MAX - 1), TT_GIVEN(struct options, has_batch)},
    {"token", 't', TT_FORMER},
    {"layer", 'l', "N",
     "This layer (enc 3: of that stack; none: outside any), or --op in it: of the generated "
     "tokens, or of --batch",
     1, TT_FILTER_LAYER(struct options, filter.)},
    {"op", 'o', "NAME", "The op of that name, or RUN:NODE: of the generated tokens, or of --batch",
     1, TT_TEXT(struct options, op)},
    TT_FILTER_MODEL(struct options, filter., 1),
    TT_WHERE(struct options, where, 1),
    {0},
};

static void check(void *options, tt_parse *p)
{
    const struct options *o = options;
    if ((o->filter.model || o->filter.has_context) && !o->filter.has_layer && !o->op)
        tt_parse_error(p, "--model and --context say of which model or context --layer or --op is");
}

/* --- text --- */

static bool print_ops(const tt_why *w)
{
    const bool batches = w->kind == TT_WHY_OP;
    const tt_rowset set = TT_ROWSET(&tt_why_op_schema, 0, w->m, w->ops, w->n_ops);
    const tt_listing_wish wish = {.columns = batches
                                                 ? "batch_id,op,time_ns,usual_ns,excess_ns,run_node"
                                                 : "name,op,time_ns,usual_ns,excess_ns,run_node",
                                  .text = true};
    return tt_list_print_under(w->n_ops && isnan(w->ops[0].usual_ns) ? "Longest ops"
                               : batches ? "Executions that exceed the median most"
                                         : "Ops that exceed their own median most",
                               &set, &wish, NULL);
}

static bool print_faults(const tt_why *w)
{
    const tt_rowset set = TT_ROWSET(&tt_why_fault_schema, 0, w->m, w->faults, w->n_faults);
    char caption[80] = "Page faults by tensor";
    if (w->faults_total > w->n_faults)
        (void)snprintf(caption, sizeof caption, "Page faults by tensor (%zu of %" PRIu64 ")",
                       w->n_faults, w->faults_total);
    return tt_list_print_under(caption, &set, &(tt_listing_wish){.text = true}, NULL);
}

static bool print_why(const tt_why *w)
{
    for (size_t i = 0; i < w->text.n; i++)
        tt_table_text(stdout, 0, w->text.list[i]);
    const bool ok = tt_parts_print(w->m, w->parts, w->n_parts, w->time_ns, &w->usual) &&
                    print_ops(w) && print_faults(w);
    tt_sentences_print("Excluded", &w->excluded);
    tt_sentences_print("Not known", &w->not_known);
    return ok;
}

/* --- what is asked for --- */

/* "RUN:NODE"; TT_E_NOT_FOUND: no such run. False: it is a name. */
static bool is_place(const char *op, uint32_t *run, uint32_t *node)
{
    const char *colon = strchr(op, ':');
    return colon && tt_units_parse_u32(op, colon, run) &&
           tt_units_parse_u32(colon + 1, colon + strlen(colon), node);
}

static tt_status ask(const struct options *o, const tt_model *m, tt_why *w, tt_error *err)
{
    uint32_t batch = TT_NONE, run, node;
    tt_status status = o->has_batch ? tt_why_find_batch(m, o->batch, &batch, err) : TT_OK;
    if (status != TT_OK) return status;
    if (o->op && is_place(o->op, &run, &node)) {
        const tt_filter *f = &o->filter;
        if (f->has_layer || f->model || f->has_context)
            return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                                "--op RUN:NODE is one op: --layer, --model and --context do not go "
                                "with it");
        if (run >= m->n_runs)
            return tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET,
                                "the trace has no run %" PRIu32 "; it has %" PRIu32, run,
                                m->n_runs);
        return tt_why_op_at(m, run, node, NULL, w, err);
    }
    if (o->op) return tt_why_op_named(m, o->op, &o->filter, batch, NULL, w, err);
    if (o->filter.has_layer) return tt_why_layer(m, &o->filter, batch, NULL, w, err);
    return tt_why_batch(m, batch, NULL, w, err);
}

static int show_why(const struct options *o, const tt_model *m)
{
    tt_why w = {0};
    tt_error err;
    const tt_status status = ask(o, m, &w, &err);
    const int code =
        status == TT_OK
            ? tt_report_output(o->input.json ? tt_row_json_print(stdout, &tt_why_schema, m, &w)
                                             : print_why(&w))
        : status == TT_E_NOT_FOUND && (o->filter.model || o->filter.has_context)
            ? tt_trace_none(m, &o->filter, "op")
        : status == TT_E_NOT_FOUND ? (tt_report_note("%s", err.message), TT_EXIT_DIFFERS)
                                   : tt_report_error(&err);
    tt_why_free(&w);
    return code;
}

static int show_overview(const struct options *o, const tt_model *m)
{
    tt_overview overview;
    tt_error err;
    tt_progress bar;
    tt_progress_begin(&bar, "reading", m->n_runs, "runs");
    const tt_status status =
        tt_overview_make(m, NULL, tt_progress_callback, &bar, NULL, &overview, &err);
    tt_progress_end(&bar);
    const int code =
        status == TT_OK
            ? tt_report_output(o->input.json
                                   ? tt_row_json_print(stdout, &tt_overview_schema, m, &overview)
                                   : tt_overview_print(&overview))
            : tt_report_error(&err);
    tt_overview_free(&overview);
    return code;
}

static int show(void *options)
{
    const struct options *o = options;
    tt_model *m = NULL;
    int code = tt_input_open_trace(&o->input, TT_INPUT_WALKS, &m);
    if (code == TT_EXIT_OK)
        code = o->has_batch || o->filter.has_layer || o->op ? show_why(o, m) : show_overview(o, m);
    if (m) tt_trace_note_damage(m);
    tt_model_close(m);
    return code;
}

int tt_cmd_why(int argc, char **argv)
{
    static const tt_options command = {
        .words = "FILE",
        .about = "Says why a batch, a layer or an op of the trace FILE took as long as it did; "
                 "without one of these, where the run's time went and what was slow.\v"
                 "A time is compared with the median of comparable ones. The parts of a time add "
                 "up to it. What the trace does not tell is called not known.",
        .sets = {{.options = option_table, .check = check}, TT_INPUT(struct options, input)},
    };
    struct options o = {0};
    tt_options_parse(&command, argc, argv, &o);
    return tt_runs_each(&o.input, &o.where, false, show, &o);
}
