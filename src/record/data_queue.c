#include "record/data_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#define PATIENCE_SECONDS 10 /* for a disk that takes nothing */

void tt_data_queue_init(tt_data_queue *q)
{
    pthread_condattr_t attr;
    (void)pthread_mutex_init(&q->lock, NULL);
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&q->taken, &attr);
    (void)pthread_condattr_destroy(&attr);
    q->first = NULL;
    q->last = &q->first;
    q->bytes = 0;
    q->closed = false;
    q->stuck = false;
}

tt_data_block *tt_data_block_new(uint32_t run, uint32_t node, uint32_t part, size_t n)
{
    tt_data_block *block = malloc(sizeof *block + n);
    if (!block) return NULL;
    *block = (tt_data_block){.run = run, .node = node, .part = part, .n = n};
    return block;
}

/* Whether there is room; the lock is held. */
static bool wait_for_room(tt_data_queue *q, size_t n)
{
    struct timespec until;
    if (q->stuck) return !q->closed && (q->bytes == 0 || q->bytes + n <= TT_DATA_QUEUE_BYTES);
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += PATIENCE_SECONDS;
    while (!q->closed && q->bytes > 0 && q->bytes + n > TT_DATA_QUEUE_BYTES)
        if (pthread_cond_timedwait(&q->taken, &q->lock, &until) == ETIMEDOUT) {
            q->stuck = true; /* the next block shall not wait as long again */
            return false;
        }
    return !q->closed;
}

bool tt_data_queue_push(tt_data_queue *q, tt_data_block *block)
{
    (void)pthread_mutex_lock(&q->lock);
    bool room = wait_for_room(q, block->n);
    if (room) {
        *q->last = block;
        q->last = &block->next;
        q->bytes += block->n;
    }
    (void)pthread_mutex_unlock(&q->lock);
    if (!room) free(block);
    return room;
}

tt_data_block *tt_data_queue_take(tt_data_queue *q)
{
    (void)pthread_mutex_lock(&q->lock);
    tt_data_block *all = q->first;
    q->first = NULL;
    q->last = &q->first;
    q->bytes = 0;
    q->stuck = false;
    (void)pthread_cond_broadcast(&q->taken);
    (void)pthread_mutex_unlock(&q->lock);
    return all;
}

void tt_data_queue_close(tt_data_queue *q)
{
    (void)pthread_mutex_lock(&q->lock);
    q->closed = true;
    (void)pthread_cond_broadcast(&q->taken);
    (void)pthread_mutex_unlock(&q->lock);
}
