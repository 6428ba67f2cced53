/* Replacement policies against lists that are searched, and under calls in any order. */
#include "tests.h"

#include "policy/policy.h"

#include <stdlib.h>
#include <string.h>

#define UNITS 60u
#define LAYERS 5u
#define USES 600u

static unsigned seed;

static uint32_t below(uint32_t n)
{
    return (uint32_t)rand_r(&seed) % n;
}

typedef struct sample {
    uint64_t size[UNITS], count[UNITS];
    uint32_t layer[UNITS];
    tt_policy_use uses[USES];
} sample;

/* Passes through the layers; some units are liked more than others. */
static void make_sample(sample *s, bool sizes)
{
    memset(s, 0, sizeof *s);
    for (uint32_t i = 0; i < UNITS; i++) {
        s->size[i] = sizes ? 1 + below(9) : 1;
        s->layer[i] = i * LAYERS / UNITS;
    }
    for (uint32_t i = 0; i < USES; i++) {
        const uint32_t step = i / 3, first = step % LAYERS * (UNITS / LAYERS);
        const uint32_t liked = below(2) ? 3 : UNITS / LAYERS;
        s->uses[i] = (tt_policy_use){first + below(liked), step / LAYERS, TT_POLICY_NEVER};
        s->count[s->uses[i].unit]++;
    }
    for (uint32_t i = 0; i < USES; i++)
        for (uint32_t k = USES; k-- > i + 1;)
            if (s->uses[k].unit == s->uses[i].unit) s->uses[i].next = k;
}

/* --- lists that are searched --- */

typedef struct slow {
    const sample *s;
    tt_policy policy;
    uint64_t capacity;
    bool there[UNITS], pinned[UNITS];
    uint64_t last[UNITS], times[UNITS], rank[UNITS], next[UNITS], pass[UNITS];
    uint64_t age;
} slow;

static uint64_t used(const slow *w, int64_t layer, bool loose)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < UNITS; i++)
        if (w->there[i] && (layer < 0 || w->s->layer[i] == layer) && !(loose && w->pinned[i]))
            sum += w->s->size[i];
    return sum;
}

static uint64_t room(const slow *w, uint32_t unit)
{
    uint64_t all = 0, mine = 0, pins = 0;
    for (uint32_t i = 0; i < UNITS; i++) {
        all += w->s->size[i];
        if (w->s->layer[i] == w->s->layer[unit]) mine += w->s->size[i];
        if (w->pinned[i]) pins += w->s->size[i];
    }
    if (w->policy == TT_POLICY_LFU_LAYER)
        return (uint64_t)((double)w->capacity * ((double)mine / (double)all));
    return w->capacity - pins;
}

/* How many turns of its layer it missed, then how far its next turn is. */
static uint64_t staleness(const slow *w, uint32_t unit, const tt_policy_use *use)
{
    const uint32_t layer = w->s->layer[unit], now = w->s->layer[use->unit];
    const uint64_t missed = use->pass - (layer > now) - w->pass[unit];
    const uint64_t far = layer <= now ? LAYERS - now + layer : layer - now;
    return missed * 100 + far;
}

/* Whether a goes rather than b. */
static bool goes_first(const slow *w, uint32_t a, uint32_t b, const tt_policy_use *use)
{
    switch (w->policy) {
    case TT_POLICY_BELADY:
        return w->next[a] != w->next[b] ? w->next[a] > w->next[b] : w->last[a] < w->last[b];
    case TT_POLICY_LFU:
    case TT_POLICY_LFU_LAYER:
        return w->times[a] != w->times[b] ? w->times[a] < w->times[b] : w->last[a] < w->last[b];
    case TT_POLICY_LFU_AGING:
        return w->rank[a] != w->rank[b] ? w->rank[a] < w->rank[b] : w->last[a] < w->last[b];
    case TT_POLICY_LEAST_STALE: {
        const uint64_t x = staleness(w, a, use), y = staleness(w, b, use);
        return x != y ? x > y : w->last[a] < w->last[b];
    }
    default:
        return w->last[a] < w->last[b];
    }
}

static bool is_candidate(const slow *w, uint32_t unit, uint32_t coming)
{
    if (!w->there[unit] || w->pinned[unit]) return false;
    return w->policy != TT_POLICY_LFU_LAYER || w->s->layer[unit] == w->s->layer[coming];
}

static void slow_pin(slow *w)
{
    const bool all = w->policy == TT_POLICY_PIN_HOT;
    uint64_t left = all ? w->capacity : w->capacity / 2;
    bool seen[UNITS] = {false};
    if (!all && w->policy != TT_POLICY_PIN_LRU) return;
    for (uint32_t k = 0; k < UNITS; k++) {
        uint32_t best = UNITS;
        for (uint32_t i = 0; i < UNITS; i++)
            if (!seen[i] && (best == UNITS || w->s->count[i] > w->s->count[best])) best = i;
        seen[best] = true;
        if (w->s->count[best] == 0 || w->s->size[best] > left) continue;
        w->pinned[best] = true;
        left -= w->s->size[best];
    }
}

static void slow_come_in(slow *w, const tt_policy_use *use)
{
    const uint32_t unit = use->unit;
    const uint64_t size = w->s->size[unit];
    const bool by_layer = w->policy == TT_POLICY_LFU_LAYER;
    if (!w->pinned[unit]) {
        if (w->policy == TT_POLICY_PIN_HOT || size > room(w, unit)) return;
        while (used(w, by_layer ? (int64_t)w->s->layer[unit] : -1, true) + size > room(w, unit)) {
            uint32_t victim = UNITS;
            for (uint32_t i = 0; i < UNITS; i++)
                if (is_candidate(w, i, unit) && (victim == UNITS || goes_first(w, i, victim, use)))
                    victim = i;
            w->there[victim] = false;
            w->age = w->rank[victim];
        }
    }
    w->there[unit] = true;
    w->times[unit] = 0;
}

static bool slow_use(slow *w, const tt_policy_use *use, uint64_t now)
{
    const bool hit = w->there[use->unit];
    if (!hit) slow_come_in(w, use);
    w->last[use->unit] = now;
    w->times[use->unit]++;
    w->rank[use->unit] = w->times[use->unit] + w->age;
    w->next[use->unit] = use->next;
    w->pass[use->unit] = use->pass;
    return hit;
}

static tt_policy_cache *make_cache(const sample *s, tt_policy policy, uint64_t capacity,
                                   tt_policy_dropped *dropped, void *context)
{
    const tt_policy_setup setup = {.policy = policy,
                                   .n_units = UNITS,
                                   .capacity = capacity,
                                   .unit_size = s->size,
                                   .unit_layer = s->layer,
                                   .unit_count = s->count};
    tt_policy_cache *c;
    assert_int_equal(tt_policy_new(&setup, dropped, context, &c, NULL), TT_OK);
    return c;
}

static void they_agree_with_lists(void **state)
{
    static const tt_policy policies[] = {
        TT_POLICY_LRU,       TT_POLICY_LFU,       TT_POLICY_BELADY,  TT_POLICY_PIN_HOT,
        TT_POLICY_LFU_AGING, TT_POLICY_LFU_LAYER, TT_POLICY_PIN_LRU, TT_POLICY_LEAST_STALE};
    (void)state;
    seed = 3;
    for (int round = 0; round < 200; round++) {
        sample s;
        make_sample(&s, round % 2);
        for (size_t p = 0; p < sizeof policies / sizeof *policies; p++) {
            const uint64_t capacity = below(round % 2 ? 320 : 70);
            slow w = {.s = &s, .policy = policies[p], .capacity = capacity};
            tt_policy_cache *c = make_cache(&s, policies[p], capacity, NULL, NULL);
            slow_pin(&w);
            for (uint32_t i = 0; i < USES; i++) {
                const bool want = slow_use(&w, &s.uses[i], i + 1);
                if (tt_policy_use_unit(c, &s.uses[i]) != want)
                    fail_msg("round %d, %s, capacity %d, use %u: not %d", round,
                             tt_policies[policies[p]].name, (int)capacity, i, (int)want);
            }
            for (uint32_t i = 0; i < UNITS; i++)
                assert_int_equal(tt_policy_has(c, i), w.there[i]);
            tt_policy_free(c);
        }
    }
}

/* --- calls in any order --- */

typedef struct shadow {
    bool there[UNITS];
    uint32_t held[UNITS];
    const sample *s;
} shadow;

static void goes(void *context, uint32_t unit)
{
    shadow *w = context;
    assert_true(w->there[unit]);
    assert_int_equal(w->held[unit], 0);
    w->there[unit] = false;
}

static void check(const tt_policy_cache *c, const shadow *w, uint64_t capacity)
{
    uint64_t sum = 0, held = 0;
    for (uint32_t i = 0; i < UNITS; i++) {
        assert_int_equal(tt_policy_has(c, i), w->there[i]);
        if (w->there[i]) sum += w->s->size[i];
        if (w->held[i]) held += w->s->size[i];
    }
    assert_int_equal(tt_policy_used(c), sum);
    assert_true(sum <= capacity || sum == held);
}

static void no_order_of_calls_breaks_them(void **state)
{
    (void)state;
    seed = 11;
    for (int round = 0; round < 400; round++) {
        sample s;
        make_sample(&s, round % 3 > 0);
        uint64_t capacity = below(200);
        shadow w = {.s = &s};
        tt_policy_cache *c = make_cache(&s, (tt_policy)(round % TT_POLICIES), capacity, goes, &w);
        for (uint32_t i = 0; i < USES; i++) {
            const tt_policy_use *use = &s.uses[below(4) ? i : below(USES)];
            const uint32_t unit = use->unit;
            switch (below(8)) {
            case 0:
                if (w.there[unit] && w.held[unit] < 3) {
                    tt_policy_hold(c, unit);
                    w.held[unit]++;
                }
                break;
            case 1:
                for (uint32_t k = 0; k < UNITS; k++)
                    while (w.held[k] && below(2)) {
                        w.held[k]--;
                        tt_policy_release(c, k);
                    }
                break;
            case 2:
                if (below(6) == 0) tt_policy_resize(c, capacity = below(200));
                break;
            case 3: {
                const bool was = w.there[unit], is = tt_policy_fetch(c, use);
                assert_int_equal(is, tt_policy_has(c, unit));
                assert_true(is || !was);
                w.there[unit] = is;
                break;
            }
            default:
                assert_int_equal(tt_policy_use_unit(c, use), w.there[unit]);
                w.there[unit] = tt_policy_has(c, unit);
            }
            check(c, &w, capacity);
        }
        tt_policy_free(c);
    }
}

/* Without a limit all stay; sizes of 0, and no units at all, are no trouble. */
static void extremes_are_kept(void **state)
{
    static const uint64_t capacities[] = {UINT64_MAX, UINT64_MAX - 1, UINT64_C(1) << 63, 1000};
    (void)state;
    seed = 5;
    sample s;
    make_sample(&s, true);
    for (int p = 0; p < TT_POLICIES; p++) {
        for (size_t k = 0; k < 2 * sizeof capacities / sizeof *capacities; k++) {
            static const uint64_t nothing[UNITS];
            tt_policy_setup setup = {.policy = (tt_policy)p,
                                     .n_units = UNITS,
                                     .capacity = capacities[k / 2],
                                     .unit_size = k % 2 ? nothing : s.size,
                                     .unit_layer = k < 4 ? NULL : s.layer,
                                     .unit_count = s.count,
                                     .pin_share = 1};
            tt_policy_cache *c;
            assert_int_equal(tt_policy_new(&setup, NULL, NULL, &c, NULL), TT_OK);
            for (uint32_t i = 0; i < USES; i++) {
                (void)tt_policy_use_unit(c, &s.uses[i]);
                if (!tt_policy_has(c, s.uses[i].unit))
                    fail_msg("%s, capacity %llu: unit %u is not kept", tt_policies[p].name,
                             (unsigned long long)setup.capacity, s.uses[i].unit);
            }
            tt_policy_free(c);
            setup.n_units = 0;
            assert_int_equal(tt_policy_new(&setup, NULL, NULL, &c, NULL), TT_OK);
            tt_policy_resize(c, 0);
            tt_policy_free(c);
        }
    }
}

static void names_are_their_own(void **state)
{
    (void)state;
    for (int i = 0; i < TT_POLICIES; i++) {
        assert_non_null(tt_policies[i].about);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(tt_policies[i].name, tt_policies[k].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_agree_with_lists),
        cmocka_unit_test(no_order_of_calls_breaks_them),
        cmocka_unit_test(extremes_are_kept),
        cmocka_unit_test(names_are_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
