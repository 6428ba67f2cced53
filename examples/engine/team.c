#include "team.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

struct member {
    team *team;
    uint32_t ith;
    pthread_t thread;
};

struct team {
    uint32_t n;
    pthread_barrier_t begin, end;
    team_work *work;
    void *context;
    bool over;
    struct member members[TEAM_MAX];
};

static void *member_main(void *argument)
{
    struct member *m = argument;
    team *t = m->team;
    for (;;) {
        pthread_barrier_wait(&t->begin);
        if (t->over) return NULL;
        t->work(t->context, m->ith, t->n);
        pthread_barrier_wait(&t->end);
    }
}

/* All threads are started before any barrier is waited at: one that cannot be is a process that is
 * out of threads, and the others would wait for it for ever. */
team *team_start(uint32_t n_threads)
{
    if (n_threads < 1 || n_threads > TEAM_MAX) return NULL;
    team *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    t->n = n_threads;
    pthread_barrier_init(&t->begin, NULL, n_threads);
    pthread_barrier_init(&t->end, NULL, n_threads);
    for (uint32_t i = 1; i < n_threads; i++) {
        t->members[i] = (struct member){.team = t, .ith = i};
        if (pthread_create(&t->members[i].thread, NULL, member_main, &t->members[i]) != 0)
            return NULL; /* those that wait are left to the end of the process */
    }
    return t;
}

void team_run(team *t, team_work *work, void *context)
{
    t->work = work;
    t->context = context;
    if (t->n > 1) pthread_barrier_wait(&t->begin);
    work(context, 0, t->n);
    if (t->n > 1) pthread_barrier_wait(&t->end);
}

void team_stop(team *t)
{
    if (!t) return;
    t->over = true;
    if (t->n > 1) pthread_barrier_wait(&t->begin);
    for (uint32_t i = 1; i < t->n; i++)
        pthread_join(t->members[i].thread, NULL);
    pthread_barrier_destroy(&t->begin);
    pthread_barrier_destroy(&t->end);
    free(t);
}
