/* Interned texts: equal texts have the same pointer until the set is freed. */
#ifndef TT_ANALYZE_TEXTS_H
#define TT_ANALYZE_TEXTS_H

#include "base/idmap.h"
#include "model/arena.h"

#include <stddef.h>

#define TT_TEXTS_BYTES_MAX ((size_t)64 << 20)

/* Zero-filled is empty. */
typedef struct tt_texts {
    tt_arena arena;
    const char **list;
    uint32_t n, capacity;
    tt_idmap by_hash;
} tt_texts;

/* The text's number, from 0 in the order of first use: its index in `list`. TT_NONE: out of memory,
 * or more than TT_TEXTS_BYTES_MAX. */
uint32_t tt_texts_number(tt_texts *t, const char *text);
/* Its copy; NULL likewise. */
const char *tt_texts_keep(tt_texts *t, const char *text);
void tt_texts_free(tt_texts *t);

#endif
