/* experts ENGINE: expert matrix products of ggml alone, with choices that are known. Prints
 * "run N" for each graph and "choice TOKEN RANK EXPERT" for each choice in it.
 *
 * Runs differ in the number of tokens, experts and choices a token, and in whether the choices
 * are a tensor of their own or, as in models, the first columns of a sorted one. In each, two
 * products use the same choices and a third one others ("choice2"). */
#include "small_graph.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define TYPE_F32 0
#define TYPE_I32 26
#define WIDTH 32

typedef void *(*fn_new_3d)(void *, int, long long, long long, long long);
typedef void *(*fn_mul_mat_id)(void *, void *, void *, void *);
typedef void *(*fn_view_2d)(void *, void *, long long, long long, size_t, size_t);
typedef void *(*fn_data)(const void *);
typedef void *(*fn_binary)(void *, void *, void *);
typedef void *(*fn_name)(void *, const char *);

typedef struct shape {
    int tokens, experts, used;
    bool sorted; /* the choices are a view */
} shape;

static const shape shapes[] = {{1, 8, 2, false},  {7, 8, 2, true},     {33, 300, 10, true},
                               {5, 64, 8, false}, {64, 16, 1, true},   {2, 40, 17, false},
                               {3, 4, 4, true},   {1, 128, 128, false}};

static fn_new_3d new_3d;
static fn_mul_mat_id mul_mat_id;
static fn_view_2d view_2d;
static fn_data data;
static fn_binary add;
static fn_name set_name;

/* Token t's choices: distinct, in an order of their own. */
static int chosen(const shape *s, int seed, int token, int rank)
{
    return (seed * 5 + token * 7 + rank * (s->experts > 5 ? s->experts - 3 : 1) % s->experts) %
           s->experts;
}

static void *choices(void *ctx, const shape *s, int seed, const char *word, const char *name)
{
    int columns = s->sorted ? s->experts : s->used;
    void *all = new_3d(ctx, TYPE_I32, columns, s->tokens, 1);
    int32_t *values = data(all);
    for (int t = 0; t < s->tokens; t++)
        for (int r = 0; r < columns; r++) {
            values[t * columns + r] = chosen(s, seed, t, r);
            if (r < s->used)
                (void)printf("%s %d %d %d\n", word, t, r, (int)values[t * columns + r]);
        }
    if (!s->sorted) return set_name(all, name);
    return set_name(view_2d(ctx, all, s->used, s->tokens, (size_t)columns * sizeof(int32_t), 0),
                    name);
}

static void *filled(void *ctx, long long a, long long b, long long c, const char *name)
{
    void *t = new_3d(ctx, TYPE_F32, a, b, c);
    float *values = data(t);
    for (long long i = 0; i < a * b * c; i++)
        values[i] = (float)(i % 5);
    return set_name(t, name);
}

static void compute(const shape *s, int seed)
{
    void *ctx = small_graph_begin(64u << 20);
    void *in = filled(ctx, WIDTH, 1, s->tokens, "inp");
    void *ids = choices(ctx, s, seed, "choice", "ffn_moe_topk-0");
    void *others = choices(ctx, s, seed + 3, "choice2", "ffn_moe_topk-1");
    void *up =
        mul_mat_id(ctx, filled(ctx, WIDTH, WIDTH, s->experts, "blk.0.ffn_up_exps.weight"), in, ids);
    void *gate = mul_mat_id(
        ctx, filled(ctx, WIDTH, WIDTH, s->experts, "blk.0.ffn_gate_exps.weight"), in, ids);
    void *sum = add(ctx, set_name(up, "ffn_moe_up-0"), set_name(gate, "ffn_moe_gate-0"));
    void *next = mul_mat_id(ctx, filled(ctx, WIDTH, WIDTH, s->experts, "blk.1.ffn_up_exps.weight"),
                            sum, others);
    small_graph_end(ctx, set_name(next, "ffn_moe_up-1"), 2);
}

int main(int argc, char **argv)
{
    if (argc < 2) return 64;
    small_graph_open(argv[1]);
    new_3d = (fn_new_3d)small_graph_find("ggml_new_tensor_3d");
    mul_mat_id = (fn_mul_mat_id)small_graph_find("ggml_mul_mat_id");
    view_2d = (fn_view_2d)small_graph_find("ggml_view_2d");
    data = (fn_data)small_graph_find("ggml_get_data");
    add = (fn_binary)small_graph_find("ggml_add");
    set_name = (fn_name)small_graph_find("ggml_set_name");
    for (int i = 0; i < (int)(sizeof shapes / sizeof shapes[0]); i++) {
        (void)printf("run %d\n", i);
        compute(&shapes[i], i);
    }
    return 0;
}
