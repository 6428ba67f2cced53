/* tensortrace values FILE: the outputs of ops, where NaN comes from, outliers. */
#include "analyze/lacking.h"
#include "analyze/ops.h"
#include "analyze/values/outputs.h"
#include "answer/values.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/list.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/table.h"
#include "cli/trace_options.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* `tensortrace values --first-bad` as text */

#define NAME_TEXT 200
#define OTHERS 9u /* origins listed besides the first */

static const char *name_of(char out[NAME_TEXT], const tt_model *m, uint32_t run, uint32_t node)
{
    return tt_trace_text(out, NAME_TEXT, m->graphs[m->runs[run].graph].tensors[node].name);
}

static void print_what(const tt_model *m, const tt_values_row *r)
{
    char name[NAME_TEXT], op_name[96], where[TT_VALUES_WHERE_TEXT], shape[TT_VALUES_SHAPE_TEXT];
    char nans[TT_UNITS_TEXT], infs[TT_UNITS_TEXT], all[TT_UNITS_TEXT];
    const tt_graph *g = &m->graphs[m->runs[r->run].graph];
    const tt_fingerprint *p = &r->print;
    uint64_t at[4];
    tt_output_shape of;
    tt_op op;
    tt_op_describe(m, g, r->first, r->covers, &op);
    tt_output_shape_of(g, r->node, &of);
    tt_table_line(stdout, "first bad", "%s, output of %s, node %" PRIu32 ", in %s",
                  name_of(name, m, r->run, r->node), tt_trace_text(op_name, sizeof op_name, op.op),
                  r->node, tt_values_where_text(where, m, r->run));
    tt_table_line(stdout, "", "%s NaN and %s infinite of %s elements, %s %s",
                  tt_units_count(nans, p->n_nan), tt_units_count(infs, p->n_inf),
                  tt_units_count(all, p->n), g->tensors[r->node].type_name,
                  tt_values_shape_text(shape, of.ne));
    if (tt_values_coordinates(g, r->node, p->first_bad, at))
        tt_table_line(stdout, "",
                      "the first at [%" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64
                      "], element %" PRIu64,
                      at[0], at[1], at[2], at[3], p->first_bad);
    if (p->has_range)
        tt_table_line(stdout, "", "the finite ones: %.5g .. %.5g, RMS %.5g", (double)p->min,
                      (double)p->max, p->rms);
}

/* Other sources are weights: they are checked in the file. */
static void print_weights(const tt_model *m, const tt_values_origin *b)
{
    char name[NAME_TEXT], file[4 * PATH_MAX], text[TT_VALUES_WEIGHT_TEXT];
    for (uint32_t i = 0; i < b->n_sources; i++) {
        const tt_values_source *s = &b->sources[i];
        if (s->weight == TT_NONE) continue;
        const tt_weight *w = &m->weights[s->weight];
        if (s->in_file.looked_at && s->in_file.n_bad)
            tt_table_line(stdout, "", "the model file itself contains it:");
        tt_table_line(stdout, "", "the weight %s in %s: %s",
                      tt_trace_text(name, sizeof name, w->name),
                      tt_trace_text(file, sizeof file, m->files[w->file].path),
                      tt_values_weight_text(text, sizeof text, &s->in_file));
        if (!s->in_file.looked_at)
            tt_table_line(stdout, "", "if it holds NaN or infinities, they come from there");
    }
}

static void print_narrowing(const tt_model *m, const tt_values_origin *b)
{
    tt_values_narrowing n;
    char name[NAME_TEXT];
    if (!tt_values_narrowed(m, b, &n)) return;
    tt_table_line(stdout, "overflow",
                  "the op converts %s to %s, in which what is beyond %.6g becomes infinite: it "
                  "reaches %.6g",
                  tt_trace_text(name, sizeof name, n.source->graph->tensors[n.source->tensor].name),
                  n.to, n.limit, n.largest);
}

static void print_verdict(const tt_model *m, const tt_values_origin *b)
{
    if (b->kind == TT_VALUES_INHERITED) {
        tt_table_line(stdout, "inherited",
                      "a source of it is bad; the filters hide where that began");
        return;
    }
    if (b->kind == TT_VALUES_UNCERTAIN) {
        tt_table_line(stdout, "uncertain",
                      "no source that was measured is bad, but not all were measured: it is "
                      "made here, or in one of those");
        print_narrowing(m, b);
        print_weights(m, b);
        return;
    }
    tt_table_line(stdout, "made here", "no output that it reads is bad");
    print_narrowing(m, b);
    print_weights(m, b);
}

static bool print_sources(const tt_model *m, const tt_values_origin *b)
{
    const tt_rowset set = tt_values_sources_rowset(m, b);
    const tt_listing_wish wish = {.text = true};
    tt_listing rows;
    putchar('\n');
    const bool ok = tt_list_make(&rows, &set, &wish) == TT_EXIT_OK && tt_list_print(&rows, NULL);
    tt_listing_free(&rows);
    return ok;
}

static void print_spread(const tt_model *m, const tt_values_first *f)
{
    char a[TT_UNITS_TEXT], b[TT_UNITS_TEXT], where[TT_VALUES_WHERE_TEXT];
    putchar('\n');
    if (f->bad_after == 0)
        tt_table_line(stdout, "spread", "no further output is bad");
    else
        tt_table_line(stdout, "spread", "%s more outputs are bad, %s of them have a bad source",
                      tt_units_count(a, f->bad_after), tt_units_count(b, f->inherited));
    if (f->tokens_bad == 1)
        tt_table_line(stdout, "batches", "only %" PRIu32, tt_model_batch_number(m, f->first_batch));
    else if (f->tokens_bad)
        tt_table_line(stdout, "batches", "%s, from %" PRIu32 " to %" PRIu32,
                      tt_units_count(a, f->tokens_bad), tt_model_batch_number(m, f->first_batch),
                      tt_model_batch_number(m, f->last_batch));
    if (f->logits == 0)
        tt_table_line(stdout, "logits", "not measured");
    else if (f->logits_bad == 0)
        tt_table_line(stdout, "logits", "not reached: %s outputs of them are clean",
                      tt_units_count(a, f->logits));
    else
        tt_table_line(stdout, "logits", "reached in %s; %s of %s are bad",
                      tt_values_where_text(where, m, f->first_logits_run),
                      tt_units_count(a, f->logits_bad), tt_units_count(b, f->logits));
}

static void print_others(const tt_model *m, const tt_values_first *f)
{
    char name[NAME_TEXT], where[TT_VALUES_WHERE_TEXT], text[TT_UNITS_TEXT];
    const uint64_t again = f->n_origins ? f->origins[0].times - 1 : 0;
    if (again)
        tt_table_line(stdout, "again", "made in that node %s more time%s",
                      tt_units_count(text, again), again == 1 ? "" : "s");
    if (f->n_origins < 2) return;
    tt_table_line(stdout, "others", "are bad although no source of theirs is known to be:");
    for (size_t i = 1; i < f->n_origins && i <= OTHERS; i++)
        tt_table_line(stdout, "", "%s in %s",
                      name_of(name, m, f->origins[i].row.run, f->origins[i].row.node),
                      tt_values_where_text(where, m, f->origins[i].row.run));
    if (f->n_origins > OTHERS + 1) tt_table_line(stdout, "", "...");
}

static void print_none(const tt_values_first *f)
{
    const tt_values_counts *c = &f->counts;
    char a[TT_UNITS_TEXT], b[TT_UNITS_TEXT];
    tt_table_line(stdout, "nothing bad", "in %s outputs (%s elements): no NaN, no infinity%s",
                  tt_units_count(a, c->outputs), tt_units_count(b, c->elements),
                  c->masking ? " that is not a mask's" : "");
    if (c->masking)
        tt_table_line(stdout, "masks", "%s outputs hold the infinities of a mask",
                      tt_units_count(a, c->masking));
}

static bool print_first(const tt_model *m, const tt_values_first *f)
{
    char text[TT_UNITS_TEXT];
    bool ok = true;
    if (f->found) {
        print_what(m, &f->origins[0].row);
        print_verdict(m, &f->origins[0]);
        ok = print_sources(m, &f->origins[0]);
        print_spread(m, f);
        print_others(m, f);
    } else {
        print_none(f);
    }
    if (f->counts.unmeasured)
        tt_table_line(stdout, "unmeasured", "outputs of %s executed ops",
                      tt_units_count(text, f->counts.unmeasured));
    return ok;
}

static void print_counts(const tt_values_counts *c)
{
    char a[TT_UNITS_TEXT], b[TT_UNITS_TEXT], d[TT_UNITS_TEXT];
    tt_table_line(stdout, "outputs", "%s measured in %s graph computation%s (%s elements)",
                  tt_units_count(a, c->outputs), tt_units_count(b, c->runs),
                  c->runs == 1 ? "" : "s", tt_units_count(d, c->elements));
    if (c->unmeasured)
        tt_table_line(stdout, "unmeasured", "outputs of %s executed ops",
                      tt_units_count(a, c->unmeasured));
    if (c->incomplete)
        tt_table_line(stdout, "lost", "parts of %s fingerprints, in the whole trace",
                      tt_units_count(a, c->incomplete));
    if (c->bad)
        tt_table_line(stdout, "bad",
                      "%s outputs: %s NaN and %s infinite elements; --first-bad says "
                      "where they begin",
                      tt_units_count(a, c->bad), tt_units_count(b, c->n_nan),
                      tt_units_count(d, c->n_inf));
    else if (c->outputs)
        tt_table_line(stdout, "bad", "none: no NaN, no infinity that is not a mask's");
    if (c->masking)
        tt_table_line(stdout, "masks", "%s outputs hold the infinities of a mask",
                      tt_units_count(a, c->masking));
    if (c->constant)
        tt_table_line(stdout, "constant", "%s outputs, %s of them zero",
                      tt_units_count(a, c->constant), tt_units_count(b, c->zero));
    if (c->has_range)
        tt_table_line(stdout, "range", "%.5g .. %.5g", (double)c->min, (double)c->max);
    putchar('\n');
}

static void print_head(const tt_values_view *v)
{
    char name[NAME_TEXT], total[TT_UNITS_TEXT], compared[TT_UNITS_TEXT];
    const tt_values_outliers *o = v->outliers;
    if (v->page || v->groups) print_counts(v->page ? &v->page->counts : &v->groups->counts);
    if (o)
        tt_table_printf(
            stdout, 0, "%s of %s outputs stand out among those of the same base name and phase\n%s",
            o->total ? tt_units_count(total, o->total) : "none",
            tt_units_count(compared, o->compared), o->n ? "\n" : "");
    if (v->grid)
        tt_table_printf(stdout, 0, "%s over the layers; RATIO: to the RMS of the layer before\n\n",
                        v->grid->place[0] ? tt_trace_text(name, sizeof name, v->grid->place)
                                          : "the last output of each");
}

#define TABLE_LIMIT 40u /* rows of a table, the default of --limit */
#define COUNT(a) (sizeof(a) / sizeof *(a))

static const struct dimension {
    const char *name;
    tt_values_by by;
} dimensions[] = {
    {"tensor", TT_VALUES_BY_TENSOR}, {"base_name", TT_VALUES_BY_BASE_NAME}, {"op", TT_VALUES_BY_OP},
    {"layer", TT_VALUES_BY_LAYER},   {"batch", TT_VALUES_BY_BATCH},
};

static const tt_option_name kinds[] = {
    {"bad", TT_VALUES_BAD},
    {"mask", TT_VALUES_MASKING},
    {"constant", TT_VALUES_CONSTANT},
    {"zero", TT_VALUES_ZERO},
};

struct options {
    tt_input input;
    tt_list_options list;
    const struct dimension *by; /* NULL: a list */
    tt_values_query query;
    const char *base_name;
    bool first_bad, outliers, growth, samples;
};

#define VIEWS "first-bad outliers growth by"

static const tt_option option_table[] = {
    {"first-bad", 0, 0,
     "Where NaN or infinities begin: the op, the state of its sources, and how far they spread "
     "(exit code 1 when there are any)",
     1, TT_FLAG(struct options, first_bad), .excludes = "outliers growth by columns sort csv"},
    {"outliers", 0, 0,
     "Outputs whose RMS or largest magnitude differs from others of the same name (without its "
     "layer)",
     1, TT_FLAG(struct options, outliers), .excludes = "growth by"},
    {"growth", 0, 0, "RMS and range over the layers", 1, TT_FLAG(struct options, growth),
     .excludes = "by"},
    {"base-name", 0, "NAME",
     "With --growth: outputs of this name, without the layer (default: l_out, the residual stream)",
     1, TT_TEXT(struct options, base_name), .needs = "growth"},
    {"place", 0, TT_FORMER},
    {"by", 0, "WHAT", "Sum up by tensor, base_name (without its layer), op, layer or batch", 1,
     TT_ROW(struct options, by, dimensions, COUNT(dimensions))},
    {"only", 0, "WHAT",
     "Only outputs that are bad, mask (hold a mask's infinities), constant or zero", 1,
     TT_NAME(struct options, query.which, kinds), .excludes = VIEWS},
    {"samples", 0, 0, "With the first elements; in JSON also the samples", 1,
     TT_FLAG(struct options, samples)},
    {"name", 0, "GLOB", "Only outputs of nodes with such a name", 2,
     TT_TEXT(struct options, query.name)},
    {0},
};

/* The requests to the trace. Each sets *none if nothing passes, or prints its result. Returns an
 * exit code. */

/* Prints rows as requested; for a table only `columns` (NULL: the schema's default). total: rows,
 * including those that are not in the set. */
static int print_rows(const struct options *o, const tt_model *m, const tt_rowset *set,
                      const char *columns, uint64_t total, tt_values_view v)
{
    const bool text = !o->input.json && !o->list.csv;
    tt_listing_wish wish = tt_list_wish(&o->list, o->input.json, NULL);
    if (text && !wish.columns) wish.columns = columns;
    wish.passes = v.grid ? tt_values_growth_measured : NULL;
    tt_listing rows;
    bool ok = true;
    int code = tt_list_make(&rows, set, &wish);
    rows.chosen = o->list.columns != NULL;
    if (rows.n_all < total) rows.n_all = (size_t)total;
    v.path = o->input.path;
    v.rows = &rows;
    if (code == TT_EXIT_OK && o->input.json) {
        tt_json j;
        tt_json_begin(&j, stdout, 2);
        tt_values_json(&j, m, &v);
        ok = tt_json_end(&j);
    } else if (code == TT_EXIT_OK && o->list.csv) {
        ok = tt_list_print_csv(&rows);
    } else if (code == TT_EXIT_OK) {
        print_head(&v);
        ok = tt_list_print(&rows, NULL);
    }
    tt_listing_free(&rows);
    return code == TT_EXIT_OK ? tt_report_output(ok) : code;
}

static int list(const struct options *o, const tt_model *m, bool *none)
{
    tt_values_query query = o->query;
    tt_values_page p;
    tt_error err;
    /* With an order, the first rows are known only when all are. */
    if (!o->list.sort) query.limit = o->list.limit;
    int code =
        tt_values_list(m, &query, NULL, &p, &err) == TT_OK ? TT_EXIT_OK : tt_report_error(&err);
    *none = p.total == 0;
    if (code == TT_EXIT_OK && (!*none || o->input.json || o->list.csv)) {
        const tt_rowset set = tt_values_rowset(m, p.rows, p.n, o->samples);
        code = print_rows(o, m, &set, NULL, p.total, (tt_values_view){.page = &p});
    }
    tt_values_page_free(&p);
    return code;
}

static int groups(const struct options *o, const tt_model *m, bool *none)
{
    tt_values_groups g;
    tt_error err;
    int code = tt_values_groups_make(m, &o->query, o->by->by, NULL, &g, &err) == TT_OK
                   ? TT_EXIT_OK
                   : tt_report_error(&err);
    *none = g.n == 0;
    if (code == TT_EXIT_OK) {
        const tt_rowset set = tt_values_groups_rowset(m, &g);
        code = print_rows(o, m, &set, NULL, g.n, (tt_values_view){.groups = &g});
    }
    tt_values_groups_free(&g);
    return code;
}

static int outliers(const struct options *o, const tt_model *m, bool *none)
{
    tt_values_query query = o->query;
    tt_values_outliers x;
    tt_error err;
    if (!o->list.sort) query.limit = o->list.limit;
    int code = tt_values_outliers_make(m, &query, NULL, &x, &err) == TT_OK ? TT_EXIT_OK
                                                                           : tt_report_error(&err);
    *none = x.counts.outputs == 0;
    if (code == TT_EXIT_OK && (!*none || o->input.json || o->list.csv)) {
        const tt_rowset set = tt_values_outliers_rowset(m, &x, o->samples);
        code = print_rows(o, m, &set, "score,batch_id,name,by,value,usual,times,among", x.total,
                          (tt_values_view){.outliers = &x});
    }
    tt_values_outliers_free(&x);
    return code;
}

static int print_growth(const struct options *o, const tt_model *m, const tt_values_grid *g)
{
    size_t n;
    tt_values_growth *list = tt_values_growth_list(m, g, &n);
    if (!list) return tt_report_memory();
    const tt_rowset set = tt_values_growth_rowset(m, list, n);
    const int code =
        print_rows(o, m, &set, "phase,layer_id,model_file,rms,ratio,rms_min,rms_max,min,max,bad", 0,
                   (tt_values_view){.grid = g});
    if (g->cut) tt_report_note("later batches are left out: there are too many");
    free(list);
    return code;
}

static int growth(const struct options *o, const tt_model *m, bool *none)
{
    tt_values_grid g;
    tt_error err;
    tt_status status = tt_values_grid_make(m, &o->query, o->base_name, NULL, &g, &err);
    const tt_filter *f = &o->query.filter;
    const bool filtered = f->has_batch || f->has_layer || f->phase || f->op || f->tensor;
    int code = TT_EXIT_OK;
    *none = status == TT_OK && g.n_layers == 0 && filtered && !o->base_name;
    if (status != TT_OK)
        code = tt_report_error(&err);
    else if (g.n_layers == 0 && !*none)
        code = tt_report_usage("%s: no output of %.60s was measured; --by base_name lists what was",
                               o->input.path, o->base_name ? o->base_name : "a layer");
    else if (!*none)
        code = print_growth(o, m, &g);
    tt_values_grid_free(&g);
    return code;
}

static int first_bad(const struct options *o, const tt_model *m, bool *none)
{
    tt_values_first f;
    tt_error err;
    tt_status status = tt_values_first_bad(m, &o->query, NULL, &f, &err);
    if (status == TT_OK) status = tt_values_first_weights(m, NULL, &f, &err);
    int code = status == TT_OK ? TT_EXIT_OK : tt_report_error(&err);
    *none = f.counts.outputs == 0;
    if (code == TT_EXIT_OK && !*none && o->input.json) {
        tt_json j;
        tt_json_begin(&j, stdout, 2);
        tt_values_first_json(&j, o->input.path, m, &f);
        code = tt_report_output(tt_json_end(&j));
    } else if (code == TT_EXIT_OK && !*none) {
        code = tt_report_output(print_first(m, &f));
    }
    if (code == TT_EXIT_OK && f.found) code = TT_EXIT_DIFFERS;
    tt_values_first_free(&f);
    return code;
}

static int write_none(const struct options *o, const tt_model *m)
{
    if (!o->query.name && !o->query.which)
        return tt_trace_none(m, &o->query.filter, "output that was measured");
    tt_report_note("no output passes these filters");
    return TT_EXIT_DIFFERS;
}

static int show(const struct options *o, const tt_model *m)
{
    bool none = false;
    const int code = o->first_bad  ? first_bad(o, m, &none)
                     : o->outliers ? outliers(o, m, &none)
                     : o->growth   ? growth(o, m, &none)
                     : o->by       ? groups(o, m, &none)
                                   : list(o, m, &none);
    if (code != TT_EXIT_OK || !none) return code;
    /* If nothing was checked, there is neither a finding nor its absence. */
    const int said = write_none(o, m);
    return o->first_bad ? TT_EXIT_USAGE : said;
}

/* Why there are none, and how to record them. */
static int no_values(const char *path, const tt_model *m)
{
    char text[4 * 64];
    const char *asked = tt_model_environment(m, "capture_values");
    if (!asked || strcmp(asked, "off") == 0 || strncmp(asked, "not observed", 12) == 0)
        return tt_report_usage("%s: values were not recorded: %s", path,
                               tt_lacking_how(m, "--values=stats (or hash, full)", text));
    return tt_report_usage("%s: no output was taken: --values=%s selected none that was executed; "
                           "--values=hash (or TENSORTRACE_VALUES=hash) takes all",
                           path, tt_trace_text(text, sizeof text, asked));
}

/* However the options were abbreviated; the order of execution is that of the rows. */
static void check(void *options, tt_parse *p)
{
    struct options *o = options;
    (void)p;
    o->list.schema = o->growth ? &tt_values_growth_schema
                     : o->by   ? &tt_values_group_schema
                               : &tt_values_schema;
    if (o->list.sort && strcmp(o->list.sort, "execution") == 0) o->list.sort = NULL;
}

int tt_cmd_values(int argc, char **argv)
{
    static const tt_options command = {
        .words = "FILE",
        .about = "Shows op outputs: shape, NaN and infinities, range, mean, RMS and hash of each, "
                 "in order of execution.\v"
                 "Needs a trace that was made with --values. Infinities of attention masks are not "
                 "errors and are listed separately. Exit code: 0; with --first-bad 1 when "
                 "something is bad; 2 when the trace has no values.",
        .sets = {{.options = option_table, .check = check},
                 TT_INPUT(struct options, input),
                 TT_LIST(struct options, list),
                 TT_FILTER(struct options, query.filter)}};
    struct options o = {.list.schema = &tt_values_schema};
    tt_model *m = NULL;
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--by", 4) == 0) o.list.schema = &tt_values_group_schema;
        if (strcmp(argv[i], "--growth") == 0) o.list.schema = &tt_values_growth_schema;
    }
    tt_options_parse(&command, argc, argv, &o);
    if (!o.list.limited && !o.input.json && !o.list.csv && !o.growth) o.list.limit = TABLE_LIMIT;
    int code = tt_input_open_trace(&o.input, TT_INPUT_NOTES, &m);
    if (code == TT_EXIT_OK && !tt_outputs_any(m)) code = no_values(o.input.path, m);
    if (code == TT_EXIT_OK) code = show(&o, m);
    tt_model_close(m);
    return code;
}
