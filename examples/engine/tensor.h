/* A tensor: a weight, or what an op puts out. Rows of `ne[0]` elements, `ne[1]` of them. */
#ifndef TENSOR_H
#define TENSOR_H

#include "gguf.h"

#include <stdint.h>

typedef struct tensor {
    char name[GGUF_NAME_MAX];
    uint32_t type; /* TYPE_F32; TYPE_F16: the memory of keys and values, if asked for */
    uint32_t ne[2];
    void *data;
    const gguf_tensor *source; /* of a weight: where it is in the file */
} tensor;

#endif
