/* Experts and domains: whether runs of different domains (code, prose ...) choose different
 * experts, layer by layer, by how much, and how sure that is.
 *
 * Of each layer there is a table of counts, domains by experts: how often the domain's tokens chose
 * the expert. Tests are Pearson's chi-square tests of independence; effect sizes are Cramer's V and
 * the Jensen-Shannon divergence of the domains' shares. Tokens that follow each other tend to
 * choose the same experts, so that they count as fewer: chi-square is divided by the dependence, (1
 * + r) / (1 - r), where r is how much more often an expert comes again for the next token than the
 * shares alone let expect, 0 for never and 1 for always (the variance of a mean of a first-order
 * autoregressive series; Rao and Scott 1981 correct tables of clustered data so). */
#ifndef TT_ANALYZE_DOMAINS_H
#define TT_ANALYZE_DOMAINS_H

#include "analyze/routers.h"
#include "base/status.h"
#include "table/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_DOMAINS_MAX 64u
#define TT_DOMAINS_LEVEL 0.05  /* of a test of an expert, over all of a layer's */
#define TT_DOMAINS_SPECIAL 2.0 /* times the others' share, from which a specialist is one */

/* --- a table of counts --- */

typedef struct tt_domain_test {
    uint64_t n; /* sum of the table */
    double chi_square;
    uint32_t df;      /* rows and columns without a count are left out; 0: nothing to test */
    double p_value;   /* NAN without degrees of freedom */
    double cramers_v; /* likewise */
    double jsd_bits;  /* of the rows' shares, each row alike; 0 to log2(rows) */
} tt_domain_test;

/* counts: n_rows x n_columns. */
void tt_domain_test_table(const uint64_t *counts, size_t n_rows, size_t n_columns,
                          tt_domain_test *out);

/* --- of runs --- */

typedef enum tt_expert_kind {
    TT_EXPERT_UNUSED,
    TT_EXPERT_GENERALIST, /* no domain's count differs by more than chance lets, and the largest
                             share is below TT_DOMAINS_SPECIAL times the smallest */
    TT_EXPERT_SPECIALIST, /* a domain's count is larger than chance lets, and its share is at least
                             TT_DOMAINS_SPECIAL times that of the others together */
    TT_EXPERT_MIXED
} tt_expert_kind;

typedef struct tt_domain {
    char *name;
    uint64_t runs, tokens; /* tokens: of the layer that has most */
} tt_domain;

/* One expert in one domain. */
typedef struct tt_domain_use {
    const char *domain;
    uint64_t count;
    double share;    /* of the domain's choices in the layer; NAN without any */
    double lift;     /* share / share of the other domains together; NAN: they never chose it */
    double residual; /* adjusted and standardized (Haberman 1973), less for dependence; NAN */
} tt_domain_use;

typedef struct tt_domain_expert {
    uint32_t expert_id;
    uint64_t count;
    tt_expert_kind kind;
    const tt_domain_use *most; /* the use with the largest share; NULL without any */
    const tt_domain_use *uses; /* by domain */
    size_t n_uses;
} tt_domain_expert;

typedef struct tt_domain_pair {
    const char *a, *b;
    double jsd_bits; /* of two rows: 0 to 1; NAN without choices of one */
    double cramers_v;
} tt_domain_pair;

typedef struct tt_domain_layer {
    int32_t layer_id;
    uint32_t n_experts;
    uint64_t *counts;                       /* TT_DOMAINS_MAX x experts */
    double repeated, repeated_of, expected; /* private: sums over runs, for the dependence */
    /* After tt_domains_finish: */
    tt_domain_test test;
    double dependence;  /* 1: tokens are as independent */
    double p_corrected; /* of chi_square / dependence; Holm's over all layers */
    uint32_t kinds[4];  /* experts of each tt_expert_kind */
    tt_domain_expert *experts;
    tt_domain_use *uses;
    tt_domain_pair *pairs;
    size_t n_pairs;
} tt_domain_layer;

typedef struct tt_domains {
    tt_domain *domains;
    size_t n_domains;
    tt_domain_layer *layers;
    size_t n_layers;
} tt_domains;

/* Zero-filled is empty. Adds a run, walked through; its layers are those of the first run, or it is
 * TT_E_USAGE. TT_E_LIMIT for more than TT_DOMAINS_MAX domains. */
tt_status tt_domains_add(tt_domains *d, const char *domain, const tt_routers *run, tt_error *err);
/* Tests what was added. False without memory. Once. */
bool tt_domains_finish(tt_domains *d);
void tt_domains_free(tt_domains *d);

const char *tt_expert_kind_name(tt_expert_kind kind);
extern const tt_schema tt_domain_schema, tt_domain_layer_schema, tt_domain_expert_schema;

#endif
