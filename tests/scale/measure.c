/* measure RUNS COMMAND ARGS...: runs the command so many times, its output thrown away, and prints
 * the median, least and longest wall time in seconds and the largest resident set in bytes. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RUNS_MAX 1000

static double now_s(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int ascending(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* One run; its exit code, or -1. */
static int run(char **argv, double *seconds, long *rss_bytes)
{
    struct rusage usage;
    int status;
    double begin = now_s();
    pid_t child = fork();
    if (child == 0) {
        int null = open("/dev/null", O_RDWR);
        (void)dup2(null, STDOUT_FILENO);
        (void)dup2(null, STDERR_FILENO);
        (void)execvp(argv[0], argv);
        _exit(127);
    }
    if (child < 0) return -1;
    while (wait4(child, &status, 0, &usage) < 0)
        if (errno != EINTR) return -1;
    *seconds = now_s() - begin;
    if (usage.ru_maxrss * 1024 > *rss_bytes) *rss_bytes = usage.ru_maxrss * 1024;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(int argc, char **argv)
{
    double seconds[RUNS_MAX];
    long rss_bytes = 0;
    int runs = argc > 2 ? atoi(argv[1]) : 0;
    if (runs < 1 || runs > RUNS_MAX) {
        fprintf(stderr, "usage: measure RUNS COMMAND [ARGS...]\n");
        return 2;
    }
    for (int i = 0; i < runs; i++) {
        int code = run(argv + 2, &seconds[i], &rss_bytes);
        if (code == 0 || code == 1) continue; /* 1: done, and nothing passed the filters */
        fprintf(stderr, "measure: %s failed (%d)\n", argv[2], code);
        return 1;
    }
    qsort(seconds, (size_t)runs, sizeof *seconds, ascending);
    int half = runs / 2;
    double median = runs % 2 ? seconds[half] : (seconds[half - 1] + seconds[half]) / 2;
    printf("%.6f %.6f %.6f %ld\n", median, seconds[0], seconds[runs - 1], rss_bytes);
    return 0;
}
