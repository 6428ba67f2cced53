/* completion -m MODEL -p TEXT -n N -no-cnv [-t N] [-c N] [-s N] [--exit CODE] [--raise SIGNAL]
 * [--hold]: stands in for llama-completion, which no package of the engines has: takes the words
 * that earlier pipelines gave it, and like it refuses others. The engine is in $TENSORTRACE_ENGINE.
 *
 * Prints the prompt and what is generated. --exit and --raise: how it ends; --hold: behind the last
 * token it waits for a signal, once it has said "holding" on standard error. */
#include "llama_program.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TOKENS_MAX 512
#define PIECE_MAX 256

typedef struct words {
    const char *model, *prompt;
    long n, threads, exit_code, signal;
    bool no_conversation, hold;
} words;

static bool take_number(const char *word, const char *value, words *w)
{
    long v = strtol(value, NULL, 10);
    if (strcmp(word, "-n") == 0)
        w->n = v;
    else if (strcmp(word, "-t") == 0)
        w->threads = v;
    else if (strcmp(word, "--exit") == 0)
        w->exit_code = v;
    else if (strcmp(word, "--raise") == 0)
        w->signal = v;
    else
        return strcmp(word, "-c") == 0 || strcmp(word, "-s") == 0;
    return true;
}

static words read_words(int argc, char **argv)
{
    words w = {.threads = 2};
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(word, "-no-cnv") == 0) {
            w.no_conversation = true;
            continue;
        }
        if (strcmp(word, "--hold") == 0) {
            w.hold = true;
            continue;
        }
        if (!value) program_fail("error: expected value for argument: %s", word);
        if (strcmp(word, "-m") == 0)
            w.model = value;
        else if (strcmp(word, "-p") == 0)
            w.prompt = value;
        else if (!take_number(word, value, &w))
            program_fail("error: invalid argument: %s", word);
        i++;
    }
    /* Otherwise llama-completion would wait for a person. */
    if (!w.no_conversation) program_fail("error: -no-cnv is missing");
    if (!w.model || !w.prompt) program_fail("error: -m and -p are needed");
    return w;
}

static void put_piece(const struct tt_llama_model *model, int32_t token)
{
    char text[PIECE_MAX];
    int32_t n = program_piece(model, token, text, PIECE_MAX);
    if (n > 0) (void)fwrite(text, 1, (size_t)n, stdout);
}

int main(int argc, char **argv)
{
    int32_t tokens[TOKENS_MAX];
    words w = read_words(argc, argv);
    const char *engine = getenv("TENSORTRACE_ENGINE");
    if (!engine) program_fail("no $TENSORTRACE_ENGINE");
    program_open(engine);
    struct tt_llama_model *model = program_model(w.model, true, true);
    struct tt_llama_context *context =
        program_context(model, &(program_sizes){TOKENS_MAX, 256, 256, 1, false});
    program_api.set_n_threads(context, (int32_t)w.threads, (int32_t)w.threads);
    int32_t n = program_tokenize(model, w.prompt, tokens, TOKENS_MAX / 2);
    program_decode(context, tokens, n);
    (void)fputs(w.prompt, stdout);
    for (long i = 0; i < w.n; i++) {
        int32_t token = program_greedy(context, -1);
        put_piece(model, token);
        if (i + 1 < w.n) program_decode(context, &token, 1);
    }
    (void)putchar('\n');
    if (w.hold) {
        (void)fputs("holding\n", stderr);
        (void)pause();
    }
    program_api.context_free(context);
    program_api.model_free(model);
    if (w.exit_code) (void)fprintf(stderr, "this is the reason\n");
    (void)fflush(NULL);
    if (w.signal) (void)raise((int)w.signal);
    return (int)w.exit_code;
}
