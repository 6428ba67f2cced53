/* Expert routing: who was chosen how often, how evenly, and what stays from token to token.
 *
 * A router is a place where tokens are sent to experts, in practice one a layer. Its tokens come
 * in the order in which they were computed; a token's `sequence` (any number that tells sequences
 * apart) and position say which two are neighbours. */
#ifndef TT_ANALYZE_ROUTING_H
#define TT_ANALYZE_ROUTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_ROUTER_EXPERTS_MAX 65536u
#define TT_ROUTER_CHOSEN_MAX 1024u /* experts of one token */
#define TT_ROUTER_WINDOWS 3u
#define TT_ROUTER_TOP 4u

/* Tokens in the windows over which working sets are told: 1, 8, 64. */
extern const uint32_t tt_router_windows[TT_ROUTER_WINDOWS];

typedef struct tt_expert_use {
    uint64_t count;
    uint64_t weighted; /* of these, the routing weight was observed */
    double weight_sum;
    uint64_t batches;    /* in which it was chosen */
    uint64_t last_batch; /* the last of them, as told in tt_routed; when there is any */
} tt_expert_use;

typedef struct tt_router tt_router;

/* A token's choices. */
typedef struct tt_routed {
    const uint64_t *sequences; /* that it belongs to; the predecessor is looked for in the first */
    size_t n_sequences;        /* 0: they, or the position, are not known */
    int64_t position;
    uint64_t batch;          /* which tokens were computed together */
    const uint32_t *experts; /* n of them */
    const float *weights;    /* likewise; NAN: not observed */
    size_t n;
} tt_routed;

/* NULL without memory, or for more than TT_ROUTER_EXPERTS_MAX experts, or none. */
tt_router *tt_router_new(uint32_t n_experts);
void tt_router_free(tt_router *r);
/* Also counts which experts follow which, from the next token on, of at most
 * TT_ROUTER_TRANSITIONS_MAX experts. False without memory, or with more. */
#define TT_ROUTER_TRANSITIONS_MAX 1024u
bool tt_router_keep_transitions(tt_router *r);
/* The next token. Experts that the router does not have are left out and counted. False without
 * memory. */
bool tt_router_add(tt_router *r, const tt_routed *token);

typedef struct tt_router_sum {
    uint32_t experts;
    uint32_t chosen_most; /* experts of one token, at most */
    uint64_t tokens;
    uint64_t choices;
    uint64_t out_of_range; /* choices left out */
    uint32_t unused;       /* experts that were never chosen */
    double entropy_bits;   /* of the shares; 0 without choices */
    double evenness;       /* entropy / log2(experts): 1 when all are used alike; NAN of one */
    double top_share[TT_ROUTER_TOP]; /* of the choices, what the 1, 2, 4 and chosen_most most
                                        used experts took */
    uint64_t neighbours;             /* tokens whose predecessor in their sequence was seen */
    double stickiness; /* of their experts, the share that the predecessor had chosen too;
                          NAN without any */
    double chance;     /* what that would be if choices were independent and even */
    /* Different experts in as many tokens computed one after the other, mean; NAN when there
     * were fewer tokens. */
    double working_set[TT_ROUTER_WINDOWS];
    uint64_t batches;
    double batch_set; /* different experts in a batch, mean */
} tt_router_sum;

void tt_router_sum_up(const tt_router *r, tt_router_sum *sum);
/* How often the token after one that chose expert i chose expert k, at i x experts + k; and, in
 * *followed, how many tokens that chose expert i have such a token. NULL: not kept. */
const uint64_t *tt_router_transitions(const tt_router *r, const uint64_t **followed);
/* By expert. */
const tt_expert_use *tt_router_uses(const tt_router *r, uint32_t *n_experts);

/* How alike two vectors of n counts are. Jaccard: of the places that either uses, those that both
 * use. Cosine of the angle between the counts. NAN when there is nothing to compare. */
double tt_routing_jaccard(const uint32_t *a, const uint32_t *b, size_t n);
double tt_routing_cosine(const uint32_t *a, const uint32_t *b, size_t n);

#endif
