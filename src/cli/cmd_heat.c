/* tensortrace heat FILE: which weights are hot, which are cold, and in what order they are read. */
#include "analyze/copies.h"
#include "analyze/heat.h"
#include "answer/heat.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/list.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/runs.h"
#include "cli/table.h"
#include "cli/trace_options.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static double percent(uint64_t part, uint64_t all)
{
    return all ? 100.0 * (double)part / (double)all : 0;
}

static const char *bound(bool at_most)
{
    return at_most ? "<= " : "";
}

static void print_phase(const char *what, const tt_heat *h, const tt_heat_phase *p)
{
    char distinct[TT_UNITS_TEXT], most[TT_UNITS_TEXT], largest[TT_UNITS_TEXT + 24] = "";
    char tokens[TT_UNITS_TEXT], batches[TT_UNITS_TEXT];
    if (p->batches == 0) return;
    tt_units_bytes(distinct, p->distinct_bytes / p->batches);
    tt_units_bytes(most, p->distinct_bytes_max);
    if (strcmp(distinct, most) != 0) (void)snprintf(largest, sizeof largest, ", largest %s", most);
    tt_table_line(stdout, what, "%s token%s in %s batch%s; a batch reads %s%s (%.1f %%%s)",
                  tt_units_count(tokens, p->tokens), p->tokens == 1 ? "" : "s",
                  tt_units_count(batches, p->batches), p->batches == 1 ? "" : "es",
                  bound(h->at_most || h->unplaced), distinct,
                  percent(p->distinct_bytes / p->batches, h->model_bytes), largest);
}

/* `partly`: units of which a part is in this set. */
static void print_set(const char *what, const tt_heat *h, const tt_heat_set *s, uint64_t partly)
{
    char bytes[TT_UNITS_TEXT], text[TT_UNITS_TEXT], whole[TT_UNITS_TEXT + 24] = "";
    char parts[TT_UNITS_TEXT + 40] = "";
    const char *unit = h->sliced ? "tensors and experts" : s->units == 1 ? "tensor" : "tensors";
    if (s->units || !partly)
        (void)snprintf(whole, sizeof whole, "%s %s", tt_units_count(text, s->units), unit);
    if (partly)
        (void)snprintf(parts, sizeof parts, "%sparts of %s %s", s->units ? ", and " : "",
                       tt_units_count(text, partly),
                       s->units      ? "more"
                       : partly == 1 ? "tensor"
                                     : "tensors");
    tt_table_line(stdout, what, "%s, %.1f %%: %s%s", tt_units_bytes(bytes, s->bytes),
                  percent(s->bytes, h->model_bytes), whole, parts);
}

static void print_jumps(char *out, size_t room, uint64_t steps, const tt_heat_jumps *jumps)
{
    char middle[TT_UNITS_TEXT], most[TT_UNITS_TEXT];
    int at = snprintf(out, room, "%.1f %%", percent(jumps->count, steps));
    if (!jumps->known || at < 0 || (size_t)at >= room) return;
    (void)snprintf(out + at, room - (size_t)at, " (median %s, longest %s)",
                   tt_units_bytes(middle, jumps->p50_bytes),
                   tt_units_bytes(most, jumps->lengths.max));
}

/* Of each file the first and the last byte that was read. */
static void print_extents(const tt_heat_steps *s)
{
    for (size_t i = 0; i < s->n_extents; i++) {
        const tt_heat_extent *e = &s->extents[i];
        if (e->end)
            tt_table_line(stdout, i ? "" : "offsets", "%s%" PRIu64 " to %s%" PRIu64 "%s%s",
                          e->begin_at_most ? ">= " : "", e->begin, e->end_at_most ? "<= " : "",
                          e->end - 1, s->n_extents > 1 ? " of " : "",
                          s->n_extents > 1 ? e->file : "");
    }
}

static void print_steps(const tt_heat *h)
{
    const tt_heat_steps *s = &h->steps;
    char forward[128], backward[128], steps[TT_UNITS_TEXT];
    if (s->steps == 0 && h->unplaced)
        tt_table_line(stdout, "order",
                      "not known: which rows or experts were read was not observed");
    else if (s->steps == 0 && h->copied_bytes)
        tt_table_line(stdout, "order", "not known: no two reads were of the mapped file");
    if (s->steps == 0) return;
    print_jumps(forward, sizeof forward, s->steps, &s->forward);
    print_jumps(backward, sizeof backward, s->steps, &s->backward);
    tt_table_line(stdout, "order",
                  "%s steps from read to read: %.1f %% continue where the last ended,",
                  tt_units_count(steps, s->steps), percent(s->adjacent, s->steps));
    tt_table_line(stdout, "", "forward jumps %s,", forward);
    tt_table_line(stdout, "", "backward jumps %s%s", backward,
                  s->again || s->other_file ? "," : "");
    if (s->again || s->other_file)
        tt_table_line(stdout, "", "the same again %.1f %%, another file %.1f %%",
                      percent(s->again, s->steps), percent(s->other_file, s->steps));
    if (h->batches)
        tt_table_line(stdout, "", "the file is swept %.1f times a batch",
                      (double)s->sweeps / (double)h->batches);
}

static void print_curve(const tt_heat *h)
{
    char reads[96] = "", weights[96] = "";
    for (size_t i = 0; i < TT_HEAT_CURVE; i++) {
        const size_t at = strlen(reads), from = strlen(weights);
        (void)snprintf(reads + at, sizeof reads - at, "%s%.0f %%", i == 0 ? "" : ", ",
                       100 * h->curve[i].reads);
        (void)snprintf(weights + from, sizeof weights - from, "%s%.1f", i == 0 ? "" : ", ",
                       100 * h->curve[i].weights);
    }
    tt_table_line(stdout, "concentrated", "of all bytes read %s", reads);
    tt_table_line(stdout, "", "come from       %s %% of the weights", weights);
}

/* lacks: of the batches of the run not all were recorded. */
static void print_summary(const tt_heat *h, bool lacks)
{
    char model[TT_UNITS_TEXT], read[TT_UNITS_TEXT], reads[TT_UNITS_TEXT], ops[TT_UNITS_TEXT];
    tt_table_line(stdout, "weights", "%s; %s%s read in %s reads by %s ops",
                  tt_units_bytes(model, h->model_bytes), bound(h->at_most),
                  tt_units_bytes(read, h->read_bytes), tt_units_count(reads, h->reads),
                  tt_units_count(ops, h->ops));
    for (unsigned i = 0; i < TT_PHASES; i++)
        print_phase(tt_phase_name(tt_phase_listed(i)), h, &h->of_phase[tt_phase_listed(i)]);
    print_set("every batch", h, &h->every, 0);
    print_set("some batches", h, &h->some, 0);
    if (h->all_weights) print_set(lacks ? "not in these" : "never read", h, &h->never, h->partly);
    print_curve(h);
    print_extents(&h->steps);
    print_steps(h);
    putchar('\n');
}

#define TABLE_ROWS 20

static const struct dimension {
    const char *name;
    tt_heat_by by;
} dimensions[] = {
    {"tensor", TT_HEAT_TENSOR},       {"expert", TT_HEAT_EXPERT}, {"layer", TT_HEAT_LAYER},
    {"component", TT_HEAT_COMPONENT}, {"model", TT_HEAT_MODEL},   {"context", TT_HEAT_CONTEXT},
};

/* With --cold: nothing else is known of weights that were never read. */
static const char *const cold_columns[] = {
    [TT_HEAT_TENSOR] = "tensor,size_bytes",    [TT_HEAT_EXPERT] = "name,size_bytes",
    [TT_HEAT_LAYER] = "layer_id,size_bytes",   [TT_HEAT_COMPONENT] = "component,size_bytes",
    [TT_HEAT_MODEL] = "model_file,size_bytes", [TT_HEAT_CONTEXT] = "context_id,size_bytes",
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
     "A row for each tensor, expert, layer, component, model or context (default: expert if "
     "choices of "
     "experts "
     "were observed, else tensor)",
     1, TT_ROW(struct options, by, dimensions, COUNT(dimensions))},
    {"cold", 0, 0, "Only what was never read", 1, TT_FLAG(struct options, cold)},
    TT_WHERE(struct options, where, 1),
    {TT_COPIES_OPTION, 0, 0,
     "Count reads of repacked copies as reads of the file, at the weight's offset", 1,
     TT_FLAG(struct options, copies_as_file)},
    {0},
};

static void check(void *options, tt_parse *p)
{
    struct options *o = options;
    (void)p;
    if (o->by) o->list.kind = (uint16_t)(1u << o->by->by);
}

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

static bool print_text(const struct options *o, const tt_model *m, const tt_listing *rows,
                       const tt_heat *heat)
{
    tt_heat_row all = {0};
    if (!o->cold) print_summary(heat, tt_model_lacks_batches(m));
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
    tt_listing_wish wish = tt_list_wish(&o->list, o->input.json, o->cold ? "size" : "read");
    char cold[64];
    const bool of_models = m->n_models > 1 && o->by->by <= TT_HEAT_LAYER;
    (void)snprintf(cold, sizeof cold, "%s%s", cold_columns[o->by->by],
                   of_models ? ",model_file" : "");
    if (o->cold && wish.text && !wish.columns) wish.columns = cold;
    if (wish.text && !o->list.limited) wish.limit = TABLE_ROWS;
    wish.passes = o->cold ? is_cold : NULL;
    tt_listing rows;
    int code = tt_list_make(&rows, &rowset, &wish);
    if (code == TT_EXIT_OK && data)
        code =
            tt_report_output(o->list.csv ? tt_list_print_csv(&rows) : print_json(o, &rows, heat));
    if (code == TT_EXIT_OK && !data) note_copies(o, m, heat);
    if (code == TT_EXIT_OK && !data)
        code = heat->reads ? tt_report_output(print_text(o, m, &rows, heat)) : TT_EXIT_OK;
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
    if (status == TT_OK && heat.unplaced && !o->input.json)
        tt_report_note("which rows or experts some ops read was not observed: \"<=\" marks upper "
                       "bounds, and the order is that of the other reads");
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
        .sets = {{.options = option_table, .check = check},
                 TT_INPUT(struct options, input),
                 TT_LIST(struct options, list),
                 TT_FILTER(struct options, filter)},
    };
    struct options o = {.list.schema = &tt_heat_schema};
    tt_options_parse(&command, argc, argv, &o);
    return tt_runs_each(&o.input, &o.where, o.list.csv, show, &o);
}
