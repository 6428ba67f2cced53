/* Values as the text of a CSV field (RFC 4180); integers are in base/digits.h. Each function writes
 * at p and returns the end; up to TT_CSV_SLACK bytes after the end may be overwritten too. */
#ifndef TT_TABLE_CSV_TEXT_H
#define TT_TABLE_CSV_TEXT_H

#include "base/bytes.h"
#include "base/digits.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TT_CSV_SLACK TT_DIGITS_SLACK
#define TT_CSV_NUMBER_MAX 32u /* of a number or time */

/* ns since 1970 as "2026-11-21T12:53:05.000000000Z". `front` holds the digits of the second. */
char *tt_csv_put_time(char *p, int64_t ns, tt_digits_front *front, const tt_digits *d);
/* The shortest decimal that reads back as the same number; nothing for NaN. */
char *tt_csv_put_real(char *p, double v);

/* Copies n bytes, which TT_CSV_SLACK readable bytes must follow. */
static inline char *tt_csv_copy(char *p, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i += 16)
        memcpy(p + i, text + i, 16);
    return p + n;
}

/* Appends a text as a field: quoted if it is empty or has other than plain characters; NUL and what
 * is not UTF-8 become U+FFFD. */
void tt_csv_put_text(tt_bytes *out, const char *text, size_t n);

#endif
