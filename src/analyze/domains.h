/* Experts and domains: whether runs of different domains (code, prose ...) choose different
 * experts, layer by layer, by how much, and how certain that is.
 *
 * Each layer has a table of counts, domains by experts: how often the domain's tokens chose the
 * expert. Tests are Pearson's chi-square tests of independence; effect sizes are Cramer's V and the
 * Jensen-Shannon divergence of the domains' shares. Consecutive tokens tend to choose the same
 * experts, so they count as fewer: chi-square is divided by the dependence, (1 + r) / (1 - r),
 * where r is the excess of an expert's repetition for the next token over that expected from the
 * shares, 0 for none and 1 for always (the variance of a mean of a first-order autoregressive
 * series; Rao and Scott 1981 correct tables of clustered data in this way). */
#ifndef TT_ANALYZE_DOMAINS_H
#define TT_ANALYZE_DOMAINS_H

#include "analyze/expert_steps.h"
#include "analyze/routers.h"
#include "base/status.h"
#include "table/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_DOMAINS_MAX 64u
#define TT_DOMAINS_LEVEL 0.05 /* of an expert's test, over all experts of a layer */
#define TT_DOMAINS_SPECIAL                                                                         \
    2.0 /* smallest ratio to the other domains' share that makes a                                 \
           specialist */

/* --- a table of counts --- */

typedef struct tt_domain_test {
    uint64_t n; /* sum of the table */
    double chi_square;
    uint32_t df;      /* rows and columns without counts are left out; 0: nothing to test */
    uint32_t least;   /* the smaller number of the other rows and columns */
    double p_value;   /* NAN without degrees of freedom */
    double cramers_v; /* likewise */
    double jsd_bits;  /* of the rows' shares, equally weighted; 0 to log2(rows) */
} tt_domain_test;

/* counts: n_rows x n_columns. */
void tt_domain_test_table(const uint64_t *counts, size_t n_rows, size_t n_columns,
                          tt_domain_test *out);

/* --- of runs --- */

typedef enum tt_expert_kind {
    TT_EXPERT_UNUSED,
    TT_EXPERT_GENERALIST, /* no domain's count differs significantly, and the largest share is below
                             TT_DOMAINS_SPECIAL times the smallest */
    TT_EXPERT_SPECIALIST, /* a domain's count is significantly larger, and its share is at least
                             TT_DOMAINS_SPECIAL times that of the others together */
    TT_EXPERT_MIXED
} tt_expert_kind;

typedef struct tt_domain {
    char *name;
    uint64_t runs, tokens; /* tokens: of the layer with the most */
} tt_domain;

/* One expert in one domain. */
typedef struct tt_domain_use {
    int32_t layer_id;
    uint32_t expert_id;
    const char *domain;
    uint64_t count;
    double share;    /* of the domain's choices in the layer; NAN if it has none */
    double lift;     /* share / share of the other domains together; NAN: they never chose it */
    double residual; /* adjusted and standardized (Haberman 1973), reduced for dependence; NAN */
} tt_domain_use;

typedef struct tt_domain_expert {
    int32_t layer_id;
    uint32_t expert_id;
    uint64_t count;
    tt_expert_kind kind;
    const tt_domain_use *most; /* the use with the largest share; NULL if none */
    const tt_domain_use *uses; /* by domain */
    size_t n_uses;
} tt_domain_expert;

typedef struct tt_domain_pair {
    int32_t layer_id;
    const char *a, *b;
    double jsd_bits; /* of two rows: 0 to 1; NAN if one has no choices */
    double cramers_v;
} tt_domain_pair;

typedef struct tt_domain_course tt_domain_course;

typedef struct tt_domain_layer {
    int32_t layer_id;
    uint32_t n_experts;
    uint64_t *counts;                       /* TT_DOMAINS_MAX x experts */
    uint64_t tokens[TT_DOMAINS_MAX];        /* by domain */
    double repeated, repeated_of, expected; /* private: sums over runs, for the dependence */
    tt_domain_course *courses;              /* private: by domain; NULL: not kept */
    /* After tt_domains_finish: */
    tt_domain_test test;
    double dependence;         /* 1: tokens are independent */
    double p_corrected;        /* of chi_square / dependence; Holm's over all layers */
    bool separates;            /* it is at most TT_DOMAINS_LEVEL */
    double chance_v;           /* Cramer's V is above this if and only if it separates */
    uint32_t kinds[4];         /* experts of each tt_expert_kind */
    tt_domain_expert *experts; /* in tt_domains.experts; n_experts */
    tt_domain_use *uses;       /* in tt_domains.uses: by expert, by domain */
    tt_domain_pair *pairs;     /* in tt_domains.pairs */
    size_t n_pairs;
} tt_domain_layer;

/* Zero-filled is empty. */
typedef struct tt_domains {
    bool keeps_course;     /* set before the first run: keep transitions, and use over time */
    bool course_left_out;  /* for some layers, because of TT_DOMAINS_COURSE_MAX */
    uint64_t course_bytes; /* private */
    tt_domain *domains;
    size_t n_domains;
    tt_domain_layer *layers;
    size_t n_layers;
    /* After tt_domains_finish, of all layers: */
    tt_domain_expert *experts;
    tt_domain_use *uses; /* n_experts x n_domains */
    tt_domain_pair *pairs;
    size_t n_experts, n_pairs;
} tt_domains;

/* Adds a run: the trace's batches that pass the filter. TT_E_USAGE if its layers differ from the
 * first run's, TT_E_LIMIT for more than TT_DOMAINS_MAX domains, TT_E_NOT_FOUND without choices of
 * experts. progress may be NULL. */
tt_status tt_domains_add_run(tt_domains *d, const char *domain, const tt_model *m,
                             const tt_filter *filter, tt_routers_progress *progress, void *context,
                             tt_error *err);
/* Tests what was added; call it once. False if out of memory. */
bool tt_domains_finish(tt_domains *d);
void tt_domains_free(tt_domains *d);

/* --- between tokens, and over time --- */

#define TT_DOMAINS_INTERVALS 16u                    /* of a run, of nearly equal size */
#define TT_DOMAINS_COURSE_MAX ((uint64_t)256 << 20) /* size of all counts */

/* The transitions of a domain's tokens in one layer. The caller frees the list; n is 0 if they were
 * not kept. False if out of memory. */
bool tt_domain_steps(const tt_domains *d, size_t layer, size_t domain, tt_expert_step **list,
                     size_t *n);
/* How often each expert is chosen in each interval of the runs; by interval, by expert. */
bool tt_domain_spans(const tt_domains *d, size_t layer, size_t domain, tt_expert_span **list,
                     size_t *n);

/* Private to domains*.c. */
struct tt_domain_course {
    uint64_t *transitions, *followed; /* as of tt_router_transitions; NULL: not kept */
    uint64_t *uses;                   /* TT_DOMAINS_INTERVALS x experts; NULL: not kept */
    uint64_t tokens[TT_DOMAINS_INTERVALS];
};
bool tt_domain_course_add(tt_domains *d, size_t domain, const tt_routers *run);
bool tt_domain_course_add_interval(tt_domains *d, size_t domain, size_t interval,
                                   const tt_routers *part);
void tt_domain_course_free(tt_domain_layer *layer);

const char *tt_expert_kind_name(tt_expert_kind kind);
extern const tt_schema tt_domain_schema, tt_domain_layer_schema, tt_domain_expert_schema,
    tt_domain_use_schema, tt_domain_pair_schema;

#endif
