/* Experts and domains: whether runs of different domains choose different experts. */
#include "report/sections.h"

#include <math.h>
#include <stdlib.h>

#define LAYERS_DRAWN 6u /* those that separate the domains best, each with its experts */
#define EXPERTS_DRAWN 128u
#define DOMAINS_DRAWN 6u /* over time: a plot each */
#define LAYERS_SHOWN 32u
#define EXPERTS_SHOWN 20u
/* Number of experts from which on transitions that never occurred are left blank. */
#define BLANKS_DRAWN 32u
#define LABELS_SHOWN 16u

static const char cells_note[] =
    "The darker (in dark colours: the brighter) a cell, the larger the share; the darkest is the "
    "largest share of the plot, or over the run of all domains' plots.";

static const char *layer_name(tt_page *p, const tt_domain_layer *l)
{
    return tt_page_format(p, "layer %s", tt_format_layer(p, l->layer_id));
}

/* --- which layers --- */

/* V as many times as chance lets it come to: of few tokens, or of tokens that depend on each other,
 * V is large without any effect. */
static double beyond_chance(const tt_domain_layer *l)
{
    const double times = l->test.cramers_v / l->chance_v;
    return isnan(times) ? -1 : times;
}

static int best_first(const void *a, const void *b, void *context)
{
    const tt_domain_layer *layers = context;
    const size_t i = *(const size_t *)a, k = *(const size_t *)b;
    const double x = beyond_chance(&layers[i]), y = beyond_chance(&layers[k]);
    return x > y ? -1 : x < y ? 1 : (i > k) - (i < k);
}

static int in_order(const void *a, const void *b)
{
    const size_t i = *(const size_t *)a, k = *(const size_t *)b;
    return (i > k) - (i < k);
}

/* The layers that separate the domains best, in order; *first: the best one. */
static size_t choose_layers(tt_page *p, const tt_domains *d, size_t **list, size_t *first)
{
    size_t *all = tt_page_take(p, (d->n_layers + 1) * sizeof *all);
    const size_t n = d->n_layers < LAYERS_DRAWN ? d->n_layers : LAYERS_DRAWN;
    *list = all;
    if (!all || n == 0) return 0;
    for (size_t i = 0; i < d->n_layers; i++)
        all[i] = i;
    qsort_r(all, d->n_layers, sizeof *all, best_first, d->layers);
    *first = all[0];
    qsort(all, n, sizeof *all, in_order);
    return n;
}

static void plot_layers(tt_page *p, const tt_domains *d)
{
    tt_plot *plot = tt_page_plot(p, "How far each layer tells the domains apart", "layer",
                                 "0: not at all, 1: entirely");
    tt_series *v = tt_plot_series(plot, "Cramer's V", TT_SERIES_COLUMNS, 3, d->n_layers);
    tt_series *chance =
        tt_plot_series(plot, "what chance lets it come to", TT_SERIES_SPANS, 2, d->n_layers);
    tt_series *jsd = tt_plot_series(plot, "Jensen-Shannon divergence, of the largest there can be",
                                    TT_SERIES_POINTS, 1, d->n_layers);
    double most = 0.05;
    if (!plot) return;
    plot->x_min = INFINITY;
    plot->x_max = -INFINITY;
    for (size_t i = 0; i < d->n_layers; i++) {
        const tt_domain_layer *l = &d->layers[i];
        const double x = tt_layer_on_axis(l->layer_id, d->layers[d->n_layers - 1].layer_id, i);
        const double divergence = l->test.jsd_bits / log2((double)d->n_domains);
        plot->x_min = fmin(plot->x_min, x - 0.6);
        plot->x_max = fmax(plot->x_max, x + 0.6);
        tt_series_add(v, x, 0, 0, l->test.cramers_v);
        tt_series_add(chance, x - 0.46, l->chance_v, x + 0.46, l->chance_v);
        tt_series_add(jsd, x, divergence, 0, 0);
        most = fmax(most, fmax(fmax(l->test.cramers_v, l->chance_v), divergence));
    }
    plot->has_x = plot->has_y = plot->x_integers = true;
    plot->y_max = fmin(1, most * 1.08);
    plot->height = 260;
    tt_plot_describe(plot, "A column for each layer: Cramer's V, the size of the effect. A line "
                           "across it: what chance lets V come to. A mark: the Jensen-Shannon "
                           "divergence of the domains' shares. The table has the numbers.");
}

/* --- domains by experts --- */

static void mark_every(tt_page *p, tt_plot *plot, uint32_t n)
{
    const uint32_t every = (n + LABELS_SHOWN - 1) / LABELS_SHOWN;
    for (uint32_t i = 0; i < n; i++)
        tt_plot_label(plot, i % every ? "" : tt_page_format(p, "%u", (unsigned)i));
}

static unsigned rows_height(uint32_t n)
{
    const unsigned each = n <= 8 ? 26 : n <= 16 ? 18 : n <= 32 ? 13 : n <= 64 ? 8 : 5;
    return 64 + each * n;
}

static uint32_t experts_drawn(const tt_domain_layer *l)
{
    return l->n_experts < EXPERTS_DRAWN ? l->n_experts : EXPERTS_DRAWN;
}

static void plot_matrix(tt_page *p, const tt_domains *d, const tt_domain_layer *l)
{
    const uint32_t experts = experts_drawn(l);
    tt_plot *plot =
        tt_page_plot(p, tt_page_format(p, "Share of each expert, by domain: %s", layer_name(p, l)),
                     "expert", "");
    tt_series *s = tt_plot_series(plot, "", TT_SERIES_CELLS, 1, (size_t)experts * d->n_domains);
    double most = 0;
    if (!plot) return;
    for (size_t i = 0; i < l->n_experts * d->n_domains; i++)
        most = fmax(most, l->uses[i].share);
    for (size_t k = 0; k < d->n_domains; k++)
        tt_plot_label(plot, d->domains[k].name);
    for (uint32_t e = 0; e < experts && most > 0; e++)
        for (size_t k = 0; k < d->n_domains; k++)
            tt_series_add(s, e, (double)k, l->experts[e].uses[k].share / most, 0);
    plot->y_rows = plot->has_x = plot->x_integers = true;
    plot->x_min = -0.6;
    plot->x_max = experts - 0.4;
    plot->height = rows_height((uint32_t)d->n_domains);
    tt_plot_describe(plot, "A row for each domain, a cell for each expert: the share of the "
                           "domain's choices that it took.");
}

/* --- from token to token --- */

static void plot_steps(tt_page *p, const tt_domains *d, size_t layer)
{
    const tt_domain_layer *l = &d->layers[layer];
    const uint32_t experts = experts_drawn(l);
    const size_t cells = (size_t)experts * experts;
    double *share = calloc(cells + experts, sizeof *share), *followed = share + cells, most = 0;
    p->failed |= !share;
    for (size_t k = 0; share && k < d->n_domains; k++) {
        tt_expert_step *list;
        size_t n;
        p->failed |= !tt_domain_steps(d, layer, k, &list, &n);
        for (size_t i = 0; i < n; i++) {
            const tt_expert_step *t = &list[i];
            const bool is_new = i == 0 || t->expert_id != list[i - 1].expert_id;
            if (t->expert_id >= experts) continue;
            if (is_new) followed[t->expert_id] += (double)t->followed;
            if (t->next_expert_id >= experts) continue;
            share[(size_t)t->expert_id * experts + t->next_expert_id] += (double)t->count;
        }
        free(list);
    }
    tt_plot *plot =
        tt_page_plot(p, tt_page_format(p, "Which expert follows which: %s", layer_name(p, l)),
                     "expert of the next token", "expert of a token");
    tt_series *s = tt_plot_series(plot, "", TT_SERIES_CELLS, 1, cells);
    for (size_t i = 0; share && i < cells; i++) {
        if (followed[i / experts] > 0) share[i] /= followed[i / experts];
        most = fmax(most, share[i]);
    }
    for (size_t i = 0; share && plot && i < cells && most > 0; i++)
        if (share[i] > 0 || experts <= BLANKS_DRAWN)
            tt_series_add(s, (double)(i % experts), (double)(i / experts), share[i] / most, 0);
    free(share);
    if (!plot) return;
    mark_every(p, plot, experts);
    plot->y_rows = plot->has_x = plot->x_integers = true;
    plot->x_min = -0.6;
    plot->x_max = experts - 0.4;
    plot->height = rows_height(experts);
    tt_plot_describe(plot,
                     "A row for each expert of a token, a column for each expert of the "
                     "token after it: P(next | expert), all domains added up. Of many experts, "
                     "what never occurred is blank.");
}

/* --- over time --- */

static void plot_spans(tt_page *p, const tt_domains *d, size_t layer, size_t domain, double most,
                       const tt_expert_span *list, size_t n)
{
    const tt_domain_layer *l = &d->layers[layer];
    const uint32_t experts = experts_drawn(l);
    tt_plot *plot = tt_page_plot(p,
                                 tt_page_format(p, "Each expert over the run: %s, %s",
                                                d->domains[domain].name, layer_name(p, l)),
                                 "sixteenth of the run", "expert");
    tt_series *s = tt_plot_series(plot, "", TT_SERIES_CELLS, 1, n);
    if (!plot) return;
    for (size_t i = 0; i < n; i++)
        if (list[i].expert_id < experts)
            tt_series_add(s, list[i].interval, list[i].expert_id, list[i].share / most, 0);
    mark_every(p, plot, experts);
    plot->y_rows = plot->has_x = plot->x_integers = true;
    plot->x_min = -0.6;
    plot->x_max = TT_DOMAINS_INTERVALS - 0.4;
    plot->height = rows_height(experts);
    tt_plot_describe(plot, "A row for each expert, a column for each sixteenth of the domain's "
                           "runs: the share of the choices that it took.");
}

static void plot_over_time(tt_page *p, const tt_domains *d, size_t layer)
{
    const size_t drawn = d->n_domains < DOMAINS_DRAWN ? d->n_domains : DOMAINS_DRAWN;
    tt_expert_span *lists[DOMAINS_DRAWN];
    size_t n[DOMAINS_DRAWN];
    double most = 0;
    for (size_t k = 0; k < drawn; k++) {
        p->failed |= !tt_domain_spans(d, layer, k, &lists[k], &n[k]);
        for (size_t i = 0; i < n[k]; i++)
            most = fmax(most, lists[k][i].share);
    }
    for (size_t k = 0; k < drawn; k++) {
        if (n[k] && most > 0) plot_spans(p, d, layer, k, most, lists[k], n[k]);
        free(lists[k]);
    }
}

/* --- the page --- */

static size_t count_separating(const tt_domains *d)
{
    size_t n = 0;
    for (size_t i = 0; i < d->n_layers; i++)
        n += d->layers[i].separates;
    return n;
}

static void write_left_out(tt_page *p, const tt_domains *d)
{
    bool cut = false;
    for (size_t i = 0; i < d->n_layers; i++)
        cut |= d->layers[i].n_experts > EXPERTS_DRAWN;
    if (cut)
        tt_page_add(
            p, TT_BLOCK_NOTE,
            "Drawn are the first %u experts of a layer: routing --domains --tables has all.",
            EXPERTS_DRAWN);
    if (d->course_left_out)
        tt_page_add(p, TT_BLOCK_NOTE,
                    "There are too many experts to count what follows what in every layer: "
                    "--layer N has one.");
}

void tt_plots_domains(tt_page *p, const tt_domains *d)
{
    size_t *chosen, first = 0;
    const size_t n = choose_layers(p, d, &chosen, &first);
    if (n == 0) return;
    plot_layers(p, d);
    for (size_t i = 0; i < n; i++)
        plot_matrix(p, d, &d->layers[chosen[i]]);
    plot_steps(p, d, first);
    plot_over_time(p, d, first);
    tt_page_add(p, TT_BLOCK_NOTE, "%s", cells_note);
    write_left_out(p, d);
}

static bool is_special(const void *context, const void *row)
{
    (void)context;
    return ((const tt_domain_expert *)row)->kind == TT_EXPERT_SPECIALIST;
}

static bool is_separating(const void *context, const void *row)
{
    (void)context;
    return ((const tt_domain_layer *)row)->separates;
}

static void section_layers(tt_page *p, const tt_domains *d)
{
    const size_t n = count_separating(d);
    const tt_rowset layers = TT_ROWSET(&tt_domain_layer_schema, 0, NULL, d->layers, d->n_layers);
    tt_page_section_begin(p, "layers", "Which layers tell the domains apart?");
    tt_page_add(p, TT_BLOCK_ANSWER,
                "%s of %zu layers: in them the domains choose different experts "
                "by more than chance lets.",
                n ? tt_page_format(p, "%zu", n) : "None", d->n_layers);
    plot_layers(p, d);
    tt_page_table *t = tt_page_rows(p, NULL, &layers, &(tt_listing_wish){.text = true});
    if (t) t->marked = is_separating;
    if (t) t->shown = LAYERS_SHOWN;
    tt_page_add(
        p, TT_BLOCK_NOTE,
        "V is Cramer's V, JSD the Jensen-Shannon divergence of the domains' shares in bits. P "
        "is that of Pearson's test; P CORRECTED takes into account that tokens stay with their "
        "experts (DEPENDENCE) and that several layers are tested (Holm). Bold layers are below "
        "0.05; BY CHANCE is the V above which a layer is.");
}

static void section_experts(tt_page *p, const tt_domains *d, const size_t *chosen, size_t n)
{
    size_t special = 0;
    const tt_rowset experts =
        TT_ROWSET(&tt_domain_expert_schema, 0, NULL, d->experts, d->n_experts);
    for (size_t i = 0; i < d->n_experts; i++)
        special += is_special(NULL, &d->experts[i]);
    tt_page_section_begin(p, "experts", "Which experts are specialists?");
    tt_page_add(p, TT_BLOCK_ANSWER,
                "%s of %s experts: some domain chose them more often than chance lets, "
                "and at least twice as often as the others.",
                special ? tt_format_count(p, (double)special) : "None",
                tt_format_count(p, (double)d->n_experts));
    for (size_t i = 0; i < n; i++)
        plot_matrix(p, d, &d->layers[chosen[i]]);
    if (n < d->n_layers)
        tt_page_add(p, TT_BLOCK_NOTE, "Drawn are the %zu layers that tell the domains apart best.",
                    n);
    tt_page_add(p, TT_BLOCK_NOTE, "%s", cells_note);
    tt_page_table *t = tt_page_rows(
        p, "Specialists", &experts,
        &(tt_listing_wish){.columns = "layer_id,expert_id,domain,share,lift,residual,count",
                           .sort = "residual",
                           .text = true,
                           .passes = is_special});
    if (t) t->shown = EXPERTS_SHOWN;
    tt_page_retitle(p, t, "layer_id", "LAYER");
}

static void section_course(tt_page *p, const tt_domains *d, size_t best)
{
    tt_page_section_begin(p, "course", "What follows what, and does it change over the run?");
    tt_page_add(p, TT_BLOCK_TEXT,
                "Drawn is the layer that tells the domains apart best, %s. In it the next token "
                "keeps a token's experts so often that %s tokens count as one that is independent.",
                tt_format_layer(p, d->layers[best].layer_id),
                tt_format_number(p, d->layers[best].dependence));
    plot_steps(p, d, best);
    plot_over_time(p, d, best);
    tt_page_add(p, TT_BLOCK_NOTE, "%s", cells_note);
    write_left_out(p, d);
}

void tt_domains_page(tt_page *p, const tt_domains *d)
{
    const tt_rowset domains = TT_ROWSET(&tt_domain_schema, 0, NULL, d->domains, d->n_domains);
    size_t *chosen, best = 0, runs = 0, tokens = 0;
    for (size_t i = 0; i < d->n_domains; i++) {
        runs += d->domains[i].runs;
        tokens += d->domains[i].tokens;
    }
    p->title = "Experts and domains";
    p->subtitle = tt_page_format(p, "%zu runs of %zu domains", runs, d->n_domains);
    p->footer = "Made by tensortrace from the traces of the runs.";
    p->wide = true;
    tt_page_summary(p, "%zu of %zu layers tell the domains apart.", count_separating(d),
                    d->n_layers);
    tt_page_figure_add(p, tt_format_count(p, (double)d->n_domains), "domains");
    tt_page_figure_add(p, tt_format_count(p, (double)runs), "runs");
    tt_page_figure_add(p, tt_format_count(p, (double)tokens), "tokens");
    const size_t n = choose_layers(p, d, &chosen, &best);
    if (n == 0) return;
    section_layers(p, d);
    section_experts(p, d, chosen, n);
    section_course(p, d, best);
    tt_page_section_begin(p, "domains", "The domains");
    (void)tt_page_rows(p, NULL, &domains, &(tt_listing_wish){.text = true});
}
