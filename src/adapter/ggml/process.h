/* The traced process: whether it records, where to, and what happens to that at fork
 * and exit. */
#ifndef TT_ADAPTER_GGML_PROCESS_H
#define TT_ADAPTER_GGML_PROCESS_H

#include "record/recorder.h"

#include <pthread.h>
#include <stdbool.h>

/* How ops are to be observed. */
enum tt_mode {
    TT_MODE_AUTO = 0,
    TT_MODE_HOOK,
    TT_MODE_CALLBACK,
    TT_MODE_API /* the program tells them itself: tensortrace/record.h */
};

/* What is asked of the process. */
typedef struct tt_process_setup {
    tt_recorder_options recorder; /* its path is copied */
    enum tt_mode mode;
    bool in_session;        /* it takes part in the session of `tensortrace run`, if there is one */
    bool exact;             /* of the path: TT_E_EXISTS rather than a trace under another name */
    void (*in_child)(void); /* called in the child of a fork behind those of all parts; or NULL */
} tt_process_setup;

/* What a part of the adapter has to do when recording begins and ends, and at a fork; NULL:
 * nothing. Called in the order of the parts. */
typedef struct tt_process_part {
    void (*prepare)(void);          /* once, before anything is recorded */
    void (*begun)(tt_recorder *r);  /* the trace is open, nothing is in it yet */
    void (*stop)(void);             /* no op is to be recorded any more */
    void (*ending)(tt_recorder *r); /* behind `stop`, if the trace has a graph computation */
    void (*reset)(void); /* another trace begins: it knows nothing of the last one's records */
    void (*before_fork)(void), (*in_parent)(void); /* tt_process_lock is held across the fork */
    void (*in_child)(void); /* the only thread; locks may be held by threads that are no more */
} tt_process_part;

/* The process is to be recorded, from the first call of tt_process_recorder on. Before anything
 * else here, by one thread at a time; again after tt_process_end. TT_E_USAGE: it is already.
 * `parts`, the n of lifecycle.c, stay valid. */
tt_status tt_process_begin(const tt_process_setup *setup, const tt_process_part *parts, size_t n,
                           tt_error *err);
/* Finishes the trace, if there is one. Any thread. err may be NULL. */
tt_status tt_process_end(tt_error *err);
/* As tt_process_recorder; tells why there is none. err may be NULL. */
tt_status tt_process_open(tt_error *err);
/* Why recording could not begin; TT_OK when nothing was in its way. */
tt_status tt_process_why_not(tt_error *err);

/* The process's recorder, opened at the first call; NULL when this process is not to be
 * traced, or could not be (the session knows why), or is ending. Any thread. */
tt_recorder *tt_process_recorder(void);
/* The same without opening one. */
tt_recorder *tt_process_recorder_if_open(void);

/* Guards the adapter's tables (names, buffers, graphs, batches, models). Taken by the
 * hooks, held while these are used; never on the path of an op. */
extern pthread_mutex_t tt_process_lock;

enum tt_mode tt_process_mode(void);
/* Those of the recorder as they were asked for. */
const tt_recorder_options *tt_process_options(void);

/* For the session, if there is one: what was seen, and why it could not be traced. */
void tt_process_saw_model(void);
void tt_process_saw_graph(void);
void tt_process_problem(const char *text);

/* Appends a META record and frees the payload's memory. True when it was taken. Records of
 * the kinds that later ones refer to (strings, models, buffers) are also kept for a child
 * of fork. */
bool tt_process_put(tt_recorder *r, uint8_t type, tt_bytes *payload);

/* ENVIRONMENT records: one key and value, later ones win. */
void tt_process_environment(tt_recorder *r, const char *key, const char *value);

#endif
