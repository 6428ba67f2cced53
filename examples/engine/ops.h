/* The operations of the network. Each works on whole tensors; several threads share one op by each
 * taking the part `ith` of `nth`, and none starts the next before all are done. */
#ifndef OPS_H
#define OPS_H

#include "tensor.h"

#include <stdint.h>

typedef enum op_kind {
    OP_GET_ROWS, /* out[i] = in[0][ids[i]] */
    OP_RMS_NORM, /* in[0], multiplied with the weight in[1] */
    OP_MUL_MAT,  /* out[i][j] = in[0][j] . in[1][i] */
    OP_ROPE,
    OP_SET_ROWS,  /* in[0] appended to the keys or values out, at the positions */
    OP_ATTENTION, /* queries in[0], all keys in[1] and values in[2] so far */
    OP_ADD,
    OP_SWIGLU, /* gate in[0], up in[1] */
    OP_KINDS
} op_kind;

#define OP_INPUTS 3u
#define HEAD_MAX 512u /* elements */

typedef struct op {
    op_kind kind;
    tensor *out;
    const tensor *in[OP_INPUTS];
    const uint32_t *ids; /* OP_GET_ROWS: one per row of out */
    uint32_t position;   /* of the first row: OP_ROPE, OP_SET_ROWS, OP_ATTENTION */
    uint32_t head_size, n_heads, n_heads_kv;
    uint32_t n_rot;
    float epsilon, rope_base;
    float scale; /* OP_ATTENTION: of the scores */
    /* What is done wrongly on purpose: bugs.h. */
    int interleave_kv_heads, transpose_heads, transpose_weight;
} op;

/* "MUL_MAT": what ggml calls it, so that both engines' ops can be told apart in the same words. */
const char *op_name(op_kind kind);
void op_compute(const op *o, uint32_t ith, uint32_t nth);

#endif
