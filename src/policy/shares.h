/* How memory of a limited size is divided among a model's weights: those that every pass reads
 * whole (dense) and experts. */
#ifndef TT_POLICY_SHARES_H
#define TT_POLICY_SHARES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct tt_policy_shares {
    bool fit;              /* all weights are within the budget: nothing is to be decided */
    bool none;             /* the budget is too small for anything */
    uint64_t pinned_bytes; /* of dense weights, spread evenly over the order of their use */
    uint64_t window_bytes; /* through which the rest of them is streamed in that order */
    uint64_t cache_bytes;  /* of experts, by a policy */
} tt_policy_shares;

/* Sizes of all dense weights and of all experts that are used; staying: what is kept in any case.
 * Dense weights beside experts take half of the budget at most: each of their bytes is needed for
 * each token, but so are the experts that most tokens choose. */
tt_policy_shares tt_policy_share(uint64_t budget, uint64_t dense, uint64_t experts,
                                 uint64_t staying);

#endif
