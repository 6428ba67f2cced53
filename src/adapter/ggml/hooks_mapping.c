/* Hooks on mappings: where the program's models lie, and what it does to them. System calls without
 * a detour unless the process is boosted; mmap may be called before anything else is ready. */
#include "adapter/ggml/abi.h"
#include "adapter/ggml/boost.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *map(void *at, size_t n, int prot, int flags, int fd, off_t offset)
{
    return (void *)syscall(SYS_mmap, at, n, prot, flags, fd, offset);
}

static void *map_watched(void *at, size_t n, int prot, int flags, int fd, off_t offset)
{
    const int error = errno;
    const bool over = flags & MAP_FIXED && tt_boost_leave_begin(at, n, NULL, 0);
    const enum tt_boost_file file = tt_boost_looks(fd, n, prot, flags);
    const bool large = file == TT_BOOST_LARGE;
    errno = error;
    void *got = map(at, n, prot, large ? flags & ~MAP_POPULATE : flags, fd, offset);
    const int after = errno;
    if (over) tt_boost_leave_end();
    if (file != TT_BOOST_OTHER && got != MAP_FAILED) tt_boost_mapped(got, n, fd, (uint64_t)offset);
    errno = after;
    return got;
}

TT_EXPORT void *mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset)
{
    if (__builtin_expect(!atomic_load_explicit(&tt_boost_on, memory_order_relaxed), 1))
        return map(at, n, prot, flags, fd, offset);
    return map_watched(at, n, prot, flags, fd, offset);
}

TT_EXPORT void *mmap64(void *at, size_t n, int prot, int flags, int fd, off_t offset)
    __attribute__((alias("mmap")));

TT_EXPORT int munmap(void *at, size_t n)
{
    const bool ours = atomic_load_explicit(&tt_boost_on, memory_order_relaxed) &&
                      tt_boost_leave_begin(at, n, NULL, 0);
    const int result = (int)syscall(SYS_munmap, at, n);
    const int error = errno;
    if (ours) tt_boost_leave_end();
    errno = error;
    return result;
}

TT_EXPORT void *mremap(void *at, size_t old_size, size_t size, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    void *to = flags & MREMAP_FIXED ? va_arg(rest, void *) : NULL;
    va_end(rest);
    const bool on = atomic_load_explicit(&tt_boost_on, memory_order_relaxed);
    /* What is moved there replaces what is there. */
    const bool ours = on && tt_boost_leave_begin(at, old_size, to, to ? size : 0);
    void *got = (void *)syscall(SYS_mremap, at, old_size, size, flags, to);
    const int error = errno;
    if (ours) tt_boost_leave_end();
    errno = error;
    return got;
}

/* What does not change what a read sees, of memory that is no file's either. */
static bool is_harmless(int advice)
{
    static const int harmless[] = {MADV_NORMAL,   MADV_RANDOM,     MADV_SEQUENTIAL,   MADV_WILLNEED,
                                   MADV_HUGEPAGE, MADV_NOHUGEPAGE, MADV_DONTDUMP,     MADV_DODUMP,
                                   MADV_COLD,     MADV_PAGEOUT,    MADV_POPULATE_READ};
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
        if (harmless[i] == advice) return true;
    return false;
}

/* A file's pages that a program throws away come again; ours would be zeros. */
TT_EXPORT int madvise(void *at, size_t n, int advice)
{
    enum tt_boost_left left = TT_BOOST_NONE;
    if (atomic_load_explicit(&tt_boost_on, memory_order_relaxed) && !is_harmless(advice))
        left = tt_boost_leave_begin(at, n, NULL, 0);
    errno = left == TT_BOOST_KEPT ? EAGAIN : errno;
    const int result = left == TT_BOOST_KEPT ? -1 : (int)syscall(SYS_madvise, at, n, advice);
    const int error = errno;
    if (left != TT_BOOST_NONE) tt_boost_leave_end();
    errno = error;
    return result;
}

/* The program's rights to a file's mapping are not those to our memory. */
TT_EXPORT int mprotect(void *at, size_t n, int prot)
{
    enum tt_boost_left left = TT_BOOST_NONE;
    if (atomic_load_explicit(&tt_boost_on, memory_order_relaxed))
        left = tt_boost_leave_begin(at, n, NULL, 0);
    errno = left == TT_BOOST_KEPT ? ENOMEM : errno;
    const int result = left == TT_BOOST_KEPT ? -1 : (int)syscall(SYS_mprotect, at, n, prot);
    const int error = errno;
    if (left != TT_BOOST_NONE) tt_boost_leave_end();
    errno = error;
    return result;
}

/* All of a model that does not fit is not to be read ahead. */
TT_EXPORT int posix_madvise(void *at, size_t n, int advice)
{
    if (advice == POSIX_MADV_WILLNEED && atomic_load_explicit(&tt_boost_on, memory_order_relaxed) &&
        tt_boost_has(at, n))
        return 0;
    const int error = errno;
    const long result = advice == POSIX_MADV_DONTNEED ? 0 : syscall(SYS_madvise, at, n, advice);
    const int why = errno;
    errno = error;
    return result == 0 ? 0 : why;
}
