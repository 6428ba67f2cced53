/* A growing byte buffer with a ceiling, and a bounded reader of bytes.
 *
 * Integers are little-endian; varints are unsigned LEB128 (at most 10 bytes);
 * signed varints are zigzag-mapped first (0 -1 1 -2 ... -> 0 1 2 3 ...). */
#ifndef TT_BASE_BYTES_H
#define TT_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Bytes owned by somebody else. */
typedef struct tt_span {
    const uint8_t *data;
    size_t size;
} tt_span;

/* A buffer that grows by doubling up to `limit` bytes. The first failure (limit
 * or memory) is sticky: later appends do nothing and `failed` stays set, so a
 * sequence of appends is checked once, at its end. */
typedef struct tt_bytes {
    uint8_t *data;
    size_t size;
    size_t capacity;
    size_t limit;
    bool failed;
} tt_bytes;

void tt_bytes_init(tt_bytes *b, size_t limit);
void tt_bytes_free(tt_bytes *b);
/* Empties the buffer and clears the failure; keeps the memory. */
void tt_bytes_clear(tt_bytes *b);
/* Room for n more bytes at b->data + b->size; false (and failed) when there is none. */
bool tt_bytes_reserve(tt_bytes *b, size_t n);
void tt_bytes_put(tt_bytes *b, const void *data, size_t n);
void tt_bytes_u8(tt_bytes *b, uint8_t v);
void tt_bytes_u16(tt_bytes *b, uint16_t v);
void tt_bytes_u32(tt_bytes *b, uint32_t v);
void tt_bytes_u64(tt_bytes *b, uint64_t v);
void tt_bytes_varint(tt_bytes *b, uint64_t v);
void tt_bytes_zigzag(tt_bytes *b, int64_t v);
/* A varint length, then the bytes. s may be NULL when n is 0. */
void tt_bytes_str(tt_bytes *b, const char *s, size_t n);

/* Length of the well-formed UTF-8 sequence at text (n > 0 bytes there), 0 when there
 * is none: over-long forms, surrogates and values past U+10FFFF are refused. */
size_t tt_utf8_length(const void *text, size_t n);
/* Appends a text in which each byte that is not UTF-8 becomes U+FFFD. */
void tt_bytes_utf8(tt_bytes *b, const char *text, size_t n);

/* A reader that never passes its end. The first read past it sets `failed`;
 * from then on every read returns zero. */
typedef struct tt_cursor {
    const uint8_t *data;
    size_t size;
    size_t at;
    bool failed;
} tt_cursor;

static inline tt_cursor tt_cursor_of(const void *data, size_t size)
{
    tt_cursor c = {(const uint8_t *)data, size, 0, false};
    return c;
}

static inline size_t tt_cursor_left(const tt_cursor *c)
{
    return c->failed ? 0 : c->size - c->at;
}

/* The next n bytes, or a NULL span (and failed) when fewer are left. */
tt_span tt_cursor_take(tt_cursor *c, size_t n);
uint8_t tt_cursor_u8(tt_cursor *c);
uint16_t tt_cursor_u16(tt_cursor *c);
uint32_t tt_cursor_u32(tt_cursor *c);
uint64_t tt_cursor_u64(tt_cursor *c);
/* Private: of any length. */
uint64_t tt_cursor_long_varint(tt_cursor *c);
/* Most varints are one byte. */
static inline uint64_t tt_cursor_varint(tt_cursor *c)
{
    if (!c->failed && c->at < c->size && c->data[c->at] < 0x80) return c->data[c->at++];
    return tt_cursor_long_varint(c);
}
/* Zero, and failed, if it does not fit in 32 bits. */
uint32_t tt_cursor_varint32(tt_cursor *c);
int64_t tt_cursor_zigzag(tt_cursor *c);
/* A varint length, then the bytes; not NUL-terminated. */
tt_span tt_cursor_str(tt_cursor *c);

#define TT_VARINT_MAX 10u

/* Writes v; returns the number of bytes. */
static inline size_t tt_varint_put(uint8_t out[TT_VARINT_MAX], uint64_t v)
{
    size_t n = 0;
    while (v >= 0x80) {
        out[n++] = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    out[n++] = (uint8_t)v;
    return n;
}

static inline uint64_t tt_zigzag_map(int64_t v)
{
    return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}

static inline int64_t tt_zigzag_unmap(uint64_t v)
{
    return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

static inline uint32_t tt_load_u32(const void *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline uint64_t tt_load_u64(const void *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "tensortrace supports little-endian machines only"
#endif

#endif
