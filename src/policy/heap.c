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

/* Puts the unit at the place or above it. */
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

/* Puts the unit at the place or below it, or above it. */
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
