/* One record of a BitNet-style trace, which describes one value; docs/bitnet.md. */
#ifndef TT_BITNET_RECORD_H
#define TT_BITNET_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The layer of values outside all layers. */
#define TT_BITNET_LAYER_OUTSIDE (-1) /* embeddings, logits */
#define TT_BITNET_LAYER_ALL (-2)     /* after all layers */

/* Points into memory of the caller. A key that is missing or `null` in the file is absent here. */
typedef struct tt_bitnet_record {
    const char *name;      /* "t0/blk3/q_proj" */
    const uint64_t *shape; /* outermost dimension first */
    uint32_t n_dims;       /* 0: a single number */
    const char *dtype;     /* before conversion to float32: "F32" */
    bool has_blake3;
    uint8_t blake3[32]; /* of the elements as little-endian float32 */
    bool has_rms;       /* false: no finite RMS exists */
    double rms;
    uint64_t n_elements;
    bool has_first_values;
    const float *first_values; /* NaN for non-finite numbers */
    uint32_t n_first_values;
    bool has_seq;
    uint64_t seq; /* position */
    bool has_layer;
    int32_t layer;     /* from 0 on, or TT_BITNET_LAYER_* */
    const char *stage; /* "q_proj"; NULL: absent */
} tt_bitnet_record;

#endif
