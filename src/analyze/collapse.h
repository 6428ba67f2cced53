/* A graph whose nodes are grouped into parts: one per layer, one before the layers and one after
 * them. Also which tensors pass between the parts, and which parts have the same structure: most
 * layers of a network do, so a viewer needs to draw only one. */
#ifndef TT_ANALYZE_COLLAPSE_H
#define TT_ANALYZE_COLLAPSE_H

#include "analyze/topology.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tt_collapse_part {
    int32_t layer_id; /* TT_LAYER_NONE: before the layers, or `behind` (after) them */
    bool behind;
    uint32_t shape; /* parts with the same shape have the same structure */
    uint32_t n_nodes, n_executed;
    uint32_t n_ops; /* recorded */
    uint64_t timed; /* of these */
    uint64_t ticks;
    uint64_t weight_bytes; /* read by the ops */
    bool at_most;
} tt_collapse_part;

/* A tensor computed in one part and used in another. */
typedef struct tt_passage {
    uint32_t from, to; /* parts */
    uint32_t tensor;
} tt_passage;

typedef struct tt_collapse {
    const tt_topology *t;
    uint32_t *part_of; /* by node */
    tt_collapse_part *parts;
    uint32_t n_parts; /* before the layers, the layers ascending, after them */
    tt_passage *passages;
    size_t n_passages; /* by from, to, tensor; each once */
    /* By shape: a checksum of its structure, comparable between graphs. It covers the ops in their
     * order, what each is (not its sizes and types, which change as a context grows), its
     * connections inside the part and outside, which nodes one op computes, and their
     * components. */
    uint64_t *shapes;
    uint32_t n_shapes;
    uint64_t structure; /* a checksum of the whole graph: the parts' shapes and the passages */
} tt_collapse;

/* Free *out with tt_collapse_free, also after a failure; t must outlive it. A node without a layer
 * is before the layers if it needs nothing from them, in the last layer that it needs if another
 * one needs it, and after them otherwise. Sources computed later than their users (a damaged trace)
 * are ignored. */
tt_status tt_collapse_make(const tt_topology *t, tt_collapse *out, tt_error *err);
void tt_collapse_free(tt_collapse *c);

/* Of a tt_collapse_part (context: the tt_model), and of a tt_passage. */
extern const tt_schema tt_collapse_part_schema, tt_passage_schema;

#endif
