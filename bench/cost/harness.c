#include "harness.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS_MAX 64

static double seconds = 1;
static double rate; /* ops a second and thread; 0: as fast as there is room */
static uint32_t n_threads = 1;
static uint64_t begin_ns, end_ns; /* of the measurement, CLOCK_MONOTONIC */
static const cost_program *program;

bool cost_next(const cost_thread *t)
{
    uint64_t due_ns = begin_ns;
    if (rate > 0) due_ns += (uint64_t)((double)t->n_ops / rate * 1e9);
    uint64_t now_ns = tt_clock_ns(CLOCK_MONOTONIC);
    /* Busy, as a thread that computes is. */
    while (now_ns < due_ns && now_ns < end_ns)
        now_ns = tt_clock_ns(CLOCK_MONOTONIC);
    return now_ns < end_ns;
}

void cost_wait(void)
{
    (void)usleep(200);
}

bool cost_wants_singles(void)
{
    return rate > 0;
}

/* How many cycles the core makes in a nanosecond: each addition waits for the one before, and
 * takes one cycle. */
static double cycles_per_ns(void)
{
    double best = 0;
    for (int k = 0; k < 5; k++) {
        uint64_t v = 1, begin = tt_clock_ns(CLOCK_MONOTONIC);
        for (int i = 0; i < 100000; i++) {
#define ADD "add %0, %0\n\t"
#define ADD10 ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD
#if defined(__x86_64__)
            __asm__ volatile(ADD10 ADD10 ADD10 ADD10 ADD10 : "+r"(v));
#else
            __asm__ volatile(".rept 50\n\tadd %0, %0, %0\n\t.endr" : "+r"(v));
#endif
        }
        double c = 100000.0 * 50 / (double)(tt_clock_ns(CLOCK_MONOTONIC) - begin);
        if (c > best) best = c;
    }
    return best;
}

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* The value below which that part of the (sorted) samples lies. */
static double quantile(const cost_samples *s, double part)
{
    return s->n ? s->ticks[(uint32_t)(part * (double)(s->n - 1) + 0.5)] : 0;
}

static double mean(const cost_samples *s)
{
    double sum = 0;
    for (uint32_t i = 0; i < s->n; i++)
        sum += s->ticks[i];
    return s->n ? sum / s->n : 0;
}

static void *allocate(size_t bytes)
{
    void *p = malloc(bytes);
    if (!p) {
        (void)fprintf(stderr, "out of memory\n");
        exit(2);
    }
    memset(p, 0, bytes); /* no first touch while measuring */
    return p;
}

static void make_samples(cost_samples *s, uint32_t capacity)
{
    s->capacity = capacity;
    s->ticks = allocate(capacity * sizeof *s->ticks);
}

/* All threads' samples of one kind, sorted. `member`: where the kind is in a cost_thread. */
static cost_samples gather(const cost_thread *threads, size_t member)
{
    cost_samples all = {0};
    uint32_t n = 0;
    for (uint32_t i = 0; i < n_threads; i++)
        n += ((const cost_samples *)(const void *)((const char *)&threads[i] + member))->n;
    make_samples(&all, n ? n : 1);
    for (uint32_t i = 0; i < n_threads; i++) {
        const cost_samples *s =
            (const cost_samples *)(const void *)((const char *)&threads[i] + member);
        memcpy(all.ticks + all.n, s->ticks, s->n * sizeof *s->ticks);
        all.n += s->n;
    }
    qsort(all.ticks, all.n, sizeof *all.ticks, compare);
    return all;
}

static void *thread_main(void *argument)
{
    program->run(argument);
    return NULL;
}

static void measure(cost_thread *threads)
{
    pthread_t handles[THREADS_MAX];
    begin_ns = tt_clock_ns(CLOCK_MONOTONIC) + 20000000;
    end_ns = begin_ns + (uint64_t)(seconds * 1e9);
    for (uint32_t i = 0; i < n_threads; i++)
        if ((errno = pthread_create(&handles[i], NULL, thread_main, &threads[i])) != 0) {
            perror("pthread_create");
            exit(2);
        }
    for (uint32_t i = 0; i < n_threads; i++)
        (void)pthread_join(handles[i], NULL);
}

static void print_line(const cost_thread *threads, double ticks_per_ns, double cycles,
                       double cpu_ns, uint64_t lost)
{
    uint64_t n_ops = 0;
    for (uint32_t i = 0; i < n_threads; i++)
        n_ops += threads[i].n_ops;
    cost_samples batches = gather(threads, offsetof(cost_thread, batches));
    cost_samples ops = gather(threads, offsetof(cost_thread, ops));
    cost_samples halves = gather(threads, offsetof(cost_thread, boundaries));
    cost_samples clocks = gather(threads, offsetof(cost_thread, clocks));
    double clock = quantile(&clocks, 0.5), batch = COST_BATCH * ticks_per_ns;
    (void)printf("\"%s\",%u,%llu,%llu", program->name, n_threads, (unsigned long long)n_ops,
                 (unsigned long long)lost);
    (void)printf(",%.3f,%.3f,%.3f,%.3f", mean(&batches) / batch, quantile(&batches, 0.5) / batch,
                 quantile(&batches, 0.25) / batch, quantile(&batches, 0.75) / batch);
    if (ops.n)
        (void)printf(",%.1f,%.1f", (quantile(&ops, 0.5) - clock) / ticks_per_ns,
                     (quantile(&ops, 0.999) - clock) / ticks_per_ns);
    else
        (void)printf(",,");
    if (halves.n)
        (void)printf(",%.1f,%.1f", (quantile(&halves, 0.5) - clock) / ticks_per_ns,
                     (quantile(&halves, 0.999) - clock) / ticks_per_ns);
    else
        (void)printf(",,");
    (void)printf(",%.1f,%.1f,%.2f,%.5f,%.3f\n", clock / ticks_per_ns,
                 quantile(&clocks, 0.999) / ticks_per_ns, cpu_ns / (double)n_ops, ticks_per_ns,
                 cycles);
}

static void parse(int argc, char **argv)
{
    for (int c; (c = getopt(argc, argv, "Ht:s:r:")) != -1;) {
        if (c == 't') n_threads = (uint32_t)atoi(optarg);
        if (c == 's') seconds = atof(optarg);
        if (c == 'r') rate = atof(optarg);
        if (c == 'H') {
            (void)puts("name,threads,ops,lost,op_mean_ns,op_median_ns,op_q1_ns,op_q3_ns,"
                       "single_p50_ns,single_p999_ns,boundary_p50_ns,boundary_p999_ns,"
                       "clock_p50_ns,clock_p999_ns,cpu_ns,ticks_per_ns,cycles_per_ns");
            exit(0);
        }
        if (c == '?') exit(2);
    }
    if (n_threads < 1 || n_threads > THREADS_MAX || seconds <= 0) {
        (void)fprintf(stderr, "usage: %s [-H] [-t THREADS] [-s SECONDS] [-r OPS_A_SECOND]\n",
                      argv[0]);
        exit(2);
    }
}

int cost_main(int argc, char **argv, const cost_program *p)
{
    static cost_thread threads[THREADS_MAX];
    program = p;
    parse(argc, argv);
    for (uint32_t i = 0; i < n_threads; i++) {
        threads[i].index = i;
        make_samples(&threads[i].batches, COST_ROUNDS_MAX);
        make_samples(&threads[i].ops, 4 * COST_ROUNDS_MAX);
        make_samples(&threads[i].clocks, 4 * COST_ROUNDS_MAX);
        make_samples(&threads[i].boundaries, 8 * COST_ROUNDS_MAX);
    }
    p->open();
    double cycles = cycles_per_ns();
    uint64_t ns = tt_clock_ns(CLOCK_MONOTONIC), ticks = tt_ticks();
    uint64_t cpu = tt_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    measure(threads);
    double cpu_ns = (double)(tt_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu);
    double per_ns = (double)(tt_ticks() - ticks) / (double)(tt_clock_ns(CLOCK_MONOTONIC) - ns);
    uint64_t lost = p->close();
    print_line(threads, per_ns, cycles, cpu_ns, lost);
    return 0;
}
