/* The inside of the traces that are served. */
#ifndef TT_SERVE_TRACES_INSIDE_H
#define TT_SERVE_TRACES_INSIDE_H

#include "serve/traces.h"

#include <pthread.h>
#include <sys/stat.h>

typedef struct tt_followed {
    struct tt_traces *all;
    char *path;     /* as asked for */
    char *finished; /* its name when it is finished */
    char *unfinished;
    pthread_t thread;
    bool has_thread;
    /* Of the thread alone: */
    struct stat seen; /* the file as it was opened last */
    /* With the lock: */
    tt_generation *newest;
    tt_trace_news news;
    uint64_t began_ns;  /* opening it, on CLOCK_MONOTONIC */
    uint64_t opened_ns; /* the newest */
} tt_followed;

struct tt_traces {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* also when it ends */
    bool live;
    bool ends;
    uint32_t n;
    tt_followed *list;
};

/* The thread of one; the argument is a tt_followed. */
void *tt_traces_follow(void *followed);

#endif
