#include "eval_print.h"

#include "adapter/ggml/abi.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EDGE 3 /* values at either end of a dimension */

/* Numbers of enum ggml_type that never moved. */
enum { TYPE_F32 = 0, TYPE_F16 = 1, TYPE_I32 = 26, TYPE_I64 = 27 };

static const char *(*op_desc)(const struct ggml_tensor *);
static const char *(*type_name)(int);

static void find_functions(void)
{
    if (op_desc) return;
    *(void **)&op_desc = dlsym(RTLD_DEFAULT, "ggml_op_desc");
    *(void **)&type_name = dlsym(RTLD_DEFAULT, "ggml_type_name");
    if (op_desc && type_name) return;
    (void)fprintf(stderr, "this engine has no ggml_op_desc or ggml_type_name\n");
    exit(1);
}

static float value_at(int32_t type, const char *at)
{
    float f32;
    int32_t i32;
    int64_t i64;
#ifdef __FLT16_MAX__
    _Float16 f16;
#endif
    switch (type) {
    case TYPE_F32:
        memcpy(&f32, at, sizeof f32);
        return f32;
#ifdef __FLT16_MAX__
    case TYPE_F16:
        memcpy(&f16, at, sizeof f16);
        return (float)f16;
#endif
    case TYPE_I32:
        memcpy(&i32, at, sizeof i32);
        return (float)i32;
    case TYPE_I64:
        memcpy(&i64, at, sizeof i64);
        return (float)i64;
    default:
        return 0;
    }
}

/* The index after i: the middle of a long dimension is left out. */
static int64_t next(int64_t i, int64_t n, const char *mark)
{
    if (i + 1 != EDGE || n <= 2 * EDGE) return i + 1;
    (void)fputs(mark, stdout);
    return n - EDGE;
}

static float print_row(const struct ggml_tensor *t, const char *row)
{
    float sum = 0;
    (void)fputs("     [", stdout);
    for (int64_t i = 0; i < t->ne[0]; i = next(i, t->ne[0], " ...,")) {
        float v = value_at(t->type, row + (size_t)i * t->nb[0]);
        sum += v;
        (void)printf("%12.4f,", (double)v);
    }
    (void)fputs("]\n", stdout);
    return sum;
}

static void print_values(const struct ggml_tensor *t)
{
    float sum = 0;
    for (int64_t k = 0; k < t->ne[3]; k = next(k, t->ne[3], "...\n"))
        for (int64_t j = 0; j < t->ne[2]; j = next(j, t->ne[2], "  ...\n"))
            for (int64_t i = 0; i < t->ne[1]; i = next(i, t->ne[1], "     ...\n"))
                sum += print_row(t, (const char *)t->data + (size_t)k * t->nb[3] +
                                        (size_t)j * t->nb[2] + (size_t)i * t->nb[1]);
    (void)printf("     sum = %f\n", (double)sum);
}

static void print_shape(const struct ggml_tensor *t)
{
    (void)printf("%s{%lld, %lld, %lld, %lld}", t->name, (long long)t->ne[0], (long long)t->ne[1],
                 (long long)t->ne[2], (long long)t->ne[3]);
}

bool eval_print(void *tensor, bool ask, void *user)
{
    const struct ggml_tensor *t = tensor;
    (void)user;
    if (ask) return true;
    find_functions();
    (void)printf("%s = (%s) %s(", t->name, type_name(t->type), op_desc(t));
    if (t->src[0]) print_shape(t->src[0]);
    (void)fputs(", ", stdout);
    if (t->src[1]) print_shape(t->src[1]);
    (void)fputs(") = ", stdout);
    print_shape(t);
    (void)putchar('\n');
    if (t->data) print_values(t);
    return true;
}

bool eval_nothing(void *tensor, bool ask, void *user)
{
    (void)tensor;
    (void)ask;
    (void)user;
    return true;
}
