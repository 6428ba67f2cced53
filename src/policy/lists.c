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
