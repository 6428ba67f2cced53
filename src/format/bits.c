#include "format/bits.h"

#include <string.h>

/* The widest value that one load of eight bytes holds, at whatever bit of the first byte it
 * begins. */
#define WIDTH_OF_ONE_LOAD 57u

void tt_bits_put(tt_bytes *out, const uint64_t *values, size_t n, unsigned width)
{
    const uint64_t mask = tt_bits_mask(width);
    size_t bytes = tt_bits_bytes(n, width);
    uint64_t word = 0;
    unsigned filled = 0;
    if (!bytes || !tt_bytes_reserve(out, bytes)) return;
    uint8_t *to = out->data + out->size;
    for (size_t i = 0; i < n; i++) {
        uint64_t v = values[i] & mask;
        word |= v << filled;
        filled += width;
        if (filled < 64) continue;
        memcpy(to, &word, sizeof word);
        to += sizeof word;
        filled -= 64;
        word = filled ? v >> (width - filled) : 0;
    }
    memcpy(to, &word, (filled + 7) / 8);
    out->size += bytes;
}

/* The general case: near the end of the bytes, and for values that may span nine bytes. */
static void get_carefully(const uint8_t *from, size_t readable, uint64_t *values, size_t n,
                          unsigned width, uint64_t factor, uint64_t base)
{
    const uint64_t mask = tt_bits_mask(width);
    size_t bit = 0;
    for (size_t i = 0; i < n; i++, bit += width) {
        size_t at = bit / 8;
        unsigned shift = (unsigned)(bit % 8);
        uint64_t v = 0;
        memcpy(&v, from + at, readable - at < 8 ? readable - at : 8);
        v >>= shift;
        if (shift + width > 64) v |= (uint64_t)from[at + 8] << (64 - shift);
        values[i] = (v & mask) * factor + base;
    }
}

void tt_bits_get(const uint8_t *from, size_t readable, uint64_t *values, size_t n, unsigned width,
                 uint64_t factor, uint64_t base)
{
    const uint64_t mask = tt_bits_mask(width);
    size_t bit = 0;
    if (width == 0) {
        for (size_t i = 0; i < n; i++)
            values[i] = base;
        return;
    }
    if (width > WIDTH_OF_ONE_LOAD || readable < tt_bits_bytes(n, width) + 8) {
        get_carefully(from, readable, values, n, width, factor, base);
        return;
    }
    for (size_t i = 0; i < n; i++, bit += width)
        values[i] = ((tt_load_u64(from + bit / 8) >> (bit % 8)) & mask) * factor + base;
}
