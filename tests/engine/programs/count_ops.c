/* Counts what ggml's CPU library computes, without any code of tensortrace: preloaded, it appends
 * "OPS TOKENS GRAPHS" to the file that COUNT_OPS names when the program ends. OPS are calls of
 * thread 0 that compute (a fused pair is one), TOKENS the rows looked up in token_embd.weight,
 * GRAPHS what the scheduler is given to compute.
 *
 * It may stand before the hook library in LD_PRELOAD, to count in the same run. Both find the
 * real function by who calls, so a call is passed on by a jump, which leaves the caller's return
 * address in place: this file needs -O2. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_EXPORT __attribute__((visibility("default")))

typedef bool (*forward)(void *params, void *op);
typedef int (*compute)(void *sched, void *graph);
typedef void (*fused)(void *params, void *norm, void *mul);

bool ggml_cpu_extra_compute_forward(void *params, void *op);
void ggml_compute_forward_rms_norm_mul_fused(void *params, void *norm, void *mul);
int ggml_backend_sched_graph_compute_async(void *sched, void *graph);

static _Atomic uint64_t ops, tokens, graphs;

/* The hook library's, if it is loaded; else that of the calling library, which may be local. */
static void *real(const char *name, void *caller)
{
    void *found = dlsym(RTLD_NEXT, name);
    Dl_info info;
    if (found || !dladdr(caller, &info)) return found;
    void *handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    return handle ? dlsym(handle, name) : NULL;
}

static bool is_first_thread(const void *params)
{
    int32_t index;
    memcpy(&index, params, sizeof index);
    return index == 0;
}

/* struct ggml_tensor: ne at 16, src at 152, name at 256. */
static bool is_empty(const uint8_t *tensor)
{
    int64_t ne[4];
    memcpy(ne, tensor + 16, sizeof ne);
    return ne[0] == 0 || ne[1] == 0 || ne[2] == 0 || ne[3] == 0;
}

static void count_tokens(const uint8_t *op)
{
    const uint8_t *source;
    int64_t rows;
    memcpy(&source, op + 152, sizeof source);
    if (!source || strcmp((const char *)source + 256, "token_embd.weight") != 0) return;
    /* Tied embeddings are also multiplied by: rows are looked up by I32. */
    memcpy(&source, op + 160, sizeof source);
    int32_t type;
    memcpy(&type, source, sizeof type);
    memcpy(&rows, op + 24, sizeof rows);
    if (type == 26) atomic_fetch_add(&tokens, (uint64_t)rows);
}

COUNT_EXPORT bool ggml_cpu_extra_compute_forward(void *params, void *op)
{
    static _Atomic(void *) next;
    if (is_first_thread(params)) {
        atomic_fetch_add(&ops, 1);
        count_tokens(op);
    }
    if (!atomic_load(&next))
        atomic_store(&next, real("ggml_cpu_extra_compute_forward", __builtin_return_address(0)));
    forward go;
    *(void **)&go = atomic_load(&next);
    return go(params, op);
}

COUNT_EXPORT void ggml_compute_forward_rms_norm_mul_fused(void *params, void *norm, void *mul)
{
    static _Atomic(void *) next;
    if (is_first_thread(params) && !is_empty(norm)) atomic_fetch_add(&ops, 1);
    if (!atomic_load(&next))
        atomic_store(&next,
                     real("ggml_compute_forward_rms_norm_mul_fused", __builtin_return_address(0)));
    fused go;
    *(void **)&go = atomic_load(&next);
    go(params, norm, mul);
}

COUNT_EXPORT int ggml_backend_sched_graph_compute_async(void *sched, void *graph)
{
    static _Atomic(void *) next;
    atomic_fetch_add(&graphs, 1);
    if (!atomic_load(&next))
        atomic_store(&next,
                     real("ggml_backend_sched_graph_compute_async", __builtin_return_address(0)));
    compute go;
    *(void **)&go = atomic_load(&next);
    return go(sched, graph);
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("COUNT_OPS");
    FILE *out = path && atomic_load(&ops) ? fopen(path, "ae") : NULL;
    if (!out) return;
    (void)fprintf(out, "%llu %llu %llu\n", (unsigned long long)atomic_load(&ops),
                  (unsigned long long)atomic_load(&tokens),
                  (unsigned long long)atomic_load(&graphs));
    (void)fclose(out);
}
