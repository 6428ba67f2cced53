#include "format/pack.h"

#include <string.h>

/* The widest value that one load of eight bytes covers, at any bit of the first byte. */
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

#define DELTA_BIT 0x80u

static unsigned varint_bytes(uint64_t v)
{
    return v < 0x80 ? 1u : (tt_bits_width(v) + 6u) / 7u;
}

typedef struct plan {
    unsigned width;
    size_t bytes;
} plan;

/* Chooses the width that makes the frame smallest. Values that do not fit become exceptions of
 * an index byte and a varint, each counted as large as the widest one. */
static plan plan_frame(const uint64_t *offsets, size_t n)
{
    unsigned histogram[65] = {0};
    for (size_t i = 0; i < n; i++)
        histogram[tt_bits_width(offsets[i])]++;
    unsigned top = 64;
    while (top > 0 && !histogram[top])
        top--;
    plan best = {top, (n * top + 7) / 8};
    size_t exceptions = 0;
    for (unsigned w = top; w-- > 0;) {
        exceptions += histogram[w + 1];
        size_t bytes = (n * w + 7) / 8 + exceptions * (1 + (top - w + 6) / 7);
        if (bytes < best.bytes) {
            best.width = w;
            best.bytes = bytes;
        }
    }
    return best;
}

static void put_frame(tt_bytes *out, const uint64_t *offsets, size_t n, unsigned width,
                      uint64_t base, unsigned mode)
{
    uint8_t exceptions = 0;
    for (size_t i = 0; i < n; i++)
        exceptions = (uint8_t)(exceptions + (tt_bits_width(offsets[i]) > width));
    tt_bytes_u8(out, (uint8_t)(width | mode));
    tt_bytes_varint(out, base);
    tt_bytes_u8(out, exceptions);
    tt_bits_put(out, offsets, n, width);
    for (size_t i = 0; i < n; i++) {
        if (tt_bits_width(offsets[i]) <= width) continue;
        tt_bytes_u8(out, (uint8_t)i);
        tt_bytes_varint(out, offsets[i] >> width);
    }
}

void tt_pack_column(tt_bytes *out, const uint64_t *values, size_t n)
{
    for (size_t at = 0; at < n; at += TT_PACK_FRAME) {
        size_t count = n - at < TT_PACK_FRAME ? n - at : TT_PACK_FRAME;
        const uint64_t *v = values + at;
        uint64_t above[TT_PACK_FRAME], delta[TT_PACK_FRAME], least = v[0];
        for (size_t i = 1; i < count; i++)
            if (v[i] < least) least = v[i];
        for (size_t i = 0; i < count; i++) {
            above[i] = v[i] - least;
            delta[i] = tt_zigzag_map((int64_t)(v[i] - (i ? v[i - 1] : v[0])));
        }
        plan by_base = plan_frame(above, count), by_delta = plan_frame(delta, count);
        if (by_delta.bytes + varint_bytes(v[0]) < by_base.bytes + varint_bytes(least))
            put_frame(out, delta, count, by_delta.width, v[0], DELTA_BIT);
        else
            put_frame(out, above, count, by_base.width, least, 0);
    }
}

static bool get_exceptions(tt_cursor *c, unsigned count, unsigned width, uint64_t *offsets,
                           size_t n)
{
    for (unsigned i = 0; i < count; i++) {
        uint8_t index = tt_cursor_u8(c);
        uint64_t high = tt_cursor_varint(c);
        if (c->failed || index >= n || width >= 64 || high > UINT64_MAX >> width) return false;
        offsets[index] |= high << width;
    }
    return true;
}

bool tt_unpack_column(tt_cursor *c, uint64_t *values, size_t n)
{
    for (size_t at = 0; at < n; at += TT_PACK_FRAME) {
        size_t count = n - at < TT_PACK_FRAME ? n - at : TT_PACK_FRAME;
        uint64_t *v = values + at;
        uint8_t header = tt_cursor_u8(c);
        unsigned width = header & 0x7fu;
        uint64_t base = tt_cursor_varint(c);
        unsigned exceptions = tt_cursor_u8(c);
        if (c->failed || width > 64 || exceptions > count) goto bad;
        size_t readable = tt_cursor_left(c);
        tt_span packed = tt_cursor_take(c, tt_bits_bytes(count, width));
        if (c->failed) goto bad;
        tt_bits_get(packed.data, readable, v, count, width, 1, 0);
        if (!get_exceptions(c, exceptions, width, v, count)) goto bad;
        if (header & DELTA_BIT) {
            uint64_t last = base;
            for (size_t i = 0; i < count; i++)
                v[i] = last += (uint64_t)tt_zigzag_unmap(v[i]);
        } else {
            for (size_t i = 0; i < count; i++)
                v[i] += base;
        }
    }
    return true;
bad:
    c->failed = true;
    return false;
}
