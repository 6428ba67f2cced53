/* contexts ENGINE MODEL THREADS [fork]: as many llama contexts, each in a thread of its own
 * and all at once, each printing its text at the end. With `fork`, the process first does
 * one alone, then forks, and parent and child go on, each with its threads. */
#include "runner/runner.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS_MAX 8

typedef struct job {
    tt_runner_options options;
    char text[4096];
    size_t used;
    tt_status status;
    tt_error err;
} job;

static bool on_text(void *user, const char *bytes, size_t n)
{
    job *j = user;
    if (n > sizeof j->text - j->used) n = sizeof j->text - j->used;
    memcpy(j->text + j->used, bytes, n);
    j->used += n;
    return true;
}

static void *work(void *argument)
{
    job *j = argument;
    tt_runner_events events = {.on_text = on_text, .user = j};
    tt_runner_result result;
    j->status = tt_runner_run(&j->options, &events, &result, &j->err);
    return NULL;
}

static int run_all(const char *engine, const char *model, int n, const char *who)
{
    static job jobs[THREADS_MAX];
    pthread_t threads[THREADS_MAX];
    int failed = 0;
    memset(jobs, 0, sizeof jobs);
    for (int i = 0; i < n; i++) {
        static const char *const prompts[] = {"One", "Two times", "Three of them", "Four"};
        const char *prompt = prompts[i % 4];
        jobs[i].options = (tt_runner_options){.model = model,
                                              .engine = engine,
                                              .prompt = prompt,
                                              .prompt_size = strlen(prompt),
                                              .n_predict = 8 + 4 * i,
                                              .n_threads = 2,
                                              .ignore_eos = true};
        (void)pthread_create(&threads[i], NULL, work, &jobs[i]);
    }
    for (int i = 0; i < n; i++) {
        (void)pthread_join(threads[i], NULL);
        if (jobs[i].status != TT_OK) {
            (void)fprintf(stderr, "%s %d: %s\n", who, i, jobs[i].err.message);
            failed = 1;
        }
        (void)printf("%s %d: %.*s\n", who, i, (int)jobs[i].used, jobs[i].text);
    }
    (void)fflush(stdout);
    return failed;
}

int main(int argc, char **argv)
{
    if (argc < 4) return 64;
    int n = atoi(argv[3]);
    if (n < 1 || n > THREADS_MAX) return 64;
    if (argc == 4) return run_all(argv[1], argv[2], n, "context");
    if (run_all(argv[1], argv[2], 1, "before") != 0) return 1;
    pid_t child = fork();
    if (child == 0) exit(run_all(argv[1], argv[2], n, "child"));
    int status = 0;
    (void)waitpid(child, &status, 0);
    int failed = run_all(argv[1], argv[2], n, "parent");
    return failed || status != 0;
}
