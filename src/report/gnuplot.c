#include "report/gnuplot.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* No plot of ours comes near: a million points would. */
#define SVG_BYTES_MAX ((off_t)64 << 20)

extern char **environ;

enum { IN, OUT, ERR, FILES };

static tt_status failed(tt_error *err, int why)
{
    if (why == ENOENT)
        return tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET,
                            "there is no `gnuplot` on the PATH to draw the plots: install Debian's "
                            "package gnuplot-nox");
    return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot run gnuplot: %s", strerror(why));
}

/* The last line that gnuplot said. */
static void complaint(int fd, char *out, size_t room)
{
    char text[2048];
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    out[0] = '\0';
    if (n <= 0) return;
    text[n] = '\0';
    for (char *save = NULL, *line = strtok_r(text, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save))
        if (strspn(line, " \t^") != strlen(line)) (void)snprintf(out, room, "%s", line);
}

static tt_status run(const int files[FILES], tt_error *err)
{
    char program[] = "gnuplot", defaults[] = "-d", input[] = "-", said[256];
    char *argv[] = {program, defaults, input, NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status = 0;
    int why = posix_spawn_file_actions_init(&actions);
    if (why) return failed(err, why);
    for (int i = 0; i < FILES && !why; i++)
        why = posix_spawn_file_actions_adddup2(&actions, files[i], i);
    if (!why) why = posix_spawnp(&pid, program, &actions, NULL, argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    if (why) return failed(err, why);
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) return failed(err, errno);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return TT_OK;
    complaint(files[ERR], said, sizeof said);
    if (WIFSIGNALED(status))
        return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "gnuplot ended by signal %d",
                            WTERMSIG(status));
    return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "gnuplot failed with exit code %d: %s",
                        WEXITSTATUS(status), said);
}

static bool write_script(const tt_plot *p, int fd)
{
    int copy = dup(fd);
    FILE *out = copy < 0 ? NULL : fdopen(copy, "w");
    if (!out && copy >= 0) (void)close(copy);
    if (!out) return false;
    tt_plot_write(p, out);
    bool ok = !ferror(out);
    return fclose(out) == 0 && ok && lseek(fd, 0, SEEK_SET) == 0;
}

static tt_status read_all(int fd, char **svg, size_t *size, tt_error *err)
{
    off_t end = lseek(fd, 0, SEEK_END), at = 0;
    if (end <= 0 || end > SVG_BYTES_MAX)
        return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "gnuplot drew nothing");
    *svg = malloc((size_t)end + 1);
    if (!*svg) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory for a plot");
    while (at < end) {
        ssize_t n = pread(fd, *svg + at, (size_t)(end - at), at);
        if (n <= 0) break;
        at += n;
    }
    (*svg)[at] = '\0';
    *size = (size_t)at;
    return TT_OK;
}

tt_status tt_gnuplot_svg(const tt_plot *p, char **svg, size_t *size, tt_error *err)
{
    int files[FILES];
    tt_status status = TT_OK;
    *svg = NULL;
    for (int i = 0; i < FILES; i++)
        files[i] = memfd_create("tensortrace-plot", MFD_CLOEXEC);
    for (int i = 0; i < FILES; i++)
        if (files[i] < 0) status = failed(err, errno);
    if (status == TT_OK && !write_script(p, files[IN])) status = failed(err, errno);
    if (status == TT_OK) status = run(files, err);
    if (status == TT_OK) status = read_all(files[OUT], svg, size, err);
    for (int i = 0; i < FILES; i++)
        if (files[i] >= 0) (void)close(files[i]);
    return status;
}
