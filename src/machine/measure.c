#include "machine/measure.h"

#include "base/clock.h"
#include "machine/kernels.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BUFFER_BYTES_MIN ((uint64_t)256 << 20)
#define BUFFER_BYTES_MAX ((uint64_t)1 << 30)
#define STEP_BYTES 1024u
#define READ_NS 300000000u    /* in all */
#define COMPUTE_NS 100000000u /* in all, of each kind */
#define TRIES_MIN 3u
#define ROUNDS_FIRST 2000u
#define TRY_NS 30000000u

/* One thing to measure. */
typedef struct job {
    const tt_kernel_compute *compute; /* NULL: reading */
    uint8_t *data;
    size_t bytes_each;
    uint64_t rounds;
    bool touch;      /* only write to the data, so that its pages are there */
    atomic_int gate; /* 0 until all threads are there; then 1, or -1: they are not all */
} job;

typedef struct worker {
    job *job;
    unsigned index;
    pthread_t thread;
    uint64_t begin_ns, end_ns;
    volatile double sink; /* so that nothing is optimised away */
} worker;

static void *work(void *arg)
{
    worker *w = arg;
    const job *j = w->job;
    uint8_t *own = j->data ? j->data + w->index * j->bytes_each : NULL;
    int gate;
    while ((gate = atomic_load(&j->gate)) == 0)
        (void)sched_yield();
    if (gate < 0) return NULL;
    w->begin_ns = tt_clock_ns(CLOCK_MONOTONIC);
    if (j->touch)
        memset(own, 1, j->bytes_each);
    else if (j->compute)
        w->sink = j->compute->run(j->rounds);
    else
        w->sink = (double)tt_kernel_read(own, j->bytes_each);
    w->end_ns = tt_clock_ns(CLOCK_MONOTONIC);
    return NULL;
}

/* All threads, once: ns from the first one's begin to the last one's end; 0 when they could not all
 * be started. */
static uint64_t one_try(job *j, worker *workers, unsigned n)
{
    uint64_t begin = UINT64_MAX, end = 0;
    unsigned started = 0;
    atomic_store(&j->gate, 0);
    for (; started < n; started++) {
        workers[started] = (worker){.job = j, .index = started};
        if (pthread_create(&workers[started].thread, NULL, work, &workers[started]) != 0) break;
    }
    atomic_store(&j->gate, started == n ? 1 : -1);
    for (unsigned i = 0; i < started; i++) {
        (void)pthread_join(workers[i].thread, NULL);
        if (workers[i].begin_ns < begin) begin = workers[i].begin_ns;
        if (workers[i].end_ns > end) end = workers[i].end_ns;
    }
    if (started < n) return 0;
    return end > begin ? end - begin : 1;
}

/* As many rounds as take long enough to be measured. */
static void choose_rounds(job *j, worker *workers, unsigned n)
{
    uint64_t ns = 1;
    while (ns && ns < TRY_NS / 2 && j->rounds < UINT64_MAX / 16) {
        ns = one_try(j, workers, n);
        if (ns < TRY_NS / 2) j->rounds *= ns < TRY_NS / 16 ? 8 : 2;
    }
}

/* Operations, or bytes, a second: the best of what there is time for. */
static bool measure(job *j, unsigned n, double *rate)
{
    worker *workers = calloc(n, sizeof *workers);
    bool ok = workers != NULL;
    if (ok && j->data) {
        j->touch = true;
        ok = one_try(j, workers, n) > 0;
        j->touch = false;
    }
    if (ok && j->compute) choose_rounds(j, workers, n);
    const uint64_t until = tt_clock_ns(CLOCK_MONOTONIC) + (j->compute ? COMPUTE_NS : READ_NS);
    const double done =
        j->compute ? j->compute->operations * (double)j->rounds : (double)j->bytes_each;
    *rate = 0;
    for (unsigned i = 0; ok && (i < TRIES_MIN || tt_clock_ns(CLOCK_MONOTONIC) < until); i++) {
        uint64_t ns = one_try(j, workers, n);
        ok = ns > 0;
        if (ok && done * n / (double)ns * 1e9 > *rate) *rate = done * n / (double)ns * 1e9;
    }
    free(workers);
    return ok;
}

static uint64_t buffer_size(uint64_t cache_bytes, unsigned threads)
{
    uint64_t want = cache_bytes * 8;
    if (want < BUFFER_BYTES_MIN) want = BUFFER_BYTES_MIN;
    if (want > BUFFER_BYTES_MAX) want = BUFFER_BYTES_MAX;
    return want / threads / STEP_BYTES * STEP_BYTES * threads;
}

static bool measure_reading(tt_machine *machine)
{
    long pages = sysconf(_SC_AVPHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    job j = {.rounds = 1, .bytes_each = machine->buffer_bytes / machine->threads};
    if (pages > 0 && page > 0 && (uint64_t)pages * (uint64_t)page / 2 < machine->buffer_bytes)
        return false;
    void *data = mmap(NULL, machine->buffer_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) return false;
    j.data = data;
    bool ok = measure(&j, machine->threads, &machine->read_bytes_per_s);
    (void)munmap(data, machine->buffer_bytes);
    return ok;
}

static bool measure_computing(unsigned threads, const tt_kernel_compute *compute, double *rate)
{
    job j = {.compute = compute, .rounds = ROUNDS_FIRST};
    return measure(&j, threads, rate);
}

tt_status tt_machine_measure(unsigned threads, tt_machine *machine, tt_error *err)
{
    const uint64_t begin = tt_clock_ns(CLOCK_MONOTONIC);
    const tt_kernel_compute *floats = tt_kernel_floats(), *int8 = tt_kernel_int8();
    if (threads < 1) threads = 1;
    if (threads > TT_MACHINE_THREADS_MAX) threads = TT_MACHINE_THREADS_MAX;
    *machine = (tt_machine){.threads = threads,
                            .vectors = floats->name,
                            .int8 = int8 ? int8->name : NULL,
                            .cache_bytes = tt_machine_cache_bytes()};
    machine->buffer_bytes = buffer_size(machine->cache_bytes, threads);
    bool ok = measure_reading(machine) &&
              measure_computing(threads, floats, &machine->flops_per_s) &&
              (!int8 || measure_computing(threads, int8, &machine->int8_ops_per_s));
    machine->took_ns = (double)(tt_clock_ns(CLOCK_MONOTONIC) - begin);
    if (ok) return TT_OK;
    return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET,
                        "too little free memory, or too few threads, to measure this machine");
}
