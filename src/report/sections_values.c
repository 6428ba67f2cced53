/* Op outputs: NaN and infinities, RMS and range over the layers, outliers. */
#include "answer/values.h"
#include "report/sections.h"

#include <math.h>

static const char *format_where(tt_page *p, const tt_analysis *a, uint32_t run)
{
    const uint32_t batch = a->m->runs[run].batch;
    return batch == TT_NONE
               ? "outside any batch"
               : tt_page_format(p, "batch %u", (unsigned)tt_model_batch_number(a->m, batch));
}

/* --- NaN and infinities --- */

static void sources_table(tt_page *p, const tt_analysis *a, const tt_values_origin *b)
{
    const tt_rowset set = tt_values_sources_rowset(a->m, b);
    (void)tt_page_rows(
        p, "What it was computed from", &set,
        &(tt_listing_wish){.columns = "name,state,in_file,written_by,where,min,max,rms",
                           .text = true});
}

/* Where it comes from, as far as its sources show. */
static const char *format_origin(tt_page *p, const tt_analysis *a, const tt_values_origin *b)
{
    bool unknown = false;
    char text[TT_VALUES_WEIGHT_TEXT];
    if (b->kind != TT_VALUES_MADE_HERE)
        return "not all of its sources were measured, so it is made there or in one of them.";
    for (uint32_t i = 0; i < b->n_sources; i++) {
        const tt_values_source *s = &b->sources[i];
        if (s->weight == TT_NONE) continue;
        if (s->in_file.n_bad)
            return tt_page_format(p, "the model file itself contains it: %s has %s.",
                                  a->m->weights[s->weight].name,
                                  tt_values_weight_text(text, sizeof text, &s->in_file));
        unknown = unknown || !s->in_file.looked_at;
    }
    return unknown ? "no output that it reads is bad, so it is made there or in a weight."
                   : "no output that it reads is bad, so it is made there.";
}

static void write_bad(tt_page *p, const tt_analysis *a)
{
    const tt_values_first *f = &a->values_first;
    const tt_values_origin *b = &f->origins[0];
    const tt_tensor *t = &a->m->graphs[a->m->runs[b->row.run].graph].tensors[b->row.node];
    tt_page_add(p, TT_BLOCK_ANSWER,
                "No: %s outputs of %s hold NaN or infinities. The first is %s, of %s, in %s: %s",
                tt_format_count(p, (double)f->counts.bad),
                tt_format_count(p, (double)f->counts.outputs), t->name, t->op_desc,
                format_where(p, a, b->row.run), format_origin(p, a, b));
    tt_page_add(p, TT_BLOCK_TEXT,
                "%s more outputs are bad behind it, in %s batches; the logits %s.",
                tt_format_count(p, (double)f->bad_after), tt_format_count(p, (double)f->tokens_bad),
                f->logits == 0       ? "were not measured"
                : f->logits_bad == 0 ? "are not reached"
                                     : tt_page_format(p, "are bad from %s on",
                                                      format_where(p, a, f->first_logits_run)));
    sources_table(p, a, b);
}

static void write_good(tt_page *p, const tt_analysis *a)
{
    const tt_values_counts *c = &a->values_first.counts;
    tt_page_add(p, TT_BLOCK_ANSWER, "Yes: no NaN and no infinity in %s outputs%s.",
                tt_format_count(p, (double)c->outputs),
                c->masking ? tt_page_format(p, ", but for those of masks in %s",
                                            tt_format_count(p, (double)c->masking))
                           : "");
    if (c->constant)
        tt_page_add(p, TT_BLOCK_TEXT, "%s outputs are constant, %s of them zero.",
                    tt_format_count(p, (double)c->constant), tt_format_count(p, (double)c->zero));
}

/* --- over the layers --- */

static const char *place_of(const tt_analysis *a)
{
    return a->values_grid.place[0] ? a->values_grid.place : "the last output of each layer";
}

static void draw(tt_plot *plot, const tt_values_growth *list, uint32_t n, const char *const *names,
                 unsigned color)
{
    tt_series *rms = tt_plot_series(plot, names[0], TT_SERIES_LINE, color, n);
    tt_series *largest = tt_plot_series(plot, names[1], TT_SERIES_LINE, color + 2, n);
    for (uint32_t l = 0; l < n; l++) {
        const tt_values_cell *c = &list[l].all;
        const double most = fmax(fabs((double)c->min), fabs((double)c->max));
        if (!c->has_range || list[l].layer_id < 0) continue;
        const double x = tt_layer_on_axis(list[l].layer_id, list[n - 1].layer_id, l);
        if (c->rms > 0) tt_series_add(rms, x, c->rms, 0, 0);
        if (most > 0) tt_series_add(largest, x, most, 0, 0);
    }
}

/* A line needs two points: a NaN in an early layer may leave fewer. */
static bool has_line(const tt_values_growth *list, uint32_t n)
{
    uint32_t points = 0;
    for (uint32_t l = 0; l < n; l++)
        points += list[l].all.has_range && list[l].layer_id >= 0;
    return points > 1;
}

static void draw_growth(tt_page *p, const tt_analysis *a, tt_values_growth *const list[2],
                        const uint64_t batches[2])
{
    static const char *const names[][2] = {{"RMS, prompt", "largest, prompt"},
                                           {"RMS, generated", "largest, generated"}};
    const uint32_t n = a->values_grid.n_layers;
    if (!has_line(list[0], n) && !has_line(list[1], n)) return;
    tt_plot *plot = tt_page_plot(
        p, tt_page_format(p, "RMS and largest magnitude of %s", place_of(a)), "layer", "");
    if (plot) {
        plot->log_y = plot->x_integers = true;
        plot->height = 300;
    }
    for (unsigned i = 0; i < 2; i++)
        if (batches[i]) draw(plot, list[i], n, names[i], 1 + i);
    tt_plot_describe(plot, "Lines over the layers, for the prompt and for what was generated. "
                           "The table has the figures.");
}

static void write_growth(tt_page *p, const tt_analysis *a)
{
    static const tt_listing_wish wish = {.columns =
                                             "phase,layer_id,model_file,rms,ratio,min,max,bad",
                                         .text = true,
                                         .passes = tt_values_growth_measured};
    const tt_values_grid *g = &a->values_grid;
    const uint32_t n = g->n_layers;
    tt_values_growth *rows = n ? tt_page_take(p, 2 * (size_t)n * sizeof *rows) : NULL;
    if (!rows) return;
    uint64_t batches[2];
    tt_values_growth *const list[2] = {rows, rows + n};
    for (unsigned i = 0; i < 2; i++)
        batches[i] = tt_values_growth_of(a->m, g, TT_PHASE_PROMPT + i, list[i]);
    draw_growth(p, a, list, batches);
    const tt_rowset set = tt_values_growth_rowset(a->m, rows, 2 * (size_t)n);
    tt_page_table *t =
        tt_page_rows(p, tt_page_format(p, "%s over the layers", place_of(a)), &set, &wish);
    tt_page_retitle(p, t, "ratio", "TO LAYER BEFORE");
    if (t) t->folded = true;
}

/* --- outliers --- */

static void write_outliers(tt_page *p, const tt_analysis *a)
{
    static const tt_listing_wish wish = {.columns = "name,batch_id,by,value,usual,score",
                                         .text = true};
    const tt_values_outliers *o = &a->values_outliers;
    if (o->total == 0) {
        tt_page_add(p, TT_BLOCK_TEXT,
                    "None of %s outputs stands out among those of its place in the layers.",
                    tt_format_count(p, (double)o->compared));
        return;
    }
    tt_page_add(p, TT_BLOCK_TEXT,
                "%s of %s outputs stand out among those of their place in the layers: their RMS or "
                "largest magnitude is off by more than a factor 2 and 3.5 robust deviations.",
                tt_format_count(p, (double)o->total), tt_format_count(p, (double)o->compared));
    const tt_rowset set = tt_values_outliers_rowset(a->m, o, false);
    (void)tt_page_rows(p, "What stands out most", &set, &wish);
}

void tt_section_values(tt_page *p, const tt_analysis *a)
{
    const tt_values_counts *c = &a->values_first.counts;
    if (!a->has_values) return;
    tt_page_section_begin(p, "values", "Are the values sound?");
    if (c->outputs == 0)
        tt_page_add(p, TT_BLOCK_ANSWER, "Not measured: no output was taken whole.");
    else if (a->values_first.found)
        write_bad(p, a);
    else
        write_good(p, a);
    if (c->unmeasured || c->incomplete)
        tt_page_add(p, TT_BLOCK_NOTE, "Outputs of %s executed ops were not measured%s.",
                    tt_format_count(p, (double)c->unmeasured),
                    c->incomplete ? tt_page_format(p, ", and of %s parts were lost",
                                                   tt_format_count(p, (double)c->incomplete))
                                  : "");
    write_growth(p, a);
    write_outliers(p, a);
}
