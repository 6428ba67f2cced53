#include "serve/server.h"

#include "serve/http.h"
#include "serve/moment.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define IDLE_MS 20000u

enum slot_state { EMPTY, RUNNING, DONE /* not yet joined */ };

typedef struct slot {
    tt_pool *pool;
    pthread_t thread;
    enum slot_state state;
} slot;

struct tt_pool {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    tt_job *first, **last;
    unsigned threads_max, n_running, n_idle, n_queued;
    bool ends;
    slot slots[TT_POOL_THREADS_MAX];
};

/* NULL if out of memory. */
static tt_pool *pool_new(unsigned threads_max)
{
    tt_pool *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->threads_max = threads_max < TT_POOL_THREADS_MAX ? threads_max : TT_POOL_THREADS_MAX;
    p->last = &p->first;
    (void)pthread_mutex_init(&p->lock, NULL);
    tt_moment_condition(&p->changed);
    return p;
}

/* The next job; NULL if this thread must end. With the lock held. */
static tt_job *next_job(tt_pool *p)
{
    struct timespec until = tt_moment_in(IDLE_MS);
    p->n_idle++;
    while (!p->first && !p->ends && pthread_cond_timedwait(&p->changed, &p->lock, &until) == 0)
        ;
    p->n_idle--;
    tt_job *job = p->first;
    if (!job) return NULL;
    p->first = job->next;
    if (!p->first) p->last = &p->first;
    p->n_queued--;
    return job;
}

static void *work(void *argument)
{
    slot *s = argument;
    tt_pool *p = s->pool;
    (void)pthread_mutex_lock(&p->lock);
    for (tt_job *job = next_job(p); job; job = next_job(p)) {
        (void)pthread_mutex_unlock(&p->lock);
        job->work(job);
        (void)pthread_mutex_lock(&p->lock);
    }
    s->state = DONE;
    p->n_running--;
    (void)pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* With the lock held. */
static bool add_thread(tt_pool *p)
{
    for (unsigned i = 0; i < p->threads_max; i++) {
        slot *s = &p->slots[i];
        if (s->state == RUNNING) continue;
        /* It has released the lock for the last time: this does not wait. */
        if (s->state == DONE) (void)pthread_join(s->thread, NULL);
        s->state = EMPTY;
        s->pool = p;
        if (pthread_create(&s->thread, NULL, work, s) != 0) return false;
        s->state = RUNNING;
        p->n_running++;
        return true;
    }
    return false;
}

bool tt_pool_add(tt_pool *p, tt_job *job)
{
    (void)pthread_mutex_lock(&p->lock);
    if (p->ends) {
        (void)pthread_mutex_unlock(&p->lock);
        return false;
    }
    bool enough = p->n_idle > p->n_queued || p->n_running == p->threads_max || add_thread(p);
    bool taken = enough || p->n_running > 0;
    if (taken) {
        job->next = NULL;
        *p->last = job;
        p->last = &job->next;
        p->n_queued++;
        (void)pthread_cond_signal(&p->changed);
    }
    (void)pthread_mutex_unlock(&p->lock);
    return taken;
}

void tt_pool_end(tt_pool *p)
{
    (void)pthread_mutex_lock(&p->lock);
    p->ends = true;
    (void)pthread_cond_broadcast(&p->changed);
    (void)pthread_mutex_unlock(&p->lock);
    for (unsigned i = 0; i < p->threads_max; i++) {
        (void)pthread_mutex_lock(&p->lock);
        bool joins = p->slots[i].state != EMPTY;
        (void)pthread_mutex_unlock(&p->lock);
        if (joins) (void)pthread_join(p->slots[i].thread, NULL);
    }
}

/* After tt_pool_end. NULL is allowed. */
static void pool_free(tt_pool *p)
{
    if (!p) return;
    (void)pthread_cond_destroy(&p->changed);
    (void)pthread_mutex_destroy(&p->lock);
    free(p);
}

#define BACKLOG 64
/* Traces that take longer to open are opened while the pages show that. */
#define AWAIT_MS 400u
#define WORKERS 8u

static tt_status refuse(int fd, uint16_t port, tt_error *err)
{
    int why = errno;
    if (fd >= 0) (void)close(fd);
    if (why == EADDRINUSE)
        return tt_error_set(err, TT_E_IO, TT_NO_OFFSET,
                            "port %u is used by another program; name another with --port, or "
                            "leave it out for one that is free",
                            port);
    if (why == EACCES)
        return tt_error_set(err, TT_E_IO, TT_NO_OFFSET,
                            "port %u is not for everybody; name one from 1024 on with --port",
                            port);
    return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "127.0.0.1:%u cannot be used: %s", port,
                        strerror(why));
}

/* Binds the loopback address only. *port gets the bound one. */
static tt_status listen_on(uint16_t *port, int *out, tt_error *err)
{
    struct sockaddr_in a = {
        .sin_family = AF_INET, .sin_port = htons(*port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(fd, (struct sockaddr *)&a, sizeof a) != 0 || listen(fd, BACKLOG) != 0 ||
        getsockname(fd, (struct sockaddr *)&a, &n) != 0)
        return refuse(fd, *port, err);
    *port = ntohs(a.sin_port);
    *out = fd;
    return TT_OK;
}

static tt_status begin(tt_server *s, const tt_serve_options *o, tt_error *err)
{
    int listening = -1;
    s->key.port = o->port;
    tt_status status = listen_on(&s->key.port, &listening, err);
    if (status != TT_OK) return status;
    status = tt_traces_open(o->paths, o->n_paths, o->live, &s->traces, err);
    if (status == TT_OK) status = tt_traces_await(s->traces, AWAIT_MS, err);
    if (status == TT_OK && (!tt_access_secret(s->key.secret) || !tt_access_secret(s->key.once)))
        status = tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "no random numbers for the secret: %s",
                              strerror(errno));
    if (status == TT_OK) {
        s->pool = pool_new(o->workers ? o->workers : WORKERS);
        if (!s->pool) status = tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory");
    }
    (void)snprintf(s->url, sizeof s->url, "http://127.0.0.1:%u" TT_ACCESS_OPEN_PATH "%s",
                   s->key.port, s->key.secret);
    (void)snprintf(s->once_url, sizeof s->once_url, "http://127.0.0.1:%u" TT_ACCESS_OPEN_PATH "%s",
                   s->key.port, s->key.once);
    if (status == TT_OK) status = tt_http_start(s, listening, err);
    if (!s->daemon) (void)close(listening);
    return status;
}

tt_status tt_server_start(const tt_serve_options *o, tt_server **out, tt_error *err)
{
    *out = NULL;
    if (o->n_paths > TT_SERVE_TRACES_MAX)
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "more than %u traces",
                            TT_SERVE_TRACES_MAX);
    tt_server *s = calloc(1, sizeof *s);
    if (!s) return tt_error_memory(err, "the server");
    atomic_init(&s->is_ending, false);
    s->keeps_notes = !o->no_notes;
    tt_status status = begin(s, o, err);
    if (status == TT_OK)
        *out = s;
    else
        tt_server_stop(s);
    return status;
}

const char *tt_server_url(const tt_server *s)
{
    return s->url;
}

const char *tt_server_once_url(const tt_server *s)
{
    return s->once_url;
}

void tt_server_stop(tt_server *s)
{
    if (!s) return;
    atomic_store(&s->is_ending, true);
    if (s->pool) tt_pool_end(s->pool);
    tt_http_stop(s);
    pool_free(s->pool);
    tt_traces_free(s->traces);
    free(s);
}
