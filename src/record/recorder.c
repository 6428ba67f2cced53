#include "record/recorder.h"

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/run_delay.h"
#include "base/status.h"
#include "format/meta.h"
#include "record/compact.h"
#include "record/drain.h"
#include "record/fault_log.h"
#include "record/place.h"
#include "record/sink.h"
#include "record/sync.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef struct tt_snapshot {
    bool active;
    tt_copy copy;
    tt_bytes totals;   /* losses and counts when it began */
    uint64_t position; /* of them in the meta stream */
    char part[PATH_MAX];
    char path[PATH_MAX]; /* "FILE-snapshot-N.ttrace"; when it is done, its real path */
} tt_snapshot;

static void end(tt_snapshot *s, tt_drain *d)
{
    tt_copy_end(&s->copy);
    tt_bytes_free(&s->totals);
    d->sink->hold = false;
    s->active = false;
}

/* Abandons the current snapshot. */
static void snapshot_stop(tt_snapshot *s, tt_drain *d)
{
    if (!s->active) return;
    (void)unlink(s->part);
    end(s, d);
}

/* Begins a snapshot of the container; everything complete should have been drained before. Called
 * by the drain thread. Until it ends, the container discards no chunks. */
static tt_status snapshot_begin(tt_snapshot *s, tt_drain *d, const char *trace, uint32_t number,
                                tt_error *err)
{
    memset(s, 0, sizeof *s);
    tt_status status = tt_place_snapshot(s->path, sizeof s->path, trace, (long)number, err);
    if (status == TT_OK) status = tt_place_part(s->part, sizeof s->part, s->path, err);
    if (status != TT_OK) return status;
    int fd = tt_descriptor_raise(open(s->part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (fd < 0)
        return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot create %s: %s", s->part,
                            strerror(errno));
    s->active = true;
    tt_bytes_init(&s->totals, TT_CHUNK_PAYLOAD_MAX);
    s->position = atomic_load(&d->map->area->meta_tail);
    d->sink->hold = true;
    status = tt_copy_begin(&s->copy, d->sink, fd, err);
    if (status == TT_OK && !tt_drain_totals(d, false, &s->totals))
        status = tt_error_memory(err, "the totals");
    if (status != TT_OK) snapshot_stop(s, d);
    return status;
}

static tt_status finish(tt_snapshot *s, tt_error *err)
{
    tt_index_entry entry = {.type = TT_CHUNK_META, .position = s->position};
    tt_span totals = {s->totals.data, s->totals.size};
    tt_sink *to = &s->copy.to;
    tt_meta_describe(totals, &entry.meta, &entry.count);
    tt_status status = tt_sink_put(to, &entry, totals, err);
    if (status == TT_OK) status = tt_sink_finish(to, TT_END_SNAPSHOT, err);
    return status == TT_OK ? tt_place_rename(s->part, s->path, sizeof s->path, false, err) : status;
}

#define STEP_BYTES (4u << 20) /* copied between two checks of the rings */

/* Copies a few megabytes more. The snapshot is inactive once it has ended, by success or
 * failure. */
static tt_status snapshot_step(tt_snapshot *s, tt_drain *d, tt_error *err)
{
    bool done = false;
    tt_status status = tt_copy_step(&s->copy, STEP_BYTES, &done, err);
    if (status == TT_OK && !done) return TT_OK;
    if (status == TT_OK) status = finish(s, err);
    if (status != TT_OK) (void)unlink(s->part);
    end(s, d);
    return status;
}

#define POLL_MIN_NS 2000000L    /* the drain polls the rings: often if they fill */
#define POLL_MAX_NS 20000000L   /* fast, rarely otherwise, because each poll uses a core */
#define POLL_IDLE_NS 250000000L /* when idle; the start of a run wakes it */
#define IDLE_NS 2000000000ull   /* idle for so long: everything is written */
#define CALM_NS 100000000ull    /* idle for so long: no thread is in its last op */
/* How often everything is written to the file, where `serve --live` finds it: half of a second
 * between the end of an op and its picture is the recorder's. And how often the disk is asked to
 * store that: a power cut loses no more. bench/flush measures what both cost. */
#define FLUSH_NS 250000000ull
#define SYNC_NS 750000000ull
#define RETRY_NS 1000000000ull /* after a failed write */
#define PAUSE_NS 10000000ull   /* asleep for so much longer than wanted: it was stopped */
#define SPARE_RINGS 2u         /* prepared before a thread needs one */
#define DRAIN_STACK_BYTES (512u << 10)

struct tt_recorder {
    tt_recorder *released_before; /* see tt_recorder_release_memory */
    tt_area_map map;
    tt_sink sink;
    tt_drain drain;
    char path[PATH_MAX];
    bool replace;
    tt_session *_Atomic session; /* which may request snapshots; NULL: none */
    tt_session_file *file;
    tt_snapshot snapshot;
    uint32_t snapshot_asked; /* number of the last finished request */
    uint32_t n_snapshots;
    bool stop_noted; /* the trace already has the reason why recording stopped */
    tt_data_queue data;
    tt_fault_log *_Atomic faults; /* NULL: not recorded */
    tt_error faults_refused;      /* why; status TT_OK: not requested */
    pthread_mutex_t meta_lock;    /* the meta stream's producers */
    pthread_mutex_t stop_lock;
    pthread_cond_t stop_cond;
    bool stop;
    atomic_uint asleep; /* the drain polls rarely: producers wake it */
    uint64_t activity;  /* result of activity_of at the last poll */
    uint64_t flushed;   /* likewise, when everything was last written */
    bool was_calm;      /* with each thread's last op */
    uint64_t flush_ns;
    uint64_t synced_ns; /* when the disk was last asked */
    tt_sync sync;
    uint64_t changed_ns, flushed_ns, failed_ns; /* of `activity`, of writing, of failing; 0: not */
    bool has_thread;
    pthread_t thread;
    atomic_uint tid; /* of the drain thread, once it runs */
};

tt_area_map *tt_recorder_area(tt_recorder *r)
{
    return &r->map;
}

const char *tt_recorder_path(const tt_recorder *r)
{
    return r->path;
}

bool tt_recorder_page_faults(const tt_recorder *r, tt_error *why)
{
    *why = r->faults_refused;
    return r->faults != NULL;
}

/* Wakes the drain if it sleeps for long. A run's description comes before its ops, which could fill
 * a ring before an idle drain polls again. Either the drain sees what was recorded before it
 * sleeps, or it is woken here. */
static void wake(tt_recorder *r)
{
    /* A read-modify-write, so that this and the drain's own exchange are ordered: one of them
     * sees the other's value. */
    if (!atomic_fetch_or(&r->asleep, 0)) return;
    (void)pthread_mutex_lock(&r->stop_lock);
    (void)pthread_cond_signal(&r->stop_cond);
    (void)pthread_mutex_unlock(&r->stop_lock);
}

bool tt_recorder_meta(tt_recorder *r, uint8_t type, const tt_bytes *payload)
{
    (void)pthread_mutex_lock(&r->meta_lock);
    bool ok = tt_area_meta_push(&r->map, type, payload);
    tt_area_counts *c = &r->map.area->counts;
    if (ok && type == TT_META_TOKEN_TEXT) atomic_fetch_add(&c->token_texts, 1);
    if (ok && type == TT_META_INDICES) atomic_fetch_add(&c->row_numbers, 1);
    (void)pthread_mutex_unlock(&r->meta_lock);
    wake(r);
    return ok;
}

void tt_recorder_data(tt_recorder *r, tt_data_block *block)
{
    if (!tt_data_queue_push(&r->data, block))
        atomic_fetch_add(&r->map.area->counts.data_dropped, 1);
    wake(r);
}

/* Writes the queued data of outputs. If `status` is a failure, drops it, so that no thread waits
 * for a failing disk. */
static tt_status drain_data(tt_recorder *r, tt_status status, tt_error *err)
{
    for (tt_data_block *block = tt_data_queue_take(&r->data), *next; block; block = next) {
        next = block->next;
        if (status == TT_OK)
            status = tt_drain_data(&r->drain, block, err);
        else
            atomic_fetch_add(&r->map.area->counts.data_dropped, 1);
        free(block);
    }
    return status;
}

/* Appends a CLOCK record with the current time. Any thread. */
static void recorder_clock(tt_recorder *r)
{
    tt_meta_clock k;
    tt_bytes payload;
    tt_bytes_init(&payload, 64);
    /* The nanoseconds are read between two reads of the ticks, so they belong to the middle of
     * the two. */
    uint64_t before = tt_ticks();
    k.mono_ns = tt_clock_ns(CLOCK_MONOTONIC);
    k.ticks = before + (tt_ticks() - before) / 2;
    k.unix_ns = tt_clock_ns(CLOCK_REALTIME);
    tt_meta_put_clock(&payload, &k);
    (void)tt_recorder_meta(r, TT_META_CLOCK, &payload);
    tt_bytes_free(&payload);
}

static bool put_fault_record(void *context, uint8_t type, const tt_bytes *payload)
{
    tt_recorder *r = context;
    tt_area *a = r->map.area;
    uint64_t used = atomic_load(&a->meta_head) - atomic_load(&a->meta_tail);
    /* Many faults must not displace the descriptions of ops. */
    if (used > a->meta_bytes / 4) (void)tt_drain_step(&r->drain, TT_DRAIN_ALL, NULL);
    used = atomic_load(&a->meta_head) - atomic_load(&a->meta_tail);
    return used <= a->meta_bytes / 2 && tt_recorder_meta(r, type, payload);
}

/* Passes the recorded faults to the meta stream. Called by the draining thread. */
static void write_faults(tt_recorder *r, bool all, bool even_empty)
{
    tt_area_counts *c = &r->map.area->counts;
    uint64_t faults, lost;
    if (!r->faults || atomic_load(&r->map.area->stopped)) return;
    tt_fault_log_write(r->faults, all, even_empty, put_fault_record, r);
    tt_fault_log_totals(r->faults, &faults, &lost);
    atomic_store(&c->page_faults, faults);
    atomic_store(&c->page_faults_lost, lost);
}

/* The number of records in the fullest ring. */
static uint64_t fullest_ring(const tt_recorder *r)
{
    uint64_t most = 0;
    for (uint32_t i = 0, used = tt_area_rings_used(&r->map); i < used; i++) {
        const tt_ring *details = tt_area_detail_ring(&r->map, i);
        uint64_t n = tt_area_kept(&r->map, &r->map.rings[i]);
        uint64_t n_details = details ? tt_area_kept(&r->map, details) : 0;
        if (n > most) most = n;
        if (n_details > most) most = n_details;
    }
    return most;
}

/* The pause before the next poll, derived from the last pause and what the last poll found. */
static long next_poll(const tt_recorder *r, long poll_ns)
{
    uint64_t sixteenths = fullest_ring(r) * 16 / r->map.area->ring_records;
    unsigned of_faults = r->faults ? tt_fault_log_fullness(r->faults) : 0;
    if (of_faults > sixteenths) sixteenths = of_faults;
    if (sixteenths >= 4) poll_ns /= 4;
    if (sixteenths < 1) poll_ns *= 2;
    if (poll_ns < POLL_MIN_NS) return POLL_MIN_NS;
    return poll_ns > POLL_MAX_NS ? POLL_MAX_NS : poll_ns;
}

static void put_environment(tt_recorder *r, const char *key, const char *value)
{
    tt_bytes payload;
    tt_bytes_init(&payload, 1024);
    tt_meta_pair pair = {{(const uint8_t *)key, strlen(key)},
                         {(const uint8_t *)value, strlen(value)}};
    tt_meta_put_pairs(&payload, &pair, 1);
    (void)tt_recorder_meta(r, TT_META_ENVIRONMENT, &payload);
    tt_bytes_free(&payload);
}

static void report_stopped(tt_recorder *r)
{
    char text[96];
    if (r->stop_noted || !atomic_load(&r->map.area->stopped)) return;
    r->stop_noted = true;
    (void)snprintf(text, sizeof text, "the trace came to its limit of %" PRIu64 " bytes",
                   r->sink.limit);
    put_environment(r, "stopped", text);
}

void tt_recorder_follow(tt_recorder *r, tt_session *session, tt_session_file *file)
{
    r->file = file;
    atomic_store(&r->session, file ? session : NULL);
}

static void enter_snapshot(tt_recorder *r, const tt_error *failed)
{
    tt_session_file *file = r->file;
    (void)snprintf(file->snapshot, sizeof file->snapshot, "%s",
                   failed ? failed->message : r->snapshot.path);
    atomic_store(&file->snapshot_failed, failed != NULL);
    atomic_store(&file->snapshots, r->snapshot_asked);
}

static tt_status begin_snapshot(tt_recorder *r, uint32_t asked)
{
    tt_error err = {.message = ""};
    r->snapshot_asked = asked;
    recorder_clock(r);
    write_faults(r, false, true);
    tt_status status = tt_drain_step(&r->drain, TT_DRAIN_ALL, NULL);
    if (snapshot_begin(&r->snapshot, &r->drain, r->path, ++r->n_snapshots, &err) != TT_OK)
        enter_snapshot(r, &err);
    return status;
}

/* Makes the requested snapshots. Returns TT_OK or the drain's own failure: a failed snapshot is
 * reported to its requester and stops nothing else. */
static tt_status serve_snapshots(tt_recorder *r)
{
    tt_session *session = atomic_load(&r->session);
    tt_error err = {.message = ""};
    if (!session) return TT_OK;
    if (!r->snapshot.active) {
        uint32_t asked = atomic_load(&session->snapshots);
        return asked == atomic_load(&r->file->snapshots) ? TT_OK : begin_snapshot(r, asked);
    }
    if (snapshot_step(&r->snapshot, &r->drain, &err) != TT_OK)
        enter_snapshot(r, &err);
    else if (!r->snapshot.active)
        enter_snapshot(r, NULL);
    return TT_OK;
}

/* A number that changes whenever something is recorded. */
static uint64_t activity_of(const tt_recorder *r)
{
    uint64_t sum = atomic_load(&r->map.area->meta_head);
    if (r->faults) sum += tt_fault_log_activity(r->faults);
    for (uint32_t i = 0, used = tt_area_rings_used(&r->map); i < used; i++) {
        const tt_ring *details = tt_area_detail_ring(&r->map, i);
        sum += atomic_load(&r->map.rings[i].head);
        if (details) sum += atomic_load(&details->head);
    }
    return sum;
}

/* Chooses what this poll writes. */
static enum tt_drain_what choose(tt_recorder *r, uint64_t now_ns)
{
    uint64_t activity = activity_of(r);
    if (activity != r->activity) {
        r->activity = activity;
        r->changed_ns = now_ns;
    }
    if (now_ns - r->flushed_ns < r->flush_ns) return TT_DRAIN_PILED;
    r->flushed_ns = now_ns;
    bool calm = now_ns - r->changed_ns >= CALM_NS, changed = activity != r->flushed;
    if (!changed && (r->was_calm || !calm)) return TT_DRAIN_PILED;
    r->was_calm = calm;
    if (changed) recorder_clock(r);
    if (changed) write_faults(r, false, true);
    r->flushed = r->activity = activity_of(r);
    return calm ? TT_DRAIN_CALM : TT_DRAIN_ALL;
}

/* Drains once. A full disk may have room later: what cannot be written stays in the rings until
 * they are full, and is counted as dropped from then on. */
static void drain(tt_recorder *r, uint64_t now_ns)
{
    write_faults(r, false, false);
    enum tt_drain_what what = choose(r, now_ns);
    bool waits = r->failed_ns && now_ns - r->failed_ns < RETRY_NS;
    tt_status status = waits ? TT_E_IO : tt_drain_step(&r->drain, what, NULL);
    status = drain_data(r, status, NULL);
    report_stopped(r);
    if (status == TT_OK) status = serve_snapshots(r);
    if (!waits) r->failed_ns = status == TT_OK ? 0 : now_ns;
    if (status != TT_OK) r->flushed = UINT64_MAX; /* failed: retry everything */
    if (status == TT_OK && what != TT_DRAIN_PILED && now_ns - r->synced_ns >= SYNC_NS) {
        r->synced_ns = now_ns;
        tt_sync_want(&r->sync, r->sink.fd);
    }
    tt_area_prepare_spares(&r->map, SPARE_RINGS);
}

/* The drain slept since begin_ticks and was to wake at `due`. Whatever stops the whole process, or
 * the machine, stops it too; what only lets threads wait for processors, the kernel counts. */
static void note_pause(tt_recorder *r, uint64_t begin_ticks, const struct timespec *due, int delay,
                       uint64_t delay_before_ns)
{
    const uint64_t due_ns = (uint64_t)due->tv_sec * 1000000000u + (uint64_t)due->tv_nsec;
    const uint64_t now_ns = tt_clock_ns(CLOCK_MONOTONIC), hz = r->map.area->tick_hz;
    uint64_t delay_ns;
    if (now_ns < due_ns + PAUSE_NS || !tt_run_delay_read(delay, &delay_ns)) return;
    delay_ns -= delay_before_ns;
    if (delay_ns >= (now_ns - due_ns) / 4) return;
    const uint64_t ticks = tt_ticks();
    const uint64_t over = (uint64_t)((double)(now_ns - due_ns) * 1e-9 * (double)hz);
    /* hz may be measured too high: it was not due before it slept. */
    const uint64_t due_ticks = ticks - begin_ticks > over ? ticks - over : begin_ticks;
    tt_bytes payload;
    tt_bytes_init(&payload, 64);
    tt_meta_put_pause(&payload, &(tt_meta_pause){begin_ticks, due_ticks, ticks, delay_ns});
    (void)tt_recorder_meta(r, TT_META_PAUSE, &payload);
    tt_bytes_free(&payload);
}

/* Waits until the next poll or until woken. stop_lock is held; delay: this thread's file. */
static void wait_for_work(tt_recorder *r, long poll_ns, int delay)
{
    struct timespec until;
    uint64_t delay_ns = 0;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    bool idle = tt_clock_ns(CLOCK_MONOTONIC) - r->changed_ns >= IDLE_NS && !r->snapshot.active;
    if (idle) {
        poll_ns = POLL_IDLE_NS;
        (void)atomic_exchange(&r->asleep, 1);
        if (activity_of(r) != r->activity) poll_ns = 0;
    }
    until.tv_nsec += poll_ns;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    const uint64_t begin = tt_ticks();
    const bool counted = tt_run_delay_read(delay, &delay_ns);
    if (poll_ns) (void)pthread_cond_timedwait(&r->stop_cond, &r->stop_lock, &until);
    atomic_store(&r->asleep, 0);
    if (counted) note_pause(r, begin, &until, delay, delay_ns);
}

static void *drain_main(void *argument)
{
    tt_recorder *r = argument;
    long poll_ns = POLL_MIN_NS;
    const int delay = tt_run_delay_open();
    /* A short run needs no thread that asks the disk. */
    r->flushed_ns = r->changed_ns = r->synced_ns = tt_clock_ns(CLOCK_MONOTONIC);
    (void)pthread_mutex_lock(&r->stop_lock);
    atomic_store(&r->tid, (unsigned)syscall(SYS_gettid));
    (void)pthread_cond_broadcast(&r->stop_cond);
    while (!r->stop) {
        wait_for_work(r, poll_ns, delay);
        (void)pthread_mutex_unlock(&r->stop_lock);
        poll_ns = next_poll(r, poll_ns);
        drain(r, tt_clock_ns(CLOCK_MONOTONIC));
        (void)pthread_mutex_lock(&r->stop_lock);
    }
    (void)pthread_mutex_unlock(&r->stop_lock);
    tt_run_delay_close(delay);
    return NULL;
}

static bool start_thread(tt_recorder *r)
{
    sigset_t all, before;
    pthread_attr_t attr;
    pthread_condattr_t cond;
    (void)pthread_condattr_init(&cond);
    (void)pthread_condattr_setclock(&cond, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&r->stop_cond, &cond);
    (void)pthread_condattr_destroy(&cond);
    (void)pthread_attr_init(&attr);
    (void)pthread_attr_setstacksize(&attr, DRAIN_STACK_BYTES);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    r->has_thread = pthread_create(&r->thread, &attr, drain_main, r) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attr);
    if (r->has_thread) (void)pthread_setname_np(r->thread, "tt-drain");
    return r->has_thread;
}

/* The drain thread already runs, so its own faults are not recorded: it does not inherit the
 * events. */
static void observe_faults(tt_recorder *r)
{
    tt_fault_log *log;
    (void)pthread_mutex_lock(&r->stop_lock);
    while (!atomic_load(&r->tid))
        (void)pthread_cond_wait(&r->stop_cond, &r->stop_lock);
    (void)pthread_mutex_unlock(&r->stop_lock);
    if (tt_fault_log_open(&log, r->map.area, r->map.area->total_bytes, atomic_load(&r->tid),
                          &r->faults_refused) == TT_OK) {
        r->faults_refused.status = TT_OK;
        atomic_store(&r->faults, log);
    }
}

/* The frequency of the tick counter: as the processor says, or measured in 0.2 ms. */
static uint64_t find_tick_hz(void)
{
    const uint64_t said = tt_ticks_hz();
    if (said) return said;
    uint64_t ns = tt_clock_ns(CLOCK_MONOTONIC), ticks = tt_ticks(), passed;
    do
        passed = tt_clock_ns(CLOCK_MONOTONIC) - ns;
    while (passed < 200000);
    return (tt_ticks() - ticks) * 1000000 / passed * 1000;
}

static tt_status create_part(tt_recorder *r, int *fd, tt_error *err)
{
    char part[PATH_MAX];
    tt_status status = tt_place_part(part, sizeof part, r->path, err);
    if (status == TT_OK) status = tt_place_check(r->path, err);
    if (status != TT_OK) return status;
    if (!r->replace && access(r->path, F_OK) == 0)
        return tt_error_set(err, TT_E_EXISTS, TT_NO_OFFSET,
                            "%s exists: choose another name, or have it replaced", r->path);
    *fd = open(part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    const char *advice = " (`tensortrace recover` finishes one whose program died)";
    if (*fd < 0)
        return tt_error_set(err, errno == EEXIST ? TT_E_EXISTS : TT_E_IO, TT_NO_OFFSET,
                            "cannot create %s: %s%s", part, strerror(errno),
                            errno == EEXIST ? advice : "");
    *fd = tt_descriptor_raise(*fd);
    /* The lock tells `tensortrace recover` that the file is being written, also from another pid
     * namespace. It lasts until the last copy of the descriptor is closed. Some file systems have
     * no locks. */
    (void)tt_descriptor_lock(*fd);
    return TT_OK;
}

static tt_status open_parts(tt_recorder *r, const tt_recorder_options *o, int fd, tt_error *err)
{
    tt_file_header header = {.major = TT_FORMAT_MAJOR,
                             .minor = TT_FORMAT_MINOR,
                             .created_unix_ns = tt_clock_ns(CLOCK_REALTIME),
                             .pid = (uint64_t)getpid()};
    char dir[PATH_MAX];
    struct stat st;
    if (getrandom(header.run_id, sizeof header.run_id, 0) != (ssize_t)sizeof header.run_id)
        return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "no random bytes: %s", strerror(errno));
    tt_place_dir(dir, sizeof dir, r->path);
    tt_status status = tt_sink_begin(&r->sink, fd, &header, o->limit_bytes, o->keep_bytes, err);
    if (status == TT_OK)
        status = tt_area_create(&r->map, o->ring_bytes ? o->ring_bytes : TT_AREA_RING_BYTES_DEFAULT,
                                header.run_id, dir, err);
    if (status != TT_OK) return status;
    if (strlen(r->path) < sizeof r->map.area->trace)
        memcpy(r->map.area->trace, r->path, strlen(r->path) + 1);
    if (stat(dir, &st) == 0) r->map.area->trace_device = (uint64_t)st.st_dev;
    r->map.area->tick_hz = find_tick_hz();
    status = tt_drain_begin(&r->drain, &r->map, &r->sink, err);
    if (status == TT_OK) {
        tt_area_prepare_spares(&r->map, SPARE_RINGS);
        recorder_clock(r);
        if (!start_thread(r))
            status = tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot start the drain thread");
        else if (o->page_faults)
            observe_faults(r);
    }
    if (status != TT_OK) (void)unlink(r->map.path);
    return status;
}

/* Blocks SIGXFSZ while the drain writes: a file size limit (ulimit -f) must not kill the program. A
 * failed write is an error here, as on a full disk. */
typedef struct size_guard {
    sigset_t before;
    bool pending; /* not caused by us */
} size_guard;

static void only_xfsz(sigset_t *set)
{
    (void)sigemptyset(set);
    (void)sigaddset(set, SIGXFSZ);
}

static size_guard guard_size(void)
{
    size_guard g;
    sigset_t xfsz, pending;
    only_xfsz(&xfsz);
    (void)pthread_sigmask(SIG_BLOCK, &xfsz, &g.before);
    g.pending = sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1;
    return g;
}

static void unguard_size(const size_guard *g)
{
    const struct timespec now = {0, 0};
    sigset_t xfsz;
    only_xfsz(&xfsz);
    while (!g->pending && sigtimedwait(&xfsz, NULL, &now) < 0 && errno == EINTR)
        continue;
    (void)pthread_sigmask(SIG_SETMASK, &g->before, NULL);
}

static tt_status open_guarded(tt_recorder **recorder, const tt_recorder_options *options,
                              tt_error *err)
{
    int fd = -1;
    tt_recorder *r = calloc(1, sizeof *r);
    if (!r) return tt_error_memory(err, "the recorder");
    (void)pthread_mutex_init(&r->meta_lock, NULL);
    tt_data_queue_init(&r->data);
    (void)pthread_mutex_init(&r->stop_lock, NULL);
    tt_sync_init(&r->sync);
    r->flush_ns = options->flush_ns ? options->flush_ns : FLUSH_NS;
    r->replace = options->replace;
    r->sink.fd = r->map.fd = -1;
    tt_status status = tt_place_absolute(r->path, sizeof r->path, options->path, err);
    if (status == TT_OK) status = create_part(r, &fd, err);
    if (status == TT_OK) {
        status = open_parts(r, options, fd, err);
        if (status == TT_OK) {
            *recorder = r;
            return TT_OK;
        }
        char part[PATH_MAX];
        if (tt_place_part(part, sizeof part, r->path, NULL) == TT_OK) (void)unlink(part);
        tt_fault_log_close(r->faults);
        tt_drain_end(&r->drain);
        tt_area_unmap(&r->map);
        if (r->sink.fd < 0) (void)close(fd); /* the sink does not own it yet */
        tt_sink_close(&r->sink);
    }
    free(r);
    return status;
}

tt_status tt_recorder_open(tt_recorder **recorder, const tt_recorder_options *options,
                           tt_error *err)
{
    *recorder = NULL;
    size_guard guard = guard_size();
    tt_status status = open_guarded(recorder, options, err);
    unguard_size(&guard);
    return status;
}

static void stop_thread(tt_recorder *r)
{
    if (!r->has_thread) return;
    (void)pthread_mutex_lock(&r->stop_lock);
    r->stop = true;
    (void)pthread_cond_signal(&r->stop_cond);
    (void)pthread_mutex_unlock(&r->stop_lock);
    (void)pthread_join(r->thread, NULL);
    r->has_thread = false;
}

/* Whether `path` names the file that was written; else TT_E_NOT_FOUND. */
static tt_status look_for_part(const tt_recorder *r, const char *path, tt_error *err)
{
    struct stat st;
    if (lstat(path, &st) != 0)
        return errno == ENOENT || errno == ENOTDIR
                   ? TT_E_NOT_FOUND
                   : tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot look for %.200s: %s", path,
                                  strerror(errno));
    bool is_it = (uint64_t)st.st_dev == r->sink.device && (uint64_t)st.st_ino == r->sink.inode;
    return is_it ? TT_OK : TT_E_NOT_FOUND;
}

/* Finds the file that was written. If it or its folder was moved, it gets its final name there.
 * TT_E_NOT_FOUND: it has no name any more; a file with its old name is not ours. */
static tt_status find_part(tt_recorder *r, char part[PATH_MAX], tt_error *err)
{
    char link[64];
    tt_status status = tt_place_part(part, PATH_MAX, r->path, err);
    if (status == TT_OK) status = look_for_part(r, part, err);
    if (status != TT_E_NOT_FOUND) return status;
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", r->sink.fd);
    ssize_t n = readlink(link, part, PATH_MAX - 1);
    part[n > 0 ? n : 0] = '\0';
    status = look_for_part(r, part, err);
    if (status == TT_E_NOT_FOUND)
        return tt_error_set(
            err, status, TT_NO_OFFSET,
            "%.200s" TT_PLACE_PART_SUFFIX " was removed or replaced while it was written", r->path);
    if (status != TT_OK) return status;
    tt_place_finished(r->path, sizeof r->path, part);
    r->replace = false;
    return TT_OK;
}

static tt_status finish_part(tt_recorder *r, char part[PATH_MAX], tt_error *err)
{
    recorder_clock(r);
    write_faults(r, true, true);
    tt_status status = tt_drain_step(&r->drain, TT_DRAIN_LAST, err);
    if (status == TT_OK) status = drain_data(r, TT_OK, err);
    if (status == TT_OK) status = find_part(r, part, err);
    if (status == TT_OK) status = tt_drain_finish(&r->drain, TT_END_NORMAL, part, err);
    return status;
}

tt_status tt_recorder_close(tt_recorder *r, bool discard, tt_error *err)
{
    char part[PATH_MAX];
    tt_status status = TT_OK;
    size_guard guard = guard_size();
    tt_data_queue_close(&r->data);
    stop_thread(r);
    tt_sync_stop(&r->sync);
    snapshot_stop(&r->snapshot, &r->drain);
    if (!discard)
        status = finish_part(r, part, err);
    else if (find_part(r, part, NULL) == TT_OK)
        (void)unlink(part);
    /* If finishing failed, part file and area are kept for `tensortrace recover`. A finished file
     * does not need the area, which is removed before the rename: after a kill between the two,
     * nobody would search for it. */
    if (discard || status == TT_OK || status == TT_E_NOT_FOUND) (void)unlink(r->map.path);
    /* Set before the rename: a process killed right after it could not report it. */
    if (!discard && status == TT_OK && r->file) r->file->outcome = tt_area_outcome(&r->map);
    if (!discard && status == TT_OK && strcmp(part, r->path) != 0)
        status = tt_place_rename(part, r->path, sizeof r->path, r->replace, err);
    tt_fault_log_close(r->faults);
    r->faults = NULL;
    tt_drain_end(&r->drain);
    tt_sink_close(&r->sink);
    unguard_size(&guard);
    return status;
}

void tt_recorder_release_memory(tt_recorder *r)
{
    /* Recorders are never freed; the list keeps them reachable. */
    static tt_recorder *_Atomic released;
    r->released_before = atomic_exchange(&released, r);
    uint8_t *slots = (uint8_t *)r->map.slots;
    uint64_t before = (uint64_t)(slots - (uint8_t *)r->map.area);
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), skip = (page - before % page) % page;
    uint64_t bytes = r->map.area->total_bytes - before;
    /* MADV_REMOVE: pages are zero-filled when somebody writes to them again. */
    if (bytes > skip) (void)madvise(slots + skip, bytes - skip, MADV_REMOVE);
    tt_area_close(&r->map);
}

void tt_recorder_free(tt_recorder *r)
{
    tt_area_unmap(&r->map);
    free(r);
}

void tt_recorder_forget(tt_recorder *r)
{
    tt_sink_drop(&r->sink);
    if (r->faults) tt_fault_log_drop(r->faults);
    tt_area_unmap(&r->map);
}
