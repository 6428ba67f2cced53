/* The engine of loop_engine.c. */
#ifndef TT_TESTS_LOOP_ENGINE_H
#define TT_TESTS_LOOP_ENGINE_H

#include "adapter/ggml/abi.h"

#include <stdbool.h>

#ifndef LOOP_NAME_AT
#define LOOP_NAME_AT 256
#endif
#ifndef LOOP_NAME_BYTES
#define LOOP_NAME_BYTES 64
#endif
#ifndef LOOP_STRANGE_BYTES
#define LOOP_STRANGE_BYTES 0
#endif

enum { LOOP_NONE, LOOP_ADD, LOOP_MUL_MAT, LOOP_RESHAPE };

struct ggml_cgraph {
    int n_nodes;
    struct ggml_tensor **nodes;
};

/* ggml's first three fields. */
struct ggml_cplan {
    size_t work_size;
    uint8_t *work_data;
    int n_threads; /* 1 or 2 */
    bool stay;     /* the second one stays from graph to graph */
};

char *ggml_set_name(char *tensor, const char *name);
int ggml_graph_compute(struct ggml_cgraph *graph, struct ggml_cplan *plan);

#endif
