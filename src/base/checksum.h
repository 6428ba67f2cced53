/* The container's checksum: XXH3, 64 bits, seed 0 (xxhash.com). Header-only, so
 * that the preloaded library brings no other library into the traced process. */
#ifndef TT_BASE_CHECKSUM_H
#define TT_BASE_CHECKSUM_H

/* Reads by memcpy. By default xxHash reads any memory as uint64_t with gcc, which breaks the
 * aliasing rules for arrays of other types: gcc 14 then warns of uninitialised data. */
#define XXH_FORCE_MEMORY_ACCESS 0
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <stddef.h>
#include <stdint.h>

static inline uint64_t tt_checksum(const void *data, size_t size)
{
    return XXH3_64bits(data, size);
}

/* A hash of several numbers: mixes the next one into the hash so far. */
static inline uint64_t tt_hash_mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

#endif
