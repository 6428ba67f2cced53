/* outputs ENGINE THREADS: a graph of ggml alone whose outputs are of many types and layouts, and
 * known (check_values.py works them out again): computed twice, with the same result. */
#include "small_graph.h"

#include <stdio.h>
#include <stdlib.h>

#define TYPE_F32 0
#define TYPE_F16 1
#define TYPE_BF16 30
#define COLUMNS 48
#define ROWS 1000 /* 48,000 elements: three pieces of a fingerprint */
#define DESCENDING 1

typedef void *(*fn_new_2d)(void *, int, long long, long long);
typedef void *(*fn_unary)(void *, void *);
typedef void *(*fn_binary)(void *, void *, void *);
typedef void *(*fn_cast)(void *, void *, int);
typedef void *(*fn_norm)(void *, void *, float);
typedef float *(*fn_data)(const void *);
typedef void *(*fn_name)(void *, const char *);
typedef void *(*fn_view)(void *, void *, long long, long long, size_t, size_t);

static fn_new_2d new_2d;
static fn_data data;
static fn_name name;

static void *filled(void *ctx, long long columns, long long rows, const char *called)
{
    void *t = new_2d(ctx, TYPE_F32, columns, rows);
    for (long long i = 0; i < columns * rows; i++)
        data(t)[i] = (float)((i * 7919) % 2003 - 1001) / 64.0f;
    return name(t, called);
}

static void compute(int threads)
{
    void *ctx = small_graph_begin(64u << 20), *out[16];
    int n = 0;
    void *a = filled(ctx, COLUMNS, ROWS, "a"), *weight = filled(ctx, COLUMNS, 1, "weight");
    void *few = filled(ctx, 64, 5, "few"), *none = new_2d(ctx, TYPE_F32, 0, 4);
    fn_binary add = (fn_binary)small_graph_find("ggml_add");
    fn_binary mul = (fn_binary)small_graph_find("ggml_mul");
    fn_binary copy = (fn_binary)small_graph_find("ggml_cpy");
    fn_cast cast = (fn_cast)small_graph_find("ggml_cast");
    fn_cast sorted = (fn_cast)small_graph_find("ggml_argsort");
    fn_norm norm = (fn_norm)small_graph_find("ggml_rms_norm");
    fn_unary logarithm = (fn_unary)small_graph_find("ggml_log");
    fn_unary transpose = (fn_unary)small_graph_find("ggml_transpose");
    fn_view view = (fn_view)small_graph_find("ggml_view_2d");
    out[n++] = name(add(ctx, a, a), "twice");
    out[n++] = name(cast(ctx, a, TYPE_F16), "half");
    out[n++] = name(cast(ctx, a, TYPE_BF16), "brain");
    out[n++] = name(copy(ctx, a, transpose(ctx, new_2d(ctx, TYPE_F32, ROWS, COLUMNS))), "turned");
    /* The left half of the columns of a wider tensor. */
    void *wide = new_2d(ctx, TYPE_F16, 2 * COLUMNS, ROWS);
    out[n++] = name(copy(ctx, a, view(ctx, wide, COLUMNS, ROWS, 4 * COLUMNS, 0)), "left");
    out[n++] = name(sorted(ctx, few, DESCENDING), "order");
    out[n++] = name(logarithm(ctx, few), "logarithm");
    out[n++] = name(mul(ctx, name(norm(ctx, a, 1e-6f), "norm"), weight), "normed");
    out[n++] = name(add(ctx, none, none), "none");
    out[n++] = name(add(ctx, weight, weight), "last");
    small_graph_end_all(ctx, out, n, threads);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        (void)fprintf(stderr, "usage: outputs ENGINE THREADS\n");
        return 2;
    }
    small_graph_open(argv[1]);
    new_2d = (fn_new_2d)small_graph_find("ggml_new_tensor_2d");
    data = (fn_data)small_graph_find("ggml_get_data_f32");
    name = (fn_name)small_graph_find("ggml_set_name");
    compute(atoi(argv[2]));
    compute(atoi(argv[2]));
    return 0;
}
