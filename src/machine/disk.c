#include "machine/disk.h"

#include "base/clock.h"
#include "base/order.h"
#include "base/threads.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define ALIGN_BYTES 4096u
#define HUGE_BYTES ((size_t)2 << 20)
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif
#define REQUESTS_MAX 65536u /* per cell: a thread that has done its share stops */
#define SAMPLES 5u
#define SAMPLE_REQUESTS 4u /* a sample must have at least so many, on average */

static const uint64_t sizes[TT_DISK_SIZES] = {4096, 16384, 65536, 131072, 262144, 1048576, 4194304};
static const uint32_t depths[TT_DISK_DEPTHS] = {1, 2, 4, 8, 16, 32};
#define DEPTH_MAX 32u
#define DEPTH_DEEP 4u /* the disk has enough to do */
/* Requests read into it one after the other, so that no cache holds what is written: weights land
 * in memory that was not used lately, and a disk (or the host of a virtual one) that writes into a
 * cache is faster. For DEPTH_MAX of the largest requests at a time. */
#define DATA_BYTES ((size_t)128 << 20)

typedef struct request {
    uint64_t end_ns, took_ns;
} request;

typedef struct job {
    int fd;
    uint64_t file_bytes;
    uint8_t *data; /* DATA_BYTES */
    bool is_random;
    uint64_t request_bytes;
    uint64_t begin_ns, until_ns;
    atomic_uint_fast64_t next; /* next request, in file order */
    uint64_t requests_max;
    atomic_int gate;  /* 0: wait; 1: start; -1: end */
    atomic_int error; /* errno of a failed read */
} job;

typedef struct worker {
    job *job;
    pthread_t thread;
    uint64_t random;
    request *done; /* of `room` */
    uint32_t n, room;
} worker;

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* False at the end of the range to read. */
static bool read_one(worker *w)
{
    job *j = w->job;
    const uint64_t blocks = j->file_bytes / j->request_bytes;
    const uint64_t number = atomic_fetch_add(&j->next, 1);
    const uint64_t begin = tt_clock_ns(CLOCK_MONOTONIC);
    if (number >= j->requests_max || begin >= j->until_ns || w->n == w->room) return false;
    const uint64_t block = (j->is_random ? next_random(&w->random) : number) % blocks;
    uint8_t *data = j->data + number * j->request_bytes % DATA_BYTES;
    const ssize_t n = pread(j->fd, data, j->request_bytes, (off_t)(block * j->request_bytes));
    if (n != (ssize_t)j->request_bytes) {
        /* A short read: the file has been truncated. */
        atomic_store(&j->error, n < 0 ? errno : EIO);
        return false;
    }
    const uint64_t end = tt_clock_ns(CLOCK_MONOTONIC);
    w->done[w->n++] = (request){end, end - begin};
    return true;
}

static void *work(void *arg)
{
    worker *w = arg;
    int gate;
    while ((gate = atomic_load(&w->job->gate)) == 0)
        (void)sched_yield();
    while (gate > 0 && read_one(w)) {
    }
    return NULL;
}

/* --- results of the requests --- */

/* Spreads a request's bytes over the samples during which it was active. */
static void spread(const request *q, uint64_t begin_ns, double part, const tt_disk_cell *c,
                   double read[SAMPLES])
{
    const double end = (double)(q->end_ns - begin_ns);
    const double begin = q->took_ns < q->end_ns - begin_ns ? end - (double)q->took_ns : 0;
    for (uint32_t k = 0; k < c->samples; k++) {
        const double from = begin > part * k ? begin : part * k;
        const double to = end < part * (k + 1) ? end : part * (k + 1);
        if (to > from) read[k] += (double)c->request_bytes * (to - from) / (end - begin);
    }
}

/* Sets the median of bytes per second over equal parts of the time, or, with few requests, over
 * all of it. */
static void set_rate(const worker *w, uint32_t threads, tt_disk_cell *c)
{
    const job *j = w->job;
    uint64_t last = j->begin_ns;
    double read[SAMPLES] = {0};
    for (uint32_t t = 0; t < threads; t++)
        if (w[t].n && w[t].done[w[t].n - 1].end_ns > last) last = w[t].done[w[t].n - 1].end_ns;
    /* Count until the first thread ends, because later fewer requests are active. */
    uint64_t end = last;
    for (uint32_t t = 0; t < threads; t++)
        if (w[t].n && w[t].done[w[t].n - 1].end_ns < end) end = w[t].done[w[t].n - 1].end_ns;
    c->samples = c->requests >= (uint64_t)SAMPLES * SAMPLE_REQUESTS * threads ? SAMPLES : 1;
    if (c->samples == 1) end = last;
    const double part = (double)(end - j->begin_ns) / c->samples;
    if (part <= 0) return;
    for (uint32_t t = 0; t < threads; t++)
        for (uint32_t i = 0; i < w[t].n; i++)
            spread(&w[t].done[i], j->begin_ns, part, c, read);
    c->bytes_per_s = tt_median(read, c->samples) / part * 1e9;
    if (c->bytes_per_s > 0) return;
    /* On a busy machine most parts may have passed without this process. */
    c->bytes_per_s = (double)(c->requests * c->request_bytes) / (double)(last - j->begin_ns) * 1e9;
    c->samples = 1;
}

static bool summarize(const worker *w, uint32_t threads, tt_disk_cell *c)
{
    uint32_t n = 0;
    for (uint32_t t = 0; t < threads; t++)
        n += w[t].n;
    c->requests = n;
    if (n == 0) return true;
    double *took = malloc(n * sizeof *took);
    if (!took) return false;
    n = 0;
    for (uint32_t t = 0; t < threads; t++)
        for (uint32_t i = 0; i < w[t].n; i++)
            took[n++] = (double)w[t].done[i].took_ns;
    c->latency_ns = tt_median(took, n);
    c->latency_p99_ns = took[(uint64_t)(n - 1) * 99 / 100];
    free(took);
    set_rate(w, threads, c);
    return true;
}

/* --- cells --- */

static tt_status no_thread(uint32_t depth, tt_error *err)
{
    return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "cannot start %u threads", depth);
}

static tt_status measure_cell(job *j, worker *w, tt_disk_cell *c, tt_error *err)
{
    uint32_t started = 0;
    atomic_store(&j->gate, 0);
    atomic_store(&j->next, 0);
    j->is_random = c->is_random;
    j->request_bytes = c->request_bytes;
    j->requests_max = TT_DISK_CELL_BYTES / c->request_bytes;
    for (; started < c->depth; started++) {
        w[started].n = 0;
        w[started].room = REQUESTS_MAX / c->depth;
        if (pthread_create(&w[started].thread, NULL, work, &w[started]) != 0) break;
    }
    j->begin_ns = tt_clock_ns(CLOCK_MONOTONIC);
    j->until_ns = j->begin_ns + TT_DISK_CELL_NS;
    atomic_store(&j->gate, started == c->depth ? 1 : -1);
    for (uint32_t t = 0; t < started; t++)
        (void)pthread_join(w[t].thread, NULL);
    if (started < c->depth) return no_thread(c->depth, err);
    if (!summarize(w, c->depth, c)) return no_thread(c->depth, err);
    const int problem = atomic_load(&j->error);
    return problem
               ? tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "reading failed: %s", strerror(problem))
               : TT_OK;
}

/* Without O_DIRECT where the file system lacks it; some report that only at the first read. */
static int open_file(const char *path, bool *is_direct)
{
    void *data = NULL;
    *is_direct = false;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_DIRECT | O_NONBLOCK);
    if (fd < 0 && errno != EINVAL) return -1;
    if (fd >= 0 && posix_memalign(&data, ALIGN_BYTES, ALIGN_BYTES) == 0) {
        *is_direct = pread(fd, data, ALIGN_BYTES, 0) >= 0 || errno != EINVAL;
        free(data);
    }
    if (*is_direct) return fd;
    if (fd >= 0) (void)close(fd);
    return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

/* A disk may read into scattered pages at half the rate: each is a piece of the request. */
static uint8_t *new_data(void)
{
    void *data = NULL;
    if (posix_memalign(&data, HUGE_BYTES, DATA_BYTES) != 0) return NULL;
    (void)madvise(data, DATA_BYTES, MADV_HUGEPAGE);
    memset(data, 0, DATA_BYTES);
    (void)madvise(data, DATA_BYTES, MADV_COLLAPSE);
    return data;
}

static void list_cells(tt_disk_rates *r)
{
    for (unsigned random = 0; random < 2; random++)
        for (unsigned s = 0; s < TT_DISK_SIZES; s++)
            for (unsigned d = 0; d < TT_DISK_DEPTHS; d++)
                r->cells[r->n++] = (tt_disk_cell){
                    .is_random = random != 0, .request_bytes = sizes[s], .depth = depths[d]};
    for (unsigned i = 0; i < TT_DISK_MAPPED; i++)
        r->cells[r->n++] = (tt_disk_cell){.is_random = true, .is_mapped = true};
}

/* On a slow disk, cells with many or large requests exceed their time, so they come last. */
static tt_status measure_all(job *j, worker *w, tt_disk_rates *r, tt_error *err)
{
    const uint64_t begin = tt_clock_ns(CLOCK_MONOTONIC);
    tt_status status = TT_OK;
    for (unsigned step = 0; step < TT_DISK_SIZES + TT_DISK_DEPTHS && status == TT_OK; step++)
        for (uint32_t i = 0; i < r->n && status == TT_OK; i++) {
            const uint32_t in_order = i % (TT_DISK_SIZES * TT_DISK_DEPTHS);
            tt_disk_cell *c = &r->cells[i];
            if (c->is_mapped) continue;
            if (in_order / TT_DISK_DEPTHS + in_order % TT_DISK_DEPTHS != step) continue;
            if (c->request_bytes > r->file_bytes) continue;
            if (tt_clock_ns(CLOCK_MONOTONIC) - begin >= TT_DISK_TOTAL_NS) continue;
            if (r->read_bytes + TT_DISK_CELL_BYTES > TT_DISK_READ_BYTES_MAX) continue;
            status = measure_cell(j, w, c, err);
            r->read_bytes += c->requests * c->request_bytes;
        }
    r->took_ns = (double)(tt_clock_ns(CLOCK_MONOTONIC) - begin);
    return status;
}

static tt_status check_file(int fd, tt_disk_rates *r, tt_error *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0) return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "%s", strerror(errno));
    if (!S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode))
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "not a file or a block device");
    const off_t end = lseek(fd, 0, SEEK_END);
    r->file_bytes = end > 0 ? (uint64_t)end : 0;
    if (r->file_bytes < sizes[0])
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                            "too small to measure with: name a file of 4 KiB or more, best of "
                            "1 GiB or more");
    return TT_OK;
}

tt_status tt_disk_measure(const char *path, tt_disk_rates *r, tt_error *err)
{
    job j = {.until_ns = 0};
    worker w[DEPTH_MAX] = {{0}};
    const size_t share = REQUESTS_MAX * sizeof *w->done;
    memset(r, 0, sizeof *r);
    list_cells(r);
    j.fd = open_file(path, &r->is_direct);
    if (j.fd < 0) return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "%s", strerror(errno));
    tt_status status = check_file(j.fd, r, err);
    j.file_bytes = r->file_bytes;
    if (status == TT_OK && !(j.data = new_data()))
        status = tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory for %u requests of 4 MiB",
                              DEPTH_MAX);
    for (uint32_t t = 0; t < DEPTH_MAX && status == TT_OK; t++) {
        w[t].job = &j;
        /* xorshift seeds must not be 0, and must differ between threads. */
        w[t].random = 0x9e3779b97f4a7c15u * (t + 1);
        /* Thread t only runs at depths above t, so REQUESTS_MAX / (t + 1) is its most. */
        w[t].done = malloc(share / (t + 1));
        if (!w[t].done) status = no_thread(DEPTH_MAX, err);
    }
    if (status == TT_OK) status = measure_all(&j, w, r, err);
    if (status == TT_OK) tt_disk_measure_mapped(path, r);
    for (uint32_t t = 0; t < DEPTH_MAX; t++)
        free(w[t].done);
    free(j.data);
    (void)close(j.fd);
    return status;
}

static const tt_disk_cell *cell_of(const tt_disk_rates *r, bool is_random, uint64_t size,
                                   uint32_t depth)
{
    for (uint32_t i = 0; i < r->n; i++) {
        const tt_disk_cell *c = &r->cells[i];
        if (!c->is_mapped && c->is_random == is_random && c->request_bytes == size &&
            c->depth == depth && c->bytes_per_s > 0)
            return c;
    }
    return NULL;
}

/* Of cells of this order and size with many requests at a time, the median; 0: there are none. */
static double deep_rate(const tt_disk_rates *r, const tt_disk_cell *like)
{
    double rates[TT_DISK_DEPTHS];
    uint32_t n = 0;
    for (unsigned d = 0; d < TT_DISK_DEPTHS; d++) {
        const tt_disk_cell *c = cell_of(r, like->is_random, like->request_bytes, depths[d]);
        if (c && c->depth >= DEPTH_DEEP) rates[n++] = c->bytes_per_s;
    }
    return n ? tt_median(rates, n) : 0;
}

/* The rate of the order and size that is fastest; not the fastest cell, which is so by chance. */
static double best_rate(const tt_disk_rates *r)
{
    double best = 0, any = 0;
    for (uint32_t i = 0; i < r->n; i++) {
        if (r->cells[i].is_mapped) continue;
        best = fmax(best, deep_rate(r, &r->cells[i]));
        any = fmax(any, r->cells[i].bytes_per_s);
    }
    return best > 0 ? best : any;
}

bool tt_disk_fit_requests(const tt_disk_rates *r, tt_disk_fit *fit)
{
    const tt_disk_cell *one = cell_of(r, true, sizes[0], 1);
    const tt_disk_cell *many = cell_of(r, true, sizes[0], DEPTH_MAX);
    if (!one || !many) return false;
    const double best = best_rate(r);
    const double size = (double)sizes[0], bytes_ns = size / best * 1e9;
    const double each_ns = size / many->bytes_per_s * 1e9, alone_ns = size / one->bytes_per_s * 1e9;
    *fit = (tt_disk_fit){best, alone_ns > each_ns ? alone_ns - each_ns : 0, each_ns - bytes_ns};
    return true;
}

bool tt_disk_fit_mapped(const tt_disk_rates *r, tt_disk_fit *fit)
{
    double bytes = 0, ns = 0, ranges = 0;
    tt_disk_fit requests = {0};
    if (r->mapped_unknown) return false;
    for (unsigned i = 0; i < TT_DISK_MAPPED; i++) {
        bytes += r->mapped_bytes[i];
        ns += r->mapped_ns[i];
        ranges += (double)r->cells[r->n - TT_DISK_MAPPED + i].requests;
    }
    /* Ranges are far apart: each waits for its first request. */
    (void)tt_disk_fit_requests(r, &requests);
    const double latency_ns = fmin(requests.latency_ns, ns / ranges / 2);
    *fit = (tt_disk_fit){bytes / (ns - ranges * latency_ns) * 1e9, latency_ns, 0};
    return true;
}

#define BLOCK_BYTES ((size_t)4 << 20)
#define BLOCKS_MAX 128u
#define BLOCKS_MIN 16u
#define PIECE_BYTES ((size_t)64 << 10) /* read by a thread at a time, like the rows of a matrix */
#define PAGE_BYTES ((size_t)4096)
#define THREADS_MAX 64
#define CELL_NS 250000000u
/* The surroundings of the last range, which contain the last request; and how long nothing arrives
 * once everything has. */
#define NEAR_BYTES ((size_t)64 << 20)
#define QUIET_NS 20000000u

static const size_t range_bytes[TT_DISK_MAPPED] = {(size_t)1 << 20, BLOCK_BYTES};

/* Reads a range at the start of each block. */
typedef struct walk {
    const volatile uint8_t *data;
    size_t size;
    const size_t *blocks;
    uint32_t n;
    size_t range;
    uint32_t threads;
    uint64_t begin_ns;
    atomic_int gate;    /* 0: wait; 1: go; -1: stop */
    atomic_size_t next; /* next piece of the range */
    tt_barrier barrier; /* spins: its cost for the reading is part of the measurement */
    atomic_bool over;
    uint32_t done; /* ranges; the first thread's */
} walk;

static void touch(walk *w, bool is_first)
{
    for (uint32_t i = 0; i < w->n && !atomic_load(&w->over); i++) {
        const volatile uint8_t *range = w->data + w->blocks[i];
        for (size_t at; (at = atomic_fetch_add(&w->next, PIECE_BYTES)) < w->range;)
            for (size_t k = 0; k < PIECE_BYTES; k += PAGE_BYTES)
                (void)range[at + k];
        tt_barrier_wait(&w->barrier, w->threads);
        if (is_first) {
            w->done = i + 1;
            atomic_store(&w->next, 0);
            if (tt_clock_ns(CLOCK_MONOTONIC) - w->begin_ns >= CELL_NS) atomic_store(&w->over, true);
        }
        tt_barrier_wait(&w->barrier, w->threads);
    }
}

static void *walk_pages(void *arg)
{
    walk *w = arg;
    int gate;
    while ((gate = atomic_load(&w->gate)) == 0)
        (void)sched_yield();
    if (gate > 0) touch(w, false);
    return NULL;
}

/* Bytes that the kernel read from disks for this process, readahead included; -1: unknown. */
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

/* False if not all threads could be started. */
static bool run(walk *w)
{
    pthread_t threads[THREADS_MAX];
    uint32_t started = 1; /* this one */
    while (started < w->threads && pthread_create(&threads[started], NULL, walk_pages, w) == 0)
        started++;
    const bool all = started == w->threads;
    w->begin_ns = tt_clock_ns(CLOCK_MONOTONIC);
    atomic_store(&w->gate, all ? 1 : -1);
    if (all) touch(w, true);
    for (uint32_t i = 1; i < started; i++)
        (void)pthread_join(threads[i], NULL);
    return all;
}

/* When everything requested has arrived: the kernel counts bytes when it requests them, and it
 * reads far ahead. */
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

static const char *measure_mapped(walk *w, tt_disk_rates *r, unsigned i)
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

/* If the file is truncated, missing pages are read as zero. */
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

/* Up to BLOCKS_MAX blocks without a page in RAM, in a random order. */
static uint32_t find_blocks(void *data, size_t size, size_t blocks[BLOCKS_MAX])
{
    static unsigned char resident[BLOCK_BYTES / PAGE_BYTES];
    uint64_t random = 0x9e3779b97f4a7c15u, seen = 0;
    for (size_t at = 0; at + BLOCK_BYTES <= size; at += BLOCK_BYTES) {
        bool absent = mincore((char *)data + at, BLOCK_BYTES, resident) == 0;
        for (size_t i = 0; absent && i < sizeof resident; i++)
            absent = !(resident[i] & 1);
        if (!absent) continue;
        /* Each has the same probability. */
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

/* n blocks without pages in RAM. */
static const char *measure(void *data, size_t size, const size_t *blocks, uint32_t n,
                           tt_disk_rates *r)
{
    const char *why = NULL;
    if (n < BLOCKS_MIN)
        return size < BLOCKS_MIN * BLOCK_BYTES ? "the file is smaller than 64 MiB"
                                               : "less than 64 MiB of the file are out of RAM";
    uint32_t threads = tt_processors();
    if (threads > THREADS_MAX) threads = THREADS_MAX;
    for (unsigned i = 0; i < TT_DISK_MAPPED && !why; i++) {
        walk w = {.data = data,
                  .size = size,
                  .blocks = blocks + i * (n / TT_DISK_MAPPED),
                  .n = n / TT_DISK_MAPPED,
                  .threads = threads};
        tt_disk_cell *c = &r->cells[r->n - TT_DISK_MAPPED + i];
        c->depth = (uint32_t)threads;
        why = measure_mapped(&w, r, i);
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
        /* Like llama.cpp: it doubles the window. */
        (void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
        const uint32_t n = find_blocks(data, size, blocks);
        r->mapped_unknown = measure(data, size, blocks, n, r);
        (void)munmap(data, size);
        (void)sigaction(SIGBUS, &mapping.before, NULL);
        /* The kernel does not evict mapped pages. */
        for (uint32_t i = 0; i < n; i++)
            (void)posix_fadvise(fd, (off_t)blocks[i], (off_t)BLOCK_BYTES, POSIX_FADV_DONTNEED);
    }
    if (fd >= 0) (void)close(fd);
}
