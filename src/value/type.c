#include "value/type.h"

#include <stdatomic.h>
#include <string.h>

#define BLOCK 32u /* elements, for all quantised types here */

typedef struct type_about {
    const char *name;
    uint32_t elements;
    uint32_t bytes;
} type_about;

static const type_about TYPES[TT_VALUE_TYPES] = {
    [TT_VALUE_UNKNOWN] = {"unknown", 0, 0},
    [TT_VALUE_F32] = {"f32", 1, 4},
    [TT_VALUE_F16] = {"f16", 1, 2},
    [TT_VALUE_BF16] = {"bf16", 1, 2},
    [TT_VALUE_F64] = {"f64", 1, 8},
    [TT_VALUE_I8] = {"i8", 1, 1},
    [TT_VALUE_I16] = {"i16", 1, 2},
    [TT_VALUE_I32] = {"i32", 1, 4},
    [TT_VALUE_I64] = {"i64", 1, 8},
    [TT_VALUE_Q8_0] = {"q8_0", BLOCK, 34},
    [TT_VALUE_Q5_1] = {"q5_1", BLOCK, 24},
    [TT_VALUE_Q5_0] = {"q5_0", BLOCK, 22},
    [TT_VALUE_Q4_1] = {"q4_1", BLOCK, 20},
    [TT_VALUE_Q4_0] = {"q4_0", BLOCK, 18},
    [TT_VALUE_IQ4_NL] = {"iq4_nl", BLOCK, 18},
};

/* ggml's kvalues_iq4nl: the values of the 16 codes of iq4_nl. */
static const int8_t IQ4_NL[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                  1,    13,   25,  38,  53,  69,  89,  113};

tt_value_type tt_value_type_of(const char *name)
{
    for (int i = 1; i < TT_VALUE_TYPES; i++)
        if (strcmp(TYPES[i].name, name) == 0) return (tt_value_type)i;
    return TT_VALUE_UNKNOWN;
}

const char *tt_value_type_name(tt_value_type type)
{
    return TYPES[type].name;
}

uint32_t tt_value_block_elements(tt_value_type type)
{
    return TYPES[type].elements;
}

uint32_t tt_value_block_bytes(tt_value_type type)
{
    return TYPES[type].bytes;
}

bool tt_value_is_integer(tt_value_type type)
{
    return type >= TT_VALUE_I8 && type <= TT_VALUE_I64;
}

static float float_of_bits(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* IEEE 754 binary16, without a branch for normal numbers: exponent and fraction are moved to
 * their places in a binary32, which is scaled by the difference of the biases (2^112); this also
 * converts subnormal numbers correctly. */
static float half(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
    uint32_t rest = (uint32_t)(h & 0x7fffu) << 13;
    /* A signalling NaN becomes a quiet one, as in the processor's conversion. */
    if ((h & 0x7c00u) == 0x7c00u)
        return float_of_bits(sign | 0x7f800000u | (rest & 0x7fffffu) |
                             (h & 0x3ffu ? 0x400000u : 0u));
    return float_of_bits(rest | sign) * 0x1p112f;
}

static uint16_t u16_at(const uint8_t *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static float half_at(const uint8_t *p)
{
    return half(u16_at(p));
}

static void halves_to_f32(const uint8_t *in, size_t n, float *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = half_at(in + i * 2);
}

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

/* Most outputs other than f32 are f16: those of a KV cache. */
__attribute__((target("avx,f16c"))) static void halves_to_f32_f16c(const uint8_t *in, size_t n,
                                                                   float *out)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(in + i * 2))));
    halves_to_f32(in + i * 2, n - i, out + i);
}

/* Queries the processor, since not every compiler's __builtin_cpu_supports knows the name, and
 * only once, since this is slow on a virtual machine. "avx" covers the system's support for AVX
 * registers. */
static bool has_f16c(void)
{
    static _Atomic int known; /* 0: unknown yet, 1: no, 2: yes */
    int answer = atomic_load_explicit(&known, memory_order_relaxed);
    unsigned a, b, c, d;
    if (!answer) {
        answer = 1;
        if (__builtin_cpu_supports("avx") && __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C))
            answer = 2;
        atomic_store_explicit(&known, answer, memory_order_relaxed);
    }
    return answer == 2;
}

static void f16_to_f32(const uint8_t *in, size_t n, float *out)
{
    if (has_f16c())
        halves_to_f32_f16c(in, n, out);
    else
        halves_to_f32(in, n, out);
}
#else
static void f16_to_f32(const uint8_t *in, size_t n, float *out)
{
    halves_to_f32(in, n, out);
}
#endif

#define PLAIN(name, type)                                                                          \
    static void name(const uint8_t *in, size_t n, float *out)                                      \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            type v;                                                                                \
            memcpy(&v, in + i * sizeof v, sizeof v);                                               \
            out[i] = (float)v;                                                                     \
        }                                                                                          \
    }
PLAIN(f64_to_f32, double)
PLAIN(i8_to_f32, int8_t)
PLAIN(i16_to_f32, int16_t)
PLAIN(i32_to_f32, int32_t)
PLAIN(i64_to_f32, int64_t)
#undef PLAIN

static void bf16_to_f32(const uint8_t *in, size_t n, float *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = float_of_bits((uint32_t)u16_at(in + i * 2) << 16);
}

static void q8_0_block(const uint8_t *b, float *out)
{
    float d = half_at(b);
    for (size_t i = 0; i < BLOCK; i++)
        out[i] = (float)(int8_t)b[2 + i] * d;
}

/* The 4-bit codes of a block: low halves of 16 bytes, then high halves. */
static unsigned code(const uint8_t *codes, size_t i)
{
    return i < BLOCK / 2 ? codes[i] & 15u : codes[i - BLOCK / 2] >> 4;
}

static void q4_0_block(const uint8_t *b, float *out)
{
    float d = half_at(b);
    for (size_t i = 0; i < BLOCK; i++)
        out[i] = (float)((int)code(b + 2, i) - 8) * d;
}

static void q4_1_block(const uint8_t *b, float *out)
{
    float d = half_at(b), m = half_at(b + 2);
    for (size_t i = 0; i < BLOCK; i++)
        out[i] = (float)code(b + 4, i) * d + m;
}

static void iq4_nl_block(const uint8_t *b, float *out)
{
    float d = half_at(b);
    for (size_t i = 0; i < BLOCK; i++)
        out[i] = (float)IQ4_NL[code(b + 2, i)] * d;
}

/* The fifth bits of the codes are a 32-bit number in front. */
static unsigned code5(const uint8_t *high, size_t i)
{
    uint32_t bits;
    memcpy(&bits, high, sizeof bits);
    return code(high + 4, i) | ((bits >> i) & 1u) << 4;
}

static void q5_0_block(const uint8_t *b, float *out)
{
    float d = half_at(b);
    for (size_t i = 0; i < BLOCK; i++)
        out[i] = (float)((int)code5(b + 2, i) - 16) * d;
}

static void q5_1_block(const uint8_t *b, float *out)
{
    float d = half_at(b), m = half_at(b + 2);
    for (size_t i = 0; i < BLOCK; i++)
        out[i] = (float)code5(b + 4, i) * d + m;
}

static void blocks(void (*one)(const uint8_t *, float *), size_t bytes, const uint8_t *in, size_t n,
                   float *out)
{
    for (size_t i = 0; i < n / BLOCK; i++)
        one(in + i * bytes, out + i * BLOCK);
}

void tt_value_to_f32(tt_value_type type, const void *bytes, size_t n, float *out)
{
    const uint8_t *in = bytes;
    switch (type) {
    case TT_VALUE_F32:
        memcpy(out, in, n * sizeof *out);
        break;
    case TT_VALUE_F16:
        f16_to_f32(in, n, out);
        break;
    case TT_VALUE_BF16:
        bf16_to_f32(in, n, out);
        break;
    case TT_VALUE_F64:
        f64_to_f32(in, n, out);
        break;
    case TT_VALUE_I8:
        i8_to_f32(in, n, out);
        break;
    case TT_VALUE_I16:
        i16_to_f32(in, n, out);
        break;
    case TT_VALUE_I32:
        i32_to_f32(in, n, out);
        break;
    case TT_VALUE_I64:
        i64_to_f32(in, n, out);
        break;
    case TT_VALUE_Q8_0:
        blocks(q8_0_block, 34, in, n, out);
        break;
    case TT_VALUE_Q5_1:
        blocks(q5_1_block, 24, in, n, out);
        break;
    case TT_VALUE_Q5_0:
        blocks(q5_0_block, 22, in, n, out);
        break;
    case TT_VALUE_Q4_1:
        blocks(q4_1_block, 20, in, n, out);
        break;
    case TT_VALUE_Q4_0:
        blocks(q4_0_block, 18, in, n, out);
        break;
    case TT_VALUE_IQ4_NL:
        blocks(iq4_nl_block, 18, in, n, out);
        break;
    case TT_VALUE_UNKNOWN:
    case TT_VALUE_TYPES:
        break;
    }
}
