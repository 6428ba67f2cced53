#include "experiment/restorer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A change, as sent through the pipe. */
typedef struct change {
    char path[TT_RESTORER_PATH]; /* "": the last one */
    char text[TT_RESTORER_TEXT]; /* what to write; "": a group to remove */
} change;
_Static_assert(sizeof(change) <= PIPE_BUF, "goes in one piece");

/* --- in the separate process: nothing is allocated there --- */

#define PAUSE_NS 10000000L
#define PATIENCE 100   /* pauses until the remaining processes of a group are killed ... */
#define LAST_TRY 1000  /* ... and until it is given up */
#define FIRST_CLOSED 5 /* descriptor behind those of standard files, the pipe, and what is kept */
#define DESCRIPTORS 1024

static void kill_members(const char *group)
{
    char path[TT_RESTORER_PATH + 16], list[4096];
    (void)snprintf(path, sizeof path, "%s/cgroup.procs", group);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd >= 0 ? read(fd, list, sizeof list - 1) : -1;
    if (fd >= 0) (void)close(fd);
    if (n <= 0) return;
    list[n] = '\0';
    for (char *at = list, *end; *at; at = *end ? end + 1 : end) {
        const long pid = strtol(at, &end, 10);
        if (end == at) return;
        if (pid > 1) (void)kill((pid_t)pid, SIGKILL);
    }
}

/* Its last process may not be gone completely. */
static void remove_group(const char *path)
{
    const struct timespec pause = {0, PAUSE_NS};
    for (int i = 0; rmdir(path) != 0 && errno == EBUSY && i < LAST_TRY; i++) {
        if (i >= PATIENCE) kill_members(path);
        (void)nanosleep(&pause, NULL);
    }
}

static void undo(const change *c)
{
    if (!c->text[0]) {
        remove_group(c->path);
        return;
    }
    const int fd = open(c->path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return;
    (void)!write(fd, c->text, strlen(c->text));
    (void)close(fd);
}

/* Detaches from everything that may end the parent, or whose end others wait for. */
static void detach(int pipe_end, int keep)
{
    const int kept = keep >= 0 ? fcntl(keep, F_DUPFD_CLOEXEC, FIRST_CLOSED) : -1;
    (void)setsid();
    (void)!chdir("/");
    (void)prctl(PR_SET_NAME, "tt-restorer");
    const int nothing = open("/dev/null", O_RDWR);
    for (int fd = 0; nothing >= 0 && fd <= 2; fd++)
        (void)dup2(nothing, fd);
    (void)dup2(pipe_end, 3);
    if (kept >= 0)
        (void)dup2(kept, 4);
    else
        (void)close(4);
    if (syscall(SYS_close_range, (unsigned)FIRST_CLOSED, ~0u, 0u) != 0)
        for (int fd = FIRST_CLOSED; fd < DESCRIPTORS; fd++)
            (void)close(fd);
    const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0) return;
    (void)!write(fd, "-1000", 5); /* with privileges: to outlive the others */
    (void)close(fd);
}

static void __attribute__((noreturn)) serve(int pipe_end, int keep)
{
    static change changes[TT_RESTORER_CHANGES_MAX];
    size_t n = 0;
    detach(pipe_end, keep);
    while (n < TT_RESTORER_CHANGES_MAX) {
        const ssize_t got = read(3, &changes[n], sizeof *changes);
        if (got < 0 && errno == EINTR) continue;
        if (got != (ssize_t)sizeof *changes || !changes[n].path[0]) break;
        n++;
    }
    /* Settings first: a group may take a while. */
    for (size_t i = n; i-- > 0;)
        if (changes[i].text[0]) undo(&changes[i]);
    for (size_t i = n; i-- > 0;)
        if (!changes[i].text[0]) undo(&changes[i]);
    _exit(0);
}

/* --- in this process --- */

tt_status tt_restorer_begin(tt_restorer *r, int keep, tt_error *err)
{
    int ends[2];
    *r = (tt_restorer){-1, 0};
    if (pipe2(ends, O_CLOEXEC) != 0)
        return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot make a pipe: %s", strerror(errno));
    /* All signals stay blocked there, from the start. */
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &before);
    r->pid = fork();
    if (r->pid == 0) {
        (void)close(ends[1]);
        serve(ends[0], keep);
    }
    const int why = errno;
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    (void)close(ends[0]);
    if (r->pid > 0) {
        r->pipe = ends[1];
        return TT_OK;
    }
    (void)close(ends[1]);
    r->pid = 0;
    return tt_error_set(err, TT_E_IO, TT_NO_OFFSET,
                        "cannot start the process that puts the system's settings back: %s",
                        strerror(why));
}

static bool send_line(const tt_restorer *r, const char *path, const char *text)
{
    change c;
    memset(&c, 0, sizeof c);
    if (r->pid <= 0) return errno = EBADF, false;
    if (strlen(path) >= sizeof c.path || strlen(text) >= sizeof c.text)
        return errno = ENAMETOOLONG, false;
    (void)snprintf(c.path, sizeof c.path, "%s", path);
    (void)snprintf(c.text, sizeof c.text, "%s", text);
    ssize_t n;
    do
        n = write(r->pipe, &c, sizeof c);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof c;
}

bool tt_restorer_file(const tt_restorer *r, const char *path, const char *text)
{
    return text[0] && path[0] ? send_line(r, path, text) : (errno = EINVAL, false);
}

bool tt_restorer_group(const tt_restorer *r, const char *path)
{
    return send_line(r, path, "");
}

void tt_restorer_end(tt_restorer *r)
{
    if (r->pid <= 0) return;
    (void)send_line(r, "",
                    ""); /* besides closing: another process of ours may hold the pipe, too */
    (void)close(r->pipe);
    while (waitpid(r->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    *r = (tt_restorer){-1, 0};
}
