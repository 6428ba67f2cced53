/* odd ENGINE WHAT: programs with habits that a guest has to live with.
 *
 *   fork      a child made by _Fork, which runs no fork handlers, exits
 *   keys      every thread-specific key is taken before the first graph
 *   exit      exit while another thread computes
 *   descriptors  closes every descriptor it does not know, then opens files of its own
 *   chdir     goes elsewhere, and drops its right to write where it began
 *   abort     computes, then calls abort
 *   hide      in a child alone: its parent, which has recorded nothing, forks it and ends after it
 *   crash FILE  opens the model FILE and dies of it, as programs do that do not know its kind */
#include "small_graph.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int fork_past_handlers(void)
{
    int status = 0;
    (void)printf("%.0f\n", small_graph_compute(2, 2));
    (void)fflush(stdout);
    pid_t child = _Fork();
    if (child == 0) exit(5);
    (void)alarm(20); /* a child that hangs ends the test */
    (void)waitpid(child, &status, 0);
    (void)printf("child %d, %.0f\n", WEXITSTATUS(status), small_graph_compute(2, 2));
    return 0;
}

static int take_all_keys(void)
{
    pthread_key_t key, first = 0;
    int n = 0;
    while (n < 4 * PTHREAD_KEYS_MAX && pthread_key_create(&key, NULL) == 0) {
        if (n++ == 0) first = key;
        (void)pthread_setspecific(key, &first);
    }
    (void)printf("%.0f\n", small_graph_compute(2, 2));
    return pthread_getspecific(first) == &first ? 0 : 1;
}

static void *compute_for_long(void *unused)
{
    (void)small_graph_compute(1000000, 2);
    return unused;
}

static int exit_while_computing(void)
{
    pthread_t thread;
    (void)pthread_create(&thread, NULL, compute_for_long, NULL);
    (void)usleep(100000);
    exit(7);
}

static int close_descriptors(void)
{
    (void)printf("%.0f\n", small_graph_compute(1, 2));
    for (int fd = 3; fd < 4096; fd++)
        (void)close(fd);
    int mine = open("mine", O_RDWR | O_CREAT | O_TRUNC, 0600);
    for (int fd = 100; fd < 1000; fd++)
        (void)dup2(mine, fd);
    (void)printf("%.0f\n", small_graph_compute(2, 2));
    return lseek(mine, 0, SEEK_END) == 0 ? 0 : 1;
}

static int go_elsewhere(void)
{
    if (chdir("/") != 0) return 1;
    (void)printf("%.0f\n", small_graph_compute(2, 2));
    return 0;
}

static int open_and_die(const char *model)
{
    struct {
        bool no_alloc;
        void **context;
    } params = {true, NULL};
    /* The hook's when there is one, as for a program that links ggml. */
    void *(*open_model)(const char *, __typeof__(params));
    *(void **)&open_model = dlsym(RTLD_DEFAULT, "gguf_init_from_file");
    if (open_model) (void)open_model(model, params);
    (void)raise(SIGSEGV);
    return 1;
}

static int compute_and_abort(void)
{
    (void)printf("%.0f\n", small_graph_compute(2, 2));
    (void)fflush(stdout);
    abort();
}

static int compute_in_child(void)
{
    int status = 1;
    const pid_t child = fork();
    if (child == 0) exit(small_graph_compute(2, 2) > 0 ? 0 : 1);
    (void)waitpid(child, &status, 0);
    return status != 0;
}

int main(int argc, char **argv)
{
    if (argc < 3) return 64;
    small_graph_open(argv[1]);
    if (strcmp(argv[2], "fork") == 0) return fork_past_handlers();
    if (strcmp(argv[2], "keys") == 0) return take_all_keys();
    if (strcmp(argv[2], "exit") == 0) return exit_while_computing();
    if (strcmp(argv[2], "descriptors") == 0) return close_descriptors();
    if (strcmp(argv[2], "crash") == 0 && argc > 3) return open_and_die(argv[3]);
    if (strcmp(argv[2], "abort") == 0) return compute_and_abort();
    if (strcmp(argv[2], "hide") == 0) return compute_in_child();
    if (strcmp(argv[2], "chdir") == 0) return go_elsewhere();
    return 64;
}
