/* The ops between which values flow, within one graph computation. */
#ifndef TT_EXPORT_PERFETTO_FLOWS_H
#define TT_EXPORT_PERFETTO_FLOWS_H

#include "analyze/ops.h"
#include "model/model.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct tt_flow_edge {
    uint32_t from, to; /* the ops' nodes */
} tt_flow_edge;

/* For one run. Memory is reused for each run; zero-filled is empty and ready. */
typedef struct tt_flows {
    tt_flow_edge *edges; /* by `to`, ascending; an edge's number is its index */
    uint32_t n, capacity;
    uint32_t *by_from; /* indices of edges, by `from` */
    uint32_t *writers; /* private: by tensor: the op that wrote it last, or TT_NONE */
    uint32_t n_writers;
} tt_flows;

/* The edges among n ops of a graph (in m->graphs), given as their nodes, ascending, and what they
 * cover. A tensor that is written but is not a node (a cache) connects to later ops that read it.
 * False if out of memory. */
bool tt_flows_find(tt_flows *f, const tt_model *m, uint32_t graph, tt_op_table *ops,
                   const uint32_t *nodes, const uint8_t *covers, uint32_t n);
/* The first edge with that `to`; others follow it. */
uint32_t tt_flows_to(const tt_flows *f, uint32_t node);
/* The same for `from`, in by_from. */
uint32_t tt_flows_from(const tt_flows *f, uint32_t node);
void tt_flows_free(tt_flows *f);

#endif
