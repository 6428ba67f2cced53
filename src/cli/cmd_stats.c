/* tensortrace stats FILE: sums of time and bytes. */
#include "answer/stats.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/list.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/runs.h"
#include "cli/trace_options.h"

#include <inttypes.h>
#include <stdio.h>

struct options {
    tt_input input;
    tt_list_options list;
    const tt_stats_dimension *by; /* NULL: not given */
    bool shows_sources;           /* the table has its default form */
    tt_where where;
    tt_filter filter;
};

static const tt_option option_table[] = {
    {"by", 0, "WHAT",
     "Sum up by op (default), layer, component, category, tensor, thread, batch, phase, model or "
     "context",
     1, TT_ROW(struct options, by, tt_stats_dimensions, TT_STATS_DIMENSIONS)},
    TT_WHERE(struct options, where, 1),
    {0},
};

static void check(void *options, tt_parse *p)
{
    struct options *o = options;
    (void)p;
    o->list.kind = (uint16_t)(1u << (o->by ? o->by : &tt_stats_dimensions[0])->by);
}

static bool print_json(const struct options *o, const tt_model *m, const tt_stats *s,
                       const tt_listing *rows)
{
    const tt_stats_view v = {.path = o->input.path,
                             .m = m,
                             .by = o->by,
                             .rows = rows,
                             .total = tt_stats_total(s),
                             .orphan = tt_stats_orphan(s)};
    tt_json j;
    tt_json_begin(&j, stdout, 2);
    tt_stats_json(&j, &v);
    return tt_json_end(&j);
}

static int print_rows(const struct options *o, const tt_model *m, const tt_stats *s)
{
    size_t n;
    const tt_stats_row *list = tt_stats_rows(s, &n);
    const tt_stats_context context = {tt_stats_total(s)};
    const tt_rowset set = tt_stats_rowset(&context, o->by->by, list, n);
    const tt_listing_wish wish = tt_list_wish(&o->list, o->input.json, o->by->sort);
    tt_listing rows;
    int code = tt_list_make(&rows, &set, &wish);
    if (code == TT_EXIT_OK && o->input.json)
        code = tt_report_output(print_json(o, m, s, &rows));
    else if (code == TT_EXIT_OK && o->list.csv)
        code = tt_report_output(tt_list_print_csv(&rows));
    else if (code == TT_EXIT_OK && context.total->count)
        code = tt_report_output(tt_list_print(&rows, context.total));
    tt_listing_free(&rows);
    return code;
}

/* What the ops read: the number of tensors and names, and where they are. */
static void write_sources(const tt_stats_row *total)
{
    char sources[TT_UNITS_TEXT], tensors[TT_UNITS_TEXT];
    const double all = (double)total->sources;
    if (!total->sources || !total->tensors) return;
    tt_table_printf(stdout, 0,
                    "\n%s reads of %s tensors, %.2f an op\n"
                    "%.1f %% of them in mapped model files, %.1f %% in buffers\n",
                    tt_units_count(sources, total->sources),
                    tt_units_count(tensors, total->tensors), all / (double)total->count,
                    100 * (double)total->file_sources / all,
                    100 * (double)total->buffer_sources / all);
}

static int sum_and_print(const struct options *o, const tt_model *m)
{
    tt_error err;
    tt_progress bar;
    tt_stats *s = tt_stats_new(m, o->by->by, &o->filter);
    if (!s) return tt_report_memory();
    tt_progress_begin(&bar, "reading", m->n_runs, "runs");
    tt_status status = tt_stats_walk(&s, 1, m, tt_progress_callback, &bar, &err);
    tt_progress_end(&bar);
    tt_trace_note_damage(m);
    int code, none = TT_EXIT_OK;
    if (status != TT_OK) {
        code = tt_report_error(&err);
    } else {
        /* At the start of a flight recorder's trace there are always some. */
        if (tt_stats_orphan(s) && !m->front.present)
            tt_report_note("%" PRIu64 " records of runs that the trace does not describe left out",
                           tt_stats_orphan(s));
        else if (tt_stats_total(s)->count == 0)
            none = tt_trace_none(m, &o->filter, "op");
        char flaws[TT_STATS_FLAWS_TEXT];
        bool flawed = tt_stats_flaws(tt_stats_total(s), flaws);
        code = print_rows(o, m, s);
        if (code == TT_EXIT_OK && o->shows_sources) write_sources(tt_stats_total(s));
        if (flawed) tt_report_note("%s", flaws);
        if (m->waits_unknown) tt_report_note("waits not observed: %s", m->waits_unknown);
        if (m->remote) tt_report_note("other ops not observed: %s", m->remote);
        if (code == TT_EXIT_OK) code = none;
    }
    tt_stats_free(s);
    return code;
}

static int show(void *options)
{
    const struct options *o = options;
    tt_model *m = NULL;
    int code = tt_input_open_trace(&o->input, TT_INPUT_WALKS, &m);
    if (code == TT_EXIT_OK) code = sum_and_print(o, m);
    tt_model_close(m);
    return code;
}

int tt_cmd_stats(int argc, char **argv)
{
    static const tt_options command = {
        .words = "FILE",
        .about = "Sums time and bytes of the ops in the trace FILE.\v"
                 "An op counts once, however many threads computed it. Its time is from the first "
                 "thread's start to the last thread's arrival at the barrier after it. WORK is the "
                 "time of all its threads from start to arrival, without OFF CPU, their time on no "
                 "processor; SHARE is of WORK. WAIT is the threads' time at that barrier. By "
                 "thread, rows have the thread's own time.",
        .sets = {{.options = option_table, .check = check},
                 TT_INPUT(struct options, input),
                 TT_LIST(struct options, list),
                 TT_FILTER(struct options, filter)},
    };
    struct options o = {.list.schema = &tt_stats_schema, .by = NULL};
    tt_options_parse(&command, argc, argv, &o);
    o.shows_sources = !o.by && !o.input.json && !o.list.csv && !o.list.columns;
    if (!o.by) o.by = &tt_stats_dimensions[0];
    return tt_runs_each(&o.input, &o.where, o.list.csv, show, &o);
}
