/* An eval callback that prints what the engine computed, as people without a tracer do. */
#ifndef BENCH_SLOWDOWN_EVAL_PRINT_H
#define BENCH_SLOWDOWN_EVAL_PRINT_H

#include <stdbool.h>

/* For every node: its name, op, type, sources and shape, then the values at the corners of each
 * dimension and their sum, to stdout: what llama.cpp's example "eval-callback" shows. */
bool eval_print(void *tensor, bool ask, void *user);
/* Wants to see every node, and does nothing with it. */
bool eval_nothing(void *tensor, bool ask, void *user);

#endif
