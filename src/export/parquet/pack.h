/* Parquet's encodings of numbers.
 *
 * Source: parquet-format, Encodings.md: "Run Length Encoding / Bit-Packing Hybrid (RLE = 3)" and
 * "Delta Encoding (DELTA_BINARY_PACKED = 5)". */
#ifndef TT_EXPORT_PARQUET_PACK_H
#define TT_EXPORT_PARQUET_PACK_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a column's integers are stored in a row group: by index into a list of the distinct ones, as
 * differences, or plain. */

#define TT_PARQUET_DIRECT 65536u  /* a range of values for a direct table */
#define TT_PARQUET_SLOTS 16384u   /* of the hash table for wider ranges ... */
#define TT_PARQUET_DISTINCT 8192u /* ... and the limit of distinct values */

typedef enum tt_parquet_encoding {
    TT_PARQUET_PLAIN = 0,
    TT_PARQUET_RLE = 3,
    TT_PARQUET_DELTA = 5,     /* DELTA_BINARY_PACKED */
    TT_PARQUET_DICTIONARY = 8 /* RLE_DICTIONARY */
} tt_parquet_encoding;

/* Integers of 32 bits, or 64 if wide. `bias` is the sign bit for signed ones and 0 for unsigned
 * ones: (v ^ bias), as an unsigned number, has their order. */
typedef struct tt_parquet_integers {
    const void *values;
    size_t n;
    bool wide;
    uint64_t bias;
    uint64_t least, most; /* biased; set by tt_parquet_integers_bounds */
} tt_parquet_integers;

/* Memory of the calling thread. Zero-filled is empty and ready. */
typedef struct tt_parquet_lookup {
    uint32_t *codes; /* of each value: set by tt_parquet_integers_encoding */
    size_t capacity;
    uint32_t n_distinct;
    uint64_t *distinct; /* the values of the codes, not biased */
    uint16_t *direct;
    uint8_t *used;
    uint64_t *keys;
    uint16_t *slots;
} tt_parquet_lookup;

/* False if out of memory. n: the number of values. */
bool tt_parquet_lookup_reserve(tt_parquet_lookup *l, size_t n);
void tt_parquet_lookup_free(tt_parquet_lookup *l);

/* Sets least and most; n is at least 1. */
void tt_parquet_integers_bounds(tt_parquet_integers *v);
/* The shortest encoding, estimated from samples. With TT_PARQUET_DICTIONARY l has the codes and the
 * distinct values. Needs the bounds. */
tt_parquet_encoding tt_parquet_integers_encoding(const tt_parquet_integers *v,
                                                 tt_parquet_lookup *l);

/* Numbers below 2^width (width at most 32) as runs of equal values and packed values. Failure is
 * that of `out`, here and below. */
void tt_parquet_hybrid(tt_bytes *out, const uint32_t *values, size_t n, unsigned width);
/* The same for definition levels: one byte per value, 0 or 1, width 1. */
void tt_parquet_levels(tt_bytes *out, const uint8_t *valid, size_t n);
/* n times the same value (width at most 32). */
void tt_parquet_run(tt_bytes *out, uint32_t value, size_t n, unsigned width);
/* Bytes of 0 or 1 as bits, the first one lowest. */
void tt_parquet_bits(tt_bytes *out, const uint8_t *values, size_t n);

/* 32-bit (wide: 64-bit) integers as packed differences, in blocks of 128. Signed and unsigned are
 * the same: differences wrap around. */
void tt_parquet_delta(tt_bytes *out, const void *values, size_t n, bool wide);
/* Bits per value of tt_parquet_delta, estimated from a few blocks. */
double tt_parquet_delta_bits(const void *values, size_t n, bool wide);

/* Bits that the numbers 0 .. max need. */
unsigned tt_parquet_width(uint64_t max);

#endif
