/* Policies by rank: lfu, lfu-aging, lfu-layer and belady. */
#include "policy/parts.h"

static uint32_t heap_of(const tt_policy_cache *c, uint32_t unit)
{
    return c->rules->a_heap_a_layer ? tt_policy_layer(c, unit) : 0;
}

static void put(tt_policy_cache *c, uint32_t unit, uint64_t key)
{
    c->heaps.key[unit] = key;
    c->heaps.tie[unit] = c->time;
    tt_heaps_put(&c->heaps, heap_of(c, unit), unit);
}

static void move(tt_policy_cache *c, uint32_t unit, uint64_t key)
{
    c->heaps.key[unit] = key;
    c->heaps.tie[unit] = c->time;
    /* What is held is in no heap: it comes back with its rank. */
    if (c->heaps.place[unit] != TT_POLICY_NONE) tt_heaps_move(&c->heaps, heap_of(c, unit), unit);
}

static void leave(tt_policy_cache *c, uint32_t unit)
{
    if (c->heaps.place[unit] != TT_POLICY_NONE) tt_heaps_take(&c->heaps, heap_of(c, unit), unit);
}

static uint32_t lowest(tt_policy_cache *c, const tt_policy_use *use)
{
    (void)use;
    return tt_heaps_lowest(&c->heaps, 0);
}

/* --- lfu --- */

static void lfu_hit(tt_policy_cache *c, const tt_policy_use *use)
{
    move(c, use->unit, c->heaps.key[use->unit] + 1);
}

static void lfu_enter(tt_policy_cache *c, const tt_policy_use *use)
{
    put(c, use->unit, 1);
}

const tt_policy_rules tt_rules_lfu = {
    .heap = true, .hit = lfu_hit, .victim = lowest, .leave = leave, .enter = lfu_enter};

/* --- lfu with ageing --- */

/* Ranks by the uses since it was fetched plus the age at its last use: the rank of what went last.
 * (M. Arlitt and others, "Evaluating content management techniques for Web proxy caches", 1999:
 * LFU-DA, all of one cost.) libCacheSim's LFUDA misses differently: each use adds its age again,
 * the lowest rank that is there. */

static void aging_hit(tt_policy_cache *c, const tt_policy_use *use)
{
    move(c, use->unit, ++c->count[use->unit] + c->age);
}

static void aging_leave(tt_policy_cache *c, uint32_t unit)
{
    leave(c, unit);
    c->age = c->heaps.key[unit];
}

static void aging_enter(tt_policy_cache *c, const tt_policy_use *use)
{
    c->count[use->unit] = 1;
    put(c, use->unit, 1 + c->age);
}

const tt_policy_rules tt_rules_lfu_aging = {
    .heap = true, .hit = aging_hit, .victim = lowest, .leave = aging_leave, .enter = aging_enter};

/* --- lfu by layers --- */

static void layer_begin(tt_policy_cache *c)
{
    double total = 0;
    for (uint32_t i = 0; i < c->n_layers; i++)
        c->layer_share[i] = 0;
    for (uint32_t i = 0; i < c->setup.n_units; i++) {
        c->layer_share[tt_policy_layer(c, i)] += tt_policy_size(c, i);
        total += (double)tt_policy_size(c, i);
    }
    for (uint32_t i = 0; i < c->n_layers; i++)
        c->layer_share[i] = tt_policy_part(c->capacity, (double)c->layer_share[i] / total);
}

static bool layer_takes(tt_policy_cache *c, uint32_t unit)
{
    return tt_policy_size(c, unit) <= c->layer_share[tt_policy_layer(c, unit)];
}

static bool layer_fits(const tt_policy_cache *c, uint32_t unit)
{
    const uint32_t layer = tt_policy_layer(c, unit);
    return c->layer_used[layer] + tt_policy_size(c, unit) <= c->layer_share[layer];
}

/* When the capacity shrinks: of the layer that is furthest above its share. */
static uint32_t layer_victim(tt_policy_cache *c, const tt_policy_use *use)
{
    if (use) return tt_heaps_lowest(&c->heaps, tt_policy_layer(c, use->unit));
    uint32_t best = TT_POLICY_NONE;
    for (uint32_t i = 0; i < c->n_layers; i++)
        if (c->heaps.n[i] &&
            (best == TT_POLICY_NONE ||
             c->layer_used[i] + c->layer_share[best] > c->layer_used[best] + c->layer_share[i]))
            best = i;
    return best == TT_POLICY_NONE ? best : tt_heaps_lowest(&c->heaps, best);
}

static void layer_leave(tt_policy_cache *c, uint32_t unit)
{
    leave(c, unit);
    c->layer_used[tt_policy_layer(c, unit)] -= tt_policy_size(c, unit);
}

static void layer_enter(tt_policy_cache *c, const tt_policy_use *use)
{
    lfu_enter(c, use);
    c->layer_used[tt_policy_layer(c, use->unit)] += tt_policy_size(c, use->unit);
}

const tt_policy_rules tt_rules_lfu_layer = {.heap = true,
                                            .a_heap_a_layer = true,
                                            .begin = layer_begin,
                                            .takes = layer_takes,
                                            .hit = lfu_hit,
                                            .fits = layer_fits,
                                            .victim = layer_victim,
                                            .leave = layer_leave,
                                            .enter = layer_enter};

/* --- belady --- */

static void belady_hit(tt_policy_cache *c, const tt_policy_use *use)
{
    move(c, use->unit, TT_POLICY_NEVER - use->next);
}

static void belady_enter(tt_policy_cache *c, const tt_policy_use *use)
{
    put(c, use->unit, TT_POLICY_NEVER - use->next);
}

const tt_policy_rules tt_rules_belady = {
    .heap = true, .hit = belady_hit, .victim = lowest, .leave = leave, .enter = belady_enter};
