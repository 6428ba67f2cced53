/* A library that computes graphs as ggml's CPU backend does: threads that meet at a barrier after
 * each op, and at one more inside each MUL_MAT, which begins another op inside. Compilers call that
 * function, or, with BARRIER_INLINED, have compiled it into the loop over the ops, as clang does.
 * Computes nothing. */
#include "loop_engine.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>

#define EXPORT __attribute__((visibility("default")))

struct ggml_threadpool {
    int threads;
    _Atomic int arrived;
    _Atomic unsigned passed;
};

bool ggml_cpu_extra_compute_forward(struct ggml_compute_params *params, struct ggml_tensor *op);
void ggml_barrier(struct ggml_threadpool *pool);
int ggml_graph_compute(struct ggml_cgraph *graph, struct ggml_cplan *plan);
int ggml_graph_compute_with_ctx(void *context, struct ggml_cgraph *graph, int n_threads);
int ggml_graph_n_nodes(struct ggml_cgraph *graph);
struct ggml_tensor **ggml_graph_nodes(struct ggml_cgraph *graph);
const char *ggml_op_name(int op);
const char *ggml_op_desc(const struct ggml_tensor *t);
const char *ggml_type_name(int type);
size_t ggml_nbytes(const struct ggml_tensor *t);
size_t ggml_tensor_overhead(void);
char *ggml_set_name(char *tensor, const char *name);
const char *ggml_backend_buffer_name(void *buffer);
void *ggml_backend_buffer_get_base(void *buffer);
size_t ggml_backend_buffer_get_size(void *buffer);
bool ggml_backend_buffer_is_host(void *buffer);
void ggml_backend_tensor_get(const struct ggml_tensor *t, void *data, size_t offset, size_t size);

static void meet(struct ggml_threadpool *pool)
{
    unsigned passed = atomic_load(&pool->passed);
    if (atomic_fetch_add(&pool->arrived, 1) + 1 == pool->threads) {
        atomic_store(&pool->arrived, 0);
        atomic_fetch_add(&pool->passed, 1);
    }
    while (atomic_load(&pool->passed) == passed)
        (void)sched_yield();
}

EXPORT void ggml_barrier(struct ggml_threadpool *pool)
{
    if (pool->threads > 1) meet(pool);
}

#ifdef BARRIER_INLINED
#define BARRIER(pool) meet(pool)
#else
#define BARRIER(pool) ggml_barrier(pool)
#endif

EXPORT bool ggml_cpu_extra_compute_forward(struct ggml_compute_params *params,
                                           struct ggml_tensor *op)
{
    (void)params;
    (void)op;
    return false;
}

static void compute_op(struct ggml_compute_params *params, struct ggml_tensor *op,
                       struct ggml_threadpool *pool)
{
    static struct ggml_tensor part = {.op = LOOP_ADD}; /* of the op, no node of the graph */
    if (ggml_cpu_extra_compute_forward(params, op) || op->op != LOOP_MUL_MAT) return;
    (void)ggml_cpu_extra_compute_forward(params, &part);
    ggml_barrier(pool);
}

struct share {
    struct ggml_cgraph *graph;
    struct ggml_threadpool *pool;
    int ith;
};

static void *compute_share(void *argument)
{
    struct share *s = argument;
    struct ggml_compute_params params = {s->ith, s->pool->threads};
    for (int i = 0; i < s->graph->n_nodes; i++) {
        struct ggml_tensor *node = s->graph->nodes[i];
        if (node->op != LOOP_RESHAPE) compute_op(&params, node, s->pool);
        if (i + 1 < s->graph->n_nodes) BARRIER(s->pool);
    }
    BARRIER(s->pool);
    return NULL;
}

/* The other thread, when it is to stay: what it computes next, and how many it has computed. */
static struct share next;
static _Atomic unsigned asked, done;

static void *stay(void *nothing)
{
    (void)nothing;
    for (unsigned n = 0;; n++) {
        while (atomic_load(&asked) == n)
            (void)sched_yield();
        (void)compute_share(&next);
        atomic_fetch_add(&done, 1);
    }
    return NULL;
}

EXPORT int ggml_graph_compute(struct ggml_cgraph *graph, struct ggml_cplan *plan)
{
    struct ggml_threadpool pool = {.threads = plan->n_threads};
    struct share own = {graph, &pool, 0}, other = {graph, &pool, 1};
    pthread_t thread;
    static bool has_pool;
    if (plan->n_threads > 1 && plan->stay) {
        next = other;
        if (!has_pool && pthread_create(&thread, NULL, stay, NULL) != 0) return -1;
        has_pool = true;
        atomic_fetch_add(&asked, 1);
    } else if (plan->n_threads > 1 && pthread_create(&thread, NULL, compute_share, &other) != 0) {
        return -1;
    }
    (void)compute_share(&own);
    if (plan->n_threads > 1 && plan->stay)
        while (atomic_load(&done) != atomic_load(&asked))
            (void)sched_yield();
    else if (plan->n_threads > 1)
        (void)pthread_join(thread, NULL);
    return 0;
}

EXPORT int ggml_graph_compute_with_ctx(void *context, struct ggml_cgraph *graph, int n_threads)
{
    struct ggml_cplan plan = {.n_threads = n_threads};
    (void)context;
    return ggml_graph_compute(graph, &plan);
}

EXPORT int ggml_graph_n_nodes(struct ggml_cgraph *graph)
{
    return graph->n_nodes;
}

EXPORT struct ggml_tensor **ggml_graph_nodes(struct ggml_cgraph *graph)
{
    return graph->nodes;
}

EXPORT const char *ggml_op_name(int op)
{
    static const char *const names[] = {"NONE", "ADD", "MUL_MAT", "RESHAPE"};
    return (size_t)op < sizeof names / sizeof *names ? names[op] : "OTHER";
}

EXPORT const char *ggml_op_desc(const struct ggml_tensor *t)
{
    return ggml_op_name(t->op);
}

EXPORT const char *ggml_type_name(int type)
{
    (void)type;
    return "f32";
}

EXPORT size_t ggml_nbytes(const struct ggml_tensor *t)
{
    return (size_t)t->ne[0] * sizeof(float);
}

EXPORT size_t ggml_tensor_overhead(void)
{
    return 32 + LOOP_NAME_AT + LOOP_NAME_BYTES + 16 + LOOP_STRANGE_BYTES;
}

EXPORT char *ggml_set_name(char *tensor, const char *name)
{
    (void)snprintf(tensor + LOOP_NAME_AT, LOOP_NAME_BYTES, "%s", name);
    return tensor;
}

EXPORT const char *ggml_backend_buffer_name(void *buffer)
{
    (void)buffer;
    return "CPU";
}

EXPORT void *ggml_backend_buffer_get_base(void *buffer)
{
    return buffer;
}

EXPORT size_t ggml_backend_buffer_get_size(void *buffer)
{
    (void)buffer;
    return 0;
}

EXPORT bool ggml_backend_buffer_is_host(void *buffer)
{
    (void)buffer;
    return true;
}

EXPORT void ggml_backend_tensor_get(const struct ggml_tensor *t, void *data, size_t offset,
                                    size_t size)
{
    (void)t;
    (void)data;
    (void)offset;
    (void)size;
}
