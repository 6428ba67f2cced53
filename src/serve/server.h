/* A local web server for the viewer: the pages of ui/ and the API of docs/api-http.md. */
#ifndef TT_SERVE_SERVER_H
#define TT_SERVE_SERVER_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* Threads that work off what is queued.
 *
 * They come when something is queued and none is idle, up to a limit, and go when there was nothing
 * to do for a while: an answer that takes long, or waits for another's computation, has a thread of
 * its own, and keeps no other waiting. */

#define TT_POOL_THREADS_MAX 16u

typedef struct tt_job {
    void (*work)(struct tt_job *job);
    struct tt_job *next; /* private */
} tt_job;

typedef struct tt_pool tt_pool;

/* Takes over the job, which is the caller's again when it is worked on. False when there is no
 * thread and none can be had, or the pool has ended. */
bool tt_pool_add(tt_pool *p, tt_job *job);
/* Takes nothing more, and returns when everything that was queued has been worked on and all
 * threads have ended. */
void tt_pool_end(tt_pool *p);

#define TT_SERVE_TRACES_MAX 8u

typedef struct tt_serve_options {
    const char *const *paths; /* traces */
    uint32_t n_paths;
    uint16_t port;    /* 0: any that is free */
    bool live;        /* traces may still be growing */
    uint32_t workers; /* answered at the same time, at most; 0: 8 */
} tt_serve_options;

typedef struct tt_server tt_server;

/* Opens the traces, binds 127.0.0.1 and answers on threads of its own. *out is ended with
 * tt_server_stop; NULL on failure. */
tt_status tt_server_start(const tt_serve_options *o, tt_server **out, tt_error *err);
/* "http://127.0.0.1:PORT/open/SECRET": whoever opens it may use the server. */
const char *tt_server_url(const tt_server *s);
/* The same with a secret that holds once: for the command line of a browser, that other users of
 * this machine can read. */
const char *tt_server_once_url(const tt_server *s);
/* Returns when all threads have ended. */
void tt_server_stop(tt_server *s);

#endif
