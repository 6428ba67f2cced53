#include "base/idmap.h"

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

/* Whether all keys so far are consecutive and this one is the next. */
static bool is_next(const tt_idmap *m, uint64_t key, uint32_t index)
{
    return m->capacity == 0 && (m->n == 0 || (key == m->first_key + m->n && key >= m->first_key &&
                                              index == m->first_index + m->n));
}

static bool is_in_row(const tt_idmap *m, uint64_t key)
{
    return key >= m->first_key && key - m->first_key < m->n;
}

static bool grow(tt_idmap *m)
{
    size_t capacity = m->capacity ? m->capacity * 2 : 64;
    while (capacity < m->n * 2 + 2)
        capacity *= 2;
    struct tt_idmap_slot *slots = malloc(capacity * sizeof *slots);
    if (!slots) return false;
    for (size_t i = 0; i < capacity; i++)
        slots[i].index = TT_NONE;
    for (size_t i = 0; i < m->capacity; i++)
        if (m->slots[i].index != TT_NONE) *find(slots, capacity, m->slots[i].key) = m->slots[i];
    for (size_t i = 0; i < m->n && m->capacity == 0; i++)
        *find(slots, capacity, m->first_key + i) =
            (struct tt_idmap_slot){m->first_key + i, m->first_index + (uint32_t)i};
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

void tt_idmap_clear(tt_idmap *m)
{
    for (size_t i = 0; i < m->capacity && m->n; i++)
        m->slots[i].index = TT_NONE;
    m->n = 0;
}

bool tt_idmap_add(tt_idmap *m, uint64_t key, uint32_t index, uint32_t *was)
{
    *was = TT_NONE;
    if (is_next(m, key, index)) {
        if (m->n++ == 0) {
            m->first_key = key;
            m->first_index = index;
        }
        return true;
    }
    if (m->capacity == 0 && is_in_row(m, key)) {
        *was = m->first_index + (uint32_t)(key - m->first_key);
        return true;
    }
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

bool tt_idmap_set(tt_idmap *m, uint64_t key, uint32_t index)
{
    if (tt_idmap_get(m, key) == index) return true;
    if (m->capacity == 0 && !grow(m)) return false;
    find(m->slots, m->capacity, key)->index = index;
    return true;
}

uint32_t tt_idmap_get(const tt_idmap *m, uint64_t key)
{
    if (m->capacity) return find(m->slots, m->capacity, key)->index;
    return is_in_row(m, key) ? m->first_index + (uint32_t)(key - m->first_key) : TT_NONE;
}

uint32_t tt_idmap_find(const tt_idmap *m, uint64_t *key,
                       bool (*is)(const void *context, uint32_t index), const void *context)
{
    for (;; *key = mix(*key + 1)) {
        const uint32_t index = tt_idmap_get(m, *key);
        if (index == TT_NONE || is(context, index)) return index;
    }
}

bool tt_idmap_is_below(const tt_idmap *m, uint32_t n)
{
    if (m->capacity == 0) return m->n == 0 || (m->first_index < n && m->n <= n - m->first_index);
    for (size_t i = 0; i < m->capacity; i++)
        if (m->slots[i].index != TT_NONE && m->slots[i].index >= n) return false;
    return true;
}
