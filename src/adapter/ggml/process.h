/* The traced process: whether and where it records, and what happens at fork and exit. */
#ifndef TT_ADAPTER_GGML_PROCESS_H
#define TT_ADAPTER_GGML_PROCESS_H

#include "adapter/ggml/owner.h"
#include "record/recorder.h"

#include <pthread.h>
#include <stdbool.h>

/* How ops are observed. */
enum tt_mode {
    TT_MODE_AUTO = 0,
    TT_MODE_HOOK,
    TT_MODE_CALLBACK,
    TT_MODE_API /* reported by the program: tensortrace/record.h */
};

/* How to record the process. */
typedef struct tt_process_setup {
    tt_recorder_options recorder; /* its path is copied */
    enum tt_mode mode;
    bool in_session; /* it joins the session of `tensortrace run`, if there is one */
    bool late;       /* the program was not observed before: graphs may be being computed, and
                        what an earlier recording knew of engine and models is forgotten */
    bool exact;      /* TT_E_EXISTS rather than a trace at another path */
    void (*in_child)(void); /* called in a forked child after all parts; or NULL */
} tt_process_setup;

/* What a part of the adapter does at the start and end of recording and at a fork; NULL: nothing.
 * Called in the order of the parts. */
typedef struct tt_process_part {
    void (*prepare)(void);          /* once, before anything is recorded */
    void (*begun)(tt_recorder *r);  /* the trace is open and still empty */
    void (*stop)(void);             /* no op may be recorded from now on */
    void (*ending)(tt_recorder *r); /* after `stop`, if the trace has a graph computation */
    void (*reset)(void);            /* a new trace begins, without the records of the last one */
    void (*forget)(void);           /* likewise, and it begins late */
    void (*before_fork)(void), (*in_parent)(void); /* tt_process_lock is held across the fork */
    void (*in_child)(void); /* the only thread; locks may be held by threads that no longer exist */
} tt_process_part;

/* Records the process from the first call of tt_process_recorder on. Call it before anything else
 * here, on one thread at a time, and again only after tt_process_end. TT_E_USAGE: already
 * recording. `parts`, the n of lifecycle.c, must stay valid. */
tt_status tt_process_begin(const tt_process_setup *setup, const tt_process_part *parts, size_t n,
                           tt_error *err);
/* Finishes the trace, if there is one. Any thread. err may be NULL. */
tt_status tt_process_end(tt_error *err);
/* Like tt_process_recorder, but returns the error if there is none. err may be NULL. */
tt_status tt_process_open(tt_error *err);
/* Why recording could not begin; TT_OK if nothing failed. */
tt_status tt_process_why_not(tt_error *err);

/* The process's recorder, opened at the first call. NULL if the process is not to be traced, could
 * not be (the session has the reason), or is ending. Any thread. */
extern tt_recorder *_Atomic tt_process_opened; /* NULL: none is open */
tt_recorder *tt_process_find_recorder(void);   /* ... or it is not this process's */
static inline tt_recorder *tt_process_recorder(void)
{
    tt_recorder *r = atomic_load_explicit(&tt_process_opened, memory_order_acquire);
    return __builtin_expect(r && tt_owner_is_self(), 1) ? r : tt_process_find_recorder();
}
/* Like tt_process_recorder, but never opens one. */
tt_recorder *tt_process_recorder_if_open(void);

/* Guards the adapter's tables (names, buffers, graphs, batches, models). Hooks take it; it is held
 * while these are used, but never on the path of an op. */
extern pthread_mutex_t tt_process_lock;

enum tt_mode tt_process_mode(void);
/* Whether recording began late. */
bool tt_process_is_late(void);
/* The recorder's options as requested. */
const tt_recorder_options *tt_process_options(void);

/* For the session, if any: what was observed, and why the process could not be traced. */
void tt_process_saw_model(void);
void tt_process_saw_graph(void);
void tt_process_problem(const char *text);

/* Appends a META record and frees the payload's memory. True if it was accepted. Records that later
 * ones refer to (strings, models, buffers) are also kept for a forked child. */
bool tt_process_put(tt_recorder *r, uint8_t type, tt_bytes *payload);

/* Writes an ENVIRONMENT record of one key and value; later ones win. */
void tt_process_environment(tt_recorder *r, const char *key, const char *value);

#endif
