#include "record/fault_events.h"

#include "base/array.h"
#include "base/descriptor.h"

#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#define MINOR_BYTES_MAX ((size_t)1 << 20) /* of a ring, a power of two */
#define MINOR_BYTES_MIN ((size_t)1 << 14)
#define MAJOR_PART 8u                      /* of the minor faults' ring */
#define RINGS_BYTES_MAX ((size_t)64 << 20) /* all together */
#define OTHERS_MAX 256                     /* descriptors */
#define RECORD_MAX 8192u                   /* a mapping's path has 4,096 bytes at most */
#define INHERIT_THREAD ((uint64_t)1 << 35) /* of the flags: Linux 5.13 */

/* Two a processor: minor faults (and what is mapped), major ones. */
enum { MINOR, MAJOR, KINDS };

typedef struct ring {
    struct perf_event_mmap_page *page; /* NULL: not mapped */
    uint8_t *data;
    size_t bytes;
    int fd; /* while the events are opened */
    uint64_t last_ns;
    bool was_full; /* at the last look: what came behind it was lost, and is not told yet */
    uint64_t full_ns;
} ring;

struct tt_fault_events {
    ring *rings; /* KINDS a processor */
    size_t n_cpus;
    size_t page_bytes;
    uint32_t pid;
    /* Of threads that ran before: their events write to the rings, whose own descriptors are closed
     * as the mappings hold them. */
    int *others;
    size_t n_others, others_capacity;
    bool without_inherit_thread;
};

/* --- opening --- */

static int open_event(tt_fault_events *e, pid_t thread, int cpu, int kind)
{
    struct perf_event_attr a;
    memset(&a, 0, sizeof a);
    a.size = sizeof a;
    a.type = PERF_TYPE_SOFTWARE;
    a.config = kind == MAJOR ? PERF_COUNT_SW_PAGE_FAULTS_MAJ : PERF_COUNT_SW_PAGE_FAULTS_MIN;
    a.sample_period = 1;
    a.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR;
    a.inherit = 1;
    a.inherit_thread = !e->without_inherit_thread;
    a.exclude_kernel = a.exclude_hv = 1;
    a.sample_id_all = 1;
    a.use_clockid = 1;
    a.clockid = CLOCK_MONOTONIC;
    a.mmap = a.mmap_data = a.mmap2 = kind == MINOR;
    long fd = syscall(SYS_perf_event_open, &a, thread, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0 && errno == EINVAL && !e->without_inherit_thread) {
        /* Of a kernel that knows no such flag: forked processes are told apart by their pid. */
        e->without_inherit_thread = true;
        return open_event(e, thread, cpu, kind);
    }
    return (int)fd;
}

static void unmap(tt_fault_events *e)
{
    for (size_t i = 0; i < e->n_cpus * KINDS; i++) {
        ring *r = &e->rings[i];
        if (r->page) (void)munmap(r->page, e->page_bytes + r->bytes);
        if (r->fd >= 0) (void)close(r->fd);
        *r = (ring){.fd = -1};
    }
}

/* The calling thread's events and the rings, of a size. False with errno. */
static bool open_rings(tt_fault_events *e, size_t minor_bytes)
{
    pid_t self = (pid_t)syscall(SYS_gettid);
    for (size_t i = 0; i < e->n_cpus * KINDS; i++) {
        ring *r = &e->rings[i];
        r->fd = tt_descriptor_raise(open_event(e, self, (int)(i / KINDS), (int)(i % KINDS)));
        if (r->fd < 0 && errno == ENODEV) continue; /* a processor that is switched off */
        if (r->fd < 0) return false;
        r->bytes = i % KINDS == MAJOR ? minor_bytes / MAJOR_PART : minor_bytes;
        if (r->bytes < e->page_bytes) r->bytes = e->page_bytes;
        void *at =
            mmap(NULL, e->page_bytes + r->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
        if (at == MAP_FAILED) return false;
        r->page = at;
        r->data = (uint8_t *)at + e->page_bytes;
    }
    return true;
}

static bool add_other(tt_fault_events *e, pid_t thread)
{
    for (size_t i = 0; i < e->n_cpus * KINDS; i++) {
        if (!e->rings[i].page) continue;
        int fd = tt_descriptor_raise(open_event(e, thread, (int)(i / KINDS), (int)(i % KINDS)));
        if (fd < 0 && errno == ESRCH) return true; /* it has ended */
        int *to = fd >= 0 && e->n_others < OTHERS_MAX
                      ? tt_array_add(e->others, e->n_others, e->others_capacity)
                      : NULL;
        if (to && ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, e->rings[i].fd) == 0) {
            *to = fd;
            continue;
        }
        int why = fd < 0 || to ? errno : EMFILE;
        if (to) e->n_others--;
        if (fd >= 0) (void)close(fd);
        errno = why;
        return false;
    }
    return true;
}

/* Those of this moment: the threads that they begin later inherit. */
static bool add_others(tt_fault_events *e, uint32_t tracer)
{
    pid_t self = (pid_t)syscall(SYS_gettid);
    DIR *dir = opendir("/proc/self/task");
    const struct dirent *d;
    bool ok = dir != NULL;
    while (ok && (d = readdir(dir))) {
        long thread = strtol(d->d_name, NULL, 10);
        if (thread > 0 && thread != self && thread != (long)tracer)
            ok = add_other(e, (pid_t)thread);
    }
    int why = errno;
    if (dir) (void)closedir(dir);
    errno = why;
    return ok;
}

static bool is_event(int fd)
{
    static const char IS[] = "anon_inode:[perf_event]";
    char path[40], link[64];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(path, link, sizeof link);
    return n == (ssize_t)sizeof IS - 1 && memcmp(link, IS, sizeof IS - 1) == 0;
}

static void close_others(tt_fault_events *e)
{
    /* The program may have closed it, and opened a file of its own under its number. */
    for (size_t i = 0; i < e->n_others; i++)
        if (is_event(e->others[i])) (void)close(e->others[i]);
    e->n_others = 0;
}

static tt_status refused(tt_error *err)
{
    return tt_error_set(err, TT_E_UNSUPPORTED, TT_NO_OFFSET, "perf_event_open: %s",
                        strerror(errno));
}

tt_status tt_fault_events_open(tt_fault_events **out, uint32_t tracer, tt_error *err)
{
    long cpus = sysconf(_SC_NPROCESSORS_CONF), page = sysconf(_SC_PAGESIZE);
    tt_fault_events *e = calloc(1, sizeof *e);
    *out = NULL;
    if (e && cpus > 0 && page > 0) e->rings = calloc((size_t)cpus * KINDS, sizeof *e->rings);
    if (!e || !e->rings) {
        free(e);
        return tt_error_memory(err, "page fault events");
    }
    e->n_cpus = (size_t)cpus;
    e->page_bytes = (size_t)page;
    e->pid = (uint32_t)getpid();
    for (size_t i = 0; i < e->n_cpus * KINDS; i++)
        e->rings[i].fd = -1;
    /* What memory the kernel gives for it depends on the user, and on who else observes. */
    size_t bytes = MINOR_BYTES_MAX;
    while (bytes > MINOR_BYTES_MIN && bytes * e->n_cpus > RINGS_BYTES_MAX)
        bytes /= 2;
    bool ok;
    for (; !(ok = open_rings(e, bytes)) && bytes > MINOR_BYTES_MIN; bytes /= 2)
        unmap(e);
    if (ok) ok = add_others(e, tracer);
    if (!ok) {
        tt_status status = refused(err);
        tt_fault_events_close(e);
        return status;
    }
    for (size_t i = 0; i < e->n_cpus * KINDS; i++) {
        if (e->rings[i].fd >= 0) (void)close(e->rings[i].fd);
        e->rings[i].fd = -1;
    }
    *out = e;
    return TT_OK;
}

void tt_fault_events_close(tt_fault_events *e)
{
    if (!e) return;
    close_others(e);
    unmap(e);
    free(e->others);
    free(e->rings);
    free(e);
}

void tt_fault_events_forget(tt_fault_events *e)
{
    close_others(e);
}

/* --- reading --- */

static uint64_t head_of(const ring *r)
{
    return r->page ? __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE) : 0;
}

static void copy_out(const ring *r, uint64_t at, void *to, size_t n)
{
    size_t from = (size_t)(at & (r->bytes - 1)), first = r->bytes - from;
    if (first > n) first = n;
    memcpy(to, r->data + from, first);
    memcpy((uint8_t *)to + first, r->data, n - first);
}

/* What ends each record that is no sample: sample_id_all. */
typedef struct record_end {
    uint32_t pid, tid;
    uint64_t ns;
} record_end;

typedef struct sample {
    struct perf_event_header header;
    uint32_t pid, tid;
    uint64_t ns, address;
} sample;

typedef struct mapped {
    struct perf_event_header header;
    uint32_t pid, tid;
    uint64_t address, size_bytes, file_offset_bytes;
    uint32_t major, minor;
    uint64_t inode, generation;
    uint32_t protection, flags;
    char path[];
} mapped;

typedef struct lost {
    struct perf_event_header header;
    uint64_t id, lost;
} lost;

typedef union record {
    struct perf_event_header header;
    sample sample;
    mapped mapped;
    lost lost;
    uint8_t bytes[RECORD_MAX];
} record;

/* A record as an event; false: it is none, or of another process. */
static bool event_of(const tt_fault_events *e, const ring *r, record *from, bool major,
                     tt_fault_event *to)
{
    const size_t size = from->header.size;
    record_end end = {0};
    if (from->header.type == PERF_RECORD_SAMPLE && size >= sizeof(sample)) {
        const sample *s = &from->sample;
        *to = (tt_fault_event){.kind = TT_EVENT_FAULT,
                               .major = major,
                               .thread = s->tid,
                               .ns = s->ns,
                               .address = s->address};
        return s->pid == e->pid;
    }
    if (size < sizeof from->header + sizeof end) return false;
    memcpy(&end, from->bytes + size - sizeof end, sizeof end);
    if (from->header.type == PERF_RECORD_LOST && size >= sizeof(lost)) {
        *to = (tt_fault_event){.kind = TT_EVENT_LOST,
                               .ns = r->full_ns > r->last_ns ? r->full_ns : end.ns,
                               .lost = from->lost.lost,
                               .since_ns = r->last_ns};
        return true;
    }
    if (from->header.type != PERF_RECORD_MMAP2 || size <= sizeof(mapped) + sizeof end) return false;
    const mapped *m = &from->mapped;
    from->bytes[size - sizeof end] = '\0'; /* the path ends with one, as the kernel writes it */
    *to = (tt_fault_event){.kind = TT_EVENT_MAPPED,
                           .ns = end.ns,
                           .address = m->address,
                           .size_bytes = m->size_bytes,
                           .file_offset_bytes = m->file_offset_bytes,
                           .device = makedev(m->major, m->minor),
                           .inode = m->inode,
                           .path = m->path};
    return m->pid == e->pid;
}

/* What was lost is told by the next record of the ring, which may never come. */
static void report_full(ring *r, tt_fault_events_visit *visit, void *context)
{
    const tt_fault_event event = {.kind = TT_EVENT_LOST, .ns = r->full_ns, .since_ns = r->last_ns};
    if (r->was_full) visit(context, &event);
    r->was_full = false;
}

static void read_ring(tt_fault_events *e, ring *r, bool major, tt_fault_events_visit *visit,
                      void *context)
{
    uint64_t head = head_of(r), tail = r->page->data_tail;
    record now;
    if (head - tail + sizeof(sample) > r->bytes) {
        struct timespec t;
        (void)clock_gettime(CLOCK_MONOTONIC, &t);
        r->was_full = true;
        r->full_ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    }
    while (tail < head) {
        tt_fault_event event;
        copy_out(r, tail, &now.header, sizeof now.header);
        const size_t size = now.header.size;
        if (size < sizeof now.header || size > head - tail) break;
        if (size <= sizeof now) {
            copy_out(r, tail, &now, size);
            bool is_event = event_of(e, r, &now, major, &event);
            if (is_event) visit(context, &event);
            if (is_event && event.kind == TT_EVENT_FAULT) r->last_ns = event.ns;
        }
        tail += size;
    }
    /* One that makes no sense: what is behind it is not known either. */
    __atomic_store_n(&r->page->data_tail, head, __ATOMIC_RELEASE);
    report_full(r, visit, context);
}

void tt_fault_events_read(tt_fault_events *e, tt_fault_events_visit *visit, void *context)
{
    for (size_t i = 0; i < e->n_cpus * KINDS; i++)
        if (e->rings[i].page) read_ring(e, &e->rings[i], i % KINDS == MAJOR, visit, context);
}

unsigned tt_fault_events_fullness(const tt_fault_events *e)
{
    uint64_t most = 0;
    for (size_t i = 0; i < e->n_cpus * KINDS; i++) {
        const ring *r = &e->rings[i];
        uint64_t used = r->page ? (head_of(r) - r->page->data_tail) * 16 / r->bytes : 0;
        if (used > most) most = used;
    }
    return (unsigned)most;
}

uint64_t tt_fault_events_activity(const tt_fault_events *e)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < e->n_cpus * KINDS; i++)
        sum += head_of(&e->rings[i]);
    return sum;
}
