/* choices ENGINE MODEL N [watch|each]: a prompt cut into batches of 16, then N tokens, from a model
 * with experts. Prints the tokens. With `watch`, also what the engine's own eval callback shows;
 * with `each` it asks for each node, so that the engine computes them one by one:
 *
 *   choice BATCH LAYER TOKEN RANK EXPERT
 *   weight BATCH LAYER TOKEN RANK BITS NAME    (of the float; NAME: weights or weights_norm)
 *
 * where TOKEN is a row of the layer's choices: the last layer has only rows that have outputs. */
#include "llama_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAYERS_MAX 64

/* The part of struct ggml_tensor that is looked at; its layout has been this since 2024. */
typedef struct tensor {
    int32_t type;
    void *buffer;
    int64_t ne[4];
    size_t nb[4];
    char between[248 - 80];
    char *data;
    char name[64];
} tensor;

_Static_assert(offsetof(tensor, ne) == 16 && offsetof(tensor, nb) == 48, "as ggml has it");
_Static_assert(offsetof(tensor, data) == 248 && offsetof(tensor, name) == 256, "as ggml has it");

static bool asks_for_each;
static int batches[LAYERS_MAX]; /* of each layer, whose choices were seen */

static void show_choices(const tensor *t, int layer)
{
    int batch = batches[layer]++;
    for (int64_t token = 0; token < t->ne[1]; token++)
        for (int64_t rank = 0; rank < t->ne[0]; rank++) {
            int32_t expert;
            memcpy(&expert, t->data + (size_t)token * t->nb[1] + (size_t)rank * t->nb[0], 4);
            (void)printf("choice %d %d %d %d %d\n", batch, layer, (int)token, (int)rank,
                         (int)expert);
        }
}

/* Either [1, used, tokens] or [used, tokens]. */
static void show_weights(const tensor *t, int layer, const char *name)
{
    int d = t->ne[0] == 1 ? 1 : 0;
    for (int64_t token = 0; token < t->ne[d + 1]; token++)
        for (int64_t rank = 0; rank < t->ne[d]; rank++) {
            uint32_t bits;
            memcpy(&bits, t->data + (size_t)token * t->nb[d + 1] + (size_t)rank * t->nb[d], 4);
            (void)printf("weight %d %d %d %d %u %s\n", batches[layer] - 1, layer, (int)token,
                         (int)rank, (unsigned)bits, name);
        }
}

static bool watch(void *of, bool ask, void *unused)
{
    const tensor *t = of;
    int layer = -1, end = 0;
    char name[32];
    (void)unused;
    if (sscanf(t->name, "ffn_moe_%31[a-z_]-%d%n", name, &layer, &end) != 2 || t->name[end] ||
        layer < 0 || layer >= LAYERS_MAX)
        return !ask || asks_for_each;
    bool is_topk = strcmp(name, "topk") == 0;
    bool is_weights = strcmp(name, "weights") == 0 || strcmp(name, "weights_norm") == 0;
    if (!is_topk && !is_weights) return !ask || asks_for_each;
    if (!ask && is_topk) show_choices(t, layer);
    if (!ask && is_weights) show_weights(t, layer, name);
    return true;
}

int main(int argc, char **argv)
{
    int32_t tokens[40];
    tt_engine_params p;
    if (argc < 4) return 64;
    program_open(argv[1]);
    struct tt_llama_model *model = program_model(argv[2], true, true);
    tt_engine_params_fetch(&p, program_api.context_default_params);
    if (!tt_engine_params_sizes_ok(&p)) program_fail("unknown context parameters");
    tt_engine_params_set_u32(&p, 0, 256);
    tt_engine_params_set_u32(&p, 8, 16); /* n_ubatch */
    if (argc > 4) {
        asks_for_each = strcmp(argv[4], "each") == 0;
        program_set_callback(&p, watch);
    }
    struct tt_llama_context *context = program_api.context_new(model, p.blob);
    if (!context) program_fail("no context");
    program_api.set_n_threads(context, PROGRAM_THREADS, PROGRAM_THREADS);
    for (int i = 0; i < 40; i++)
        tokens[i] = i ? 300 + 7 * i : 1;
    program_decode(context, tokens, 40);
    for (int i = 0; i < atoi(argv[3]); i++) {
        int32_t token = program_greedy(context, -1);
        (void)printf("token %d\n", (int)token);
        program_decode(context, &token, 1);
    }
    program_api.context_free(context);
    program_api.model_free(model);
    return 0;
}
