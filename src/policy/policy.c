#include "policy/policy.h"

#include "policy/parts.h"

#include <stdlib.h>

#define WINDOW_PART 16u /* of what dense weights may use */
#define WINDOW_MIN_BYTES (UINT64_C(32) << 20)
#define READS 2u
#define READ_BYTES (UINT64_C(2) << 20)

/* Half of it is read while the other half is used. Some virtual disks complete all reads at once:
 * with a small window they have nothing to read for a part of the time, which costs more than what
 * it leaves for other weights. */
static uint64_t window_of(uint64_t dense_room)
{
    uint64_t window = dense_room / WINDOW_PART;
    if (window < WINDOW_MIN_BYTES) window = WINDOW_MIN_BYTES;
    return window > dense_room / 2 ? dense_room / 2 : window;
}

bool tt_policy_may_read(uint32_t n, uint64_t bytes)
{
    return n < READS || bytes < READ_BYTES;
}

tt_policy_shares tt_policy_share(uint64_t budget, uint64_t dense, uint64_t experts,
                                 uint64_t staying)
{
    tt_policy_shares s = {.fit = dense + experts + staying <= budget,
                          .none = staying + staying / 2 >= budget};
    if (s.fit || s.none) return s;
    const uint64_t room = budget - staying;
    uint64_t dense_room = experts ? room / 2 : room;
    /* The others get what experts do not need. */
    if (experts && room - dense_room > experts) dense_room = room - experts;
    if (dense_room > dense) dense_room = dense;
    s.window_bytes = dense_room < dense ? window_of(dense_room) : 0;
    s.pinned_bytes = dense_room - s.window_bytes;
    s.cache_bytes = experts ? room - dense_room : 0;
    return s;
}

#define PIN_SHARE 0.5

/* lru, lfu, belady, arc (N. Megiddo, D. Modha 2003), clock and s3-fifo (J. Yang and others 2023)
 * have the same misses as libCacheSim's policies of these names with their defaults, for units of
 * one size, and for s3-fifo a capacity of at least 20 (github.com/1a1a11a/libCacheSim; PyPI
 * libcachesim 0.3.5). s3-fifo differs if a unit does not fit the small queue: it goes into the main
 * one. lfu-layer and least-stale are our own; the latter follows the one of that name in SpecMD
 * (arXiv 2602.03921). */
const tt_policy_info tt_policies[TT_POLICIES] = {
    [TT_POLICY_LRU] = {"lru", "what was used longest ago", false, false},
    [TT_POLICY_LFU] = {"lfu",
                       "what was used least often since it was fetched, of those the longest ago",
                       false, false},
    [TT_POLICY_BELADY] = {"belady", "what is used again latest, or never: knows the future", true,
                          false},
    [TT_POLICY_PIN_HOT] = {"pin-hot",
                           "nothing: what the whole run uses most often is kept, the rest never",
                           false, true},
    [TT_POLICY_LFU_AGING] =
        {"lfu-aging",
         "as lfu, but the counts of what comes in begin at those of what went (LFU-DA)", false,
         false},
    [TT_POLICY_LFU_LAYER] = {"lfu-layer", "as lfu, each layer within its own share of the cache",
                             false, false},
    [TT_POLICY_ARC] =
        {"arc", "of what was used once or more often, as misses have shown to be right (ARC)",
         false, false},
    [TT_POLICY_S3_FIFO] =
        {"s3-fifo", "what was not used again while in a small queue, then in a large one (S3-FIFO)",
         false, false},
    [TT_POLICY_CLOCK] = {"clock", "what came first, but what was used since is passed over once",
                         false, false},
    [TT_POLICY_LEAST_STALE] = {"least-stale",
                               "what was not used in the most turns of its layer, one a pass; of "
                               "those, what has its next one latest",
                               false, false},
    [TT_POLICY_PIN_LRU] = {"pin-lru",
                           "as lru, but half of the cache keeps what the whole run uses most often",
                           false, true},
};

static const tt_policy_rules *const rules[TT_POLICIES] = {
    [TT_POLICY_LRU] = &tt_rules_lru,
    [TT_POLICY_LFU] = &tt_rules_lfu,
    [TT_POLICY_BELADY] = &tt_rules_belady,
    [TT_POLICY_PIN_HOT] = &tt_rules_pin_hot,
    [TT_POLICY_LFU_AGING] = &tt_rules_lfu_aging,
    [TT_POLICY_LFU_LAYER] = &tt_rules_lfu_layer,
    [TT_POLICY_ARC] = &tt_rules_arc,
    [TT_POLICY_S3_FIFO] = &tt_rules_s3_fifo,
    [TT_POLICY_CLOCK] = &tt_rules_clock,
    [TT_POLICY_LEAST_STALE] = &tt_rules_least_stale,
    [TT_POLICY_PIN_LRU] = &tt_rules_pin_lru,
};

void tt_policy_free(tt_policy_cache *c)
{
    if (!c) return;
    tt_lists_free(&c->lists);
    tt_heaps_free(&c->heaps);
    free(c->there);
    free(c->held);
    free(c->used_pass);
    free(c->count);
    free(c->uses);
    free(c->pinned);
    free(c->by_count);
    free(c->layer_used);
    free(c->layer_share);
    free(c);
}

static bool make_heaps(tt_policy_cache *c, uint32_t n)
{
    uint32_t *count = calloc((size_t)n + 1, sizeof *count);
    for (uint32_t i = 0; count && i < c->setup.n_units; i++)
        count[c->rules->a_heap_a_layer ? tt_policy_layer(c, i) : 0]++;
    const bool ok = count && tt_heaps_make(&c->heaps, c->setup.n_units, count, n);
    free(count);
    return ok;
}

static bool make_arrays(tt_policy_cache *c)
{
    const size_t n = (size_t)c->setup.n_units + 1;
    const tt_policy p = c->setup.policy;
    c->there = calloc(n, sizeof *c->there);
    c->held = calloc(n, sizeof *c->held);
    if (!c->there || !c->held) return false;
    if (p == TT_POLICY_LEAST_STALE) return (c->used_pass = calloc(n, sizeof *c->used_pass)) != NULL;
    if (p == TT_POLICY_LFU_AGING) return (c->count = calloc(n, sizeof *c->count)) != NULL;
    if (p == TT_POLICY_CLOCK || p == TT_POLICY_S3_FIFO)
        return (c->uses = calloc(n, sizeof *c->uses)) != NULL;
    if (tt_policies[p].needs_counts) return (c->pinned = calloc(n, sizeof *c->pinned)) != NULL;
    if (p != TT_POLICY_LFU_LAYER) return true;
    c->layer_used = calloc(c->n_layers, sizeof *c->layer_used);
    c->layer_share = calloc(c->n_layers, sizeof *c->layer_share);
    return c->layer_used && c->layer_share;
}

static bool make(tt_policy_cache *c)
{
    const tt_policy_rules *r = c->rules;
    for (uint32_t i = 0; c->setup.unit_layer && i < c->setup.n_units; i++) {
        const uint32_t layer = c->setup.unit_layer[i];
        if (layer >= c->n_layers && layer != TT_POLICY_NO_LAYER) c->n_layers = layer + 1;
    }
    c->n_layers += 1; /* the last one: for units without a layer */
    if (c->n_layers > TT_POLICY_LAYERS_MAX) c->n_layers = TT_POLICY_LAYERS_MAX;
    if (!make_arrays(c)) return false;
    if (r->heap) return make_heaps(c, r->a_heap_a_layer ? c->n_layers : 1);
    return tt_lists_make(&c->lists, c->setup.n_units, r->a_list_a_layer ? c->n_layers : r->lists);
}

static int most_used_first(const void *x, const void *y, void *context)
{
    const uint64_t *count = context;
    const uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    if (count[a] != count[b]) return count[a] > count[b] ? -1 : 1;
    return a < b ? -1 : a > b;
}

static bool make_order(tt_policy_cache *c)
{
    const uint32_t n = c->setup.n_units;
    c->by_count = calloc((size_t)n + 1, sizeof *c->by_count);
    if (!c->by_count) return false;
    for (uint32_t i = 0; i < n; i++)
        c->by_count[i] = i;
    if (n)
        qsort_r(c->by_count, n, sizeof *c->by_count, most_used_first,
                (void *)(uintptr_t)c->setup.unit_count);
    return true;
}

/* The most used units, the first among equals, as many as fit. */
static void pin(tt_policy_cache *c)
{
    const double share = c->setup.pin_share > 0 ? c->setup.pin_share : PIN_SHARE;
    const uint64_t room =
        c->setup.policy == TT_POLICY_PIN_HOT ? c->capacity : tt_policy_part(c->capacity, share);
    c->pinned_size = 0;
    for (uint32_t i = 0; i < c->setup.n_units; i++) {
        const uint32_t unit = c->by_count[i];
        const uint64_t size = tt_policy_size(c, unit);
        c->pinned[unit] = c->setup.unit_count[unit] > 0 && size <= room - c->pinned_size;
        if (c->pinned[unit]) c->pinned_size += size;
    }
}

static void begin(tt_policy_cache *c)
{
    if (c->by_count) pin(c);
    if (c->rules->begin) c->rules->begin(c);
}

tt_status tt_policy_new(const tt_policy_setup *setup, tt_policy_dropped *dropped, void *context,
                        tt_policy_cache **out, tt_error *err)
{
    tt_policy_cache *c = calloc(1, sizeof *c);
    *out = NULL;
    if (!c) return tt_error_memory(err, "a cache");
    c->setup = *setup;
    c->rules = rules[setup->policy];
    c->dropped = dropped;
    c->context = context;
    c->capacity = setup->capacity;
    c->was_in = TT_POLICY_NONE;
    if (!make(c) || (tt_policies[setup->policy].needs_counts && !make_order(c))) {
        tt_policy_free(c);
        return tt_error_memory(err, "a cache");
    }
    begin(c);
    *out = c;
    return TT_OK;
}

bool tt_policy_has(const tt_policy_cache *c, uint32_t unit)
{
    return c->there[unit];
}

uint64_t tt_policy_used(const tt_policy_cache *c)
{
    return c->used;
}

static void drop(tt_policy_cache *c, uint32_t unit)
{
    c->rules->leave(c, unit);
    c->has_dropped = true;
    c->there[unit] = false;
    c->used -= tt_policy_size(c, unit);
    if (c->dropped) c->dropped(c->context, unit);
}

static bool fits(const tt_policy_cache *c, uint32_t unit)
{
    if (tt_policy_size(c, unit) > c->capacity - (c->used < c->capacity ? c->used : c->capacity))
        return false;
    return !c->rules->fits || c->rules->fits(c, unit);
}

static bool come_in(tt_policy_cache *c, const tt_policy_use *use)
{
    if (tt_policy_size(c, use->unit) > c->capacity) return false;
    if (c->rules->takes && !c->rules->takes(c, use->unit)) return false;
    if (c->rules->missed) c->rules->missed(c, use);
    while (!fits(c, use->unit)) {
        const uint32_t victim = c->rules->victim(c, use);
        if (victim == TT_POLICY_NONE) return false;
        drop(c, victim);
    }
    c->rules->enter(c, use);
    c->there[use->unit] = true;
    c->used += tt_policy_size(c, use->unit);
    return true;
}

bool tt_policy_use_unit(tt_policy_cache *c, const tt_policy_use *use)
{
    c->time++;
    if (c->there[use->unit]) {
        c->rules->hit(c, use);
        return true;
    }
    (void)come_in(c, use);
    return false;
}

bool tt_policy_fetch(tt_policy_cache *c, const tt_policy_use *use)
{
    c->time++;
    return c->there[use->unit] || come_in(c, use);
}

static void shrink(tt_policy_cache *c)
{
    while (c->used > c->capacity) {
        const uint32_t victim = c->rules->victim(c, NULL);
        if (victim == TT_POLICY_NONE) return;
        drop(c, victim);
    }
}

/* In policies by rank, held units are not in their heap. */
void tt_policy_hold(tt_policy_cache *c, uint32_t unit)
{
    const uint32_t heap = c->rules->a_heap_a_layer ? tt_policy_layer(c, unit) : 0;
    if (c->held[unit]++ == 0 && c->rules->heap) tt_heaps_take(&c->heaps, heap, unit);
}

void tt_policy_release(tt_policy_cache *c, uint32_t unit)
{
    const uint32_t heap = c->rules->a_heap_a_layer ? tt_policy_layer(c, unit) : 0;
    if (--c->held[unit] > 0) return;
    if (c->rules->heap) tt_heaps_put(&c->heaps, heap, unit);
    shrink(c);
}

void tt_policy_resize(tt_policy_cache *c, uint64_t capacity)
{
    c->capacity = capacity;
    begin(c);
    shrink(c);
}
