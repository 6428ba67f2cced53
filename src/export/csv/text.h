/* Values as the text of a CSV field (RFC 4180), written by hand: the C library's ways take ten
 * times as long. Each writes at p and returns the end; up to TT_CSV_SLACK bytes behind the end may
 * be overwritten too. */
#ifndef TT_EXPORT_CSV_TEXT_H
#define TT_EXPORT_CSV_TEXT_H

#include "base/bytes.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TT_CSV_SLACK 16u
#define TT_CSV_NUMBER_MAX 32u /* of a number or time */

/* What numbers are written with. Filled by tt_csv_digits_make; then const. */
typedef struct tt_csv_digits {
    uint32_t four[10000]; /* the four digits of a number, the first in the lowest byte */
} tt_csv_digits;

/* The front of the number before, or the second of the time before, in a column: in most columns
 * it is that of the next one too. Zero-filled is ready. */
typedef struct tt_csv_front {
    uint64_t value;
    size_t n; /* 0: none yet */
    char text[32];
} tt_csv_front;

void tt_csv_digits_make(tt_csv_digits *d);

/* Private: of v < 10^8, all eight digits. */
static inline char *tt_csv_put_eight(char *p, uint32_t v, const tt_csv_digits *d)
{
    memcpy(p, &d->four[v / 10000], 4);
    memcpy(p + 4, &d->four[v % 10000], 4);
    return p + 8;
}

/* Private: of v < 10^8. Without a branch: how many digits a number has cannot be foretold. */
static inline char *tt_csv_put_short(char *p, uint32_t v, const tt_csv_digits *d)
{
    uint64_t digits = (uint64_t)d->four[v / 10000] | (uint64_t)d->four[v % 10000] << 32;
    unsigned zeros = (unsigned)__builtin_ctzll((digits & 0x0f0f0f0f0f0f0f) | (uint64_t)1 << 56) / 8;
    digits >>= zeros * 8;
    memcpy(p, &digits, 8);
    return p + 8 - zeros;
}

/* Private: changes the front of a number of more than eight digits. */
void tt_csv_set_front(tt_csv_front *front, uint64_t value, const tt_csv_digits *d);

static inline char *tt_csv_put_u64(char *p, uint64_t v, tt_csv_front *front, const tt_csv_digits *d)
{
    if (v < 100000000) return tt_csv_put_short(p, (uint32_t)v, d);
    uint64_t value = v / 100000000;
    if (front->value != value) tt_csv_set_front(front, value, d);
    memcpy(p, front->text, 16);
    return tt_csv_put_eight(p + front->n, (uint32_t)(v - value * 100000000), d);
}

static inline char *tt_csv_put_i64(char *p, int64_t v, tt_csv_front *front, const tt_csv_digits *d)
{
    if (v < 0) *p++ = '-';
    return tt_csv_put_u64(p, v < 0 ? 0 - (uint64_t)v : (uint64_t)v, front, d);
}

/* ns since 1970 as "2026-11-21T12:53:05.000000000Z". */
char *tt_csv_put_time(char *p, int64_t ns, tt_csv_front *front, const tt_csv_digits *d);
/* Shortest decimal that reads back the same; nothing for what is no number. */
char *tt_csv_put_real(char *p, double v);

/* Copies n bytes, behind which there are TT_CSV_SLACK more. */
static inline char *tt_csv_copy(char *p, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i += 16)
        memcpy(p + i, text + i, 16);
    return p + n;
}

/* Appends a text as a field: quoted when it is empty or has anything but plain characters in it;
 * what is not UTF-8, and NUL, becomes U+FFFD. */
void tt_csv_put_text(tt_bytes *out, const char *text, size_t n);

#endif
