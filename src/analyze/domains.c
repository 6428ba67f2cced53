#include "analyze/domains.h"

#include "analyze/diff/stats.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REPEATED_MOST 0.99 /* more would leave nothing of a test */

/* --- a table of counts --- */

static double entropy_part(double share)
{
    return share > 0 ? -share * log2(share) : 0;
}

/* The entropy of the mean of the rows' shares, less the mean of their entropies. */
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
    /* Of rows alike the last bits differ. */
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
    const size_t least = rows < columns ? rows : columns;
    out->df = (uint32_t)((rows - 1) * (columns - 1));
    out->p_value = tt_chi_square_tail(out->chi_square, out->df);
    out->cramers_v = sqrt(out->chi_square / ((double)out->n * (double)(least - 1)));
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

/* How often experts come again, and how often they would by their shares alone. */
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

tt_status tt_domains_add(tt_domains *d, const char *domain, const tt_routers *run, tt_error *err)
{
    size_t n;
    const tt_router_layer *layers = tt_routers_layers(run, &n);
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
        add_repeats(&d->layers[i], &sum, uses);
        if (sum.tokens > tokens) tokens = sum.tokens;
    }
    to->runs++;
    to->tokens += tokens;
    return TT_OK;
}

/* --- what comes of it --- */

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

static void judge_use(const tt_domain_layer *layer, const margins *m, const tt_domain_expert *e,
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

static bool judge_experts(const tt_domains *d, tt_domain_layer *layer)
{
    const size_t n = layer->n_experts, domains = d->n_domains;
    margins m = {.all = 0};
    layer->experts = calloc(n + 1, sizeof *layer->experts);
    layer->uses = calloc(n * domains + 1, sizeof *layer->uses);
    if (!layer->experts || !layer->uses) return false;
    for (size_t k = 0; k < domains; k++)
        for (size_t i = 0; i < n; i++)
            m.of_domain[k] += layer->counts[k * n + i];
    for (size_t k = 0; k < domains; k++)
        m.all += m.of_domain[k];
    for (size_t i = 0; i < n; i++) {
        tt_domain_use *uses = layer->uses + i * domains;
        tt_domain_expert *e = &layer->experts[i];
        *e = (tt_domain_expert){.expert_id = (uint32_t)i, .uses = uses, .n_uses = domains};
        for (size_t k = 0; k < domains; k++) {
            uses[k] = (tt_domain_use){d->domains[k].name, layer->counts[k * n + i], NAN, NAN, NAN};
            e->count += uses[k].count;
        }
        for (size_t k = 0; k < domains; k++) {
            judge_use(layer, &m, e, k, &uses[k]);
            if (uses[k].share > 0 && (!e->most || uses[k].share > e->most->share))
                e->most = &uses[k];
        }
        e->kind = kind_of(e, n * domains);
        layer->kinds[e->kind]++;
    }
    return true;
}

static bool compare_pairs(const tt_domains *d, tt_domain_layer *layer)
{
    const size_t n = layer->n_experts, domains = d->n_domains;
    uint64_t *two = calloc(2 * n + 1, sizeof *two);
    layer->pairs = calloc(domains * domains + 1, sizeof *layer->pairs);
    for (size_t a = 0; two && layer->pairs && a < domains; a++)
        for (size_t b = a + 1; b < domains; b++) {
            tt_domain_test test;
            memcpy(two, layer->counts + a * n, n * sizeof *two);
            memcpy(two + n, layer->counts + b * n, n * sizeof *two);
            tt_domain_test_table(two, 2, n, &test);
            layer->pairs[layer->n_pairs++] =
                (tt_domain_pair){d->domains[a].name, d->domains[b].name,
                                 isnan(test.cramers_v) ? NAN : test.jsd_bits, test.cramers_v};
        }
    const bool ok = two && layer->pairs;
    free(two);
    return ok;
}

bool tt_domains_finish(tt_domains *d)
{
    double *p = calloc(d->n_layers + 1, sizeof *p);
    bool ok = p != NULL;
    for (size_t i = 0; ok && i < d->n_layers; i++) {
        tt_domain_layer *layer = &d->layers[i];
        tt_domain_test_table(layer->counts, d->n_domains, layer->n_experts, &layer->test);
        layer->dependence = dependence_of(layer);
        p[i] = tt_chi_square_tail(layer->test.chi_square / layer->dependence, layer->test.df);
        ok = judge_experts(d, layer) && compare_pairs(d, layer);
    }
    ok = ok && tt_holm(p, d->n_layers);
    for (size_t i = 0; ok && i < d->n_layers; i++)
        d->layers[i].p_corrected = p[i];
    free(p);
    return ok;
}

void tt_domains_free(tt_domains *d)
{
    for (size_t i = 0; i < d->n_domains; i++)
        free(d->domains[i].name);
    for (size_t i = 0; i < d->n_layers; i++) {
        free(d->layers[i].counts);
        free(d->layers[i].experts);
        free(d->layers[i].uses);
        free(d->layers[i].pairs);
    }
    free(d->domains);
    free(d->layers);
    memset(d, 0, sizeof *d);
}

/* --- columns --- */

const char *tt_expert_kind_name(tt_expert_kind kind)
{
    static const char *const names[] = {"unused", "generalist", "specialist", "mixed"};
    return names[kind];
}

/* 0.0123, 1.2e-30: what is small is not 0. */
#define SHOW_P(name, row_type, member)                                                             \
    TT_COLUMN_SHOW(name, row_type, r,                                                              \
                   if (!isnan(r->member))(void) snprintf(out, room, "%.2g", r->member);)
SHOW_P(show_p, tt_domain_layer, test.p_value)
SHOW_P(show_corrected, tt_domain_layer, p_corrected)

#define FIGURE(key_, title_, about_, row_, member_, ...)                                           \
    TT_COLUMN(key_, title_, FIGURE, about_, .nullable = true, TT_MEMBER(row_, member_), __VA_ARGS__)

static const tt_column domain_columns[] = {
    TT_COLUMN("domain", "DOMAIN", NONE, "its name", TT_MEMBER(tt_domain, name)),
    TT_COLUMN("runs", "RUNS", COUNT, "of it", TT_MEMBER(tt_domain, runs)),
    TT_COLUMN("tokens", "TOKENS", COUNT, "that were routed", TT_MEMBER(tt_domain, tokens)),
};
const tt_schema tt_domain_schema = TT_SCHEMA("domains", "runs of one kind", domain_columns);

static const tt_column use_columns[] = {
    TT_COLUMN("domain", NULL, NONE, "of the tokens", TT_MEMBER(tt_domain_use, domain)),
    TT_COLUMN("count", NULL, COUNT, "how often they chose it", TT_MEMBER(tt_domain_use, count)),
    FIGURE("share", NULL, "of the domain's choices", tt_domain_use, share),
    FIGURE("lift", NULL, "that share, divided by that of the other domains", tt_domain_use, lift),
    FIGURE("residual", NULL, "adjusted and standardized, less for dependence", tt_domain_use,
           residual),
};
static const tt_schema use_schema = TT_SCHEMA("uses", "an expert in a domain", use_columns);

TT_COLUMN_GET(get_kind, tt_domain_expert, e, tt_cell_text(cell, tt_expert_kind_name(e->kind));)
TT_COLUMN_GET(get_most, tt_domain_expert, e, tt_cell_text(cell, e->most ? e->most->domain : NULL);)
TT_COLUMN_GET(get_most_share, tt_domain_expert, e, cell->known = e->most != NULL;
              cell->f64 = e->most ? e->most->share : 0;)
TT_COLUMN_GET(get_lift, tt_domain_expert, e, cell->known = e->most && !isnan(e->most->lift);
              cell->f64 = cell->known ? e->most->lift : 0;)
TT_COLUMN_GET(get_residual, tt_domain_expert, e, cell->known = e->most && !isnan(e->most->residual);
              cell->f64 = cell->known ? e->most->residual : 0;)
TT_COLUMN_ROWS(get_uses, tt_domain_expert, e, e->uses, e->n_uses)

static const tt_column expert_columns[] = {
    TT_COLUMN("expert_id", "EXPERT", ID, "its number in the layer", .show = TT_SHOW_LEFT,
              TT_MEMBER(tt_domain_expert, expert_id)),
    TT_COLUMN("kind", "KIND", NONE, "specialist, generalist, mixed or unused", .type = TT_CELL_NAME,
              .get = get_kind),
    TT_COLUMN("count", "CHOSEN", COUNT, "how often, in all domains",
              TT_MEMBER(tt_domain_expert, count)),
    TT_COLUMN("domain", "MOST BY", NONE, "domain with the largest share", .nullable = true,
              .type = TT_CELL_NAME, .get = get_most),
    TT_COLUMN("share", "SHARE", SHARE, "of that domain's choices", .nullable = true,
              .type = TT_CELL_F64, .get = get_most_share),
    TT_COLUMN("lift", "LIFT", FIGURE, "that share, divided by that of the other domains",
              .nullable = true, .type = TT_CELL_F64, .get = get_lift),
    TT_COLUMN("residual", "RESIDUAL", FIGURE,
              "of that count: standard deviations beyond what independence lets expect",
              .nullable = true, .type = TT_CELL_F64, .get = get_residual),
    TT_COLUMN("uses", NULL, NONE, "by domain", .type = TT_CELL_ROWS, .inner = &use_schema,
              .rows = get_uses),
};
const tt_schema tt_domain_expert_schema =
    TT_SCHEMA("domain experts", "an expert of a layer", expert_columns);

static const tt_column pair_columns[] = {
    TT_COLUMN("domain", NULL, NONE, "one", TT_MEMBER(tt_domain_pair, a)),
    TT_COLUMN("other_domain", NULL, NONE, "the other", TT_MEMBER(tt_domain_pair, b)),
    FIGURE("jsd_bits", NULL, "Jensen-Shannon divergence of their shares, 0 to 1", tt_domain_pair,
           jsd_bits),
    FIGURE("cramers_v", NULL, "effect size, 0 to 1", tt_domain_pair, cramers_v),
};
static const tt_schema pair_schema = TT_SCHEMA("pairs", "two domains", pair_columns);

TT_COLUMN_GET(get_layer, tt_domain_layer, l, cell->known = l->layer_id >= 0;
              cell->i64 = l->layer_id;)
TT_COLUMN_ROWS(get_experts, tt_domain_layer, l, l->experts, l->n_experts)
TT_COLUMN_ROWS(get_pairs, tt_domain_layer, l, l->pairs, l->n_pairs)
TT_COLUMN_VALUE(get_specialists, tt_domain_layer, l, u64, l->kinds[TT_EXPERT_SPECIALIST])
TT_COLUMN_VALUE(get_generalists, tt_domain_layer, l, u64, l->kinds[TT_EXPERT_GENERALIST])
TT_COLUMN_VALUE(get_unused, tt_domain_layer, l, u64, l->kinds[TT_EXPERT_UNUSED])

static const tt_column layer_columns[] = {
    TT_COLUMN("layer_id", "LAYER", ID, "the layer", .nullable = true, .type = TT_CELL_I32,
              .show = TT_SHOW_LEFT, .get = get_layer),
    TT_COLUMN("n_experts", "EXPERTS", COUNT, "its experts", TT_MEMBER(tt_domain_layer, n_experts)),
    TT_COLUMN("choices", "CHOICES", COUNT, "of experts, in all domains",
              TT_MEMBER(tt_domain_layer, test.n)),
    FIGURE("cramers_v", "V", "Cramer's V: effect size, 0 (domains choose alike) to 1",
           tt_domain_layer, test.cramers_v),
    FIGURE("jsd_bits", "JSD", "Jensen-Shannon divergence of the domains' shares, in bits",
           tt_domain_layer, test.jsd_bits),
    FIGURE("chi_square", "CHI2", "Pearson's, of domains by experts", tt_domain_layer,
           test.chi_square, .show = TT_SHOW_WIDE),
    TT_COLUMN("degrees_of_freedom", "DF", COUNT, "of chi-square", .show = TT_SHOW_WIDE,
              TT_MEMBER(tt_domain_layer, test.df)),
    FIGURE("p_value", "P", "of chi-square, if tokens were independent", tt_domain_layer,
           test.p_value, .show = TT_SHOW_WIDE, .text = show_p),
    FIGURE("dependence", "DEPENDENCE", "as how many tokens one that is independent counts",
           tt_domain_layer, dependence),
    FIGURE("p_corrected", "P CORRECTED", "for dependence, and for the number of layers (Holm)",
           tt_domain_layer, p_corrected, .text = show_corrected),
    TT_COLUMN("specialists", "SPECIALISTS", COUNT, "experts of one domain", .type = TT_CELL_U32,
              .get = get_specialists),
    TT_COLUMN("generalists", "GENERALISTS", COUNT, "experts of all", .type = TT_CELL_U32,
              .get = get_generalists),
    TT_COLUMN("unused_experts", "UNUSED", COUNT, "never chosen", .type = TT_CELL_U32,
              .show = TT_SHOW_WIDE, .get = get_unused),
    TT_COLUMN("pairs", NULL, NONE, "domains, two by two", .type = TT_CELL_ROWS,
              .inner = &pair_schema, .rows = get_pairs),
    TT_COLUMN("experts", NULL, NONE, "of the layer", .type = TT_CELL_ROWS,
              .inner = &tt_domain_expert_schema, .rows = get_experts),
};
const tt_schema tt_domain_layer_schema =
    TT_SCHEMA("domain layers", "a layer, over runs of several domains", layer_columns);
