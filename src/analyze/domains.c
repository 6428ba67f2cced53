#include "analyze/domains.h"

#include "analyze/diff/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REPEATED_MOST 0.99 /* more would leave nothing of a test */

/* --- a table of counts --- */

static double entropy_part(double share)
{
    return share > 0 ? -share * log2(share) : 0;
}

/* The entropy of the rows' mean shares minus the mean of their entropies. */
static double divergence(const uint64_t *counts, const uint64_t *of_row, size_t n_rows,
                         size_t n_columns)
{
    double own = 0, together = 0, rows = 0;
    for (size_t r = 0; r < n_rows; r++)
        rows += of_row[r] > 0;
    for (size_t c = 0; c < n_columns; c++) {
        double mean = 0;
        for (size_t r = 0; r < n_rows; r++) {
            const double share =
                of_row[r] ? (double)counts[r * n_columns + c] / (double)of_row[r] : 0;
            mean += share / rows;
            own += entropy_part(share) / rows;
        }
        together += entropy_part(mean);
    }
    /* For equal rows only rounding differs. */
    const double bits = together - own;
    return rows > 0 ? (bits > 1e-12 ? bits : 0) : NAN;
}

void tt_domain_test_table(const uint64_t *counts, size_t n_rows, size_t n_columns,
                          tt_domain_test *out)
{
    uint64_t of_row[TT_DOMAINS_MAX] = {0};
    size_t rows = 0, columns = 0;
    *out = (tt_domain_test){.p_value = NAN, .cramers_v = NAN};
    for (size_t r = 0; r < n_rows; r++) {
        for (size_t c = 0; c < n_columns; c++)
            of_row[r] += counts[r * n_columns + c];
        rows += of_row[r] > 0;
        out->n += of_row[r];
    }
    for (size_t c = 0; c < n_columns; c++) {
        uint64_t of_column = 0;
        for (size_t r = 0; r < n_rows; r++)
            of_column += counts[r * n_columns + c];
        columns += of_column > 0;
        for (size_t r = 0; r < n_rows && of_column; r++) {
            if (!of_row[r]) continue;
            const double expected = (double)of_row[r] * (double)of_column / (double)out->n;
            const double off = (double)counts[r * n_columns + c] - expected;
            out->chi_square += off * off / expected;
        }
    }
    out->jsd_bits = divergence(counts, of_row, n_rows, n_columns);
    if (rows < 2 || columns < 2) return;
    out->least = (uint32_t)(rows < columns ? rows : columns);
    out->df = (uint32_t)((rows - 1) * (columns - 1));
    out->p_value = tt_chi_square_tail(out->chi_square, out->df);
    out->cramers_v = sqrt(out->chi_square / ((double)out->n * (double)(out->least - 1)));
}

/* --- adding runs --- */

static tt_domain *domain_of(tt_domains *d, const char *name, tt_error *err)
{
    for (size_t i = 0; i < d->n_domains; i++)
        if (strcmp(d->domains[i].name, name) == 0) return &d->domains[i];
    if (!d->domains) d->domains = calloc(TT_DOMAINS_MAX, sizeof *d->domains);
    char *copy = d->domains ? strdup(name) : NULL;
    if (!copy) {
        (void)tt_error_memory(err, "the domains");
        return NULL;
    }
    if (d->n_domains == TT_DOMAINS_MAX) {
        free(copy);
        (void)tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET, "more than %u domains", TT_DOMAINS_MAX);
        return NULL;
    }
    d->domains[d->n_domains] = (tt_domain){.name = copy};
    return &d->domains[d->n_domains++];
}

static tt_status make_layers(tt_domains *d, const tt_router_layer *layers, size_t n, tt_error *err)
{
    d->layers = calloc(n + 1, sizeof *d->layers);
    for (size_t i = 0; d->layers && i < n; i++) {
        d->layers[i] =
            (tt_domain_layer){.layer_id = layers[i].layer_id, .n_experts = layers[i].n_experts};
        d->layers[i].counts =
            calloc((size_t)TT_DOMAINS_MAX * layers[i].n_experts, sizeof *d->layers[i].counts);
        d->n_layers++;
        if (!d->layers[i].counts) return tt_error_memory(err, "the domains");
    }
    return d->layers ? TT_OK : tt_error_memory(err, "the domains");
}

static bool has_same_layers(const tt_domains *d, const tt_router_layer *layers, size_t n)
{
    bool same = n == d->n_layers;
    for (size_t i = 0; same && i < n; i++)
        same = layers[i].layer_id == d->layers[i].layer_id &&
               layers[i].n_experts == d->layers[i].n_experts;
    return same;
}

/* How often experts repeat, and the expectation from their shares. */
static void add_repeats(tt_domain_layer *layer, const tt_router_sum *sum, const tt_expert_use *uses)
{
    if (isnan(sum->stickiness) || sum->tokens == 0 || sum->choices == 0) return;
    const double n = (double)sum->neighbours, picked = (double)sum->choices / (double)sum->tokens;
    double squares = 0;
    for (uint32_t e = 0; e < layer->n_experts; e++) {
        const double share = (double)uses[e].count / (double)sum->choices;
        squares += share * share;
    }
    layer->repeated += n * sum->stickiness;
    layer->expected += n * fmin(picked * squares, 1);
    layer->repeated_of += n;
}

static tt_status add_run(tt_domains *d, const char *domain, const tt_routers *run, size_t *at,
                         tt_error *err)
{
    size_t n;
    const tt_router_layer *layers = tt_routers_layers(run, &n);
    if (n == 0)
        return tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET,
                            "holds no choices of experts that pass; `tensortrace routing` says "
                            "more");
    tt_domain *to = domain_of(d, domain, err);
    if (!to) return err->status;
    tt_status status = d->layers ? TT_OK : make_layers(d, layers, n, err);
    if (status != TT_OK) return status;
    if (!has_same_layers(d, layers, n))
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                            "is of a model with other experts than the first run's");
    const size_t row = (size_t)(to - d->domains);
    uint64_t tokens = 0;
    for (size_t i = 0; i < n; i++) {
        tt_router_sum sum;
        uint32_t n_experts;
        const tt_expert_use *uses = tt_router_uses(layers[i].router, &n_experts);
        tt_router_sum_up(layers[i].router, &sum);
        for (uint32_t e = 0; e < n_experts; e++)
            d->layers[i].counts[row * n_experts + e] += uses[e].count;
        d->layers[i].tokens[row] += sum.tokens;
        add_repeats(&d->layers[i], &sum, uses);
        if (sum.tokens > tokens) tokens = sum.tokens;
    }
    to->runs++;
    to->tokens += tokens;
    *at = row;
    return TT_OK;
}

static tt_status walk(const tt_model *m, const tt_filter *filter, bool transitions,
                      tt_routers **out, tt_routers_progress *progress, void *context, tt_error *err)
{
    tt_routers *r = tt_routers_new(m, filter, TT_PHASE_PROMPT);
    *out = r;
    if (!r) return tt_error_memory(err, "the domains");
    if (transitions) tt_routers_keep_transitions(r);
    return tt_routers_walk(r, progress, context, err);
}

static tt_status add_intervals(tt_domains *d, size_t domain, const tt_model *m,
                               const tt_filter *filter, tt_error *err)
{
    tt_status status = TT_OK;
    for (uint32_t i = 0; status == TT_OK && i < TT_DOMAINS_INTERVALS; i++) {
        tt_routers *part = NULL;
        tt_filter within;
        if (!tt_expert_interval(m, filter, TT_DOMAINS_INTERVALS, i, &within)) continue;
        status = walk(m, &within, false, &part, NULL, NULL, err);
        if (status == TT_OK && !tt_domain_course_add_interval(d, domain, i, part))
            status = tt_error_memory(err, "the domains");
        tt_routers_free(part);
    }
    return status;
}

tt_status tt_domains_add_run(tt_domains *d, const char *domain, const tt_model *m,
                             const tt_filter *filter, tt_routers_progress *progress, void *context,
                             tt_error *err)
{
    tt_routers *r = NULL;
    size_t at = 0;
    tt_status status = walk(m, filter, d->keeps_course, &r, progress, context, err);
    if (status == TT_OK) status = add_run(d, domain, r, &at, err);
    if (status == TT_OK && d->keeps_course && !tt_domain_course_add(d, at, r))
        status = tt_error_memory(err, "the domains");
    tt_routers_free(r);
    return status == TT_OK && d->keeps_course ? add_intervals(d, at, m, filter, err) : status;
}

/* --- results --- */

static double dependence_of(const tt_domain_layer *layer)
{
    if (!(layer->repeated_of > 0)) return 1;
    const double repeated = layer->repeated / layer->repeated_of;
    const double expected = layer->expected / layer->repeated_of;
    const double r = expected < 1 ? (repeated - expected) / (1 - expected) : 0;
    const double clipped = fmin(fmax(r, 0), REPEATED_MOST);
    return (1 + clipped) / (1 - clipped);
}

/* The sums of one layer's table. */
typedef struct margins {
    uint64_t of_domain[TT_DOMAINS_MAX], all;
} margins;

static void evaluate_use(const tt_domain_layer *layer, const margins *m, const tt_domain_expert *e,
                         size_t domain, tt_domain_use *use)
{
    const double row = (double)m->of_domain[domain], column = (double)e->count,
                 all = (double)m->all;
    const double others = all - row;
    use->share = row > 0 ? (double)use->count / row : NAN;
    const double other = others > 0 ? (column - (double)use->count) / others : NAN;
    use->lift = other > 0 ? use->share / other : NAN;
    const double expected = row * column / all;
    const double variance = expected * (1 - row / all) * (1 - column / all) * layer->dependence;
    use->residual = variance > 0 ? ((double)use->count - expected) / sqrt(variance) : NAN;
}

static bool is_beyond_chance(double residual, size_t tests)
{
    return erfc(fabs(residual) / sqrt(2)) * (double)tests <= TT_DOMAINS_LEVEL;
}

static tt_expert_kind kind_of(const tt_domain_expert *e, size_t tests)
{
    bool differs = false, special = false;
    double least = INFINITY, most = 0;
    if (e->count == 0) return TT_EXPERT_UNUSED;
    for (size_t i = 0; i < e->n_uses; i++) {
        const tt_domain_use *u = &e->uses[i];
        if (isnan(u->share)) continue;
        least = fmin(least, u->share);
        most = fmax(most, u->share);
        const bool beyond = !isnan(u->residual) && is_beyond_chance(u->residual, tests);
        differs |= beyond;
        special |= beyond && u->residual > 0 && (isnan(u->lift) || u->lift >= TT_DOMAINS_SPECIAL);
    }
    if (special) return TT_EXPERT_SPECIALIST;
    return !differs && most < TT_DOMAINS_SPECIAL * least ? TT_EXPERT_GENERALIST : TT_EXPERT_MIXED;
}

static void evaluate_experts(const tt_domains *d, tt_domain_layer *layer)
{
    const size_t n = layer->n_experts, domains = d->n_domains;
    margins m = {.all = 0};
    for (size_t k = 0; k < domains; k++)
        for (size_t i = 0; i < n; i++)
            m.of_domain[k] += layer->counts[k * n + i];
    for (size_t k = 0; k < domains; k++)
        m.all += m.of_domain[k];
    for (size_t i = 0; i < n; i++) {
        tt_domain_use *uses = layer->uses + i * domains;
        tt_domain_expert *e = &layer->experts[i];
        *e = (tt_domain_expert){
            .layer_id = layer->layer_id, .expert_id = (uint32_t)i, .uses = uses, .n_uses = domains};
        for (size_t k = 0; k < domains; k++) {
            uses[k] = (tt_domain_use){.layer_id = layer->layer_id,
                                      .expert_id = (uint32_t)i,
                                      .domain = d->domains[k].name,
                                      .count = layer->counts[k * n + i]};
            e->count += uses[k].count;
        }
        for (size_t k = 0; k < domains; k++) {
            evaluate_use(layer, &m, e, k, &uses[k]);
            if (uses[k].share > 0 && (!e->most || uses[k].share > e->most->share))
                e->most = &uses[k];
        }
        e->kind = kind_of(e, n * domains);
        layer->kinds[e->kind]++;
    }
}

/* two: room for two rows. */
static void compare_pairs(const tt_domains *d, tt_domain_layer *layer, uint64_t *two)
{
    const size_t n = layer->n_experts;
    for (size_t a = 0; a < d->n_domains; a++)
        for (size_t b = a + 1; b < d->n_domains; b++) {
            tt_domain_test test;
            memcpy(two, layer->counts + a * n, n * sizeof *two);
            memcpy(two + n, layer->counts + b * n, n * sizeof *two);
            tt_domain_test_table(two, 2, n, &test);
            layer->pairs[layer->n_pairs++] =
                (tt_domain_pair){.layer_id = layer->layer_id,
                                 .a = d->domains[a].name,
                                 .b = d->domains[b].name,
                                 .jsd_bits = isnan(test.cramers_v) ? NAN : test.jsd_bits,
                                 .cramers_v = test.cramers_v};
        }
}

/* The x with P(X >= x) = level. */
static double chi_square_of(double level, uint32_t df)
{
    double low = 0, high = 1;
    while (tt_chi_square_tail(high, df) > level)
        low = high, high *= 2;
    for (unsigned i = 0; i < 64; i++) {
        const double middle = (low + high) / 2;
        if (tt_chi_square_tail(middle, df) > level)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* The largest V without significance: at the level that the first layer that is (or would be) not
 * significant was compared with. */
static void set_threshold(tt_domain_layer *layer, double level)
{
    const tt_domain_test *t = &layer->test;
    layer->separates = layer->p_corrected <= TT_DOMAINS_LEVEL;
    layer->chance_v = t->df ? sqrt(chi_square_of(level, t->df) * layer->dependence /
                                   ((double)t->n * (double)(t->least - 1)))
                            : NAN;
}

/* One array for all layers' experts, one for their uses, one for the pairs. */
static bool make_arrays(tt_domains *d)
{
    size_t expert = 0, pair = 0;
    const size_t pairs = d->n_domains * (d->n_domains - 1) / 2;
    d->n_experts = 0;
    for (size_t i = 0; i < d->n_layers; i++)
        d->n_experts += d->layers[i].n_experts;
    d->n_pairs = d->n_layers * pairs;
    d->experts = calloc(d->n_experts + 1, sizeof *d->experts);
    d->uses = calloc(d->n_experts * d->n_domains + 1, sizeof *d->uses);
    d->pairs = calloc(d->n_pairs + 1, sizeof *d->pairs);
    if (!d->experts || !d->uses || !d->pairs) return false;
    for (size_t i = 0; i < d->n_layers; i++) {
        d->layers[i].experts = d->experts + expert;
        d->layers[i].uses = d->uses + expert * d->n_domains;
        d->layers[i].pairs = d->pairs + pair;
        expert += d->layers[i].n_experts;
        pair += pairs;
    }
    return true;
}

static void correct(tt_domains *d, const double *p)
{
    size_t tested = 0, rejected = 0;
    for (size_t i = 0; i < d->n_layers; i++) {
        d->layers[i].p_corrected = p[i];
        tested += isnan(p[i]) ? 0 : 1;
        rejected += p[i] <= TT_DOMAINS_LEVEL;
    }
    for (size_t i = 0; i < d->n_layers; i++)
        set_threshold(&d->layers[i],
                      TT_DOMAINS_LEVEL / (double)(tested > rejected ? tested - rejected : 1));
}

bool tt_domains_finish(tt_domains *d)
{
    double *p = calloc(d->n_layers + 1, sizeof *p);
    uint64_t *two = calloc(2 * TT_ROUTER_EXPERTS_MAX, sizeof *two);
    bool ok = p && two && make_arrays(d);
    for (size_t i = 0; ok && i < d->n_layers; i++) {
        tt_domain_layer *layer = &d->layers[i];
        tt_domain_test_table(layer->counts, d->n_domains, layer->n_experts, &layer->test);
        layer->dependence = dependence_of(layer);
        p[i] = tt_chi_square_tail(layer->test.chi_square / layer->dependence, layer->test.df);
        evaluate_experts(d, layer);
        compare_pairs(d, layer, two);
    }
    ok = ok && tt_holm(p, d->n_layers);
    if (ok) correct(d, p);
    free(p);
    free(two);
    return ok;
}

void tt_domains_free(tt_domains *d)
{
    for (size_t i = 0; i < d->n_domains; i++)
        free(d->domains[i].name);
    for (size_t i = 0; i < d->n_layers; i++) {
        free(d->layers[i].counts);
        tt_domain_course_free(&d->layers[i]);
    }
    free(d->domains);
    free(d->layers);
    free(d->experts);
    free(d->uses);
    free(d->pairs);
    memset(d, 0, sizeof *d);
}
