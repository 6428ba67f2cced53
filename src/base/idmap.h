/* A map from a 64-bit key to a 32-bit index: ids to places in an array, hashes of
 * names to weights. Keys are unique. Zero-filled is an empty map.
 *
 * Ids that count up as indexes do, as recorders give them out, take no memory and no search: the
 * map is a list of them until another key comes. */
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
    uint64_t first_key; /* of n keys in a row, while there are no slots */
    uint32_t first_index;
} tt_idmap;

void tt_idmap_free(tt_idmap *m);
/* Forgets the keys, keeps the memory. */
void tt_idmap_clear(tt_idmap *m);
/* False without memory. *was: the index that the key had, which stays, or TT_NONE. */
bool tt_idmap_add(tt_idmap *m, uint64_t key, uint32_t index, uint32_t *was);
/* Replaces the index of a key that is there. False without memory. */
bool tt_idmap_set(tt_idmap *m, uint64_t key, uint32_t index);
/* For keys that are hashes, of which two texts may have the same: the index of what `is` knows,
 * under *key or one that follows from it; TT_NONE: it is not there, and *key is where to add it. */
uint32_t tt_idmap_find(const tt_idmap *m, uint64_t *key,
                       bool (*is)(const void *context, uint32_t index), const void *context);
/* Whether all indexes are below n. */
bool tt_idmap_is_below(const tt_idmap *m, uint32_t n);
uint32_t tt_idmap_get(const tt_idmap *m, uint64_t key);

#endif
