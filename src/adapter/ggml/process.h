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
    bool in_session; /* it takes part in the session of `tensortrace run`, if there is one */
    bool exact;      /* of the path: TT_E_EXISTS rather than a trace under another name */
} tt_process_setup;

/* The process is to be recorded, from the first call of tt_process_recorder on. Before anything
 * else here, by one thread at a time; again after tt_process_end. TT_E_USAGE: it is already. */
tt_status tt_process_begin(const tt_process_setup *setup, tt_error *err);
/* Finishes the trace, if there is one. Any thread. err may be NULL. */
tt_status tt_process_end(tt_error *err);
/* As tt_process_recorder; tells why there is none. err may be NULL. */
tt_status tt_process_open(tt_error *err);
/* Why recording could not begin; TT_OK when nothing was in its way. */
tt_status tt_process_why_not(tt_error *err);
/* To be called in the child of a fork besides what this room itself does. */
void tt_process_at_fork(void (*in_the_child)(void));

/* The process's recorder, opened at the first call; NULL when this process is not to be
 * traced, or could not be (the session knows why), or is ending. Any thread. */
tt_recorder *tt_process_recorder(void);
/* The same without opening one. */
tt_recorder *tt_process_recorder_if_open(void);

/* Guards the adapter's tables (names, buffers, graphs, batches, models). Taken by the
 * hooks, held while these are used; never on the path of an op. */
extern pthread_mutex_t tt_process_lock;

enum tt_mode tt_process_mode(void);
/* The size of the trace, of which only the last is kept; 0: all is. */
uint64_t tt_process_keep_bytes(void);

/* For the session, if there is one: what was seen, and why it could not be traced. */
void tt_process_saw_model(void);
void tt_process_saw_graph(void);
void tt_process_problem(const char *text);

/* Appends a META record and frees the payload's memory. True when it was taken. Records of
 * the kinds that later ones refer to (strings, models, buffers) are also kept for a child
 * of fork. */
bool tt_process_put(tt_recorder *r, uint8_t type, tt_bytes *payload);

/* To be called, with tt_process_lock held, when a graph is about to be computed. */
void tt_process_at_first_run(void);

/* ENVIRONMENT records: one key and value, later ones win. */
void tt_process_environment(tt_recorder *r, const char *key, const char *value);

#endif
