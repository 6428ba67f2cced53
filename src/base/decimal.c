#include "base/decimal.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* By the C library, in a few microseconds. */
static size_t write_slowly(double v, char *out)
{
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(out, TT_DECIMAL_TEXT, "%.*g", digits, v);
        double back = strtod(out, NULL);
        if (memcmp(&back, &v, sizeof v) == 0) break;
    }
    /* A program that uses this may live in a locale with a decimal comma. */
    char *comma = strchr(out, ',');
    if (comma) *comma = '.';
    return strlen(out);
}

/* `m` with its last `decimals` digits behind the point, zeros at its end left out. */
static size_t write_scaled(bool negative, uint64_t m, unsigned decimals, char *out)
{
    char digits[24];
    size_t n = 0, at = 0;
    while (decimals > 0 && m % 10 == 0) {
        m /= 10;
        decimals--;
    }
    for (; m > 0 || n <= decimals; m /= 10)
        digits[n++] = (char)('0' + m % 10);
    if (negative) out[at++] = '-';
    while (n > 0) {
        if (n == decimals) out[at++] = '.';
        out[at++] = digits[--n];
    }
    out[at] = '\0';
    return at;
}

/* v (at least 1, below 10^15) with `digits` significant digits as m / 10^*decimals. False when
 * rounding could have gone the other way: then the C library decides. */
static bool scale(double v, unsigned digits, uint64_t *m, unsigned *decimals)
{
    static const long double powers[] = {1e0L, 1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,  1e7L, 1e8L,
                                         1e9L, 1e10L, 1e11L, 1e12L, 1e13L, 1e14L, 1e15L, 1e16L};
    unsigned whole = 1;
    while (v >= (double)powers[whole])
        whole++;
    *decimals = digits - whole;
    long double x = (long double)v * powers[*decimals], rest = x - floorl(x);
    /* Far more than the product can be off by. */
    if (fabsl(rest - 0.5L) < 0.01L) return false;
    *m = (uint64_t)x + (rest > 0.5L);
    return true;
}

/* Whether m / 10^decimals reads back as v; 2: not known. */
static int reads_back(double v, uint64_t m, unsigned decimals)
{
    static const double powers[] = {1e0, 1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7, 1e8,
                                    1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16};
    /* Both are exact, so their quotient is the nearest number there is. */
    return m < (uint64_t)1 << DBL_MANT_DIG ? (double)m / powers[decimals] == v : 2;
}

size_t tt_decimal_write(double v, char out[TT_DECIMAL_TEXT])
{
    uint64_t m;
    unsigned decimals;
    double size = fabs(v);
    if (LDBL_MANT_DIG < 64 || !(size >= 1 && size < 1e15)) return write_slowly(v, out);
    for (unsigned digits = 15; digits <= 17; digits++) {
        if (!scale(size, digits, &m, &decimals)) break;
        /* 17 digits always do. */
        int same = digits == 17 ? 1 : reads_back(size, m, decimals);
        if (same == 2) break;
        if (same) return write_scaled(v < 0, m, decimals, out);
    }
    return write_slowly(v, out);
}
