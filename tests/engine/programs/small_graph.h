/* A small graph computed with ggml alone, its libraries opened late and locally. */
#ifndef TT_TESTS_SMALL_GRAPH_H
#define TT_TESTS_SMALL_GRAPH_H

#include <stddef.h>

/* Opens libggml-base and a libggml-cpu in `engine`; exits with 1 when they lack something. */
void small_graph_open(const char *engine);

/* Computes a matrix product, an addition and a row sum `rounds` times and returns a total that
 * depends on the rounds alone. Any thread. */
double small_graph_compute(int rounds, int threads);

/* For graphs of one's own: a function of the base library (exits with 1 without it), a ggml
 * context with that much memory, and the computation of `out`, after which the context is gone. */
void *small_graph_find(const char *name);
void *small_graph_begin(size_t bytes);
void small_graph_end(void *ctx, void *out, int threads);
/* The same for n of them. */
void small_graph_end_all(void *ctx, void **out, int n, int threads);

#endif
