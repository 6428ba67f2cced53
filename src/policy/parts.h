/* Private to src/policy: the parts that policies are built from. */
#ifndef TT_POLICY_PARTS_H
#define TT_POLICY_PARTS_H

#include "policy/policy.h"

#define TT_POLICY_NONE UINT32_MAX

/* Doubly linked lists of units; a unit is in one at most. List i's anchor is n_units + i. */
typedef struct tt_lists {
    uint32_t *next, *before;
    uint32_t *list; /* of each unit; TT_POLICY_NONE: in none */
    uint64_t *size; /* of each list */
    uint32_t n_units;
} tt_lists;

bool tt_lists_make(tt_lists *l, uint32_t n_units, uint32_t n_lists);
void tt_lists_free(tt_lists *l);
void tt_lists_put_first(tt_lists *l, uint32_t list, uint32_t unit, uint64_t size);
void tt_lists_take(tt_lists *l, uint32_t unit, uint64_t size);
/* The last unit; TT_POLICY_NONE: the list is empty. */
uint32_t tt_lists_last(const tt_lists *l, uint32_t list);
/* The unit before it. */
uint32_t tt_lists_ahead(const tt_lists *l, uint32_t unit);

/* Priority queues of units, one per layer, in one array: the unit with the lowest (key, tie)
 * first. */
typedef struct tt_heaps {
    uint32_t *units;     /* of all heaps, each from its `first` on */
    uint32_t *place;     /* of each unit, in its heap; TT_POLICY_NONE: in none */
    uint64_t *key, *tie; /* of each unit, even if it is in no heap */
    uint32_t *first, *n; /* of each heap */
} tt_heaps;

/* count: units that each of the n heaps may have at most. */
bool tt_heaps_make(tt_heaps *h, uint32_t n_units, const uint32_t *count, uint32_t n);
void tt_heaps_free(tt_heaps *h);
void tt_heaps_put(tt_heaps *h, uint32_t heap, uint32_t unit);
void tt_heaps_take(tt_heaps *h, uint32_t heap, uint32_t unit);
/* Call it after the unit's key or tie changed. */
void tt_heaps_move(tt_heaps *h, uint32_t heap, uint32_t unit);
uint32_t tt_heaps_lowest(const tt_heaps *h, uint32_t heap); /* TT_POLICY_NONE: it is empty */

/* The functions of a policy. `c` already has the unit or not, as tt_policy_has returns. */
typedef struct tt_policy_rules {
    /* Number of lists and heaps that it needs (heaps: one, or one per layer), and other needs. */
    uint32_t lists;
    bool a_list_a_layer, heap, a_heap_a_layer;
    void (*begin)(tt_policy_cache *c); /* also after each change of the capacity; NULL: nothing */
    bool (*takes)(tt_policy_cache *c, uint32_t unit); /* whether the unit is admitted; NULL: if it
                                                         fits */
    void (*hit)(tt_policy_cache *c, const tt_policy_use *use);
    /* Before space is made; NULL: nothing. */
    void (*missed)(tt_policy_cache *c, const tt_policy_use *use);
    bool (*fits)(const tt_policy_cache *c, uint32_t unit); /* NULL: used + size <= capacity */
    /* The unit to evict next, except held ones. TT_POLICY_NONE: none. use: NULL if the capacity
     * shrinks. */
    uint32_t (*victim)(tt_policy_cache *c, const tt_policy_use *use);
    /* The victim is evicted: removes it from lists and heaps; may add it to a list of evicted
     * units. */
    void (*leave)(tt_policy_cache *c, uint32_t unit);
    void (*enter)(tt_policy_cache *c, const tt_policy_use *use);
} tt_policy_rules;

extern const tt_policy_rules tt_rules_lru, tt_rules_clock, tt_rules_arc, tt_rules_s3_fifo,
    tt_rules_least_stale, tt_rules_pin_hot, tt_rules_pin_lru; /* queues.c */
extern const tt_policy_rules tt_rules_lfu, tt_rules_lfu_aging, tt_rules_lfu_layer,
    tt_rules_belady; /* ranks.c */

struct tt_policy_cache {
    tt_policy_setup setup;
    const tt_policy_rules *rules;
    tt_policy_dropped *dropped;
    void *context;
    uint64_t capacity, used;
    uint64_t time; /* uses so far */
    uint32_t n_layers;
    bool *there;
    uint16_t *held;      /* times */
    uint64_t *used_pass; /* of least-stale: 1 + the pass of the last use */
    uint64_t *count;     /* of lfu-aging: uses since it was fetched */
    uint8_t *uses;       /* for clock and s3-fifo, since it was loaded or passed over */
    bool *pinned;
    uint32_t *by_count;                 /* units, the one used most often first */
    uint64_t *layer_used, *layer_share; /* of lfu-layer */
    uint64_t pinned_size;
    tt_lists lists;
    tt_heaps heaps;
    double arc_target; /* target size of the list of units used once */
    uint32_t was_in;   /* the list of evicted units in which a missed one was found */
    bool forgets;      /* arc's victim is not remembered */
    uint64_t age;      /* for lfu-aging: the key of the last victim */
    bool has_dropped;  /* something was evicted */
};

static inline uint64_t tt_policy_size(const tt_policy_cache *c, uint32_t unit)
{
    return c->setup.unit_size ? c->setup.unit_size[unit] : 1;
}

/* A share of the whole: all of it from 1 on, and if the share is NaN; of nothing, nothing. */
static inline uint64_t tt_policy_part(uint64_t whole, double share)
{
    return share < 1 ? (uint64_t)((double)whole * share) : whole;
}

static inline uint32_t tt_policy_layer(const tt_policy_cache *c, uint32_t unit)
{
    if (!c->setup.unit_layer) return 0;
    const uint32_t layer = c->setup.unit_layer[unit];
    return layer < c->n_layers ? layer : c->n_layers - 1;
}

#endif
