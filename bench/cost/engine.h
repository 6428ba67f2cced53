/* An op of an engine that computes nothing: see engine.c. */
#ifndef BENCH_COST_ENGINE_H
#define BENCH_COST_ENGINE_H

#include "adapter/ggml/abi.h"

#include <stdbool.h>

void engine_op(struct ggml_compute_params *params, struct ggml_tensor *op);

#endif
