/* tensortrace heat FILE: which weights are hot, which are cold, and in what order they are read. */
#include "analyze/copies.h"
#include "answer/heat.h"
#include "cli/command.h"
#include "cli/heat_view.h"
#include "cli/input.h"
#include "cli/list.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/runs.h"
#include "cli/trace_options.h"

#include <inttypes.h>

#define TABLE_ROWS 20

static const struct dimension {
    const char *name;
    tt_heat_by by;
} dimensions[] = {
    {"tensor", TT_HEAT_TENSOR},
    {"expert", TT_HEAT_EXPERT},
    {"layer", TT_HEAT_LAYER},
    {"component", TT_HEAT_COMPONENT},
};

/* With --cold: nothing else is known of weights that were never read. */
static const char *const cold_columns[] = {
    [TT_HEAT_TENSOR] = "name,size_bytes",
    [TT_HEAT_EXPERT] = "name,size_bytes",
    [TT_HEAT_LAYER] = "layer_id,size_bytes",
    [TT_HEAT_COMPONENT] = "component,size_bytes",
};

#define COUNT(a) (sizeof(a) / sizeof *(a))

struct options {
    tt_input input;
    tt_list_options list;
    const struct dimension *by; /* NULL: by expert if choices were observed, else by tensor */
    bool cold;
    tt_where where;
    bool copies_as_file;
    tt_filter filter;
};

static const tt_option option_table[] = {
    {"by", 0, "WHAT",
     "A row for each tensor, expert, layer or component (default: expert if choices of experts "
     "were observed, else tensor)",
     1, TT_ROW(struct options, by, dimensions, COUNT(dimensions))},
    {"cold", 0, 0, "Only what was never read", 1, TT_FLAG(struct options, cold)},
    TT_WHERE(struct options, where, 1),
    {TT_COPIES_OPTION, 0, 0,
     "In the order of reads: those of weights that the engine copied into buffers, too, at their "
     "place "
     "in the file",
     1, TT_FLAG(struct options, copies_as_file)},
    {0},
};

static bool is_cold(const void *context, const void *row)
{
    (void)context;
    return ((const tt_heat_row *)row)->accesses == 0;
}

static bool print_json(const struct options *o, const tt_listing *rows, const tt_heat *heat)
{
    const tt_heat_view view = {o->input.path, o->by->name, rows, heat};
    tt_json j;
    tt_json_begin(&j, stdout, 2);
    tt_heat_json(&j, &view);
    return tt_json_end(&j);
}

static void note_copies(const struct options *o, const tt_model *m, const tt_heat *heat)
{
    char text[TT_COPIES_TEXT];
    tt_copies copies;
    if (o->copies_as_file || o->cold || heat->copied_bytes == 0) return;
    if (tt_copies_find(m, &copies) && *tt_copies_text(&copies, text))
        tt_report_note("%s; the order of reads leaves them out without --" TT_COPIES_OPTION, text);
}

static bool print_text(const struct options *o, const tt_listing *rows, const tt_heat *heat)
{
    tt_heat_row all = {0};
    if (!o->cold) tt_heat_print_summary(heat);
    for (size_t i = 0; o->cold && i < heat->n_rows; i++)
        if (is_cold(NULL, &heat->rows[i])) all.size_bytes += heat->rows[i].size_bytes;
    if (o->cold && rows->n_all == 0)
        tt_report_note("nothing is cold: of every row something was read");
    /* The sum has only a size. */
    const bool sums = o->cold && !o->list.columns && rows->n_all > 1;
    return tt_list_print(rows, sums ? &all : NULL);
}

static int print(const struct options *o, const tt_model *m, const tt_heat *heat)
{
    const bool data = o->input.json || o->list.csv;
    const tt_heat_context context = {m};
    const tt_rowset rowset = tt_heat_rowset(&context, heat, o->by->by);
    const tt_listing_wish wish = {.columns = o->list.columns    ? o->list.columns
                                             : o->cold && !data ? cold_columns[o->by->by]
                                                                : NULL,
                                  .sort = o->list.sort ? o->list.sort
                                          : o->cold    ? "size"
                                                       : "read",
                                  .limit = o->list.limited || data ? o->list.limit : TABLE_ROWS,
                                  .text = !data,
                                  .csv = o->list.csv,
                                  .passes = o->cold ? is_cold : NULL};
    tt_listing rows;
    int code = tt_list_make(&rows, &rowset, &wish);
    if (code == TT_EXIT_OK && data)
        code =
            tt_report_output(o->list.csv ? tt_list_print_csv(&rows) : print_json(o, &rows, heat));
    if (code == TT_EXIT_OK && !data) note_copies(o, m, heat);
    if (code == TT_EXIT_OK && !data)
        code = heat->reads ? tt_report_output(print_text(o, &rows, heat)) : TT_EXIT_OK;
    tt_listing_free(&rows);
    if (code != TT_EXIT_OK || heat->reads) return code;
    if (m->n_weights > 0) return tt_trace_none(m, &o->filter, "op that reads weights");
    if (!data) tt_report_note("the trace names no weights of a model");
    return TT_EXIT_OK;
}

/* Reads of copies are not of the file, unless they are to count as such. */
static void keep_file_steps(const struct options *o, tt_heat *heat)
{
    if (o->copies_as_file || heat->copied_bytes == 0) return;
    const tt_heat_steps all = heat->steps;
    heat->steps = heat->file_steps;
    heat->file_steps = all;
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
    if (status == TT_OK) keep_file_steps(o, &heat);
    int code = status == TT_OK ? print(o, m, &heat) : tt_report_error(&err);
    tt_heat_free(&heat);
    tt_reads_free(&reads);
    return code;
}

static int show(void *options)
{
    struct options o = *(struct options *)options; /* each run may have another dimension */
    tt_model *m = NULL;
    int code = tt_input_open_trace(&o.input, TT_INPUT_NOTES, &m);
    if (code == TT_EXIT_OK) code = measure_and_print(&o, m);
    tt_model_close(m);
    return code;
}

int tt_cmd_heat(int argc, char **argv)
{
    static const tt_options command = {
        .words = "FILE",
        .about = "Shows how often each weight is read, which are never read, and in what order.\v"
                 "REUSE is the median reuse distance: the distinct bytes of weights read from one "
                 "use to the next. An LRU cache of that size would still hold the weight.",
        .sets = {{.options = option_table},
                 TT_INPUT(struct options, input),
                 TT_LIST(struct options, list),
                 TT_FILTER(struct options, filter)},
    };
    struct options o = {.list.schema = &tt_heat_schema};
    tt_options_parse(&command, argc, argv, &o);
    return tt_runs_each(&o.input, &o.where, o.list.csv, show, &o);
}
