#include "value/fingerprint.h"

#include "base/checksum.h" /* xxHash */
#include "value/tree.h"
#include "value/walk.h"

#include <blake3.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TT_VALUE_LANES 16u

/* Element i goes to lane i % TT_VALUE_LANES on every machine, so that sums, which depend on the
 * order, are the same everywhere. */
typedef struct tt_value_sums {
    double sum[TT_VALUE_LANES], squares[TT_VALUE_LANES];
    float min[TT_VALUE_LANES], max[TT_VALUE_LANES];
    uint64_t n; /* so far */
    uint64_t n_nan, n_inf;
    uint64_t first_bad; /* UINT64_MAX: none */
} tt_value_sums;

#define BLOCK 4096u /* elements that are first assumed to be finite */

static void value_sums_begin(tt_value_sums *s)
{
    memset(s, 0, sizeof *s);
    for (unsigned i = 0; i < TT_VALUE_LANES; i++) {
        s->min[i] = INFINITY;
        s->max[i] = -INFINITY;
    }
    s->first_bad = UINT64_MAX;
}

/* Compiled for several instruction sets; results are equal, as each lane's order is. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define MANY __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define MANY
#endif

typedef float lanes_f32 __attribute__((vector_size(TT_VALUE_LANES * sizeof(float))));
typedef int32_t lanes_i32 __attribute__((vector_size(TT_VALUE_LANES * sizeof(int32_t))));
typedef double lanes_f64 __attribute__((vector_size(TT_VALUE_LANES * sizeof(double))));

/* All elements are finite; n is a multiple of TT_VALUE_LANES. */
MANY static void add_finite(tt_value_sums *s, const float *x, size_t n)
{
    lanes_f64 sum, squares;
    lanes_f32 min, max;
    memcpy(&sum, s->sum, sizeof sum);
    memcpy(&squares, s->squares, sizeof squares);
    memcpy(&min, s->min, sizeof min);
    memcpy(&max, s->max, sizeof max);
    for (size_t i = 0; i < n; i += TT_VALUE_LANES) {
        lanes_f32 f;
        memcpy(&f, x + i, sizeof f);
        lanes_f64 d = __builtin_convertvector(f, lanes_f64);
        sum += d;
        squares += d * d;
        lanes_i32 less = f<min, more = f> max;
        min = (lanes_f32)((less & (lanes_i32)f) | (~less & (lanes_i32)min));
        max = (lanes_f32)((more & (lanes_i32)f) | (~more & (lanes_i32)max));
    }
    memcpy(s->sum, &sum, sizeof sum);
    memcpy(s->squares, &squares, sizeof squares);
    memcpy(s->min, &min, sizeof min);
    memcpy(s->max, &max, sizeof max);
}

/* Sums of squares of finite floats stay far below the limit of a double, so a non-finite sum had
 * a non-finite element. */
static bool all_finite(const tt_value_sums *s)
{
    double all = 0;
    for (unsigned k = 0; k < TT_VALUE_LANES; k++)
        all += s->squares[k];
    return isfinite(all);
}

static void add_each(tt_value_sums *s, const float *x, size_t n, uint64_t first)
{
    for (size_t i = 0; i < n; i++) {
        unsigned k = (unsigned)(i % TT_VALUE_LANES);
        if (!isfinite(x[i])) {
            if (s->first_bad == UINT64_MAX) s->first_bad = first + i;
            if (isnan(x[i]))
                s->n_nan++;
            else
                s->n_inf++;
            continue;
        }
        double d = (double)x[i];
        s->sum[k] += d;
        s->squares[k] += d * d;
        s->min[k] = x[i] < s->min[k] ? x[i] : s->min[k];
        s->max[k] = x[i] > s->max[k] ? x[i] : s->max[k];
    }
}

/* Adds n elements; except in the last call, n is a multiple of TT_VALUE_LANES. */
static void value_sums_add(tt_value_sums *s, const float *x, size_t n)
{
    for (size_t done = 0; done < n;) {
        size_t part = n - done < BLOCK ? n - done : BLOCK;
        size_t whole = part - part % TT_VALUE_LANES;
        tt_value_sums before = *s;
        add_finite(s, x + done, whole);
        if (whole == part && all_finite(s)) {
            done += part;
            continue;
        }
        *s = before;
        add_each(s, x + done, part, s->n + done);
        done += part;
    }
    s->n += n;
}

#define STEP 4096u /* elements per step: 16 chunks of BLAKE3 */
#define ELEMENT_BYTES_MAX 8u

static bool times(uint64_t *product, uint64_t by)
{
    return !__builtin_mul_overflow(*product, by, product);
}

uint64_t tt_value_elements(const tt_value_data *v)
{
    uint32_t block = tt_value_block_elements(v->type);
    uint64_t n = 1;
    if (!block || v->ne[0] % block) return 0;
    for (unsigned d = 0; d < TT_VALUE_DIMS; d++)
        if (!times(&n, v->ne[d])) return 0;
    /* Checks that offsets and sizes in bytes fit as well. */
    uint64_t bytes = n;
    return times(&bytes, ELEMENT_BYTES_MAX) ? n : 0;
}

/* Elements of each piece except the last. */
static uint64_t piece_elements(uint64_t n)
{
    uint64_t piece = TT_VALUE_PIECE;
    while (n / piece >= TT_VALUE_PIECES_MAX)
        piece *= 2;
    return piece;
}

uint32_t tt_value_pieces(const tt_value_data *v)
{
    uint64_t n = tt_value_elements(v), piece = piece_elements(n);
    return (uint32_t)((n + piece - 1) / piece);
}

/* Takes a piece step by step. */
typedef struct taker {
    tt_value_sums sums;
    XXH3_state_t hash;
    bool has_blake3, whole; /* whole: the value is this piece, which then has BLAKE3's root */
    tt_tree tree;
    blake3_hasher hasher;
} taker;

static void begin(taker *t, uint64_t first, bool whole, unsigned with)
{
    value_sums_begin(&t->sums);
    (void)XXH3_128bits_reset(&t->hash);
    t->has_blake3 = with & TT_VALUE_WITH_BLAKE3;
    t->whole = whole;
    if (whole)
        blake3_hasher_init(&t->hasher);
    else
        tt_tree_begin(&t->tree, first * sizeof(float) / TT_TREE_CHUNK);
}

static void add(taker *t, const float *x, size_t n)
{
    value_sums_add(&t->sums, x, n);
    if (t->has_blake3 && t->whole)
        blake3_hasher_update(&t->hasher, x, n * sizeof *x);
    else if (t->has_blake3)
        tt_tree_add(&t->tree, x, n * sizeof *x);
}

static void put_sums(tt_value_piece *out, const tt_value_sums *s, uint64_t first)
{
    out->n_nan = s->n_nan;
    out->n_inf = s->n_inf;
    out->first_bad = s->first_bad == UINT64_MAX ? TT_VALUE_NONE : first + s->first_bad;
    out->min = INFINITY;
    out->max = -INFINITY;
    out->sum = 0;
    out->sum_squares = 0;
    for (unsigned i = 0; i < TT_VALUE_LANES; i++) {
        out->sum += s->sum[i];
        out->sum_squares += s->squares[i];
        out->min = s->min[i] < out->min ? s->min[i] : out->min;
        out->max = s->max[i] > out->max ? s->max[i] : out->max;
    }
}

void tt_value_take(const tt_value_data *v, uint32_t k, unsigned with, tt_value_piece *out)
{
    uint32_t block = tt_value_block_elements(v->type), bytes = tt_value_block_bytes(v->type);
    uint64_t all = tt_value_elements(v), piece = piece_elements(all), first = k * piece;
    uint64_t n = all - first < piece ? all - first : piece;
    _Alignas(64) uint8_t raw[STEP * ELEMENT_BYTES_MAX];
    _Alignas(64) float floats[STEP];
    taker t;
    begin(&t, first, n == all, with);
    for (uint64_t done = 0; done < n;) {
        uint64_t step = n - done < STEP ? n - done : STEP;
        size_t size = step / block * bytes;
        const uint8_t *in = tt_value_gather(v, first + done, step, raw);
        const float *x = floats;
        if (v->type == TT_VALUE_F32 && (uintptr_t)in % _Alignof(float) == 0)
            x = (const float *)(const void *)in;
        else
            tt_value_to_f32(v->type, in, step, floats);
        (void)XXH3_128bits_update(&t.hash, in, size);
        add(&t, x, step);
        done += step;
    }
    put_sums(out, &t.sums, first);
    XXH128_canonical_t hash;
    XXH128_canonicalFromHash(&hash, XXH3_128bits_digest(&t.hash));
    memcpy(out->hash, hash.digest, sizeof out->hash);
    memset(out->chaining, 0, sizeof out->chaining);
    if (t.has_blake3 && t.whole)
        blake3_hasher_finalize(&t.hasher, out->chaining, sizeof out->chaining);
    else if (t.has_blake3)
        tt_tree_end(&t.tree, out->chaining);
}

uint64_t tt_value_sample_index(uint64_t n, uint32_t i)
{
    uint64_t samples = n < TT_VALUE_SAMPLES ? n : TT_VALUE_SAMPLES;
    if (samples < 2) return 0;
    /* i * (n - 1) may not fit into 64 bits. */
    return (uint64_t)((unsigned __int128)i * (n - 1) / (samples - 1));
}

static float element(const tt_value_data *v, uint64_t i)
{
    float x[32];
    uint8_t raw[34 > ELEMENT_BYTES_MAX ? 34 : ELEMENT_BYTES_MAX];
    uint32_t block = tt_value_block_elements(v->type);
    const uint8_t *in = tt_value_gather(v, i - i % block, block, raw);
    tt_value_to_f32(v->type, in, block, x);
    return x[i % block];
}

static void put_hash(const tt_value_piece *pieces, uint32_t n, tt_fingerprint *out)
{
    if (n == 1) {
        memcpy(out->hash, pieces->hash, sizeof out->hash);
        return;
    }
    XXH3_state_t state;
    XXH128_canonical_t hash;
    (void)XXH3_128bits_reset(&state);
    for (uint32_t k = 0; k < n; k++)
        (void)XXH3_128bits_update(&state, pieces[k].hash, sizeof pieces[k].hash);
    XXH128_canonicalFromHash(&hash, XXH3_128bits_digest(&state));
    memcpy(out->hash, hash.digest, sizeof out->hash);
}

void tt_value_look(const tt_value_data *v, tt_fingerprint *out)
{
    memset(out, 0, sizeof *out);
    out->n = tt_value_elements(v);
    out->first_bad = TT_VALUE_NONE;
    out->n_prefix = (uint32_t)(out->n < TT_VALUE_PREFIX ? out->n : TT_VALUE_PREFIX);
    for (uint32_t i = 0; i < out->n_prefix; i++)
        out->prefix[i] = element(v, i);
    out->n_samples = (uint32_t)(out->n < TT_VALUE_SAMPLES ? out->n : TT_VALUE_SAMPLES);
    for (uint32_t i = 0; i < out->n_samples; i++)
        out->samples[i] = element(v, tt_value_sample_index(out->n, i));
}

void tt_value_finish(const tt_value_piece *pieces, uint32_t n_pieces, unsigned with,
                     tt_fingerprint *out)
{
    double sum = 0, squares = 0;
    out->min = INFINITY;
    out->max = -INFINITY;
    if (!n_pieces) return;
    for (uint32_t k = 0; k < n_pieces; k++) {
        const tt_value_piece *p = &pieces[k];
        out->n_nan += p->n_nan;
        out->n_inf += p->n_inf;
        if (out->first_bad == TT_VALUE_NONE) out->first_bad = p->first_bad;
        out->min = p->min < out->min ? p->min : out->min;
        out->max = p->max > out->max ? p->max : out->max;
        sum += p->sum;
        squares += p->sum_squares;
    }
    uint64_t finite = out->n - out->n_nan - out->n_inf;
    out->has_range = finite > 0;
    if (finite) {
        out->mean = sum / (double)finite;
        out->rms = sqrt(squares / (double)finite);
    }
    put_hash(pieces, n_pieces, out);
    out->has_blake3 = with & TT_VALUE_WITH_BLAKE3;
    if (out->has_blake3 && n_pieces == 1)
        memcpy(out->blake3, pieces->chaining, sizeof out->blake3);
    else if (out->has_blake3)
        tt_tree_root(pieces->chaining, sizeof *pieces, n_pieces, out->blake3);
}
