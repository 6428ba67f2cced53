#include "record/fault_log.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/order.h"
#include "format/page_faults.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
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
#define RINGS_BYTES_MAX ((size_t)64 << 20) /* in total */
#define OTHERS_MAX 256                     /* descriptors */
#define RECORD_MAX 8192u                   /* a mapping's path has 4,096 bytes at most */
#define INHERIT_THREAD ((uint64_t)1 << 35) /* flag of Linux 5.13 */

/* Two per processor: minor faults (and mappings), major ones. */
enum { MINOR, MAJOR, KINDS };

typedef struct ring {
    struct perf_event_mmap_page *page; /* NULL: not mapped */
    uint8_t *data;
    size_t bytes;
    int fd; /* while the events are opened */
    uint64_t last_ns;
    bool was_full; /* at the last reading: later events were lost, and are not reported yet */
    uint64_t full_ns;
} ring;

struct tt_fault_events {
    ring *rings; /* KINDS per processor */
    size_t n_cpus;
    size_t page_bytes;
    uint32_t pid;
    /* Of threads that already ran: their events write to the rings, whose own descriptors are
     * closed because the mappings keep them alive. */
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
        /* Without that flag in the kernel, forked processes are recognised by their pid. */
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

/* Opens the calling thread's events and rings of that size. False with errno. */
static bool open_rings(tt_fault_events *e, size_t minor_bytes)
{
    pid_t self = (pid_t)syscall(SYS_gettid);
    for (size_t i = 0; i < e->n_cpus * KINDS; i++) {
        ring *r = &e->rings[i];
        r->fd = tt_descriptor_raise(open_event(e, self, (int)(i / KINDS), (int)(i % KINDS)));
        if (r->fd < 0 && errno == ENODEV) continue; /* an offline processor */
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
        if (fd < 0 && errno == ESRCH) return true; /* the thread has ended */
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

/* The current threads: those that they start later inherit. */
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
    /* The program may have closed it, and opened a file of its own with its number. */
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
    /* How much memory the kernel allows depends on the user, and on other observers. */
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

void tt_fault_events_drop(tt_fault_events *e)
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

/* The end of each record that is not a sample: sample_id_all. */
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

typedef struct loss {
    struct perf_event_header header;
    uint64_t id, lost;
} loss;

typedef union record {
    struct perf_event_header header;
    sample sample;
    mapped mapped;
    loss lost;
    uint8_t bytes[RECORD_MAX];
} record;

/* Converts a record to an event; false: it is another kind, or of another process. */
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
    if (from->header.type == PERF_RECORD_LOST && size >= sizeof(loss)) {
        *to = (tt_fault_event){.kind = TT_EVENT_LOST,
                               .ns = r->full_ns > r->last_ns ? r->full_ns : end.ns,
                               .lost = from->lost.lost,
                               .since_ns = r->last_ns};
        return true;
    }
    if (from->header.type != PERF_RECORD_MMAP2 || size <= sizeof(mapped) + sizeof end) return false;
    const mapped *m = &from->mapped;
    from->bytes[size - sizeof end] = '\0'; /* the kernel terminates the path */
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

/* The ring's next record reports losses, but may never come. */
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
    /* An invalid one: the rest of the ring is unknown too. */
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

/* An event has its time before it is in its ring, and rings are read one after another: younger
 * events wait for the next reading. */
#define SETTLED_NS 1000000u
#define PENDING_MAX_BYTES ((size_t)256 << 20)
#define OWN_LIBRARY "libtensortrace"
#define OWN_FILES "/dev/shm/tensortrace-"
#define MAPPINGS_MAX 65536u /* per run; faults in further ones have none */

/* The process's memory as far as known: the parts of mappings that no later one replaced. */
typedef struct mapping {
    uint64_t address, end;
    uint64_t ticks;
    uint64_t file_offset_bytes, device, inode;
    char *path;
    uint32_t id;           /* 0: no fault so far */
    uint64_t reported_end; /* end in its last record */
} mapping;

typedef struct clock_pair {
    uint64_t ticks, ns;
} clock_pair;

struct tt_fault_log {
    tt_fault_events *events;
    uint64_t own, own_end;          /* addresses of the tracer's area */
    uint64_t own_device, own_inode; /* of its library; 0: it is part of the program */
    mapping *mappings;              /* the newest last; disjoint */
    size_t n_mappings, mappings_capacity;
    size_t last; /* of the last fault */
    uint32_t n_ids;
    tt_fault_event *pending; /* paths are copies */
    size_t n_pending, pending_capacity;
    uint64_t dropped_from, dropped_to, dropped; /* out of memory for them, in ns */
    clock_pair before, now;
    uint64_t begin_ticks; /* of the next record */
    tt_page_fault *faults;
    uint32_t n;
    uint64_t n_faults, n_lost;
    tt_bytes payload;
    tt_fault_log_put *put;
    void *context;
};

/* A reading of both clocks at one moment: the quickest of a few attempts. */
static clock_pair read_clocks(void)
{
    clock_pair best = {0, 0};
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 5; i++) {
        uint64_t begin = tt_ticks(), ns = tt_clock_ns(CLOCK_MONOTONIC), took = tt_ticks() - begin;
        if (took >= least) continue;
        least = took;
        best = (clock_pair){begin + took / 2, ns};
    }
    return best;
}

/* Interpolates between the surrounding readings; before both, extrapolates at the same rate. */
static uint64_t ticks_of(const tt_fault_log *log, uint64_t ns)
{
    uint64_t passed = log->now.ns - log->before.ns;
    __int128 ticks =
        (__int128)((int64_t)(ns - log->before.ns)) * (int64_t)(log->now.ticks - log->before.ticks);
    return passed ? log->before.ticks + (uint64_t)(int64_t)(ticks / (int64_t)passed)
                  : log->now.ticks;
}

/* --- mappings --- */

static void remove_mapping(tt_fault_log *log, size_t i)
{
    free(log->mappings[i].path);
    memmove(&log->mappings[i], &log->mappings[i + 1],
            (--log->n_mappings - i) * sizeof *log->mappings);
}

static bool is_same_memory(const mapping *m, const tt_fault_event *e)
{
    return m->address == e->address && m->device == e->device && m->inode == e->inode &&
           strcmp(m->path, e->path) == 0 &&
           (!e->inode || m->file_offset_bytes == e->file_offset_bytes);
}

static bool add_mapping(tt_fault_log *log, mapping m, const char *path)
{
    mapping *to = tt_array_add(log->mappings, log->n_mappings, log->mappings_capacity);
    if (!to) return false;
    *to = m;
    to->path = strdup(path);
    if (!to->path) log->n_mappings--;
    return to->path != NULL;
}

/* Removes [address, end) from the mappings that contain it. */
static void take_addresses(tt_fault_log *log, uint64_t address, uint64_t end)
{
    for (size_t i = log->n_mappings; i-- > 0;) {
        mapping *m = &log->mappings[i];
        if (m->end <= address || m->address >= end) continue;
        if (m->address >= address && m->end <= end) {
            remove_mapping(log, i);
            continue;
        }
        mapping behind = *m;
        if (m->address < address) m->end = address;
        uint64_t cut = end - behind.address;
        if (behind.end <= end) continue;
        behind.address = end;
        if (behind.inode) behind.file_offset_bytes += cut;
        if (m->end == address) {
            /* The part after it becomes a mapping of its own. */
            behind.id = 0;
            (void)add_mapping(log, behind, m->path);
        } else {
            *m = behind;
            m->id = 0;
        }
    }
}

/* Memory that grows, or is reported again, stays the same mapping. */
static void map(tt_fault_log *log, const tt_fault_event *e, uint64_t ticks)
{
    uint64_t end;
    uint32_t id = 0;
    uint64_t reported_end = 0;
    if (__builtin_add_overflow(e->address, e->size_bytes, &end)) return;
    for (size_t i = 0; i < log->n_mappings; i++) {
        const mapping *m = &log->mappings[i];
        if (!is_same_memory(m, e)) continue;
        id = m->id;
        reported_end = m->reported_end;
        ticks = m->ticks;
    }
    take_addresses(log, e->address, end);
    const mapping m = {.address = e->address,
                       .end = end,
                       .ticks = ticks,
                       .file_offset_bytes = e->inode ? e->file_offset_bytes : 0,
                       .device = e->device,
                       .inode = e->inode,
                       .id = id,
                       .reported_end = reported_end};
    /* If out of memory, its faults have no mapping. */
    (void)add_mapping(log, m, e->path);
}

/* What was mapped before the events were opened. */
static void read_maps(tt_fault_log *log)
{
    char line[PATH_MAX + 128];
    FILE *f = fopen("/proc/self/maps", "re");
    if (!f) return;
    while (fgets(line, sizeof line, f)) {
        unsigned long long from, to, offset, inode;
        unsigned at_major, at_minor;
        int path = 0;
        line[strcspn(line, "\n")] = '\0';
        if (sscanf(line, "%llx-%llx %*s %llx %x:%x %llu %n", &from, &to, &offset, &at_major,
                   &at_minor, &inode, &path) < 6 ||
            !path)
            continue;
        const tt_fault_event e = {.address = from,
                                  .size_bytes = to - from,
                                  .file_offset_bytes = offset,
                                  .device = makedev(at_major, at_minor),
                                  .inode = inode,
                                  .path = line[path] ? line + path : "//anon"};
        map(log, &e, log->now.ticks);
    }
    (void)fclose(f);
}

/* The mapping with the address, or NULL. */
static mapping *find_mapping(tt_fault_log *log, uint64_t address)
{
    if (log->last < log->n_mappings) {
        mapping *m = &log->mappings[log->last];
        if (address >= m->address && address < m->end) return m;
    }
    for (size_t i = log->n_mappings; i-- > 0;) {
        mapping *m = &log->mappings[i];
        if (address < m->address || address >= m->end) continue;
        log->last = i;
        return m;
    }
    return NULL;
}

static bool is_own(const tt_fault_log *log, const mapping *m, uint64_t address)
{
    return (address >= log->own && address < log->own_end) ||
           (m && strncmp(m->path, OWN_FILES, sizeof OWN_FILES - 1) == 0) ||
           (m && log->own_inode && m->device == log->own_device && m->inode == log->own_inode);
}

static void find_own_library(tt_fault_log *log)
{
    const mapping *m = find_mapping(log, (uintptr_t)tt_fault_log_open);
    if (!m || !strstr(m->path, OWN_LIBRARY)) return;
    log->own_device = m->device;
    log->own_inode = m->inode;
}

/* Its id; the mapping is recorded before its first fault. */
static uint32_t mapping_id(tt_fault_log *log, mapping *m)
{
    if (m->id && m->end <= m->reported_end) return m->id;
    if (!m->id && log->n_ids == MAPPINGS_MAX) return 0;
    const tt_meta_mapping r = {.id = m->id ? m->id : log->n_ids + 1,
                               .ticks = m->ticks,
                               .address = m->address,
                               .size_bytes = m->end - m->address,
                               .file_offset_bytes = m->file_offset_bytes,
                               .device = m->device,
                               .inode = m->inode,
                               .path = {(const uint8_t *)m->path, strlen(m->path)}};
    tt_bytes payload;
    tt_bytes_init(&payload, TT_META_RECORD_MAX);
    tt_meta_put_mapping(&payload, &r);
    bool ok = log->put(log->context, TT_META_MAPPING, &payload);
    tt_bytes_free(&payload);
    if (!ok) return m->id;
    m->reported_end = m->end;
    m->id = r.id;
    if (r.id > log->n_ids) log->n_ids = r.id;
    return m->id;
}

/* --- records --- */

static void put_loss(tt_fault_log *log, uint64_t from_ns, uint64_t to_ns, uint64_t n)
{
    const tt_meta_page_fault_loss r = {.begin_ticks = from_ns ? ticks_of(log, from_ns) : 0,
                                       .end_ticks = ticks_of(log, to_ns),
                                       .lost = n};
    tt_bytes_clear(&log->payload);
    tt_meta_put_page_fault_loss(&log->payload, &r);
    (void)log->put(log->context, TT_META_PAGE_FAULT_LOSS, &log->payload);
    log->n_lost += n;
}

/* What was observed up to that time. */
static void put_faults(tt_fault_log *log, uint64_t end_ticks)
{
    if (end_ticks < log->begin_ticks) end_ticks = log->begin_ticks;
    tt_bytes_clear(&log->payload);
    tt_page_faults_put(&log->payload, log->begin_ticks, end_ticks, log->faults, log->n);
    /* If it is dropped, its interval stays without a record. */
    if (log->put(log->context, TT_META_PAGE_FAULTS, &log->payload))
        log->n_faults += log->n;
    else
        log->n_lost += log->n;
    log->n = 0;
    log->begin_ticks = end_ticks;
}

static void add_fault(tt_fault_log *log, const tt_fault_event *e)
{
    mapping *m = find_mapping(log, e->address);
    uint64_t ticks = ticks_of(log, e->ns);
    if (is_own(log, m, e->address)) return;
    if (ticks < log->begin_ticks) ticks = log->begin_ticks; /* later than SETTLED_NS */
    if (log->n == TT_PAGE_FAULTS_MAX) put_faults(log, log->faults[log->n - 1].ticks);
    log->faults[log->n++] =
        (tt_page_fault){.ticks = ticks,
                        .address = e->address,
                        .thread = e->thread,
                        .mapping = (m ? mapping_id(log, m) : 0) & TT_MAPPING_NONE,
                        .major = e->major};
}

/* --- events --- */

static void keep(void *context, const tt_fault_event *event)
{
    tt_fault_log *log = context;
    tt_fault_event e = *event;
    bool ok = true;
    if (e.kind == TT_EVENT_MAPPED) ok = (e.path = strdup(e.path)) != NULL;
    if (ok && tt_array_one_more_within(log->pending, log->n_pending, log->pending_capacity,
                                       PENDING_MAX_BYTES)) {
        log->pending[log->n_pending++] = e;
        return;
    }
    if (e.kind == TT_EVENT_MAPPED) free((char *)(uintptr_t)e.path);
    if (!log->dropped || e.ns < log->dropped_from) log->dropped_from = e.ns;
    if (e.ns > log->dropped_to) log->dropped_to = e.ns;
    log->dropped++;
}

static int by_time(const void *a, const void *b)
{
    const tt_fault_event *x = a, *y = b;
    int order = tt_order(x->ns, y->ns);
    return order ? order : tt_order(y->kind, x->kind); /* a mapping before its fault */
}

static void take(tt_fault_log *log, const tt_fault_event *e)
{
    switch (e->kind) {
    case TT_EVENT_FAULT:
        add_fault(log, e);
        break;
    case TT_EVENT_MAPPED:
        map(log, e, ticks_of(log, e->ns));
        free((char *)(uintptr_t)e->path);
        break;
    case TT_EVENT_LOST:
        put_loss(log, e->since_ns, e->ns, e->lost);
        break;
    }
}

void tt_fault_log_write(tt_fault_log *log, bool all, bool even_empty, tt_fault_log_put *put,
                        void *context)
{
    size_t n = 0;
    log->put = put;
    log->context = context;
    log->before = log->now;
    log->now = read_clocks();
    const uint64_t until = all ? UINT64_MAX : log->now.ns - SETTLED_NS;
    tt_fault_events_read(log->events, keep, log);
    if (log->n_pending) qsort(log->pending, log->n_pending, sizeof *log->pending, by_time);
    for (; n < log->n_pending && log->pending[n].ns <= until; n++)
        take(log, &log->pending[n]);
    log->n_pending -= n;
    if (n) memmove(log->pending, log->pending + n, log->n_pending * sizeof *log->pending);
    if (log->dropped) put_loss(log, log->dropped_from, log->dropped_to, log->dropped);
    log->dropped = 0;
    if (log->n || even_empty || all)
        put_faults(log, all ? read_clocks().ticks : ticks_of(log, log->now.ns - SETTLED_NS));
}

/* --- the log --- */

tt_status tt_fault_log_open(tt_fault_log **out, const void *own, uint64_t own_bytes,
                            uint32_t tracer, tt_error *err)
{
    tt_fault_log *log = calloc(1, sizeof *log);
    *out = NULL;
    if (log) log->faults = malloc(TT_PAGE_FAULTS_MAX * sizeof *log->faults);
    if (!log || !log->faults) {
        free(log);
        return tt_error_memory(err, "page faults");
    }
    tt_bytes_init(&log->payload, TT_META_RECORD_MAX);
    log->own = (uintptr_t)own;
    log->own_end = log->own + own_bytes;
    log->last = SIZE_MAX;
    tt_status status = tt_fault_events_open(&log->events, tracer, err);
    if (status != TT_OK) {
        tt_fault_log_close(log);
        return status;
    }
    log->before = log->now = read_clocks();
    log->begin_ticks = log->now.ticks;
    read_maps(log);
    find_own_library(log);
    *out = log;
    return TT_OK;
}

unsigned tt_fault_log_fullness(const tt_fault_log *log)
{
    return tt_fault_events_fullness(log->events);
}

uint64_t tt_fault_log_activity(const tt_fault_log *log)
{
    return tt_fault_events_activity(log->events);
}

void tt_fault_log_totals(const tt_fault_log *log, uint64_t *faults, uint64_t *lost)
{
    *faults = log->n_faults;
    *lost = log->n_lost;
}

void tt_fault_log_close(tt_fault_log *log)
{
    if (!log) return;
    tt_fault_events_close(log->events);
    for (size_t i = 0; i < log->n_pending; i++)
        if (log->pending[i].kind == TT_EVENT_MAPPED) free((char *)(uintptr_t)log->pending[i].path);
    while (log->n_mappings)
        remove_mapping(log, log->n_mappings - 1);
    free(log->mappings);
    free(log->pending);
    free(log->faults);
    tt_bytes_free(&log->payload);
    free(log);
}

void tt_fault_log_drop(tt_fault_log *log)
{
    tt_fault_events_drop(log->events);
}
