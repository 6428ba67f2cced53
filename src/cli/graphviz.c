#include "cli/graphviz.h"

#include <errno.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static tt_status failed(tt_error *err, int why)
{
    if (why == ENOENT)
        return tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET,
                            "there is no `dot` on the PATH to draw it: install Graphviz "
                            "(Debian's package graphviz), or take --dot");
    return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot run dot: %s", strerror(why));
}

tt_status tt_graphviz_svg(int in, int out, tt_error *err)
{
    char program[] = "dot", format[] = "-Tsvg";
    char *argv[] = {program, format, NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status = 0;
    if (lseek(in, 0, SEEK_SET) != 0) return failed(err, errno);
    int why = posix_spawn_file_actions_init(&actions);
    if (why) return failed(err, why);
    why = posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    if (!why) why = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    if (!why) why = posix_spawnp(&pid, program, &actions, NULL, argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    if (why) return failed(err, why);
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) return failed(err, errno);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return TT_OK;
    if (WIFSIGNALED(status))
        return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "dot ended by signal %d", WTERMSIG(status));
    return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "dot failed with exit code %d",
                        WEXITSTATUS(status));
}
