#include "small_graph.h"

#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct init_params {
    size_t mem_size;
    void *mem_buffer;
    bool no_alloc;
};

#define N 64
#define TYPE_F32 0

static void *base, *cpu;

static void *need(void *library, const char *name)
{
    void *found = library ? dlsym(library, name) : NULL;
    if (!found) {
        (void)fprintf(stderr, "no %s\n", name);
        exit(1);
    }
    return found;
}

static void *open_first(const char *dir, const char *prefix)
{
    char path[PATH_MAX];
    struct dirent *entry;
    DIR *d = opendir(dir);
    void *found = NULL;
    while (d && !found && (entry = readdir(d))) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0) continue;
        (void)snprintf(path, sizeof path, "%s/%s", dir, entry->d_name);
        found = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    if (d) (void)closedir(d);
    return found;
}

typedef void *(*fn_init)(struct init_params);
typedef void *(*fn_new_2d)(void *, int, long long, long long);
typedef void *(*fn_binary)(void *, void *, void *);
typedef void *(*fn_unary)(void *, void *);
typedef float *(*fn_data)(const void *);
typedef void (*fn_expand)(void *, void *);
typedef void *(*fn_graph)(void *);
typedef int (*fn_compute)(void *, void *, int);
typedef void (*fn_free)(void *);

static fn_init init;
static fn_new_2d new_2d;
static fn_binary mul_mat, add;
static fn_unary sum_rows;
static fn_data data;
static fn_expand expand;
static fn_graph new_graph;
static fn_compute compute;
static fn_free release;

void small_graph_open(const char *engine)
{
    base = open_first(engine, "libggml-base");
    cpu = open_first(engine, "libggml-cpu-x64.so");
    if (!cpu) cpu = open_first(engine, "libggml-cpu.so");
    if (!cpu) cpu = open_first(engine, "libggml-cpu-"); /* one with a hash in its name */
    init = (fn_init)need(base, "ggml_init");
    new_2d = (fn_new_2d)need(base, "ggml_new_tensor_2d");
    mul_mat = (fn_binary)need(base, "ggml_mul_mat");
    add = (fn_binary)need(base, "ggml_add");
    sum_rows = (fn_unary)need(base, "ggml_sum_rows");
    data = (fn_data)need(base, "ggml_get_data_f32");
    expand = (fn_expand)need(base, "ggml_build_forward_expand");
    new_graph = (fn_graph)need(base, "ggml_new_graph");
    compute = (fn_compute)need(cpu, "ggml_graph_compute_with_ctx");
    release = (fn_free)need(base, "ggml_free");
}

void *small_graph_find(const char *name)
{
    return need(base, name);
}

void *small_graph_begin(size_t bytes)
{
    struct init_params params = {bytes, NULL, false};
    return init(params);
}

void small_graph_end(void *ctx, void *out, int threads)
{
    small_graph_end_all(ctx, &out, 1, threads);
}

void small_graph_end_all(void *ctx, void **out, int n, int threads)
{
    void *graph = new_graph(ctx);
    for (int i = 0; i < n; i++)
        expand(graph, out[i]);
    if (compute(ctx, graph, threads) != 0) exit(1);
    release(ctx);
}

static double one_round(int round, int threads)
{
    struct init_params params = {16u << 20, NULL, false};
    void *ctx = init(params);
    void *a = new_2d(ctx, TYPE_F32, N, N), *b = new_2d(ctx, TYPE_F32, N, N);
    double total = 0;
    for (int i = 0; i < N * N; i++) {
        data(a)[i] = (float)((i * 7 + round) % 5);
        data(b)[i] = (float)((i * 3) % 7);
    }
    void *graph = new_graph(ctx);
    void *out = sum_rows(ctx, add(ctx, mul_mat(ctx, a, b), a));
    expand(graph, out);
    if (compute(ctx, graph, threads) != 0) exit(1);
    for (int i = 0; i < N; i++)
        total += (double)data(out)[i];
    release(ctx);
    return total;
}

double small_graph_compute(int rounds, int threads)
{
    double total = 0;
    for (int round = 0; round < rounds; round++)
        total += one_round(round, threads);
    return total;
}
