/* Random weights, made directly in the stored form of a ggml type.
 *
 * Block layouts: ggml-common.h of ggml. The codes of a block are random bits, and its scales
 * give the decoded values a mean of about 0 and the wanted standard deviation: no float is
 * quantised, so this runs at the speed of memory. All decoded values are finite. */
#ifndef TT_GGUF_QUANTIZE_H
#define TT_GGUF_QUANTIZE_H

#include "gguf/types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A small, fast, seedable generator (xoshiro256++, Blackman and Vigna, public domain). */
typedef struct tt_random {
    uint64_t s[4];
} tt_random;

void tt_random_init(tt_random *r, uint64_t seed);

/* Half and brain float of v, round to nearest even; v finite and in their range. */
uint16_t tt_half_of(float v);
uint16_t tt_bfloat_of(float v);

bool tt_quantize_supports(uint32_t type_id);

/* Fills `out` with n_blocks blocks of the type with decoded standard deviation `sigma` (above
 * 0). False, with nothing written, when the type is not supported. */
bool tt_quantize_random(const tt_ggml_type *type, uint8_t *out, size_t n_blocks, float sigma,
                        tt_random *r);

#endif
