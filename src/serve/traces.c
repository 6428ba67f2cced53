#include "serve/traces.h"

#include "base/clock.h"
#include "base/path.h"
#include "serve/moment.h"
#include "serve/traces_inside.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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
        if (pthread_create(&f->thread, NULL, tt_traces_follow, f) != 0)
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
    return tt_base_name(t->list[id].path);
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
