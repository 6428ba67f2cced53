/* tensortrace stats FILE: time and bytes, summed up. */
#include "answer/stats.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/report.h"
#include "cli/table.h"
#include "cli/trace_options.h"

#include <inttypes.h>
#include <string.h>

enum { OPT_BY = 256, OPT_SORT, OPT_LIMIT };

#define COUNT(a) (sizeof(a) / sizeof *(a))

struct options {
    tt_input input;
    const tt_stats_dimension *by;
    tt_stats_sort sort;
    bool sorted;
    uint64_t limit; /* 0: none */
    tt_filter filter;
};

static const struct argp_option option_table[] = {
    {"by", OPT_BY, "WHAT", 0,
     "Sum up by op (default), layer, component, category, tensor, thread, batch or phase", 1},
    {"sort", OPT_SORT, "COLUMN", 0,
     "By work, total, count, mean, p50, p95, max, wait, bytes, rate or key", 1},
    {"limit", OPT_LIMIT, "N", 0, "Only the first N rows", 1},
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
        o->by = &tt_stats_dimensions[tt_trace_name_option("--by", arg, state, tt_stats_dimensions,
                                                          TT_STATS_DIMENSIONS,
                                                          sizeof *tt_stats_dimensions)];
        return 0;
    case OPT_SORT:
        o->sort = tt_stats_orders[tt_trace_name_option("--sort", arg, state, tt_stats_orders,
                                                       TT_STATS_ORDERS, sizeof *tt_stats_orders)]
                      .sort;
        o->sorted = true;
        return 0;
    case OPT_LIMIT:
        o->limit = tt_trace_limit_option(arg, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static bool print_json(const struct options *o, const tt_model *m, tt_stats *s)
{
    tt_json j;
    tt_json_begin(&j, stdout, 2);
    tt_stats_view v = {.path = o->input.path,
                       .m = m,
                       .by = o->by,
                       .limit = o->limit,
                       .total = tt_stats_total(s),
                       .stray = tt_stats_stray(s)};
    v.rows = tt_stats_rows(s, o->sort, &v.n_rows);
    tt_stats_json(&j, &v);
    return tt_json_end(&j);
}

#define COLUMNS 13
#define OFF_CPU 10 /* of them */

static const struct {
    const char *title; /* NULL: the dimension's */
    bool optional;     /* left out where there is little room */
    bool weights;      /* not by thread */
} columns[COLUMNS] = {
    {NULL, false, false},    {"COUNT", false, false},  {"WORK", false, false},
    {"SHARE", false, false}, {"TOTAL", false, false},  {"MEAN", true, false},
    {"P50", true, false},    {"P95", false, false},    {"MAX", true, false},
    {"WAIT", false, false},  {"OFF CPU", true, false}, {"WEIGHTS", false, true},
    {"RATE", true, true},
};

static bool shown(const struct options *o, size_t column)
{
    return !columns[column].weights || o->by->by != TT_BY_THREAD;
}

static void table_row(tt_table *t, const struct options *o, const char *key, const tt_stats_row *r,
                      const tt_stats_row *total)
{
    char name[256], count[TT_UNITS_TEXT], ns[8][TT_UNITS_TEXT], share[16], bytes[TT_UNITS_TEXT + 4];
    char rate[TT_UNITS_TEXT];
    const double times[] = {r->total_ns, r->mean_ns, r->p50_ns,  r->p95_ns,
                            r->max_ns,   r->wait_ns, r->work_ns, r->off_cpu_ns};
    (void)snprintf(share, sizeof share, "%.1f %%", 100 * tt_stats_share(r, total));
    bytes[0] = '\0';
    rate[0] = '\0';
    if (r->weight_bytes && o->by->by != TT_BY_THREAD) {
        char size[TT_UNITS_TEXT];
        (void)snprintf(bytes, sizeof bytes, "%s%s", r->at_most ? "<= " : "",
                       tt_units_bytes(size, r->weight_bytes));
        tt_units_rate(rate, tt_stats_rate(r));
    }
    for (size_t i = 0; i < COUNT(times); i++)
        tt_units_ns(ns[i], times[i]);
    /* Ops whose ends were not seen have no times; no time is not a time of 0. */
    if (r->timed == 0) {
        share[0] = rate[0] = '\0';
        for (size_t i = 0; i < COUNT(times); i++)
            ns[i][0] = '\0';
    }
    const char *all[COLUMNS] = {tt_trace_text(name, sizeof name, key),
                                tt_units_count(count, r->count),
                                ns[6],
                                share,
                                ns[0],
                                ns[1],
                                ns[2],
                                ns[3],
                                ns[4],
                                ns[5],
                                ns[7],
                                bytes,
                                rate};
    const char *cells[COLUMNS];
    size_t n = 0;
    for (size_t i = 0; i < COLUMNS; i++)
        if (shown(o, i)) cells[n++] = all[i];
    tt_table_row(t, cells);
}

static bool print_table(const struct options *o, tt_stats *s)
{
    size_t n;
    const tt_stats_row *rows = tt_stats_rows(s, o->sort, &n), *total = tt_stats_total(s);
    tt_table *t = tt_table_new(stdout);
    if (!t) return false;
    for (size_t i = 0; i < COLUMNS; i++)
        if (shown(o, i))
            tt_table_column(t, columns[i].title ? columns[i].title : o->by->title,
                            (i == 0 ? TT_COLUMN_SHRINK | TT_COLUMN_KEY : TT_COLUMN_RIGHT) |
                                (columns[i].optional ? TT_COLUMN_WIDE : 0) |
                                (i == OFF_CPU ? TT_COLUMN_IF_KNOWN : 0));
    for (size_t i = 0; i < n && (!o->limit || i < o->limit); i++)
        table_row(t, o, rows[i].key, &rows[i], total);
    table_row(t, o, "all", total, total);
    bool ok = tt_table_print(t);
    if (o->limit && n > o->limit)
        tt_report_note("%zu more row%s; --limit 0 shows all", n - (size_t)o->limit,
                       n - (size_t)o->limit == 1 ? "" : "s");
    return ok;
}

static int sum_and_print(const struct options *o, const tt_model *m)
{
    tt_error err;
    tt_progress bar;
    tt_stats *s = tt_stats_new(m, o->by->by, &o->filter);
    if (!s) return tt_report_usage("out of memory");
    tt_progress_begin(&bar, "reading", m->n_runs, "runs");
    tt_status status = tt_stats_walk(&s, 1, m, tt_progress_callback, &bar, &err);
    tt_progress_end(&bar);
    tt_trace_note_damage(m);
    int code, none = TT_EXIT_OK;
    if (status != TT_OK) {
        code = tt_report_error(&err);
    } else {
        /* Where a flight recorder's trace begins, there always are some. */
        if (tt_stats_stray(s) && !m->front.present)
            tt_report_note("%" PRIu64 " records of runs that the trace does not describe left out",
                           tt_stats_stray(s));
        else if (tt_stats_total(s)->count == 0)
            none = tt_trace_none(m, &o->filter, "op");
        char flaws[TT_STATS_FLAWS_TEXT];
        bool flawed = tt_stats_flaws(tt_stats_total(s), flaws);
        if (o->input.json)
            code = tt_report_output(print_json(o, m, s));
        else
            code = tt_report_output(tt_stats_total(s)->count == 0 || print_table(o, s));
        if (flawed) tt_report_note("%s", flaws);
        if (m->waits_unknown) tt_report_note("waits not observed: %s", m->waits_unknown);
        if (code == TT_EXIT_OK) code = none;
    }
    tt_stats_free(s);
    return code;
}

static const struct argp_child children[] = {
    {&tt_input_argp, 0, NULL, 0}, {&tt_trace_filter_argp, 0, NULL, 0}, {0}};

int tt_cmd_stats(int argc, char **argv)
{
    static const struct argp argp = {
        option_table,
        parse_option,
        "FILE",
        "Time and bytes of the ops in the trace FILE, summed up.\v"
        "An op counts once however many threads computed it; its time runs from the first "
        "thread that began it to the last that had done its work. WORK is the time of all its "
        "threads from their begin to the barrier behind it, without OFF CPU, for which they were "
        "on no processor; SHARE is of it. WAIT is the threads' time at that barrier. By thread, "
        "rows count the thread's own time.",
        children,
        NULL,
        NULL};
    struct options o = {.by = &tt_stats_dimensions[0]};
    tt_model *m = NULL;
    tt_report_parse(&argp, argc, argv, 0, &o);
    if (!o.sorted) o.sort = o.by->sort;
    int code = tt_input_open_trace(&o.input, TT_INPUT_WALKS, &m);
    if (code == TT_EXIT_OK) code = sum_and_print(&o, m);
    tt_model_close(m);
    return code;
}
