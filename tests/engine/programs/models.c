/* models ENGINE A B LORA [no-mmap] [no-repack]: two models with tensors of the same names in one
 * process, an adapter for A, and models that are freed and loaded again. Prints one line a step,
 * "STEP: TOKEN ...": what the step decoded (see `decode_some`).
 *
 *   a, b          A, then B loaded beside it
 *   a+lora        A with the adapter
 *   a-lora        A without it again
 *   b-alone       B after A was freed
 *   a-again       A loaded anew, where addresses of the first one may be free
 *   b-again       B freed and loaded anew */
#include "llama_program.h"

#include <stdio.h>
#include <string.h>

#define GENERATED 3

static bool is_mapped = true, is_repacked = true;

typedef struct loaded {
    struct tt_llama_model *model;
    struct tt_llama_context *context;
} loaded;

static loaded load(const char *path)
{
    loaded l = {program_model(path, is_mapped, is_repacked), NULL};
    l.context = program_context(l.model, &(program_sizes){256, 64, 64, 1, false});
    return l;
}

static void drop(loaded *l)
{
    program_api.context_free(l->context);
    program_api.model_free(l->model);
    *l = (loaded){NULL, NULL};
}

/* Decodes a prompt of 4 tokens and then one after the other, from an empty cache. */
static void decode_some(const char *step, loaded *l)
{
    int32_t tokens[4 + GENERATED] = {1, 300, 301, 302};
    program_forget(l->context, 0, -1);
    program_decode(l->context, tokens, 4);
    for (int i = 0; i < GENERATED; i++) {
        tokens[4 + i] = program_greedy(l->context, -1);
        program_decode(l->context, &tokens[4 + i], 1);
    }
    (void)printf("%s:", step);
    for (int i = 0; i < 4 + GENERATED; i++)
        (void)printf(" %d", (int)tokens[i]);
    (void)putchar('\n');
}

int main(int argc, char **argv)
{
    if (argc < 5) return 64;
    for (int i = 5; i < argc; i++) {
        if (strcmp(argv[i], "no-mmap") == 0) is_mapped = false;
        if (strcmp(argv[i], "no-repack") == 0) is_repacked = false;
    }
    program_open(argv[1]);
    loaded a = load(argv[2]);
    decode_some("a", &a);
    loaded b = load(argv[3]);
    decode_some("b", &b);
    void *lora = program_lora_load(a.model, argv[4]);
    program_lora_apply(a.context, lora, true);
    decode_some("a+lora", &a);
    program_lora_apply(a.context, lora, false);
    decode_some("a-lora", &a);
    drop(&a); /* the adapter goes with its model */
    decode_some("b-alone", &b);
    a = load(argv[2]);
    decode_some("a-again", &a);
    drop(&b);
    b = load(argv[3]);
    decode_some("b-again", &b);
    drop(&a);
    drop(&b);
    return 0;
}
