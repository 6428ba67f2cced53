#include "serve/traces.h"

#include "base/clock.h"
#include "base/path.h"
#include "serve/moment.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

typedef struct tt_followed {
    struct tt_traces *all;
    char *path;     /* as given */
    char *finished; /* its name once it is finished */
    char *unfinished;
    pthread_t thread;
    bool has_thread;
    /* Of its thread only: */
    struct stat seen; /* the file when it was last opened */
    /* Under the lock: */
    tt_generation *newest;
    tt_trace_news news;
    uint64_t began_ns;  /* start of opening, on CLOCK_MONOTONIC */
    uint64_t opened_ns; /* the newest */
} tt_followed;

struct tt_traces {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* also at the end */
    bool live;
    bool ends;
    uint32_t n;
    tt_followed *list;
};

/* Opens a trace, and again when it has grown.
 *
 * A recorder writes FILE.part and renames it to FILE when it is finished. Whole chunks can be read
 * meanwhile; a flight recorder also punches a hole at the start. Opening it in the middle of such a
 * change fails, and succeeds at one of the next polls: so the previous generation is kept
 * and the reason reported. */

#define LOOK_EVERY_MS 100u
/* A slow trace is opened less often: for at most a third of the time. */
#define PAUSE_PER_OPENING 2u
/* A recorder writes several times per second. */
#define STILL_NS 5000000000u

static bool is_newer(const struct stat *a, const struct stat *b)
{
    return a->st_mtim.tv_sec != b->st_mtim.tv_sec ? a->st_mtim.tv_sec > b->st_mtim.tv_sec
                                                  : a->st_mtim.tv_nsec >= b->st_mtim.tv_nsec;
}

/* The file to read now. An old FILE that is being recorded again is older than its FILE.part; a
 * leftover FILE.part is older than FILE. */
static const char *choose(const tt_followed *f, struct stat *st)
{
    struct stat part;
    if (!f->all->live) return stat(f->path, st) == 0 ? f->path : NULL;
    bool has = stat(f->finished, st) == 0;
    if (stat(f->unfinished, &part) == 0 && (!has || is_newer(&part, st))) {
        *st = part;
        return f->unfinished;
    }
    return has ? f->finished : NULL;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static void set_path(tt_trace_news *news, const char *path)
{
    size_t n = strlen(path), room = sizeof news->path - 1;
    (void)snprintf(news->path, sizeof news->path, "%s", n > room ? path + n - room : path);
}

/* There is nothing to read yet, or no longer. */
static void report_absent(tt_followed *f)
{
    tt_error why;
    (void)tt_error_set(&why, TT_E_NOT_FOUND, TT_NO_OFFSET,
                       f->newest ? "%.200s is gone; what was read of it is still shown"
                                 : "there is no %.200s yet; waiting for it",
                       f->finished);
    (void)pthread_mutex_lock(&f->all->lock);
    f->news.why = why;
    if (!f->newest) {
        f->news.state = TT_TRACE_WAITING;
        set_path(&f->news, f->path);
    }
    (void)pthread_cond_broadcast(&f->all->changed);
    (void)pthread_mutex_unlock(&f->all->lock);
}

static void report_failed(tt_followed *f, const char *path, const tt_error *why)
{
    (void)pthread_mutex_lock(&f->all->lock);
    f->news.why = *why;
    /* A recorder that has just started has not written its header yet. */
    if (!f->newest) {
        f->news.state = f->all->live ? TT_TRACE_WAITING : TT_TRACE_FAILED;
        set_path(&f->news, path);
    }
    (void)pthread_cond_broadcast(&f->all->changed);
    (void)pthread_mutex_unlock(&f->all->lock);
}

static void report_opened(tt_followed *f, const char *path, tt_generation *g, double took_s)
{
    const tt_model *m = tt_generation_model(g);
    (void)pthread_mutex_lock(&f->all->lock);
    tt_generation *old = f->newest;
    f->newest = g;
    f->news.generation = tt_generation_number(g);
    f->news.complete = m->trace.complete;
    f->news.state = f->all->live && !m->trace.complete ? TT_TRACE_LIVE : TT_TRACE_ENDED;
    f->news.size_bytes = m->trace.source.size;
    f->news.opening_s = took_s;
    f->news.why = (tt_error){.status = TT_OK, .offset = TT_NO_OFFSET};
    f->opened_ns = tt_clock_ns(CLOCK_MONOTONIC);
    set_path(&f->news, path);
    (void)pthread_cond_broadcast(&f->all->changed);
    (void)pthread_mutex_unlock(&f->all->lock);
    tt_generation_unref(old);
}

/* What was read is at `path`: it may have its name now. If nothing was added for a while, and its
 * program is not visible, it may have died. */
static void report_still(tt_followed *f, const char *path)
{
    tt_error why;
    (void)pthread_mutex_lock(&f->all->lock);
    set_path(&f->news, path);
    if (f->news.why.status == TT_E_NOT_FOUND)
        f->news.why = (tt_error){.status = TT_OK, .offset = TT_NO_OFFSET};
    uint64_t pid = tt_generation_model(f->newest)->trace.header.pid;
    if (f->news.state == TT_TRACE_LIVE && f->news.why.status == TT_OK &&
        tt_clock_ns(CLOCK_MONOTONIC) - f->opened_ns > STILL_NS && pid > 0 && pid <= INT_MAX &&
        kill((pid_t)pid, 0) != 0 && errno == ESRCH) {
        (void)tt_error_set(&why, TT_E_TRUNCATED, TT_NO_OFFSET,
                           "nothing is being added, and there is no process %" PRIu64
                           " here; if the "
                           "program died, `tensortrace recover %.160s` finishes its trace",
                           pid, path);
        f->news.why = why;
    }
    (void)pthread_mutex_unlock(&f->all->lock);
}

/* Its duration, in ms. */
static unsigned look(tt_followed *f)
{
    struct stat st;
    tt_error err;
    tt_model *m = NULL;
    tt_generation *g = NULL;
    const char *path = choose(f, &st);
    if (!path && f->all->live) {
        report_absent(f);
        return 0;
    }
    if (path && f->newest && is_same(&st, &f->seen)) {
        report_still(f, path);
        return 0;
    }
    if (!path) path = f->path; /* opening it reports the error */
    uint64_t began = tt_clock_ns(CLOCK_MONOTONIC);
    tt_status status = tt_model_open(path, &m, &err);
    if (status == TT_OK) status = tt_generation_new(m, f->news.generation + 1, &g, &err);
    uint64_t took = tt_clock_ns(CLOCK_MONOTONIC) - began;
    if (status == TT_OK) {
        f->seen = st;
        report_opened(f, path, g, (double)took / 1e9);
    } else {
        report_failed(f, path, &err);
    }
    return (unsigned)(took / 1000000 < 3600000 ? took / 1000000 : 3600000);
}

/* False: end. */
static bool pause_for(tt_traces *t, unsigned ms)
{
    struct timespec until = tt_moment_in(ms);
    (void)pthread_mutex_lock(&t->lock);
    while (!t->ends && pthread_cond_timedwait(&t->changed, &t->lock, &until) == 0)
        ;
    bool goes_on = !t->ends;
    (void)pthread_mutex_unlock(&t->lock);
    return goes_on;
}

/* The thread of one trace; the argument is a tt_followed. */
static void *traces_follow(void *followed)
{
    tt_followed *f = followed;
    unsigned took_ms;
    do {
        took_ms = look(f);
        if (took_ms * PAUSE_PER_OPENING < LOOK_EVERY_MS)
            took_ms = LOOK_EVERY_MS / PAUSE_PER_OPENING;
    } while (f->all->live && pause_for(f->all, took_ms * PAUSE_PER_OPENING));
    return NULL;
}

#define SUFFIX ".part"

const char *tt_trace_state_name(tt_trace_state state)
{
    static const char *const names[] = {[TT_TRACE_WAITING] = "waiting",
                                        [TT_TRACE_OPENING] = "opening",
                                        [TT_TRACE_LIVE] = "live",
                                        [TT_TRACE_ENDED] = "ended",
                                        [TT_TRACE_FAILED] = "failed"};
    return (unsigned)state < sizeof names / sizeof *names ? names[state] : "failed";
}

/* "FILE.part" and "FILE" are the same trace, before and after it is finished. */
static bool set_paths(tt_followed *f, const char *path)
{
    size_t n = strlen(path), suffix = strlen(SUFFIX);
    bool is_part = n > suffix && strcmp(path + n - suffix, SUFFIX) == 0;
    f->path = strdup(path);
    f->finished = strndup(path, is_part ? n - suffix : n);
    if (!f->path || !f->finished) return false;
    return asprintf(&f->unfinished, "%s" SUFFIX, f->finished) >= 0;
}

static tt_status begin(tt_traces *t, const char *const *paths, tt_error *err)
{
    for (uint32_t i = 0; i < t->n; i++) {
        tt_followed *f = &t->list[i];
        f->all = t;
        f->news.state = TT_TRACE_OPENING;
        f->began_ns = tt_clock_ns(CLOCK_MONOTONIC);
        if (!set_paths(f, paths[i])) return tt_error_memory(err, "the traces");
        if (pthread_create(&f->thread, NULL, traces_follow, f) != 0)
            return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no thread for a trace: %s",
                                strerror(errno));
        f->has_thread = true;
    }
    return TT_OK;
}

tt_status tt_traces_open(const char *const *paths, uint32_t n, bool live, tt_traces **out,
                         tt_error *err)
{
    *out = NULL;
    tt_traces *t = calloc(1, sizeof *t);
    if (t) t->list = calloc(n ? n : 1, sizeof *t->list);
    if (!t || !t->list) {
        free(t);
        return tt_error_memory(err, "the traces");
    }
    t->n = n;
    t->live = live;
    (void)pthread_mutex_init(&t->lock, NULL);
    tt_moment_condition(&t->changed);
    tt_status status = begin(t, paths, err);
    if (status == TT_OK)
        *out = t;
    else
        tt_traces_free(t);
    return status;
}

void tt_traces_free(tt_traces *t)
{
    if (!t) return;
    (void)pthread_mutex_lock(&t->lock);
    t->ends = true;
    (void)pthread_cond_broadcast(&t->changed);
    (void)pthread_mutex_unlock(&t->lock);
    for (uint32_t i = 0; i < t->n; i++) {
        tt_followed *f = &t->list[i];
        if (f->has_thread) (void)pthread_join(f->thread, NULL);
        tt_generation_unref(f->newest);
        free(f->path);
        free(f->finished);
        free(f->unfinished);
    }
    (void)pthread_cond_destroy(&t->changed);
    (void)pthread_mutex_destroy(&t->lock);
    free(t->list);
    free(t);
}

static bool any_is_opening(const tt_traces *t)
{
    for (uint32_t i = 0; i < t->n; i++)
        if (t->list[i].news.state == TT_TRACE_OPENING) return true;
    return false;
}

tt_status tt_traces_await(tt_traces *t, unsigned wait_ms, tt_error *err)
{
    struct timespec until = tt_moment_in(wait_ms);
    tt_status status = TT_OK;
    (void)pthread_mutex_lock(&t->lock);
    while (any_is_opening(t) && pthread_cond_timedwait(&t->changed, &t->lock, &until) == 0)
        ;
    for (uint32_t i = 0; i < t->n && status == TT_OK; i++) {
        const tt_trace_news *news = &t->list[i].news;
        if (news->state == TT_TRACE_FAILED)
            status = tt_error_set(err, news->why.status, news->why.offset, "%s", news->why.message);
    }
    (void)pthread_mutex_unlock(&t->lock);
    return status;
}

uint32_t tt_traces_count(const tt_traces *t)
{
    return t->n;
}

bool tt_traces_live(const tt_traces *t)
{
    return t->live;
}

const char *tt_traces_name(const tt_traces *t, uint32_t id)
{
    /* Traces of experiments have equal names: their folders distinguish them. */
    const char *path = t->list[id].path, *name = tt_base_name(path);
    if (name == path || strcmp(name, TT_RUN_TRACE) != 0) return name;
    const char *from = name - 1;
    while (from > path && from[-1] != '/')
        from--;
    return from;
}

const char *tt_traces_path(const tt_traces *t, uint32_t id)
{
    return t->list[id].path;
}

void tt_traces_news(tt_traces *t, uint32_t id, tt_trace_news *out)
{
    tt_followed *f = &t->list[id];
    (void)pthread_mutex_lock(&t->lock);
    *out = f->news;
    if (out->state == TT_TRACE_OPENING)
        out->opening_s = (double)(tt_clock_ns(CLOCK_MONOTONIC) - f->began_ns) / 1e9;
    (void)pthread_mutex_unlock(&t->lock);
}

tt_generation *tt_traces_newest(tt_traces *t, uint32_t id)
{
    (void)pthread_mutex_lock(&t->lock);
    tt_generation *g = t->list[id].newest;
    if (g) tt_generation_ref(g);
    (void)pthread_mutex_unlock(&t->lock);
    return g;
}
