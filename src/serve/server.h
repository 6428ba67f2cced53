/* A local web server for the viewer: the pages of ui/ and the API of docs/api-http.md. */
#ifndef TT_SERVE_SERVER_H
#define TT_SERVE_SERVER_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* A queue of jobs and its threads.
 *
 * Threads start when a job is queued and none is idle, up to a limit, and end after being idle for
 * a while: a slow answer, or one that waits for another's computation, blocks no other. */

#define TT_POOL_THREADS_MAX 16u

typedef struct tt_job {
    void (*work)(struct tt_job *job);
    struct tt_job *next; /* private */
} tt_job;

typedef struct tt_pool tt_pool;

/* Takes over the job until it is run. False if there is no thread and none can be started, or the
 * pool has ended. */
bool tt_pool_add(tt_pool *p, tt_job *job);
/* Accepts no more jobs, and returns when all queued ones have run and all threads have ended. */
void tt_pool_end(tt_pool *p);

#define TT_SERVE_TRACES_MAX 8u

typedef struct tt_serve_options {
    const char *const *paths; /* traces */
    uint32_t n_paths;
    uint16_t port;    /* 0: any free one */
    bool live;        /* traces may still be growing */
    bool no_notes;    /* notes are shown, not changed */
    uint32_t workers; /* maximum of concurrent answers; 0: 8 */
} tt_serve_options;

typedef struct tt_server tt_server;

/* Opens the traces, binds 127.0.0.1 and serves on threads of its own. *out is ended with
 * tt_server_stop; NULL on failure. */
tt_status tt_server_start(const tt_serve_options *o, tt_server **out, tt_error *err);
/* "http://127.0.0.1:PORT/open/SECRET": gives access to whoever opens it. */
const char *tt_server_url(const tt_server *s);
/* Likewise with a one-time secret: for a browser's command line, which other users of this machine
 * can read. */
const char *tt_server_once_url(const tt_server *s);
/* Returns when all threads have ended. */
void tt_server_stop(tt_server *s);

#endif
