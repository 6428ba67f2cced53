/* contexts ENGINE MODEL N [fork]: one model, N contexts, each in a thread of its own and all
 * at once; prints the token ids that each generates. With `fork`, the process first does one
 * alone, then forks, and parent and child go on, each with its threads. */
#include "runner/engine_load.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS_MAX 8
#define TOKENS_MAX 64

static tt_engine_api api;
static struct tt_llama_model *model;

typedef struct job {
    int32_t first; /* token */
    int n;         /* tokens to generate */
    int32_t out[TOKENS_MAX];
    int failed;
} job;

static void *work(void *argument)
{
    job *j = argument;
    tt_engine_params params;
    tt_engine_params_fetch(&params, api.context_default_params);
    tt_engine_params_set_u32(&params, 0, 256); /* n_ctx */
    struct tt_llama_context *context = api.context_new(model, params.blob);
    struct tt_llama_sampler *sampler = api.sampler_greedy();
    if (!context || !sampler) {
        j->failed = 1;
        return NULL;
    }
    api.set_n_threads(context, 2, 2);
    int32_t prompt[4] = {1, j->first, j->first + 1, j->first + 2};
    int32_t *tokens = prompt, count = 4;
    for (int i = 0; i < j->n && !j->failed; i++) {
        j->failed = api.decode(context, api.batch_get_one(tokens, count, i ? 3 + i : 0, 0)) != 0;
        j->out[i] = api.sample(sampler, context, -1);
        tokens = &j->out[i];
        count = 1;
    }
    api.sampler_free(sampler);
    api.context_free(context);
    return NULL;
}

static int run_all(int n, const char *who)
{
    static job jobs[THREADS_MAX];
    pthread_t threads[THREADS_MAX];
    int failed = 0;
    for (int i = 0; i < n; i++) {
        jobs[i] = (job){.first = 300 + 10 * i, .n = 2 + i};
        (void)pthread_create(&threads[i], NULL, work, &jobs[i]);
    }
    for (int i = 0; i < n; i++) {
        (void)pthread_join(threads[i], NULL);
        failed |= jobs[i].failed;
        (void)printf("%s %d:", who, i);
        for (int k = 0; k < jobs[i].n; k++)
            (void)printf(" %d", jobs[i].out[k]);
        (void)putchar('\n');
    }
    (void)fflush(stdout);
    return failed;
}

static int open_model(const char *engine_dir, const char *path)
{
    static tt_engine_found engine;
    static tt_engine_log log;
    static tt_engine_params params;
    tt_error err = {.message = ""};
    if (tt_engine_find(engine_dir, &engine, &err) != TT_OK ||
        tt_engine_load(&engine, &log, &api, &err) != TT_OK) {
        (void)fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    api.backend_init();
    tt_engine_params_fetch(&params, api.model_default_params);
    model = api.model_load(path, params.blob);
    return model == NULL;
}

static int fork_and_run(int n)
{
    if (run_all(1, "before") != 0) return 1;
    pid_t child = fork();
    if (child == 0) exit(run_all(n, "child"));
    int status = 0;
    (void)waitpid(child, &status, 0);
    return run_all(n, "parent") | (status != 0);
}

int main(int argc, char **argv)
{
    if (argc < 4) return 64;
    int n = atoi(argv[3]);
    if (n < 1 || n > THREADS_MAX || open_model(argv[1], argv[2]) != 0) return 64;
    int failed = argc == 4 ? run_all(n, "context") : fork_and_run(n);
    api.model_free(model);
    return failed;
}
