#include "record/fault_log.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/order.h"
#include "format/page_faults.h"
#include "record/fault_events.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

/* An event has its time before it is in its ring, and rings are read one after the other: what is
 * younger than this waits for the next turn. */
#define SETTLED_NS 1000000u
#define PENDING_MAX_BYTES ((size_t)256 << 20)
#define OWN_LIBRARY "libtensortrace"
#define OWN_FILES "/dev/shm/tensortrace-"
#define MAPPINGS_MAX 65536u /* of one run; faults in further ones name none */

/* Memory of the process, as far as it is known: the parts of mappings that no later one took. */
typedef struct mapping {
    uint64_t address, end;
    uint64_t ticks;
    uint64_t file_offset_bytes, device, inode;
    char *path;
    uint32_t id;           /* 0: no fault has hit it yet */
    uint64_t reported_end; /* as its last record says */
} mapping;

typedef struct clock_pair {
    uint64_t ticks, ns;
} clock_pair;

struct tt_fault_log {
    tt_fault_events *events;
    uint64_t own, own_end;          /* addresses of the tracer's area */
    uint64_t own_device, own_inode; /* of its library; 0: it is a part of the program */
    mapping *mappings;              /* the newest last; none overlaps another */
    size_t n_mappings, mappings_capacity;
    size_t last; /* that was hit */
    uint32_t n_ids;
    tt_fault_event *pending; /* paths are copies */
    size_t n_pending, pending_capacity;
    uint64_t dropped_from, dropped_to, dropped; /* without memory for them, in ns */
    clock_pair before, now;
    uint64_t begin_ticks; /* of the next record */
    tt_page_fault *faults;
    uint32_t n;
    uint64_t n_faults, n_lost;
    tt_bytes payload;
    tt_fault_log_put *put;
    void *context;
};

/* The two as of one moment: of a few tries that which took least. */
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

/* By the two readings around it; earlier than both at the same rate. */
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

/* Takes [address, end) away from the mappings that have it. */
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
            /* A part at its end is a mapping of its own. */
            behind.id = 0;
            (void)add_mapping(log, behind, m->path);
        } else {
            *m = behind;
            m->id = 0;
        }
    }
}

/* Memory that grows, or is told again, stays the same mapping. */
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
    /* Without memory for it, its faults name no mapping. */
    (void)add_mapping(log, m, e->path);
}

/* What was mapped before the events were. */
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

/* The one that has the address, or NULL. */
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

/* Its id, told before the first fault that names it. */
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
    /* One that was not taken leaves its time without a record. */
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
    return order ? order : tt_order(y->kind, x->kind); /* what is mapped, before its fault */
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

/* --- as a whole --- */

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

void tt_fault_log_forget(tt_fault_log *log)
{
    tt_fault_events_forget(log->events);
}
