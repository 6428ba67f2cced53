#include "model/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES 65536u
#define ALIGNMENT 16u

struct tt_arena_block {
    struct tt_arena_block *next;
    size_t used;
    size_t size;
    size_t unused; /* keeps `bytes` aligned */
    unsigned char bytes[];
};

void tt_arena_init(tt_arena *a, size_t limit_bytes)
{
    a->blocks = NULL;
    a->total_bytes = 0;
    a->limit_bytes = limit_bytes;
    a->is_full = false;
}

void tt_arena_free(tt_arena *a)
{
    while (a->blocks) {
        struct tt_arena_block *b = a->blocks;
        a->blocks = b->next;
        free(b);
    }
    a->total_bytes = 0;
}

void *tt_arena_take(tt_arena *a, size_t count, size_t size)
{
    size_t n;
    if (__builtin_mul_overflow(count, size, &n) || n > SIZE_MAX / 2) return NULL;
    n = (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    struct tt_arena_block *b = a->blocks;
    if (!b || b->size - b->used < n) {
        size_t room = n > BLOCK_BYTES / 4 ? n : BLOCK_BYTES;
        if (room > a->limit_bytes - a->total_bytes) {
            a->is_full = true;
            return NULL;
        }
        b = calloc(1, sizeof *b + room);
        if (!b) return NULL;
        b->size = room;
        a->total_bytes += room;
        /* A large piece gets a block of its own. The block with free room stays first. */
        if (room == n && a->blocks) {
            b->next = a->blocks->next;
            a->blocks->next = b;
        } else {
            b->next = a->blocks;
            a->blocks = b;
        }
    }
    void *out = b->bytes + b->used;
    b->used += n;
    return out;
}

char *tt_arena_text(tt_arena *a, const void *bytes, size_t n)
{
    char *s = tt_arena_take(a, n + 1, 1);
    if (!s) return NULL;
    if (n) memcpy(s, bytes, n);
    for (size_t i = 0; i < n; i++)
        if (!s[i]) s[i] = '?';
    return s;
}
