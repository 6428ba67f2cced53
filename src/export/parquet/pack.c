#include "export/parquet/pack.h"

#include <stdbool.h>
#include <stdlib.h>

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

#define INTERVAL 128u /* consecutive values in a sample */
#define INTERVALS 8u  /* in a sample */
#define EMPTY 0xffffu /* no code: there are at most TT_PARQUET_DISTINCT */
#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)
/* Differences as wide as these gain nothing: 64-bit and 32-bit values. */
#define DELTA_MOST_WIDE 60.0
#define DELTA_MOST 30.0
/* Differences this short need no comparison with other encodings. */
#define DELTA_SHORT 4.0

bool tt_parquet_lookup_reserve(tt_parquet_lookup *l, size_t n)
{
    if (!l->distinct) l->distinct = malloc(TT_PARQUET_DIRECT * sizeof *l->distinct);
    if (!l->direct) l->direct = malloc(TT_PARQUET_DIRECT * sizeof *l->direct);
    if (!l->used) l->used = malloc(TT_PARQUET_DIRECT);
    if (!l->keys) l->keys = malloc(TT_PARQUET_SLOTS * sizeof *l->keys);
    if (!l->slots) l->slots = malloc(TT_PARQUET_SLOTS * sizeof *l->slots);
    if (!l->distinct || !l->direct || !l->used || !l->keys || !l->slots) return false;
    if (n <= l->capacity) return true;
    uint32_t *codes = n <= SIZE_MAX / sizeof *codes ? malloc(n * sizeof *codes) : NULL;
    if (!codes) return false;
    free(l->codes);
    l->codes = codes;
    l->capacity = n;
    return true;
}

void tt_parquet_lookup_free(tt_parquet_lookup *l)
{
    free(l->codes);
    free(l->distinct);
    free(l->direct);
    free(l->used);
    free(l->keys);
    free(l->slots);
    memset(l, 0, sizeof *l);
}

TT_INLINE uint64_t raw(const tt_parquet_integers *v, size_t i, bool wide)
{
    return wide ? ((const uint64_t *)v->values)[i] : ((const uint32_t *)v->values)[i];
}

/* ---- bounds ---- */

TT_INLINE void bounds(tt_parquet_integers *v, bool wide)
{
    uint64_t least = UINT64_MAX, most = 0, bias = v->bias;
    for (size_t i = 0; i < v->n; i++) {
        uint64_t key = raw(v, i, wide) ^ bias;
        least = key < least ? key : least;
        most = key > most ? key : most;
    }
    v->least = least;
    v->most = most;
}

TT_MODERN static void bounds_modern(tt_parquet_integers *v)
{
    if (v->wide)
        bounds(v, true);
    else
        bounds(v, false);
}

void tt_parquet_integers_bounds(tt_parquet_integers *v)
{
    if (tt_is_modern())
        bounds_modern(v);
    else if (v->wide)
        bounds(v, true);
    else
        bounds(v, false);
}

/* ---- samples ---- */

/* The share of the sampled intervals with a single value: these cost nothing in a list. */
static double constant_share(const tt_parquet_integers *v)
{
    size_t size = v->wide ? 8 : 4, step = v->n / INTERVALS, constant = 0;
    const uint8_t *bytes = v->values;
    if (step < INTERVAL) return 0;
    for (size_t s = 0; s < INTERVALS; s++) {
        const uint8_t *at = bytes + s * step * size;
        /* Each value is its predecessor's. */
        constant += memcmp(at, at + size, (INTERVAL - 1) * size) == 0;
    }
    return (double)constant / INTERVALS;
}

/* ---- a list of the distinct values ---- */

TT_INLINE void code_direct(const tt_parquet_integers *v, tt_parquet_lookup *l, bool wide)
{
    uint64_t base = v->least, bias = v->bias, span = v->most - v->least;
    uint32_t n = 0;
    memset(l->used, 0, span + 1);
    for (size_t i = 0; i < v->n; i++)
        l->used[(raw(v, i, wide) ^ bias) - base] = 1;
    for (uint64_t k = 0; k <= span; k++) {
        if (!l->used[k]) continue;
        l->direct[k] = (uint16_t)n;
        l->distinct[n++] = (base + k) ^ bias;
    }
    l->n_distinct = n;
    if (n == span + 1)
        for (size_t i = 0; i < v->n; i++)
            l->codes[i] = (uint32_t)((raw(v, i, wide) ^ bias) - base);
    else
        for (size_t i = 0; i < v->n; i++)
            l->codes[i] = l->direct[(raw(v, i, wide) ^ bias) - base];
}

/* The code of a value, which may be new; EMPTY if there are too many. */
TT_INLINE uint16_t code_of(tt_parquet_lookup *l, uint64_t value)
{
    size_t slot = (size_t)((value * GOLDEN) >> 50); /* 14 bits: TT_PARQUET_SLOTS */
    while (l->slots[slot] != EMPTY && l->keys[slot] != value)
        slot = (slot + 1) % TT_PARQUET_SLOTS;
    if (l->slots[slot] != EMPTY) return l->slots[slot];
    if (l->n_distinct == TT_PARQUET_DISTINCT) return EMPTY;
    l->keys[slot] = value;
    l->slots[slot] = (uint16_t)l->n_distinct;
    l->distinct[l->n_distinct++] = value;
    return l->slots[slot];
}

static void clear(tt_parquet_lookup *l)
{
    memset(l->slots, 0xff, TT_PARQUET_SLOTS * sizeof *l->slots);
    l->n_distinct = 0;
}

TT_INLINE bool code_hashed(const tt_parquet_integers *v, tt_parquet_lookup *l, bool wide)
{
    clear(l);
    for (size_t i = 0; i < v->n; i++) {
        uint16_t code = code_of(l, raw(v, i, wide));
        if (code == EMPTY) return false;
        l->codes[i] = code;
    }
    return true;
}

/* Whether enough of a sample's values repeat. */
static bool values_repeat(const tt_parquet_integers *v, tt_parquet_lookup *l)
{
    size_t step = v->n / INTERVALS;
    if (step < INTERVAL) return true;
    clear(l);
    for (size_t s = 0; s < INTERVALS; s++)
        for (size_t i = s * step; i < s * step + INTERVAL; i++)
            (void)code_of(l, raw(v, i, v->wide));
    return l->n_distinct <= INTERVALS * INTERVAL / 2;
}

/* ---- the choice ---- */

static bool code(const tt_parquet_integers *v, tt_parquet_lookup *l, bool direct)
{
    if (direct && v->wide)
        code_direct(v, l, true);
    else if (direct)
        code_direct(v, l, false);
    else
        return v->wide ? code_hashed(v, l, true) : code_hashed(v, l, false);
    return true;
}

tt_parquet_encoding tt_parquet_integers_encoding(const tt_parquet_integers *v, tt_parquet_lookup *l)
{
    double size_bits = v->wide ? 64 : 32, n = (double)v->n;
    uint64_t span = v->most - v->least;
    /* A table larger than the data is not worth clearing. */
    bool direct = span < TT_PARQUET_DIRECT && span < 16 + v->n;
    double constant = constant_share(v);
    if (span == 0 || v->n == 1) return code(v, l, true), TT_PARQUET_DICTIONARY;
    double delta = tt_parquet_delta_bits(v->values, v->n, v->wide);
    tt_parquet_encoding other =
        delta < (v->wide ? DELTA_MOST_WIDE : DELTA_MOST) ? TT_PARQUET_DELTA : TT_PARQUET_PLAIN;
    if (other == TT_PARQUET_PLAIN) delta = size_bits;
    /* Flags and similar values are found at once; numbers that count up are not worth a list. */
    if (span > 255 && delta < DELTA_SHORT && constant < 1) return other;
    if (!direct && !values_repeat(v, l)) return other;
    if (!code(v, l, direct)) return other;
    double width = tt_parquet_width(l->n_distinct - 1);
    double listed = width * (1 - constant) + l->n_distinct * size_bits / n;
    return listed <= delta ? TT_PARQUET_DICTIONARY : other;
}

#define GROUP 8u   /* values: packed intervals are multiples of it */
#define BLOCK 128u /* values whose differences share a minimum */
#define MINI 32u   /* values packed with one width */
#define MINIS (BLOCK / MINI)
#define SLACK 16u /* bytes that packing may write after its end */
#define SAMPLE_BLOCKS 8u

unsigned tt_parquet_width(uint64_t max)
{
    return max ? 64u - (unsigned)__builtin_clzll(max) : 0;
}

TT_INLINE void store_u64(uint8_t *out, uint64_t v)
{
    memcpy(out, &v, sizeof v);
}

/* Eight values of at most 16 bits each; writes `width` valid bytes, up to SLACK in total. */
TT_INLINE void pack_narrow(uint8_t *out, const uint64_t v[GROUP], unsigned width)
{
    unsigned half = 4 * width;
    uint64_t low = v[0] | v[1] << width | v[2] << 2 * width | v[3] << 3 * width;
    uint64_t high = v[4] | v[5] << width | v[6] << 2 * width | v[7] << 3 * width;
    if (half <= 32) {
        store_u64(out, low | high << half);
    } else {
        store_u64(out, half < 64 ? low | high << half : low);
        store_u64(out + 8, half < 64 ? high >> (64 - half) : high);
    }
}

/* Eight values of 17 to 32 bits each, four at a time; after an odd width the second four begin in
 * the middle of a byte. */
TT_INLINE void pack_medium(uint8_t *out, const uint64_t v[GROUP], unsigned width)
{
    typedef unsigned __int128 u128;
    unsigned half = 4 * width, rest = half % 8;
    u128 low = (u128)(v[0] | v[1] << width) | (u128)(v[2] | v[3] << width) << 2 * width;
    u128 high = (u128)(v[4] | v[5] << width) | (u128)(v[6] | v[7] << width) << 2 * width;
    if (rest) high = high << rest | low >> (half - rest);
    memcpy(out, &low, sizeof low);
    memcpy(out + half / 8, &high, sizeof high);
}

/* Eight values of any width. */
static void pack_any(uint8_t *out, const uint64_t v[GROUP], unsigned width)
{
    unsigned __int128 acc = 0;
    unsigned bits = 0;
    for (unsigned i = 0; i < GROUP; i++) {
        acc |= (unsigned __int128)v[i] << bits;
        bits += width;
        if (bits >= 64) {
            store_u64(out, (uint64_t)acc);
            out += 8;
            acc >>= 64;
            bits -= 64;
        }
    }
    store_u64(out, (uint64_t)acc);
}

TT_INLINE void pack_group(uint8_t *out, const uint64_t v[GROUP], unsigned width)
{
    if (width <= 16)
        pack_narrow(out, v, width);
    else if (width <= 32)
        pack_medium(out, v, width);
    else
        pack_any(out, v, width);
}

/* ---- runs and packed intervals ---- */

/* The number of equal values from which a run is shorter than packing them. */
static size_t run_pays(unsigned width)
{
    return width <= 1 ? 64 : width <= 3 ? 32 : 16;
}

void tt_parquet_run(tt_bytes *out, uint32_t value, size_t n, unsigned width)
{
    tt_bytes_varint(out, (uint64_t)n << 1);
    tt_bytes_put(out, &value, (width + 7) / 8);
}

TT_INLINE uint32_t value_at(const void *values, size_t i, bool bytes)
{
    return bytes ? ((const uint8_t *)values)[i] : ((const uint32_t *)values)[i];
}

TT_INLINE bool group_is_equal(const void *values, size_t i, bool bytes)
{
    if (bytes) {
        uint64_t v = tt_load_u64((const uint8_t *)values + i);
        return v == (v & 0xff) * UINT64_C(0x0101010101010101);
    }
    const uint32_t *v = (const uint32_t *)values + i;
    uint32_t differ = 0;
    for (unsigned k = 1; k < GROUP; k++)
        differ |= v[k] ^ v[0];
    return differ == 0;
}

/* How many values from i on are equal. */
TT_INLINE size_t run_length(const void *values, size_t i, size_t n, bool bytes)
{
    uint32_t v = value_at(values, i, bytes);
    size_t at = i;
    while (at + GROUP <= n && value_at(values, at, bytes) == v && group_is_equal(values, at, bytes))
        at += GROUP;
    while (at < n && value_at(values, at, bytes) == v)
        at++;
    return at - i;
}

/* A packed interval; its last group is padded with zeros. */
TT_INLINE void put_packed(tt_bytes *out, const void *values, size_t n, unsigned width, bool bytes)
{
    size_t groups = (n + GROUP - 1) / GROUP;
    if (n == 0) return;
    tt_bytes_varint(out, (uint64_t)groups << 1 | 1);
    if (!tt_bytes_reserve(out, groups * width + SLACK)) return;
    uint8_t *at = out->data + out->size;
    for (size_t i = 0; i < n; i += GROUP, at += width) {
        uint64_t v[GROUP] = {0};
        size_t here = n - i < GROUP ? n - i : GROUP;
        if (here == GROUP)
            for (size_t k = 0; k < GROUP; k++)
                v[k] = value_at(values, i + k, bytes);
        else
            for (size_t k = 0; k < here; k++)
                v[k] = value_at(values, i + k, bytes);
        pack_group(at, v, width);
    }
    out->size += groups * width;
}

TT_INLINE const void *from(const void *values, size_t i, bool bytes)
{
    return bytes ? (const void *)((const uint8_t *)values + i)
                 : (const void *)((const uint32_t *)values + i);
}

TT_INLINE void put_hybrid(tt_bytes *out, const void *values, size_t n, unsigned width, bool bytes)
{
    size_t pays = run_pays(width), packed = 0, i = 0; /* packed .. i - 1 are to be packed */
    while (i + GROUP <= n) {
        if (!group_is_equal(values, i, bytes)) {
            i += GROUP;
            continue;
        }
        size_t run = run_length(values, i, n, bytes);
        if (run >= pays) {
            put_packed(out, from(values, packed, bytes), i - packed, width, bytes);
            tt_parquet_run(out, value_at(values, i, bytes), run, width);
            i += run;
            packed = i;
        } else {
            i += run - run % GROUP;
        }
    }
    put_packed(out, from(values, packed, bytes), n - packed, width, bytes);
}

void tt_parquet_hybrid(tt_bytes *out, const uint32_t *values, size_t n, unsigned width)
{
    put_hybrid(out, values, n, width, false);
}

void tt_parquet_levels(tt_bytes *out, const uint8_t *valid, size_t n)
{
    put_hybrid(out, valid, n, 1, true);
}

void tt_parquet_bits(tt_bytes *out, const uint8_t *values, size_t n)
{
    size_t size = (n + 7) / 8;
    if (!tt_bytes_reserve(out, size)) return;
    uint8_t *at = out->data + out->size;
    memset(at, 0, size);
    for (size_t i = 0; i < n; i++)
        at[i / 8] = (uint8_t)(at[i / 8] | (values[i] & 1) << i % 8);
    out->size += size;
}

/* ---- differences ---- */

TT_INLINE int64_t delta_at(const void *values, size_t i, bool wide)
{
    if (wide) {
        const uint64_t *v = values;
        return (int64_t)(v[i] - v[i - 1]);
    }
    const uint32_t *v = values;
    return (int32_t)(v[i] - v[i - 1]);
}

/* The differences of values[i .. i + n - 1] to their predecessors, minus the least of them, and the
 * width of each part; zeros after the last value. Returns the least. */
TT_INLINE int64_t block_of(const void *values, size_t i, size_t n, bool wide, uint64_t out[BLOCK],
                           uint8_t widths[MINIS])
{
    int64_t *deltas = (int64_t *)(void *)out, least;
    if (n == BLOCK)
        for (size_t k = 0; k < BLOCK; k++)
            deltas[k] = delta_at(values, i + k, wide);
    else
        for (size_t k = 0; k < n; k++)
            deltas[k] = delta_at(values, i + k, wide);
    for (size_t k = n; k < BLOCK; k++)
        deltas[k] = deltas[0];
    least = deltas[0];
    for (size_t k = 0; k < BLOCK; k++)
        least = deltas[k] < least ? deltas[k] : least;
    for (size_t k = n; k < BLOCK; k++)
        deltas[k] = least;
    for (size_t m = 0; m < MINIS; m++) {
        uint64_t any = 0;
        for (size_t k = m * MINI; k < (m + 1) * MINI; k++) {
            out[k] -= (uint64_t)least;
            any |= out[k];
        }
        widths[m] = (uint8_t)tt_parquet_width(any);
    }
    return least;
}

TT_INLINE void put_blocks(tt_bytes *out, const void *values, size_t n, bool wide)
{
    uint64_t rests[BLOCK];
    for (size_t i = 1; i < n; i += BLOCK) {
        uint8_t widths[MINIS];
        size_t here = n - i < BLOCK ? n - i : BLOCK;
        tt_bytes_zigzag(out, block_of(values, i, here, wide, rests, widths));
        /* Parts after the last value are not written; their width is already 0. */
        tt_bytes_put(out, widths, MINIS);
        if (!tt_bytes_reserve(out, BLOCK * sizeof *rests + SLACK)) return;
        uint8_t *at = out->data + out->size;
        for (size_t m = 0; m * MINI < here; m++)
            for (size_t k = m * MINI; k < (m + 1) * MINI; k += GROUP, at += widths[m])
                pack_group(at, rests + k, widths[m]);
        out->size = (size_t)(at - out->data);
    }
}

TT_MODERN static void put_wide_modern(tt_bytes *out, const void *values, size_t n)
{
    put_blocks(out, values, n, true);
}

TT_MODERN static void put_narrow_modern(tt_bytes *out, const void *values, size_t n)
{
    put_blocks(out, values, n, false);
}

static void put_wide(tt_bytes *out, const void *values, size_t n)
{
    put_blocks(out, values, n, true);
}

static void put_narrow(tt_bytes *out, const void *values, size_t n)
{
    put_blocks(out, values, n, false);
}

void tt_parquet_delta(tt_bytes *out, const void *values, size_t n, bool wide)
{
    tt_bytes_varint(out, BLOCK);
    tt_bytes_varint(out, MINIS);
    tt_bytes_varint(out, n);
    bool modern = tt_is_modern();
    if (wide) {
        tt_bytes_zigzag(out, n ? ((const int64_t *)values)[0] : 0);
        (modern ? put_wide_modern : put_wide)(out, values, n);
    } else {
        tt_bytes_zigzag(out, n ? ((const int32_t *)values)[0] : 0);
        (modern ? put_narrow_modern : put_narrow)(out, values, n);
    }
}

double tt_parquet_delta_bits(const void *values, size_t n, bool wide)
{
    uint64_t rests[BLOCK];
    size_t blocks = n > BLOCK ? (n - 1) / BLOCK : 0, step = blocks / SAMPLE_BLOCKS + 1;
    double bits = 0, seen = 0;
    if (blocks == 0) return wide ? 64 : 32;
    for (size_t b = 0; b < blocks; b += step, seen++) {
        uint8_t widths[MINIS];
        int64_t least = wide ? block_of(values, 1 + b * BLOCK, BLOCK, true, rests, widths)
                             : block_of(values, 1 + b * BLOCK, BLOCK, false, rests, widths);
        bits += 8 * MINIS + tt_parquet_width(tt_zigzag_map(least));
        for (size_t m = 0; m < MINIS; m++)
            bits += (double)widths[m] * MINI;
    }
    return bits / seen / BLOCK;
}
