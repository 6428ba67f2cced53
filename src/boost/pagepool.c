#include "boost/pagepool.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "boost/mapping.h"
#include "boost/slots.h"
#include "boost/uring.h"
#include "policy/policy.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define REGIONS_MAX 64u
#define READERS_MAX 64u
#define FLIGHTS_MAX TT_POLICY_READS_MAX /* simultaneous reads of an io_uring */
#define FLIGHTS_SOON 4u                 /* of them only for chosen experts */
#define HOLES_MAX 16u
#define UNITS_MAX (1u << 20)
#define UNITS_STEP (1u << 12) /* memory for so many at a time */
#define STACK_BYTES (128u << 10)
#define SPIN_NS 50000u    /* for the lock, before the thread sleeps */
#define RETRIES_MAX 1000u /* of a read, one after another */
#define SETTLED_NS 1000000000u
#define READS_MAX (1u << 16) /* kept until they are taken */
#define PLACES_PART 6u       /* share of the mappings that the kernel allows a process */
#define PLACES_UNKNOWN 65530u

typedef struct range {
    uint64_t first, last; /* pages of a region, end exclusive */
} range;

typedef struct region {
    uint8_t *at; /* NULL: the slot is free */
    uint64_t n_pages;
    uint64_t offset; /* in the file */
    int fd, direct;  /* direct -1: not supported by the file system */
    struct stat was;
    uint32_t loading;    /* active reads */
    bool closed;         /* no more reads */
    uint64_t changed_ns; /* when the file was last seen to change; 0: it has not */
    bool gone;           /* all unmapped */
    range hole[HOLES_MAX];
    uint32_t n_holes;
    uint8_t *edges, *edges_there; /* one bit per page: shared by two units; present in our memory */
} region;

/* Written under the lock, except what waiting threads write. */
typedef struct unit {
    range all, inner; /* inner: the pages that are not edges */
    uint32_t region;
    uint32_t next, before; /* in its queue */
    _Atomic uint8_t state;
    bool discard;         /* once it has been read */
    bool moved;           /* its memory's pages to its place */
    uint8_t cause;        /* enum tt_read_cause, of its last request */
    _Atomic bool awaited; /* a thread waits for it, or is about to */
    _Atomic uint16_t waiters;
    _Atomic uint32_t first_waiter;  /* thread */
    _Atomic uint64_t awaited_ticks; /* since when; 0: no one waits */
    uint64_t requested_ticks;
    uint32_t group;
    uint64_t member_at; /* offset in the group's memory */
} unit;

/* Chosen experts are read before everything that is read ahead, which may have to wait. */
typedef struct queue {
    uint32_t first, last; /* units, or TT_NONE */
} queue;

enum { SOON = 0, AHEAD, QUEUES };

/* Units that are loaded and evicted together, in one piece of memory; most have one. */
typedef struct group {
    uint32_t last; /* unit */
    uint64_t bytes;
    tt_slot memory;
    uint32_t users; /* units that are loading or present in it; 0: it has none */
    bool lost;      /* nothing is read into it any more */
} group;

struct tt_pagepool {
    pthread_mutex_t lock;
    pthread_cond_t work, done; /* done: nothing is being loaded */
    _Atomic uint32_t wakes;    /* futex of the threads that wait for units */
    pthread_t readers[READERS_MAX];
    uint32_t n_readers;
    tt_uring uring;  /* of the only reader, unless its fd is -1 */
    int alarm;       /* eventfd: there is something to read; -1: no io_uring */
    uint64_t alarms; /* read from it */
    bool sleeps;     /* the reader waits for active reads, or for the alarm */
    bool ending;
    bool is_child;
    tt_slots *slots;
    region regions[REGIONS_MAX];
    uint32_t n_regions;
    unit *units; /* addresses for UNITS_MAX: threads that wait for one read it without the lock */
    uint32_t n_units, units_room;
    group *groups;
    uint32_t n_groups, groups_capacity;
    queue queues[QUEUES];
    uint32_t under_way;                                 /* queued and loading */
    uint32_t n_reading;                                 /* of them, given to the disk */
    uint64_t burst_bytes, burst_begin_ns, burst_end_ns; /* since there were none */
    uint64_t edge_bytes;
    uint64_t places, places_max; /* pieces of our memory, each a mapping of the kernel's */
    uint64_t deaths;
    _Atomic uint64_t bytes;      /* part of report.pool_bytes */
    _Atomic uint64_t read_bytes; /* part of report.read_bytes */
    _Atomic uintptr_t low, high; /* around all regions */
    tt_boost_report *report;
    tt_pagepool_read *reads; /* since they were last taken; NULL and no capacity: not kept */
    uint32_t n_reads, reads_capacity;
    uint64_t reads_lost;
    _Atomic bool keeps_reads;
    uint64_t stream_bytes; /* read ahead at once, at most */
};

static bool bit(const uint8_t *bits, uint64_t i)
{
    return bits[i / 8] >> (i % 8) & 1;
}

static void set_bit(uint8_t *bits, uint64_t i)
{
    bits[i / 8] |= (uint8_t)(1u << i % 8);
}

bool tt_pagepool_try_lock(tt_pagepool *p)
{
    return pthread_mutex_trylock(&p->lock) == 0;
}

/* Spins for a moment first: a thread that sleeps may be woken on a processor on which another one
 * spins at the engine's barrier, and has to wait for the kernel's next tick. */
void tt_pagepool_lock(tt_pagepool *p)
{
    uint64_t until = 0;
    while (!tt_pagepool_try_lock(p)) {
        const uint64_t now = tt_clock_ns(CLOCK_MONOTONIC);
        if (!until) until = now + SPIN_NS;
        if (now < until) continue;
        (void)pthread_mutex_lock(&p->lock);
        return;
    }
}

void tt_pagepool_unlock(tt_pagepool *p)
{
    (void)pthread_mutex_unlock(&p->lock);
}

static bool ring(tt_pagepool *p)
{
    const uint64_t one = 1;
    return write(p->alarm, &one, sizeof one) == sizeof one;
}

static void add_bytes(tt_pagepool *p, uint64_t n)
{
    (void)atomic_fetch_add(&p->bytes, n);
    uint64_t now = atomic_fetch_add(&p->report->pool_bytes, n) + n;
    uint64_t peak = atomic_load(&p->report->pool_peak_bytes);
    while (now > peak && !atomic_compare_exchange_weak(&p->report->pool_peak_bytes, &peak, now)) {
    }
}

static void take_bytes(tt_pagepool *p, uint64_t n)
{
    (void)atomic_fetch_sub(&p->bytes, n);
    (void)atomic_fetch_sub(&p->report->pool_bytes, n);
}

/* --- units at their addresses --- */

static uint64_t pages_of(range r)
{
    return r.last - r.first;
}

static uint64_t inner_bytes(const unit *u)
{
    return pages_of(u->inner) * TT_PAGEPOOL_PAGE;
}

/* Maps the file's pages at these addresses again. */
static bool show_file(tt_pagepool *p, const region *r, range pages)
{
    uint8_t *at = r->at + pages.first * TT_PAGEPOOL_PAGE;
    const uint64_t n = pages_of(pages) * TT_PAGEPOOL_PAGE;
    if (tt_map(at, n, PROT_READ, MAP_SHARED | MAP_FIXED, r->fd,
               r->offset + pages.first * TT_PAGEPOOL_PAGE) == at)
        return true;
    atomic_fetch_add(&p->report->failed_places, 1);
    return false;
}

static uint8_t *inner_at(const tt_pagepool *p, const unit *u)
{
    return p->regions[u->region].at + u->inner.first * TT_PAGEPOOL_PAGE;
}

static bool has_places(tt_pagepool *p)
{
    if (p->places < p->places_max) return true;
    tt_boost_report_problem(p->report, "the kernel allows this process too few mappings "
                                       "(vm.max_map_count): some weights are left to its paging");
    return false;
}

/* Shows the unit's memory instead of the file's pages. On failure these are unchanged. */
static bool show_ours(tt_pagepool *p, unit *u)
{
    const region *r = &p->regions[u->region];
    if (!has_places(p)) return false;
    const tt_slot_shown how = tt_slots_show(p->slots, &p->groups[u->group].memory, u->member_at,
                                            inner_at(p, u), pages_of(u->inner) * TT_PAGEPOOL_PAGE);
    u->moved = how == TT_SLOT_MOVED;
    if (how != TT_SLOT_UNKNOWN) {
        p->places++;
        return true;
    }
    atomic_fetch_add(&p->report->failed_places, 1);
    (void)show_file(p, r, u->inner);
    return false;
}

/* The file's pages instead of the unit's memory. False: that is still there. */
static bool hide_ours(tt_pagepool *p, unit *u)
{
    group *g = &p->groups[u->group];
    if (u->moved)
        g->lost |= !tt_slots_take_back(p->slots, &g->memory, u->member_at, inner_at(p, u),
                                       pages_of(u->inner) * TT_PAGEPOOL_PAGE);
    u->moved = false;
    return show_file(p, &p->regions[u->region], u->inner);
}

/* The same for pages of their own, which the caller no longer owns. */
static bool show_edges(tt_pagepool *p, const region *r, range pages, uint8_t *staging)
{
    uint8_t *at = r->at + pages.first * TT_PAGEPOOL_PAGE;
    const uint64_t n = pages_of(pages) * TT_PAGEPOOL_PAGE;
    if (!has_places(p) || syscall(SYS_mprotect, staging, n, PROT_READ) != 0) {
        tt_unmap(staging, n);
        return false;
    }
    if ((void *)syscall(SYS_mremap, staging, n, n, MREMAP_MAYMOVE | MREMAP_FIXED, at) == at) {
        p->places++;
        return true;
    }
    atomic_fetch_add(&p->report->failed_places, 1);
    /* The kernel may have unmapped the file's pages before it failed. Whether staging still exists
     * is unknown, and another thread may have memory there by now: rather leak ours than free
     * theirs. */
    (void)show_file(p, r, pages);
    return false;
}

/* Places the pages of `part` that are not in our memory yet; they are never evicted. staging: of
 * the first one. */
static void place_edges(tt_pagepool *p, region *r, range part, uint8_t *staging)
{
    for (uint64_t i = part.first, end; i < part.last; i = end) {
        for (end = i; end < part.last && !bit(r->edges_there, end); end++) {
        }
        const range new = {i, end};
        uint8_t *from = staging + (i - part.first) * TT_PAGEPOOL_PAGE;
        if (i == end) {
            tt_unmap(from, TT_PAGEPOOL_PAGE);
            end++;
            continue;
        }
        if (!show_edges(p, r, new, from)) continue;
        add_bytes(p, pages_of(new) * TT_PAGEPOOL_PAGE);
        for (uint64_t k = new.first; k < new.last; k++)
            set_bit(r->edges_there, k);
    }
}

/* False: it stays as it was. */
static bool lay(tt_pagepool *p, unit *u, range read, uint8_t *edges)
{
    region *r = &p->regions[u->region];
    const range before = {read.first, u->inner.first < read.last ? u->inner.first : read.last};
    const range after = {u->inner.last > read.first ? u->inner.last : read.first, read.last};
    const bool ok = !pages_of(u->inner) || show_ours(p, u);
    if (before.first < before.last) place_edges(p, r, before, edges);
    if (pages_of(u->inner) && after.first < after.last)
        place_edges(p, r, after, edges + (before.last - before.first) * TT_PAGEPOOL_PAGE);
    return ok;
}

/* The part of the unit that has to be read: without edges that are present. */
static range missing(const region *r, const unit *u)
{
    range m = u->all;
    while (m.first < u->inner.first && bit(r->edges_there, m.first))
        m.first++;
    while (m.last > u->inner.last && m.last > m.first && bit(r->edges_there, m.last - 1))
        m.last--;
    return m;
}

/* --- reading --- */

/* The read of a unit. */
typedef struct flight {
    uint32_t unit;
    range pages;
    const region *region;
    tt_slot memory;        /* its group's; at NULL: none */
    uint8_t *edges;        /* pages of their own, first those before the others */
    struct iovec parts[3]; /* edges, the others, edges */
    struct iovec left[3];  /* what is not read yet */
    uint64_t bytes, offset;
    uint64_t wanted; /* bytes, without those after the file's end */
    uint64_t done;
    uint32_t retries; /* since bytes were last read */
    uint64_t begin_ticks, begin_ns, end_ns;
    bool reading; /* counted in n_reading */
    bool direct;
    bool fills; /* the memory, which is fresh */
    enum outcome { READ_WHOLE, READ_FAILED, READ_NO_MEMORY, READ_CHANGED } how;
} flight;

static int fd_of(const flight *f)
{
    return f->direct ? f->region->direct : f->region->fd;
}

static bool is_over(const flight *f)
{
    return f->how != READ_WHOLE || f->done >= f->wanted;
}

static bool has_failed(const flight *f)
{
    return f->how == READ_FAILED || f->how == READ_NO_MEMORY;
}

/* Processes the result of a system call: `got` bytes read, or failed with -got. True: there is
 * nothing more to read. */
static bool step(flight *f, ssize_t got)
{
    if ((got == -EINTR || got == -EAGAIN) && ++f->retries < RETRIES_MAX) return false;
    if (got == -EINVAL && f->direct) {
        f->direct = false; /* a file system that opens such files but cannot read them */
        return false;
    }
    if (got <= 0) {
        f->how = got == -ENOMEM || got == -EFAULT ? READ_NO_MEMORY : READ_FAILED;
        return true;
    }
    f->retries = 0;
    f->done += (uint64_t)got;
    /* After a short read inside the file: direct reads need whole pages. */
    if (f->done % TT_PAGEPOOL_PAGE) f->direct = false;
    f->end_ns = tt_clock_ns(CLOCK_MONOTONIC);
    return is_over(f);
}

/* Where the next system call reads to; the number of parts. */
static uint32_t left_of(flight *f)
{
    uint64_t done = f->done;
    uint32_t n = 0;
    for (uint32_t i = 0; i < 3; i++) {
        const uint64_t skip = done < f->parts[i].iov_len ? done : f->parts[i].iov_len;
        done -= skip;
        if (skip == f->parts[i].iov_len) continue;
        f->left[n++] =
            (struct iovec){(uint8_t *)f->parts[i].iov_base + skip, f->parts[i].iov_len - skip};
    }
    return n;
}

/* Past the C library, so that tools that watch its calls do not assume the old content. */
static void read_all(flight *f)
{
    ssize_t got;
    do {
        const uint32_t n = left_of(f);
        got = (ssize_t)syscall(SYS_preadv, fd_of(f), f->left, n, f->offset + f->done, 0);
    } while (!step(f, got < 0 ? -errno : got));
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec && a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
           a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static bool is_same_file(const region *r)
{
    struct stat now;
    return fstat(r->fd, &now) == 0 && is_same(&now, &r->was);
}

/* The memory of the unit's group, for one more unit. False: there is none. */
static bool take_memory(tt_pagepool *p, const unit *u, flight *f)
{
    group *g = &p->groups[u->group];
    if (g->lost) return false;
    if (!g->users && !tt_slots_take(p->slots, g->bytes, &g->memory)) return false;
    g->users++;
    f->memory = g->memory;
    f->fills = g->memory.fresh;
    g->memory.fresh = false;
    return true;
}

static void leave_memory(tt_pagepool *p, const unit *u)
{
    group *g = &p->groups[u->group];
    if (--g->users) return;
    if (g->lost)
        tt_slots_lose(p->slots, &g->memory);
    else
        tt_slots_give(p->slots, &g->memory);
    g->lost = false;
}

/* (locked) Where it reads to. False: there is no memory. */
static bool divide_read(tt_pagepool *p, flight *f, const unit *u)
{
    const uint64_t inner = pages_of(u->inner) * TT_PAGEPOOL_PAGE, edges = f->bytes - inner;
    const uint64_t before = inner ? (u->inner.first - f->pages.first) * TT_PAGEPOOL_PAGE : edges;
    if (inner && !take_memory(p, u, f)) return false;
    if (edges) {
        void *at = tt_map(NULL, edges, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (!at) return false;
        f->edges = at;
        f->parts[0] = (struct iovec){f->edges, before};
        f->parts[2] = (struct iovec){f->edges + before, edges - before};
    }
    if (inner) f->parts[1] = (struct iovec){f->memory.at + u->member_at, inner};
    return true;
}

/* Without the lock. False: the file has no such bytes. */
static bool begin_read(flight *f)
{
    const uint64_t size = (uint64_t)f->region->was.st_size;
    if (f->fills) tt_slot_fill(&f->memory);
    f->wanted = f->offset >= size ? 0 : size - f->offset < f->bytes ? size - f->offset : f->bytes;
    f->direct = f->region->direct >= 0;
    /* Memory that was used before holds no zeros where the file has ended; that of edges does. */
    const bool whole =
        !f->parts[1].iov_len || f->wanted >= f->parts[0].iov_len + f->parts[1].iov_len;
    f->how = f->wanted && whole ? READ_WHOLE : READ_FAILED;
    return f->how == READ_WHOLE;
}

/* Without the lock. */
static void end_read(tt_pagepool *p, flight *f)
{
    if (!f->direct && f->how == READ_WHOLE)
        (void)posix_fadvise(f->region->fd, (off_t)f->offset, (off_t)f->bytes, POSIX_FADV_DONTNEED);
    if (f->how == READ_WHOLE && !is_same_file(f->region)) f->how = READ_CHANGED;
    atomic_fetch_add(&p->report->reads, 1);
    atomic_fetch_add(&p->report->read_bytes, f->bytes);
    atomic_fetch_add(&p->read_bytes, f->bytes);
    atomic_fetch_add(&p->report->read_ns, tt_clock_ns(CLOCK_MONOTONIC) - f->begin_ns);
}

/* One call per page: pages in between may not be the region's any more. False: some stay. */
static bool drop_edges(tt_pagepool *p, region *r, range pages)
{
    bool all = true;
    for (uint64_t i = pages.first; i < pages.last; i++) {
        if (!bit(r->edges_there, i)) continue;
        if (!show_file(p, r, (range){i, i + 1})) {
            all = false;
            continue;
        }
        r->edges_there[i / 8] &= (uint8_t) ~(1u << i % 8);
        take_bytes(p, TT_PAGEPOOL_PAGE);
    }
    return all;
}

/* The file has changed. */
static void hand_back(tt_pagepool *p, region *r)
{
    if (r->closed) return;
    tt_boost_report_problem(
        p->report,
        "the model's file was changed: it is left to the kernel's paging; if it keeps its "
        "size, until it has stayed the same for a second");
    r->closed = true;
    r->changed_ns = tt_clock_ns(CLOCK_MONOTONIC);
    atomic_fetch_add(&p->report->handed_back, 1);
    const uint32_t number = (uint32_t)(r - p->regions);
    for (uint32_t i = 0; i < p->n_units; i++)
        if (p->units[i].region == number) tt_pagepool_drop(p, i);
    (void)drop_edges(p, r, (range){0, r->n_pages});
}

static void close_files(region *r)
{
    (void)close(r->fd);
    if (r->direct >= 0) (void)close(r->direct);
    free(r->edges);
    free(r->edges_there);
    r->edges = r->edges_there = NULL;
    r->at = NULL;
}

static void finish(tt_pagepool *p, unit *u, const flight *f)
{
    region *r = &p->regions[u->region];
    r->loading--;
    p->under_way--;
    const bool loading = u->state == TT_UNIT_LOADING;
    const bool wanted = loading && !u->discard && !r->closed && f->how == READ_WHOLE;
    const bool laid = wanted && lay(p, u, f->pages, f->edges);
    if (!wanted) tt_unmap(f->edges, f->parts[0].iov_len + f->parts[2].iov_len);
    if (loading) u->state = laid ? TT_UNIT_PRESENT : TT_UNIT_ABSENT;
    if (loading && !laid) take_bytes(p, inner_bytes(u));
    if (f->memory.at && !laid) leave_memory(p, u);
    u->discard = false;
    if (has_failed(f) && !r->gone) {
        atomic_fetch_add(&p->report->failed_reads, 1);
        tt_boost_report_problem(
            p->report, f->how == READ_FAILED
                           ? "the model's file could not be read; the rest is left to the "
                             "kernel's paging"
                           : "there is no memory to read the model into (do limits of the process "
                             "forbid it?); the rest is left to the kernel's paging");
        r->closed = true;
    }
    if (f->how == READ_CHANGED && !r->gone) hand_back(p, r);
    if (r->gone && !r->loading) close_files(r);
}

static void keep_read(tt_pagepool *p, const unit *u, range pages, uint64_t begin_ticks,
                      uint8_t flags)
{
    if (!p->keeps_reads) return;
    tt_pagepool_read *to =
        p->n_reads < READS_MAX ? tt_array_add(p->reads, p->n_reads, p->reads_capacity) : NULL;
    if (!to) {
        p->reads_lost++;
        return;
    }
    *to = (tt_pagepool_read){.region = u->region,
                             .file_offset_bytes =
                                 p->regions[u->region].offset + pages.first * TT_PAGEPOOL_PAGE,
                             .size_bytes = pages_of(pages) * TT_PAGEPOOL_PAGE,
                             .requested_ticks = u->requested_ticks,
                             .begin_ticks = begin_ticks,
                             .end_ticks = tt_ticks(),
                             .cause = u->cause,
                             .flags = flags};
    /* A thread that is just noting itself has not waited. */
    const uint64_t since = u->awaited_ticks;
    const uint32_t first = u->first_waiter;
    if (!since || !first || since >= to->end_ticks) return;
    to->waiters = u->waiters;
    to->first_waiter = first;
    to->waited_ticks = to->end_ticks - (since > to->requested_ticks ? since : to->requested_ticks);
}

static bool is_soon(uint8_t cause)
{
    return cause == TT_READ_CHOSEN || cause == TT_READ_AT_OP;
}

static queue *queue_of(tt_pagepool *p, const unit *u)
{
    return &p->queues[is_soon(u->cause) ? SOON : AHEAD];
}

static void enqueue(tt_pagepool *p, uint32_t i)
{
    unit *u = &p->units[i];
    queue *q = queue_of(p, u);
    u->next = TT_NONE;
    u->before = q->last;
    *(q->last == TT_NONE ? &q->first : &p->units[q->last].next) = i;
    q->last = i;
}

static void dequeue(tt_pagepool *p, uint32_t i)
{
    const unit *u = &p->units[i];
    queue *q = queue_of(p, u);
    *(u->before == TT_NONE ? &q->first : &p->units[u->before].next) = u->next;
    *(u->next == TT_NONE ? &q->last : &p->units[u->next].before) = u->before;
}

static void empty_queues(tt_pagepool *p)
{
    for (uint32_t k = 0; k < QUEUES; k++)
        p->queues[k] = (queue){TT_NONE, TT_NONE};
}

/* NULL: nothing is queued. */
static queue *first_queue(tt_pagepool *p)
{
    for (uint32_t k = 0; k < QUEUES; k++)
        if (p->queues[k].first != TT_NONE) return &p->queues[k];
    return NULL;
}

static void wake_waiters(tt_pagepool *p)
{
    (void)atomic_fetch_add(&p->wakes, 1);
    (void)syscall(SYS_futex, &p->wakes, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* After the unit's state has changed. */
static void wake(tt_pagepool *p, uint32_t i)
{
    if (atomic_exchange(&p->units[i].awaited, false)) wake_waiters(p);
    if (!p->under_way) (void)pthread_cond_broadcast(&p->done);
}

static void begin_burst(tt_pagepool *p, flight *f)
{
    f->reading = true;
    if (p->n_reading++) return;
    p->burst_bytes = 0;
    p->burst_begin_ns = p->burst_end_ns = tt_clock_ns(CLOCK_MONOTONIC);
}

static void end_burst(tt_pagepool *p, flight *f)
{
    if (!f->reading) return;
    f->reading = false;
    p->burst_bytes += f->done;
    if (f->end_ns > p->burst_end_ns) p->burst_end_ns = f->end_ns;
    if (--p->n_reading) return;
    tt_boost_report_burst(p->report, p->burst_bytes, p->burst_end_ns - p->burst_begin_ns);
}

static void end_load(tt_pagepool *p, flight *f)
{
    end_burst(p, f);
    unit *u = &p->units[f->unit];
    region *r = &p->regions[u->region];
    if (f->bytes) {
        const bool wanted = u->state == TT_UNIT_LOADING && !u->discard && !r->closed;
        keep_read(p, u, f->pages, f->begin_ticks,
                  has_failed(f) ? TT_READ_FAILED
                  : wanted      ? 0
                                : TT_READ_DISCARDED);
        finish(p, u, f);
    } else {
        r->loading--;
        p->under_way--;
        if (u->state == TT_UNIT_LOADING) u->state = u->discard ? TT_UNIT_ABSENT : TT_UNIT_PRESENT;
        u->discard = false;
        if (r->gone && !r->loading) close_files(r);
    }
    wake(p, f->unit);
}

/* Takes the next unit of the queue, which is not empty. Releases the lock for a while. False: it is
 * not read (any more). */
static bool begin_load(tt_pagepool *p, queue *q, flight *f)
{
    const uint32_t i = q->first;
    unit *u = &p->units[i];
    region *r = &p->regions[u->region];
    if (r->closed) {
        tt_pagepool_drop(p, i);
        return false;
    }
    dequeue(p, i);
    const range pages = missing(r, u);
    *f = (flight){.unit = i,
                  .pages = pages,
                  .region = r,
                  .bytes = pages_of(pages) * TT_PAGEPOOL_PAGE,
                  .offset = r->offset + pages.first * TT_PAGEPOOL_PAGE,
                  .begin_ticks = tt_ticks(),
                  .begin_ns = tt_clock_ns(CLOCK_MONOTONIC)};
    u->state = TT_UNIT_LOADING;
    r->loading++;
    if (!f->bytes) {
        end_load(p, f);
        return false;
    }
    bool begun = divide_read(p, f, u);
    if (!begun) f->how = READ_NO_MEMORY;
    tt_pagepool_unlock(p);
    begun = begun && begin_read(f);
    tt_pagepool_lock(p);
    if (begun)
        begin_burst(p, f);
    else
        end_load(p, f);
    return begun;
}

static void *reader(void *context)
{
    tt_pagepool *p = context;
    flight f;
    tt_pagepool_lock(p);
    while (!p->ending) {
        queue *q = first_queue(p);
        if (!q) {
            (void)pthread_cond_wait(&p->work, &p->lock);
            continue;
        }
        if (!begin_load(p, q, &f)) continue;
        tt_pagepool_unlock(p);
        read_all(&f);
        end_read(p, &f);
        tt_pagepool_lock(p);
        end_load(p, &f);
    }
    tt_pagepool_unlock(p);
    return NULL;
}

/* --- reading by io_uring --- */

#define ALARM FLIGHTS_MAX /* its id among reads */

typedef struct flights {
    flight of[FLIGHTS_MAX];
    bool busy[FLIGHTS_MAX];
    uint32_t n;
    bool alarm_armed; /* the eventfd is being read */
} flights;

static void go_on(tt_pagepool *p, flights *all, uint32_t k)
{
    flight *f = &all->of[k];
    const uint32_t n = left_of(f);
    tt_uring_readv(&p->uring, fd_of(f), f->left, n, f->offset + f->done, k);
}

/* Of a stream part waits in the queue: some disks report all reads together that they have, and the
 * rest is requested then, before what was read is used. */
static bool may_begin(const tt_pagepool *p, const flights *all, const unit *next)
{
    uint32_t n = 0;
    uint64_t bytes = 0;
    if (!is_soon(next->cause) && all->n + FLIGHTS_SOON >= FLIGHTS_MAX) return false;
    for (uint32_t k = 0; k < FLIGHTS_MAX; k++) {
        if (!all->busy[k] || is_over(&all->of[k])) continue;
        if (is_soon(p->units[all->of[k].unit].cause) != is_soon(next->cause)) continue;
        n++;
        bytes += all->of[k].bytes;
    }
    return is_soon(next->cause) ? tt_policy_may_read(n, bytes)
                                : !n || bytes + inner_bytes(next) <= p->stream_bytes;
}

/* The queue whose first unit may be read now; NULL: there is none. */
static queue *next_queue(tt_pagepool *p, const flights *all)
{
    for (uint32_t k = 0; k < QUEUES; k++) {
        queue *q = &p->queues[k];
        if (q->first != TT_NONE && may_begin(p, all, &p->units[q->first])) return q;
    }
    return NULL;
}

/* False: there is nothing to read, or not yet. */
static bool begin_flight(tt_pagepool *p, flights *all)
{
    uint32_t k = 0;
    queue *q;
    while (k < FLIGHTS_MAX && all->busy[k])
        k++;
    while (k < FLIGHTS_MAX && !p->ending && (q = next_queue(p, all))) {
        if (!begin_load(p, q, &all->of[k])) continue;
        all->busy[k] = true;
        all->n++;
        go_on(p, all, k);
        return true;
    }
    return false;
}

/* Whether to begin the next read takes little time: its memory is there, and the kernel copies
 * nothing from the page cache. */
static bool begins_fast(tt_pagepool *p, const flights *all)
{
    const queue *q = next_queue(p, all);
    if (!q) return false;
    const unit *u = &p->units[q->first];
    const group *g = &p->groups[u->group];
    return (g->users || tt_slots_has(p->slots, g->bytes)) && p->regions[u->region].direct >= 0;
}

/* Before the pages of those that have ended are moved, for which the disk need not wait. */
static void begin_more(tt_pagepool *p, flights *all)
{
    bool begun = false;
    while (begins_fast(p, all) && begin_flight(p, all))
        begun = true;
    if (!begun) return;
    tt_pagepool_unlock(p);
    (void)tt_uring_submit(&p->uring, false); /* the next wait fails, too */
    tt_pagepool_lock(p);
}

static void take_flights(tt_pagepool *p, flights *all)
{
    uint64_t k;
    uint32_t ended[FLIGHTS_MAX], n = 0;
    int32_t got;
    while (tt_uring_next(&p->uring, &k, &got)) {
        if (k == ALARM) {
            all->alarm_armed = false;
            continue;
        }
        flight *f = &all->of[k];
        if (!step(f, got)) {
            go_on(p, all, (uint32_t)k);
            continue;
        }
        end_burst(p, f);
        ended[n++] = (uint32_t)k;
    }
    if (n) begin_more(p, all);
    for (uint32_t i = 0; i < n; i++) {
        k = ended[i];
        tt_pagepool_unlock(p);
        end_read(p, &all->of[k]);
        tt_pagepool_lock(p);
        end_load(p, &all->of[k]);
        all->busy[k] = false;
        all->n--;
    }
}

/* The kernel accepts no more reads. Those that it has may still write into their memory, which is
 * leaked. */
static void give_up_flights(tt_pagepool *p, flights *all)
{
    for (uint32_t k = 0; k < FLIGHTS_MAX; k++) {
        if (!all->busy[k]) continue;
        all->of[k].memory.at = NULL;
        all->of[k].edges = NULL;
        p->units[all->of[k].unit].discard = true;
        end_load(p, &all->of[k]);
    }
}

/* Submits what is queued; sleeps until a read ends, or the alarm is raised. */
static bool wait_for_flights(tt_pagepool *p, flights *all, bool sleep)
{
    if (sleep && !all->alarm_armed) {
        tt_uring_read(&p->uring, p->alarm, &p->alarms, sizeof p->alarms, UINT64_MAX, ALARM);
        all->alarm_armed = true;
    }
    p->sleeps = sleep;
    tt_pagepool_unlock(p);
    const bool ok = tt_uring_submit(&p->uring, sleep);
    tt_pagepool_lock(p);
    p->sleeps = false;
    return ok;
}

static bool fly(tt_pagepool *p, flights *all)
{
    while (!p->ending || all->n) {
        /* One at a time: its memory may be new, which takes the kernel time, and others end
         * meanwhile. */
        const bool begun = begin_flight(p, all);
        if (!all->n) {
            if (!first_queue(p) && !p->ending) (void)pthread_cond_wait(&p->work, &p->lock);
            continue;
        }
        if (!wait_for_flights(p, all, !begun)) return false;
        take_flights(p, all);
    }
    /* Nothing may write into memory that is about to be freed. */
    while (all->alarm_armed) {
        if (!ring(p) || !wait_for_flights(p, all, true)) return false;
        take_flights(p, all);
    }
    return true;
}

static void *uring_reader(void *context)
{
    tt_pagepool *p = context;
    flights *all = calloc(1, sizeof *all);
    tt_pagepool_lock(p);
    if (all && !fly(p, all)) give_up_flights(p, all);
    free(all);
    tt_uring_end(&p->uring);
    tt_pagepool_unlock(p);
    return reader(p); /* continue with plain reads, unless the pool ends */
}

/* Something is in the queue, or the pool ends. */
static void call_readers(tt_pagepool *p)
{
    (void)pthread_cond_signal(&p->work);
    if (p->sleeps) (void)ring(p);
    p->sleeps = false;
}

static bool begin_uring(tt_pagepool *p)
{
    p->alarm = tt_descriptor_raise(eventfd(0, EFD_CLOEXEC));
    if (p->alarm < 0) return false;
    /* One more for the alarm. */
    if (tt_uring_begin(&p->uring, FLIGHTS_MAX + 1)) return true;
    (void)close(p->alarm);
    p->alarm = -1;
    return false;
}

static bool start_readers(tt_pagepool *p, uint32_t n, bool uring)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    const bool by_uring = uring && begin_uring(p);
    void *(*const run)(void *) = by_uring ? uring_reader : reader;
    if (by_uring) n = 1;
    if (pthread_attr_init(&attributes) != 0) return false;
    (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    while (p->n_readers < n && p->n_readers < READERS_MAX &&
           pthread_create(&p->readers[p->n_readers], &attributes, run, p) == 0)
        p->n_readers++;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attributes);
    if (by_uring && !p->n_readers) tt_uring_end(&p->uring);
    if (by_uring) atomic_fetch_add(&p->report->urings, 1);
    return p->n_readers > 0;
}

static uint64_t most_places(void)
{
    char text[32];
    uint64_t n = PLACES_UNKNOWN;
    FILE *f = fopen("/proc/sys/vm/max_map_count", "re");
    if (f && fgets(text, sizeof text, f)) n = strtoull(text, NULL, 10);
    if (f) (void)fclose(f);
    return n / PLACES_PART;
}

tt_status tt_pagepool_new(uint32_t readers, bool uring, tt_boost_report *report, tt_pagepool **out,
                          tt_error *err)
{
    *out = NULL;
    if (sysconf(_SC_PAGESIZE) != TT_PAGEPOOL_PAGE)
        return tt_error_set(err, TT_E_UNSUPPORTED, TT_NO_OFFSET,
                            "pages of this machine are not of %u bytes", TT_PAGEPOOL_PAGE);
    /* Recursive: a program's allocator may unmap memory under it, which is hooked. */
    const pthread_mutex_t fresh = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    tt_pagepool *p = calloc(1, sizeof *p);
    if (!p) return tt_error_memory(err, "the pool of weights");
    p->lock = fresh;
    (void)pthread_cond_init(&p->work, NULL);
    (void)pthread_cond_init(&p->done, NULL);
    empty_queues(p);
    p->report = report;
    p->places_max = most_places();
    atomic_store(&p->low, UINTPTR_MAX);
    p->alarm = -1;
    p->stream_bytes = TT_SLOTS_FREE_BYTES;
    p->slots = tt_slots_new();
    p->units = tt_map(NULL, UNITS_MAX * sizeof *p->units, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!p->slots || !p->units || !start_readers(p, readers, uring)) {
        const bool memory = p->slots != NULL, room = p->units != NULL;
        if (p->alarm >= 0) (void)close(p->alarm);
        tt_slots_free(p->slots);
        tt_unmap(p->units, UNITS_MAX * sizeof *p->units);
        free(p);
        if (memory && !room) return tt_error_memory(err, "the pool of weights");
        if (!memory)
            return tt_error_set(err, TT_E_UNSUPPORTED, TT_NO_OFFSET,
                                "the kernel gives no files in memory (memfd_create)");
        return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "no thread to read with can be started");
    }
    *out = p;
    return TT_OK;
}

void tt_pagepool_free(tt_pagepool *p)
{
    if (!p) return;
    tt_pagepool_lock(p);
    p->ending = true;
    (void)pthread_cond_broadcast(&p->work);
    call_readers(p);
    tt_pagepool_unlock(p);
    for (uint32_t i = 0; i < p->n_readers; i++)
        (void)pthread_join(p->readers[i], NULL);
    for (uint32_t i = 0; i < p->n_regions; i++)
        if (p->regions[i].at) close_files(&p->regions[i]);
    tt_slots_free(p->slots);
    if (p->alarm >= 0) (void)close(p->alarm);
    free(p->groups);
    tt_unmap(p->units, UNITS_MAX * sizeof *p->units);
    free(p->reads);
    free(p);
}

void tt_pagepool_in_child(tt_pagepool *p)
{
    const pthread_mutex_t fresh = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    const pthread_cond_t none = PTHREAD_COND_INITIALIZER;
    p->lock = fresh;
    p->work = p->done = none;
    p->n_readers = 0;
    p->sleeps = false;
    p->is_child = true;
    for (uint32_t i = 0; i < p->n_regions; i++)
        p->regions[i].closed = true;
    /* The parent goes on reading into its memory, which the child has no mapping of. */
    for (uint32_t i = 0; i < p->n_units; i++) {
        unit *u = &p->units[i];
        if (u->state != TT_UNIT_PRESENT || !pages_of(u->inner)) continue;
        (void)show_file(p, &p->regions[u->region], u->inner);
        u->state = TT_UNIT_ABSENT;
    }
    /* Requested units will not be loaded. */
    for (uint32_t i = 0; i < p->n_units; i++)
        if (p->units[i].state == TT_UNIT_QUEUED || p->units[i].state == TT_UNIT_LOADING)
            p->units[i].state = TT_UNIT_ABSENT;
    p->under_way = 0;
    empty_queues(p);
}

/* --- regions --- */

static int open_directly(int fd)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return tt_descriptor_raise(open(path, O_RDONLY | O_DIRECT | O_CLOEXEC));
}

static bool begin_region(region *r, void *at, uint64_t bytes, int fd, uint64_t offset)
{
    *r = (region){.n_pages = (bytes + TT_PAGEPOOL_PAGE - 1) / TT_PAGEPOOL_PAGE, .offset = offset};
    if (fstat(fd, &r->was) != 0 || !S_ISREG(r->was.st_mode)) return false;
    r->fd = tt_descriptor_raise(fcntl(fd, F_DUPFD_CLOEXEC, 3));
    if (r->fd < 0) return false;
    r->direct = open_directly(r->fd);
    r->edges = calloc(r->n_pages / 8 + 1, 1);
    r->edges_there = calloc(r->n_pages / 8 + 1, 1);
    if (!r->edges || !r->edges_there) {
        close_files(r);
        return false;
    }
    r->at = at;
    return true;
}

uint32_t tt_pagepool_adopt(tt_pagepool *p, void *at, uint64_t bytes, int fd, uint64_t offset)
{
    const uintptr_t low = (uintptr_t)at, high = low + bytes;
    uint32_t i = 0;
    tt_pagepool_lock(p);
    /* Slots are not reused, because dead units refer to them. */
    i = p->n_regions;
    if (i == REGIONS_MAX || p->is_child || !bytes ||
        !begin_region(&p->regions[i], at, bytes, fd, offset)) {
        tt_pagepool_unlock(p);
        return TT_NONE;
    }
    p->n_regions++;
    if (low < atomic_load(&p->low)) atomic_store(&p->low, low);
    if (high > atomic_load(&p->high)) atomic_store(&p->high, high);
    atomic_fetch_add(&p->report->regions, 1);
    tt_pagepool_unlock(p);
    return i;
}

static bool overlap(range a, range b)
{
    return a.first < b.last && b.first < a.last;
}

/* The region's pages that the n bytes at `at` touch. */
static range touched(const region *r, const void *at, uint64_t n)
{
    const uintptr_t base = (uintptr_t)r->at, end = base + r->n_pages * TT_PAGEPOOL_PAGE;
    uintptr_t low = (uintptr_t)at, high = low + n < low ? UINTPTR_MAX : low + n;
    if (low < base) low = base;
    if (high > end) high = end;
    if (!r->at || r->gone || low >= high) return (range){0, 0};
    return (range){(low - base) / TT_PAGEPOOL_PAGE,
                   (high - base + TT_PAGEPOOL_PAGE - 1) / TT_PAGEPOOL_PAGE};
}

bool tt_pagepool_find(const tt_pagepool *p, const void *at, uint64_t n, uint32_t *region_of,
                      uint64_t *from)
{
    for (uint32_t i = 0; n && i < p->n_regions; i++) {
        const region *r = &p->regions[i];
        const uintptr_t base = (uintptr_t)r->at, x = (uintptr_t)at;
        if (!r->at || r->gone || r->closed || x < base) continue;
        if (x - base >= r->n_pages * TT_PAGEPOOL_PAGE ||
            n > r->n_pages * TT_PAGEPOOL_PAGE - (x - base))
            continue;
        const range pages = touched(r, at, n);
        bool whole = true;
        for (uint32_t k = 0; k < r->n_holes; k++)
            whole &= !overlap(pages, r->hole[k]);
        if (!whole) continue;
        *region_of = i;
        *from = x - base;
        return true;
    }
    return false;
}

bool tt_pagepool_touches(const tt_pagepool *p, const void *at, uint64_t n)
{
    const uintptr_t x = (uintptr_t)at;
    return x < atomic_load(&p->high) && x + n > atomic_load(&p->low);
}

/* It is not queued. */
static void kill_unit(tt_pagepool *p, unit *u)
{
    if (u->state == TT_UNIT_PRESENT) {
        p->places -= pages_of(u->inner) ? 1 : 0;
        take_bytes(p, inner_bytes(u));
    }
    if (u->state == TT_UNIT_LOADING) take_bytes(p, inner_bytes(u));
    u->state = TT_UNIT_DEAD;
    p->deaths++;
}

static void forget_edges(tt_pagepool *p, region *r, range pages)
{
    for (uint64_t i = pages.first; i < pages.last; i++) {
        const uint8_t off = (uint8_t) ~(1u << i % 8);
        if (bit(r->edges, i)) p->edge_bytes -= TT_PAGEPOOL_PAGE;
        if (bit(r->edges_there, i)) take_bytes(p, TT_PAGEPOOL_PAGE);
        r->edges[i / 8] &= off;
        r->edges_there[i / 8] &= off;
    }
}

/* False: some of our memory is still there. */
static bool leave_region(tt_pagepool *p, uint32_t number, range pages)
{
    region *r = &p->regions[number];
    bool all = true;
    for (uint32_t i = 0; i < p->n_units; i++) {
        unit *u = &p->units[i];
        if (u->region != number || u->state == TT_UNIT_DEAD || !overlap(u->all, pages)) continue;
        /* The part of it outside stays mapped. */
        tt_pagepool_drop(p, i);
        all &= u->state != TT_UNIT_PRESENT;
        kill_unit(p, u);
    }
    all &= drop_edges(p, r, pages);
    forget_edges(p, r, pages);
    if (r->n_holes < HOLES_MAX) r->hole[r->n_holes++] = pages;
    /* Too many to remember: no new units. */
    if (r->n_holes == HOLES_MAX) {
        r->closed = true;
        r->changed_ns = 0;
    }
    uint64_t left = r->n_pages;
    for (uint32_t i = 0; i < r->n_holes; i++)
        left -= pages_of(r->hole[i]) < left ? pages_of(r->hole[i]) : left;
    if (left) return all;
    r->gone = r->closed = true;
    if (!r->loading) close_files(r);
    return all;
}

bool tt_pagepool_leave(tt_pagepool *p, const void *at, uint64_t n)
{
    bool all = true;
    for (uint32_t i = 0; i < p->n_regions; i++) {
        const range pages = touched(&p->regions[i], at, n);
        if (pages_of(pages)) all &= leave_region(p, i, pages);
    }
    wake_waiters(p);
    (void)pthread_cond_broadcast(&p->done);
    return all;
}

/* None of the region's old bytes are in our memory. */
static bool holds_nothing(const tt_pagepool *p, const region *r)
{
    const uint32_t number = (uint32_t)(r - p->regions);
    if (r->loading) return false;
    for (uint32_t i = 0; i < p->n_units; i++)
        if (p->units[i].region == number && p->units[i].state == TT_UNIT_PRESENT) return false;
    for (uint64_t i = 0; i < r->n_pages; i++)
        if (bit(r->edges_there, i)) return false;
    return true;
}

/* A file that was handed back is read again once it has settled: a later change gets another time
 * stamp, however coarse the file system's clock is. */
static void take_again(tt_pagepool *p, region *r)
{
    struct stat now;
    const uint64_t now_ns = tt_clock_ns(CLOCK_MONOTONIC);
    if (fstat(r->fd, &now) != 0) return;
    if (!is_same(&now, &r->was)) {
        if (now.st_size == r->was.st_size) r->was = now;
        r->changed_ns = now_ns;
    } else if (now_ns - r->changed_ns >= SETTLED_NS && holds_nothing(p, r)) {
        r->changed_ns = 0;
        r->closed = false;
    }
}

void tt_pagepool_check_files(tt_pagepool *p)
{
    for (uint32_t i = 0; i < p->n_regions; i++) {
        region *r = &p->regions[i];
        if (!r->at || r->gone) continue;
        if (r->changed_ns)
            take_again(p, r);
        else if (!r->closed && !is_same_file(r))
            hand_back(p, r);
    }
}

/* --- units --- */

static bool on_its_way(const tt_pagepool *p, uint32_t i)
{
    return p->units[i].state == TT_UNIT_QUEUED || p->units[i].state == TT_UNIT_LOADING;
}

uint64_t tt_pagepool_deaths(const tt_pagepool *p)
{
    return p->deaths;
}

uint32_t tt_pagepool_units_left(const tt_pagepool *p)
{
    return UNITS_MAX - p->n_units;
}

enum tt_unit_state tt_pagepool_state(const tt_pagepool *p, uint32_t i)
{
    return (enum tt_unit_state)p->units[i].state;
}

uint64_t tt_pagepool_unit_bytes(const tt_pagepool *p, uint32_t i)
{
    return inner_bytes(&p->units[i]);
}

uint64_t tt_pagepool_bytes(const tt_pagepool *p)
{
    return atomic_load(&p->bytes);
}

uint64_t tt_pagepool_read_bytes(const tt_pagepool *p)
{
    return atomic_load(&p->read_bytes);
}

uint64_t tt_pagepool_region_bytes(const tt_pagepool *p)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < p->n_regions; i++)
        if (p->regions[i].at && !p->regions[i].gone) sum += p->regions[i].n_pages;
    return sum * TT_PAGEPOOL_PAGE;
}

uint64_t tt_pagepool_edge_bytes(const tt_pagepool *p)
{
    return p->edge_bytes;
}

static void note_edges(tt_pagepool *p, region *r, uint64_t first, uint64_t last)
{
    for (uint64_t i = first; i < last; i++) {
        if (bit(r->edges, i)) continue;
        set_bit(r->edges, i);
        p->edge_bytes += TT_PAGEPOOL_PAGE;
    }
}

static bool has_room_for_unit(tt_pagepool *p)
{
    if (p->n_units < p->units_room) return true;
    if (p->units_room == UNITS_MAX ||
        syscall(SYS_mprotect, p->units + p->units_room, UNITS_STEP * sizeof *p->units,
                PROT_READ | PROT_WRITE) != 0)
        return false;
    p->units_room += UNITS_STEP;
    return true;
}

uint32_t tt_pagepool_unit(tt_pagepool *p, uint32_t number, uint64_t from, uint64_t n)
{
    region *r = &p->regions[number];
    const uint64_t end = from + n;
    if (!has_room_for_unit(p)) return TT_NONE;
    group *g = tt_array_add(p->groups, p->n_groups, p->groups_capacity);
    if (!g) return TT_NONE;
    unit *u = &p->units[p->n_units++];
    *u = (unit){.region = number, .next = TT_NONE, .group = p->n_groups - 1};
    u->all = (range){from / TT_PAGEPOOL_PAGE, (end + TT_PAGEPOOL_PAGE - 1) / TT_PAGEPOOL_PAGE};
    u->inner = (range){(from + TT_PAGEPOOL_PAGE - 1) / TT_PAGEPOOL_PAGE, end / TT_PAGEPOOL_PAGE};
    if (u->inner.first >= u->inner.last) u->inner.first = u->inner.last = u->all.last;
    note_edges(p, r, u->all.first, u->inner.first);
    note_edges(p, r, u->inner.last, u->all.last);
    *g = (group){.last = p->n_units - 1, .bytes = inner_bytes(u)};
    return p->n_units - 1;
}

bool tt_pagepool_join(tt_pagepool *p, uint32_t with, uint32_t i)
{
    unit *u = &p->units[i];
    group *g = &p->groups[p->units[with].group], *own = &p->groups[u->group];
    const bool alone = own->last == i && !u->member_at && own != g;
    if (!alone || g->users || own->users || on_its_way(p, i) || on_its_way(p, g->last))
        return false;
    u->group = p->units[with].group;
    u->member_at = g->bytes;
    g->bytes += inner_bytes(u);
    g->last = i;
    return true;
}

bool tt_pagepool_request(tt_pagepool *p, uint32_t i, enum tt_read_cause cause)
{
    unit *u = &p->units[i];
    if (u->state == TT_UNIT_LOADING) u->discard = false;
    if (u->state == TT_UNIT_DEAD) return false;
    if (u->state == TT_UNIT_QUEUED && is_soon((uint8_t)cause) && !is_soon(u->cause)) {
        dequeue(p, i);
        u->cause = (uint8_t)cause;
        enqueue(p, i);
        call_readers(p);
    }
    if (u->state != TT_UNIT_ABSENT) return true;
    if (p->regions[u->region].closed || p->is_child) return false;
    /* Before a thread sees that it can wait for it. */
    u->waiters = 0;
    u->first_waiter = 0;
    u->awaited_ticks = 0;
    u->state = TT_UNIT_QUEUED;
    u->cause = (uint8_t)cause;
    u->requested_ticks = p->keeps_reads ? tt_ticks() : 0;
    p->under_way++;
    add_bytes(p, inner_bytes(u));
    enqueue(p, i);
    call_readers(p);
    return true;
}

void tt_pagepool_drop(tt_pagepool *p, uint32_t i)
{
    unit *u = &p->units[i];
    if (u->state == TT_UNIT_LOADING) u->discard = true;
    if (u->state == TT_UNIT_QUEUED) {
        dequeue(p, i);
        u->state = TT_UNIT_ABSENT;
        p->under_way--;
        take_bytes(p, inner_bytes(u));
        wake(p, i);
    }
    if (u->state != TT_UNIT_PRESENT || p->is_child) return;
    if (!pages_of(u->inner)) {
        u->state = TT_UNIT_ABSENT; /* its pages are edges, which are never evicted */
        return;
    }
    if (!hide_ours(p, u)) return;
    u->state = TT_UNIT_ABSENT;
    p->places--;
    take_bytes(p, inner_bytes(u));
    leave_memory(p, u);
    atomic_fetch_add(&p->report->evictions, 1);
}

void tt_pagepool_will_wait(tt_pagepool *p, uint32_t i, uint64_t ticks)
{
    unit *u = &p->units[i];
    uint64_t no_one = 0;
    if (!p->keeps_reads || !on_its_way(p, i)) return;
    if (atomic_compare_exchange_strong(&u->awaited_ticks, &no_one, ticks))
        u->first_waiter = (uint32_t)syscall(SYS_gettid);
    if (u->waiters < UINT16_MAX) (void)atomic_fetch_add(&u->waiters, 1);
}

/* Whoever clears `awaited` counts a wake after that. So `wakes` is read first: the kernel lets no
 * one sleep who has missed one. */
uint64_t tt_pagepool_wait(tt_pagepool *p, uint32_t i)
{
    unit *u = &p->units[i];
    if (!on_its_way(p, i)) return 0;
    const uint64_t begin = tt_clock_ns(CLOCK_MONOTONIC);
    for (;;) {
        const uint32_t wakes = atomic_load(&p->wakes);
        if (!on_its_way(p, i)) break;
        u->awaited = true;
        if (!on_its_way(p, i)) break;
        (void)syscall(SYS_futex, &p->wakes, FUTEX_WAIT_PRIVATE, wakes, NULL, NULL, 0);
    }
    const uint64_t waited_ns = tt_clock_ns(CLOCK_MONOTONIC) - begin;
    atomic_fetch_add(&p->report->waits, 1);
    atomic_fetch_add(&p->report->waited_ns, waited_ns);
    return waited_ns;
}

void tt_pagepool_stream(tt_pagepool *p, uint64_t bytes)
{
    p->stream_bytes = bytes < TT_SLOTS_FREE_BYTES ? bytes : TT_SLOTS_FREE_BYTES;
}

void tt_pagepool_trim(tt_pagepool *p)
{
    tt_slots_trim(p->slots);
}

void tt_pagepool_wait_all(tt_pagepool *p)
{
    while (p->under_way && !p->is_child)
        (void)pthread_cond_wait(&p->done, &p->lock);
}

/* --- finished reads --- */

void tt_pagepool_keep_reads(tt_pagepool *p, bool keep)
{
    if (p->keeps_reads == keep) return;
    p->keeps_reads = keep;
    p->n_reads = 0;
    p->reads_lost = 0;
}

uint32_t tt_pagepool_take_reads(tt_pagepool *p, const tt_pagepool_read **reads, uint64_t *lost)
{
    const uint32_t n = p->n_reads;
    *reads = p->reads;
    *lost = p->reads_lost;
    p->n_reads = 0;
    p->reads_lost = 0;
    return n;
}

void tt_pagepool_file_of(const tt_pagepool *p, uint32_t i, uint64_t *device, uint64_t *inode)
{
    *device = (uint64_t)p->regions[i].was.st_dev;
    *inode = (uint64_t)p->regions[i].was.st_ino;
}
