#include "export/parquet/integers.h"
#include "export/parquet/pack.h"
#include "export/parquet/simd.h"

#include <stdlib.h>

#define STRETCH 128u  /* values of a sample that stand together */
#define STRETCHES 8u  /* in a sample */
#define EMPTY 0xffffu /* no code: there are at most TT_PARQUET_DISTINCT */
#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)
/* Differences as wide as these gain nothing: 64-bit and 32-bit values. */
#define DELTA_MOST_WIDE 60.0
#define DELTA_MOST 30.0
/* Differences this short are not worth a look at anything else. */
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

/* Which part of the sampled stretches are of one value only: those cost a list's user nothing. */
static double constant_share(const tt_parquet_integers *v)
{
    size_t size = v->wide ? 8 : 4, step = v->n / STRETCHES, constant = 0;
    const uint8_t *bytes = v->values;
    if (step < STRETCH) return 0;
    for (size_t s = 0; s < STRETCHES; s++) {
        const uint8_t *at = bytes + s * step * size;
        /* Each value is its predecessor's. */
        constant += memcmp(at, at + size, (STRETCH - 1) * size) == 0;
    }
    return (double)constant / STRETCHES;
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

/* The code of a value, which may be new; EMPTY when there are too many. */
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

static void forget(tt_parquet_lookup *l)
{
    memset(l->slots, 0xff, TT_PARQUET_SLOTS * sizeof *l->slots);
    l->n_distinct = 0;
}

TT_INLINE bool code_hashed(const tt_parquet_integers *v, tt_parquet_lookup *l, bool wide)
{
    forget(l);
    for (size_t i = 0; i < v->n; i++) {
        uint16_t code = code_of(l, raw(v, i, wide));
        if (code == EMPTY) return false;
        l->codes[i] = code;
    }
    return true;
}

/* Whether enough of a sample's values come again. */
static bool values_repeat(const tt_parquet_integers *v, tt_parquet_lookup *l)
{
    size_t step = v->n / STRETCHES;
    if (step < STRETCH) return true;
    forget(l);
    for (size_t s = 0; s < STRETCHES; s++)
        for (size_t i = s * step; i < s * step + STRETCH; i++)
            (void)code_of(l, raw(v, i, v->wide));
    return l->n_distinct <= STRETCHES * STRETCH / 2;
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
    /* A table that is larger than what it tells of is not worth clearing. */
    bool direct = span < TT_PARQUET_DIRECT && span < 16 + v->n;
    double constant = constant_share(v);
    if (span == 0 || v->n == 1) return code(v, l, true), TT_PARQUET_DICTIONARY;
    double delta = tt_parquet_delta_bits(v->values, v->n, v->wide);
    tt_parquet_encoding other =
        delta < (v->wide ? DELTA_MOST_WIDE : DELTA_MOST) ? TT_PARQUET_DELTA : TT_PARQUET_PLAIN;
    if (other == TT_PARQUET_PLAIN) delta = size_bits;
    /* Flags and the like are found at once; numbers that count up are not worth a list. */
    if (span > 255 && delta < DELTA_SHORT && constant < 1) return other;
    if (!direct && !values_repeat(v, l)) return other;
    if (!code(v, l, direct)) return other;
    double width = tt_parquet_width(l->n_distinct - 1);
    double listed = width * (1 - constant) + l->n_distinct * size_bits / n;
    return listed <= delta ? TT_PARQUET_DICTIONARY : other;
}
