#include "machine/measure.h"

#include "base/clock.h"
#include "machine/kernels.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

uint64_t tt_machine_cache_bytes(void)
{
    uint64_t most = 0;
    for (int i = 0; i < 8; i++) {
        char path[96], unit = 0;
        unsigned long size = 0;
        (void)snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
        FILE *f = fopen(path, "re");
        if (!f) break;
        /* "32768K" */
        if (fscanf(f, "%lu%c", &size, &unit) == 2 && size < 1u << 30) {
            uint64_t bytes = (uint64_t)size << (unit == 'M' ? 20 : unit == 'K' ? 10 : 0);
            if (bytes > most) most = bytes;
        }
        (void)fclose(f);
    }
    return most;
}

#define BUFFER_BYTES_MIN ((uint64_t)256 << 20)
#define BUFFER_BYTES_MAX ((uint64_t)1 << 30)
#define CHUNK_BYTES ((size_t)16 << 20)
#define STEP_BYTES 1024u
#define READ_NS 350000000u    /* in total */
#define COMPUTE_NS 200000000u /* in total, for each kind */
#define CHUNK_NS 700000u      /* for compute chunks */
#define CHUNKS_MAX 4096u

/* A chunk is small enough to fit between two preemptions of a thread, and large enough to be
 * measured. */
typedef struct chunk {
    uint64_t begin_ns, end_ns;
} chunk;

/* One measurement, by threads that repeat chunks for some time. */
typedef struct job {
    const tt_kernel_compute *compute; /* NULL: reading */
    uint64_t rounds;                  /* per compute chunk */
    uint8_t *data;
    size_t bytes_each, chunk_bytes;
    uint64_t until_ns; /* set before the gate opens */
    atomic_uint ready;
    atomic_int gate; /* 0 until all threads are ready; then 1, or -1: some did not start */
} job;

typedef struct worker {
    job *job;
    unsigned index;
    pthread_t thread;
    chunk *chunks; /* CHUNKS_MAX */
    uint32_t n;
    volatile double sink; /* keeps the work from being optimised away */
} worker;

static void do_chunk(worker *w, size_t *at)
{
    const job *j = w->job;
    if (j->compute) {
        w->sink = j->compute->run(j->rounds);
        return;
    }
    w->sink = (double)tt_kernel_read(j->data + w->index * j->bytes_each + *at, j->chunk_bytes);
    *at += j->chunk_bytes;
    if (*at + j->chunk_bytes > j->bytes_each) *at = 0;
}

static void *work(void *arg)
{
    worker *w = arg;
    job *j = w->job;
    size_t at = 0;
    int gate;
    /* First-touch: pages are allocated near the thread that reads them. */
    if (j->data) memset(j->data + w->index * j->bytes_each, 1, j->bytes_each);
    (void)atomic_fetch_add(&j->ready, 1);
    while ((gate = atomic_load(&j->gate)) == 0)
        (void)sched_yield();
    if (gate < 0) return NULL;
    for (uint64_t now = tt_clock_ns(CLOCK_MONOTONIC); now < j->until_ns && w->n < CHUNKS_MAX;) {
        chunk *c = &w->chunks[w->n++];
        c->begin_ns = now;
        do_chunk(w, &at);
        c->end_ns = now = tt_clock_ns(CLOCK_MONOTONIC);
    }
    return NULL;
}

/* How many chunks, and parts of chunks, w did from start to end; *from continues between calls. */
static double done_between(const worker *w, uint64_t begin, uint64_t end, uint32_t *from)
{
    double done = 0;
    while (*from < w->n && w->chunks[*from].end_ns <= begin)
        ++*from;
    for (uint32_t i = *from; i < w->n && w->chunks[i].begin_ns < end; i++) {
        const chunk *c = &w->chunks[i];
        uint64_t b = c->begin_ns > begin ? c->begin_ns : begin;
        uint64_t e = c->end_ns < end ? c->end_ns : end;
        if (e > b) done += (double)(e - b) / (double)(c->end_ns - c->begin_ns);
    }
    return done;
}

/* Chunks per second of all threads together, in the best interval of one chunk of a thread. */
static double best_rate(const worker *workers, unsigned n)
{
    uint32_t *from = calloc(n, sizeof *from);
    double best = 0;
    for (unsigned i = 0; from && i < n; i++) {
        memset(from, 0, n * sizeof *from);
        for (uint32_t k = 0; k < workers[i].n; k++) {
            const chunk *c = &workers[i].chunks[k];
            double done = 0;
            if (c->end_ns <= c->begin_ns) continue;
            for (unsigned t = 0; t < n; t++)
                done += done_between(&workers[t], c->begin_ns, c->end_ns, &from[t]);
            double rate = done / (double)(c->end_ns - c->begin_ns) * 1e9;
            if (rate > best) best = rate;
        }
    }
    free(from);
    return best;
}

/* Doubles the rounds until a chunk takes long enough. */
static void choose_rounds(job *j)
{
    volatile double sink;
    for (uint64_t ns = 0; ns < CHUNK_NS && j->rounds < UINT64_MAX / 4; j->rounds *= 2) {
        uint64_t begin = tt_clock_ns(CLOCK_MONOTONIC);
        sink = j->compute->run(j->rounds);
        ns = tt_clock_ns(CLOCK_MONOTONIC) - begin;
    }
    (void)sink;
}

static bool run_workers(job *j, worker *workers, unsigned n)
{
    unsigned started = 0;
    for (; started < n; started++)
        if (pthread_create(&workers[started].thread, NULL, work, &workers[started]) != 0) break;
    while (started == n && atomic_load(&j->ready) < n)
        (void)sched_yield();
    j->until_ns = tt_clock_ns(CLOCK_MONOTONIC) + (j->compute ? COMPUTE_NS : READ_NS);
    atomic_store(&j->gate, started == n ? 1 : -1);
    for (unsigned i = 0; i < started; i++)
        (void)pthread_join(workers[i].thread, NULL);
    return started == n;
}

/* Operations or bytes per second. */
static bool measure(job *j, unsigned n, double *rate)
{
    worker *workers = calloc(n, sizeof *workers);
    chunk *chunks = calloc((size_t)n * CHUNKS_MAX, sizeof *chunks);
    bool ok = workers && chunks;
    if (ok && j->compute) choose_rounds(j);
    for (unsigned i = 0; ok && i < n; i++)
        workers[i] = (worker){.job = j, .index = i, .chunks = chunks + (size_t)i * CHUNKS_MAX};
    ok = ok && run_workers(j, workers, n);
    if (ok)
        *rate = best_rate(workers, n) *
                (j->compute ? j->compute->operations * (double)j->rounds : (double)j->chunk_bytes);
    free(workers);
    free(chunks);
    return ok && *rate > 0;
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
    job j = {.bytes_each = machine->buffer_bytes / machine->threads};
    j.chunk_bytes = j.bytes_each < CHUNK_BYTES ? j.bytes_each : CHUNK_BYTES;
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
    job j = {.compute = compute, .rounds = 1024};
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
