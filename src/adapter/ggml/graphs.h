/* Graphs: the topology of each distinct graph, recorded once. */
#ifndef TT_ADAPTER_GGML_GRAPHS_H
#define TT_ADAPTER_GGML_GRAPHS_H

#include "adapter/ggml/engine.h"
#include "record/recorder.h"

#include <stdbool.h>
#include <stdint.h>

/* A leaf with row numbers, which are read when the graph runs. */
typedef struct tt_graph_input {
    uint32_t node;   /* the node that gathers or scatters rows by it (its source 1) */
    uint32_t tensor; /* the leaf's number in the recorded graph */
} tt_graph_input;

/* The id of this graph, which is recorded if it is new; 0 if that fails. Reads every tensor's
 * memory, so the graph must not change meanwhile. sched: the scheduler that chose the nodes'
 * backends; NULL: all on the CPU. layout: while it is the same, a graph at the same address has the
 * same tensors and is not read again; 0: unknown. tt_process_lock is held. */
uint32_t tt_graphs_identify(tt_recorder *r, const tt_engine *e, struct ggml_tensor **nodes,
                            int n_nodes, void *sched, uint64_t layout);
/* The inputs of a graph with that id; valid while tt_process_lock is held. */
const tt_graph_input *tt_graphs_inputs(uint32_t graph, uint32_t *n);
/* The leaf that source 1 of the node is, or is a view of. */
const struct ggml_tensor *tt_graphs_input_leaf(const struct ggml_tensor *node);
/* Whether the tensor has no elements: llama.cpp's graphs have such tensors in batches without
 * outputs. */
static inline bool tt_graphs_is_empty(const struct ggml_tensor *t)
{
    return t->ne[0] <= 0 || t->ne[1] <= 0 || t->ne[2] <= 0 || t->ne[3] <= 0;
}
/* Whether running the graph computes the node. marked: the engine uses the COMPUTE flag. */
bool tt_graphs_executes(const struct ggml_tensor *node, bool marked);
/* Whether the engine uses the COMPUTE flag: a node here has it, or one of an earlier graph had.
 * A graph view may hold only skipped nodes. Any thread. */
bool tt_graphs_marked(const tt_engine *e, struct ggml_tensor *const *nodes, int n_nodes);
/* Whether runs of that graph may still be recorded. */
bool tt_graphs_knows(uint32_t graph);
/* Call in a forked child: the new trace has no graphs yet. */
void tt_graphs_reset(void);

#endif
