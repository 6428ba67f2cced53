#include "base/clock.h"
#include "machine/disk.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define BLOCK_BYTES ((size_t)4 << 20)
#define BLOCKS_MAX 128u
#define BLOCKS_MIN 16u
#define PIECE_BYTES                                                                                \
    ((size_t)64 << 10) /* what a thread takes at a time, as of a matrix its rows                   \
                        */
#define PAGE_BYTES ((size_t)4096)
#define THREADS_MAX 64
#define CELL_NS 250000000u
/* Around the last range, in which what was requested last lies; and for how long nothing arrives
 * when all has. */
#define NEAR_BYTES ((size_t)64 << 20)
#define QUIET_NS 20000000u

static const size_t range_bytes[TT_DISK_MAPPED] = {(size_t)1 << 20, BLOCK_BYTES};

/* Reads a range at the begin of each block. */
typedef struct walk {
    const volatile uint8_t *data;
    size_t size;
    const size_t *blocks;
    uint32_t n;
    size_t range;
    uint32_t threads;
    uint64_t begin_ns;
    atomic_int gate;      /* 0: wait; 1: go; -1: do not */
    atomic_size_t next;   /* piece of the range that no thread has taken */
    atomic_uint arrived;  /* threads at the barrier */
    atomic_uint barriers; /* passed */
    atomic_bool over;
    uint32_t done; /* ranges; the first thread's */
} walk;

/* Spins, as ggml_barrier does: what that takes from the reading is part of what is measured. */
static void barrier(walk *w)
{
    const unsigned passed = atomic_load(&w->barriers);
    if (atomic_fetch_add(&w->arrived, 1) + 1 == w->threads) {
        atomic_store(&w->arrived, 0);
        atomic_fetch_add(&w->barriers, 1);
        return;
    }
    while (atomic_load(&w->barriers) == passed) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }
}

static void touch(walk *w, bool is_first)
{
    for (uint32_t i = 0; i < w->n && !atomic_load(&w->over); i++) {
        const volatile uint8_t *range = w->data + w->blocks[i];
        for (size_t at; (at = atomic_fetch_add(&w->next, PIECE_BYTES)) < w->range;)
            for (size_t k = 0; k < PIECE_BYTES; k += PAGE_BYTES)
                (void)range[at + k];
        barrier(w);
        if (is_first) {
            w->done = i + 1;
            atomic_store(&w->next, 0);
            if (tt_clock_ns(CLOCK_MONOTONIC) - w->begin_ns >= CELL_NS) atomic_store(&w->over, true);
        }
        barrier(w);
    }
}

static void *work(void *arg)
{
    walk *w = arg;
    int gate;
    while ((gate = atomic_load(&w->gate)) == 0)
        (void)sched_yield();
    if (gate > 0) touch(w, false);
    return NULL;
}

/* Bytes that the kernel fetched from disks for this process, reading ahead included; -1: unknown.
 */
static double fetched_bytes(void)
{
    char line[128];
    unsigned long long bytes;
    double found = -1;
    FILE *f = fopen("/proc/self/io", "re");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "read_bytes: %llu", &bytes) == 1) found = (double)bytes;
    if (f) (void)fclose(f);
    return found;
}

/* False when not all threads could be started. */
static bool run(walk *w)
{
    pthread_t threads[THREADS_MAX];
    uint32_t started = 1; /* this one */
    while (started < w->threads && pthread_create(&threads[started], NULL, work, w) == 0)
        started++;
    const bool all = started == w->threads;
    w->begin_ns = tt_clock_ns(CLOCK_MONOTONIC);
    atomic_store(&w->gate, all ? 1 : -1);
    if (all) touch(w, true);
    for (uint32_t i = 1; i < started; i++)
        (void)pthread_join(threads[i], NULL);
    return all;
}

/* When all that was requested has arrived: the kernel counts bytes as fetched when it requests
 * them, and it reads far ahead. */
static uint64_t last_arrival_ns(const walk *w)
{
    static unsigned char resident[2 * NEAR_BYTES / PAGE_BYTES];
    const size_t last = w->blocks[w->done ? w->done - 1 : 0];
    const size_t begin = last > NEAR_BYTES ? last - NEAR_BYTES : 0;
    const size_t bytes = w->size - begin < 2 * NEAR_BYTES ? w->size - begin : 2 * NEAR_BYTES;
    size_t pages = SIZE_MAX;
    uint64_t now = tt_clock_ns(CLOCK_MONOTONIC), changed = now;
    while (now - changed < QUIET_NS) {
        size_t n = 0;
        if (mincore((char *)(uintptr_t)w->data + begin, bytes, resident) != 0) break;
        for (size_t i = 0; i < bytes / PAGE_BYTES; i++)
            n += resident[i] & 1;
        now = tt_clock_ns(CLOCK_MONOTONIC);
        if (pages != SIZE_MAX && n != pages) changed = now;
        pages = n;
    }
    return changed;
}

static const char *measure_cell(walk *w, tt_disk_rates *r, unsigned i)
{
    tt_disk_cell *c = &r->cells[r->n - TT_DISK_MAPPED + i];
    const double before = fetched_bytes();
    w->range = range_bytes[i];
    if (!run(w)) return "its threads could not be started";
    const double after = fetched_bytes(), ns = (double)(last_arrival_ns(w) - w->begin_ns);
    if (before < 0 || after <= before) return "the kernel counted nothing that it fetched";
    r->mapped_bytes[i] = after - before;
    r->mapped_ns[i] = ns;
    r->read_bytes += (uint64_t)(after - before);
    c->requests = w->done;
    c->samples = 1;
    c->bytes_per_s = (after - before) / ns * 1e9;
    c->latency_ns = ns / (double)w->done;
    return NULL;
}

/* A page that is gone, since somebody cut the file, is read as zero. */
static struct {
    uintptr_t begin, end;
    struct sigaction before;
} mapping;

static void cut(int number, siginfo_t *info, void *context)
{
    const uintptr_t page = (uintptr_t)info->si_addr / PAGE_BYTES * PAGE_BYTES;
    (void)context;
    if (page < mapping.begin || page >= mapping.end ||
        mmap((void *)page, PAGE_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
            MAP_FAILED)
        (void)sigaction(number, &mapping.before, NULL);
}

/* Blocks of which no page is in RAM, BLOCKS_MAX at most, in a random order. */
static uint32_t find_blocks(void *data, size_t size, size_t blocks[BLOCKS_MAX])
{
    static unsigned char resident[BLOCK_BYTES / PAGE_BYTES];
    uint64_t random = 0x9e3779b97f4a7c15u, seen = 0;
    for (size_t at = 0; at + BLOCK_BYTES <= size; at += BLOCK_BYTES) {
        bool absent = mincore((char *)data + at, BLOCK_BYTES, resident) == 0;
        for (size_t i = 0; absent && i < sizeof resident; i++)
            absent = !(resident[i] & 1);
        if (!absent) continue;
        /* Each has the same chance to stay. */
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        const uint64_t place = random % ++seen;
        if (seen <= BLOCKS_MAX) blocks[seen - 1] = at;
        if (seen > BLOCKS_MAX && place < BLOCKS_MAX) blocks[place] = at;
        if (seen <= BLOCKS_MAX && place < seen - 1) {
            const size_t other = blocks[place];
            blocks[place] = at;
            blocks[seen - 1] = other;
        }
    }
    return seen < BLOCKS_MAX ? (uint32_t)seen : BLOCKS_MAX;
}

/* n blocks, of which nothing is in RAM. */
static const char *measure(void *data, size_t size, const size_t *blocks, uint32_t n,
                           tt_disk_rates *r)
{
    const char *why = NULL;
    cpu_set_t cpus;
    if (n < BLOCKS_MIN)
        return size < BLOCKS_MIN * BLOCK_BYTES ? "the file is smaller than 64 MiB"
                                               : "less than 64 MiB of the file are out of RAM";
    int threads = sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? CPU_COUNT(&cpus) : 1;
    if (threads > THREADS_MAX) threads = THREADS_MAX;
    for (unsigned i = 0; i < TT_DISK_MAPPED && !why; i++) {
        walk w = {.data = data,
                  .size = size,
                  .blocks = blocks + i * (n / TT_DISK_MAPPED),
                  .n = n / TT_DISK_MAPPED,
                  .threads = (uint32_t)threads};
        tt_disk_cell *c = &r->cells[r->n - TT_DISK_MAPPED + i];
        c->depth = (uint32_t)threads;
        why = measure_cell(&w, r, i);
    }
    return why;
}

void tt_disk_measure_mapped(const char *path, tt_disk_rates *r)
{
    size_t blocks[BLOCKS_MAX];
    const size_t size = (size_t)r->file_bytes;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    void *data = fd >= 0 ? mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    r->mapped_unknown = "it cannot be mapped";
    for (unsigned i = 0; i < TT_DISK_MAPPED; i++) {
        r->cells[r->n - TT_DISK_MAPPED + i].request_bytes = range_bytes[i];
        r->cells[r->n - TT_DISK_MAPPED + i].depth = 1;
    }
    if (data != MAP_FAILED) {
        struct sigaction action = {.sa_sigaction = cut, .sa_flags = SA_SIGINFO};
        mapping.begin = (uintptr_t)data;
        mapping.end = mapping.begin + size;
        (void)sigaction(SIGBUS, &action, &mapping.before);
        /* As llama.cpp asks for: it doubles the window. */
        (void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
        const uint32_t n = find_blocks(data, size, blocks);
        r->mapped_unknown = measure(data, size, blocks, n, r);
        (void)munmap(data, size);
        (void)sigaction(SIGBUS, &mapping.before, NULL);
        /* The kernel keeps what is mapped. */
        for (uint32_t i = 0; i < n; i++)
            (void)posix_fadvise(fd, (off_t)blocks[i], (off_t)BLOCK_BYTES, POSIX_FADV_DONTNEED);
    }
    if (fd >= 0) (void)close(fd);
}
