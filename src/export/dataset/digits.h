/* Integers as decimal digits, some times faster than printf: two digits at a time. */
#ifndef TT_EXPORT_DATASET_DIGITS_H
#define TT_EXPORT_DATASET_DIGITS_H

#include <stdint.h>
#include <string.h>

#define TT_DIGITS_MAX 20u

/* Exactly n digits (even, at most 8) of v, which has no more. */
static inline char *tt_digits_fixed(char *at, uint32_t v, unsigned n)
{
    static const char pairs[] =
        "00010203040506070809101112131415161718192021222324252627282930313233"
        "34353637383940414243444546474849505152535455565758596061626364656667"
        "6869707172737475767778798081828384858687888990919293949596979899";
    for (unsigned i = n; i > 0; i -= 2) {
        memcpy(at + i - 2, pairs + (size_t)(v % 100) * 2, 2);
        v /= 100;
    }
    return at + n;
}

/* v < 10^8, without leading zeros. */
static inline char *tt_digits_small(char *at, uint32_t v)
{
    char all[8];
    unsigned skip = v < 10000 ? (v < 100 ? (v < 10 ? 7 : 6) : (v < 1000 ? 5 : 4))
                              : (v < 1000000 ? (v < 100000 ? 3 : 2) : (v < 10000000 ? 1 : 0));
    (void)tt_digits_fixed(all, v, 8);
    memcpy(at, all + skip, 8 - skip);
    return at + 8 - skip;
}

/* Writes v at `at`, which has room for TT_DIGITS_MAX; returns the end. */
static inline char *tt_digits(char *at, uint64_t v)
{
    const uint64_t half = 100000000;
    if (v < half) return tt_digits_small(at, (uint32_t)v);
    if (v < half * half)
        at = tt_digits_small(at, (uint32_t)(v / half));
    else
        at = tt_digits_fixed(tt_digits_small(at, (uint32_t)(v / (half * half))),
                             (uint32_t)(v / half % half), 8);
    return tt_digits_fixed(at, (uint32_t)(v % half), 8);
}

/* ns as ms with all their digits: "1.500000". Room: TT_DIGITS_MAX + 1. */
static inline char *tt_digits_ms(char *at, uint64_t ns)
{
    at = tt_digits(at, ns / 1000000);
    *at++ = '.';
    return tt_digits_fixed(at, (uint32_t)(ns % 1000000), 6);
}

#endif
