#include "dequant.h"

#include <math.h>
#include <string.h>

static const type_layout layouts[] = {
    {TYPE_F32, "f32", 1, 4},       {TYPE_F16, "f16", 1, 2},     {TYPE_BF16, "bf16", 1, 2},
    {TYPE_Q4_0, "q4_0", 32, 18},   {TYPE_Q8_0, "q8_0", 32, 34}, {TYPE_Q4_K, "q4_K", 256, 144},
    {TYPE_Q6_K, "q6_K", 256, 210},
};

const type_layout *type_find(uint32_t type)
{
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
        if (layouts[i].type == type) return &layouts[i];
    return NULL;
}

float half_to_float(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
    int exponent = h >> 10 & 31;
    uint32_t mantissa = h & 0x3ffu;
    if (exponent == 0) { /* zero and subnormal: mantissa * 2^-24 */
        float v = ldexpf((float)mantissa, -24);
        return sign ? -v : v;
    }
    uint32_t bits = sign | (exponent == 31 ? 0x7f800000u : (uint32_t)(exponent + 112) << 23);
    bits |= mantissa << 13;
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

uint16_t half_of_float(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000u);
    if (isnan(v)) return sign | 0x7e00u;
    float size = fabsf(v);
    if (size >= 65520.0f) return sign | 0x7c00u;
    if (size < 0x1p-14f) /* subnormal: a whole number of 2^-24; 1024 of them is the next range */
        return (uint16_t)(sign | (uint16_t)lrintf(ldexpf(size, 24)));
    int exponent;
    float fraction =
        frexpf(size, &exponent); /* size = fraction * 2^exponent, 0.5 <= fraction < 1 */
    uint32_t mantissa = (uint32_t)lrintf(ldexpf(fraction, 11)); /* 1024 .. 2048: 2048 carries */
    return (uint16_t)(sign | (((uint32_t)(exponent + 13) << 10) + mantissa));
}

static float half_at(const uint8_t *bytes)
{
    return half_to_float((uint16_t)(bytes[0] | bytes[1] << 8));
}

/* 32 codes of 4 bits, of which 8 is zero: the low halves of the bytes, then the high ones. */
static void block_q4_0(const uint8_t *b, float *out)
{
    float d = half_at(b);
    for (int i = 0; i < 16; i++) {
        out[i] = d * (float)((b[2 + i] & 15) - 8);
        out[i + 16] = d * (float)((b[2 + i] >> 4) - 8);
    }
}

static void block_q8_0(const uint8_t *b, float *out)
{
    float d = half_at(b);
    for (int i = 0; i < 32; i++)
        out[i] = d * (float)(int8_t)b[2 + i];
}

/* Scale and minimum of sub-block k, six bits each, in 12 bytes: those of the first four lie in
 * bytes 0-3 and 4-7; the others have their low halves in bytes 8-11 and their two high bits where
 * the first ones leave room. */
static void scale_q4_k(const uint8_t *s, int k, float *scale, float *minimum)
{
    int sc = k < 4 ? s[k] & 63 : (s[k + 4] & 15) | s[k - 4] >> 6 << 4;
    int m = k < 4 ? s[k + 4] & 63 : s[k + 4] >> 4 | s[k] >> 6 << 4;
    *scale = (float)sc;
    *minimum = (float)m;
}

/* 8 sub-blocks of 32: two share 32 bytes, the even one has their low halves. */
static void block_q4_k(const uint8_t *b, float *out)
{
    float d = half_at(b), dmin = half_at(b + 2);
    for (int k = 0; k < 8; k++) {
        float scale, minimum;
        scale_q4_k(b + 4, k, &scale, &minimum);
        const uint8_t *codes = b + 16 + k / 2 * 32;
        for (int i = 0; i < 32; i++) {
            int code = k % 2 ? codes[i] >> 4 : codes[i] & 15;
            out[32 * k + i] = d * scale * (float)code - dmin * minimum;
        }
    }
}

/* 128 bytes of low halves, 64 bytes of the two high bits, 16 signed scales, the block's scale. Each
 * half of the block has its own half of each; in it, quarter q has bits 2q of the high bits. */
static void block_q6_k(const uint8_t *b, float *out)
{
    float d = half_at(b + 208);
    for (int i = 0; i < 256; i++) {
        int half = i / 128, quarter = i % 128 / 32, column = i % 32;
        int low = b[64 * half + 32 * (quarter % 2) + column] >> 4 * (quarter / 2) & 15;
        int high = b[128 + 32 * half + column] >> 2 * quarter & 3;
        int8_t scale = (int8_t)b[192 + i / 16];
        out[i] = d * (float)scale * (float)((low | high << 4) - 32);
    }
}

static void plain(uint32_t type, const uint8_t *bytes, float *out)
{
    uint32_t bits;
    switch (type) {
    case TYPE_F32:
        memcpy(out, bytes, 4);
        break;
    case TYPE_F16:
        *out = half_at(bytes);
        break;
    default: /* TYPE_BF16: the upper half of a float32 */
        bits = (uint32_t)bytes[0] << 16 | (uint32_t)bytes[1] << 24;
        memcpy(out, &bits, 4);
    }
}

void dequantize(uint32_t type, const uint8_t *bytes, size_t n, float *out)
{
    const type_layout *t = type_find(type);
    if (!t) return;
    for (size_t i = 0; i < n; i += t->block_elements, bytes += t->block_bytes) {
        switch (type) {
        case TYPE_Q4_0:
            block_q4_0(bytes, out + i);
            break;
        case TYPE_Q8_0:
            block_q8_0(bytes, out + i);
            break;
        case TYPE_Q4_K:
            block_q4_k(bytes, out + i);
            break;
        case TYPE_Q6_K:
            block_q6_k(bytes, out + i);
            break;
        default:
            plain(type, bytes, out + i);
        }
    }
}
