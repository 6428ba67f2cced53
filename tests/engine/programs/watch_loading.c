/* A preloaded library that watches how WATCH_FILE is mapped, by itself: which pages of it are in
 * RAM before and after each call, appended to WATCH_LOG as lines "map FLAGS BYTES BEFORE AFTER",
 * "file_advice ADVICE" and "map_advice ADVICE". */
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static int is_watched(int fd)
{
    const char *path = getenv("WATCH_FILE");
    struct stat a, b;
    return path && fd >= 0 && stat(path, &a) == 0 && fstat(fd, &b) == 0 && a.st_ino == b.st_ino &&
           a.st_dev == b.st_dev;
}

static void note(const char *line)
{
    const char *path = getenv("WATCH_LOG");
    const int fd = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (fd < 0 || write(fd, line, strlen(line)) != (ssize_t)strlen(line)) abort();
    (void)close(fd);
}

static size_t present(int fd)
{
    struct stat st;
    size_t count = 0;
    if (fstat(fd, &st) != 0) abort();
    const size_t n = ((size_t)st.st_size + 4095) / 4096;
    unsigned char *pages = malloc(n);
    void *at = (void *)syscall(SYS_mmap, NULL, st.st_size, PROT_NONE, MAP_SHARED, fd, 0);
    if (!pages || at == MAP_FAILED || mincore(at, (size_t)st.st_size, pages) != 0) abort();
    for (size_t i = 0; i < n; i++)
        count += pages[i] & 1;
    (void)munmap(at, (size_t)st.st_size);
    free(pages);
    return count;
}

EXPORT void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    char line[128];
    if (flags & MAP_ANONYMOUS || !is_watched(fd) || protection == PROT_NONE)
        return (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset);
    const size_t before = present(fd);
    void *got = (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset);
    (void)snprintf(line, sizeof line, "map %d %zu %zu %zu\n", flags, size, before, present(fd));
    note(line);
    return got;
}

EXPORT void *mmap64(void *at, size_t size, int protection, int flags, int fd, off_t offset)
    __attribute__((alias("mmap")));

EXPORT int posix_fadvise(int fd, off_t offset, off_t size, int advice)
{
    char line[64];
    const int watched = is_watched(fd);
    const int error = syscall(SYS_fadvise64, fd, offset, size, advice) ? 22 : 0;
    (void)snprintf(line, sizeof line, "file_advice %d\n", advice);
    if (watched && !error) note(line);
    return error;
}

EXPORT int posix_fadvise64(int fd, off_t offset, off_t size, int advice)
    __attribute__((alias("posix_fadvise")));

/* Of memory that maps the file, as /proc says. */
static int is_of_file(const void *at)
{
    const char *path = getenv("WATCH_FILE");
    char line[PATH_MAX + 128], real[PATH_MAX];
    int found = 0;
    FILE *maps = path && realpath(path, real) ? fopen("/proc/self/maps", "re") : NULL;
    while (maps && fgets(line, sizeof line, maps)) {
        unsigned long from, to;
        line[strcspn(line, "\n")] = '\0';
        if (sscanf(line, "%lx-%lx", &from, &to) == 2 && (unsigned long)at >= from &&
            (unsigned long)at < to && strstr(line, real))
            found = 1;
    }
    if (maps) (void)fclose(maps);
    return found;
}

EXPORT int posix_madvise(void *at, size_t size, int advice)
{
    char line[64];
    if (advice == POSIX_MADV_DONTNEED) return 0;
    const int error = syscall(SYS_madvise, at, size, advice) ? 22 : 0;
    (void)snprintf(line, sizeof line, "map_advice %d\n", advice);
    if (!error && is_of_file(at)) note(line);
    return error;
}
