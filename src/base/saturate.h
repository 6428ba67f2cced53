/* Sums and products of what a damaged file may say: UINT64_MAX instead of an overflow. */
#ifndef TT_BASE_SATURATE_H
#define TT_BASE_SATURATE_H

#include <stdint.h>

static inline uint64_t tt_plus(uint64_t a, uint64_t b)
{
    uint64_t v;
    return __builtin_add_overflow(a, b, &v) ? UINT64_MAX : v;
}

static inline uint64_t tt_times(uint64_t a, uint64_t b)
{
    uint64_t v;
    return __builtin_mul_overflow(a, b, &v) ? UINT64_MAX : v;
}

#endif
