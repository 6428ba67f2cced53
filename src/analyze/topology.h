/* A graph as computed in one run: its nodes and edges, the ops that computed them (several nodes by
 * one op: fused), their time and the weights they read. */
#ifndef TT_ANALYZE_TOPOLOGY_H
#define TT_ANALYZE_TOPOLOGY_H

#include "analyze/filter.h"
#include "base/status.h"
#include "model/model.h"
#include "table/table.h"

#include <stdbool.h>
#include <stdint.h>

#define TT_EDGES_MAX (TT_SRC_MAX + 1u) /* into one tensor */

/* From a source to the tensor computed from it, or from a tensor to a view of it. */
typedef struct tt_edge {
    uint32_t source; /* tensors of the graph */
    uint32_t target;
    uint32_t slot; /* of the target's sources; TT_NONE: it is only viewed */
    bool is_view;
} tt_edge;

/* What the run has of a node that executes. */
typedef struct tt_topology_node {
    uint32_t op;      /* the node whose op computed it: itself, or that of a fused op before it;
                         TT_NONE: no op was recorded */
    uint32_t n_nodes; /* of that op: fused if more than one */
    uint64_t ticks;   /* of the op, in its first node; 0 in the others */
    bool timed;       /* the op's end was observed */
    int32_t layer_id; /* of the op; without one of the tensor */
    uint64_t weight_bytes; /* read by the op, in its first node */
    bool at_most;
} tt_topology_node;

/* Ops of one kind, layer or backend. */
typedef struct tt_topology_sum {
    char key[96];     /* the op's or the backend's name */
    int32_t layer_id; /* of sums by layer */
    uint64_t count;
    uint64_t timed; /* of these */
    uint64_t ticks;
    uint64_t weight_bytes;
    bool at_most;
} tt_topology_sum;

typedef struct tt_topology_sums {
    tt_topology_sum *list;
    uint32_t n;
} tt_topology_sums;

typedef struct tt_topology {
    const tt_model *m;
    const tt_graph *graph;
    uint32_t run;            /* in tt_model.runs, or TT_NONE */
    tt_topology_node *nodes; /* graph->n_nodes */
    uint32_t n_leafs, n_views, n_inputs, n_outputs, n_weights;
    uint64_t n_edges;
    uint64_t weights_size_bytes; /* of the weights among the leafs */
    uint32_t n_ops;              /* recorded in the run */
    uint32_t n_fused_ops, n_fused_nodes;
    uint32_t n_missing; /* executing nodes without a recorded op */
    uint32_t n_runs;    /* that computed this graph */
    uint32_t n_batches;
    tt_topology_sum total;
    tt_topology_sums by_op;      /* the longest first */
    tt_topology_sums by_layer;   /* ascending, TT_LAYER_NONE first */
    tt_topology_sums by_backend; /* of executing nodes; "" not observed */
} tt_topology;

/* The graph (index in m->graphs) as computed by the run with that index (TT_NONE: none). Without a
 * run, or if it recorded no op, each executing node counts as an op without time, and fusions are
 * unknown. *out is freed with tt_topology_free; NULL on failure. m must outlive it. */
tt_status tt_topology_make(const tt_model *m, uint32_t graph, uint32_t run, tt_topology **out,
                           tt_error *err);
void tt_topology_free(tt_topology *t);
/* NULL, TT_NONE: none. */
const tt_run *tt_topology_run(const tt_topology *t);
uint32_t tt_topology_batch(const tt_topology *t); /* in tt_model.batches */

/* The edges into that tensor, by slot. */
uint32_t tt_topology_edges(const tt_graph *g, uint32_t tensor, tt_edge out[TT_EDGES_MAX]);

/* Of the runs that pass the filter (model, context): the one of that batch (in m->batches) with the
 * largest graph, or TT_NONE; *n gets the number of its runs with a known graph. */
uint32_t tt_topology_run_of(const tt_model *m, const tt_filter *f, uint32_t batch, uint32_t *n);
/* The default batch (index in m->batches) with a run, of those that pass: the last generated one,
 * or else the last one; rather of a context that drafts for no other; TT_NONE: none. */
uint32_t tt_topology_usual_batch(const tt_model *m, const tt_filter *f);
/* By batch: the result of tt_topology_run_of, in one pass over the runs. The caller frees it; NULL
 * if out of memory. */
uint32_t *tt_topology_run_of_each(const tt_model *m);
/* By graph: its last run, or TT_NONE. Likewise. */
uint32_t *tt_topology_last_run_of_each(const tt_model *m);
/* The last run of that graph, or TT_NONE. */
uint32_t tt_topology_last_run(const tt_model *m, uint32_t graph);

/* The critical path of a run: the longest chain of ops in which each needs the result of the
 * previous one. No parallel execution of the graph could be faster.
 *
 * An op needs another one if one of its nodes has a source that a node of the other computes,
 * directly or through views. It also needs the op that last wrote into the tensor that it reads:
 * one op writes keys and values into the cache, and another reads them through a view of the cache,
 * which is not among its sources. (The whole tensor counts as written.) */

typedef struct tt_critical {
    uint32_t *ops;      /* the first node of each, in the order of computation */
    uint32_t n_ops;     /* 0: nothing in the graph has a time */
    uint64_t ticks;     /* of all of these ops; saturating */
    uint32_t n_untimed; /* ops of the graph without a time: they count as 0, so the path may be
                           longer */
    uint64_t n_against; /* sources computed later than their users (a damaged trace): ignored */
} tt_critical;

/* Time and memory grow with nodes and edges. *out is freed with tt_critical_free, also after a
 * failure. Among paths of equal length, the one whose ops come first. */
tt_status tt_critical_find(const tt_topology *t, tt_critical *out, tt_error *err);
void tt_critical_free(tt_critical *c);

/* The sums, each a tt_topology_sum; t->total is their sum. */
enum { TT_TOPOLOGY_BY_OP = 1, TT_TOPOLOGY_BY_LAYER = 2 };
tt_rowset tt_topology_sums_rowset(const tt_topology *t, uint8_t kind);
extern const tt_schema tt_topology_schema; /* one row, a tt_topology, also the context */
/* Of a tt_edge. Kinds: its slot as a number, or in words. */
extern const tt_schema tt_edge_schema;
enum { TT_EDGE_SLOTS = 1, TT_EDGE_LABELS = 2 };

#endif
