/* loop THREADS [stay] [inner]: computes a graph of ten ops and a reshape three times, with
 * loop_engine.c. inner: the first ops are such that have a barrier inside. */
#include "loop_engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 11

int main(int argc, char **argv)
{
    static struct {
        struct ggml_tensor tensor;
        char name_goes_on[LOOP_NAME_BYTES];
    } tensors[N];
    static struct ggml_tensor *nodes[N];
    static const int ops[N] = {LOOP_ADD,     LOOP_MUL_MAT, LOOP_ADD,    LOOP_MUL_MAT,
                               LOOP_MUL_MAT, LOOP_ADD,     LOOP_ADD,    LOOP_RESHAPE,
                               LOOP_ADD,     LOOP_MUL_MAT, LOOP_MUL_MAT};
    struct ggml_cgraph graph = {N, nodes};
    if (argc < 2) return 64;
    struct ggml_cplan plan = {.n_threads = atoi(argv[1]),
                              .stay = argc > 2 && strcmp(argv[2], "stay") == 0};
    bool inner = strcmp(argv[argc - 1], "inner") == 0;
    for (int i = 0; i < N; i++) {
        struct ggml_tensor *t = nodes[i] = &tensors[i].tensor;
        /* As long as they may be, different at the end alone. */
        char name[LOOP_NAME_BYTES];
        (void)snprintf(name, sizeof name, "%s%0*d", "node-",
                       LOOP_NAME_BYTES > 64 ? LOOP_NAME_BYTES - 6 : 1, i);
        (void)ggml_set_name((char *)t, name);
        t->op = inner && i < 3 ? LOOP_MUL_MAT : ops[i];
        t->ne[0] = 8;
        t->ne[1] = t->ne[2] = t->ne[3] = 1;
        t->src[0] = i ? nodes[i - 1] : NULL;
        if (ops[i] == LOOP_RESHAPE) t->view_src = nodes[i - 1];
    }
    for (int i = 0; i < 3; i++)
        if (ggml_graph_compute(&graph, &plan) != 0) return 1;
    return 0;
}
