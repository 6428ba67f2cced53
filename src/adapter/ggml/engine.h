/* The engine's own functions that the adapter calls: names of ops and types, access to graphs
 * and buffers. Found by name in whatever libggml is loaded. */
#ifndef TT_ADAPTER_GGML_ENGINE_H
#define TT_ADAPTER_GGML_ENGINE_H

#include "adapter/ggml/abi.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Members may be NULL when marked optional. */
typedef struct tt_engine {
    int (*graph_n_nodes)(struct ggml_cgraph *);
    struct ggml_tensor **(*graph_nodes)(struct ggml_cgraph *);
    struct ggml_tensor *(*graph_tensor)(struct ggml_cgraph *, const char *); /* optional */
    const char *(*op_name)(int);
    const char *(*op_desc)(const struct ggml_tensor *);
    const char *(*type_name)(int);
    size_t (*nbytes)(const struct ggml_tensor *);
    const char *(*buffer_name)(void *);
    void *(*buffer_base)(void *);
    size_t (*buffer_size)(void *);
    bool (*buffer_is_host)(void *);
    int (*buffer_usage)(void *); /* optional */
    void (*tensor_get)(const struct ggml_tensor *, void *, size_t, size_t);
    int (*sched_n_backends)(void *);                                   /* optional */
    void *(*sched_backend)(void *, int);                               /* optional */
    void *(*sched_tensor_backend)(void *, const struct ggml_tensor *); /* optional */
    void *(*backend_device)(void *);                                   /* optional */
    const char *(*backend_name)(void *);                               /* optional */
    int (*device_type)(void *);                                        /* optional */
    void *(*device_registry)(void *);                                  /* optional */
    const char *(*registry_name)(void *);                              /* optional */
    const char *(*version)(void);                                      /* optional: ggml_version */
    const char *(*commit)(void);                                       /* optional: ggml_commit */
    const char *(*release)(void);                                      /* optional: llama_version */
    /* Optional: the tensor's stage and layer, see format/meta.h; false: none. */
    bool (*stage)(const struct ggml_tensor *, uint32_t *stage, int32_t *layer);
    /* Numbers of ops, which differ between versions; -1: the version has no such op. */
    int32_t op_mul_mat_id, op_get_rows, op_mul, op_sum_rows, op_set_rows;
} tt_engine;

/* The functions, looked up once from the library at `caller`. NULL if this engine cannot be traced
 * (a function is missing, struct ggml_tensor differs); the session gets the reason. */
const tt_engine *tt_engine_get(const void *caller);

/* Whether the backend only sends its ops away, so that nobody here sees when they are computed. */
bool tt_engine_is_remote(const tt_engine *e, void *backend);

/* Call in a forked child: another thread of the parent may have held the lock. */
void tt_engine_in_child(void);

#define TT_ENGINE_OPS_MAX 256
#define TT_ENGINE_OPS_KNOWN 60 /* every traceable version has more ops */

/* Non-zero for op numbers that never compute; filled before anything is recorded. */
extern uint8_t tt_engine_empty_ops[TT_ENGINE_OPS_MAX];

/* Whether an op of that number never computes (NONE, VIEW, RESHAPE, PERMUTE, TRANSPOSE). */
static inline bool tt_engine_op_is_empty(int32_t op)
{
    return (uint32_t)op < TT_ENGINE_OPS_MAX && tt_engine_empty_ops[op];
}

#endif
