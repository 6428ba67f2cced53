#include "format/ops_granule.h"

#include "format/bits.h"

#include <stdbool.h>

#define BLOCKS 32u
#define BLOCK_VALUES 16u
/* What a value with a remainder costs beyond its quotient, about: a byte or two for its place and
 * one for the remainder. */
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

/* The values that are looked at: evenly spread blocks of neighbours, of busy and wait in turn. */
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

/* A value that is no multiple spoils its block, and only that: the divisor that most blocks have
 * in common is what we are after. */
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

/* Is what it saves more than what its exceptions cost? */
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
