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

/* Numbers below 2^width (width at most 32) as runs of one value and stretches of packed ones.
 * Failure is that of `out`, here and below. */
void tt_parquet_hybrid(tt_bytes *out, const uint32_t *values, size_t n, unsigned width);
/* The same of one byte a value, 0 or 1, width 1: definition levels. */
void tt_parquet_levels(tt_bytes *out, const uint8_t *valid, size_t n);
/* n times the same value (width at most 32). */
void tt_parquet_run(tt_bytes *out, uint32_t value, size_t n, unsigned width);
/* Bytes of 0 or 1 as bits, the first one lowest. */
void tt_parquet_bits(tt_bytes *out, const uint8_t *values, size_t n);

/* 32-bit (wide: 64-bit) integers as packed differences, in blocks of 128. Signed and unsigned are
 * the same: differences wrap around. */
void tt_parquet_delta(tt_bytes *out, const void *values, size_t n, bool wide);
/* How many bits a value tt_parquet_delta takes, from a few blocks. */
double tt_parquet_delta_bits(const void *values, size_t n, bool wide);

/* Bits that the numbers 0 .. max need. */
unsigned tt_parquet_width(uint64_t max);

#endif
