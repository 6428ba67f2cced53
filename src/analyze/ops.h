/* Descriptions of executed ops: nodes, sources, weights and place in the network. */
#ifndef TT_ANALYZE_OPS_H
#define TT_ANALYZE_OPS_H

#include "model/model.h"

#include <stdbool.h>
#include <stdint.h>

#define TT_OP_NODES_MAX 8u /* a node and up to seven that it covers */
#define TT_OP_SOURCES_MAX (TT_OP_NODES_MAX * TT_SRC_MAX)

typedef struct tt_op_source {
    uint32_t tensor;     /* in the graph */
    uint32_t weight;     /* in the model, or TT_NONE */
    uint32_t node;       /* of the op's nodes: the one that reads it ... */
    uint32_t slot;       /* ... as this source of its own */
    uint64_t read_bytes; /* by this op */
    bool picks;          /* rows or experts are selected: what is read differs from run to run */
    bool at_most;        /* the selection is unknown: read_bytes is an upper bound */
} tt_op_source;

typedef struct tt_op {
    const tt_graph *graph;
    uint32_t node;    /* of the record: the first of its nodes */
    uint32_t n_nodes; /* more than one: fused */
    uint32_t nodes[TT_OP_NODES_MAX];
    const char *name;   /* of the last node: what the op computes */
    char op[96];        /* "MUL_MAT", "RMS_NORM+MUL" */
    uint32_t n_sources; /* without values that stay inside a fused op */
    tt_op_source sources[TT_OP_SOURCES_MAX];
    tt_place place;
    uint64_t weight_bytes; /* read from weights, also from those of unknown files */
    bool picks;            /* from a weight; then analyze/access.h may know more */
    bool at_most;
} tt_op;

/* Whether a node selects parts of one of its sources, by numbers in another one. */
typedef enum tt_pick {
    TT_PICK_NONE,
    TT_PICK_ROWS,   /* GET_ROWS */
    TT_PICK_EXPERTS /* MUL_MAT_ID: slices; ADD_ID: rows */
} tt_pick;

/* How the node selects from its source `slot`. *numbers: the tensor with the numbers;
 * *stride_bytes: the distance of the selectable parts. */
tt_pick tt_op_pick(const tt_graph *g, uint32_t node, uint32_t slot, uint32_t *numbers,
                   uint64_t *stride_bytes);
/* Whether that source (not TT_NONE) of the node is only its destination: SET_ROWS and CPY list the
 * tensor that they write among their sources, and do not read it. */
bool tt_op_writes_into(const tt_graph *g, uint32_t node, uint32_t slot);
/* Whether the source may be read anywhere: it is not known which parts of it were selected, unless
 * the accesses (analyze/access.h) name them. */
bool tt_op_source_is_unplaced(const tt_graph *g, const tt_op_source *s);
/* Saturating. */
uint64_t tt_elements(const tt_tensor *t);

/* Describes the op at `node` (< graph->n_nodes) that also covers the next `covers` executing nodes.
 * Strings belong to the model. */
void tt_op_describe(const tt_model *m, const tt_graph *g, uint32_t node, uint32_t covers,
                    tt_op *op);

/* The next `covers` executing nodes after `node`; returns their number (at most 7). */
uint32_t tt_op_covered(const tt_graph *g, uint32_t node, uint32_t covers,
                       uint32_t out[TT_OP_NODES_MAX - 1]);

/* Descriptions of ops (analyze/ops.h), each made once while there is room. */

/* Memory of cached descriptions: of some 18,000 ops. */
#define TT_OP_TABLE_BYTES_MAX ((size_t)64 << 20)

typedef struct tt_op_table tt_op_table;

/* NULL if out of memory. The model must outlive it. */
tt_op_table *tt_op_table_new(const tt_model *m);
void tt_op_table_free(tt_op_table *t);

/* The op at `node` of the graph (in m->graphs, both in range) that also covers the next `covers`
 * executing nodes. Valid until the next call; NULL if out of memory. */
const tt_op *tt_op_table_get(tt_op_table *t, uint32_t graph, uint32_t node, uint32_t covers);
/* A pointer of the caller's, kept with the last returned description and freed with free. NULL at
 * first. */
void **tt_op_table_note(tt_op_table *t, uint32_t graph, uint32_t node);

#endif
