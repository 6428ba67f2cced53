#include "boost/weights.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/order.h"
#include "boost/slots.h"
#include "host/system.h"
#include "policy/policy.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CHUNK_BYTES (UINT64_C(2) << 20) /* a huge page */
#define CHUNK_MIN_BYTES (UINT64_C(64) << 10)
#define CHUNKS_IN_BUDGET 32u                      /* at least */
#define CHUNKS_IN_BUDGET_MAX 4096u                /* the kernel allows few mappings */
#define CHUNK_MAX_BYTES (TT_SLOTS_FREE_BYTES / 4) /* several are read at a time */
#define CHUNKS_ALIGNED 4u                         /* of a run, at least */
#define GAP_BYTES TT_PAGEPOOL_PAGE                /* between weights that share chunks */
#define AHEAD_BYTES (UINT64_C(64) << 20)          /* of pinned chunks, during their first load */

typedef struct weight {
    const uint8_t *at;
    uint64_t bytes;
    uint32_t n_slices; /* 0: dense */
    uint32_t leader;   /* weight whose slices of the same number are kept together with these; or
                          itself */
    uint32_t next;     /* weight with that leader; TT_NONE: none */
    uint32_t region;
    uint64_t from; /* in the region */
    /* The first slice's; or the chunk's that ends at `cut`. A chunk of chunk_bytes begins there,
     * and others follow. */
    uint32_t first_unit;
    uint64_t cut;         /* in the region */
    uint64_t chunk_bytes; /* 0: it has none */
} weight;

/* Properties of a unit. */
typedef struct trait {
    uint32_t seen;    /* the last traversal that saw it */
    uint32_t weight;  /* of a slice */
    uint64_t used_at; /* bytes that a pass uses before, up to its last use */
    bool dense;
    bool apart; /* so much is used between two of its uses that it would be read twice */
    bool pinned;
    bool unused; /* a slice that was read, and that no op has used since */
} trait;

struct tt_weights {
    tt_pagepool *pool;
    tt_boost_report *report;
    _Atomic uint64_t budget, cached_bytes; /* a tt_budget; read without the lock, too */
    tt_policy policy;
    weight *weights;
    uint32_t n_weights, weights_capacity;
    trait *traits; /* by unit */
    uint32_t n_traits, traits_capacity;
    uint64_t *sizes; /* by unit */
    uint32_t sizes_capacity;
    uint64_t *policy_sizes; /* of the policy's units: leaders' slices, including those they lead */
    uint32_t policy_sizes_capacity;
    tt_policy_cache *cache; /* of slices; NULL: none are kept */
    uint64_t window_bytes;  /* of all active plans */
    uint32_t n_active;
    const tt_weights_plan *last; /* that began */
    bool several;                /* different plans have begun */
    uint32_t arranged;           /* number of weights at the last division */
    uint32_t arrangement;        /* number of divisions */
    uint64_t deaths;
    uint32_t found; /* the last weight that was found: graphs ask in the same order */
    uint32_t walk;
    bool idle; /* everything fits, or nothing can be kept */
    bool fits;
};

/* For slices: the weight's. */
static uint32_t leader_of(const tt_weights *w, const weight *x, uint32_t slice)
{
    return w->weights[x->leader].first_unit + slice;
}

static void dropped(void *context, uint32_t unit)
{
    tt_weights *w = context;
    const weight *x = &w->weights[w->traits[unit].weight];
    const uint32_t slice = unit - x->first_unit;
    for (;;) {
        tt_pagepool_drop(w->pool, x->first_unit + slice);
        if (x->next == TT_NONE) return;
        x = &w->weights[x->next];
    }
}

tt_status tt_weights_new(tt_pagepool *pool, tt_budget budget, tt_policy policy,
                         tt_boost_report *report, tt_weights **out, tt_error *err)
{
    *out = calloc(1, sizeof **out);
    if (!*out) return tt_error_memory(err, "the weights' places");
    **out = (tt_weights){.pool = pool, .policy = policy, .report = report};
    atomic_store(&(*out)->budget, budget.pool_bytes);
    atomic_store(&(*out)->cached_bytes, budget.cached_bytes);
    return TT_OK;
}

void tt_weights_free(tt_weights *w)
{
    if (!w) return;
    tt_policy_free(w->cache);
    free(w->weights);
    free(w->traits);
    free(w->sizes);
    free(w->policy_sizes);
    free(w);
}

/* --- the weights --- */

static void drop_all(tt_weights *w)
{
    tt_policy_free(w->cache);
    w->cache = NULL;
    for (uint32_t i = 0; i < w->n_traits; i++)
        tt_pagepool_drop(w->pool, i);
}

/* They count no more, and no plan of this arrangement has them. */
static void forget_units(tt_weights *w, uint32_t first, uint32_t end)
{
    for (uint32_t u = first; u < end; u++) {
        w->traits[u] = (trait){0};
        w->sizes[u] = 0;
    }
}

void tt_weights_refresh(tt_weights *w)
{
    if (w->deaths == tt_pagepool_deaths(w->pool)) return;
    w->deaths = tt_pagepool_deaths(w->pool);
    w->arrangement++;
    drop_all(w);
    w->n_weights = w->arranged = w->found = 0;
    forget_units(w, 0, w->n_traits);
    atomic_store(&w->report->weights_bytes, 0);
}

/* The unit's number; TT_NONE: out of memory. */
static uint32_t add_unit(tt_weights *w, uint32_t region, uint64_t from, uint64_t n, trait is)
{
    const uint32_t unit = tt_pagepool_unit(w->pool, region, from, n);
    if (unit == TT_NONE || !tt_array_room_zeroed(w->traits, w->traits_capacity, unit + 1u) ||
        !tt_array_room_zeroed(w->sizes, w->sizes_capacity, unit + 1u))
        return TT_NONE;
    w->n_traits = unit + 1;
    w->traits[unit] = is;
    w->sizes[unit] = tt_pagepool_unit_bytes(w->pool, unit);
    return unit;
}

static bool has_units_left(tt_weights *w, uint64_t n)
{
    if (n <= tt_pagepool_units_left(w->pool)) return true;
    tt_boost_report_problem(
        w->report,
        "too many weights so far: those of further models are left to the kernel's paging");
    return false;
}

static bool add_slices(tt_weights *w, uint32_t i)
{
    weight *x = &w->weights[i];
    const uint64_t n = x->bytes / x->n_slices;
    for (uint32_t k = 0; k < x->n_slices; k++) {
        const uint32_t unit = add_unit(w, x->region, x->from + k * n, n, (trait){.weight = i});
        if (unit == TT_NONE) return false;
        if (!k) x->first_unit = unit;
    }
    return true;
}

/* Dense weights are divided when a pass begins. */
static bool add_weight(tt_weights *w, const void *at, uint64_t n, uint32_t n_slices)
{
    uint32_t region;
    uint64_t from;
    if (!tt_pagepool_find(w->pool, at, n, &region, &from) || !has_units_left(w, n_slices))
        return false;
    /* The policy knows the units' sizes, which will be reallocated. */
    if (w->cache) drop_all(w);
    weight *new = tt_array_add(w->weights, w->n_weights, w->weights_capacity);
    if (!new) return false;
    *new = (weight){.at = at,
                    .bytes = n,
                    .n_slices = n_slices,
                    .leader = w->n_weights - 1,
                    .next = TT_NONE,
                    .region = region,
                    .from = from,
                    .first_unit = TT_NONE};
    if (n_slices && !add_slices(w, w->n_weights - 1)) {
        w->n_weights--;
        return false;
    }
    atomic_fetch_add(&w->report->weights_bytes, n);
    return true;
}

uint32_t tt_weights_find(tt_weights *w, const void *at, uint64_t n, uint32_t n_slices)
{
    if (n_slices && (n_slices > UINT16_MAX || n % n_slices || n / n_slices < TT_PAGEPOOL_PAGE))
        n_slices = 0;
    for (uint32_t k = 0; k < w->n_weights; k++) {
        const uint32_t i = (w->found + 1 + k) % w->n_weights;
        if (w->weights[i].at != at || w->weights[i].bytes != n) continue;
        w->found = i;
        return i;
    }
    return add_weight(w, at, n, n_slices) ? w->n_weights - 1 : TT_NONE;
}

void tt_weights_together(tt_weights *w, uint32_t a, uint32_t b)
{
    weight *x = &w->weights[a], *y = &w->weights[b];
    const uint32_t leader = x->leader;
    if (a == b || y->leader != b || y->next != TT_NONE || leader == b ||
        x->n_slices != y->n_slices || !x->n_slices)
        return;
    /* The policy knows the sizes and the present units. */
    drop_all(w);
    w->arranged = 0;
    y->leader = leader;
    while (x->next != TT_NONE)
        x = &w->weights[x->next];
    x->next = b;
    for (uint32_t i = 0; i < y->n_slices; i++)
        (void)tt_pagepool_join(w->pool, w->weights[leader].first_unit + i, y->first_unit + i);
    for (uint32_t k = leader; k != TT_NONE; k = w->weights[k].next)
        for (uint32_t i = 0; i < w->weights[k].n_slices; i++)
            w->sizes[w->weights[k].first_unit + i] =
                tt_pagepool_unit_bytes(w->pool, w->weights[k].first_unit + i);
}

uint32_t tt_weights_slices(const tt_weights *w, uint32_t i)
{
    return w->weights[i].n_slices;
}

/* --- dense weights in chunks --- */

/* Units, end exclusive. */
typedef struct units {
    uint32_t first, end;
} units;

/* The chunks of a dense weight's n bytes from byte `from` on. */
static units chunks_of(const weight *x, uint64_t from, uint64_t n)
{
    const uint64_t first = x->from + from, last = first + n - 1;
    if (x->n_slices || !x->chunk_bytes || !n) return (units){0, 0};
    return (units){
        x->first_unit + (first < x->cut ? 0 : 1 + (uint32_t)((first - x->cut) / x->chunk_bytes)),
        x->first_unit + (last < x->cut ? 1 : 2 + (uint32_t)((last - x->cut) / x->chunk_bytes))};
}

static units all_chunks_of(const weight *x)
{
    return chunks_of(x, 0, x->bytes);
}

static uint64_t chunk_bytes(uint64_t budget)
{
    uint64_t chunk = CHUNK_BYTES;
    while (chunk < CHUNK_MAX_BYTES && budget / chunk > CHUNKS_IN_BUDGET_MAX)
        chunk *= 2;
    while (chunk > CHUNK_MIN_BYTES && chunk > budget / CHUNKS_IN_BUDGET)
        chunk /= 2;
    return chunk;
}

/* Bytes of a region: of a dense weight, or of several that follow each other. */
typedef struct span {
    uint32_t region;
    uint64_t from, end;
    uint32_t weight;
} span;

TT_ORDER_BY(by_place, span, region, from, weight)

/* Where its first chunk ends. Those of a long one end at addresses of huge pages: then the kernel
 * moves such a page by one entry of the page table. */
static uint64_t first_cut(const weight *first, const span *all, uint64_t chunk)
{
    const uint64_t base = (uint64_t)(uintptr_t)first->at - first->from;
    const uint64_t page = (all->from + TT_PAGEPOOL_PAGE - 1) / TT_PAGEPOOL_PAGE * TT_PAGEPOOL_PAGE;
    if (chunk < CHUNK_BYTES || all->end - all->from < (CHUNKS_ALIGNED + 1) * chunk)
        return page + chunk;
    return (base + all->from + chunk) / chunk * chunk - base;
}

static void divide_span(tt_weights *w, const span *all, const span *each, uint32_t n)
{
    const uint64_t chunk = chunk_bytes(w->budget);
    const uint64_t cut = first_cut(&w->weights[all->weight], all, chunk);
    uint32_t first = TT_NONE;
    if (!has_units_left(w, (all->end - all->from) / chunk + 2)) return;
    for (uint64_t from = all->from, end = cut; from < all->end; from = end, end += chunk) {
        if (end > all->end) end = all->end;
        const uint32_t unit = add_unit(w, all->region, from, end - from, (trait){.dense = true});
        if (unit == TT_NONE) {
            if (first != TT_NONE) forget_units(w, first, w->n_traits);
            return;
        }
        if (first == TT_NONE) first = unit;
    }
    for (uint32_t i = 0; i < n; i++) {
        weight *x = &w->weights[each[i].weight];
        x->first_unit = first;
        x->cut = cut;
        x->chunk_bytes = chunk;
    }
}

/* Anew if there is one without chunks, with no unit present. Weights next to each other share those
 * between them: so chunks begin and end where the kernel moves them fastest. Weights that get none
 * are left to its paging. */
static void divide_dense(tt_weights *w)
{
    uint32_t n = 0;
    bool all = true;
    for (uint32_t i = 0; i < w->n_weights; i++)
        all &= w->weights[i].n_slices || w->weights[i].chunk_bytes;
    span *each = all ? NULL : malloc(w->n_weights * sizeof *each);
    if (!each) return;
    for (uint32_t u = 0; u < w->n_traits; u++)
        if (w->traits[u].dense) forget_units(w, u, u + 1);
    for (uint32_t i = 0; i < w->n_weights; i++) {
        weight *x = &w->weights[i];
        x->chunk_bytes = 0;
        if (!x->n_slices) each[n++] = (span){x->region, x->from, x->from + x->bytes, i};
    }
    qsort(each, n, sizeof *each, by_place);
    for (uint32_t i = 0, k; i < n; i = k) {
        span whole = each[i];
        for (k = i + 1; k < n && each[k].region == whole.region; k++) {
            if (each[k].from > whole.end + GAP_BYTES) break;
            if (each[k].end > whole.end) whole.end = each[k].end;
        }
        divide_span(w, &whole, each + i, k - i);
    }
    free(each);
}

/* --- what is kept --- */

typedef struct sums {
    uint64_t dense, experts, edges;
} sums;

static sums sum_up(const tt_weights *w)
{
    sums s = {.edges = tt_pagepool_edge_bytes(w->pool)};
    for (uint32_t u = 0; u < w->n_traits; u++)
        *(w->traits[u].dense ? &s.dense : &s.experts) += w->sizes[u];
    return s;
}

/* Marks chunks that a pass uses several times, with more than `most` bytes of others between. */
static void mark_apart(tt_weights *w, double most)
{
    uint64_t bytes = 0;
    w->walk++;
    for (uint32_t i = 0; i < w->n_weights; i++) {
        const units x = all_chunks_of(&w->weights[i]);
        for (uint32_t u = x.first; u < x.end; u++) {
            trait *t = &w->traits[u];
            const bool again = t->seen == w->walk;
            t->apart = again && (t->apart || (double)(bytes - t->used_at) > most);
            t->seen = w->walk;
            t->used_at = bytes;
            bytes += again ? 0 : w->sizes[u];
        }
    }
}

/* Pins `share` of the n bytes in total, chunk by chunk, so that the sum of the pinned ones stays
 * closest. At most half of the window is of one weight. */
static void pin_spread(tt_weights *w, uint64_t n, uint64_t share)
{
    double owed = 0;
    const double part = n ? (double)share / (double)n : 0;
    const uint64_t most_left = w->window_bytes ? w->window_bytes / 2 : UINT64_MAX;
    uint64_t left = share;
    /* Of what lies between, the pinned part takes nothing of the window. */
    if (share < n) mark_apart(w, (double)w->window_bytes / (1 - part));
    w->walk++;
    for (uint32_t i = 0; i < w->n_weights; i++) {
        const units x = all_chunks_of(&w->weights[i]);
        uint64_t out = 0;
        for (uint32_t u = x.first; u < x.end; u++) {
            trait *t = &w->traits[u];
            const uint64_t size = w->sizes[u];
            if (t->seen != w->walk) {
                owed += part * (double)size;
                const bool must = !size || out + size > most_left || t->apart;
                t->pinned = (must || owed >= (double)size / 2) && size <= left;
                if (t->pinned) owed -= (double)size;
                if (t->pinned) left -= size;
            }
            t->seen = w->walk;
            if (!t->pinned) out += size;
        }
    }
}

/* Divides the budget among the weights known so far. False: it is too small. */
static bool divide(tt_weights *w, const sums *s)
{
    tt_error err;
    const tt_policy_shares to = tt_policy_share(w->budget, s->dense, s->experts, s->edges);
    if (to.none) {
        tt_boost_report_problem(
            w->report, "the budget is too small for anything: all is left to the kernel's paging");
        return false;
    }
    /* Present units stay if all fit, and the others are read once. */
    w->window_bytes = to.window_bytes;
    tt_pagepool_stream(w->pool, w->window_bytes ? w->window_bytes / 2 : UINT64_MAX);
    pin_spread(w, s->dense, to.fit ? s->dense : to.pinned_bytes);
    const uint64_t cache_bytes = to.fit ? s->experts : to.cache_bytes;
    if (!s->experts) return true;
    if (w->cache) {
        tt_policy_resize(w->cache, cache_bytes);
        return true;
    }
    if (!tt_array_room_zeroed(w->policy_sizes, w->policy_sizes_capacity, w->n_traits)) return false;
    memset(w->policy_sizes, 0, w->n_traits * sizeof *w->policy_sizes);
    for (uint32_t i = 0; i < w->n_weights; i++)
        for (uint32_t k = 0; k < w->weights[i].n_slices; k++)
            w->policy_sizes[leader_of(w, &w->weights[i], k)] +=
                w->sizes[w->weights[i].first_unit + k];
    const tt_policy_setup setup = {.policy = w->policy,
                                   .n_units = w->n_traits,
                                   .capacity = cache_bytes,
                                   .unit_size = w->policy_sizes};
    if (tt_policy_new(&setup, dropped, w, &w->cache, &err) != TT_OK)
        tt_boost_report_problem(w->report, err.message);
    return true;
}

static void arrange(tt_weights *w)
{
    drop_all(w);
    divide_dense(w);
    const sums s = sum_up(w);
    w->arranged = w->n_weights;
    w->arrangement++;
    w->fits = s.dense + s.experts + s.edges <= w->cached_bytes;
    w->idle = w->fits || !divide(w, &s);
}

tt_budget tt_weights_budget(const tt_weights *w)
{
    return (tt_budget){atomic_load(&w->budget), atomic_load(&w->cached_bytes)};
}

void tt_weights_set_budget(tt_weights *w, tt_budget budget)
{
    const uint64_t before = atomic_exchange(&w->budget, budget.pool_bytes);
    atomic_store(&w->cached_bytes, budget.cached_bytes);
    if (!w->arranged || w->idle) {
        w->arranged = 0; /* the next pass decides */
        return;
    }
    const sums s = sum_up(w);
    if (!divide(w, &s)) {
        drop_all(w);
        w->arrangement++;
        w->idle = true;
        w->fits = false;
        return;
    }
    /* Units that were unpinned, or read ahead: the next op requests them again. */
    for (uint32_t u = 0; u < w->n_traits && budget.pool_bytes < before; u++)
        if (w->traits[u].dense && !w->traits[u].pinned) tt_pagepool_drop(w->pool, u);
}

/* --- a pass --- */

static bool add_turns(tt_weights *w, tt_weights_plan *plan, const tt_weight_step *s)
{
    const units x = chunks_of(&w->weights[s->weight], s->from, s->n);
    for (uint32_t u = x.first; u < x.end; u++) {
        tt_weight_turn *t = tt_array_add(plan->turns, plan->n_turns, plan->turns_capacity);
        if (!t) return false;
        *t = (tt_weight_turn){u, s->node};
    }
    return true;
}

/* Marks what the current node needs, and the next units, from `passed` on and over the end into the
 * next pass, as many as fit. The number of turns from there on. */
static uint32_t mark_ahead(tt_weights *w, const tt_weights_plan *plan)
{
    uint64_t streamed = 0, pinned = 0;
    uint32_t i;
    const uint64_t window_bytes = w->n_active > 1 ? w->window_bytes / w->n_active : w->window_bytes;
    w->walk++;
    for (i = 0; i < plan->n_turns; i++) {
        const uint32_t unit = plan->turns[(plan->passed + i) % plan->n_turns].unit;
        trait *t = &w->traits[unit];
        const uint64_t size = w->sizes[unit];
        if (t->seen == w->walk) continue;
        if (t->pinned && tt_pagepool_state(w->pool, unit) == TT_UNIT_PRESENT) continue;
        if (!t->pinned && streamed + size > window_bytes) break;
        if (t->pinned && pinned + size > AHEAD_BYTES && pinned) continue;
        *(t->pinned ? &pinned : &streamed) += size;
        t->seen = w->walk;
    }
    for (uint32_t k = 0; k < plan->n_now; k++)
        w->traits[plan->now[k]].seen = w->walk;
    return i;
}

static void drop_unmarked(tt_weights *w, uint32_t unit)
{
    const trait *t = &w->traits[unit];
    if (t->dense && !t->pinned && t->seen != w->walk) tt_pagepool_drop(w->pool, unit);
}

/* Another plan may still hold more than its share, or what its next pass needs; and what was
 * evicted while it was read takes memory until then. */
static bool has_room(const tt_weights *w, uint32_t unit)
{
    return !w->several || tt_pagepool_state(w->pool, unit) != TT_UNIT_ABSENT ||
           tt_pagepool_bytes(w->pool) + w->sizes[unit] <= w->budget;
}

static void request_marked(tt_weights *w, const tt_weights_plan *plan, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t unit = plan->turns[(plan->passed + i) % plan->n_turns].unit;
        const trait *t = &w->traits[unit];
        if (t->seen == w->walk && has_room(w, unit))
            (void)tt_pagepool_request(w->pool, unit, t->pinned ? TT_READ_KEPT : TT_READ_AHEAD);
    }
}

/* The turns of [from, to) are over: evicts their chunks, but what is needed soon, and requests
 * that. */
static void look_ahead(tt_weights *w, const tt_weights_plan *plan, uint32_t from, uint32_t to)
{
    const uint32_t n = mark_ahead(w, plan);
    for (uint32_t i = from; i < to; i++)
        drop_unmarked(w, plan->turns[i].unit);
    request_marked(w, plan, n);
}

static bool has_cache(const tt_weights *w, const tt_weights_plan *plan)
{
    return w->cache && plan->arrangement == w->arrangement;
}

static void release(tt_weights *w, tt_weights_plan *plan, uint32_t before)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < plan->n_held; i++) {
        if (plan->held[i].node >= before)
            plan->held[kept++] = plan->held[i];
        else if (has_cache(w, plan))
            tt_policy_release(w->cache, plan->held[i].unit);
    }
    plan->n_held = kept;
}

static void set_active(tt_weights *w, tt_weights_plan *plan, bool active)
{
    w->n_active += active;
    w->n_active -= plan->active;
    plan->active = active;
}

bool tt_weights_begin(tt_weights *w, tt_weights_plan *plan, const tt_weight_step *steps, uint32_t n)
{
    if (w->arranged != w->n_weights) arrange(w);
    /* Its cache may not exist any more; an engine that left its graph by an exception has not ended
     * it. */
    release(w, plan, UINT32_MAX);
    set_active(w, plan, false);
    w->several |= w->last && w->last != plan;
    w->last = plan;
    plan->arrangement = w->arrangement;
    plan->pass++;
    plan->n_turns = plan->passed = plan->dropped = 0;
    plan->n_now = 0;
    plan->node = 0;
    atomic_fetch_add(&w->report->graphs, 1);
    atomic_fetch_add(&w->report->fits, w->idle && w->fits);
    if (w->idle) return false;
    for (uint32_t i = 0; i < n; i++)
        if (!add_turns(w, plan, &steps[i])) return false;
    set_active(w, plan, true);
    /* Evicts what another order needed and this one does not need soon. */
    const uint32_t ahead = mark_ahead(w, plan);
    for (uint32_t u = 0; u < w->n_traits; u++)
        drop_unmarked(w, u);
    request_marked(w, plan, ahead);
    return true;
}

static bool need(tt_weights_plan *plan, uint32_t unit)
{
    const uint32_t n = plan->n_now;
    if (n == TT_WEIGHTS_NOW_MAX) return false;
    plan->now[n] = unit;
    plan->n_now = n + 1;
    return true;
}

/* Its units are not those of the weights any more: what is not loaded is read through the mapping.
 */
static void leave_old(const tt_weights *w, tt_weights_plan *plan)
{
    if (plan->arrangement != w->arrangement) plan->n_turns = plan->passed = plan->dropped = 0;
}

void tt_weights_advance(tt_weights *w, tt_weights_plan *plan, uint32_t node)
{
    plan->node = node;
    plan->n_now = 0;
    leave_old(w, plan);
    while (plan->passed < plan->n_turns && plan->turns[plan->passed].node < node)
        plan->passed++;
    release(w, plan, node);
    bool all_requested = true;
    for (uint32_t i = plan->passed; i < plan->n_turns && plan->turns[i].node == node; i++) {
        const uint32_t unit = plan->turns[i].unit;
        (void)need(plan, unit);
        if (tt_pagepool_state(w->pool, unit) == TT_UNIT_ABSENT)
            all_requested = false;
        else /* it may have been dropped while it is read */
            (void)tt_pagepool_request(w->pool, unit, TT_READ_AHEAD);
    }
    if (!all_requested) tt_weights_look_ahead(w, plan);
}

void tt_weights_look_ahead(tt_weights *w, tt_weights_plan *plan)
{
    leave_old(w, plan);
    look_ahead(w, plan, plan->dropped, plan->passed);
    plan->dropped = plan->passed;
}

/* leader: the policy's unit. */
static bool hold(tt_weights *w, tt_weights_plan *plan, uint32_t leader, uint32_t node)
{
    tt_weight_turn *t = tt_array_add(plan->held, plan->n_held, plan->held_capacity);
    if (!t) return false;
    *t = (tt_weight_turn){leader, node};
    tt_policy_hold(w->cache, leader);
    return true;
}

static bool is_held(const tt_weights_plan *plan, uint32_t leader, uint32_t node)
{
    for (uint32_t i = 0; i < plan->n_held; i++)
        if (plan->held[i].unit == leader && plan->held[i].node == node) return true;
    return false;
}

static void request_slice(tt_weights *w, uint32_t unit, enum tt_read_cause cause)
{
    const bool absent = tt_pagepool_state(w->pool, unit) == TT_UNIT_ABSENT;
    if (has_room(w, unit) && tt_pagepool_request(w->pool, unit, cause) && absent)
        w->traits[unit].unused = true;
}

/* Requests a slice that is used at a later node. False: there is no room for it. */
static bool ask(tt_weights *w, tt_weights_plan *plan, const weight *x, uint32_t slice,
                uint32_t node, enum tt_read_cause cause)
{
    const tt_policy_use use = {leader_of(w, x, slice), plan->pass, TT_POLICY_NEVER};
    if (!tt_policy_has(w->cache, use.unit) && !tt_policy_fetch(w->cache, &use)) return false;
    if (!hold(w, plan, use.unit, node)) return false;
    request_slice(w, x->first_unit + slice, cause);
    return true;
}

void tt_weights_ahead(tt_weights *w, tt_weights_plan *plan, uint32_t i, uint32_t node,
                      const uint16_t *slices, uint32_t n)
{
    const weight *x = &w->weights[i];
    for (uint32_t k = 0; has_cache(w, plan) && k < n; k++)
        if (slices[k] < x->n_slices && !ask(w, plan, x, slices[k], node, TT_READ_CHOSEN)) return;
}

uint32_t tt_weights_stream(tt_weights *w, tt_weights_plan *plan, uint32_t i, uint32_t node,
                           uint32_t from)
{
    const weight *x = &w->weights[i];
    if (!has_cache(w, plan)) return x->n_slices;
    while (from < x->n_slices && ask(w, plan, x, from, node, TT_READ_AHEAD))
        from++;
    return from;
}

void tt_weights_use(tt_weights *w, tt_weights_plan *plan, uint32_t i, const uint16_t *slices,
                    uint32_t n)
{
    const weight *x = &w->weights[i];
    atomic_fetch_add(&w->report->slices_used, n);
    for (uint32_t k = 0; has_cache(w, plan) && k < n; k++) {
        if (slices[k] >= x->n_slices) continue;
        const uint32_t unit = x->first_unit + slices[k];
        const tt_policy_use use = {leader_of(w, x, slices[k]), plan->pass, TT_POLICY_NEVER};
        /* Count one use for all of them. */
        if (x->leader == i || !tt_policy_has(w->cache, use.unit))
            (void)tt_policy_use_unit(w->cache, &use);
        if (!tt_policy_has(w->cache, use.unit)) {
            atomic_fetch_add(&w->report->slices_left, 1);
            continue;
        }
        if (!is_held(plan, use.unit, plan->node)) (void)hold(w, plan, use.unit, plan->node);
        request_slice(w, unit, TT_READ_AT_OP);
        if (tt_pagepool_state(w->pool, unit) == TT_UNIT_ABSENT)
            atomic_fetch_add(&w->report->slices_left, 1);
        else
            atomic_fetch_add(&w->report->slices_read, w->traits[unit].unused);
        w->traits[unit].unused = false;
        (void)need(plan, unit);
    }
}

uint64_t tt_weights_wait(tt_weights *w, const tt_weights_plan *plan)
{
    const uint32_t node = plan->node, n = plan->n_now;
    const uint64_t ticks = tt_ticks();
    uint64_t ns = 0;
    for (uint32_t i = 0; i < n; i++)
        tt_pagepool_will_wait(w->pool, plan->now[i], ticks);
    /* The list changes only when all threads have left the node, or the engine has abandoned its
     * graph: then a thread may wait for another node's units, which ends, too. The last one first:
     * when it is present the others usually are, so a thread wakes once. */
    for (uint32_t i = n; i-- > 0 && plan->node == node;)
        ns += tt_pagepool_wait(w->pool, plan->now[i]);
    return ns;
}

void tt_weights_end(tt_weights *w, tt_weights_plan *plan)
{
    release(w, plan, UINT32_MAX);
    leave_old(w, plan);
    plan->n_now = 0;
    plan->passed = 0;
    look_ahead(w, plan, plan->dropped, plan->n_turns);
    plan->dropped = 0;
    set_active(w, plan, false);
}

#define RESERVE_PART 32u /* of what is available */
#define RESERVE_MIN_BYTES (UINT64_C(32) << 20)
#define RESERVE_MAX_BYTES (UINT64_C(1) << 30)
/* Where the kernel caches all weights. */
#define CACHE_RESERVE_PART 256u
#define CACHE_RESERVE_MIN_BYTES (UINT64_C(1) << 20)
#define TICK_NS 10000000L
#define TICKS_A_LOOK 10u /* unless memory grows fast */
#define TICKS_BEFORE_MORE 200u
#define GROWTH_BYTES (RESERVE_MIN_BYTES / 4)
#define CHANGE_PART 64u /* of the budget: ignore smaller changes */
#define STACK_BYTES (128u << 10)

struct tt_budget_watch {
    tt_pagepool *pool;
    tt_weights *weights;
    tt_host_growth *growth;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t end;
    bool ending;
};

tt_budget tt_budget_now(uint64_t present_bytes)
{
    const uint64_t room = tt_host_memory_room("");
    uint64_t all, reserve, cache_reserve;
    if (room >= TT_HOST_UNLIMITED || __builtin_add_overflow(present_bytes, room, &all))
        return (tt_budget){UINT64_MAX, UINT64_MAX};
    reserve = all / RESERVE_PART;
    if (reserve < RESERVE_MIN_BYTES) reserve = RESERVE_MIN_BYTES;
    if (reserve > RESERVE_MAX_BYTES) reserve = RESERVE_MAX_BYTES;
    cache_reserve = all / CACHE_RESERVE_PART;
    if (cache_reserve < CACHE_RESERVE_MIN_BYTES) cache_reserve = CACHE_RESERVE_MIN_BYTES;
    return (tt_budget){all > reserve ? all - reserve : 0,
                       all > cache_reserve ? all - cache_reserve : 0};
}

/* False: stop. */
static bool sleep_for(tt_budget_watch *b, long ns)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += ns;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    (void)pthread_mutex_lock(&b->lock);
    while (!b->ending && pthread_cond_timedwait(&b->end, &b->lock, &until) == 0) {
    }
    const bool on = !b->ending;
    (void)pthread_mutex_unlock(&b->lock);
    return on;
}

static void *watch(void *context)
{
    tt_budget_watch *b = context;
    unsigned more = 0, ticks = 0, wait = 1;
    uint64_t held = tt_pagepool_bytes(b->pool);
    while (sleep_for(b, TICK_NS)) {
        const uint64_t holds = tt_pagepool_bytes(b->pool), ours = holds > held ? holds - held : 0;
        const bool due = ++ticks >= TICKS_A_LOOK;
        if (!due && (ticks < wait || tt_host_growth_bytes(b->growth, ours) < GROWTH_BYTES))
            continue;
        tt_host_growth_mark(b->growth);
        held = holds;
        const tt_budget next = tt_budget_now(holds);
        const uint64_t has = tt_weights_budget(b->weights).pool_bytes, now = next.pool_bytes;
        uint64_t least = has / CHANGE_PART;
        if (now < has && least > GROWTH_BYTES) least = GROWTH_BYTES;
        /* What grew was page cache, which is free: look less often. */
        wait = due || has > now + least ? 1 : 2 * wait;
        more = now > has && now - has > least ? more + ticks : 0;
        ticks = 0;
        if (now >= has ? more < TICKS_BEFORE_MORE : has - now <= least) continue;
        more = 0;
        tt_pagepool_lock(b->pool);
        tt_weights_set_budget(b->weights, next);
        if (now < has) tt_pagepool_trim(b->pool);
        tt_pagepool_unlock(b->pool);
    }
    return NULL;
}

tt_budget_watch *tt_budget_begin(tt_pagepool *pool, tt_weights *weights)
{
    pthread_condattr_t monotonic;
    pthread_attr_t attributes;
    sigset_t all, before;
    tt_budget_watch *b = calloc(1, sizeof *b);
    if (!b) return NULL;
    *b = (tt_budget_watch){.pool = pool, .weights = weights, .growth = tt_host_growth_new("")};
    (void)pthread_mutex_init(&b->lock, NULL);
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&b->end, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    (void)pthread_attr_init(&attributes);
    (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool started = b->growth && pthread_create(&b->thread, &attributes, watch, b) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attributes);
    if (started) return b;
    tt_host_growth_free(b->growth);
    free(b);
    return NULL;
}

void tt_budget_end(tt_budget_watch *b)
{
    if (!b) return;
    (void)pthread_mutex_lock(&b->lock);
    b->ending = true;
    (void)pthread_cond_signal(&b->end);
    (void)pthread_mutex_unlock(&b->lock);
    (void)pthread_join(b->thread, NULL);
    tt_host_growth_free(b->growth);
    free(b);
}
