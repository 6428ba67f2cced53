#include "format/ops_columns.h"

#include "format/pack.h"

#include <stdbool.h>
#include <string.h>

#define BLOCKS 32u
#define BLOCK_VALUES 16u
/* The approximate cost in bits of a remainder: a byte or two for its position and one for its
 * value. */
#define EXCEPTION_BITS 20u

tt_ops_granule tt_ops_granule_of(uint32_t ticks)
{
    return (tt_ops_granule){ticks, ticks > 1 ? UINT64_MAX / ticks + 1 : 0};
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* A sample of the values: evenly spread blocks of neighbours, alternately of busy and wait. */
typedef struct sample {
    const uint64_t *columns[2];
    size_t n;
    size_t n_blocks;
    size_t block_values; /* of each column */
} sample;

static uint64_t sample_value(const sample *s, size_t block, size_t i)
{
    size_t at = block * s->n / s->n_blocks + i / 2;
    int64_t v = (int64_t)s->columns[i % 2][at];
    return v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
}

/* The divisor common to most blocks of the sample. A value that is no multiple spoils only its own
 * block. */
static uint32_t most_common_divisor(const sample *s)
{
    uint32_t divisors[BLOCKS], best = 1, best_votes = 0;
    for (size_t b = 0; b < s->n_blocks; b++) {
        uint64_t d = 0;
        for (size_t i = 0; i < 2 * s->block_values && d != 1; i++)
            d = common_divisor(sample_value(s, b, i), d);
        divisors[b] = d <= UINT32_MAX ? (uint32_t)d : 0;
    }
    for (size_t b = 0; b < s->n_blocks; b++) {
        uint32_t votes = 0;
        for (size_t other = 0; other < s->n_blocks; other++)
            votes += divisors[other] == divisors[b];
        if (divisors[b] < 2 || votes < best_votes) continue;
        best = divisors[b];
        best_votes = votes;
    }
    return best;
}

/* Whether the granule saves more than its exceptions cost. */
static bool pays(const sample *s, const tt_ops_granule *g)
{
    size_t saved_bits = 0, exceptions = 0;
    for (size_t b = 0; b < s->n_blocks; b++)
        for (size_t i = 0; i < 2 * s->block_values; i++) {
            uint64_t v = sample_value(s, b, i), remainder;
            uint64_t quotient = tt_ops_granule_split(g, v, &remainder);
            saved_bits += tt_bits_width(v) - tt_bits_width(quotient);
            exceptions += remainder != 0;
        }
    return saved_bits > exceptions * EXCEPTION_BITS;
}

tt_ops_granule tt_ops_granule_find(const uint64_t *busy, const uint64_t *wait, size_t n)
{
    sample s = {.columns = {busy, wait}, .n = n, .block_values = BLOCK_VALUES / 2};
    if (n < s.block_values) s.block_values = n;
    s.n_blocks = n / s.block_values < BLOCKS ? n / s.block_values : BLOCKS;
    tt_ops_granule found = tt_ops_granule_of(most_common_divisor(&s));
    return found.ticks > 1 && pays(&s, &found) ? found : tt_ops_granule_of(1);
}

void tt_ops_layout_fill(tt_ops_layout *l, const tt_ops_part *parts, size_t n_parts,
                        size_t n_positions)
{
    l->n_positions = n_positions;
    memset(l->ends, 0, (n_positions + 1) * sizeof *l->ends);
    /* First the changes in the number of segments from position to position, then their sums. */
    for (size_t i = 0; i < n_parts; i++) {
        l->ends[parts[i].position]++;
        l->ends[parts[i].position + parts[i].count]--;
    }
    uint32_t place = 0, group = 0;
    for (size_t p = 0; p < n_positions; p++) {
        group += l->ends[p]; /* modulo 2^32, the steps down too */
        l->next[p] = place;
        place += group;
        l->ends[p] = place;
    }
}

#define FORM_SPARSE 0u
#define FORM_FRAMES 1u
/* A column is sparse when at most one value in SPARSE_RATIO is not zero. */
#define SPARSE_RATIO 16u
#define FRAME_LEAST 8u /* values that justify a header */
#define FRAME_MOST 64u
#define WIDTH_MAX 63u
#define WIDTH_BITS 6u
#define MANY_EXCEPTIONS 3u /* in the header's upper bits: their number follows */

/* Iterates over the frames of a column. Their ends follow from the groups alone. */
typedef struct framing {
    const tt_ops_layout *layout;
    size_t position; /* the group in which, or at whose start, the next frame begins */
    size_t at;       /* index of its start */
    bool inside;     /* not at the start of a group */
} framing;

/* The number of values in the next frame: as many whole groups as justify a header, or a part of a
 * group that is too large for one frame. 0 after the last. */
static size_t next_frame(framing *f)
{
    const tt_ops_layout *l = f->layout;
    size_t begin = f->at, end = begin, least = f->inside ? 1 : FRAME_LEAST;
    f->inside = false;
    while (end - begin < least && f->position < l->n_positions) {
        if (l->ends[f->position] > begin + FRAME_MOST) {
            end = begin + FRAME_MOST;
            f->inside = true;
            break;
        }
        end = l->ends[f->position++];
    }
    f->at = end;
    return end - begin;
}

/* --- put --- */

typedef struct plan {
    unsigned width;
    unsigned exceptions; /* that do not fit */
} plan;

/* Chooses the width that makes the frame smallest. Values that do not fit become exceptions, which
 * take an index byte and a byte for each 7 bits beyond the width. */
static plan plan_frame(const uint64_t *offsets, size_t n)
{
    uint8_t count[65] = {0};
    uint8_t spaced[7] = {0}; /* values wider than w, by their width modulo 7 */
    uint64_t all = 0;
    for (size_t i = 0; i < n; i++) {
        count[tt_bits_width(offsets[i])]++;
        all |= offsets[i];
    }
    unsigned w = tt_bits_width(all), exceptions = 0;
    plan best = {0, 0};
    size_t best_bytes = SIZE_MAX, exception_bytes = 0;
    for (;; w--) {
        size_t bytes = tt_bits_bytes(n, w) + exception_bytes;
        if (w <= WIDTH_MAX && bytes < best_bytes) {
            best = (plan){w, exceptions};
            best_bytes = bytes;
        }
        if (w == 0 || exception_bytes >= best_bytes) return best;
        /* With one bit less, values of w bits do not fit either, and some exceptions take another
         * byte. */
        exceptions += count[w];
        exception_bytes += 2u * count[w] + spaced[w % 7];
        spaced[w % 7] = (uint8_t)(spaced[w % 7] + count[w]);
    }
}

static void put_frame(tt_bytes *out, uint64_t *values, size_t n)
{
    int64_t base = (int64_t)values[0];
    for (size_t i = 1; i < n; i++)
        base = (int64_t)values[i] < base ? (int64_t)values[i] : base;
    for (size_t i = 0; i < n; i++)
        values[i] -= (uint64_t)base;
    plan p = plan_frame(values, n);
    unsigned code = p.exceptions < MANY_EXCEPTIONS ? p.exceptions : MANY_EXCEPTIONS;
    tt_bytes_u8(out, (uint8_t)(p.width | code << WIDTH_BITS));
    if (code == MANY_EXCEPTIONS) tt_bytes_u8(out, (uint8_t)p.exceptions);
    tt_bytes_zigzag(out, base);
    tt_bits_put(out, values, n, p.width);
    for (size_t i = 0; p.exceptions > 0; i++) {
        if (values[i] >> p.width == 0) continue;
        tt_bytes_u8(out, (uint8_t)i);
        tt_bytes_varint(out, values[i] >> p.width);
        p.exceptions--;
    }
}

static void put_sparse(tt_bytes *out, const uint64_t *values, size_t n, size_t n_values)
{
    size_t next = 0;
    tt_bytes_varint(out, n_values);
    for (size_t i = 0; n_values && i < n; i++) {
        if (!values[i]) continue;
        tt_bytes_varint(out, i - next);
        tt_bytes_zigzag(out, (int64_t)values[i]);
        next = i + 1;
        n_values--;
    }
}

/* Replaces values by their quotients and lists the remainders. Returns how many quotients are
 * not zero. */
static size_t split(uint64_t *values, size_t n, const tt_ops_granule *granule, tt_bytes *remainders,
                    size_t *n_remainders)
{
    size_t next = 0, n_values = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t remainder = 0;
        if (values[i] == 0) continue;
        if (granule->ticks > 1) values[i] = tt_ops_granule_split(granule, values[i], &remainder);
        n_values += values[i] != 0;
        if (remainder == 0) continue;
        tt_bytes_varint(remainders, i - next);
        tt_bytes_varint(remainders, remainder);
        next = i + 1;
        ++*n_remainders;
    }
    return n_values;
}

void tt_ops_column_put(tt_bytes *out, uint64_t *values, size_t n, const tt_ops_layout *l,
                       const tt_ops_granule *granule)
{
    tt_bytes remainders;
    size_t n_remainders = 0;
    tt_bytes_init(&remainders, out->limit);
    size_t n_values = split(values, n, granule, &remainders, &n_remainders);
    if (n_values <= n / SPARSE_RATIO) {
        tt_bytes_u8(out, FORM_SPARSE);
        put_sparse(out, values, n, n_values);
    } else {
        framing f = {.layout = l};
        tt_bytes_u8(out, FORM_FRAMES);
        for (size_t at = 0, count; (count = next_frame(&f)) > 0; at += count)
            put_frame(out, values + at, count);
    }
    tt_bytes_varint(out, n_remainders);
    tt_bytes_put(out, remainders.data, remainders.size);
    out->failed |= remainders.failed;
    tt_bytes_free(&remainders);
}

/* --- get --- */

static bool get_exceptions(tt_cursor *c, unsigned count, unsigned width, uint64_t *values, size_t n,
                           uint64_t granule)
{
    for (unsigned i = 0; i < count; i++) {
        uint8_t index = tt_cursor_u8(c);
        uint64_t high = tt_cursor_varint(c);
        if (c->failed || index >= n || high > UINT64_MAX >> width) return false;
        values[index] += (high << width) * granule;
    }
    return true;
}

static bool get_frame(tt_cursor *c, uint64_t *values, size_t n, uint64_t granule,
                      size_t *exception_bytes)
{
    uint8_t header = tt_cursor_u8(c);
    unsigned width = header & WIDTH_MAX, exceptions = header >> WIDTH_BITS;
    if (exceptions == MANY_EXCEPTIONS) exceptions = tt_cursor_u8(c);
    uint64_t base = (uint64_t)tt_cursor_zigzag(c);
    size_t readable = tt_cursor_left(c);
    tt_span packed = tt_cursor_take(c, tt_bits_bytes(n, width));
    if (c->failed || exceptions > n) return false;
    tt_bits_get(packed.data, readable, values, n, width, granule, base * granule);
    if (exceptions == 0) return true;
    size_t before = c->at;
    bool ok = get_exceptions(c, exceptions, width, values, n, granule);
    *exception_bytes += c->at - before;
    return ok;
}

/* Adds a list of indices and numbers, times `factor`, to the values. */
static bool get_list(tt_cursor *c, uint64_t *values, size_t n, bool is_signed, uint64_t limit,
                     uint64_t factor)
{
    uint64_t count = tt_cursor_varint(c), at = 0;
    if (c->failed || count > n) return false;
    for (uint64_t i = 0; i < count; i++, at++) {
        uint64_t step = tt_cursor_varint(c);
        uint64_t v = is_signed ? (uint64_t)tt_cursor_zigzag(c) : tt_cursor_varint(c);
        if (c->failed || step >= n - at || v > limit) return false;
        at += step;
        values[at] += v * factor;
    }
    return true;
}

bool tt_ops_column_get(tt_cursor *c, uint64_t *values, size_t n, const tt_ops_layout *l,
                       uint32_t granule, size_t *exception_bytes)
{
    uint8_t form = tt_cursor_u8(c);
    size_t before = c->at;
    bool ok = !c->failed;
    if (form == FORM_SPARSE) {
        memset(values, 0, n * sizeof *values);
        ok = ok && get_list(c, values, n, true, UINT64_MAX, granule);
        *exception_bytes += c->at - before;
    } else {
        framing f = {.layout = l};
        ok = ok && form == FORM_FRAMES;
        for (size_t at = 0, count; ok && (count = next_frame(&f)) > 0; at += count)
            ok = get_frame(c, values + at, count, granule, exception_bytes);
    }
    before = c->at;
    ok = ok && get_list(c, values, n, false, granule - 1, 1);
    *exception_bytes += c->at - before;
    if (!ok) c->failed = true;
    return ok;
}
