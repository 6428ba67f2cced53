#include "adapter/ggml/describe.h"

#include "adapter/ggml/capture.h"
#include "adapter/ggml/process.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define COMMAND_MAX_BYTES 65536u

static size_t read_small_file(const char *path, char *out, size_t size)
{
    size_t used = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    while (used < size - 1) {
        ssize_t n = read(fd, out + used, size - 1 - used);
        if (n <= 0) break;
        used += (size_t)n;
    }
    (void)close(fd);
    out[used] = '\0';
    return used;
}

static void describe_command(tt_recorder *r)
{
    char *text = malloc(COMMAND_MAX_BYTES);
    if (!text) return;
    size_t n = read_small_file("/proc/self/cmdline", text, COMMAND_MAX_BYTES);
    /* Without text, the program's name alone: its arguments may hold a prompt. */
    for (size_t i = 0; i + 1 < n && tt_capture_options.text; i++)
        if (text[i] == '\0') text[i] = ' ';
    if (n > 0) tt_process_environment(r, "command", text);
    free(text);
}

static void describe_cpu(tt_recorder *r)
{
    char text[4096];
    (void)read_small_file("/proc/cpuinfo", text, sizeof text);
    char *name = strstr(text, "model name");
    name = name ? strchr(name, ':') : NULL;
    if (!name) return;
    name += strspn(name, ": \t");
    name[strcspn(name, "\n")] = '\0';
    tt_process_environment(r, "cpu", name);
}

void tt_describe_run(tt_recorder *r)
{
    char text[PATH_MAX];
    struct utsname host;
    describe_command(r);
    if (getcwd(text, sizeof text)) tt_process_environment(r, "cwd", text);
    if (uname(&host) == 0) {
        tt_process_environment(r, "host", host.nodename);
        (void)snprintf(text, sizeof text, "%s %s %s", host.sysname, host.release, host.machine);
        tt_process_environment(r, "kernel", text);
    }
    describe_cpu(r);
    tt_process_environment(r, "tensortrace_version", TT_VERSION);
    (void)snprintf(text, sizeof text, "%ld", (long)getpid());
    tt_process_environment(r, "pid", text);
    (void)snprintf(text, sizeof text, "%ld", sysconf(_SC_NPROCESSORS_ONLN));
    tt_process_environment(r, "processors", text);
#if defined(__x86_64__)
    tt_process_environment(r, "ticks", "tsc");
#elif defined(__aarch64__)
    tt_process_environment(r, "ticks", "cntvct");
#else
    tt_process_environment(r, "ticks", "monotonic");
#endif
    (void)snprintf(text, sizeof text, "%llu",
                   (unsigned long long)tt_recorder_area(r)->area->tick_hz);
    tt_process_environment(r, "tick_hz", text);
    tt_process_environment(r, "area", tt_recorder_area(r)->path);
}
