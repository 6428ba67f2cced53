/* The FLOPs and bytes of an op, from its kind, shapes and types.
 *
 * A FLOP is one addition, subtraction, multiplication, division, comparison for a maximum, or call
 * of a function (exp, sqrt, sin, tanh) on a value. Unpacking and converting numbers, locating rows
 * and computing the angles of ROPE do not count. With ne the dimensions as in ggml (the first one
 * is contiguous), n(x) all elements of x, d the result, s0, s1, ... the sources:
 *
 *   MUL_MAT          2 x s0.ne[0] x n(d): a multiplication and an addition for each element of
 *   MUL_MAT_ID       the row of s0 (of the chosen expert's) that makes an element of d
 *   OUT_PROD         2 x s0.ne[1] x n(d)
 *   FLASH_ATTN_EXT   s0 = Q (ne: head size, queries, heads), s1 = K, s2 = V: for each of the
 *                    n(Q) / Q.ne[0] queries and each of the K.ne[1] cells, 2 x Q.ne[0] (Q times
 *                    K) + 2 x V.ne[0] (times V) + 4 (maximum, difference, exp, sum) + 1 for the
 *                    scale + 1 with a mask (s3). Some versions skip the cells that the mask
 *                    hides: with a mask, at most
 *   SOFT_MAX         6 x n(d): scale, maximum, difference, exp, sum, division; 7 with a mask (s1)
 *   RMS_NORM L2_NORM 3 x n(d) (square, sum, scaling) + 3 per row
 *   NORM GROUP_NORM  6 x n(d) (sum, difference, square, sum, two for the scaling) + 4 per row
 *   ROPE             3 x n(d): 4 multiplications and 2 additions per pair; also counts dimensions
 *                    that are not rotated: at most
 *   UNARY            n(d) x that of the function: ABS, NEG, RELU, EXP, TANH, ... 1; SIGMOID 3;
 *                    SILU 4; GELU 8; GELU_QUICK 5; all in the table in flops.c
 *   GLU              n(d) x (that of the function + 1): SWIGLU 5, GEGLU 9, REGLU 2, ...
 *   ADD ADD1 ADD_ID ACC SUB MUL DIV SQR SQRT LOG SIN COS SCALE CLAMP LEAKY_RELU DIAG_MASK_INF
 *                    1 x n(d); an addition by SCALE is not observed
 *   SUM SUM_ROWS MEAN CUMSUM ARGMAX
 *                    1 x n(s0)
 *   SSM_CONV         2 x s1.ne[0] x n(d)
 *   SSM_SCAN         s0 = state (ne[0]: its size), s1 = x, s3 = A: 5 x n(x) x s0.ne[0], and 2 x
 *                    as many more (exp) if A has a value for each element of the state
 *   GET_ROWS SET_ROWS CPY DUP CONT CONCAT REPEAT PAD ROLL FILL ARANGE SET IM2COL ARGSORT TOP_K
 *                    0: they move or compare, and do not compute
 *
 * Derived from the loops of ggml's CPU backend (ggml/src/ggml-cpu: ops.cpp, ggml-cpu.c, vec.h; 2024
 * to 2026); that a function counts as one is this project's convention. Other ops are reported as
 * unknown. */
#ifndef TT_ANALYZE_FLOPS_H
#define TT_ANALYZE_FLOPS_H

#include "analyze/ops.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct tt_flops {
    bool known;
    bool at_most;
    uint64_t flops; /* saturating */
} tt_flops;

/* Of one node of a graph (< n_nodes). */
tt_flops tt_flops_of_node(const tt_graph *g, uint32_t node);

/* The cost of an op. */
typedef struct tt_cost {
    tt_flops flops;       /* known: for all its nodes */
    uint64_t read_bytes;  /* of its sources, each once, in their own types; without values inside a
                             fused op and without tensors that are only written */
    uint64_t write_bytes; /* of its last node's result; of SET_ROWS and CPY, what they write */
    bool at_most;         /* of the bytes: selected rows or experts, or cells that a mask hides */
} tt_cost;

/* Bytes that `op` moves; after tt_access_apply, those of that run. */
void tt_cost_of(const tt_op *op, tt_cost *cost);

/* Whether the op is a matrix multiplication whose inner loop multiplies integers of few bits: ggml
 * converts the activations to int8 for all quantised weights. */
bool tt_flops_in_integers(const tt_op *op);

#endif
