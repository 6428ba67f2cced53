/* Mistakes that engines have been shipped with, made on purpose: to see where they are found. */
#ifndef BUGS_H
#define BUGS_H

#include "ops.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum bug_kind {
    BUG_NONE,
    BUG_ROPE_BASE,         /* the rotations' base of another family of models */
    BUG_NORM_EPSILON,      /* a layer's first norm with another epsilon */
    BUG_TRANSPOSED_HEAD,   /* a layer's heads are put together elements first */
    BUG_TRANSPOSED_OUTPUT, /* the output matrix is read by columns */
    BUG_KV_HEADS,          /* a layer's query heads share the wrong heads of keys and values */
    BUG_SOFTMAX_SCALE,     /* a layer's scores are divided by the root of the model's width */
    BUG_POSITION,          /* what is generated is placed one position too far */
    BUG_SWAPPED_GATE,      /* a layer's gate and up are exchanged in SwiGLU */
    BUG_KINDS
} bug_kind;

typedef struct bug {
    bug_kind kind;
    uint32_t layer; /* where it is of one layer */
    double value;   /* BUG_ROPE_BASE, BUG_NORM_EPSILON */
} bug;

/* "rope-base", "norm-epsilon=2", "norm-epsilon=2:1e-4": NAME[=LAYER[:VALUE]]. False: there is no
 * such bug. Without LAYER it is layer 1. */
bool bug_parse(const char *text, bug *b);
/* The i-th one's name and what it is, from 0; NULL behind the last. */
const char *bug_name(unsigned i);
const char *bug_summary(unsigned i);

/* Changes an op that is about to run. stage: "attn_norm"; in_prompt: of the first batch. */
void bug_apply(const bug *b, op *o, const char *stage, int layer, bool in_prompt);

#endif
