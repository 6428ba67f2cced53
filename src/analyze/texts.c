#include "analyze/texts.h"

#include "base/array.h"
#include "base/checksum.h"

#include <stdlib.h>
#include <string.h>

typedef struct looked_for {
    const tt_texts *t;
    const char *text;
} looked_for;

static bool is_text(const void *context, uint32_t index)
{
    const looked_for *l = context;
    return strcmp(l->t->list[index], l->text) == 0;
}

uint32_t tt_texts_number(tt_texts *t, const char *text)
{
    const looked_for l = {t, text};
    const size_t n = strlen(text);
    uint64_t key = tt_checksum(text, n);
    uint32_t was = tt_idmap_find(&t->by_hash, &key, is_text, &l);
    if (was != TT_NONE) return was;
    if (!t->arena.limit_bytes) tt_arena_init(&t->arena, TT_TEXTS_BYTES_MAX);
    const char *copy = tt_arena_text(&t->arena, text, n);
    if (!copy || !tt_array_one_more(t->list, t->n, t->capacity) ||
        !tt_idmap_add(&t->by_hash, key, t->n, &was))
        return TT_NONE;
    t->list[t->n] = copy;
    return t->n++;
}

const char *tt_texts_keep(tt_texts *t, const char *text)
{
    const uint32_t number = tt_texts_number(t, text);
    return number == TT_NONE ? NULL : t->list[number];
}

void tt_texts_free(tt_texts *t)
{
    tt_arena_free(&t->arena);
    tt_idmap_free(&t->by_hash);
    free(t->list);
    memset(t, 0, sizeof *t);
}
