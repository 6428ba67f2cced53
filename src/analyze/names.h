/* The names that a trace knows, each once: of tensors (weights, nodes, leaves) and of ops. */
#ifndef TT_ANALYZE_NAMES_H
#define TT_ANALYZE_NAMES_H

#include "model/model.h"

#include <stdbool.h>
#include <stdint.h>

/* More are not listed: names that a program makes anew for each graph. */
#define TT_NAMES_MAX (1u << 20)

typedef struct tt_name {
    const char *name; /* the model's */
    uint64_t count;   /* nodes and leaves of that name, or with that op, over all graphs */
    uint32_t weight;  /* of a tensor: in tt_model.weights, or TT_NONE */
    uint32_t graph;   /* of the first that was met, or TT_NONE: only in the model's file */
    uint32_t tensor;  /* in that graph */
    int32_t layer_id;
} tt_name;

typedef struct tt_names {
    tt_name *tensors; /* weights first, in the order of the file; then as graphs name them */
    tt_name *ops;     /* executed ones */
    uint32_t n_tensors, n_ops;
    bool cut; /* there are more than TT_NAMES_MAX */
} tt_names;

/* Of the model, which outlives them. False without memory. */
bool tt_names_make(const tt_model *m, tt_names *out);
void tt_names_free(tt_names *names);

#endif
