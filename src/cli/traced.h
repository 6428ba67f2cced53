/* Runs a program with the preload library, and finishes its trace however the program ends: shared
 * by `run` and `experiment`. */
#ifndef TT_CLI_TRACED_H
#define TT_CLI_TRACED_H

#include "base/status.h"
#include "cli/spawn.h"
#include "record/area.h"

#include <stdbool.h>
#include <stdint.h>

/* What is recorded. Zero-filled: every op of every batch. */
typedef struct tt_capture_options {
    const char *mode;         /* auto, hook or callback; NULL: auto */
    const char *tokens;       /* "A..B"; NULL: all */
    const char *values;       /* as in value/select.h; NULL: off */
    uint64_t every;           /* batches; 0: each */
    uint64_t thread_bytes;    /* 0: the default */
    uint64_t limit_bytes;     /* 0: none */
    uint64_t keep_bytes;      /* 0: all */
    uint64_t residency_every; /* batches; 0: not requested */
    uint64_t faults;          /* enum tt_faults_way */
    bool no_text;
} tt_capture_options;

typedef struct tt_traced {
    tt_capture_options capture;
    const char *output;          /* the trace, an absolute path */
    const tt_spawn_setup *setup; /* NULL: the program has this process's streams */
    bool force;                  /* an existing output may be replaced */
    bool quiet;                  /* print nothing about success */
    bool discards;               /* the caller removes a trace that cannot be finished */
    /* A sentence for the user: what was written, what is missing. */
    void (*note)(void *context, const char *text);
    /* Called from time to time with the graph computations so far. NULL: no timer is used. */
    void (*tick)(void *context, uint64_t graphs);
    void *context;
} tt_traced;

typedef struct tt_traced_end {
    tt_spawn_end program;
    bool not_started;      /* on failure: the program could not be run */
    uint32_t n_traces;     /* finished: a program may start more programs */
    bool unfinished;       /* a trace could not be finished; it is still named ".part" */
    tt_outcome outcome;    /* of the trace at `output`; zero if there is none */
    char why_nothing[400]; /* if n_traces is 0 */
    bool why_is_certain;   /* else it is only a possible reason if the program did not fail */
    bool ask_doctor;       /* `doctor -- PROGRAM` may know more */
    bool refused;          /* the program was not run: nothing in it can be traced */
} tt_traced_end;

/* Runs argv and waits. This process's environment is unchanged, except TENSORTRACE_*. */
tt_status tt_traced_run(const tt_traced *t, char **argv, tt_traced_end *end, tt_error *err);

/* For commands whose user names the trace. */

/* The absolute path of `named` (NULL: a name with the time, here) into out, PATH_MAX bytes,
 * checked: it can be written, and is not there, unless `force`. Returns the exit code; if it is not
 * TT_EXIT_OK, the reason was printed. */
int tt_traced_output(char *out, const char *named, bool force);
/* The exit code after tt_traced_run; prints why nothing was traced. Dies by the program's signal.
 * built_in: the program is the built-in runner. */
int tt_traced_conclude(const tt_traced_end *end, bool built_in);

#endif
