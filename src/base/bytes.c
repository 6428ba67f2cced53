#include "base/bytes.h"

#include <stdlib.h>

#define FIRST_CAPACITY 256u

void tt_bytes_init(tt_bytes *b, size_t limit)
{
    memset(b, 0, sizeof *b);
    b->limit = limit;
}

void tt_bytes_free(tt_bytes *b)
{
    free(b->data);
    tt_bytes_init(b, b->limit);
}

void tt_bytes_clear(tt_bytes *b)
{
    b->size = 0;
    b->failed = false;
}

bool tt_bytes_reserve(tt_bytes *b, size_t n)
{
    if (b->failed) return false;
    if (n > b->limit || b->size > b->limit - n) {
        b->failed = true;
        return false;
    }
    size_t need = b->size + n;
    if (need <= b->capacity) return true;
    size_t capacity = b->capacity ? b->capacity : FIRST_CAPACITY;
    while (capacity < need)
        capacity = capacity > b->limit / 2 ? b->limit : capacity * 2;
    uint8_t *data = realloc(b->data, capacity);
    if (!data) {
        b->failed = true;
        return false;
    }
    b->data = data;
    b->capacity = capacity;
    return true;
}

void tt_bytes_put(tt_bytes *b, const void *data, size_t n)
{
    if (n == 0 || !tt_bytes_reserve(b, n)) return;
    memcpy(b->data + b->size, data, n);
    b->size += n;
}

void tt_bytes_u8(tt_bytes *b, uint8_t v)
{
    tt_bytes_put(b, &v, sizeof v);
}

void tt_bytes_u16(tt_bytes *b, uint16_t v)
{
    tt_bytes_put(b, &v, sizeof v);
}

void tt_bytes_u32(tt_bytes *b, uint32_t v)
{
    tt_bytes_put(b, &v, sizeof v);
}

void tt_bytes_u64(tt_bytes *b, uint64_t v)
{
    tt_bytes_put(b, &v, sizeof v);
}

void tt_bytes_varint(tt_bytes *b, uint64_t v)
{
    uint8_t out[TT_VARINT_MAX];
    tt_bytes_put(b, out, tt_varint_put(out, v));
}

void tt_bytes_zigzag(tt_bytes *b, int64_t v)
{
    tt_bytes_varint(b, tt_zigzag_map(v));
}

void tt_bytes_str(tt_bytes *b, const char *s, size_t n)
{
    tt_bytes_varint(b, n);
    tt_bytes_put(b, s, n);
}

size_t tt_utf8_length(const void *text, size_t n)
{
    const unsigned char *s = text;
    unsigned char low = 0x80, high = 0xbf;
    size_t length;
    if (s[0] < 0x80) return 1;
    if (s[0] < 0xc2 || s[0] > 0xf4) return 0;
    if (s[0] < 0xe0) {
        length = 2;
    } else if (s[0] < 0xf0) {
        length = 3;
        if (s[0] == 0xe0) low = 0xa0;
        if (s[0] == 0xed) high = 0x9f;
    } else {
        length = 4;
        if (s[0] == 0xf0) low = 0x90;
        if (s[0] == 0xf4) high = 0x8f;
    }
    if (length > n || s[1] < low || s[1] > high) return 0;
    for (size_t i = 2; i < length; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    return length;
}

void tt_bytes_utf8(tt_bytes *b, const char *text, size_t n)
{
    while (n > 0) {
        size_t good = 0;
        for (size_t one = 1; good < n && one; good += one)
            one = tt_utf8_length(text + good, n - good);
        tt_bytes_put(b, text, good);
        if (good < n) tt_bytes_put(b, "\xef\xbf\xbd", 3);
        good += good < n;
        text += good;
        n -= good;
    }
}

tt_span tt_cursor_take(tt_cursor *c, size_t n)
{
    tt_span none = {NULL, 0};
    if (c->failed || n > c->size - c->at) {
        c->failed = true;
        return none;
    }
    tt_span out = {c->data + c->at, n};
    c->at += n;
    return out;
}

static uint64_t take_le(tt_cursor *c, size_t n)
{
    tt_span s = tt_cursor_take(c, n);
    uint64_t v = 0;
    if (s.data) memcpy(&v, s.data, n);
    return v;
}

uint8_t tt_cursor_u8(tt_cursor *c)
{
    return (uint8_t)take_le(c, 1);
}

uint16_t tt_cursor_u16(tt_cursor *c)
{
    return (uint16_t)take_le(c, 2);
}

uint32_t tt_cursor_u32(tt_cursor *c)
{
    return (uint32_t)take_le(c, 4);
}

uint64_t tt_cursor_u64(tt_cursor *c)
{
    return take_le(c, 8);
}

uint64_t tt_cursor_long_varint(tt_cursor *c)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (c->failed || c->at >= c->size) break;
        uint8_t byte = c->data[c->at++];
        /* The tenth byte holds one bit: more would not fit in 64. */
        if (shift == 63 && byte > 1) break;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) return v;
    }
    c->failed = true;
    return 0;
}

uint32_t tt_cursor_varint32(tt_cursor *c)
{
    uint64_t v = tt_cursor_varint(c);
    if (v > UINT32_MAX) c->failed = true;
    return c->failed ? 0 : (uint32_t)v;
}

int64_t tt_cursor_zigzag(tt_cursor *c)
{
    return tt_zigzag_unmap(tt_cursor_varint(c));
}

tt_span tt_cursor_str(tt_cursor *c)
{
    uint64_t n = tt_cursor_varint(c);
    if (n > SIZE_MAX) {
        c->failed = true;
        n = 0;
    }
    return tt_cursor_take(c, (size_t)n);
}
