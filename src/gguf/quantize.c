#include "gguf/quantize.h"

#include <math.h>
#include <string.h>

/* Sub-block scales of K types are drawn from [8, 15]; root of their mean square. */
#define SCALE_RMS 11.726
#define SCALE_BITS(random) (8u + ((unsigned)(random)&7u))

static uint64_t rotate(uint64_t v, unsigned n)
{
    return v << n | v >> (64 - n);
}

void tt_random_init(tt_random *r, uint64_t seed)
{
    /* splitmix64 spreads any seed, including 0, over the state. */
    for (unsigned i = 0; i < 4; i++) {
        uint64_t z = (seed += 0x9e3779b97f4a7c15u);
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        r->s[i] = z ^ z >> 31;
    }
}

static uint64_t random_next(tt_random *r)
{
    uint64_t *s = r->s;
    uint64_t out = rotate(s[0] + s[3], 23) + s[0];
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return out;
}

static void random_bytes(uint8_t *out, size_t n, tt_random *r)
{
    uint64_t v;
    for (; n >= 8; n -= 8, out += 8) {
        v = random_next(r);
        memcpy(out, &v, 8);
    }
    v = n ? random_next(r) : 0;
    memcpy(out, &v, n);
}

uint16_t tt_bfloat_of(float v)
{
    uint32_t u;
    memcpy(&u, &v, sizeof u);
    return (uint16_t)((u + 0x7fffu + (u >> 16 & 1)) >> 16);
}

uint16_t tt_half_of(float v)
{
    uint32_t u;
    memcpy(&u, &v, sizeof u);
    uint32_t sign = u >> 16 & 0x8000u;
    int exponent = (int)(u >> 23 & 0xff) - 127 + 15;
    uint32_t mantissa = (u & 0x7fffffu) | 0x800000u;
    if (exponent >= 31) return (uint16_t)(sign | 0x7bffu); /* the largest finite value */
    unsigned shift = 13;
    if (exponent <= 0) { /* subnormal: the leading 1 moves into the mantissa */
        if (exponent < -10) return (uint16_t)sign;
        shift += (unsigned)(1 - exponent);
        exponent = 0;
    } else {
        mantissa &= 0x7fffffu;
    }
    uint32_t kept = mantissa >> shift;
    uint32_t rest = mantissa & ((1u << shift) - 1);
    uint32_t half = 1u << (shift - 1);
    uint32_t out = ((uint32_t)exponent << 10) + kept;
    if (rest > half || (rest == half && (kept & 1))) out++; /* a carry increments the exponent */
    return (uint16_t)(sign | (out > 0x7bffu ? 0x7bffu : out));
}

static void put_half(uint8_t *at, double v)
{
    uint16_t h = tt_half_of((float)v);
    memcpy(at, &h, sizeof h);
}

/* Sets the fields besides the codes; one function per block layout. `d` is the block's scale;
 * `random` provides random bits. */
typedef void fix_block(uint8_t *block, double d, uint64_t random);

/* Asymmetric codes (-8 to 7) have a mean other than 0, which over a whole matrix outweighs
 * everything else. With d of either sign it cancels out. */
static double either_sign(double d, uint64_t random)
{
    return random >> 63 ? -d : d;
}

static void fix_scale_first(uint8_t *b, double d, uint64_t random)
{
    put_half(b, either_sign(d, random));
}

/* d*q + m, where m makes the mean 0: codes 0..15 (Q4_1) or 0..31 (Q5_1). */
static void fix_q4_1(uint8_t *b, double d, uint64_t random)
{
    (void)random;
    put_half(b, d);
    put_half(b + 2, -7.5 * d);
}

static void fix_q5_1(uint8_t *b, double d, uint64_t random)
{
    (void)random;
    put_half(b, d);
    put_half(b + 2, -15.5 * d);
}

/* Quantisers never produce -128, and SIMD kernels may not negate it. */
static void fix_q8_0(uint8_t *b, double d, uint64_t random)
{
    (void)random;
    put_half(b, d);
    for (unsigned i = 2; i < 34; i++)
        if (b[i] == 0x80) b[i] = 0x81;
}

static void fix_q2_k(uint8_t *b, double d, uint64_t random)
{
    for (unsigned i = 0; i < 16; i++, random >>= 3) {
        unsigned k = SCALE_BITS(random);
        b[i] = (uint8_t)(k | k << 4);
    }
    put_half(b + 80, d);
    put_half(b + 82, 1.5 * d);
}

static void fix_q3_k(uint8_t *b, double d, uint64_t random)
{
    put_half(b + 108, either_sign(d, random));
}

/* Eight 6-bit scales and minima in 12 bytes (Q4_K and Q5_K). Scale and minimum are both k here,
 * so the mean is 0 when dmin is d times the middle code. All k are below 16: the two high bits
 * that share bytes 0 to 7 stay 0. */
static void put_k_scales(uint8_t *b, double d, double middle, uint64_t random)
{
    put_half(b, d);
    put_half(b + 2, middle * d);
    for (unsigned i = 0; i < 4; i++, random >>= 6) {
        unsigned low = SCALE_BITS(random);
        unsigned high = SCALE_BITS(random >> 3);
        b[4 + i] = (uint8_t)low;
        b[8 + i] = (uint8_t)low;
        b[12 + i] = (uint8_t)(high | high << 4);
    }
}

static void fix_q4_k(uint8_t *b, double d, uint64_t random)
{
    put_k_scales(b, d, 7.5, random);
}

static void fix_q5_k(uint8_t *b, double d, uint64_t random)
{
    put_k_scales(b, d, 15.5, random);
}

static void fix_q6_k(uint8_t *b, double d, uint64_t random)
{
    for (unsigned i = 0; i < 16; i++, random >>= 3)
        b[192 + i] = (uint8_t)SCALE_BITS(random);
    put_half(b + 208, either_sign(d, random));
}

/* Codes 0, 1, 2 only: 3 becomes 1. */
static void fix_tq2_0(uint8_t *b, double d, uint64_t random)
{
    (void)random;
    for (unsigned i = 0; i < 64; i++)
        b[i] = (uint8_t)(b[i] ^ (b[i] & b[i] >> 1 & 0x55) << 1);
    put_half(b + 64, d);
}

/* The scale is a power of two, 2^(e-128) for the doubled code values. */
static void fix_mxfp4(uint8_t *b, double d, uint64_t random)
{
    (void)random;
    double e = 128 + round(log2(d));
    b[0] = (uint8_t)(e < 1 ? 1 : e > 254 ? 254 : e);
}

/* rms: root mean square of the decoded values of random codes when d is 1. */
static const struct {
    uint32_t type;
    double rms;
    fix_block *fix;
} makers[] = {
    {TT_GGML_Q4_0, 4.637, fix_scale_first},
    {TT_GGML_Q4_1, 4.610, fix_q4_1},
    {TT_GGML_Q5_0, 9.247, fix_scale_first},
    {TT_GGML_Q5_1, 9.233, fix_q5_1},
    {TT_GGML_Q8_0, 73.9, fix_q8_0},
    {TT_GGML_Q2_K, SCALE_RMS * 1.118, fix_q2_k},
    {TT_GGML_Q3_K, 18.48 * 2.345, fix_q3_k},
    {TT_GGML_Q4_K, SCALE_RMS * 4.610, fix_q4_k},
    {TT_GGML_Q5_K, SCALE_RMS * 9.233, fix_q5_k},
    {TT_GGML_Q6_K, SCALE_RMS * 18.48, fix_q6_k},
    {TT_GGML_IQ4_NL, 67.44, fix_scale_first},
    {TT_GGML_TQ2_0, 0.7071, fix_tq2_0},
    {TT_GGML_MXFP4, 5.852, fix_mxfp4},
};

#define MAKER_COUNT (sizeof makers / sizeof makers[0])

static size_t maker_of(uint32_t type_id)
{
    size_t i = 0;
    while (i < MAKER_COUNT && makers[i].type != type_id)
        i++;
    return i;
}

static bool is_float(uint32_t type_id)
{
    return type_id == TT_GGML_F32 || type_id == TT_GGML_F16 || type_id == TT_GGML_BF16;
}

bool tt_quantize_supports(uint32_t type_id)
{
    return is_float(type_id) || maker_of(type_id) < MAKER_COUNT;
}

/* The sum of four random bytes is close to normal: mean 510, deviation 147.8. */
static float random_float(uint32_t bits, float scale)
{
    uint32_t pairs = (bits & 0x00ff00ffu) + (bits >> 8 & 0x00ff00ffu);
    return ((float)((pairs & 0xffffu) + (pairs >> 16)) - 510.0f) * scale;
}

static void random_floats(uint32_t type_id, uint8_t *out, size_t n, float sigma, tt_random *r)
{
    float scale = sigma / 147.8f;
    uint64_t bits = 0;
    for (size_t i = 0; i < n; i++) {
        bits = i & 1 ? bits >> 32 : random_next(r);
        float v = random_float((uint32_t)bits, scale);
        uint16_t h = type_id == TT_GGML_F16 ? tt_half_of(v) : tt_bfloat_of(v);
        if (type_id == TT_GGML_F32)
            memcpy(out + i * 4, &v, 4);
        else
            memcpy(out + i * 2, &h, 2);
    }
}

bool tt_quantize_random(const tt_ggml_type *type, uint8_t *out, size_t n_blocks, float sigma,
                        tt_random *r)
{
    if (is_float(type->id)) {
        random_floats(type->id, out, n_blocks, sigma, r);
        return true;
    }
    size_t maker = maker_of(type->id);
    if (maker == MAKER_COUNT) return false;
    double d = (double)sigma / makers[maker].rms;
    random_bytes(out, n_blocks * type->block_bytes, r);
    for (size_t i = 0; i < n_blocks; i++)
        makers[maker].fix(out + i * type->block_bytes, d, random_next(r));
    return true;
}
