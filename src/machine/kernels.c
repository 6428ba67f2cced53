#include "machine/kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define CHAINS 16

typedef uint64_t words __attribute__((vector_size(32)));

static inline __attribute__((always_inline)) uint64_t read_all(const void *data, size_t bytes)
{
    const words *at = data, *end = at + bytes / sizeof *at;
    words a = {0}, b = {0}, c = {0}, d = {0};
    for (; at < end; at += 8) {
        a += at[0] ^ at[4];
        b += at[1] ^ at[5];
        c += at[2] ^ at[6];
        d += at[3] ^ at[7];
    }
    a += b + c + d;
    return a[0] + a[1] + a[2] + a[3];
}

/* Independent chains of a = a * b + c, with b < 1 so that values stay finite. */
typedef float quad __attribute__((vector_size(16)));

static double floats_any(uint64_t rounds)
{
    quad a[CHAINS], b = {0.5F, 0.5F, 0.5F, 0.5F}, c = {1, 2, 3, 4}, sum = {0};
    for (int k = 0; k < CHAINS; k++)
        a[k] = c * (float)k;
    for (uint64_t i = 0; i < rounds; i++) {
#pragma GCC unroll 16
        for (int k = 0; k < CHAINS; k++)
            a[k] = a[k] * b + c;
        __asm__ volatile("" ::: "memory");
    }
    for (int k = 0; k < CHAINS; k++)
        sum += a[k];
    return (double)(sum[0] + sum[1] + sum[2] + sum[3]);
}

#if defined(__x86_64__)

static __attribute__((target("avx2"))) uint64_t read_avx2(const void *data, size_t bytes)
{
    return read_all(data, bytes);
}

/* The chains are separate variables: an array of them would be in memory. */
#define TWELVE(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11)

static __attribute__((target("avx2,fma"))) double floats_avx2(uint64_t rounds)
{
    const __m256 b = _mm256_set1_ps(0.5F), c = _mm256_set1_ps(1.0F);
#define BEGIN(k) __m256 a##k = _mm256_set1_ps(k);
#define STEP(k) a##k = _mm256_fmadd_ps(a##k, b, c);
#define SUM(k) sum = _mm256_add_ps(sum, a##k);
    TWELVE(BEGIN)
    for (uint64_t i = 0; i < rounds; i++) {
        TWELVE(STEP)
        __asm__ volatile("");
    }
    __m256 sum = _mm256_setzero_ps();
    TWELVE(SUM)
#undef BEGIN
#undef STEP
#undef SUM
    return (double)_mm256_cvtss_f32(sum);
}

static __attribute__((target("avx512f"))) double floats_avx512(uint64_t rounds)
{
    const __m512 b = _mm512_set1_ps(0.5F), c = _mm512_set1_ps(1.0F);
#define BEGIN(k) __m512 a##k = _mm512_set1_ps(k);
#define STEP(k) a##k = _mm512_fmadd_ps(a##k, b, c);
#define SUM(k) sum = _mm512_add_ps(sum, a##k);
    TWELVE(BEGIN)
    for (uint64_t i = 0; i < rounds; i++) {
        TWELVE(STEP)
        __asm__ volatile("");
    }
    __m512 sum = _mm512_setzero_ps();
    TWELVE(SUM)
#undef BEGIN
#undef STEP
#undef SUM
    return (double)_mm512_cvtss_f32(sum);
}

/* Without a dot product: products of pairs to 16 bits, pairs of those to 32, and a sum. The
 * factors change in each round, so that nothing can be hoisted out of the loop. */
static __attribute__((target("avx2"))) double int8_avx2(uint64_t rounds)
{
    const __m256i ones = _mm256_set1_epi16(1);
    __m256i b = _mm256_set1_epi8(3), c = _mm256_set1_epi8(2);
#define BEGIN(k) __m256i a##k = _mm256_set1_epi32(k);
#define STEP(k)                                                                                    \
    a##k = _mm256_add_epi32(a##k, _mm256_madd_epi16(_mm256_maddubs_epi16(b, c), ones));            \
    __asm__ volatile("" : "+x"(b));
#define SUM(k) sum = _mm256_add_epi32(sum, a##k);
    TWELVE(BEGIN)
    for (uint64_t i = 0; i < rounds; i++) {
        TWELVE(STEP)
    }
    __m256i sum = _mm256_setzero_si256();
    TWELVE(SUM)
#undef BEGIN
#undef STEP
#undef SUM
    return _mm256_cvtsi256_si32(sum);
}

static __attribute__((target("avx512f,avx512vnni"))) double int8_avx512(uint64_t rounds)
{
    const __m512i b = _mm512_set1_epi8(3), c = _mm512_set1_epi8(2);
#define BEGIN(k) __m512i a##k = _mm512_set1_epi32(k);
#define STEP(k) a##k = _mm512_dpbusd_epi32(a##k, b, c);
#define SUM(k) sum = _mm512_add_epi32(sum, a##k);
    TWELVE(BEGIN)
    for (uint64_t i = 0; i < rounds; i++) {
        TWELVE(STEP)
        __asm__ volatile("");
    }
    __m512i sum = _mm512_setzero_si512();
    TWELVE(SUM)
#undef BEGIN
#undef STEP
#undef SUM
    return _mm_cvtsi128_si32(_mm512_castsi512_si128(sum));
}

uint64_t tt_kernel_read(const void *data, size_t bytes)
{
    return __builtin_cpu_supports("avx2") ? read_avx2(data, bytes) : read_all(data, bytes);
}

const tt_kernel_compute *tt_kernel_floats(void)
{
    static const tt_kernel_compute avx512 = {"AVX-512", floats_avx512, 12.0 * 16 * 2};
    static const tt_kernel_compute avx2 = {"AVX2", floats_avx2, 12.0 * 8 * 2};
    static const tt_kernel_compute any = {"SSE", floats_any, CHAINS * 4.0 * 2};
    if (__builtin_cpu_supports("avx512f")) return &avx512;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &avx2 : &any;
}

const tt_kernel_compute *tt_kernel_int8(void)
{
    static const tt_kernel_compute vnni = {"AVX-512 VNNI", int8_avx512, 12.0 * 64 * 2};
    static const tt_kernel_compute avx2 = {"AVX2", int8_avx2, 12.0 * 32 * 2};
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vnni")) return &vnni;
    return __builtin_cpu_supports("avx2") ? &avx2 : NULL;
}

#else

uint64_t tt_kernel_read(const void *data, size_t bytes)
{
    return read_all(data, bytes);
}

const tt_kernel_compute *tt_kernel_floats(void)
{
    static const tt_kernel_compute any = {"vectors of 128 bits", floats_any, CHAINS * 4.0 * 2};
    return &any;
}

const tt_kernel_compute *tt_kernel_int8(void)
{
    return NULL;
}

#endif
