/* Runs: single computations of a graph. */
#ifndef TT_ADAPTER_GGML_RUNS_H
#define TT_ADAPTER_GGML_RUNS_H

#include "adapter/ggml/engine.h"
#include "record/recorder.h"

#include <stdbool.h>
#include <stdint.h>

/* The batch that this thread computes; 0: none. */
extern __thread uint32_t tt_runs_batch;
/* This thread is inside a computation that the scheduler callback observes: the CPU
 * library's hooks keep out. */
extern __thread bool tt_runs_by_callback;

/* Records that a graph is about to be computed; its id, or 0 when that failed. With
 * TT_OBSERVED_HOOK, threads find the run by its nodes until tt_runs_end. */
uint32_t tt_runs_begin(tt_recorder *r, const tt_engine *e, struct ggml_cgraph *graph,
                       uint8_t observed, uint32_t threads);
void tt_runs_end(tt_recorder *r, uint32_t run, uint8_t observed, int status);

#endif
