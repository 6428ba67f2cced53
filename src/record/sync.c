#include "record/sync.h"

#include <unistd.h>

/* A program with much thread-local storage has it on each stack. */
#define STACK_BYTES (512u << 10)

void tt_sync_init(tt_sync *s)
{
    *s = (tt_sync){.fd = -1};
    (void)pthread_mutex_init(&s->lock, NULL);
    (void)pthread_cond_init(&s->changed, NULL);
}

static void *sync_main(void *argument)
{
    tt_sync *s = argument;
    (void)pthread_mutex_lock(&s->lock);
    while (!s->stop) {
        if (!s->wanted) {
            (void)pthread_cond_wait(&s->changed, &s->lock);
            continue;
        }
        s->wanted = false;
        const int fd = s->fd;
        (void)pthread_mutex_unlock(&s->lock);
        /* A file system that cannot, or a failing disk: the file is written all the same. */
        (void)fdatasync(fd);
        (void)pthread_mutex_lock(&s->lock);
    }
    (void)pthread_mutex_unlock(&s->lock);
    return NULL;
}

static bool begin(tt_sync *s)
{
    pthread_attr_t attr;
    (void)pthread_attr_init(&attr);
    (void)pthread_attr_setstacksize(&attr, STACK_BYTES);
    s->has_thread = pthread_create(&s->thread, &attr, sync_main, s) == 0;
    (void)pthread_attr_destroy(&attr);
    if (s->has_thread) (void)pthread_setname_np(s->thread, "tt-sync");
    return s->has_thread;
}

void tt_sync_want(tt_sync *s, int fd)
{
    if (!s->has_thread && !s->failed) s->failed = !begin(s);
    if (!s->has_thread) return;
    (void)pthread_mutex_lock(&s->lock);
    s->wanted = true;
    s->fd = fd;
    (void)pthread_cond_signal(&s->changed);
    (void)pthread_mutex_unlock(&s->lock);
}

void tt_sync_stop(tt_sync *s)
{
    if (!s->has_thread) return;
    (void)pthread_mutex_lock(&s->lock);
    s->stop = true;
    (void)pthread_cond_signal(&s->changed);
    (void)pthread_mutex_unlock(&s->lock);
    (void)pthread_join(s->thread, NULL);
    s->has_thread = false;
}
