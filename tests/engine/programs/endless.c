/* endless ENGINE MODEL BATCHES [PACE_US]: what a server does, for as many batches: prompts of
 * changing length, each continued for a while and forgotten, and every now and then another
 * context.
 *
 * Prints a sum of all generated tokens, and on standard error, ten times, "rss BATCHES KIB": the
 * memory of its own that the process has then. */
#include "llama_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define GENERATED 50
#define PROMPT_MAX 24
#define SEQUENCES 100 /* of a context */

static long own_kib(void)
{
    char line[256];
    long kib = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "RssAnon: %ld", &kib) == 1) break;
    if (f) (void)fclose(f);
    return kib;
}

static struct tt_llama_context *fresh(struct tt_llama_model *model)
{
    struct tt_llama_context *context =
        program_context(model, &(program_sizes){256, 64, 64, 1, false});
    program_api.set_n_threads(context, 1, 1);
    return context;
}

int main(int argc, char **argv)
{
    int32_t prompt[PROMPT_MAX];
    unsigned long sum = 0;
    if (argc < 4) return 64;
    long batches = strtol(argv[3], NULL, 10), told = 0;
    useconds_t pace_us = argc > 4 ? (useconds_t)strtoul(argv[4], NULL, 10) : 0;
    program_open(argv[1]);
    struct tt_llama_model *model = program_model(argv[2], true, true);
    struct tt_llama_context *context = fresh(model);
    for (long done = 0, sequence = 0; done < batches; sequence++) {
        int32_t n = 1 + (int32_t)(sequence % PROMPT_MAX);
        for (int32_t i = 0; i < n; i++)
            prompt[i] = (int32_t)(300 + (sequence * 7 + i) % 200);
        program_decode(context, prompt, n);
        done++;
        for (int i = 0; i < GENERATED && done < batches; i++, done++) {
            int32_t token = program_greedy(context, -1);
            sum = sum * 31 + (unsigned long)token;
            program_decode(context, &token, 1);
            if (pace_us) (void)usleep(pace_us);
        }
        program_forget(context, 0, -1);
        if (done >= (told + 1) * batches / 10)
            (void)fprintf(stderr, "rss %ld %ld\n", done, own_kib()), told++;
        if (sequence % SEQUENCES != SEQUENCES - 1) continue;
        program_api.context_free(context);
        context = fresh(model);
    }
    (void)printf("%lx\n", sum);
    program_api.context_free(context);
    program_api.model_free(model);
    return 0;
}
