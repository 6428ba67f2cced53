#include "report/gnuplot.h"

#include "base/program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* No plot of ours comes near: a million points would. */
#define SVG_BYTES_MAX ((off_t)64 << 20)

enum { IN, OUT, ERR, FILES };

static tt_status no_file(tt_error *err)
{
    return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot write a plot for gnuplot: %s",
                        strerror(errno));
}

static tt_status run(const int files[FILES], tt_error *err)
{
    char program[] = "gnuplot", defaults[] = "-d", input[] = "-";
    return tt_program_run((char *[]){program, defaults, input, NULL}, files,
                          "there is no `gnuplot` on the PATH to draw the plots: install Debian's "
                          "package gnuplot-nox",
                          err);
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
    if (!*svg) return tt_error_memory(err, "a plot");
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
        if (files[i] < 0) status = no_file(err);
    if (status == TT_OK && !write_script(p, files[IN])) status = no_file(err);
    if (status == TT_OK) status = run(files, err);
    if (status == TT_OK) status = read_all(files[OUT], svg, size, err);
    for (int i = 0; i < FILES; i++)
        if (files[i] >= 0) (void)close(files[i]);
    return status;
}
