/* Little-endian:
 *
 *   0        8      16     24         32   36   40    48   56    72      73
 *   | n      | nan  | inf  | first_bad| min| max| mean| rms| hash| flags | prefix, samples, blake3
 *
 * flags: bit 0 there are finite elements, bit 1 there is a blake3. The number of floats follows
 * from n: one per element, at most 8 and 16. */
#include "value/pack.h"

#include "base/bytes.h"

#define HAS_RANGE 1u
#define HAS_BLAKE3 2u

static uint64_t bits_of(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static uint32_t bits_of_f32(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static uint8_t *put(uint8_t *at, uint64_t v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        at[i] = (uint8_t)(v >> 8 * i);
    return at + n;
}

size_t tt_value_pack(const tt_fingerprint *f, uint8_t out[TT_VALUE_PACKED_MAX])
{
    uint8_t *at = out;
    at = put(at, f->n, 8);
    at = put(at, f->n_nan, 8);
    at = put(at, f->n_inf, 8);
    at = put(at, f->first_bad, 8);
    at = put(at, bits_of_f32(f->min), 4);
    at = put(at, bits_of_f32(f->max), 4);
    at = put(at, bits_of(f->mean), 8);
    at = put(at, bits_of(f->rms), 8);
    memcpy(at, f->hash, sizeof f->hash);
    at += sizeof f->hash;
    *at++ = (uint8_t)((f->has_range ? HAS_RANGE : 0u) | (f->has_blake3 ? HAS_BLAKE3 : 0u));
    for (uint32_t i = 0; i < f->n_prefix; i++)
        at = put(at, bits_of_f32(f->prefix[i]), 4);
    for (uint32_t i = 0; i < f->n_samples; i++)
        at = put(at, bits_of_f32(f->samples[i]), 4);
    if (f->has_blake3) {
        memcpy(at, f->blake3, sizeof f->blake3);
        at += sizeof f->blake3;
    }
    return (size_t)(at - out);
}

static float get_f32(tt_cursor *c)
{
    uint32_t bits = tt_cursor_u32(c);
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static double get_f64(tt_cursor *c)
{
    uint64_t bits = tt_cursor_u64(c);
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static void get_bytes(tt_cursor *c, uint8_t *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = tt_cursor_u8(c);
}

static bool is_sane(const tt_fingerprint *f)
{
    uint64_t bad = f->n_nan + f->n_inf;
    if (f->n_nan > f->n || f->n_inf > f->n || bad > f->n) return false;
    if (f->has_range != (bad < f->n)) return false;
    return bad ? f->first_bad < f->n : f->first_bad == TT_VALUE_NONE;
}

bool tt_value_unpack(const uint8_t *bytes, size_t n, tt_fingerprint *f)
{
    tt_cursor c = tt_cursor_of(bytes, n);
    memset(f, 0, sizeof *f);
    f->n = tt_cursor_u64(&c);
    f->n_nan = tt_cursor_u64(&c);
    f->n_inf = tt_cursor_u64(&c);
    f->first_bad = tt_cursor_u64(&c);
    f->min = get_f32(&c);
    f->max = get_f32(&c);
    f->mean = get_f64(&c);
    f->rms = get_f64(&c);
    get_bytes(&c, f->hash, sizeof f->hash);
    uint8_t flags = tt_cursor_u8(&c);
    f->has_range = flags & HAS_RANGE;
    f->has_blake3 = flags & HAS_BLAKE3;
    f->n_prefix = (uint32_t)(f->n < TT_VALUE_PREFIX ? f->n : TT_VALUE_PREFIX);
    f->n_samples = (uint32_t)(f->n < TT_VALUE_SAMPLES ? f->n : TT_VALUE_SAMPLES);
    for (uint32_t i = 0; i < f->n_prefix; i++)
        f->prefix[i] = get_f32(&c);
    for (uint32_t i = 0; i < f->n_samples; i++)
        f->samples[i] = get_f32(&c);
    if (f->has_blake3) get_bytes(&c, f->blake3, sizeof f->blake3);
    return !c.failed && flags <= (HAS_RANGE | HAS_BLAKE3) && is_sane(f);
}
