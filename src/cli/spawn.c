#include "cli/spawn.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t child;    /* receives the signals that are passed on */
static volatile sig_atomic_t is_group; /* and so does its process group, which is its own */
static volatile sig_atomic_t asked;    /* the last signal to end */

static const int passed_on[] = {SIGTERM, SIGHUP, SIGUSR2, SIGCONT, SIGWINCH};
static const int keyboard[] = {SIGINT, SIGQUIT};

#define LOOK_NS 20000000L
#define COUNT(array) (sizeof(array) / sizeof *(array))

static void send(int signal)
{
    if (child > 0) (void)kill(is_group ? -(pid_t)child : (pid_t)child, signal);
}

static void pass_on(int signal)
{
    int saved = errno;
    if (signal == SIGTERM || signal == SIGHUP) asked = signal;
    send(signal);
    errno = saved;
}

/* The terminal sent it to the program too, unless that has a group of its own; `kill` did not. */
static void pass_on_if_sent(int signal, siginfo_t *info, void *context)
{
    (void)context;
    asked = signal;
    if (is_group || info->si_code == SI_USER || info->si_code == SI_TKILL ||
        info->si_code == SI_QUEUE)
        pass_on(signal);
}

typedef struct dispositions {
    sigset_t mask;
    struct sigaction passed_on[COUNT(passed_on)];
    struct sigaction keyboard[COUNT(keyboard)];
    struct sigaction child;
} dispositions;

/* The signals stay blocked until there is a child to pass them on to. */
static void set_dispositions(dispositions *before, bool keeps_ignored)
{
    struct sigaction pass = {.sa_handler = pass_on, .sa_flags = SA_RESTART};
    struct sigaction sent = {.sa_sigaction = pass_on_if_sent, .sa_flags = SA_RESTART | SA_SIGINFO};
    struct sigaction standard = {.sa_handler = SIG_DFL};
    sigset_t all;
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &before->mask);
    for (size_t i = 0; i < COUNT(passed_on); i++) {
        (void)sigaction(passed_on[i], NULL, &before->passed_on[i]);
        /* Ignored signals (nohup) stay ignored. */
        if (before->passed_on[i].sa_handler != SIG_IGN) (void)sigaction(passed_on[i], &pass, NULL);
    }
    for (size_t i = 0; i < COUNT(keyboard); i++) {
        (void)sigaction(keyboard[i], NULL, &before->keyboard[i]);
        if (!keeps_ignored || before->keyboard[i].sa_handler != SIG_IGN)
            (void)sigaction(keyboard[i], &sent, NULL);
    }
    /* If it is ignored, the kernel discards the exit code. */
    (void)sigaction(SIGCHLD, &standard, &before->child);
}

static void restore_dispositions(const dispositions *before)
{
    for (size_t i = 0; i < COUNT(passed_on); i++)
        (void)sigaction(passed_on[i], &before->passed_on[i], NULL);
    for (size_t i = 0; i < COUNT(keyboard); i++)
        (void)sigaction(keyboard[i], &before->keyboard[i], NULL);
    (void)sigaction(SIGCHLD, &before->child, NULL);
    (void)sigprocmask(SIG_SETMASK, &before->mask, NULL);
}

/* The signals for which tt_spawn_and_wait waits: blocked, so that none is lost between two
 * checks. */
static void add_awaited(sigset_t *set)
{
    (void)sigaddset(set, SIGCHLD);
    (void)sigaddset(set, SIGUSR1);
}

/* By writing "0" there. */
static bool enter_group(const char *file)
{
    const int fd = open(file, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, "0", 1) == 1;
}

static bool take(const tt_spawn_setup *setup, pid_t parent)
{
    if (dup2(setup->in, STDIN_FILENO) < 0 || dup2(setup->out, STDOUT_FILENO) < 0 ||
        dup2(setup->error, STDERR_FILENO) < 0)
        return false;
    if (setup->group && !enter_group(setup->group)) return false;
    if (setup->own_group && setpgid(0, 0) != 0) return false;
    if (!setup->ends_with_parent) return true;
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0) return false;
    if (getppid() != parent) (void)raise(SIGTERM); /* it was killed before this could take effect */
    return true;
}

/* In the child: the program, or its errno into the pipe. */
static void __attribute__((noreturn))
become(char **argv, const tt_spawn_setup *setup, pid_t parent, int pipe_end)
{
    if (!setup || take(setup, parent)) (void)execvp(argv[0], argv);
    int why = errno;
    (void)!write(pipe_end, &why, sizeof why);
    _exit(127);
}

static tt_status start(char **argv, const tt_spawn_setup *setup, pid_t *pid, dispositions *before,
                       tt_error *err)
{
    pid_t parent = getpid();
    int ends[2], why = 0;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot make a pipe: %s", strerror(errno));
    set_dispositions(before, setup != NULL);
    *pid = fork();
    if (*pid == 0) {
        restore_dispositions(before);
        become(argv, setup, parent, ends[1]);
    }
    /* Here as well as in the child, so that it is true for both from now on. */
    is_group = setup && setup->own_group && *pid > 0;
    if (is_group) (void)setpgid(*pid, *pid);
    child = *pid;
    sigset_t mask = before->mask;
    add_awaited(&mask);
    (void)sigprocmask(SIG_SETMASK, &mask, NULL);
    (void)close(ends[1]);
    if (*pid < 0) {
        why = errno;
    } else {
        ssize_t n;
        do
            n = read(ends[0], &why, sizeof why);
        while (n < 0 && errno == EINTR);
        if (n != (ssize_t)sizeof why) why = 0;
    }
    (void)close(ends[0]);
    if (why == 0) return TT_OK;
    if (*pid > 0) (void)waitpid(*pid, NULL, 0);
    child = 0;
    restore_dispositions(before);
    if (*pid < 0)
        return tt_error_set(err, TT_E_IO, TT_NO_OFFSET,
                            "cannot start a process for %s: %s (a limit on processes, or a "
                            "container that does not allow them)",
                            argv[0], strerror(why));
    return tt_error_set(err, why == ENOENT ? TT_E_NOT_FOUND : TT_E_IO, TT_NO_OFFSET,
                        "cannot run %s: %s", argv[0], strerror(why));
}

/* When the child's time is over, and what was done then. */
typedef struct deadline {
    uint64_t at_ns; /* UINT64_MAX: none */
    bool asked;     /* it got the signal */
    bool hurried;   /* the user, who waits, has asked it to end */
} deadline;

/* Asks, or kills, when it is time. */
static void keep_deadline(deadline *d)
{
    if (d->at_ns == UINT64_MAX) return;
    uint64_t now_ns = tt_clock_ns(CLOCK_MONOTONIC);
    if (asked && !d->hurried && d->at_ns > now_ns + TT_SPAWN_GRACE_NS)
        d->at_ns = now_ns + TT_SPAWN_GRACE_NS;
    d->hurried |= asked != 0;
    if (now_ns < d->at_ns) return;
    send(d->asked || d->hurried ? SIGKILL : SIGTERM);
    d->at_ns = d->asked || d->hurried ? UINT64_MAX : now_ns + TT_SPAWN_GRACE_NS;
    d->asked = true;
}

/* Waits until the child is gone; returns its status. */
static int wait_for(pid_t pid, const tt_spawn_watch *watch, deadline *d)
{
    const struct timespec soon = {.tv_nsec = LOOK_NS};
    bool due = true; /* at least once, to learn whether there is more */
    int status = 0;
    sigset_t awaited;
    (void)sigemptyset(&awaited);
    add_awaited(&awaited);
    for (;;) {
        pid_t gone = waitpid(pid, &status, WNOHANG);
        if (gone == pid || (gone < 0 && errno != EINTR)) return status;
        keep_deadline(d);
        bool waits = due || d->at_ns != UINT64_MAX;
        int got = waits ? sigtimedwait(&awaited, NULL, &soon) : sigwaitinfo(&awaited, NULL);
        if (got == SIGUSR1) {
            watch->asked(watch->context);
            due = true;
        }
        if (due) due = watch->look(watch->context);
    }
}

tt_status tt_spawn_and_wait(char **argv, const tt_spawn_setup *setup, const tt_spawn_watch *watch,
                            tt_spawn_end *end, tt_error *err)
{
    dispositions before;
    pid_t pid = 0;
    asked = 0;
    tt_status started = start(argv, setup, &pid, &before, err);
    if (started != TT_OK) return started;
    deadline d = {.at_ns = UINT64_MAX};
    if (setup && setup->timeout_ns) d.at_ns = tt_clock_ns(CLOCK_MONOTONIC) + setup->timeout_ns;
    int status = wait_for(pid, watch, &d);
    if (is_group) (void)kill(-pid, SIGKILL); /* processes that it has started and left behind */
    child = 0;
    restore_dispositions(&before);
    end->pid = pid;
    end->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    end->asked = asked;
    end->timed_out = d.asked;
    end->code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + end->signal;
    return TT_OK;
}

void tt_spawn_die_by(int signal)
{
    struct rlimit none = {0, 0};
    sigset_t only;
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)sigemptyset(&only);
    (void)sigaddset(&only, signal);
    (void)sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    (void)sigprocmask(SIG_UNBLOCK, &only, NULL);
    (void)raise(signal);
    _exit(128 + signal);
}
