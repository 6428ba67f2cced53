/* Loops over millions of numbers, compiled twice: for any processor, and for those of today. The
 * body is one function, always inlined; the results are the same. */
#ifndef TT_EXPORT_PARQUET_SIMD_H
#define TT_EXPORT_PARQUET_SIMD_H

#include <stdbool.h>

#define TT_INLINE static inline __attribute__((always_inline))

#if defined(__x86_64__)
#define TT_MODERN __attribute__((target("avx2,bmi,bmi2,lzcnt")))
static inline bool tt_is_modern(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("bmi2");
}
#else
#define TT_MODERN
static inline bool tt_is_modern(void)
{
    return false;
}
#endif

#endif
