/* Right checksums for a trace whose bytes were changed on purpose, so that what is
 * behind the checksums gets tested too. */
#ifndef TT_TESTS_RECHECKSUM_H
#define TT_TESTS_RECHECKSUM_H

#include "base/bytes.h"
#include "base/checksum.h"
#include "format/chunk.h"

/* Of the chunks' checksums, from a file header whatever it is. */
static inline uint64_t rechecksum_seed(const uint8_t *data)
{
    tt_file_header h = {.minor = (uint16_t)(data[10] | data[11] << 8)};
    memcpy(h.run_id, data + 16, sizeof h.run_id);
    return tt_file_header_seed(&h);
}

/* Walks as far as the chunk headers make sense. */
static inline void rechecksum(uint8_t *data, size_t size)
{
    if (size < TT_FILE_HEADER_BYTES) return;
    uint64_t sum = tt_checksum(data, 56);
    memcpy(data + 56, &sum, 8);
    for (size_t at = TT_FILE_HEADER_BYTES; size - at >= TT_CHUNK_HEADER_BYTES;) {
        uint32_t stored = tt_load_u32(data + at + 8);
        if (tt_load_u32(data + at) != 0x4b435454u || stored > size - at - TT_CHUNK_HEADER_BYTES)
            return;
        XXH3_state_t state = {0};
        XXH3_64bits_reset_withSeed(&state, rechecksum_seed(data));
        XXH3_64bits_update(&state, data + at, 32);
        XXH3_64bits_update(&state, data + at + TT_CHUNK_HEADER_BYTES, stored);
        sum = XXH3_64bits_digest(&state);
        memcpy(data + at + 32, &sum, 8);
        uint64_t next = at + TT_CHUNK_HEADER_BYTES + tt_pad8(stored);
        if (next > size) return;
        at = (size_t)next;
    }
}

#endif
