/* Threads that work off what is queued.
 *
 * They come when something is queued and none is idle, up to a limit, and go when there was nothing
 * to do for a while: an answer that takes long, or waits for another's computation, has a thread of
 * its own, and keeps no other waiting. */
#ifndef TT_SERVE_POOL_H
#define TT_SERVE_POOL_H

#include <stdbool.h>

#define TT_POOL_THREADS_MAX 16u

typedef struct tt_job {
    void (*work)(struct tt_job *job);
    struct tt_job *next; /* private */
} tt_job;

typedef struct tt_pool tt_pool;

/* NULL without memory. */
tt_pool *tt_pool_new(unsigned threads_max);
/* Takes over the job, which is the caller's again when it is worked on. False when there is no
 * thread and none can be had, or the pool has ended. */
bool tt_pool_add(tt_pool *p, tt_job *job);
/* Takes nothing more, and returns when everything that was queued has been worked on and all
 * threads have ended. */
void tt_pool_end(tt_pool *p);
/* After tt_pool_end. NULL is allowed. */
void tt_pool_free(tt_pool *p);

#endif
