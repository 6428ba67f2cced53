/* A map from a 64-bit key to a 32-bit index: ids to array indices, hashes of names to weights. Keys
 * are unique. Zero-filled is an empty map.
 *
 * Consecutive ids with consecutive indices, as recorders assign them, need no memory and no search:
 * the map is an interval until another key is added. */
#ifndef TT_BASE_IDMAP_H
#define TT_BASE_IDMAP_H

#include <tensortrace/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tt_idmap {
    struct tt_idmap_slot *slots;
    size_t capacity; /* a power of two, or 0 */
    size_t n;
    uint64_t first_key; /* of n consecutive keys, while there are no slots */
    uint32_t first_index;
} tt_idmap;

void tt_idmap_free(tt_idmap *m);
/* Removes all keys; keeps the memory. */
void tt_idmap_clear(tt_idmap *m);
/* False if out of memory. *was: the index that the key already had, which is kept, or TT_NONE. */
bool tt_idmap_add(tt_idmap *m, uint64_t key, uint32_t index, uint32_t *was);
/* Replaces the index of an existing key. False if out of memory. */
bool tt_idmap_set(tt_idmap *m, uint64_t key, uint32_t index);
/* For keys that are hashes of texts and may collide: the index of the entry for which `is` returns
 * true, under *key or a key derived from it. TT_NONE: there is none; add it under *key. */
uint32_t tt_idmap_find(const tt_idmap *m, uint64_t *key,
                       bool (*is)(const void *context, uint32_t index), const void *context);
/* Whether all indexes are below n. */
bool tt_idmap_is_below(const tt_idmap *m, uint32_t n);
uint32_t tt_idmap_get(const tt_idmap *m, uint64_t key);

#endif
