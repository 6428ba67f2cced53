/* The weights of a model as units of a pool: which are kept, and in which order the others are
 * loaded.
 *
 * Dense weights, which every pass reads whole, are divided into chunks. Some chunks are pinned,
 * spread evenly over the order in which a pass uses them; the others are loaded ahead in that
 * order, and evicted after use. Experts are slices of a tensor, kept by a policy of src/policy.
 * Correctness never depends on this: whatever is not present is read through the file's mapping.
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

#define TT_WEIGHTS_NOW_MAX 4096u /* further ones are not waited for */

/* The passes of one thread. Zero-filled: no graph. */
typedef struct tt_weights_plan {
    tt_weight_turn *turns; /* dense chunks */
    uint32_t n_turns, turns_capacity;
    uint32_t passed, dropped; /* turns of finished nodes; those that were evicted */
    tt_weight_turn *held;     /* slices */
    uint32_t n_held, held_capacity;
    /* Units that the node at `node` needs. Threads that wait read them without the lock. */
    _Atomic uint32_t now[TT_WEIGHTS_NOW_MAX], n_now, node;
    uint32_t pass;        /* graphs so far */
    uint32_t arrangement; /* that `held` is valid for */
    bool active;          /* between tt_weights_begin, if there is something to do, and its end */
} tt_weights_plan;

typedef struct tt_weights tt_weights;

/* What weights may take. Weights of up to cached_bytes are left to the kernel's paging, which has
 * room for all of them; with more, the pool holds up to pool_bytes, at most cached_bytes. */
typedef struct tt_budget {
    uint64_t pool_bytes, cached_bytes;
} tt_budget;

/* *out is freed with tt_weights_free, before the pool. */
tt_status tt_weights_new(tt_pagepool *pool, tt_budget budget, tt_policy policy,
                         tt_boost_report *report, tt_weights **out, tt_error *err);
void tt_weights_free(tt_weights *w);

/* Without the lock. */
tt_budget tt_weights_budget(const tt_weights *w);
/* From now on; evicts what no longer fits, except what running ops hold. */
void tt_weights_set_budget(tt_weights *w, tt_budget budget);

/* Before the weights of a graph are requested: discards all state if the program has unmapped
 * some. */
void tt_weights_refresh(tt_weights *w);
/* The number of the weight of n bytes at `at`, with n_slices (0: dense), added if it is new;
 * TT_NONE: not in a region, or out of memory. */
uint32_t tt_weights_find(tt_weights *w, const void *at, uint64_t n, uint32_t n_slices);
/* Slices with the same number are used together (a layer's gate, up and down): they are loaded,
 * kept and evicted together. */
void tt_weights_together(tt_weights *w, uint32_t a, uint32_t b);
/* 0: dense. */
uint32_t tt_weights_slices(const tt_weights *w, uint32_t weight);

/* Begins a pass. False: there is nothing to do for it (all weights fit, or none can be kept). */
bool tt_weights_begin(tt_weights *w, tt_weights_plan *plan, const tt_weight_step *steps,
                      uint32_t n);
/* The nodes before `node` have finished, and it begins: what it needs is known. */
void tt_weights_advance(tt_weights *w, tt_weights_plan *plan, uint32_t node);
/* Evicts what finished nodes used, and requests what comes next. */
void tt_weights_look_ahead(tt_weights *w, tt_weights_plan *plan);
/* The slices (of the weight, each once) are about to be used at `node`. */
void tt_weights_ahead(tt_weights *w, tt_weights_plan *plan, uint32_t weight, uint32_t node,
                      const uint16_t *slices, uint32_t n);
/* All slices from number `from` on will most likely be used at `node`: requests as many as fit.
 * Returns the first one not requested. */
uint32_t tt_weights_stream(tt_weights *w, tt_weights_plan *plan, uint32_t weight, uint32_t node,
                           uint32_t from);
/* They are used at `node`, the plan's current one. */
void tt_weights_use(tt_weights *w, tt_weights_plan *plan, uint32_t weight, const uint16_t *slices,
                    uint32_t n);
/* Without the lock: sleeps until the units that the plan's node needs are present, or not being
 * loaded; the time, in ns. */
uint64_t tt_weights_wait(tt_weights *w, const tt_weights_plan *plan);
/* Ends the pass. */
void tt_weights_end(tt_weights *w, tt_weights_plan *plan);

/* The memory budget of weights: what is available, less a reserve, measured repeatedly so that
 * memory is released before the kernel reclaims it. */

/* The limits while a pool holds present_bytes; UINT64_MAX: no limit. The pool leaves some memory
 * for the process's own growth and for file pages: without it the kernel reclaims constantly, which
 * costs more than a larger pool saves. The kernel's own cache of the weights needs hardly any. */
tt_budget tt_budget_now(uint64_t present_bytes);

typedef struct tt_budget_watch tt_budget_watch;

/* Starts a thread that blocks all signals. Ten times a second, or a hundred times while the process
 * or its control group grows fast, it sets the weights' budget to what is available: down at once,
 * up once that has been available for two seconds. Freed with tt_budget_end, before weights and
 * pool. NULL: it cannot be started. */
tt_budget_watch *tt_budget_begin(tt_pagepool *pool, tt_weights *weights);
void tt_budget_end(tt_budget_watch *b);

#endif
