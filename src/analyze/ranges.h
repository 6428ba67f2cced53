/* Sets of whole numbers (bytes of a file, tokens) as ranges. */
#ifndef TT_ANALYZE_RANGES_H
#define TT_ANALYZE_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* begin <= x < end */
typedef struct tt_range {
    uint64_t begin;
    uint64_t end;
} tt_range;

/* Zero-filled is empty. Ranges may be added in any order and may overlap; what asks for the set
 * (total, within, both) wants it merged before. */
typedef struct tt_ranges {
    tt_range *list; /* once merged: ascending, neither overlapping nor adjacent */
    size_t n;
    size_t capacity;
    uint64_t *before; /* merged: how many numbers are in the ranges before this one */
    size_t before_capacity;
    bool failed; /* memory ran out: the set is not whole */
} tt_ranges;

void tt_ranges_free(tt_ranges *r);
void tt_ranges_clear(tt_ranges *r);
/* Nothing when end <= begin. */
void tt_ranges_add(tt_ranges *r, uint64_t begin, uint64_t end);
void tt_ranges_merge(tt_ranges *r);
/* How many numbers are in the set. */
uint64_t tt_ranges_total(const tt_ranges *r);
/* How many of them are in [begin, end). */
uint64_t tt_ranges_within(const tt_ranges *r, uint64_t begin, uint64_t end);
/* *out becomes what is in both, merged; it is neither a nor b. */
void tt_ranges_both(const tt_ranges *a, const tt_ranges *b, tt_ranges *out);
/* *out becomes what is in a and not in b, merged; it is neither. */
void tt_ranges_without(const tt_ranges *a, const tt_ranges *b, tt_ranges *out);

#endif
