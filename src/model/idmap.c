#include "model/idmap.h"

#include <stdlib.h>
#include <string.h>

struct tt_idmap_slot {
    uint64_t key;
    uint32_t index; /* TT_NONE: the slot is free */
};

/* Mixes all bits into the low ones (the finisher of SplitMix64). */
static uint64_t mix(uint64_t v)
{
    v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9u;
    v = (v ^ v >> 27) * 0x94d049bb133111ebu;
    return v ^ v >> 31;
}

static struct tt_idmap_slot *find(struct tt_idmap_slot *slots, size_t capacity, uint64_t key)
{
    size_t at = (size_t)mix(key) & (capacity - 1);
    while (slots[at].index != TT_NONE && slots[at].key != key)
        at = (at + 1) & (capacity - 1);
    return &slots[at];
}

static bool grow(tt_idmap *m)
{
    size_t capacity = m->capacity ? m->capacity * 2 : 64;
    struct tt_idmap_slot *slots = malloc(capacity * sizeof *slots);
    if (!slots) return false;
    for (size_t i = 0; i < capacity; i++)
        slots[i].index = TT_NONE;
    for (size_t i = 0; i < m->capacity; i++)
        if (m->slots[i].index != TT_NONE) *find(slots, capacity, m->slots[i].key) = m->slots[i];
    free(m->slots);
    m->slots = slots;
    m->capacity = capacity;
    return true;
}

void tt_idmap_free(tt_idmap *m)
{
    free(m->slots);
    memset(m, 0, sizeof *m);
}

bool tt_idmap_add(tt_idmap *m, uint64_t key, uint32_t index, uint32_t *was)
{
    if (m->n * 2 >= m->capacity && !grow(m)) return false;
    struct tt_idmap_slot *s = find(m->slots, m->capacity, key);
    *was = s->index;
    if (s->index == TT_NONE) {
        s->key = key;
        s->index = index;
        m->n++;
    }
    return true;
}

void tt_idmap_set(tt_idmap *m, uint64_t key, uint32_t index)
{
    if (m->capacity) find(m->slots, m->capacity, key)->index = index;
}

uint32_t tt_idmap_get(const tt_idmap *m, uint64_t key)
{
    return m->capacity ? find(m->slots, m->capacity, key)->index : TT_NONE;
}
