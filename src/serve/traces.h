/* The served traces. Each is opened by a thread of its own, which also follows one that still
 * grows. */
#ifndef TT_SERVE_TRACES_H
#define TT_SERVE_TRACES_H

#include "base/status.h"
#include "serve/generation.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum tt_trace_state {
    TT_TRACE_WAITING, /* the file does not exist yet */
    TT_TRACE_OPENING, /* first opening */
    TT_TRACE_LIVE,    /* open, may grow */
    TT_TRACE_ENDED,   /* open, complete */
    TT_TRACE_FAILED   /* unreadable */
} tt_trace_state;

/* The current state of a trace. */
typedef struct tt_trace_news {
    tt_trace_state state;
    uint64_t generation; /* 0: never opened */
    uint64_t size_bytes; /* of the file when it was last opened */
    bool complete;       /* when last opened: the recorder had finished it */
    double opening_s;    /* duration of opening, so far or in total */
    char path[320];      /* the file that is or was read; the end of a longer path */
    tt_error why;        /* status TT_OK, or the current or last error */
} tt_trace_news;

typedef struct tt_traces tt_traces;

/* Starts to open them; `live`: follows them while they grow, and waits for missing ones. Copies the
 * paths. *out is freed with tt_traces_free. */
tt_status tt_traces_open(const char *const *paths, uint32_t n, bool live, tt_traces **out,
                         tt_error *err);
/* Waits until each is open, has failed, or wait_ms have passed. Returns the first failure, if
 * any. */
tt_status tt_traces_await(tt_traces *t, unsigned wait_ms, tt_error *err);
/* Ends the threads; referenced generations live on. NULL is allowed. */
void tt_traces_free(tt_traces *t);

uint32_t tt_traces_count(const tt_traces *t);
/* Whether they are followed. */
bool tt_traces_live(const tt_traces *t);
/* The path as given. */
const char *tt_traces_path(const tt_traces *t, uint32_t id);
/* Its last component. */
const char *tt_traces_name(const tt_traces *t, uint32_t id);
void tt_traces_news(tt_traces *t, uint32_t id, tt_trace_news *out);
/* "waiting", "opening", "live", "ended", "failed" */
const char *tt_trace_state_name(tt_trace_state state);
/* A reference to the newest generation, or NULL: never opened. */
tt_generation *tt_traces_newest(tt_traces *t, uint32_t id);

#endif
