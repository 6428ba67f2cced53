/* The interface between `tensortrace run` and the processes it traces: a small shared file and
 * environment variables. */
#ifndef TT_RECORD_SESSION_H
#define TT_RECORD_SESSION_H

#include "base/status.h"
#include "record/area.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Read by the preloaded library. Without TT_ENV_OUT it does nothing at all. */
#define TT_ENV_OUT "TENSORTRACE_OUT"   /* path of the trace */
#define TT_ENV_MODE "TENSORTRACE_MODE" /* auto, hook or callback */
#define TT_ENV_THREAD                                                                              \
    "TENSORTRACE_THREAD_MEMORY" /* size of a thread's ring of records, in bytes                    \
                                 */
#define TT_ENV_RING                                                                                \
    "TENSORTRACE_RING"                      /* keep only the last bytes of the trace, this         \
                                               many */
#define TT_ENV_FLUSH "TENSORTRACE_FLUSH_MS" /* everything is written so often; for measurements */
#define TT_ENV_LIMIT "TENSORTRACE_LIMIT"    /* size of the trace at which recording stops */
#define TT_ENV_TOKENS "TENSORTRACE_TOKENS"  /* "A..B": only these batches, from 0 */
#define TT_ENV_EVERY "TENSORTRACE_EVERY"    /* every n-th of them */
#define TT_ENV_TEXT "TENSORTRACE_TEXT"      /* 0: no token ids and texts, no arguments */
#define TT_ENV_FAULTS "TENSORTRACE_FAULTS"  /* enum tt_faults_way */
#define TT_ENV_VALUES "TENSORTRACE_VALUES"  /* outputs, see value/select.h */
#define TT_ENV_RESIDENCY "TENSORTRACE_RESIDENCY" /* pages in RAM, every n-th batch */
#define TT_ENV_SESSION "TENSORTRACE_SESSION"     /* path of the session file */

/* How page faults are observed. */
enum tt_faults_way {
    TT_FAULTS_OFF,
    TT_FAULTS_AUTO,   /* as events if the kernel allows it; otherwise counted */
    TT_FAULTS_COUNTS, /* the kernel's counters, at each op's start and end */
    TT_FAULTS_EVENTS, /* as events, each with its address */
    TT_FAULTS_BOTH
};

/* "auto", "counts", "events" or "both", which is put into *way. */
bool tt_session_faults_way(const char *text, uint64_t *way);

#define TT_SESSION_FILES 64u
#define TT_SESSION_TEXT 320u

enum tt_session_state {
    TT_SESSION_EMPTY = 0,
    TT_SESSION_WRITING,
    TT_SESSION_FINISHED,
    TT_SESSION_DISCARDED, /* its process computed nothing */
    TT_SESSION_FAILED,    /* its process ended and could not finish it: see `problem` */
    TT_SESSION_LOST       /* its file is not where it was written: see `problem` */
};

typedef struct tt_session_file {
    _Atomic uint32_t state; /* enum tt_session_state */
    uint32_t pid;
    uint8_t run_id[16];               /* of the file that is being written */
    tt_outcome outcome;               /* of a trace that is finished, or about to be */
    char problem[TT_SESSION_TEXT];    /* why it could not be finished */
    _Atomic uint32_t snapshots;       /* number of the last finished request, as in
                                         tt_session.snapshots */
    _Atomic uint32_t snapshot_failed; /* that one failed: `snapshot` has the reason */
    char snapshot[4096];              /* its path */
    char path[4096];                  /* the finished trace's; without ".part" */
} tt_session_file;

typedef struct tt_session {
    char magic[8];
    _Atomic uint32_t other_builds; /* processes whose hook library is of another build: all versions
                                      have this and the start of the magic here */
    uint32_t replace;              /* an existing output may be replaced */
    _Atomic uint32_t attached;     /* processes that loaded the hook library */
    _Atomic uint32_t models;       /* model files the engine opened */
    _Atomic uint32_t graphs;       /* graph computations that the hooks saw */
    _Atomic uint32_t path_taken;   /* a process writes to the requested path */
    _Atomic uint32_t snapshots;    /* requested so far */
    _Atomic uint32_t n_files;
    _Atomic uint32_t has_problem;
    char problem[TT_SESSION_TEXT]; /* why a process could not be traced; the first reason */
    tt_session_file files[TT_SESSION_FILES];
} tt_session;

/* Creates the file (mode 0600) and maps it; path gets its name. It is locked until *lock is closed,
 * so that tt_sweep keeps it. */
tt_status tt_session_create(tt_session **session, char *path, size_t size, bool replace, int *lock,
                            tt_error *err);
/* Maps an existing one; NULL if that fails, or another build of tensortrace created it. */
tt_session *tt_session_open(const char *path);
/* Whether another build created it; then marks it, so that its `tensortrace run` reports that. */
bool tt_session_is_other_build(const char *path);
void tt_session_close(tt_session *session);
/* Call it before reading what the traced programs wrote, which may be anything: terminates texts,
 * and removes traces without an absolute path. */
void tt_session_sanitize(tt_session *session);

/* Adds a trace; NULL if the table is full. */
tt_session_file *tt_session_add(tt_session *session, const char *path, const uint8_t run_id[16],
                                uint32_t pid);
/* Keeps the first problem of any process. */
void tt_session_problem(tt_session *session, const char *text);

#endif
