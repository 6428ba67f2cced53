/* A small graph computed with ggml alone, its libraries opened late and locally. */
#ifndef TT_TESTS_SMALL_GRAPH_H
#define TT_TESTS_SMALL_GRAPH_H

/* Opens libggml-base and a libggml-cpu in `engine`; exits with 1 when they lack something. */
void small_graph_open(const char *engine);

/* Computes a matrix product, an addition and a row sum `rounds` times and returns a total that
 * depends on the rounds alone. Any thread. */
double small_graph_compute(int rounds, int threads);

#endif
