#include "analyze/texts.h"

#include "base/checksum.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char **slot_of(const char **slots, size_t capacity, const char *text, size_t n)
{
    size_t at = (size_t)tt_checksum(text, n) & (capacity - 1);
    while (slots[at] && strcmp(slots[at], text) != 0)
        at = (at + 1) & (capacity - 1);
    return &slots[at];
}

static bool grow(tt_texts *t)
{
    size_t larger = t->capacity ? t->capacity * 2 : 256;
    const char **slots = calloc(larger, sizeof *slots);
    if (!slots) return false;
    for (size_t i = 0; i < t->capacity; i++) {
        if (t->slots[i]) *slot_of(slots, larger, t->slots[i], strlen(t->slots[i])) = t->slots[i];
    }
    free(t->slots);
    t->slots = slots;
    t->capacity = larger;
    return true;
}

const char *tt_texts_keep(tt_texts *t, const char *text)
{
    size_t n = strlen(text);
    if (!t->arena.limit_bytes) tt_arena_init(&t->arena, TT_TEXTS_BYTES_MAX);
    if (t->n * 2 >= t->capacity && !grow(t)) return NULL;
    const char **slot = slot_of(t->slots, t->capacity, text, n);
    if (*slot) return *slot;
    char *copy = tt_arena_text(&t->arena, text, n);
    if (!copy) return NULL;
    *slot = copy;
    t->n++;
    return copy;
}

void tt_texts_free(tt_texts *t)
{
    tt_arena_free(&t->arena);
    free(t->slots);
    memset(t, 0, sizeof *t);
}
