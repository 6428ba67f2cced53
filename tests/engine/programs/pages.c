#include "pages.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void fail(const char *what)
{
    (void)fprintf(stderr, "pages: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int open_file(const char *path, size_t *size)
{
    struct stat st;
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &st) != 0) fail(path);
    *size = (size_t)st.st_size;
    if (*size == 0) fail("an empty file");
    return fd;
}

unsigned char *pages_of(const char *path, size_t *n)
{
    size_t size, page = (size_t)sysconf(_SC_PAGESIZE);
    int fd = open_file(path, &size);
    *n = (size + page - 1) / page;
    unsigned char *pages = malloc(*n);
    void *at = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    if (!pages || at == MAP_FAILED) fail("mmap");
    if (mincore(at, size, pages) != 0) fail("mincore");
    (void)munmap(at, size);
    (void)close(fd);
    return pages;
}

size_t pages_count(const unsigned char *pages, size_t n)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        found += pages[i] & 1;
    return found;
}

void pages_print(const unsigned char *pages, size_t n)
{
    unsigned char now = 0;
    (void)printf("pages %zu %zu\nintervals", pages_count(pages, n), n);
    for (size_t i = 0; i < n;) {
        size_t from = i;
        while (i < n && (pages[i] & 1) == now)
            i++;
        (void)printf(" %zu", i - from);
        now ^= 1;
    }
    (void)putchar('\n');
}

void pages_drop(const char *path)
{
    size_t size;
    int fd = open_file(path, &size);
    /* Dirty pages stay until they are written. */
    if (fsync(fd) != 0) fail("fsync");
    errno = posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    if (errno) fail("posix_fadvise");
    (void)close(fd);
}

void pages_untouch(const char *path)
{
    char line[PATH_MAX + 128];
    struct stat wanted, st;
    FILE *maps = fopen("/proc/self/maps", "r");
    if (!maps || stat(path, &wanted) != 0) fail(path);
    while (fgets(line, sizeof line, maps)) {
        unsigned long from, to;
        char *name = strchr(line, '/');
        if (!name || sscanf(line, "%lx-%lx", &from, &to) != 2) continue;
        name[strcspn(name, "\n")] = '\0';
        if (stat(name, &st) != 0 || st.st_ino != wanted.st_ino || st.st_dev != wanted.st_dev)
            continue;
        if (madvise((void *)from, to - from, MADV_DONTNEED) != 0) fail("madvise");
    }
    (void)fclose(maps);
}
