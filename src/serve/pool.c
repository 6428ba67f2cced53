#include "serve/pool.h"

#include "serve/moment.h"

#include <pthread.h>
#include <stdlib.h>

#define IDLE_MS 20000u

enum slot_state { EMPTY, RUNNING, DONE /* still to be joined */ };

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

tt_pool *tt_pool_new(unsigned threads_max)
{
    tt_pool *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->threads_max = threads_max < TT_POOL_THREADS_MAX ? threads_max : TT_POOL_THREADS_MAX;
    p->last = &p->first;
    (void)pthread_mutex_init(&p->lock, NULL);
    tt_moment_condition(&p->changed);
    return p;
}

/* The next job; NULL when this thread is to end. With the lock. */
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

/* With the lock. */
static bool add_thread(tt_pool *p)
{
    for (unsigned i = 0; i < p->threads_max; i++) {
        slot *s = &p->slots[i];
        if (s->state == RUNNING) continue;
        /* It has given up the lock for good: this does not wait. */
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

void tt_pool_free(tt_pool *p)
{
    if (!p) return;
    (void)pthread_cond_destroy(&p->changed);
    (void)pthread_mutex_destroy(&p->lock);
    free(p);
}
