/* The traces that are served. Each is opened by a thread of its own, which also follows one that
 * still grows. */
#ifndef TT_SERVE_TRACES_H
#define TT_SERVE_TRACES_H

#include "base/status.h"
#include "serve/generation.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum tt_trace_state {
    TT_TRACE_WAITING, /* there is no such file yet */
    TT_TRACE_OPENING, /* it is being read for the first time */
    TT_TRACE_LIVE,    /* open, and may grow */
    TT_TRACE_ENDED,   /* open, and will not grow */
    TT_TRACE_FAILED   /* cannot be read */
} tt_trace_state;

/* What is to be said of a trace at the moment. */
typedef struct tt_trace_news {
    tt_trace_state state;
    uint64_t generation; /* 0: none could be opened so far */
    uint64_t size_bytes; /* of the file, as it was opened last */
    bool complete;       /* as it was opened last: the recorder finished it */
    double opening_s;    /* what opening took, or takes so far */
    char path[320];      /* what is or was read; its end when it is longer */
    tt_error why; /* status TT_OK, or why it cannot be read now, or could not the last time */
} tt_trace_news;

typedef struct tt_traces tt_traces;

/* Begins to open them; `live`: follows them while they grow, and waits for those not there yet.
 * The paths are copied. *out is freed with tt_traces_free. */
tt_status tt_traces_open(const char *const *paths, uint32_t n, bool live, tt_traces **out,
                         tt_error *err);
/* Waits until each was opened, failed, or wait_ms have gone by. The first failure, if any. */
tt_status tt_traces_await(tt_traces *t, unsigned wait_ms, tt_error *err);
/* Ends the threads; generations that are still held live on. NULL is allowed. */
void tt_traces_free(tt_traces *t);

uint32_t tt_traces_count(const tt_traces *t);
/* Whether they are followed. */
bool tt_traces_live(const tt_traces *t);
/* As it was asked for. */
const char *tt_traces_path(const tt_traces *t, uint32_t id);
/* The last part of that. */
const char *tt_traces_name(const tt_traces *t, uint32_t id);
void tt_traces_news(tt_traces *t, uint32_t id, tt_trace_news *out);
/* "waiting", "opening", "live", "ended", "failed" */
const char *tt_trace_state_name(tt_trace_state state);
/* A reference to the newest generation, or NULL: nothing could be opened so far. */
tt_generation *tt_traces_newest(tt_traces *t, uint32_t id);

#endif
