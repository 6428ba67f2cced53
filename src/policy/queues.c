#include "policy/parts.h"

#include <stdlib.h>

bool tt_lists_make(tt_lists *l, uint32_t n_units, uint32_t n_lists)
{
    const size_t n = (size_t)n_units + n_lists;
    l->n_units = n_units;
    l->next = calloc(n, sizeof *l->next);
    l->before = calloc(n, sizeof *l->before);
    l->list = malloc(((size_t)n_units + 1) * sizeof *l->list);
    l->size = calloc(n_lists, sizeof *l->size);
    if (!l->next || !l->before || !l->list || !l->size) return false;
    for (uint32_t i = 0; i < n_units; i++)
        l->list[i] = TT_POLICY_NONE;
    for (uint32_t i = n_units; i < n; i++)
        l->next[i] = l->before[i] = i;
    return true;
}

void tt_lists_free(tt_lists *l)
{
    free(l->next);
    free(l->before);
    free(l->list);
    free(l->size);
}

void tt_lists_put_first(tt_lists *l, uint32_t list, uint32_t unit, uint64_t size)
{
    const uint32_t anchor = l->n_units + list, second = l->next[anchor];
    l->next[unit] = second;
    l->before[unit] = anchor;
    l->before[second] = unit;
    l->next[anchor] = unit;
    l->list[unit] = list;
    l->size[list] += size;
}

void tt_lists_take(tt_lists *l, uint32_t unit, uint64_t size)
{
    l->next[l->before[unit]] = l->next[unit];
    l->before[l->next[unit]] = l->before[unit];
    l->size[l->list[unit]] -= size;
    l->list[unit] = TT_POLICY_NONE;
}

uint32_t tt_lists_last(const tt_lists *l, uint32_t list)
{
    return tt_lists_ahead(l, l->n_units + list);
}

uint32_t tt_lists_ahead(const tt_lists *l, uint32_t unit)
{
    const uint32_t ahead = l->before[unit];
    return ahead < l->n_units ? ahead : TT_POLICY_NONE;
}

/* Policies by lists: lru, clock, arc, s3-fifo, least-stale, pin-hot and pin-lru. */

static void put_first(tt_policy_cache *c, uint32_t list, uint32_t unit)
{
    tt_lists_put_first(&c->lists, list, unit, tt_policy_size(c, unit));
}

static void take(tt_policy_cache *c, uint32_t unit)
{
    tt_lists_take(&c->lists, unit, tt_policy_size(c, unit));
}

static void move_first(tt_policy_cache *c, uint32_t list, uint32_t unit)
{
    take(c, unit);
    put_first(c, list, unit);
}

static uint32_t last_free(const tt_policy_cache *c, uint32_t list)
{
    uint32_t unit = tt_lists_last(&c->lists, list);
    while (unit != TT_POLICY_NONE && c->held[unit])
        unit = tt_lists_ahead(&c->lists, unit);
    return unit;
}

/* --- lru --- */

static void lru_hit(tt_policy_cache *c, const tt_policy_use *use)
{
    move_first(c, 0, use->unit);
}

static uint32_t lru_victim(tt_policy_cache *c, const tt_policy_use *use)
{
    (void)use;
    return last_free(c, 0);
}

static void lru_enter(tt_policy_cache *c, const tt_policy_use *use)
{
    put_first(c, 0, use->unit);
}

const tt_policy_rules tt_rules_lru = {
    .lists = 1, .hit = lru_hit, .victim = lru_victim, .leave = take, .enter = lru_enter};

/* --- clock --- */

static void clock_hit(tt_policy_cache *c, const tt_policy_use *use)
{
    c->uses[use->unit] = 1;
}

static uint32_t clock_victim(tt_policy_cache *c, const tt_policy_use *use)
{
    uint32_t unit;
    (void)use;
    while ((unit = last_free(c, 0)) != TT_POLICY_NONE && c->uses[unit]) {
        c->uses[unit] = 0;
        move_first(c, 0, unit);
    }
    return unit;
}

static void clock_enter(tt_policy_cache *c, const tt_policy_use *use)
{
    c->uses[use->unit] = 0;
    put_first(c, 0, use->unit);
}

const tt_policy_rules tt_rules_clock = {
    .lists = 1, .hit = clock_hit, .victim = clock_victim, .leave = take, .enter = clock_enter};

/* --- arc --- */

/* Lists: units used once, units used more often; and evicted units of each. */
enum { ONCE, OFTEN, WAS_ONCE, WAS_OFTEN };

static void arc_begin(tt_policy_cache *c)
{
    if (c->arc_target > (double)c->capacity) c->arc_target = (double)c->capacity;
}

static void arc_hit(tt_policy_cache *c, const tt_policy_use *use)
{
    move_first(c, OFTEN, use->unit);
}

/* A miss of a recently evicted unit shows that its list should be larger. */
static void arc_missed(tt_policy_cache *c, const tt_policy_use *use)
{
    const uint64_t *size = c->lists.size;
    c->was_in = c->lists.list[use->unit];
    if (c->was_in == TT_POLICY_NONE) return;
    const double once = (double)size[WAS_ONCE], often = (double)size[WAS_OFTEN];
    if (c->was_in == WAS_ONCE) {
        c->arc_target += often > once ? often / once : 1;
        arc_begin(c);
    } else {
        c->arc_target -= once > often ? once / often : 1;
        if (c->arc_target < 0) c->arc_target = 0;
    }
    take(c, use->unit);
}

static uint32_t arc_replaced(const tt_policy_cache *c)
{
    const double once = (double)c->lists.size[ONCE];
    const bool from_once =
        (once > 0 && (once > c->arc_target || (once == c->arc_target && c->was_in == WAS_OFTEN))) ||
        c->lists.size[OFTEN] == 0;
    const uint32_t unit = last_free(c, from_once ? ONCE : OFTEN);
    return unit != TT_POLICY_NONE ? unit : last_free(c, from_once ? OFTEN : ONCE);
}

static uint32_t arc_victim(tt_policy_cache *c, const tt_policy_use *use)
{
    const uint64_t *size = c->lists.size;
    c->forgets = false;
    if (!use || c->was_in != TT_POLICY_NONE) return arc_replaced(c);
    if (size[ONCE] + size[WAS_ONCE] + tt_policy_size(c, use->unit) > c->capacity) {
        if (size[WAS_ONCE] == 0) {
            const uint32_t unit = last_free(c, ONCE);
            c->forgets = unit != TT_POLICY_NONE;
            return c->forgets ? unit : last_free(c, OFTEN);
        }
        take(c, tt_lists_last(&c->lists, WAS_ONCE));
    } else if (size[ONCE] + size[WAS_ONCE] + size[OFTEN] + size[WAS_OFTEN] >= 2 * c->capacity &&
               size[WAS_OFTEN] > 0) {
        take(c, tt_lists_last(&c->lists, WAS_OFTEN));
    }
    return arc_replaced(c);
}

static void arc_leave(tt_policy_cache *c, uint32_t unit)
{
    const uint32_t list = c->lists.list[unit];
    take(c, unit);
    if (!c->forgets) put_first(c, list == ONCE ? WAS_ONCE : WAS_OFTEN, unit);
}

static void arc_enter(tt_policy_cache *c, const tt_policy_use *use)
{
    put_first(c, c->was_in == TT_POLICY_NONE ? ONCE : OFTEN, use->unit);
}

const tt_policy_rules tt_rules_arc = {.lists = 4,
                                      .begin = arc_begin,
                                      .hit = arc_hit,
                                      .missed = arc_missed,
                                      .victim = arc_victim,
                                      .leave = arc_leave,
                                      .enter = arc_enter};

/* --- s3-fifo --- */

enum { SMALL, MAIN, GHOST };
#define SMALL_SHARE 0.1
#define GHOST_SHARE 0.9
#define USES_TO_MAIN 2
#define USES_MAX 3

static uint64_t small_capacity(const tt_policy_cache *c)
{
    return tt_policy_part(c->capacity, SMALL_SHARE);
}

static void s3_hit(tt_policy_cache *c, const tt_policy_use *use)
{
    if (c->uses[use->unit] < UINT8_MAX) c->uses[use->unit]++;
}

static void s3_missed(tt_policy_cache *c, const tt_policy_use *use)
{
    c->was_in = c->lists.list[use->unit];
    if (c->was_in != TT_POLICY_NONE) take(c, use->unit);
}

static uint32_t s3_main_victim(tt_policy_cache *c)
{
    uint32_t unit;
    while ((unit = last_free(c, MAIN)) != TT_POLICY_NONE && c->uses[unit]) {
        c->uses[unit] = (uint8_t)((c->uses[unit] < USES_MAX ? c->uses[unit] : USES_MAX) - 1);
        move_first(c, MAIN, unit);
    }
    return unit;
}

static uint32_t s3_small_victim(tt_policy_cache *c)
{
    uint32_t unit;
    while ((unit = last_free(c, SMALL)) != TT_POLICY_NONE && c->uses[unit] >= USES_TO_MAIN) {
        c->uses[unit] = 0;
        move_first(c, MAIN, unit);
    }
    return unit;
}

static uint32_t s3_victim(tt_policy_cache *c, const tt_policy_use *use)
{
    const uint64_t *size = c->lists.size;
    uint32_t unit = TT_POLICY_NONE;
    (void)use;
    if (size[MAIN] <= c->capacity - small_capacity(c) && size[SMALL] > 0) unit = s3_small_victim(c);
    if (unit == TT_POLICY_NONE) unit = s3_main_victim(c);
    return unit != TT_POLICY_NONE ? unit : s3_small_victim(c);
}

static void s3_leave(tt_policy_cache *c, uint32_t unit)
{
    const uint64_t capacity = tt_policy_part(c->capacity, GHOST_SHARE);
    const uint64_t size = tt_policy_size(c, unit);
    const bool is_remembered = c->lists.list[unit] == SMALL && size <= capacity;
    take(c, unit);
    while (is_remembered && c->lists.size[GHOST] + size > capacity)
        take(c, tt_lists_last(&c->lists, GHOST));
    if (is_remembered) put_first(c, GHOST, unit);
}

static void s3_enter(tt_policy_cache *c, const tt_policy_use *use)
{
    /* The first units fill both queues: otherwise the main one would stay empty for long. */
    const bool fills = !c->has_dropped && c->lists.size[SMALL] >= small_capacity(c);
    const bool to_main =
        c->was_in != TT_POLICY_NONE || fills || tt_policy_size(c, use->unit) > small_capacity(c);
    c->uses[use->unit] = 0;
    put_first(c, to_main ? MAIN : SMALL, use->unit);
}

const tt_policy_rules tt_rules_s3_fifo = {.lists = 3,
                                          .hit = s3_hit,
                                          .missed = s3_missed,
                                          .victim = s3_victim,
                                          .leave = s3_leave,
                                          .enter = s3_enter};

/* --- least-stale --- */

static void stale_enter(tt_policy_cache *c, const tt_policy_use *use)
{
    c->used_pass[use->unit] = (uint64_t)use->pass + 1;
    put_first(c, tt_policy_layer(c, use->unit), use->unit);
}

static void stale_hit(tt_policy_cache *c, const tt_policy_use *use)
{
    take(c, use->unit);
    stale_enter(c, use);
}

/* How many of its turns the unit has missed: its layer's turns, one per pass, since its last
 * use. */
static uint64_t missed_turns(const tt_policy_cache *c, uint32_t unit, uint32_t layer,
                             const tt_policy_use *use)
{
    const uint64_t turns = (uint64_t)use->pass + (tt_policy_layer(c, unit) <= layer);
    return turns > c->used_pass[unit] ? turns - c->used_pass[unit] : 0;
}

/* The unit that has missed the most turns; among equals the one whose next turn is furthest away:
 * from the current layer down to the first, then from the last layer down. */
static uint32_t stale_victim(tt_policy_cache *c, const tt_policy_use *use)
{
    const tt_policy_use end = {.pass = UINT32_MAX};
    const uint32_t layer = use ? tt_policy_layer(c, use->unit) : c->n_layers - 1;
    uint32_t best = TT_POLICY_NONE;
    uint64_t most = 0;
    for (uint32_t i = 0; i < c->n_layers; i++) {
        const uint32_t at = i <= layer ? layer - i : c->n_layers - 1 - (i - layer - 1);
        const uint32_t unit = last_free(c, at);
        if (unit == TT_POLICY_NONE) continue;
        const uint64_t missed = missed_turns(c, unit, layer, use ? use : &end);
        if (best != TT_POLICY_NONE && missed <= most) continue;
        best = unit;
        most = missed;
    }
    return best;
}

const tt_policy_rules tt_rules_least_stale = {.a_list_a_layer = true,
                                              .hit = stale_hit,
                                              .victim = stale_victim,
                                              .leave = take,
                                              .enter = stale_enter};

/* --- pinned --- */

/* Lists: units that may be evicted, and pinned ones. */
enum { LOOSE, PINNED };

static uint32_t pin_list(const tt_policy_cache *c, uint32_t unit)
{
    return c->pinned[unit] ? PINNED : LOOSE;
}

/* Units that are not pinned any more may be evicted. */
static void pin_begin(tt_policy_cache *c)
{
    for (uint32_t i = 0; i < c->setup.n_units; i++)
        if (c->there[i] && c->lists.list[i] != pin_list(c, i)) move_first(c, pin_list(c, i), i);
}

static bool pin_takes(tt_policy_cache *c, uint32_t unit)
{
    return c->pinned[unit];
}

static bool pin_lru_takes(tt_policy_cache *c, uint32_t unit)
{
    return c->pinned[unit] || tt_policy_size(c, unit) <= c->capacity - c->pinned_size;
}

static void pin_hit(tt_policy_cache *c, const tt_policy_use *use)
{
    move_first(c, pin_list(c, use->unit), use->unit);
}

static bool pin_fits(const tt_policy_cache *c, uint32_t unit)
{
    return c->pinned[unit] ||
           c->lists.size[LOOSE] + tt_policy_size(c, unit) <= c->capacity - c->pinned_size;
}

static uint32_t pin_victim(tt_policy_cache *c, const tt_policy_use *use)
{
    const uint32_t unit = last_free(c, LOOSE);
    return unit != TT_POLICY_NONE || use ? unit : last_free(c, PINNED);
}

static void pin_enter(tt_policy_cache *c, const tt_policy_use *use)
{
    put_first(c, pin_list(c, use->unit), use->unit);
}

const tt_policy_rules tt_rules_pin_hot = {.lists = 2,
                                          .begin = pin_begin,
                                          .takes = pin_takes,
                                          .hit = pin_hit,
                                          .fits = pin_fits,
                                          .victim = pin_victim,
                                          .leave = take,
                                          .enter = pin_enter};
const tt_policy_rules tt_rules_pin_lru = {.lists = 2,
                                          .begin = pin_begin,
                                          .takes = pin_lru_takes,
                                          .hit = pin_hit,
                                          .fits = pin_fits,
                                          .victim = pin_victim,
                                          .leave = take,
                                          .enter = pin_enter};
