/* Memory that is allocated piece by piece and freed all at once, with a limit. */
#ifndef TT_MODEL_ARENA_H
#define TT_MODEL_ARENA_H

#include <stdbool.h>
#include <stddef.h>

typedef struct tt_arena {
    struct tt_arena_block *blocks; /* the newest first */
    size_t total_bytes;
    size_t limit_bytes;
    bool is_full; /* something did not fit into the limit */
} tt_arena;

void tt_arena_init(tt_arena *a, size_t limit_bytes);
void tt_arena_free(tt_arena *a);
/* count x size zero bytes, aligned for any type; NULL past the limit or out of memory. Valid until
 * tt_arena_free. count may be 0. */
void *tt_arena_take(tt_arena *a, size_t count, size_t size);
/* A NUL-terminated copy of n bytes; NULs inside become '?'. */
char *tt_arena_text(tt_arena *a, const void *bytes, size_t n);

#endif
