#include "analyze/domains.h"

#include <math.h>

const char *tt_expert_kind_name(tt_expert_kind kind)
{
    static const char *const names[] = {"unused", "generalist", "specialist", "mixed"};
    return names[kind];
}

/* 0.0123, 1.2e-30: small numbers are not 0. */
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
    TT_COLUMN("n_tokens", "TOKENS", COUNT, "that were routed", TT_MEMBER(tt_domain, tokens)),
};
const tt_schema tt_domain_schema = TT_SCHEMA("domains", "runs of one kind", domain_columns);

/* For rows that are nested in a layer in JSON. */
#define LAYER_COLUMN(row_)                                                                         \
    TT_COLUMN("layer_id", NULL, ID, "the layer", TT_LAYER, .show = TT_SHOW_FLAT,                   \
              TT_LAYER_AT(row_, layer_id)),                                                        \
        TT_STACK(TT_LAYER_AT(row_, layer_id), .show = TT_SHOW_FLAT)

static const tt_column use_columns[] = {
    LAYER_COLUMN(tt_domain_use),
    TT_COLUMN("expert_id", NULL, ID, "its number in the layer", .show = TT_SHOW_FLAT,
              TT_MEMBER(tt_domain_use, expert_id)),
    TT_COLUMN("domain", NULL, NONE, "of the tokens", TT_MEMBER(tt_domain_use, domain)),
    TT_COLUMN("count", NULL, COUNT, "how often they chose it", TT_MEMBER(tt_domain_use, count)),
    FIGURE("share", NULL, "of the domain's choices", tt_domain_use, share),
    FIGURE("lift", NULL, "that share, divided by that of the other domains", tt_domain_use, lift),
    FIGURE("residual", NULL, "adjusted and standardized, less for dependence", tt_domain_use,
           residual),
};
const tt_schema tt_domain_use_schema =
    TT_SCHEMA("domain uses", "an expert in a domain", use_columns);

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
    LAYER_COLUMN(tt_domain_expert),
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
    TT_COLUMN("uses", NULL, NONE, "by domain", .type = TT_CELL_ROWS, .inner = &tt_domain_use_schema,
              .rows = get_uses),
};
const tt_schema tt_domain_expert_schema =
    TT_SCHEMA("domain experts", "an expert of a layer", expert_columns);

static const tt_column pair_columns[] = {
    LAYER_COLUMN(tt_domain_pair),
    TT_COLUMN("domain", NULL, NONE, "one", TT_MEMBER(tt_domain_pair, a)),
    TT_COLUMN("other_domain", NULL, NONE, "the other", TT_MEMBER(tt_domain_pair, b)),
    FIGURE("jsd_bits", NULL, "Jensen-Shannon divergence of their shares, 0 to 1", tt_domain_pair,
           jsd_bits),
    FIGURE("cramers_v", NULL, "effect size, 0 to 1", tt_domain_pair, cramers_v),
};
const tt_schema tt_domain_pair_schema = TT_SCHEMA("domain pairs", "two domains", pair_columns);

TT_COLUMN_ROWS(get_experts, tt_domain_layer, l, l->experts, l->n_experts)
TT_COLUMN_ROWS(get_pairs, tt_domain_layer, l, l->pairs, l->n_pairs)
TT_COLUMN_VALUE(get_specialists, tt_domain_layer, l, u64, l->kinds[TT_EXPERT_SPECIALIST])
TT_COLUMN_VALUE(get_generalists, tt_domain_layer, l, u64, l->kinds[TT_EXPERT_GENERALIST])
TT_COLUMN_VALUE(get_unused, tt_domain_layer, l, u64, l->kinds[TT_EXPERT_UNUSED])

static const tt_column layer_columns[] = {
    TT_COLUMN("layer_id", "LAYER", ID, "the layer", TT_LAYER, .show = TT_SHOW_LEFT,
              TT_LAYER_AT(tt_domain_layer, layer_id)),
    TT_STACK(TT_LAYER_AT(tt_domain_layer, layer_id)),
    TT_COLUMN("n_experts", "EXPERTS", COUNT, "its experts", .show = TT_SHOW_WIDE,
              TT_MEMBER(tt_domain_layer, n_experts)),
    TT_COLUMN("choices", "CHOICES", COUNT, "of experts, in all domains", .show = TT_SHOW_WIDE,
              TT_MEMBER(tt_domain_layer, test.n)),
    FIGURE("cramers_v", "V", "Cramer's V: effect size, 0 (domains choose alike) to 1",
           tt_domain_layer, test.cramers_v),
    FIGURE("chance_v", "BY CHANCE", "what chance lets V come to: a larger one tells domains apart",
           tt_domain_layer, chance_v, .show = TT_SHOW_WIDEST),
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
    TT_COLUMN("separates", NULL, NONE, "whether it tells the domains apart: that is 0.05 at most",
              TT_MEMBER(tt_domain_layer, separates)),
    TT_COLUMN("specialists", "SPECIALISTS", COUNT, "experts of one domain", .type = TT_CELL_U32,
              .get = get_specialists),
    TT_COLUMN("generalists", "GENERALISTS", COUNT, "experts of all", .type = TT_CELL_U32,
              .get = get_generalists),
    TT_COLUMN("unused_experts", "UNUSED", COUNT, "never chosen", .type = TT_CELL_U32,
              .show = TT_SHOW_WIDE, .get = get_unused),
    TT_COLUMN("pairs", NULL, NONE, "domains, two by two", .type = TT_CELL_ROWS,
              .inner = &tt_domain_pair_schema, .rows = get_pairs),
    TT_COLUMN("experts", NULL, NONE, "of the layer", .type = TT_CELL_ROWS,
              .inner = &tt_domain_expert_schema, .rows = get_experts),
};
const tt_schema tt_domain_layer_schema =
    TT_SCHEMA("domain layers", "a layer, over runs of several domains", layer_columns);
