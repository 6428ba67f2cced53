/* Starts a program and waits until it ends, like a shell. */
#ifndef TT_CLI_SPAWN_H
#define TT_CLI_SPAWN_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define TT_SPAWN_GRACE_NS UINT64_C(3000000000)

typedef struct tt_spawn_end {
    pid_t pid;
    int code;       /* exit code */
    int signal;     /* that killed it; 0: it exited */
    int asked;      /* the last signal to end that this process received meanwhile (SIGINT, SIGQUIT,
                       SIGTERM, SIGHUP), however the program reacted; 0: none */
    bool timed_out; /* it was ended by the timeout */
} tt_spawn_end;

/* How the program is started. */
typedef struct tt_spawn_setup {
    int in, out, error;    /* descriptors that become its first three */
    bool ends_with_parent; /* it gets SIGTERM when this process is killed */
    bool own_group;        /* signals and the timeout also reach the processes that it starts */
    const char *group;     /* the file cgroup.procs of a control group that it enters first; or
                              NULL */
    uint64_t timeout_ns;   /* then it gets SIGTERM, and SIGKILL after TT_SPAWN_GRACE_NS, as it does
                              if it does not end after a signal to end; 0: never */
} tt_spawn_setup;

/* Handles SIGUSR1, which is not passed on. */
typedef struct tt_spawn_watch {
    void (*asked)(void *context); /* it was received */
    bool (*look)(void *context);  /* called from time to time until it returns false: nothing is
                                     due */
    void *context;
} tt_spawn_watch;

/* Runs argv with this process's environment and waits. setup: NULL: it has this process's streams,
 * and may outlive it. Keyboard signals from the terminal also reach the program and are ignored
 * here; signals sent to this process are passed on, except SIGUSR1, which goes to `watch`. Signals
 * that this process ignores have no effect; but SIGINT and SIGQUIT are passed to a program with
 * this process's streams, which may handle them (a shell starts background jobs with both ignored).
 * TT_E_NOT_FOUND: no such program; TT_E_IO: it cannot be executed. */
tt_status tt_spawn_and_wait(char **argv, const tt_spawn_setup *setup, const tt_spawn_watch *watch,
                            tt_spawn_end *end, tt_error *err);

/* Ends this process by that signal, without a core dump of its own. */
void tt_spawn_die_by(int signal) __attribute__((noreturn));

#endif
