/* Has the disk store a growing file, so that a power cut loses little of it. Waiting for a disk
 * takes milliseconds to seconds: in a thread of its own, because the rings do not wait. */
#ifndef TT_RECORD_SYNC_H
#define TT_RECORD_SYNC_H

#include <pthread.h>
#include <stdbool.h>

typedef struct tt_sync {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int fd; /* the caller's */
    bool wanted, stop;
    bool has_thread, failed; /* failed: there is no thread, and none is tried again */
    pthread_t thread;
} tt_sync;

void tt_sync_init(tt_sync *s);
/* What was written to fd so far is to be stored. Begins the thread at the first call: with the
 * caller's signal mask. One thread at a time. */
void tt_sync_want(tt_sync *s, int fd);
/* Waits for what is being stored. After that, fd may be closed. */
void tt_sync_stop(tt_sync *s);

#endif
