/* Divides memory of a limited size among a model's weights: dense ones, which every pass reads
 * whole, and experts. */
#ifndef TT_POLICY_POLICY_H
#define TT_POLICY_POLICY_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Less memory for weights boost does not take. */
#define TT_POLICY_RAM_MIN (64u << 10)

typedef struct tt_policy_shares {
    bool fit;              /* all weights fit into the budget: nothing to decide */
    bool none;             /* the budget is too small for anything */
    uint64_t pinned_bytes; /* of dense weights, spread evenly over the order of their use */
    uint64_t window_bytes; /* for loading the other dense weights in that order */
    uint64_t cache_bytes;  /* for experts, managed by a policy */
} tt_policy_shares;

/* Sizes of all dense weights and of all experts in use; staying: what is kept in any case. Beside
 * experts, dense weights get at most half of the budget: each of their bytes is needed for each
 * token, but so are the experts that most tokens choose. */
tt_policy_shares tt_policy_share(uint64_t budget, uint64_t dense, uint64_t experts,
                                 uint64_t staying);

/* Most reads at a time: of boost, and of a replay whose plan says nothing else. */
#define TT_POLICY_READS_MAX 32u

/* Whether one more read of chosen experts begins while n of them, of so many bytes, are running.
 * Few at a time: then they end one after the other, and the first op begins while the rest is read.
 */
bool tt_policy_may_read(uint32_t n, uint64_t bytes);

/* Replacement policies: which units of a model a cache of limited size keeps.
 *
 * A unit is fetched and evicted as one (a page, a tensor, an expert's slice); its number is below
 * n_units. The same objects decide in a replay of a trace (`tensortrace whatif`) and live, in a
 * traced program: they know only the past, unless the policy's row says that it needs counts or the
 * future. They read no clock, never block, and allocate nothing after tt_policy_new; one thread at
 * a time. A use takes constant or logarithmic time (least-stale: proportional to the number of
 * layers). */

typedef enum tt_policy {
    TT_POLICY_LRU,
    TT_POLICY_LFU,
    TT_POLICY_BELADY,
    TT_POLICY_PIN_HOT,
    TT_POLICY_LFU_AGING,
    TT_POLICY_LFU_LAYER,
    TT_POLICY_ARC,
    TT_POLICY_S3_FIFO,
    TT_POLICY_CLOCK,
    TT_POLICY_LEAST_STALE,
    TT_POLICY_PIN_LRU
} tt_policy;
#define TT_POLICIES 11

typedef struct tt_policy_info {
    const char *name;  /* for --policy */
    const char *about; /* what it evicts; one line */
    bool needs_future; /* tt_policy_use.next */
    bool needs_counts; /* tt_policy_setup.unit_count */
} tt_policy_info;

/* Indexed by tt_policy. */
extern const tt_policy_info tt_policies[TT_POLICIES];

#define TT_POLICY_NO_LAYER UINT32_MAX
#define TT_POLICY_LAYERS_MAX 4096u /* higher layers count as the last one */

/* The arrays belong to the caller, and must not change until tt_policy_free. */
typedef struct tt_policy_setup {
    tt_policy policy;
    uint32_t n_units;           /* < 2^32 - TT_POLICY_LAYERS_MAX - 8 */
    uint64_t capacity;          /* in the units of unit_size */
    const uint64_t *unit_size;  /* NULL: 1 each. A unit larger than the capacity is never kept */
    const uint32_t *unit_layer; /* the order in which a pass uses them; NULL: all of one layer */
    const uint64_t *unit_count; /* uses: of the whole stream, or of an earlier run; or NULL */
    double pin_share;           /* pin-lru's share of the capacity; 0: a half */
} tt_policy_setup;

#define TT_POLICY_NEVER UINT64_MAX

typedef struct tt_policy_use {
    uint32_t unit;
    uint32_t pass; /* of the layers: the batch; ascending */
    uint64_t next; /* when the unit is used next, as an ascending number; TT_POLICY_NEVER */
} tt_policy_use;

/* The unit is evicted; called while another is fetched, or the capacity shrinks. */
typedef void tt_policy_dropped(void *context, uint32_t unit);

typedef struct tt_policy_cache tt_policy_cache;

/* Free *out with tt_policy_free; NULL after an error. dropped may be NULL. */
tt_status tt_policy_new(const tt_policy_setup *setup, tt_policy_dropped *dropped, void *context,
                        tt_policy_cache **out, tt_error *err);
void tt_policy_free(tt_policy_cache *c);

/* Uses the unit. True: it was present. False: it has to be fetched, and is kept from now on if
 * tt_policy_has returns true. */
bool tt_policy_use_unit(tt_policy_cache *c, const tt_policy_use *use);
/* Fetches the unit before its use. False: it is not kept. */
bool tt_policy_fetch(tt_policy_cache *c, const tt_policy_use *use);
bool tt_policy_has(const tt_policy_cache *c, uint32_t unit);
/* A unit that is held, once or several times, is not evicted until it is released as often. It must
 * be present. */
void tt_policy_hold(tt_policy_cache *c, uint32_t unit);
void tt_policy_release(tt_policy_cache *c, uint32_t unit);
/* Evicts what no longer fits; held units stay until they are released. */
void tt_policy_resize(tt_policy_cache *c, uint64_t capacity);
uint64_t tt_policy_used(const tt_policy_cache *c); /* size of the present units */

#endif
