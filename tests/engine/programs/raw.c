/* raw ENGINE [THREADS]: computes with ggml alone: no llama, no scheduler. Prints the result of
 * three graphs, which does not depend on the engine. */
#include "small_graph.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    if (argc < 2) return 64;
    small_graph_open(argv[1]);
    (void)printf("%.0f\n", small_graph_compute(3, argc > 2 ? atoi(argv[2]) : 2));
    return 0;
}
