/* A graph with its nodes put together in parts: one a layer, what is computed before the layers,
 * and what behind them. Says what passes between the parts, and which are built alike: the layers
 * of a network mostly are, so that whoever draws one has drawn them all. */
#ifndef TT_ANALYZE_COLLAPSE_H
#define TT_ANALYZE_COLLAPSE_H

#include "analyze/topology.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tt_collapse_part {
    int32_t layer_id; /* TT_LAYER_NONE: before the layers, or `behind` them */
    bool behind;
    uint32_t shape; /* parts with the same one are built alike */
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
    uint32_t n_parts; /* before the layers, the layers ascending, behind them */
    tt_passage *passages;
    size_t n_passages; /* by from, to, tensor; each once */
    /* By shape: a checksum of what parts of that shape are made of. The same in another graph
     * means: built alike. A shape is the ops in their order, what each is (not its sizes and types,
     * which change as a context grows), what it is joined to, inside the part and outside, which
     * of them are computed by one op, and the components they belong to. */
    uint64_t *shapes;
    uint32_t n_shapes;
    uint64_t structure; /* a checksum of the parts' shapes and the passages: of the whole graph */
} tt_collapse;

/* *out is freed with tt_collapse_free, also after a failure; t outlives it. A node without a layer
 * is before the layers when it needs nothing of them, belongs to the last layer it needs when
 * another one needs it, and is behind them else. Sources computed later than what needs them (a
 * damaged trace) say nothing about that. */
tt_status tt_collapse_make(const tt_topology *t, tt_collapse *out, tt_error *err);
void tt_collapse_free(tt_collapse *c);

#endif
