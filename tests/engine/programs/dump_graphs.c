/* Preloaded before the hook library, it has ggml itself write each graph that llama.cpp computes,
 * before it does: DUMP_FOLDER/engine_NNNNN.dot, in their order.
 *
 * Both find the real function by who calls, so a call is passed on by a jump, which leaves the
 * caller's return address in place: this file needs -O2. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

struct ggml_cgraph;
struct ggml_backend_sched;
typedef int compute(struct ggml_backend_sched *sched, struct ggml_cgraph *graph);
typedef void dump(const struct ggml_cgraph *graph, const struct ggml_cgraph *forward,
                  const char *path);

EXPORT int ggml_backend_sched_graph_compute_async(struct ggml_backend_sched *sched,
                                                  struct ggml_cgraph *graph);

/* Of the calling library, which may be local. */
static void *find(const char *name, void *caller)
{
    Dl_info info;
    void *handle = dladdr(caller, &info) ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    void *found = handle ? dlsym(handle, name) : NULL;
    if (!found) abort();
    return found;
}

static __attribute__((noinline)) compute *write_graph(const struct ggml_cgraph *graph, void *caller)
{
    static unsigned number;
    const char *folder = getenv("DUMP_FOLDER");
    void *next = dlsym(RTLD_NEXT, "ggml_backend_sched_graph_compute_async");
    char path[512];
    if (!folder) abort();
    (void)snprintf(path, sizeof path, "%s/engine_%05u.dot", folder, number++);
    ((dump *)find("ggml_graph_dump_dot", caller))(graph, NULL, path);
    if (!next) next = find("ggml_backend_sched_graph_compute_async", caller);
    return (compute *)next;
}

EXPORT int ggml_backend_sched_graph_compute_async(struct ggml_backend_sched *sched,
                                                  struct ggml_cgraph *graph)
{
    return write_graph(graph, __builtin_return_address(0))(sched, graph);
}
