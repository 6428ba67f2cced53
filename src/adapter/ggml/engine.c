#include "adapter/ggml/engine.h"

#include "adapter/ggml/process.h"
#include "adapter/ggml/resolve.h"
#include "base/ggml_layout.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static tt_engine engine;
static pthread_mutex_t look_up_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int state; /* 0 not looked up, 1 usable, -1 not usable */
uint8_t tt_engine_empty_ops[TT_ENGINE_OPS_MAX];
uint32_t tt_engine_name_bytes = TT_GGML_NAME_BYTES;

static void __attribute__((format(printf, 1, 2))) refuse(const char *fmt, ...)
{
    char why[256], text[320];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(why, sizeof why, fmt, args);
    va_end(args);
    (void)snprintf(text, sizeof text, "this ggml cannot be traced: %s", why);
    tt_process_problem(text);
}

static void find(const void *caller, void *member, const char *name)
{
    *(void **)member = tt_resolve(caller, name);
}

/* *missing: the first that was not found. */
static void need(const void *caller, void *member, const char *name, const char **missing)
{
    find(caller, member, name);
    if (!*(void **)member && !*missing) *missing = name;
}

/* The name of a function that is missing; NULL: all that are needed are there. */
static const char *find_all(const void *caller, tt_engine *e)
{
    const char *missing = NULL;
    need(caller, &e->graph_n_nodes, "ggml_graph_n_nodes", &missing);
    need(caller, &e->graph_nodes, "ggml_graph_nodes", &missing);
    need(caller, &e->op_name, "ggml_op_name", &missing);
    need(caller, &e->op_desc, "ggml_op_desc", &missing);
    need(caller, &e->type_name, "ggml_type_name", &missing);
    need(caller, &e->nbytes, "ggml_nbytes", &missing);
    need(caller, &e->buffer_name, "ggml_backend_buffer_name", &missing);
    need(caller, &e->buffer_base, "ggml_backend_buffer_get_base", &missing);
    need(caller, &e->buffer_size, "ggml_backend_buffer_get_size", &missing);
    need(caller, &e->buffer_is_host, "ggml_backend_buffer_is_host", &missing);
    need(caller, &e->tensor_get, "ggml_backend_tensor_get", &missing);
    find(caller, &e->graph_tensor, "ggml_graph_get_tensor");
    find(caller, &e->buffer_usage, "ggml_backend_buffer_get_usage");
    find(caller, &e->sched_n_backends, "ggml_backend_sched_get_n_backends");
    find(caller, &e->sched_backend, "ggml_backend_sched_get_backend");
    find(caller, &e->sched_tensor_backend, "ggml_backend_sched_get_tensor_backend");
    find(caller, &e->backend_device, "ggml_backend_get_device");
    find(caller, &e->backend_name, "ggml_backend_name");
    find(caller, &e->device_type, "ggml_backend_dev_type");
    find(caller, &e->device_registry, "ggml_backend_dev_backend_reg");
    find(caller, &e->registry_name, "ggml_backend_reg_name");
    find(caller, &e->version, "ggml_version");
    find(caller, &e->commit, "ggml_commit");
    find(caller, &e->release, "llama_version");
    return missing;
}

static int32_t find_op(const tt_engine *e, const char *wanted)
{
    for (int32_t op = 0; op < TT_ENGINE_OPS_KNOWN; op++) {
        const char *name = e->op_name(op);
        if (name && strcmp(name, wanted) == 0) return op;
    }
    return -1;
}

static void find_ops(tt_engine *e)
{
    static const char *const empty[] = {"NONE", "RESHAPE", "VIEW", "PERMUTE", "TRANSPOSE"};
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
        int32_t op = find_op(e, empty[i]);
        if (op >= 0) tt_engine_empty_ops[op] = 1;
    }
    e->op_mul_mat_id = find_op(e, "MUL_MAT_ID");
    e->op_get_rows = find_op(e, "GET_ROWS");
    e->op_mul = find_op(e, "MUL");
    e->op_sum_rows = find_op(e, "SUM_ROWS");
    e->op_set_rows = find_op(e, "SET_ROWS");
}

static bool look_up(const void *caller)
{
    size_t (*overhead)(void) = NULL;
    void *(*set_name)(void *, const char *) = NULL;
    uint32_t name_bytes = 0;
    const char *missing = find_all(caller, &engine);
    if (missing) {
        refuse("no loaded library exports %s: use a current build with shared libraries", missing);
        return false;
    }
    find(caller, &overhead, "ggml_tensor_overhead");
    find(caller, &set_name, "ggml_set_name");
    if (overhead) name_bytes = tt_ggml_name_bytes(overhead(), set_name);
    if (!name_bytes) {
        refuse("its struct ggml_tensor has an unknown layout (" TT_GGML_LAYOUT_WHERE
               "): " TT_GGML_LAYOUT_ADVICE,
               overhead ? overhead() : 0, tt_ggml_name_at(set_name));
        return false;
    }
    tt_engine_name_bytes = name_bytes;
    find_ops(&engine);
    return true;
}

const tt_engine *tt_engine_get(const void *caller)
{
    int known = atomic_load_explicit(&state, memory_order_acquire);
    if (known == 0) {
        (void)pthread_mutex_lock(&look_up_lock);
        if (atomic_load(&state) == 0)
            atomic_store_explicit(&state, look_up(caller) ? 1 : -1, memory_order_release);
        known = atomic_load(&state);
        (void)pthread_mutex_unlock(&look_up_lock);
    }
    return known > 0 ? &engine : NULL;
}

bool tt_engine_is_remote(const tt_engine *e, void *backend)
{
    void *device = backend && e->backend_device ? e->backend_device(backend) : NULL;
    void *registry = device && e->device_registry ? e->device_registry(device) : NULL;
    /* Its synchronize does nothing; other devices' does, or they compute before they return. */
    return registry && e->registry_name && strcmp(e->registry_name(registry), "RPC") == 0;
}

void tt_engine_in_child(void)
{
    const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    look_up_lock = fresh;
}
