/* pause ENGINE THREADS: computes a matrix product, waits a while, and then a graph in which nothing
 * is computed: a reshape of it. Twice. */
#include "small_graph.h"

#include <stdlib.h>
#include <time.h>

#define TYPE_F32 0
#define N 64

int main(int argc, char **argv)
{
    if (argc != 3) return 64;
    small_graph_open(argv[1]);
    void *(*new_2d)(void *, int, long long, long long);
    void *(*mul_mat)(void *, void *, void *);
    void *(*reshape)(void *, void *, long long);
    *(void **)&new_2d = small_graph_find("ggml_new_tensor_2d");
    *(void **)&mul_mat = small_graph_find("ggml_mul_mat");
    *(void **)&reshape = small_graph_find("ggml_reshape_1d");
    const struct timespec a_while = {.tv_nsec = 50000000};
    for (int i = 0; i < 2; i++) {
        void *ctx = small_graph_begin(4u << 20);
        void *a = new_2d(ctx, TYPE_F32, N, N), *b = new_2d(ctx, TYPE_F32, N, N);
        small_graph_end(ctx, mul_mat(ctx, a, b), atoi(argv[2]));
        (void)nanosleep(&a_while, NULL);
        ctx = small_graph_begin(4u << 20);
        small_graph_end(ctx, reshape(ctx, new_2d(ctx, TYPE_F32, N, N), N * N), atoi(argv[2]));
    }
    return 0;
}
