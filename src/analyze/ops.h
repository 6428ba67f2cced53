/* What an executed op is: its nodes, sources, weights and place in the network. */
#ifndef TT_ANALYZE_OPS_H
#define TT_ANALYZE_OPS_H

#include "model/model.h"

#include <stdbool.h>
#include <stdint.h>

#define TT_OP_NODES_MAX 8u /* a node and the up to seven it covers */
#define TT_OP_SOURCES_MAX (TT_OP_NODES_MAX * TT_SRC_MAX)

typedef struct tt_op_source {
    uint32_t tensor;     /* in the graph */
    uint32_t weight;     /* in the model, or TT_NONE */
    uint32_t node;       /* of the op's nodes, that takes it ... */
    uint32_t slot;       /* ... as this source of its own */
    uint64_t read_bytes; /* of it, by this op */
    bool picks;          /* rows or experts are picked: what is read differs from run to run */
    bool at_most;        /* which of them is not known: read_bytes is an upper bound */
} tt_op_source;

typedef struct tt_op {
    const tt_graph *graph;
    uint32_t node;    /* the record's: the first of its nodes */
    uint32_t n_nodes; /* more than one: fused */
    uint32_t nodes[TT_OP_NODES_MAX];
    const char *name;   /* of the last node: what the op computes */
    char op[96];        /* "MUL_MAT", "RMS_NORM+MUL" */
    uint32_t n_sources; /* without the values that stay inside a fused op */
    tt_op_source sources[TT_OP_SOURCES_MAX];
    tt_place place;
    uint64_t weight_bytes; /* read from weights */
    bool picks;            /* from a weight; then analyze/access.h may know more */
    bool at_most;
} tt_op;

/* Where a node picks from one of its sources what it reads, by numbers in another one. */
typedef enum tt_pick {
    TT_PICK_NONE,
    TT_PICK_ROWS,   /* GET_ROWS */
    TT_PICK_EXPERTS /* MUL_MAT_ID: slices; ADD_ID: rows */
} tt_pick;

/* How the node picks from its source `slot`. *numbers gets the tensor that holds the numbers, and
 * *stride_bytes the distance of what is picked. */
tt_pick tt_op_pick(const tt_graph *g, uint32_t node, uint32_t slot, uint32_t *numbers,
                   uint64_t *stride_bytes);
/* Whether that source (not TT_NONE) of the node is only where its result goes: SET_ROWS and CPY
 * name what they write into among their sources, and do not read it. */
bool tt_op_writes_into(const tt_graph *g, uint32_t node, uint32_t slot);
/* Saturating. */
uint64_t tt_elements(const tt_tensor *t);

/* Describes the op at `node` (< graph->n_nodes) that also covers the `covers`
 * executing nodes behind it. Strings belong to the model. */
void tt_op_describe(const tt_model *m, const tt_graph *g, uint32_t node, uint32_t covers,
                    tt_op *op);

/* The `covers` executing nodes behind `node`; returns how many there are (at most 7). */
uint32_t tt_op_covered(const tt_graph *g, uint32_t node, uint32_t covers,
                       uint32_t out[TT_OP_NODES_MAX - 1]);

/* Descriptions of ops (analyze/ops.h), each made once while there is room. */

/* Memory of the descriptions kept at once: of some 18,000 ops. */
#define TT_OP_TABLE_BYTES_MAX ((size_t)64 << 20)

typedef struct tt_op_table tt_op_table;

/* NULL without memory. The model outlives it. */
tt_op_table *tt_op_table_new(const tt_model *m);
void tt_op_table_free(tt_op_table *t);

/* The op at `node` of the graph (in m->graphs, both in range) that also covers the `covers`
 * executing nodes behind it. Valid until the next call; NULL without memory. */
const tt_op *tt_op_table_get(tt_op_table *t, uint32_t graph, uint32_t node, uint32_t covers);
/* Something that the user keeps with the description got last, made by malloc: freed with it. *it
 * is NULL at first. */
void **tt_op_table_note(tt_op_table *t, uint32_t graph, uint32_t node);

#endif
