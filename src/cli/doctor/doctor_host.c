#include "cli/doctor/doctor.h"
#include "runner/runner.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define SHM_TRY_BYTES 4096

/* Is `word` one of the blank-separated words of `text`? */
static bool has_word(const char *text, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = text; (at = strstr(at, word)); at += n)
        if ((at == text || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\n' || at[n] == '\0'))
            return true;
    return false;
}

static void read_cpuinfo(tt_doctor_host *h)
{
    char line[8192];
    FILE *in = fopen("/proc/cpuinfo", "re");
    while (in && fgets(line, sizeof line, in)) {
        const char *value = strchr(line, ':');
        if (!value) continue;
        value += value[1] == ' ' ? 2 : 1;
        if (strncmp(line, "model name", 10) == 0)
            (void)snprintf(h->cpu, sizeof h->cpu, "%.*s", (int)strcspn(value, "\n"), value);
        if (strncmp(line, "flags", 5) != 0) continue;
        h->has_invariant_tsc = has_word(value, "constant_tsc") && has_word(value, "nonstop_tsc");
        h->is_virtual = has_word(value, "hypervisor");
        break;
    }
    if (in) (void)fclose(in);
#if defined(__aarch64__)
    h->has_invariant_tsc = true; /* the architecture's counter is */
#endif
}

/* Rings are mapped files: try one. 0 or an errno. */
static int try_file(const char *dir)
{
    char path[64];
    (void)snprintf(path, sizeof path, "%s/tensortrace-doctor-XXXXXX", dir);
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0) return errno;
    (void)unlink(path);
    void *map = MAP_FAILED;
    if (ftruncate(fd, SHM_TRY_BYTES) == 0)
        map = mmap(NULL, SHM_TRY_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    int why = map == MAP_FAILED ? errno : 0;
    if (!why) (void)munmap(map, SHM_TRY_BYTES);
    (void)close(fd);
    return why;
}

/* In shared memory, if that can be. */
static void try_shm(tt_doctor_host *h)
{
    struct statvfs fs;
    int why = try_file("/dev/shm");
    h->has_shm = why == 0;
    h->has_tmp = try_file("/tmp") == 0;
    if (why) (void)snprintf(h->shm_problem, sizeof h->shm_problem, "%s", strerror(why));
    if (statvfs("/dev/shm", &fs) == 0) h->shm_free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
}

void tt_doctor_host_look(tt_doctor_host *h)
{
    memset(h, 0, sizeof *h);
    (void)uname(&h->kernel);
    h->cpus = tt_runner_cpus();
    read_cpuinfo(h);
    try_shm(h);
}
