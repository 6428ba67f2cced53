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
#define TT_CSV_NUMBER_MAX 40u /* of a number or time */

/* The front of the number before, or the second of the time before, in a column: in most columns
 * it is that of the next one too. Zero-filled is ready. */
typedef struct tt_csv_front {
    uint64_t value; /* of the front + 1 */
    size_t n;
    char text[32];
} tt_csv_front;

/* Private: 8 digits of v < 10^8, the first in the lowest byte, each 0 to 9. All at once: halves,
 * pairs and digits are divided side by side in one word. */
static inline uint64_t tt_csv_digits(uint32_t v)
{
    uint64_t x = (uint64_t)(v / 10000) | (uint64_t)(v % 10000) << 32;
    uint64_t hundreds = (x * 10486 >> 20) & 0x7f0000007f;
    x = hundreds | (x - hundreds * 100) << 16;
    uint64_t tens = (x * 103 >> 10) & 0x000f000f000f000f;
    return tens | (x - tens * 10) << 8;
}

#define TT_CSV_ZEROS 0x3030303030303030u

static inline char *tt_csv_put_u32(char *p, uint32_t v)
{
    uint64_t digits = tt_csv_digits(v % 100000000);
    if (v >= 100000000) {
        uint32_t high = v / 100000000;
        if (high >= 10) *p++ = (char)('0' + high / 10);
        *p++ = (char)('0' + high % 10);
        digits |= TT_CSV_ZEROS;
        memcpy(p, &digits, 8);
        return p + 8;
    }
    unsigned zeros = digits ? (unsigned)__builtin_ctzll(digits) / 8 : 7;
    digits = (digits | TT_CSV_ZEROS) >> zeros * 8;
    memcpy(p, &digits, 8);
    return p + 8 - zeros;
}

/* Private: of more than eight digits. */
char *tt_csv_put_long(char *p, uint64_t v, tt_csv_front *front);

static inline char *tt_csv_put_u64(char *p, uint64_t v, tt_csv_front *front)
{
    return v < 100000000 ? tt_csv_put_u32(p, (uint32_t)v) : tt_csv_put_long(p, v, front);
}

static inline char *tt_csv_put_i64(char *p, int64_t v, tt_csv_front *front)
{
    if (v < 0) *p++ = '-';
    return tt_csv_put_u64(p, v < 0 ? 0 - (uint64_t)v : (uint64_t)v, front);
}

/* ns since 1970 as "2026-11-21T12:53:05.000000000Z". */
char *tt_csv_put_time(char *p, int64_t ns, tt_csv_front *front);
/* Shortest decimal that reads back the same; nothing for what is no number. */
char *tt_csv_put_real(char *p, double v);

/* Copies n bytes, of which there are TT_CSV_SLACK more. */
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
