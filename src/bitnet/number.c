#include "bitnet/number.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A decimal number: digits (the first is not 0) times 10 to the power k. */
struct decimal {
    char digits[24];
    int n, k;
};

/* The kind of number: those that a float64 or a float32 can represent. */
struct kind {
    bool is_float;
    int safe, most; /* digits that always survive; that always suffice */
    double smallest;
    int whole, small; /* see put_plain */
};

static const struct kind f64_kind = {false, DBL_DIG, 17, DBL_MIN, 16, -5};
static const struct kind f32_kind = {true, FLT_DIG, 9, FLT_MIN, 13, -6};

/* v > 0 rounded to n digits. */
static void round_to(double v, int n, struct decimal *d)
{
    char text[48];
    (void)snprintf(text, sizeof text, "%.*e", n - 1, v);
    const char *exponent = strchr(text, 'e');
    d->n = 0;
    /* After the first digit comes the locale's point, which may be several bytes. */
    for (const char *p = text; exponent && p < exponent && d->n < n; p++)
        if (*p >= '0' && *p <= '9') d->digits[d->n++] = *p;
    d->digits[d->n] = '\0';
    d->k = (exponent ? atoi(exponent + 1) : 0) - n + 1;
}

/* Written without a decimal point, to be independent of the locale. */
static bool reads_back(const struct kind *kind, const struct decimal *d, double v)
{
    char text[48];
    (void)snprintf(text, sizeof text, "%se%d", d->digits, d->k);
    return kind->is_float ? (double)strtof(text, NULL) == v : strtod(text, NULL) == v;
}

/* The next larger number with as many digits. */
static void step_up(struct decimal *d)
{
    int i = d->n - 1;
    while (i >= 0 && d->digits[i] == '9')
        d->digits[i--] = '0';
    if (i >= 0) {
        d->digits[i]++;
    } else {
        d->digits[0] = '1';
        d->k++;
    }
}

static void find_shortest(const struct kind *kind, double v, struct decimal *d)
{
    int exponent;
    /* Next to a power of two, the spacing below is half of that above: a decimal above it may
     * read back when the closest one, below it, does not. */
    bool uneven = frexp(v, &exponent) == 0.5;
    /* This many digits survive except in the tiniest numbers: then only trailing zeros of the
     * rounded number are superfluous. */
    int n = v >= kind->smallest ? kind->safe : 1;
    for (; n <= kind->most; n++) {
        round_to(v, n, d);
        if (reads_back(kind, d, v)) break;
        if (!uneven) continue;
        step_up(d);
        if (reads_back(kind, d, v)) break;
    }
    while (d->n > 1 && d->digits[d->n - 1] == '0') {
        d->digits[--d->n] = '\0';
        d->k++;
    }
}

/* 1234e7 as 12340000000.0, 1234e-2 as 12.34, 1234e-6 as 0.001234: while the point is at most
 * `whole` digits after the first, or `small` before it. */
static size_t put_plain(const struct decimal *d, int point, char *p)
{
    char *start = p;
    if (point <= 0) {
        *p++ = '0';
        *p++ = '.';
        for (int i = point; i < 0; i++)
            *p++ = '0';
        memcpy(p, d->digits, (size_t)d->n);
        return (size_t)(p - start) + (size_t)d->n;
    }
    for (int i = 0; i < point || i < d->n; i++) {
        if (i == point) *p++ = '.';
        *p++ = i < d->n ? d->digits[i] : '0';
    }
    if (d->n <= point) {
        *p++ = '.';
        *p++ = '0';
    }
    return (size_t)(p - start);
}

static size_t put_scientific(const struct decimal *d, int point, char *p)
{
    size_t n = 0;
    p[n++] = d->digits[0];
    if (d->n > 1) {
        p[n++] = '.';
        memcpy(p + n, d->digits + 1, (size_t)d->n - 1);
        n += (size_t)d->n - 1;
    }
    return n + (size_t)snprintf(p + n, 8, "e%d", point - 1);
}

static size_t write_number(const struct kind *kind, double v, char *out)
{
    struct decimal d;
    size_t n = 0;
    if (signbit(v)) out[n++] = '-';
    if (v == 0) {
        memcpy(out + n, "0.0", 3);
        n += 3;
    } else {
        find_shortest(kind, fabs(v), &d);
        int point = d.n + d.k; /* digits before it */
        if (point > kind->small && point <= kind->whole)
            n += put_plain(&d, point, out + n);
        else
            n += put_scientific(&d, point, out + n);
    }
    out[n] = '\0';
    return n;
}

size_t tt_bitnet_number_f64(double v, char out[TT_BITNET_NUMBER])
{
    return write_number(&f64_kind, v, out);
}

size_t tt_bitnet_number_f32(float v, char out[TT_BITNET_NUMBER])
{
    return write_number(&f32_kind, (double)v, out);
}
