/* Integers as decimal digits, ten times as fast as the C library. Each function writes at p and
 * returns the end; up to TT_DIGITS_SLACK bytes after the end may be overwritten too. */
#ifndef TT_BASE_DIGITS_H
#define TT_BASE_DIGITS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TT_DIGITS_SLACK 16u

/* Table for writing numbers. Filled by tt_digits_make; then const. */
typedef struct tt_digits {
    uint32_t four[10000]; /* the four digits of a number, the first in the lowest byte */
} tt_digits;

/* The leading digits of the previous number of a column, which most often are those of the next one
 * too. Zero-filled is ready. */
typedef struct tt_digits_front {
    uint64_t value;
    size_t n; /* 0: none yet */
    char text[32];
} tt_digits_front;

void tt_digits_make(tt_digits *d);

/* All eight digits of v < 10^8. */
static inline char *tt_digits_put_eight(char *p, uint32_t v, const tt_digits *d)
{
    memcpy(p, &d->four[v / 10000], 4);
    memcpy(p + 4, &d->four[v % 10000], 4);
    return p + 8;
}

/* v < 10^8. Without a branch, as the number of digits is unpredictable. */
static inline char *tt_digits_put_short(char *p, uint32_t v, const tt_digits *d)
{
    uint64_t digits = (uint64_t)d->four[v / 10000] | (uint64_t)d->four[v % 10000] << 32;
    unsigned zeros = (unsigned)__builtin_ctzll((digits & 0x0f0f0f0f0f0f0f) | (uint64_t)1 << 56) / 8;
    digits >>= zeros * 8;
    memcpy(p, &digits, 8);
    return p + 8 - zeros;
}

/* Private: changes the leading digits of a number of more than eight digits. */
void tt_digits_set_front(tt_digits_front *front, uint64_t value, const tt_digits *d);

static inline char *tt_digits_put_u64(char *p, uint64_t v, tt_digits_front *front,
                                      const tt_digits *d)
{
    if (v < 100000000) return tt_digits_put_short(p, (uint32_t)v, d);
    uint64_t value = v / 100000000;
    if (front->value != value) tt_digits_set_front(front, value, d);
    memcpy(p, front->text, 16);
    return tt_digits_put_eight(p + front->n, (uint32_t)(v - value * 100000000), d);
}

static inline char *tt_digits_put_i64(char *p, int64_t v, tt_digits_front *front,
                                      const tt_digits *d)
{
    if (v < 0) *p++ = '-';
    return tt_digits_put_u64(p, v < 0 ? 0 - (uint64_t)v : (uint64_t)v, front, d);
}

#endif
