/* The output of `diff` as a page: for the terminal, and for a separate file. */
#include "base/hex.h"
#include "base/units.h"
#include "cli/diff/view.h"
#include "report/render.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- time --- */

/* The time of a batch, by a family of rows. */
typedef struct family_words {
    tt_diff_family family;
    const char *id, *by;
} family_words;

static const family_words families[] = {{TT_DIFF_PARTS, "parts", "part of the network"},
                                        {TT_DIFF_COMPONENTS, "components", "component"},
                                        {TT_DIFF_KINDS, "ops", "op"},
                                        {TT_DIFF_LAYERS, "layers", "layer"},
                                        {TT_DIFF_OPS, "nodes", "node"}};

static double delta(const void *row)
{
    return tt_diff_own_delta(row);
}

static bool matters(const void *context, const void *row)
{
    (void)context;
    return ((const tt_diff_row *)row)->matters;
}

static bool is_timed(const void *context, const void *row)
{
    const tt_diff_phase *p = row;
    (void)context;
    return p->pairs.n > 0 && p->n_rows[TT_DIFF_TOTAL] > 0;
}

static bool has_changed(const void *context, const void *row)
{
    (void)context;
    return ((const tt_diff_phase *)row)->verdict >= TT_DIFF_SLOWER;
}

/* The columns of intervals show how certain the rows are. */
static tt_page_table *sure(tt_page *p, const tt_diff_view *v, tt_page_table *t)
{
    const double level = v->d->options.level;
    tt_page_retitle(p, t, "interval", tt_page_format(p, "%.4g %% SURE OF", 100 * (1 - level)));
    return t;
}

static void whole(tt_page *p, const tt_diff_view *v)
{
    const size_t main = (size_t)(tt_diff_main(v->d) - v->d->phases);
    tt_rowset set = tt_diff_phases(v->d, main, 1);
    const tt_listing_wish wish = {.text = true, .passes = is_timed};
    set.rows = v->d->phases;
    set.n = TT_DIFF_PHASES;
    tt_page_section_begin(p, "time", "Time of a batch");
    tt_page_table *t = sure(p, v, tt_page_rows(p, NULL, &set, &wish));
    if (t) t->marked = has_changed;
}

static void family(tt_page *p, const tt_diff_view *v, const family_words *f)
{
    const tt_diff_phase *phase = tt_diff_main(v->d);
    const tt_rowset set = tt_diff_rowset(phase, f->family);
    const bool some = v->limit && v->limit < set.n;
    /* For all layers, in order; for some, those that changed most. */
    const tt_listing_wish wish = {
        .text = true, .sort = f->family == TT_DIFF_LAYERS && !some ? "layer_id" : "size_of_change"};
    double largest = 0;
    char text[TT_UNITS_TEXT];
    if (set.n == 0) return;
    for (size_t i = 0; i < set.n; i++)
        largest = fmax(largest, fabs(tt_diff_own_delta(&phase->rows[f->family][i])));
    tt_page_section_begin(p, f->id,
                          tt_page_format(p, "Time of a %s, by %s%s", tt_diff_unit(phase), f->by,
                                         some ? ": what changed most" : ""));
    tt_page_table *t = sure(p, v, tt_page_rows(p, NULL, &set, &wish));
    if (!t) return;
    t->shown = v->limit;
    t->marked = matters;
    if (!(largest > 0)) return;
    t->bar = delta;
    t->full = largest;
    t->full_text = tt_page_text(p, tt_units_ns(text, largest));
}

/* --- what was computed --- */

/* A kind of change, and the ops that have it. */
typedef struct kind {
    const tt_diff_change *first;
    const char *what;
    uint64_t count;
} kind;

static const char *op_of(const tt_tensor *t)
{
    return t ? t->op_name : "";
}

TT_COLUMN_GET(get_op_a, kind, k, tt_cell_text(cell, op_of(k->first->a));)
TT_COLUMN_GET(get_op_b, kind, k, tt_cell_text(cell, op_of(k->first->b));)
TT_COLUMN_GET(get_first, kind, k,
              tt_cell_text(cell, (k->first->a ? k->first->a : k->first->b)->name);)

#define KIND(key_, title_, about_)                                                                 \
    TT_COLUMN(#key_, title_, NONE, about_, .type = TT_CELL_NAME, .show = TT_SHOW_CUT,              \
              .get = get_##key_)

static const tt_column kind_columns[] = {
    TT_COLUMN("count", "NODES", COUNT, "that differ so", TT_MEMBER(kind, count)),
    KIND(op_a, "OP IN A", "what they compute in A"),
    KIND(op_b, "OP IN B", "op that computes it in B"),
    TT_COLUMN("what", "WHAT", NONE, "differs", .show = TT_SHOW_WRAP, TT_MEMBER(kind, what)),
    TT_COLUMN("first", "FIRST", NONE, "of the nodes", .type = TT_CELL_NAME,
              .show = TT_SHOW_CUT | TT_SHOW_KEY, .get = get_first),
};

static const tt_schema kind_schema = {"kinds", "nodes that differ alike", kind_columns,
                                      sizeof kind_columns / sizeof *kind_columns};

static int by_what(const void *a, const void *b)
{
    const kind *x = a, *y = b;
    int order = strcmp(x->what, y->what);
    if (order == 0) order = strcmp(op_of(x->first->a), op_of(y->first->a));
    return order ? order : strcmp(op_of(x->first->b), op_of(y->first->b));
}

static int by_what_and_place(const void *a, const void *b)
{
    const kind *x = a, *y = b;
    const int order = by_what(x, y);
    return order ? order : (x->first > y->first) - (x->first < y->first);
}

static int most_first(const void *a, const void *b)
{
    const kind *x = a, *y = b;
    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

static size_t merge_kinds(kind *list, size_t n)
{
    size_t kinds = 0;
    qsort(list, n, sizeof *list, by_what_and_place);
    for (size_t i = 0; i < n; i++) {
        if (kinds && by_what(&list[kinds - 1], &list[i]) == 0)
            list[kinds - 1].count++;
        else
            list[kinds++] = list[i];
    }
    qsort(list, kinds, sizeof *list, most_first);
    return kinds;
}

static void structure(tt_page *p, const tt_diff_view *v, const tt_diff_phase *phase)
{
    const tt_diff_structure *s = &phase->structure;
    const tt_listing_wish wish = {.text = true};
    const char *title = tt_diff_phase_title(phase->phase);
    kind *list = s->n ? tt_page_take(p, s->n * sizeof *list) : NULL;
    if (!list) return;
    for (size_t i = 0; i < s->n; i++) {
        char what[256];
        list[i] =
            (kind){.first = &s->list[i],
                   .what = tt_page_text(p, tt_diff_write_change(&s->list[i], what, sizeof what)),
                   .count = 1};
    }
    const tt_rowset set = {.schema = &kind_schema,
                           .rows = list,
                           .row_bytes = sizeof *list,
                           .n = merge_kinds(list, s->n)};
    tt_page_section_begin(p, tt_page_format(p, "structure-%s", title),
                          tt_page_format(p, "What was computed (%s): nodes that differ", title));
    tt_page_table *t = tt_page_rows(p, NULL, &set, &wish);
    if (!t) return;
    t->shown = v->limit;
    t->more = "kinds";
    t->head = false;
}

/* --- data besides the ops --- */

static void settings(tt_page *p, const tt_diff_view *v)
{
    const tt_rowset set = tt_diff_settings(&v->d->around);
    const tt_listing_wish wish = {.text = true};
    tt_page_section_begin(p, "settings", "Settings that differ");
    if (set.n == 0)
        tt_page_add(p, TT_BLOCK_TEXT, "none of those that are recorded");
    else
        (void)tt_page_rows(p, NULL, &set, &wish);
}

static bool bytes_differ(const void *context, const void *row)
{
    const tt_diff_row *r = row;
    (void)context;
    return !(fabs(r->a.weight_bytes - r->b.weight_bytes) < 0.5);
}

static void bytes(tt_page *p, const tt_diff_phase *phase)
{
    const tt_listing_wish wish = {
        .columns = "component,weight_bytes_a,weight_bytes_b", .text = true, .passes = bytes_differ};
    const tt_rowset set = tt_diff_rowset(phase, TT_DIFF_COMPONENTS);
    const tt_diff_row *all = &phase->rows[TT_DIFF_TOTAL][0];
    char text[TT_UNITS_TEXT];
    tt_page_section_begin(
        p, "bytes", tt_page_format(p, "Bytes of weights read, a %s", tt_diff_short_unit(phase)));
    if (!bytes_differ(NULL, all) && all->a.at_most == all->b.at_most) {
        tt_page_add(p, TT_BLOCK_TEXT, "%s%s in both", all->a.at_most ? "<= " : "",
                    tt_units_bytes(text, (uint64_t)(all->a.weight_bytes + 0.5)));
        return;
    }
    tt_page_table *t = tt_page_rows(p, NULL, &set, &wish);
    if (t) t->total = all;
}

static void buffers(tt_page *p, const tt_diff_view *v)
{
    const tt_rowset set = tt_diff_buffers(&v->d->around);
    const tt_listing_wish wish = {.columns = "kind,size_bytes_a,size_bytes_b,count_a,count_b",
                                  .text = true,
                                  .passes = tt_diff_has_buffers};
    tt_page_section_begin(p, "buffers", "Buffers, by what is in them");
    tt_page_table *t = tt_page_rows(p, NULL, &set, &wish);
    if (t) t->marked = tt_diff_buffers_differ;
}

static void faults(tt_page *p, const tt_diff_view *v)
{
    const tt_rowset set = tt_diff_faults(&v->d->around);
    const tt_listing_wish wish = {.text = true, .sort = "weight"};
    if (set.n == 0) return;
    tt_page_section_begin(p, "faults", "Page faults, whole runs");
    tt_page_table *t = tt_page_rows(p, NULL, &set, &wish);
    if (t && v->limit) t->shown = v->limit + 1; /* after the sum */
}

static void routing(tt_page *p, const tt_diff_view *v)
{
    const tt_diff_around *x = &v->d->around;
    const tt_rowset set = tt_diff_routing(x);
    const tt_listing_wish wish = {.text = true};
    if (x->routed_a == 0 && x->routed_b == 0) return;
    tt_page_section_begin(
        p, "routing", "Routing, whole runs: how the experts' shares differ (0 alike, 1 bit apart)");
    tt_page_table *t = set.n ? tt_page_rows(p, NULL, &set, &wish) : NULL;
    if (t) t->shown = v->limit;
    if (set.n == 0)
        tt_page_add(p, TT_BLOCK_TEXT, "not compared: no layer's choices were observed in both");
}

/* --- the page --- */

static void sides(tt_page *p, const tt_diff_view *v)
{
    static const char *const titles[] = {"Side", "File", "Run"};
    tt_page_section_begin(p, "runs", "The runs");
    tt_page_table *t = tt_page_table_begin(p, NULL, 3, titles);
    for (size_t f = 0; f < v->d->n_files; f++) {
        char id[33];
        tt_hex(id, v->d->files[f]->trace.header.run_id, 16);
        tt_page_table_row(p, t, (const char *[]){f < v->d->n_a ? "A" : "B", v->paths[f], id});
    }
}

static void points(tt_page *p, const tt_diff_view *v, bool file)
{
    char text[TT_DIFF_SENTENCE];
    tt_page_section_begin(p, "read", "To read this");
    for (unsigned i = 0; i < TT_DIFF_NOTES + TT_DIFF_LEGEND; i++) {
        if (i < TT_DIFF_NOTES ? tt_diff_note(v, i, text)
                              : tt_diff_legend(v, i - TT_DIFF_NOTES, file, text))
            tt_page_add(p, TT_BLOCK_POINT, "%s", text);
    }
    if (file)
        tt_page_add(p, TT_BLOCK_POINT,
                    "bars: B - A, or B minus what the other ops' change predicts (B AS OTHERS), "
                    "from how much less B takes (left) to how much more (right)");
}

void tt_diff_page_make(tt_page *p, const tt_diff_view *v, bool file)
{
    const tt_diff_phase *phase = tt_diff_main(v->d);
    char text[TT_DIFF_SENTENCE];
    tt_page_open(p);
    p->title = "Two runs compared";
    p->alarming = tt_diff_outcome_of(v) != TT_DIFF_ALIKE;
    p->wide = true;
    tt_page_summary(p, "%s", tt_diff_write_times(v, text));
    tt_page_summary(p, "%s", tt_diff_write_structure(v, text));
    if (file) sides(p, v);
    if (phase && tt_diff_common(v->d) > 0 && !v->d->options.structure_only) {
        whole(p, v);
        for (size_t i = 0; i < sizeof families / sizeof *families; i++)
            family(p, v, &families[i]);
    }
    for (size_t i = 0; i < TT_DIFF_PHASES; i++)
        structure(p, v, &v->d->phases[i]);
    settings(p, v);
    if (phase && phase->n_rows[TT_DIFF_TOTAL] > 0) bytes(p, phase);
    buffers(p, v);
    faults(p, v);
    routing(p, v);
    points(p, v, file);
}

bool tt_diff_write_html(const tt_diff_view *v, FILE *out)
{
    tt_page p;
    tt_diff_page_make(&p, v, true);
    tt_page_html(&p, out);
    const bool ok = !p.failed && !ferror(out);
    tt_page_close(&p);
    return ok;
}
