/* drop_cache FILE: puts the file's pages out of the page cache, as far as the kernel lets us.
 * drop_cache --show FILE: leaves them. Prints "pages BEFORE AFTER TOTAL" (or "pages NOW TOTAL")
 * and with --show "stretches N ...": pages absent, present, absent, ... as mincore says.
 *
 * mincore tells others' pages only to who could write the file. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void fail(const char *what)
{
    (void)fprintf(stderr, "drop_cache: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* One byte a page, malloc'ed. The mapping is gone again: mapped pages are not dropped. */
static unsigned char *resident(int fd, size_t size, size_t n_pages)
{
    unsigned char *pages = malloc(n_pages);
    void *at = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    if (!pages || at == MAP_FAILED) fail("mmap");
    if (mincore(at, size, pages) != 0) fail("mincore");
    (void)munmap(at, size);
    return pages;
}

static size_t count(unsigned char *pages, size_t n)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        found += pages[i] & 1;
    return found;
}

static void show(unsigned char *pages, size_t n)
{
    unsigned char now = 0;
    (void)printf("pages %zu %zu\nstretches", count(pages, n), n);
    for (size_t i = 0; i < n;) {
        size_t from = i;
        while (i < n && (pages[i] & 1) == now)
            i++;
        (void)printf(" %zu", i - from);
        now ^= 1;
    }
    (void)putchar('\n');
}

int main(int argc, char **argv)
{
    int only_show = argc == 3 && strcmp(argv[1], "--show") == 0;
    struct stat st;
    if (argc != 2 && !only_show) return 64;
    int fd = open(argv[argc - 1], O_RDONLY);
    if (fd < 0 || fstat(fd, &st) != 0) fail(argv[argc - 1]);
    if (st.st_size == 0) return 64;
    size_t size = (size_t)st.st_size, page = (size_t)sysconf(_SC_PAGESIZE);
    size_t n = (size + page - 1) / page;
    unsigned char *before = resident(fd, size, n);
    if (only_show) {
        show(before, n);
        return 0;
    }
    /* Dirty pages stay until they are written. */
    if (fsync(fd) != 0) fail("fsync");
    errno = posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    if (errno) fail("posix_fadvise");
    (void)printf("pages %zu %zu %zu\n", count(before, n), count(resident(fd, size, n), n), n);
    return 0;
}
