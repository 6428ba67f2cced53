/* owner ENGINE MODEL N [chain|stop]: a program that owns its context, with the one line that
 * records it: a prompt, then N tokens, which it prints. chain: with a callback of its own besides,
 * which counts what it is shown of what it asked for, every norm of the last layer. stop: recording
 * stops and starts again in the middle. Recording is started by the environment. */
#include "llama_program.h"

#include "tensortrace/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOKENS_MAX 256

static unsigned asked, shown;

/* The name of struct ggml_tensor is at byte 256. */
static bool is_norm(const void *tensor)
{
    return strncmp((const char *)tensor + 256, "result_norm", 11) == 0;
}

static bool own_callback(struct ggml_tensor *tensor, bool ask, void *user)
{
    if (user != &asked) program_fail("the program's own user data is not passed on");
    if (ask && is_norm(tensor)) asked++;
    if (!ask && !is_norm(tensor)) program_fail("shown what was not asked for");
    if (!ask) shown++;
    return ask ? is_norm(tensor) : true;
}

static tt_ggml_chain chain = {own_callback, &asked};

/* cb_eval_user_data stands behind cb_eval. */
static void set_user_data(tt_engine_params *p, const void *callback, void *user)
{
    for (size_t at = 32; at + 16 <= TT_ABI_BLOB_SIZE; at += 8)
        if (memcmp(p->blob.u.bytes + at, &callback, sizeof callback) == 0)
            memcpy(p->blob.u.bytes + at + 8, &user, sizeof user);
}

static void restart(void)
{
    tt_error err = {.message = ""};
    tt_record_options o = {.path = "second.ttrace", .values = "hash", .replace = 1};
    if (tt_record_stop(&err) != TT_OK || tt_record_start(&o, &err) != TT_OK)
        program_fail("%s", err.message);
}

int main(int argc, char **argv)
{
    int32_t tokens[TOKENS_MAX];
    tt_engine_params p;
    if (argc < 4) program_fail("usage: owner ENGINE MODEL N [chain|stop]");
    const char *how = argc > 4 ? argv[4] : "";
    program_open(argv[1]);
    struct tt_llama_model *model = program_model(argv[2], true, true);
    int32_t n = program_tokenize(model, "What is a tensor?", tokens, TOKENS_MAX);
    program_callback callback = (program_callback)(void *)tt_ggml_eval_callback;
    tt_engine_params_fetch(&p, program_api.context_default_params);
    tt_engine_params_set_u32(&p, 0, 256);
    program_set_callback(&p, callback);
    if (strcmp(how, "chain") == 0) set_user_data(&p, (const void *)callback, &chain);
    struct tt_llama_context *context = program_api.context_new(model, p.blob);
    if (!context) program_fail("no context");
    program_api.set_n_threads(context, PROGRAM_THREADS, PROGRAM_THREADS);
    for (int i = 0; i < atoi(argv[3]); i++) {
        if (i == 3 && strcmp(how, "stop") == 0) restart();
        program_decode(context, tokens, n);
        tokens[0] = program_greedy(context, -1);
        n = 1;
        printf("%d\n", (int)tokens[0]);
    }
    if (strcmp(how, "chain") == 0) fprintf(stderr, "asked %u, shown %u\n", asked, shown);
    /* What it recorded is described when the context is gone. */
    program_api.context_free(context);
    program_api.model_free(model);
    return 0;
}
