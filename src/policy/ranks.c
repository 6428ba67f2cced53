#include "policy/parts.h"

#include <stdlib.h>

#define WAYS 4u

bool tt_heaps_make(tt_heaps *h, uint32_t n_units, const uint32_t *count, uint32_t n)
{
    h->units = calloc((size_t)n_units + 1, sizeof *h->units);
    h->place = malloc(((size_t)n_units + 1) * sizeof *h->place);
    h->key = calloc((size_t)n_units + 1, sizeof *h->key);
    h->tie = calloc((size_t)n_units + 1, sizeof *h->tie);
    h->first = calloc((size_t)n + 1, sizeof *h->first);
    h->n = calloc((size_t)n + 1, sizeof *h->n);
    if (!h->units || !h->place || !h->key || !h->tie || !h->first || !h->n) return false;
    for (uint32_t i = 0; i < n_units; i++)
        h->place[i] = TT_POLICY_NONE;
    for (uint32_t i = 0; i < n; i++)
        h->first[i + 1] = h->first[i] + count[i];
    return true;
}

void tt_heaps_free(tt_heaps *h)
{
    free(h->units);
    free(h->place);
    free(h->key);
    free(h->tie);
    free(h->first);
    free(h->n);
}

static bool is_lower(const tt_heaps *h, uint32_t a, uint32_t b)
{
    return h->key[a] != h->key[b] ? h->key[a] < h->key[b] : h->tie[a] < h->tie[b];
}

/* Moves the unit up to its position, from `place`. */
static void rise(tt_heaps *h, uint32_t *units, uint32_t unit, uint32_t place)
{
    while (place > 0) {
        const uint32_t up = (place - 1) / WAYS;
        if (!is_lower(h, unit, units[up])) break;
        units[place] = units[up];
        h->place[units[place]] = place;
        place = up;
    }
    units[place] = unit;
    h->place[unit] = place;
}

/* Moves the unit down or up to its position, from `place`. */
static void sift(tt_heaps *h, uint32_t heap, uint32_t unit, uint32_t place)
{
    uint32_t *units = h->units + h->first[heap];
    const uint32_t n = h->n[heap];
    for (;;) {
        const uint64_t down = (uint64_t)place * WAYS + 1;
        uint32_t best = TT_POLICY_NONE;
        for (uint64_t i = down; i < down + WAYS && i < n; i++)
            if (best == TT_POLICY_NONE || is_lower(h, units[i], units[best])) best = (uint32_t)i;
        if (best == TT_POLICY_NONE || !is_lower(h, units[best], unit)) break;
        units[place] = units[best];
        h->place[units[place]] = place;
        place = best;
    }
    rise(h, units, unit, place);
}

void tt_heaps_put(tt_heaps *h, uint32_t heap, uint32_t unit)
{
    const uint32_t place = h->n[heap]++;
    rise(h, h->units + h->first[heap], unit, place);
}

void tt_heaps_take(tt_heaps *h, uint32_t heap, uint32_t unit)
{
    const uint32_t place = h->place[unit], last = --h->n[heap];
    const uint32_t moved = h->units[h->first[heap] + last];
    h->place[unit] = TT_POLICY_NONE;
    if (moved != unit) sift(h, heap, moved, place);
}

void tt_heaps_move(tt_heaps *h, uint32_t heap, uint32_t unit)
{
    sift(h, heap, unit, h->place[unit]);
}

uint32_t tt_heaps_lowest(const tt_heaps *h, uint32_t heap)
{
    return h->n[heap] ? h->units[h->first[heap]] : TT_POLICY_NONE;
}

/* Policies by rank: lfu, lfu-aging, lfu-layer and belady. */

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
    /* Held units are in no heap: they return with their rank. */
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

/* Ranks by the uses since it was fetched plus the age at its last use, which is the rank of the
 * last victim. (M. Arlitt and others, "Evaluating content management techniques for Web proxy
 * caches", 1999: LFU-DA, all of one cost.) libCacheSim's LFUDA has other misses: each use adds its
 * age again, the lowest present rank. */

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

/* If the capacity shrinks: of the layer that is furthest above its share. */
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
