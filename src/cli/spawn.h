/* Starting a program and standing aside until it ends, as a shell does. */
#ifndef TT_CLI_SPAWN_H
#define TT_CLI_SPAWN_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

#define TT_SPAWN_GRACE_NS UINT64_C(3000000000)

typedef struct tt_spawn_end {
    int code;   /* exit code */
    int signal; /* that killed it; 0: it exited */
    int asked;  /* the last signal to end that came meanwhile (SIGINT, SIGQUIT, SIGTERM, SIGHUP), of
                   which the program may have made what it likes; 0: none */
    bool timed_out; /* it was ended because it took too long */
} tt_spawn_end;

/* What the program is given. */
typedef struct tt_spawn_setup {
    int in, out, error;    /* descriptors that become its first three */
    bool ends_with_parent; /* it is asked to end (SIGTERM) when this process is killed */
    bool own_group;        /* what it starts is signalled, and ended by the timeout, with it */
    const char *group;     /* the file cgroup.procs of a control group that it enters first; or
                              NULL */
    uint64_t timeout_ns;   /* then it is asked to end, and killed TT_SPAWN_GRACE_NS after, as it is
                              when   it does not end after a signal to end; 0: never */
} tt_spawn_setup;

/* What is done about SIGUSR1, which is not passed on. */
typedef struct tt_spawn_watch {
    void (*asked)(void *context); /* it came */
    bool (*look)(void *context);  /* from time to time until it answers false: nothing is due */
    void *context;
} tt_spawn_watch;

/* Runs argv with this process's environment and waits. setup: NULL: it has this process's streams,
 * and may outlive it. Keyboard signals from the terminal reach the program as well and are ignored
 * here; signals that are sent to this process are passed on, but for SIGUSR1, which `watch` is told
 * of. Those that this process ignores stay without effect; but a program with this process's
 * streams, which may listen to SIGINT and SIGQUIT all the same (a shell gives its background jobs
 * both ignored), gets these. TT_E_NOT_FOUND: no such program; TT_E_IO: it cannot be executed. */
tt_status tt_spawn_and_wait(char **argv, const tt_spawn_setup *setup, const tt_spawn_watch *watch,
                            tt_spawn_end *end, tt_error *err);

/* Ends this process by that signal, without a core dump of its own. */
void tt_spawn_die_by(int signal) __attribute__((noreturn));

#endif
