/* Graphs: their topology, recorded once for each distinct one. */
#ifndef TT_ADAPTER_GGML_GRAPHS_H
#define TT_ADAPTER_GGML_GRAPHS_H

#include "adapter/ggml/engine.h"
#include "record/recorder.h"

#include <stdbool.h>
#include <stdint.h>

/* A leaf that row numbers are read from when the graph runs. */
typedef struct tt_graph_input {
    uint32_t node;   /* that gathers or scatters rows by it: source 1 */
    uint32_t tensor; /* the leaf's number in the recorded graph */
} tt_graph_input;

/* The id of this graph, recording it if no identical one was met before; 0 when it could
 * not be recorded. Every tensor's memory is read, so the graph must not be changing.
 * sched: the scheduler that chose the nodes' backends; NULL: all on the CPU. layout: as long as
 * it is the same, so are the tensors of a graph at the same address, which then need not be
 * looked at; 0: not known. tt_process_lock is held. */
uint32_t tt_graphs_identify(tt_recorder *r, const tt_engine *e, struct ggml_tensor **nodes,
                            int n_nodes, void *sched, uint64_t layout);
/* The inputs of a graph with that id; valid while tt_process_lock is held. */
const tt_graph_input *tt_graphs_inputs(uint32_t graph, uint32_t *n);
/* The leaf that source 1 of a node is, or is a view of. */
const struct ggml_tensor *tt_graphs_input_leaf(const struct ggml_tensor *node);
/* Whether the tensor has no elements: llama.cpp's graphs have such rows for batches that need
 * no output. */
static inline bool tt_graphs_is_empty(const struct ggml_tensor *t)
{
    return t->ne[0] <= 0 || t->ne[1] <= 0 || t->ne[2] <= 0 || t->ne[3] <= 0;
}
/* Whether the node is computed when the graph runs. marked: the engine goes by the COMPUTE flag. */
bool tt_graphs_executes(const struct ggml_tensor *node, bool marked);
/* Whether the engine does: a node here has the flag, or one of an earlier graph had. A view of a
 * graph may consist of nodes that are left out. Any thread. */
bool tt_graphs_marked(const tt_engine *e, struct ggml_tensor *const *nodes, int n_nodes);
/* Whether a run may still be recorded to be of that graph. */
bool tt_graphs_knows(uint32_t graph);
/* In a forked child: the new trace has no graphs yet. */
void tt_graphs_reset(void);

#endif
