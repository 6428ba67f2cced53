/* Waiting with a deadline. */
#ifndef TT_SERVE_MOMENT_H
#define TT_SERVE_MOMENT_H

#include <pthread.h>
#include <time.h>

/* ms from now, for pthread_cond_timedwait with a condition of tt_moment_condition. */
static inline struct timespec tt_moment_in(unsigned ms)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += ms / 1000;
    t.tv_nsec += (long)(ms % 1000) * 1000000;
    if (t.tv_nsec >= 1000000000) {
        t.tv_nsec -= 1000000000;
        t.tv_sec++;
    }
    return t;
}

/* Initialises a condition that is immune to changes of the wall clock. */
static inline void tt_moment_condition(pthread_cond_t *c)
{
    pthread_condattr_t a;
    (void)pthread_condattr_init(&a);
    (void)pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
    (void)pthread_cond_init(c, &a);
    (void)pthread_condattr_destroy(&a);
}

#endif
