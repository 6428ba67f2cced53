/* One record of a BitNet-style trace: what is said of one value; docs/bitnet.md. */
#ifndef TT_BITNET_RECORD_H
#define TT_BITNET_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Layers of what is in none. */
#define TT_BITNET_LAYER_OUTSIDE (-1) /* embeddings, logits */
#define TT_BITNET_LAYER_ALL (-2)     /* after all layers */

/* Points into memory of whoever made it. What a file has no key for, or `null`, is not there. */
typedef struct tt_bitnet_record {
    const char *name;      /* "t0/blk3/q_proj" */
    const uint64_t *shape; /* the outermost dimension first */
    uint32_t n_dims;       /* 0: a single number */
    const char *dtype;     /* as it was before it became float32: "F32" */
    bool has_blake3;
    uint8_t blake3[32]; /* of the elements as little-endian float32 */
    bool has_rms;       /* false: nothing of which there is a finite one */
    double rms;
    uint64_t n_elements;
    bool has_first_values;
    const float *first_values; /* NaN for what is not a finite number */
    uint32_t n_first_values;
    bool has_seq;
    uint64_t seq; /* position */
    bool has_layer;
    int32_t layer;     /* from 0 on, or TT_BITNET_LAYER_* */
    const char *stage; /* "q_proj"; NULL: not there */
} tt_bitnet_record;

#endif
