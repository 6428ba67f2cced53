/* stop_at N PROGRAM ARGS...: runs a program of one thread and kills it (SIGKILL) as it enters its
 * Nth system call. Exits with 0 when it was killed there, 3 when it had ended before, 77 where
 * programs cannot be traced. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static int await(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return status;
}

int main(int argc, char **argv)
{
    if (argc < 3) return 64;
    long left = strtol(argv[1], NULL, 10);
    pid_t pid = fork();
    if (pid < 0) return 77;
    if (pid == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) _exit(77);
        (void)execv(argv[2], argv + 2);
        _exit(127);
    }
    /* It stops behind its execv; then at each entry to and each return from a system call. */
    int status = await(pid);
    if (!WIFSTOPPED(status)) return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    if (ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL) != 0)
        return 77;
    for (bool entry = true; left > 0; entry = !entry) {
        if (ptrace(PTRACE_SYSCALL, pid, NULL, NULL) != 0) return 1;
        status = await(pid);
        if (!WIFSTOPPED(status)) return 3;
        if (WSTOPSIG(status) != (SIGTRAP | 0x80)) return 1;
        left -= entry;
    }
    (void)kill(pid, SIGKILL);
    (void)await(pid);
    return 0;
}
