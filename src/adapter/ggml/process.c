#include "adapter/ggml/process.h"

#include "adapter/ggml/owner.h"
#include "format/meta.h"
#include "record/place.h"
#include "record/session.h"
#include "record/sink.h"

#include <inttypes.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REPLAY_MAX_BYTES (64u << 20)
#define REPLAY_TRIES 500
#define REPLAY_GROWTH_BYTES (1u << 20)
#define LOCK_WAIT_S 2

enum state {
    OFF,   /* not requested, failed, or ended */
    READY, /* opens on first use */
    RECORDING
};

static _Atomic int state;
tt_recorder *_Atomic tt_process_opened; /* set while it is RECORDING */
static tt_recorder *recorder;
static tt_session *session;
static tt_session_file *session_file;
static enum tt_mode mode;
static tt_recorder_options options;
static bool exact; /* see tt_process_setup */
static bool late;
static bool forked;
static tt_error refused; /* why the recorder could not be opened; guarded by open_lock */
static const tt_process_part *parts; /* parts of this process that record to it */
static size_t n_parts;
static void (*program_in_child)(void);
/* STRING, MODEL and BUFFER records so far, framed: a forked child's trace begins with them. */
static tt_bytes replay;
static size_t replay_tidied; /* its size after it was last tidied */

/* Recursive: engine functions called under it may allocate a buffer, which is hooked. */
pthread_mutex_t tt_process_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
/* Held while a recorder makes its files, and across a fork, because a child must know what it
 * inherits. The last lock in the order: no other lock of ours is taken under it. */
static pthread_mutex_t create_lock = PTHREAD_MUTEX_INITIALIZER;
static bool fork_holds_create;

#define EACH(part) for (const tt_process_part *part = parts; part < parts + n_parts; part++)

const tt_recorder_options *tt_process_options(void)
{
    return &options;
}

enum tt_mode tt_process_mode(void)
{
    return mode;
}

bool tt_process_is_late(void)
{
    return late;
}

void tt_process_saw_model(void)
{
    if (session) atomic_fetch_add(&session->models, 1);
}

void tt_process_saw_graph(void)
{
    if (session) atomic_fetch_add(&session->graphs, 1);
}

void tt_process_problem(const char *text)
{
    if (session) tt_session_problem(session, text);
}

/* Drops records of freed buffers: programs may create and free buffers for as long as they run. */
static void tidy_replay(void)
{
    tt_retained retained;
    tt_bytes tidy;
    uint32_t n;
    tt_retained_init(&retained);
    tt_bytes_init(&tidy, REPLAY_MAX_BYTES);
    tt_retained_add(&retained, (tt_span){replay.data, replay.size});
    tt_retained_put(&retained, &tidy, &n);
    if (!retained.failed && !tidy.failed) {
        const tt_bytes before = replay;
        replay = tidy;
        tidy = before;
    }
    replay_tidied = replay.size;
    tt_retained_free(&retained);
    tt_bytes_free(&tidy);
}

/* tt_process_lock is held, as across a fork. */
static void keep_for_child(uint8_t type, const tt_bytes *payload)
{
    tt_meta_put_record(&replay, type, payload);
    if (replay.size >= replay_tidied + REPLAY_GROWTH_BYTES) tidy_replay();
}

void tt_process_environment(tt_recorder *r, const char *key, const char *value)
{
    tt_bytes payload;
    tt_bytes_init(&payload, TT_META_RECORD_MAX);
    tt_meta_pair pair = {{(const uint8_t *)key, strlen(key)},
                         {(const uint8_t *)value, strlen(value)}};
    tt_meta_put_pairs(&payload, &pair, 1);
    /* Facts about the engine also hold for a child; they are recorded under the lock. */
    if (strncmp(key, "mode", 4) == 0 || strncmp(key, "engine_", 7) == 0 ||
        strcmp(key, "waits") == 0)
        keep_for_child(TT_META_ENVIRONMENT, &payload);
    (void)tt_process_put(r, TT_META_ENVIRONMENT, &payload);
}

bool tt_process_put(tt_recorder *r, uint8_t type, tt_bytes *payload)
{
    bool taken = tt_recorder_meta(r, type, payload);
    bool is_kept = type == TT_META_STRING || type == TT_META_MODEL || type == TT_META_BUFFER ||
                   type == TT_META_BUFFER_FREE;
    if (taken && is_kept) keep_for_child(type, payload);
    tt_bytes_free(payload);
    return taken;
}

/* The records may exceed what the meta stream holds: the drain makes room. This runs before the
 * child's first op, so waiting does no harm. */
static void replay_records(tt_recorder *r)
{
    const struct timespec pause = {.tv_nsec = 2000000};
    tt_cursor c = tt_cursor_of(replay.data, replay.size);
    uint8_t type;
    tt_span payload;
    while (tt_meta_next(&c, &type, &payload)) {
        tt_bytes view = {.data = (uint8_t *)(uintptr_t)payload.data, .size = payload.size};
        for (int tries = 0; tries < REPLAY_TRIES && !tt_recorder_meta(r, type, &view); tries++)
            (void)nanosleep(&pause, NULL);
    }
}

/* --- opening --- */

static tt_status create_recorder(const tt_recorder_options *o, tt_error *err)
{
    (void)pthread_mutex_lock(&create_lock);
    tt_status status = tt_recorder_open(&recorder, o, err);
    (void)pthread_mutex_unlock(&create_lock);
    return status;
}

/* The first process that records gets the requested path; later ones, and children, add their
 * pid to the name. */
static tt_status open_at(const char *wanted, bool first, tt_error *err)
{
    char path[PATH_MAX];
    tt_recorder_options o = options;
    o.path = wanted;
    o.replace = first && (options.replace || (session && session->replace));
    if (first) {
        tt_status status = create_recorder(&o, err);
        if (status != TT_E_EXISTS || exact) return status;
        o.replace = false;
    }
    tt_status status = tt_place_numbered(path, sizeof path, wanted, (long)getpid(), err);
    if (status != TT_OK) return status;
    o.path = path;
    return create_recorder(&o, err);
}

static void open_recorder(void)
{
    tt_error err = {.message = ""};
    refused = err;
    uint32_t nobody = 0;
    bool first =
        !forked && (!session || atomic_compare_exchange_strong(&session->path_taken, &nobody, 1));
    if (open_at(options.path, first, &err) != TT_OK) {
        refused = err;
        tt_process_problem(err.message);
        atomic_store(&state, OFF);
        return;
    }
    if (session)
        session_file = tt_session_add(session, tt_recorder_path(recorder),
                                      tt_recorder_area(recorder)->area->run_id, (uint32_t)getpid());
    tt_recorder_follow(recorder, session, session_file);
    tt_owner_mark();
    replay_records(recorder);
    EACH(part) if (part->begun) part->begun(recorder);
    atomic_store_explicit(&tt_process_opened, recorder, memory_order_release);
    /* Last: who ends the recording sees either nothing, or both. */
    atomic_store_explicit(&state, RECORDING, memory_order_release);
}

tt_recorder *tt_process_recorder_if_open(void)
{
    return atomic_load_explicit(&state, memory_order_acquire) == RECORDING ? recorder : NULL;
}

tt_recorder *tt_process_find_recorder(void)
{
    int now = atomic_load_explicit(&state, memory_order_acquire);
    if (now == RECORDING && !tt_owner_is_self()) {
        /* This child was created by _Fork or clone, bypassing our handlers: the rings are its
         * parent's. */
        atomic_store(&tt_process_opened, NULL);
        atomic_store(&state, OFF);
        tt_process_problem("a child was made by _Fork or clone; only fork can be followed");
        return NULL;
    }
    if (now == RECORDING) return recorder;
    if (now == OFF) return NULL;
    (void)pthread_mutex_lock(&open_lock);
    if (atomic_load(&state) == READY) open_recorder();
    (void)pthread_mutex_unlock(&open_lock);
    return tt_process_recorder_if_open();
}

tt_status tt_process_open(tt_error *err)
{
    if (tt_process_recorder()) return TT_OK;
    tt_status status = tt_process_why_not(err);
    return status != TT_OK
               ? status
               : tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "this process is not to be recorded");
}

tt_status tt_process_why_not(tt_error *err)
{
    (void)pthread_mutex_lock(&open_lock);
    tt_error why = refused;
    (void)pthread_mutex_unlock(&open_lock);
    if (err) *err = why;
    return why.status;
}

/* --- start, fork, end --- */

/* What an earlier recorder was given is not valid for graphs; strings, models and buffers are
 * recorded again. */
static void reset_parts(void)
{
    EACH(part) if (part->reset) part->reset();
    session_file = NULL;
    if (recorder) tt_recorder_release_memory(recorder);
    recorder = NULL;
}

static void in_child(void)
{
    const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    const pthread_mutex_t fresh_recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    tt_process_lock = fresh_recursive;
    open_lock = create_lock = fresh;
    tt_owner_in_child();
    forked = true;
    session_file = NULL;
    EACH(part) if (part->in_child) part->in_child();
    if (program_in_child) program_in_child();
    atomic_store(&tt_process_opened, NULL);
    /* A READY process with a recorder: another thread was opening it. */
    if (atomic_load(&state) == OFF || !recorder) return;
    tt_recorder_forget(recorder);
    recorder = NULL;
    reset_parts();
    atomic_store(&state, READY);
}

/* Held across a fork, so that the child does not inherit half-changed tables. */
static void before_fork(void)
{
    struct timespec until;
    (void)pthread_mutex_lock(&tt_process_lock);
    /* A thread that creates files may wait for a loader lock that this thread holds, so the wait is
     * bounded. */
    fork_holds_create = false;
    if (clock_gettime(CLOCK_REALTIME, &until) == 0) {
        until.tv_sec += LOCK_WAIT_S;
        fork_holds_create = pthread_mutex_timedlock(&create_lock, &until) == 0;
    }
    EACH(part) if (part->before_fork) part->before_fork();
}

static void in_parent(void)
{
    EACH(part) if (part->in_parent) part->in_parent();
    if (fork_holds_create) (void)pthread_mutex_unlock(&create_lock);
    (void)pthread_mutex_unlock(&tt_process_lock);
}

static void forget(void)
{
    (void)pthread_mutex_lock(&tt_process_lock);
    EACH(part) if (part->forget) part->forget();
    tt_bytes_free(&replay);
    tt_bytes_init(&replay, REPLAY_MAX_BYTES);
    replay_tidied = 0;
    (void)pthread_mutex_unlock(&tt_process_lock);
}

tt_status tt_process_begin(const tt_process_setup *setup, const tt_process_part *of, size_t n,
                           tt_error *err)
{
    static char path[PATH_MAX];
    static bool prepared;
    if (atomic_load(&state) != OFF)
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                            "this process is being recorded already");
    const char *session_path = getenv(TT_ENV_SESSION);
    if (setup->in_session && session_path && !session) session = tt_session_open(session_path);
    /* Otherwise `run` would not know of the trace. */
    if (setup->in_session && session_path && !session && tt_session_is_other_build(session_path))
        return tt_error_set(err, TT_E_UNSUPPORTED, TT_NO_OFFSET,
                            "`tensortrace run` is of another build than what records here");
    if (session && !prepared) atomic_fetch_add(&session->attached, 1);
    /* The program may change its working directory before it computes anything. */
    tt_status status = tt_place_absolute(path, sizeof path, setup->recorder.path, err);
    if (status != TT_OK) {
        if (err) tt_process_problem(err->message);
        return status;
    }
    options = setup->recorder;
    options.path = path;
    mode = setup->mode;
    exact = setup->exact && !session;
    late = setup->late;
    parts = of;
    n_parts = n;
    program_in_child = setup->in_child;
    if (prepared) reset_parts();
    if (prepared && setup->late) forget();
    if (!prepared) {
        prepared = true;
        tt_bytes_init(&replay, REPLAY_MAX_BYTES);
        EACH(part) if (part->prepare) part->prepare();
        (void)pthread_atfork(before_fork, in_parent, in_child);
    }
    atomic_store(&state, READY);
    return TT_OK;
}

tt_status tt_process_end(tt_error *err)
{
    if (atomic_load(&state) == RECORDING && !tt_owner_is_self()) return TT_OK;
    if (atomic_exchange(&state, OFF) != RECORDING) return TT_OK;
    atomic_store(&tt_process_opened, NULL);
    EACH(part) if (part->stop) part->stop();
    bool nothing = atomic_load(&tt_recorder_area(recorder)->area->counts.runs) == 0;
    EACH(part) if (!nothing && part->ending) part->ending(recorder);
    tt_error why = {.message = ""};
    tt_status status = tt_recorder_close(recorder, nothing, &why);
    if (status != TT_OK) tt_process_problem(why.message);
    if (session_file && status != TT_OK) {
        (void)snprintf(session_file->problem, sizeof session_file->problem, "%s", why.message);
        atomic_store(&session_file->state, TT_SESSION_FAILED);
    }
    if (session_file && status == TT_OK) {
        (void)snprintf(session_file->path, sizeof session_file->path, "%s",
                       tt_recorder_path(recorder));
        atomic_store(&session_file->state, nothing ? TT_SESSION_DISCARDED : TT_SESSION_FINISHED);
    }
    if (err) *err = why;
    return status;
}
