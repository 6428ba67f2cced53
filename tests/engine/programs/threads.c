/* threads ENGINE MODEL N [sleep|spin MS]: one thread (or $TT_THREADS) decodes a prompt and N tokens. Prints "pid P",
 * and for each decode, by the kernel's own counts of this thread and, if $TT_GROUP_STAT is a
 * group's cpu.stat, of the group: "batch B WALL USER SYSTEM DELAY THROTTLED", in us; -1: there is
 * no such count. Before the last decode it sleeps, or computes something else, for MS, and prints
 * "between US": how long it was asleep. */
#include "llama_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define PROMPT 4

typedef struct counts {
    double wall, user, system, delay, throttled; /* us */
} counts;

static double us_of(struct timeval t)
{
    return (double)t.tv_sec * 1e6 + (double)t.tv_usec;
}

static double delay_us(void)
{
    unsigned long long ran, waited;
    FILE *f = fopen("/proc/thread-self/schedstat", "r");
    const int n = f ? fscanf(f, "%llu %llu", &ran, &waited) : 0;
    if (f) (void)fclose(f);
    return n == 2 ? (double)waited / 1e3 : -1;
}

static double throttled_us(void)
{
    char line[128];
    unsigned long long n;
    double us = -1;
    const char *path = getenv("TT_GROUP_STAT");
    FILE *f = path ? fopen(path, "r") : NULL;
    while (f && fgets(line, sizeof line, f)) {
        if (sscanf(line, "throttled_time %llu", &n) == 1) us = (double)n / 1e3;
        if (sscanf(line, "throttled_usec %llu", &n) == 1) us = (double)n;
    }
    if (f) (void)fclose(f);
    return us;
}

static counts look(void)
{
    struct rusage u;
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    (void)getrusage(RUSAGE_THREAD, &u);
    return (counts){(double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3, us_of(u.ru_utime),
                    us_of(u.ru_stime), delay_us(), throttled_us()};
}

static double grown(double from, double to)
{
    return from < 0 || to < 0 ? -1 : to - from;
}

static void say(int batch, counts a, counts b)
{
    (void)printf("batch %d %.0f %.0f %.0f %.0f %.0f\n", batch, b.wall - a.wall, b.user - a.user,
                 b.system - a.system, grown(a.delay, b.delay), grown(a.throttled, b.throttled));
    (void)fflush(stdout);
}

/* Between two decodes; the time asleep is that of the clock, less that on the processor or ready
 * for it. */
static void pass_time(const char *how, long ms)
{
    const counts a = look();
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    if (strcmp(how, "sleep") == 0) (void)nanosleep(&t, NULL);
    counts b = look();
    while (strcmp(how, "spin") == 0 && b.wall - a.wall < (double)ms * 1e3)
        b = look();
    const double ran = b.user - a.user + b.system - a.system + grown(a.delay, b.delay);
    (void)printf("between %.0f\n", b.wall - a.wall - ran);
}

int main(int argc, char **argv)
{
    int32_t tokens[PROMPT];
    if (argc < 4) return 64;
    program_open(argv[1]);
    struct tt_llama_model *model = program_model(argv[2], true, false);
    struct tt_llama_context *context =
        program_context(model, &(program_sizes){256, 16, 16, 1, false});
    const char *text = getenv("TT_THREADS");
    const int32_t n_threads = text ? (int32_t)strtol(text, NULL, 10) : 1;
    program_api.set_n_threads(context, n_threads, n_threads);
    for (int i = 0; i < PROMPT; i++)
        tokens[i] = i ? 300 + 7 * i : 1;
    (void)printf("pid %d\n", (int)getpid());
    for (int i = 0; i <= atoi(argv[3]); i++) {
        if (i == atoi(argv[3]) && argc > 5) pass_time(argv[4], atol(argv[5]));
        const counts before = look();
        program_decode(context, tokens, i ? 1 : PROMPT);
        say(i, before, look());
        tokens[0] = program_greedy(context, -1);
    }
    program_api.context_free(context);
    program_api.model_free(model);
    return 0;
}
