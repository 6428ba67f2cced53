/* Sets of integers (bytes of a file, tokens) as ranges. */
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

/* Zero-filled is empty. Ranges may be added in any order and may overlap; merge them before calling
 * total, within or both. */
typedef struct tt_ranges {
    tt_range *list; /* once merged: ascending, neither overlapping nor adjacent */
    size_t n;
    size_t capacity;
    uint64_t *before; /* merged: numbers in all earlier ranges */
    size_t before_capacity;
    bool failed; /* out of memory: the set is incomplete */
} tt_ranges;

void tt_ranges_free(tt_ranges *r);
void tt_ranges_clear(tt_ranges *r);
/* Nothing if end <= begin. */
void tt_ranges_add(tt_ranges *r, uint64_t begin, uint64_t end);
void tt_ranges_merge(tt_ranges *r);
/* How many numbers are in the set. */
uint64_t tt_ranges_total(const tt_ranges *r);
/* How many of them are in [begin, end). */
uint64_t tt_ranges_within(const tt_ranges *r, uint64_t begin, uint64_t end);
/* Sets *out to the intersection, merged; it is neither a nor b. */
void tt_ranges_both(const tt_ranges *a, const tt_ranges *b, tt_ranges *out);
/* Sets *out to a without b, merged; it is neither. */
void tt_ranges_without(const tt_ranges *a, const tt_ranges *b, tt_ranges *out);

#endif
