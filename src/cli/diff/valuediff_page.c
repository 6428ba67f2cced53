/* The output of `diff --values` as a page: for the terminal, a separate file, and its plot. */
#include "cli/diff/valuediff_view.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define STAGES_SHOWN 64u
#define LINES_MAX 64u /* batches in the plot; if there are more, every n-th */
#define LEAST 1e-8    /* rel L2 at its lower and upper end */
#define MOST 10.0

/* --- the plot --- */

/* The column of a layer: its index in the rows by layer. */
static double column_of(const tt_valuediff *d, const tt_valuediff_depth *p)
{
    size_t c = 0;
    while (c < d->n_layers && (d->layers[c].layer != p->layer || d->layers[c].behind != p->behind))
        c++;
    return (double)c;
}

static void label_layers(tt_plot *plot, const tt_valuediff *d)
{
    char name[16];
    for (size_t i = 0; i < d->n_layers; i++) {
        const tt_valuediff_row *r = &d->layers[i];
        if (r->layer >= 0)
            (void)snprintf(name, sizeof name, "%" PRId32, r->layer);
        else
            (void)snprintf(name, sizeof name, "%s",
                           r->layer == TT_STAGE_LAYER_AFTER_ALL ? "all"
                           : r->layer == TT_STAGE_LAYER_UNKNOWN ? "?"
                           : r->behind                          ? "out"
                                                                : "in");
        tt_plot_label(plot, name);
    }
}

static void picture(tt_page *p, const tt_valuediff *d)
{
    const size_t every = d->n_steps > LINES_MAX ? (d->n_steps + LINES_MAX - 1) / LINES_MAX : 1;
    const tt_valuediff_depth *last = NULL;
    tt_plot *plot = tt_page_plot(p, "Largest relative L2 error of each layer, a line a batch",
                                 "layer", "relative L2 error");
    tt_series *others = tt_plot_series(plot, "other batches", TT_SERIES_SPANS, 1, d->n_depth);
    tt_series *first = tt_plot_series(plot, "first batch", TT_SERIES_LINE, 1, d->n_layers);
    tt_series *marks = tt_plot_series(plot, "differs", TT_SERIES_POINTS, 2, d->n_depth);
    if (!marks) return;
    others->thin = true;
    plot->log_y = plot->has_x = plot->has_y = plot->x_labelled = true;
    plot->x_min = -0.5;
    plot->x_max = (double)(d->n_layers ? d->n_layers : 1) - 0.5;
    plot->y_min = LEAST;
    plot->y_max = MOST;
    label_layers(plot, d);
    for (size_t i = 0; i < d->n_depth; i++) {
        const tt_valuediff_depth *at = &d->depth[i];
        const double x = column_of(d, at);
        if (tt_value_diverging(at->counts))
            tt_series_add(marks, x,
                          at->counts[TT_VALUE_NAN] || isinf(at->rel_l2) ? MOST : at->rel_l2, 0, 0);
        if (isnan(at->rel_l2)) continue;
        if (at->pair == d->depth[0].pair)
            tt_series_add(first, x, fmin(at->rel_l2, MOST), 0, 0);
        else if (at->pair % every == 0 && last && last->pair == at->pair)
            tt_series_add(others, column_of(d, last), fmin(last->rel_l2, MOST), x,
                          fmin(at->rel_l2, MOST));
        last = at;
    }
    tt_plot_describe(plot, "A line a batch over the layers, on a logarithmic scale: the largest "
                           "relative error of the layer's values. A mark: a value differs.");
}

/* --- the tables --- */

static bool differs(const void *context, const void *row)
{
    (void)context;
    return tt_value_diverging(((const tt_valuediff_row *)row)->counts) > 0;
}

static bool item_differs(const void *context, const void *row)
{
    (void)context;
    return tt_value_diverges(((const tt_valuediff_item *)row)->verdict);
}

static bool input_differs(const void *context, const void *row)
{
    (void)context;
    return ((const tt_valuediff_input *)row)->verdict != TT_VALUE_EQUAL;
}

static tt_page_table *table(tt_page *p, const char *id, const char *title, const tt_rowset *set,
                            bool (*marked)(const void *context, const void *row))
{
    const tt_listing_wish wish = {.text = true};
    tt_page_section_begin(p, id, title);
    if (strcmp(id, "depth") == 0) picture(p, set->context);
    tt_page_table *t = tt_page_rows(p, NULL, set, &wish);
    if (t) t->marked = marked;
    return t;
}

/* The cache is one of the inputs. */
static void inputs(tt_page *p, const tt_valuediff *d)
{
    const size_t n = d->has_first ? d->n_first_inputs + d->first_reads_cache : 0;
    tt_valuediff_input *list = n ? tt_page_take(p, n * sizeof *list) : NULL;
    if (!list) return;
    for (size_t i = 0; i < d->n_first_inputs; i++)
        list[i] = d->first_inputs[i];
    if (d->first_reads_cache)
        list[n - 1] = (tt_valuediff_input){.stage = "KV cache",
                                           .name = "keys and values of earlier batches",
                                           .layer = d->first.layer,
                                           .verdict = d->first_cache,
                                           .rel_l2 = d->first_cache_rel_l2};
    const tt_rowset set = tt_valuediff_inputs(list, n);
    (void)table(p, "inputs", "What the first divergence was computed from", &set, input_differs);
}

static void tables(tt_page *p, const tt_valuediff_view *v)
{
    const tt_valuediff *d = v->d;
    const tt_rowset layers = tt_valuediff_rows(d, false), stages = tt_valuediff_rows(d, true),
                    items = tt_valuediff_items(d, d->items, d->n_items);
    inputs(p, d);
    (void)table(p, "depth", "Error over depth: the largest of each layer", &layers, differs);
    tt_page_table *t = table(p, "stages", "Stages, in order of execution", &stages, differs);
    if (t) t->shown = STAGES_SHOWN; /* they are few, and the plot shows them all */
    if (!d->n_items) return;
    t = table(p, "values", "Values, in order of execution", &items, item_differs);
    if (t) t->shown = v->limit;
    if (t) t->head = false;
    if (d->items_left_out)
        tt_page_add(p, TT_BLOCK_TEXT, "%" PRIu64 " values more are counted, but not kept",
                    d->items_left_out);
}

void tt_valuediff_page_make(tt_page *p, const tt_valuediff_view *v)
{
    char text[TT_VALUEDIFF_SENTENCE];
    tt_page_open(p);
    p->title = "Values compared";
    p->subtitle = tt_page_format(p, "A: %.500s; B: %.500s", v->paths[0], v->paths[1]);
    p->alarming = v->d->has_first;
    p->wide = true;
    tt_page_summary(p, "%s", tt_valuediff_text(v->d, text));
    tt_page_summary(p, "%s", tt_valuediff_write_counts(v->d, text));
    tables(p, v);
    tt_page_section_begin(p, "read", "To read this");
    for (unsigned i = 0; i < TT_VALUEDIFF_NOTES; i++)
        if (tt_valuediff_note(v->d, i, text)) tt_page_add(p, TT_BLOCK_POINT, "%s", text);
}
