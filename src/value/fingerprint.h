/* The fingerprint of a value: a summary of a tensor's data in some 200 bytes, to compare two
 * engines, builds or settings without keeping the data.
 *
 * A value's elements are in logical order (dimension 0 runs fastest), whatever the strides are.
 * They are divided into pieces of TT_VALUE_PIECE elements (times a power of two, for at most
 * TT_VALUE_PIECES_MAX pieces), each of which any thread can take; the result does not depend on
 * which thread took which piece.
 *
 *   hash     XXH3-128 of the elements' native bytes; for several pieces, XXH3-128 of the
 *            concatenated hashes of the pieces, each as its 16 canonical bytes
 *            (https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md)
 *   blake3   BLAKE3-256 of the elements as little-endian float32
 *            (https://github.com/BLAKE3-team/BLAKE3-specs/blob/master/blake3.pdf)
 *   mean     of the finite elements; RMS: sqrt(mean(x * x)); sums are of float64, piece by piece
 *
 * Nothing here allocates, locks or makes a system call: it runs in a traced program. */
#ifndef TT_VALUE_FINGERPRINT_H
#define TT_VALUE_FINGERPRINT_H

#include "value/type.h"

#include <stdbool.h>
#include <stdint.h>

#define TT_VALUE_PIECE 16384u /* elements: 64 KiB of float32, a subtree of 64 chunks of BLAKE3 */
#define TT_VALUE_PIECES_MAX 4096u
#define TT_VALUE_PREFIX 8u
#define TT_VALUE_SAMPLES 16u
#define TT_VALUE_NONE UINT64_MAX

enum { TT_VALUE_WITH_BLAKE3 = 1 };

/* The result for one piece. */
typedef struct tt_value_piece {
    uint64_t n_nan, n_inf;
    uint64_t first_bad; /* index of the first NaN or infinity; TT_VALUE_NONE */
    float min, max;     /* of the finite elements; min > max: none */
    double sum, sum_squares;
    uint8_t hash[16];
    uint8_t
        chaining[32]; /* BLAKE3 chaining value of the subtree; the digest if it is the only piece */
} tt_value_piece;

typedef struct tt_fingerprint {
    uint64_t n;
    uint64_t n_nan, n_inf;
    uint64_t first_bad; /* logical index, or TT_VALUE_NONE */
    bool has_range;     /* some element is finite: min to rms are valid */
    float min, max;
    double mean, rms;
    uint8_t hash[16];
    bool has_blake3;
    uint8_t blake3[32];
    uint32_t n_prefix;
    float prefix[TT_VALUE_PREFIX]; /* the first elements */
    uint32_t n_samples;
    /* Elements i * (n - 1) / (n_samples - 1), rounded down, i = 0 .. n_samples - 1. */
    float samples[TT_VALUE_SAMPLES];
} tt_fingerprint;

/* The number of elements; 0 when there are none, or the shape does not fit the type or 64 bits. */
uint64_t tt_value_elements(const tt_value_data *v);
/* The number of pieces: at least 1 when the value has elements. */
uint32_t tt_value_pieces(const tt_value_data *v);
/* Takes piece k < tt_value_pieces(v); different pieces may be taken on different threads. */
void tt_value_take(const tt_value_data *v, uint32_t k, unsigned with, tt_value_piece *out);
/* Begins a fingerprint: elements, prefix and samples from the data; the rest is zero. */
void tt_value_look(const tt_value_data *v, tt_fingerprint *out);
/* Completes the fingerprint from all pieces of the value, without the data. */
void tt_value_finish(const tt_value_piece *pieces, uint32_t n_pieces, unsigned with,
                     tt_fingerprint *out);

/* Index of sample i, of the n_samples of a value with n elements. */
uint64_t tt_value_sample_index(uint64_t n, uint32_t i);

#endif
