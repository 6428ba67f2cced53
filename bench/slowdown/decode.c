/* decode ENGINE MODEL THREADS PROMPT GENERATE nothing|print|none FILE: the work whose slow-down is
 * measured, in segments that the caller asks for.
 *
 * For each line on standard input: decodes a prompt of PROMPT tokens, generates GENERATE more,
 * forgets both, and appends a line to FILE (a pipe):
 *
 *   idle_cpu_ns,prompt_wall_ns,prompt_cpu_ns,generate_wall_ns,generate_cpu_ns
 *
 * where CPU times are the whole process's, with all its threads', and the first is what it used
 * since the segment before: what a recorder put off. The last word but one is the engine's eval
 * callback, see eval_print.h. */
#include "base/clock.h"
#include "eval_print.h"
#include "tests/engine/programs/llama_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOKENS_MAX 4096

typedef struct moment {
    uint64_t wall_ns, cpu_ns;
} moment;

static moment now(void)
{
    return (moment){tt_clock_ns(CLOCK_MONOTONIC), tt_clock_ns(CLOCK_PROCESS_CPUTIME_ID)};
}

static struct tt_llama_context *new_context(struct tt_llama_model *model, int n_tokens,
                                            const char *callback)
{
    tt_engine_params p;
    tt_engine_params_fetch(&p, program_api.context_default_params);
    if (!tt_engine_params_sizes_ok(&p)) program_fail("unknown context parameters");
    tt_engine_params_set_u32(&p, 0, (uint32_t)(n_tokens + 255) / 256 * 256);
    if (strcmp(callback, "nothing") == 0) program_set_callback(&p, eval_nothing);
    if (strcmp(callback, "print") == 0) program_set_callback(&p, eval_print);
    struct tt_llama_context *context = program_api.context_new(model, p.blob);
    if (!context) program_fail("no context");
    return context;
}

static void segment(struct tt_llama_context *context, int n_prompt, int n_generate, FILE *out)
{
    static int32_t tokens[TOKENS_MAX];
    static moment before; /* the end of the last segment */
    for (int i = 0; i < n_prompt; i++)
        tokens[i] = i ? 300 + 7 * (i % 100) : 1;
    moment begin = now();
    program_decode(context, tokens, n_prompt);
    int32_t token = program_greedy(context, -1); /* waits for the results */
    moment middle = now();
    for (int i = 0; i < n_generate; i++) {
        program_decode(context, &token, 1);
        token = program_greedy(context, -1);
    }
    moment end = now();
    program_forget(context, 0, -1);
    (void)fprintf(
        out, "%llu,%llu,%llu,%llu,%llu\n",
        (unsigned long long)(begin.cpu_ns - (before.cpu_ns ? before.cpu_ns : begin.cpu_ns)),
        (unsigned long long)(middle.wall_ns - begin.wall_ns),
        (unsigned long long)(middle.cpu_ns - begin.cpu_ns),
        (unsigned long long)(end.wall_ns - middle.wall_ns),
        (unsigned long long)(end.cpu_ns - middle.cpu_ns));
    (void)fflush(out);
    before = end;
}

int main(int argc, char **argv)
{
    char line[64];
    if (argc != 8) return 64;
    int threads = atoi(argv[3]), n_prompt = atoi(argv[4]), n_generate = atoi(argv[5]);
    FILE *out = fopen(argv[7], "we");
    if (!out) program_fail("cannot write %s", argv[7]);
    if (threads < 1 || n_prompt < 1 || n_prompt > TOKENS_MAX || n_generate < 1) return 64;
    program_open(argv[1]);
    struct tt_llama_model *model = program_model(argv[2], true, true);
    struct tt_llama_context *context = new_context(model, n_prompt + n_generate, argv[6]);
    program_api.set_n_threads(context, threads, threads);
    while (fgets(line, sizeof line, stdin))
        segment(context, n_prompt, n_generate, out);
    program_api.context_free(context);
    program_api.model_free(model);
    (void)fclose(out);
    return 0;
}
