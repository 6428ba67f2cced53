/* What `tensortrace run` and the processes it traces tell each other: a small shared
 * file, and the names of the environment variables. */
#ifndef TT_RECORD_SESSION_H
#define TT_RECORD_SESSION_H

#include "base/status.h"
#include "record/area.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Read by the preloaded library. Without TT_ENV_OUT it does nothing at all. */
#define TT_ENV_OUT "TENSORTRACE_OUT"              /* path of the trace */
#define TT_ENV_MODE "TENSORTRACE_MODE"            /* auto, hook or callback */
#define TT_ENV_THREAD "TENSORTRACE_THREAD_MEMORY" /* bytes of a thread's records on their way */
#define TT_ENV_RING "TENSORTRACE_RING"            /* bytes of the trace, of which the last stay */
#define TT_ENV_LIMIT "TENSORTRACE_LIMIT"          /* bytes of the trace at which recording stops */
#define TT_ENV_TOKENS "TENSORTRACE_TOKENS"        /* "A..B": only these batches, from 0 */
#define TT_ENV_EVERY "TENSORTRACE_EVERY"          /* every so many of them */
#define TT_ENV_TEXT "TENSORTRACE_TEXT"            /* 0: no token ids and texts, no arguments */
#define TT_ENV_FAULTS "TENSORTRACE_FAULTS"        /* enum tt_faults_way */
#define TT_ENV_VALUES "TENSORTRACE_VALUES"        /* outputs, see value/select.h */
#define TT_ENV_RESIDENCY "TENSORTRACE_RESIDENCY"  /* every so many batches, the pages in RAM */
#define TT_ENV_SESSION "TENSORTRACE_SESSION"      /* path of the session file */

/* How page faults are observed. */
enum tt_faults_way {
    TT_FAULTS_OFF,
    TT_FAULTS_AUTO,   /* as events where the kernel allows it; otherwise counted */
    TT_FAULTS_COUNTS, /* the kernel's counters, at each op's begin and end */
    TT_FAULTS_EVENTS, /* each by itself, with its address */
    TT_FAULTS_BOTH
};

#define TT_SESSION_FILES 64u
#define TT_SESSION_TEXT 320u

enum tt_session_state {
    TT_SESSION_EMPTY = 0,
    TT_SESSION_WRITING,
    TT_SESSION_FINISHED,
    TT_SESSION_DISCARDED, /* its process computed nothing */
    TT_SESSION_FAILED,    /* its process came to its end and could not finish it: see `problem` */
    TT_SESSION_LOST       /* its file is not where it was written: see `problem` */
};

typedef struct tt_session_file {
    _Atomic uint32_t state; /* enum tt_session_state */
    uint32_t pid;
    uint8_t run_id[16];            /* of the file that is being written */
    tt_outcome outcome;            /* of a trace that has its name, or is about to get it */
    char problem[TT_SESSION_TEXT]; /* why it could not be finished */
    _Atomic uint32_t snapshots;    /* tt_session.snapshots that the last one that is over answers */
    _Atomic uint32_t snapshot_failed; /* whether that failed: then `snapshot` says why */
    char snapshot[4096];              /* its path */
    char path[4096];                  /* the finished trace's; without ".part" */
} tt_session_file;

typedef struct tt_session {
    char magic[8];
    _Atomic uint32_t other_builds; /* processes whose hook library is of another build: all versions
                                   have this and the magic's start here */
    uint32_t replace;              /* an existing output may be replaced */
    _Atomic uint32_t attached;     /* processes that loaded the hook library */
    _Atomic uint32_t models;       /* model files the engine opened */
    _Atomic uint32_t graphs;       /* graph computations that the hooks saw */
    _Atomic uint32_t path_taken;   /* some process writes to the path that was asked for */
    _Atomic uint32_t snapshots;    /* asked for so far */
    _Atomic uint32_t n_files;
    _Atomic uint32_t has_problem;
    char problem[TT_SESSION_TEXT]; /* why a process could not be traced; the first one */
    tt_session_file files[TT_SESSION_FILES];
} tt_session;

/* Creates the file (mode 0600) and maps it; path gets its name. It is locked until *lock is
 * closed, so that tt_sweep knows that somebody is there. */
tt_status tt_session_create(tt_session **session, char *path, size_t size, bool replace, int *lock,
                            tt_error *err);
/* Maps an existing one; NULL when it cannot be, or another build of tensortrace has made it. */
tt_session *tt_session_open(const char *path);
/* Whether another build has made it: then it is marked: its `tensortrace run` reports the other
 * build. */
bool tt_session_is_other_build(const char *path);
void tt_session_close(tt_session *session);
/* Before what the traced processes wrote is looked at: they are other people's programs, which
 * may have written anything there. Texts end, and a trace without an absolute path is none. */
void tt_session_sanitize(tt_session *session);

/* Enters a trace; NULL when the table is full. */
tt_session_file *tt_session_add(tt_session *session, const char *path, const uint8_t run_id[16],
                                uint32_t pid);
/* Keeps the first problem that any process has. */
void tt_session_problem(tt_session *session, const char *text);

#endif
