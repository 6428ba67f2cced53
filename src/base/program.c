#include "base/program.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* ": " and the file's last nonempty line; nothing if there is none. */
static void last_line(int fd, char *out, size_t room)
{
    char text[2048];
    ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof text - 1, 0);
    out[0] = '\0';
    if (n <= 0) return;
    text[n] = '\0';
    for (char *save = NULL, *line = strtok_r(text, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save))
        if (strspn(line, " \t^") != strlen(line)) (void)snprintf(out, room, ": %s", line);
}

static int start(char *const argv[], const int files[3], pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    int why = posix_spawn_file_actions_init(&actions);
    if (why) return why;
    for (int i = 0; i < 3 && !why; i++)
        if (files[i] >= 0) why = posix_spawn_file_actions_adddup2(&actions, files[i], i);
    if (!why) why = posix_spawnp(pid, argv[0], &actions, NULL, argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    return why;
}

tt_status tt_program_run(char *const argv[], const int files[3], const char *if_missing,
                         tt_error *err)
{
    char last[200];
    pid_t pid;
    int status = 0, why = start(argv, files, &pid);
    if (why == ENOENT) return tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET, "%s", if_missing);
    while (!why && waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) why = errno;
    if (why)
        return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot run %s: %s", argv[0],
                            strerror(why));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return TT_OK;
    last_line(files[2], last, sizeof last);
    if (WIFSIGNALED(status))
        return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "%s ended by signal %d", argv[0],
                            WTERMSIG(status));
    return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "%s failed with exit code %d%s", argv[0],
                        WEXITSTATUS(status), last);
}
