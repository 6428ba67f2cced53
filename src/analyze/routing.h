/* Expert routing: how often each expert was chosen, how evenly, and how much repeats from token to
 * token.
 *
 * A router sends tokens to experts, in practice one router per layer. Its tokens come in the order
 * of computation; a token's `sequence` (any number that identifies it) and position determine its
 * predecessor. */
#ifndef TT_ANALYZE_ROUTING_H
#define TT_ANALYZE_ROUTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_ROUTER_EXPERTS_MAX 65536u
#define TT_ROUTER_CHOSEN_MAX 1024u /* experts of one token */
#define TT_ROUTER_WINDOWS 3u
#define TT_ROUTER_TOP 4u

/* Sizes of the token windows for working sets: 1, 8, 64. */
extern const uint32_t tt_router_windows[TT_ROUTER_WINDOWS];

typedef struct tt_expert_use {
    uint64_t count;
    uint64_t weighted; /* of these, with an observed routing weight */
    double weight_sum;
    uint64_t batches;    /* in which it was chosen */
    uint64_t last_batch; /* the last of them, as in tt_routed; if there is any */
} tt_expert_use;

typedef struct tt_router tt_router;

/* A token's choices. */
typedef struct tt_routed {
    const uint64_t *sequences; /* of the token; the predecessor is searched in the first one */
    size_t n_sequences;        /* 0: they, or the position, are unknown */
    int64_t position;
    uint64_t batch;          /* identifies tokens that were computed together */
    const uint32_t *experts; /* n of them */
    const float *weights;    /* likewise; NAN: not observed */
    size_t n;
} tt_routed;

/* NULL if out of memory, or for more than TT_ROUTER_EXPERTS_MAX experts, or none. */
tt_router *tt_router_new(uint32_t n_experts);
void tt_router_free(tt_router *r);
/* Also counts transitions between experts, from the next token on, for at most
 * TT_ROUTER_TRANSITIONS_MAX experts. False if out of memory, or with more. */
#define TT_ROUTER_TRANSITIONS_MAX 1024u
bool tt_router_keep_transitions(tt_router *r);
/* Adds the next token. Experts that the router does not have are left out and counted. False if out
 * of memory. */
bool tt_router_add(tt_router *r, const tt_routed *token);

typedef struct tt_router_sum {
    uint32_t experts;
    uint32_t chosen_most; /* experts of one token, at most */
    uint64_t tokens;
    uint64_t choices;
    uint64_t out_of_range; /* choices left out */
    uint32_t unused;       /* experts that were never chosen */
    double entropy_bits;   /* of the shares; 0 without choices */
    double evenness;       /* entropy / log2(experts): 1 if all are used equally; NAN for one
                              expert */
    double top_share[TT_ROUTER_TOP]; /* share of the choices of the 1, 2, 4 and chosen_most most
                                        used experts */
    uint64_t neighbours;             /* tokens whose predecessor in their sequence was observed */
    double stickiness; /* share of their experts that the predecessor had chosen too; NAN without
                          any */
    double chance;     /* its expectation for independent and uniform choices */
    /* Mean number of distinct experts in so many consecutive tokens; NAN if there were fewer
     * tokens. */
    double working_set[TT_ROUTER_WINDOWS];
    uint64_t batches;
    double batch_set; /* mean number of distinct experts in a batch */
} tt_router_sum;

void tt_router_sum_up(const tt_router *r, tt_router_sum *sum);
/* How often the token after one that chose expert i chose expert k, at i x experts + k; and, in
 * *followed, how many tokens that chose expert i have such a token. NULL: not kept. */
const uint64_t *tt_router_transitions(const tt_router *r, const uint64_t **followed);
/* By expert. */
const tt_expert_use *tt_router_uses(const tt_router *r, uint32_t *n_experts);

/* Similarity of two vectors of n counts. Jaccard: elements nonzero in both / nonzero in either.
 * Cosine of the angle between the counts. NAN if there is nothing to compare. */
double tt_routing_jaccard(const uint32_t *a, const uint32_t *b, size_t n);
double tt_routing_cosine(const uint32_t *a, const uint32_t *b, size_t n);

#endif
