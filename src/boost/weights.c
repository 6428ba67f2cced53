#include "boost/weights.h"

#include "base/array.h"
#include "base/clock.h"
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
#define CHUNKS_IN_BUDGET 32u /* at least */
#define CHUNKS_MAX 1024u     /* per weight: then they are larger */
#define SMALL_BYTES (UINT64_C(64) << 10)
#define AHEAD_BYTES (UINT64_C(64) << 20) /* of pinned chunks, during their first load */

typedef struct weight {
    const uint8_t *at;
    uint64_t bytes;
    uint64_t unit_bytes; /* of each unit except the last */
    uint32_t n_slices;   /* 0: dense */
    uint32_t first_unit, n_units;
    uint32_t leader; /* weight whose slices of the same number are kept together with these; or
                        itself */
    uint32_t next;   /* weight with that leader; TT_NONE: none */
} weight;

/* Properties of a unit. */
typedef struct trait {
    uint32_t seen; /* the last traversal that saw it */
    uint32_t weight;
    bool dense;
    bool pinned;
} trait;

struct tt_weights {
    tt_pagepool *pool;
    tt_boost_report *report;
    _Atomic uint64_t budget; /* read without the lock, too */
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
    uint64_t window_bytes;
    uint32_t arranged;    /* number of weights at the last division */
    uint32_t arrangement; /* number of divisions */
    uint64_t deaths;
    uint32_t found; /* the last weight that was found: graphs ask in the same order */
    uint32_t walk;
    bool idle; /* everything fits, or nothing can be kept */
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

tt_status tt_weights_new(tt_pagepool *pool, uint64_t budget, tt_policy policy,
                         tt_boost_report *report, tt_weights **out, tt_error *err)
{
    *out = calloc(1, sizeof **out);
    if (!*out) return tt_error_memory(err, "the weights' places");
    **out = (tt_weights){.pool = pool, .policy = policy, .report = report};
    atomic_store(&(*out)->budget, budget);
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

void tt_weights_refresh(tt_weights *w)
{
    if (w->deaths == tt_pagepool_deaths(w->pool)) return;
    w->deaths = tt_pagepool_deaths(w->pool);
    drop_all(w);
    w->n_weights = w->arranged = w->found = 0;
    atomic_store(&w->report->weights_bytes, 0);
}

static bool add_units(tt_weights *w, weight *new, uint32_t region, uint64_t from)
{
    for (uint64_t done = 0; done < new->bytes; done += new->unit_bytes) {
        const uint64_t left = new->bytes - done;
        const uint64_t n = left < new->unit_bytes ? left : new->unit_bytes;
        const uint32_t unit = tt_pagepool_unit(w->pool, region, from + done, n);
        if (unit == TT_NONE || !tt_array_room_zeroed(w->traits, w->traits_capacity, unit + 1u) ||
            !tt_array_room_zeroed(w->sizes, w->sizes_capacity, unit + 1u))
            return false;
        w->n_traits = unit + 1;
        w->traits[unit] = (trait){.weight = w->n_weights - 1, .dense = new->n_slices == 0};
        w->sizes[unit] = tt_pagepool_unit_bytes(w->pool, unit);
        if (!new->n_units++) new->first_unit = unit;
    }
    return true;
}

/* Chunks begin at pages, so that only the first and the last have edges. */
static uint64_t unit_bytes(uint64_t budget, uint64_t bytes, uint32_t n_slices)
{
    uint64_t chunk = CHUNK_BYTES;
    if (n_slices) return bytes / n_slices;
    while (bytes / chunk > CHUNKS_MAX)
        chunk *= 2;
    while (chunk > CHUNK_MIN_BYTES && chunk > budget / CHUNKS_IN_BUDGET)
        chunk /= 2;
    return chunk;
}

static bool add_weight(tt_weights *w, const void *at, uint64_t n, uint32_t n_slices)
{
    uint32_t region;
    uint64_t from;
    if (!tt_pagepool_find(w->pool, at, n, &region, &from)) return false;
    const uint64_t units = n_slices ? n_slices : n / unit_bytes(w->budget, n, 0) + 2;
    if (units > tt_pagepool_units_left(w->pool)) {
        tt_boost_report_problem(
            w->report,
            "too many weights so far: those of further models are left to the kernel's paging");
        return false;
    }
    /* The policy knows the units' sizes, which will be reallocated. */
    if (w->cache) drop_all(w);
    weight *new = tt_array_add(w->weights, w->n_weights, w->weights_capacity);
    if (!new) return false;
    *new = (weight){.at = at, .bytes = n, .n_slices = n_slices, .next = TT_NONE};
    new->leader = w->n_weights - 1;
    new->unit_bytes = unit_bytes(w->budget, n, n_slices);
    uint64_t head = 0;
    /* The first chunk ends at a page. */
    if (!n_slices && from % TT_PAGEPOOL_PAGE) head = TT_PAGEPOOL_PAGE - from % TT_PAGEPOOL_PAGE;
    if (head && head < n) {
        weight first = {.bytes = head, .unit_bytes = head};
        weight rest = *new;
        rest.bytes = n - head;
        if (!add_units(w, &first, region, from) || !add_units(w, &rest, region, from + head)) {
            w->n_weights--;
            return false;
        }
        new->first_unit = first.first_unit;
        new->n_units = first.n_units + rest.n_units;
    } else if (!add_units(w, new, region, from)) {
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
        for (uint32_t i = 0; i < w->weights[k].n_units; i++)
            w->sizes[w->weights[k].first_unit + i] =
                tt_pagepool_unit_bytes(w->pool, w->weights[k].first_unit + i);
}

uint32_t tt_weights_slices(const tt_weights *w, uint32_t i)
{
    return w->weights[i].n_slices;
}

/* --- what is kept --- */

typedef struct sums {
    uint64_t dense, experts, edges;
} sums;

static sums sum_up(const tt_weights *w)
{
    sums s = {.edges = tt_pagepool_edge_bytes(w->pool)};
    for (uint32_t i = 0; i < w->n_weights; i++)
        for (uint32_t u = 0; u < w->weights[i].n_units; u++)
            *(w->weights[i].n_slices ? &s.experts : &s.dense) +=
                w->sizes[w->weights[i].first_unit + u];
    return s;
}

/* Pins `share` of the n bytes in total, chunk by chunk, so that the sum of the pinned ones stays
 * closest. At most most_left of a weight is not pinned. */
static void pin_spread(tt_weights *w, uint64_t n, uint64_t share, uint64_t most_left)
{
    double owed = 0;
    const double part = n ? (double)share / (double)n : 0;
    uint64_t left = share;
    for (uint32_t i = 0; i < w->n_weights; i++) {
        const weight *x = &w->weights[i];
        uint64_t out = 0;
        for (uint32_t u = x->first_unit; !x->n_slices && u < x->first_unit + x->n_units; u++) {
            trait *t = &w->traits[u];
            const uint64_t size = w->sizes[u];
            owed += part * (double)size;
            const bool must = !size || out + size > most_left || x->bytes < SMALL_BYTES;
            t->pinned = (must || owed >= (double)size / 2) && size <= left;
            if (t->pinned) owed -= (double)size;
            if (t->pinned) left -= size;
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
    pin_spread(w, s->dense, to.fit ? s->dense : to.pinned_bytes,
               w->window_bytes ? w->window_bytes / 2 : UINT64_MAX);
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
    const sums s = sum_up(w);
    w->arranged = w->n_weights;
    w->arrangement++;
    drop_all(w);
    w->idle = s.dense + s.experts + s.edges <= w->budget || !divide(w, &s);
}

uint64_t tt_weights_budget(const tt_weights *w)
{
    return atomic_load(&w->budget);
}

void tt_weights_set_budget(tt_weights *w, uint64_t budget)
{
    const uint64_t before = atomic_exchange(&w->budget, budget);
    if (!w->arranged || w->idle) {
        w->arranged = 0; /* the next pass decides */
        return;
    }
    const sums s = sum_up(w);
    if (!divide(w, &s)) {
        drop_all(w);
        w->arrangement++;
        w->idle = true;
        return;
    }
    /* Units that were unpinned, or read ahead: the next op requests them again. */
    for (uint32_t u = 0; u < w->n_traits && budget < before; u++)
        if (w->traits[u].dense && !w->traits[u].pinned) tt_pagepool_drop(w->pool, u);
}

/* --- a pass --- */

static bool add_turns(tt_weights *w, tt_weights_plan *plan, const tt_weight_step *s)
{
    const weight *x = &w->weights[s->weight];
    if (x->n_slices) return true;
    for (uint32_t u = x->first_unit; u < x->first_unit + x->n_units; u++) {
        tt_weight_turn *t = tt_array_add(plan->turns, plan->n_turns, plan->turns_capacity);
        if (!t) return false;
        *t = (tt_weight_turn){u, s->node};
    }
    return true;
}

/* Requests the next units, from `passed` on and over the end into the next pass, as many as fit. */
static void look_ahead(tt_weights *w, tt_weights_plan *plan)
{
    uint64_t streamed = 0, pinned = 0;
    w->walk++;
    for (uint32_t i = 0; i < plan->n_turns; i++) {
        const uint32_t unit = plan->turns[(plan->passed + i) % plan->n_turns].unit;
        trait *t = &w->traits[unit];
        const uint64_t size = w->sizes[unit];
        if (t->seen == w->walk) continue;
        if (t->pinned && tt_pagepool_state(w->pool, unit) == TT_UNIT_PRESENT) continue;
        if (!t->pinned && streamed + size > w->window_bytes) break;
        if (t->pinned && pinned + size > AHEAD_BYTES && pinned) break;
        *(t->pinned ? &pinned : &streamed) += size;
        t->seen = w->walk;
        (void)tt_pagepool_request(w->pool, unit, t->pinned ? TT_READ_KEPT : TT_READ_AHEAD);
    }
}

/* Evicts streamed chunks of [from, to), but what the current node needs. */
static void drop_turns(tt_weights *w, const tt_weights_plan *plan, uint32_t from, uint32_t to)
{
    w->walk++;
    for (uint32_t i = 0; i < plan->n_now; i++)
        w->traits[plan->now[i]].seen = w->walk;
    for (uint32_t i = from; i < to; i++) {
        const trait *t = &w->traits[plan->turns[i].unit];
        if (!t->pinned && t->seen != w->walk) tt_pagepool_drop(w->pool, plan->turns[i].unit);
    }
}

/* Evicts what another order needed and this one does not need soon. */
static void drop_unplanned(tt_weights *w, const tt_weights_plan *plan)
{
    uint64_t streamed = 0;
    w->walk++;
    for (uint32_t i = 0; i < plan->n_turns && streamed <= w->window_bytes; i++) {
        trait *t = &w->traits[plan->turns[i].unit];
        if (t->pinned || t->seen == w->walk) continue;
        t->seen = w->walk;
        streamed += w->sizes[plan->turns[i].unit];
    }
    for (uint32_t u = 0; u < w->n_traits; u++)
        if (w->traits[u].dense && !w->traits[u].pinned && w->traits[u].seen != w->walk)
            tt_pagepool_drop(w->pool, u);
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

bool tt_weights_begin(tt_weights *w, tt_weights_plan *plan, const tt_weight_step *steps, uint32_t n)
{
    if (w->arranged != w->n_weights) arrange(w);
    /* Its cache may not exist any more; an engine that left its graph by an exception has not ended
     * it. */
    release(w, plan, UINT32_MAX);
    plan->arrangement = w->arrangement;
    plan->pass++;
    plan->n_turns = plan->passed = plan->dropped = 0;
    plan->n_now = 0;
    plan->node = 0;
    atomic_fetch_add(&w->report->graphs, 1);
    atomic_fetch_add(&w->report->fits, w->idle);
    if (w->idle) return false;
    for (uint32_t i = 0; i < n; i++)
        if (!add_turns(w, plan, &steps[i])) return false;
    drop_unplanned(w, plan);
    look_ahead(w, plan);
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

void tt_weights_advance(tt_weights *w, tt_weights_plan *plan, uint32_t node)
{
    plan->node = node;
    plan->n_now = 0;
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
    drop_turns(w, plan, plan->dropped, plan->passed);
    plan->dropped = plan->passed;
    if (plan->n_turns) look_ahead(w, plan);
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
    if (tt_pagepool_request(w->pool, unit, cause))
        atomic_fetch_add(&w->report->slices_read, absent);
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
        (void)need(plan, unit);
    }
}

void tt_weights_wait(tt_weights *w, const tt_weights_plan *plan)
{
    const uint32_t node = plan->node, n = plan->n_now;
    const uint64_t ticks = tt_ticks();
    for (uint32_t i = 0; i < n; i++)
        tt_pagepool_will_wait(w->pool, plan->now[i], ticks);
    /* The list changes only when all threads have left the node, or the engine has abandoned its
     * graph: then a thread may wait for another node's units, which ends, too. The last one first:
     * when it is present the others usually are, so a thread wakes once. */
    for (uint32_t i = n; i-- > 0 && plan->node == node;)
        tt_pagepool_wait(w->pool, plan->now[i]);
}

void tt_weights_end(tt_weights *w, tt_weights_plan *plan)
{
    release(w, plan, UINT32_MAX);
    plan->n_now = 0;
    drop_turns(w, plan, plan->dropped, plan->n_turns);
    plan->passed = plan->dropped = 0;
    if (plan->n_turns) look_ahead(w, plan);
}

#define RESERVE_PART 16u /* of what is available */
#define RESERVE_MIN_BYTES (UINT64_C(32) << 20)
#define RESERVE_MAX_BYTES (UINT64_C(1) << 30)
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

uint64_t tt_budget_now(uint64_t present_bytes)
{
    const uint64_t room = tt_host_memory_room("");
    uint64_t all, reserve;
    if (room >= TT_HOST_UNLIMITED || __builtin_add_overflow(present_bytes, room, &all))
        return UINT64_MAX;
    reserve = all / RESERVE_PART;
    if (reserve < RESERVE_MIN_BYTES) reserve = RESERVE_MIN_BYTES;
    if (reserve > RESERVE_MAX_BYTES) reserve = RESERVE_MAX_BYTES;
    return all > reserve ? all - reserve : 0;
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
        const uint64_t has = tt_weights_budget(b->weights);
        const uint64_t now = tt_budget_now(holds);
        uint64_t least = has / CHANGE_PART;
        if (now < has && least > GROWTH_BYTES) least = GROWTH_BYTES;
        /* What grew was page cache, which is free: look less often. */
        wait = due || has > now + least ? 1 : 2 * wait;
        more = now > has && now - has > least ? more + ticks : 0;
        ticks = 0;
        if (now >= has ? more < TICKS_BEFORE_MORE : has - now <= least) continue;
        more = 0;
        tt_pagepool_lock(b->pool);
        tt_weights_set_budget(b->weights, now);
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
