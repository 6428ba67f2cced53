#include "adapter/ggml/process.h"

#include "adapter/ggml/batch_ext.h"
#include "adapter/ggml/capture.h"
#include "adapter/ggml/describe.h"
#include "adapter/ggml/engine.h"
#include "adapter/ggml/graphs.h"
#include "adapter/ggml/lane.h"
#include "adapter/ggml/models.h"
#include "adapter/ggml/owner.h"
#include "adapter/ggml/residency.h"
#include "adapter/ggml/resolve.h"
#include "adapter/ggml/tokens.h"
#include "adapter/ggml/usage.h"
#include "format/meta.h"
#include "record/lasting.h"
#include "record/place.h"
#include "record/session.h"

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
    OFF,   /* not asked to trace, failed, or ended */
    READY, /* opens at the first need */
    RECORDING
};

static _Atomic int state;
static tt_recorder *recorder;
static tt_session *session;
static tt_session_file *session_file;
static enum tt_mode mode;
static tt_recorder_options options;
static bool exact; /* see tt_process_setup */
static bool forked;
static bool exit_registered;
static tt_error refused; /* why the recorder could not be opened; open_lock is held */
static void (*forget)(void);
/* STRING, MODEL and BUFFER records so far, framed: a forked child's trace begins with them. */
static tt_bytes replay;
static size_t replay_tidied; /* its size when the last was thrown out that does not hold any more */

/* Recursive: what the engine is asked under it may allocate a buffer, which is hooked. */
pthread_mutex_t tt_process_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
/* Held while a recorder makes its files, and across a fork: a child must know what it inherits. It
 * is the last to be taken: nothing else of ours is locked under it. */
static pthread_mutex_t create_lock = PTHREAD_MUTEX_INITIALIZER;
static bool fork_holds_create;

void tt_process_at_fork(void (*in_the_child)(void))
{
    forget = in_the_child;
}

uint64_t tt_process_keep_bytes(void)
{
    return options.keep_bytes;
}

enum tt_mode tt_process_mode(void)
{
    return mode;
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

/* Buffers come and go for as long as the program runs. */
static void tidy_replay(void)
{
    tt_lasting lasting;
    tt_bytes tidy;
    uint32_t n;
    tt_lasting_init(&lasting);
    tt_bytes_init(&tidy, REPLAY_MAX_BYTES);
    tt_lasting_add(&lasting, (tt_span){replay.data, replay.size});
    tt_lasting_put(&lasting, &tidy, &n);
    if (!lasting.failed && !tidy.failed) {
        const tt_bytes before = replay;
        replay = tidy;
        tidy = before;
    }
    replay_tidied = replay.size;
    tt_lasting_free(&lasting);
    tt_bytes_free(&tidy);
}

/* Called with tt_process_lock held, which is also held across a fork. */
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
    /* What is said of the engine holds for a child too; it is said under the lock. */
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

static const char *on_or_off(bool on)
{
    return on ? "on" : "off";
}

/* What keeps a trace from holding all there was: each said by itself when it is so. */
static void describe_choice(tt_recorder *r)
{
    const tt_capture *c = &tt_capture_options;
    char text[96];
    if (c->token_first > 0 || c->token_last != UINT64_MAX) {
        int n = snprintf(text, sizeof text, "%" PRIu64 "..", c->token_first);
        if (c->token_last != UINT64_MAX && n > 0)
            (void)snprintf(text + n, sizeof text - (size_t)n, "%" PRIu64, c->token_last);
        tt_process_environment(r, "capture_tokens", text);
    }
    if (c->token_every > 1) {
        (void)snprintf(text, sizeof text, "%" PRIu64, c->token_every);
        tt_process_environment(r, "capture_every", text);
    }
    if (options.keep_bytes) {
        (void)snprintf(text, sizeof text, "%" PRIu64, options.keep_bytes);
        tt_process_environment(r, "capture_ring_bytes", text);
    }
    if (options.limit_bytes) {
        (void)snprintf(text, sizeof text, "%" PRIu64, options.limit_bytes);
        tt_process_environment(r, "capture_limit_bytes", text);
    }
}

/* In the words in which they were asked for. */
static void describe_values(tt_recorder *r)
{
    const tt_capture *c = &tt_capture_options;
    const char *asked = getenv(TT_ENV_VALUES);
    char text[256];
    if (c->values_problem[0]) {
        (void)snprintf(text, sizeof text, "not observed: %s", c->values_problem);
        asked = text;
    }
    bool off = !c->values_problem[0] && c->values.level == TT_VALUES_OFF;
    tt_process_environment(r, "capture_values", off || !asked ? "off" : asked);
}

static void describe_capture(tt_recorder *r)
{
    static const char *const modes[] = {[TT_MODE_AUTO] = "auto",
                                        [TT_MODE_HOOK] = "hook",
                                        [TT_MODE_CALLBACK] = "callback",
                                        [TT_MODE_API] = "api"};
    const tt_capture *c = &tt_capture_options;
    char text[256];
    uint64_t ring_bytes = options.ring_bytes ? options.ring_bytes : TT_AREA_RING_BYTES_DEFAULT;
    (void)snprintf(text, sizeof text,
                   "mode=%s thread_memory_bytes=%" PRIu64 " limit_bytes=%" PRIu64
                   " text=%d faults=%d residency_every=%" PRIu32,
                   modes[mode], ring_bytes, options.limit_bytes, c->text, c->faults,
                   c->residency_every);
    tt_process_environment(r, "capture", text);
    describe_choice(r);
    tt_process_environment(r, "capture_text", on_or_off(c->text));
    tt_process_environment(r, "capture_experts", on_or_off(mode != TT_MODE_API));
    tt_process_environment(r, "capture_off_cpu", on_or_off(mode != TT_MODE_API && !c->faults));
    tt_process_environment(r, "capture_faults", on_or_off(c->faults));
    tt_process_environment(r, "capture_residency", on_or_off(c->residency_every));
    describe_values(r);
}

/* The physical side of memory when recording begins or ends; r is open, or about to be. */
static void observe_memory(tt_recorder *r, enum tt_moment moment)
{
    struct timespec until;
    if (clock_gettime(CLOCK_REALTIME, &until) != 0) return;
    until.tv_sec += LOCK_WAIT_S;
    /* At the exit a thread that is no more may have held it. */
    if (pthread_mutex_timedlock(&tt_process_lock, &until) != 0) return;
    if (tt_capture_options.faults) tt_usage_record(r, 0, moment);
    /* A forked child begins with its parent's models. */
    if (moment == TT_AT_BEGIN && tt_capture_options.residency_every) tt_residency_begin(r);
    if (moment == TT_AT_END && tt_capture_options.residency_every)
        tt_residency_record(r, 0, moment);
    if (moment == TT_AT_END) tt_models_check(r);
    (void)pthread_mutex_unlock(&tt_process_lock);
}

/* More than the meta stream holds at once is possible: the drain makes room. Before the child's
 * first op, so that waiting harms nothing. */
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

/* The path that was asked for belongs to the first process that records; later ones,
 * and children, put their pid into the name. */
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
    describe_capture(recorder);
    tt_describe_run(recorder);
    observe_memory(recorder, TT_AT_BEGIN);
    atomic_store_explicit(&state, RECORDING, memory_order_release);
}

tt_recorder *tt_process_recorder_if_open(void)
{
    return atomic_load_explicit(&state, memory_order_acquire) == RECORDING ? recorder : NULL;
}

tt_recorder *tt_process_recorder(void)
{
    int now = atomic_load_explicit(&state, memory_order_acquire);
    if (now == RECORDING && !tt_owner_is_self()) {
        /* A child whose fork passed our handlers by (_Fork, clone): the rings are its parent's. */
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

/* --- begin, fork, end --- */

/* What a recorder before this one was told holds no more for its graphs; strings, models and
 * buffers are told again. */
static void begin_anew(void)
{
    tt_graphs_forget();
    tt_tokens_forget();
    tt_usage_forget();
    tt_residency_forget();
    session_file = NULL;
    if (recorder) tt_recorder_shed(recorder);
    recorder = NULL;
}

static void in_child(void)
{
    const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    const pthread_mutex_t fresh_recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    tt_process_lock = fresh_recursive;
    open_lock = create_lock = fresh;
    tt_engine_forget_locks();
    tt_resolve_forget_locks();
    tt_owner_forget();
    tt_tokens_forget_locks();
    tt_batch_ext_in_child();
    forked = true;
    session_file = NULL;
    tt_lanes_forget();
    if (forget) forget();
    /* One that is READY and has a recorder was being opened by another thread. */
    if (atomic_load(&state) == OFF || !recorder) return;
    tt_recorder_forget(recorder);
    recorder = NULL;
    begin_anew();
    atomic_store(&state, READY);
}

/* Held across a fork, so that the child does not get tables that are half changed. */
static void before_fork(void)
{
    struct timespec until;
    (void)pthread_mutex_lock(&tt_process_lock);
    /* A thread that makes files may wait for a lock of the loader that this one holds: not for
     * ever. */
    fork_holds_create = false;
    if (clock_gettime(CLOCK_REALTIME, &until) == 0) {
        until.tv_sec += LOCK_WAIT_S;
        fork_holds_create = pthread_mutex_timedlock(&create_lock, &until) == 0;
    }
    tt_batch_ext_before_fork();
}

static void in_parent(void)
{
    tt_batch_ext_in_parent();
    if (fork_holds_create) (void)pthread_mutex_unlock(&create_lock);
    (void)pthread_mutex_unlock(&tt_process_lock);
}

tt_status tt_process_begin(const tt_process_setup *setup, tt_error *err)
{
    static char path[PATH_MAX];
    static bool prepared;
    if (atomic_load(&state) != OFF)
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                            "this process is being recorded already");
    const char *session_path = getenv(TT_ENV_SESSION);
    if (setup->in_session && session_path && !session) session = tt_session_open(session_path);
    /* `run` would not know of the trace. */
    if (setup->in_session && session_path && !session && tt_session_is_strange(session_path))
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
    if (prepared) begin_anew();
    if (!prepared) {
        prepared = true;
        tt_bytes_init(&replay, REPLAY_MAX_BYTES);
        tt_lanes_prepare();
        (void)pthread_atfork(before_fork, in_parent, in_child);
    }
    atomic_store(&state, READY);
    return TT_OK;
}

tt_status tt_process_end(tt_error *err)
{
    if (atomic_load(&state) == RECORDING && !tt_owner_is_self()) return TT_OK;
    if (atomic_exchange(&state, OFF) != RECORDING) return TT_OK;
    tt_lanes_stop();
    bool nothing = atomic_load(&tt_recorder_area(recorder)->area->counts.runs) == 0;
    if (!nothing) observe_memory(recorder, TT_AT_END);
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

/* The program exits while threads still compute: finishing takes milliseconds, in which they
 * must not lose what they use. Exit handlers run last in, first out: this one, registered after
 * the engine was loaded, runs before the engine's own destructors; `end` runs after them. */
static void finish_if_computing(void)
{
    if (atomic_load(&tt_runs_hooked) > 0) (void)tt_process_end(NULL);
}

void tt_process_at_first_run(void)
{
    if (exit_registered) return;
    exit_registered = true;
    (void)atexit(finish_if_computing);
}
