/* The weights of a model as units of a pool: what of them is kept, in which order the rest comes.
 *
 * Weights that are used whole (dense) are divided into chunks. Some chunks are pinned, spread
 * evenly over the order in which a pass uses them; the rest is loaded ahead in that order, and
 * evicted behind. Experts are slices of a tensor, kept by a policy of src/policy. Nothing here
 * decides what a value is: what is not there is read through the file's mapping.
 *
 * Functions are called with the pool's lock held, unless they say otherwise. */
#ifndef TT_BOOST_WEIGHTS_H
#define TT_BOOST_WEIGHTS_H

#include "boost/pagepool.h"
#include "policy/policy.h"

/* A use of a dense weight's bytes, or of an expert tensor, by the graph. */
typedef struct tt_weight_step {
    uint32_t node;    /* ascending */
    uint32_t weight;  /* tt_weights_find */
    uint64_t from, n; /* bytes of a dense one */
} tt_weight_step;

/* A unit's use by a graph, in order. */
typedef struct tt_weight_turn {
    uint32_t unit;
    uint32_t node;
} tt_weight_turn;

/* What one thread computes, by and by. Zero-filled is one without a graph. */
typedef struct tt_weights_plan {
    tt_weight_turn *turns; /* dense chunks */
    uint32_t n_turns, turns_capacity;
    uint32_t passed;      /* turns of nodes that are over */
    tt_weight_turn *held; /* slices */
    uint32_t n_held, held_capacity;
    uint32_t *now; /* units that the node at `node` needs */
    uint32_t n_now, now_capacity;
    uint32_t node;
    uint32_t pass;        /* graphs so far */
    uint32_t arrangement; /* of what `held` is */
} tt_weights_plan;

typedef struct tt_weights tt_weights;

/* budget: of all that the pool holds. *out is freed with tt_weights_free, before the pool. */
tt_status tt_weights_new(tt_pagepool *pool, uint64_t budget, tt_policy policy,
                         tt_boost_report *report, tt_weights **out, tt_error *err);
void tt_weights_free(tt_weights *w);

/* Without the lock. */
uint64_t tt_weights_budget(const tt_weights *w);
/* From now on; what no longer fits is evicted, but for what running ops hold. */
void tt_weights_set_budget(tt_weights *w, uint64_t budget);

/* Before a graph's weights are asked for: forgets all when the program has unmapped some. */
void tt_weights_refresh(tt_weights *w);
/* The weight of n bytes at `at`, of n_slices (0: dense): its number; TT_NONE: not in a region, or
 * no memory. One that is not known yet is from now on. */
uint32_t tt_weights_find(tt_weights *w, const void *at, uint64_t n, uint32_t n_slices);
/* Slices of the same number of both are used together (a layer's gate, up and down): they are kept,
 * read and evicted together. */
void tt_weights_together(tt_weights *w, uint32_t a, uint32_t b);
/* 0: dense. */
uint32_t tt_weights_slices(const tt_weights *w, uint32_t weight);

/* A pass begins. False: there is nothing to do in it (all weights fit, or none can be kept). */
bool tt_weights_begin(tt_weights *w, tt_weights_plan *plan, const tt_weight_step *steps,
                      uint32_t n);
/* The nodes before `node` are over, and it begins. */
void tt_weights_advance(tt_weights *w, tt_weights_plan *plan, uint32_t node);
/* The slices (of the weight, each once) are going to be used at `node`. */
void tt_weights_ahead(tt_weights *w, tt_weights_plan *plan, uint32_t weight, uint32_t node,
                      const uint16_t *slices, uint32_t n);
/* All slices from number `from` on are going to be used at `node`, most likely: as far as there is
 * room. The number of the first one that was not asked for. */
uint32_t tt_weights_stream(tt_weights *w, tt_weights_plan *plan, uint32_t weight, uint32_t node,
                           uint32_t from);
/* They are used at `node`, where the plan is now. */
void tt_weights_use(tt_weights *w, tt_weights_plan *plan, uint32_t weight, const uint16_t *slices,
                    uint32_t n);
/* Sleeps until what the plan's node needs is there, or is not on its way. */
void tt_weights_wait(tt_weights *w, const tt_weights_plan *plan);
/* The pass is over. */
void tt_weights_end(tt_weights *w, tt_weights_plan *plan);

/* How much memory weights may take: what is there, less a reserve, asked again and again, so that
 * memory is given back before the kernel takes it. */

/* What a pool that holds present_bytes now may hold; UINT64_MAX: nothing limits it. A part is left
 * for the process's own growth and for pages of files: with none the kernel reclaims all the time,
 * which costs more than what a larger pool saves. */
uint64_t tt_budget_now(uint64_t present_bytes);

typedef struct tt_budget_watch tt_budget_watch;

/* Starts a thread that takes no signals; ten times a second it sets the weights' budget to what
 * there is: at once to less, to more when that has been there for two seconds. Freed with
 * tt_budget_end, before weights and pool. NULL: it cannot be started. */
tt_budget_watch *tt_budget_begin(tt_pagepool *pool, tt_weights *weights);
void tt_budget_end(tt_budget_watch *b);

#endif
