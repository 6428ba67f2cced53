#include "value/fingerprint.h"

#include "base/checksum.h" /* xxHash */
#include "value/sums.h"
#include "value/tree.h"
#include "value/walk.h"

#include <blake3.h>

#include <math.h>
#include <string.h>

#define STEP 4096u /* elements that are taken at once: 16 chunks of BLAKE3 */
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
    /* Offsets and sizes in bytes fit as well. */
    uint64_t bytes = n;
    return times(&bytes, ELEMENT_BYTES_MAX) ? n : 0;
}

/* Elements of each piece but the last. */
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

/* A piece, a step at a time. */
typedef struct taker {
    tt_value_sums sums;
    XXH3_state_t hash;
    bool has_blake3, whole; /* of a value that is one piece, BLAKE3's root is known here */
    tt_tree tree;
    blake3_hasher hasher;
} taker;

static void begin(taker *t, uint64_t first, bool whole, unsigned with)
{
    tt_value_sums_begin(&t->sums);
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
    tt_value_sums_add(&t->sums, x, n);
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
