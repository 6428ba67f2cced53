/* Runs: single computations of a graph. */
#ifndef TT_ADAPTER_GGML_RUNS_H
#define TT_ADAPTER_GGML_RUNS_H

#include "adapter/ggml/engine.h"
#include "record/recorder.h"

#include <stdbool.h>
#include <stdint.h>

/* The batch that this thread computes; 0: none. */
extern __thread uint32_t tt_runs_batch;
/* The layout of the graphs that this thread computes, as in tt_graphs_identify. */
extern __thread uint64_t tt_runs_layout;
/* The node that the scheduler last offered on this thread; NULL outside of a computation observed
 * by the callback. What it computes next ends with that node. */
extern __thread const struct ggml_tensor *tt_runs_asked;

/* Whether these nodes are computed as part of such a computation: then the CPU hooks do nothing.
 * A computation left by an exception does not count. */
bool tt_runs_by_callback(struct ggml_tensor *const *nodes, int n_nodes);

/* Records that a graph is about to be computed. Returns its id; 0 if that failed or the run is not
 * recorded, because its batch is not, or it has none while only some batches are. With
 * TT_OBSERVED_HOOK, threads find the run by its nodes until tt_runs_end; frame is the hook's stack
 * frame, see tt_lanes_run_begin; sched as in tt_graphs_identify. */
uint32_t tt_runs_begin(tt_recorder *r, const tt_engine *e, struct ggml_cgraph *graph,
                       uint8_t observed, uint32_t threads, const void *frame, void *sched);
/* Records nothing if recording has stopped, or the process was forked, since tt_runs_begin. */
void tt_runs_end(tt_recorder *r, uint32_t run, uint8_t observed, int status);

#endif
