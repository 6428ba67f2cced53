/* A library that calls ggml's functions as a CPU backend does, through its procedure linkage
 * table, so that a hook of that name is reached before the function of its own. */
#include "engine.h"

bool ggml_cpu_extra_compute_forward(struct ggml_compute_params *params, struct ggml_tensor *op);
void ggml_barrier(struct ggml_threadpool *pool);

__attribute__((visibility("default"))) bool
ggml_cpu_extra_compute_forward(struct ggml_compute_params *params, struct ggml_tensor *op)
{
    (void)params;
    (void)op;
    return false;
}

__attribute__((visibility("default"))) void ggml_barrier(struct ggml_threadpool *pool)
{
    (void)pool;
    __asm__ volatile("" ::: "memory");
}

__attribute__((visibility("default"))) void engine_op(struct ggml_compute_params *params,
                                                      struct ggml_tensor *op)
{
    (void)ggml_cpu_extra_compute_forward(params, op);
    ggml_barrier(NULL);
}
