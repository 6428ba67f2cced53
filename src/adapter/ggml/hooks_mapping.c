/* Hooks on mappings of files: records how a model was loaded (loading.h); a boosted process keeps
 * weights of its models in our memory (boost.h). They are called for all mappings of the program,
 * also by allocators and before any constructor: calls that do not concern a model return at once,
 * without looking up functions by name. */
#include "adapter/ggml/abi.h"
#include "adapter/ggml/boost.h"
#include "adapter/ggml/loading.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The system call takes the C function's arguments unchanged. */
#if defined(__x86_64__) || defined(__aarch64__)

/* The next definition of these functions, usually the C library's; NULL: not found yet. */
static void *(*next_map)(void *, size_t, int, int, int, off_t);
static int (*next_unmap)(void *, size_t);
static void *(*next_remap)(void *, size_t, size_t, int, ...);
static int (*next_protect)(void *, size_t, int);
static int (*next_advice)(void *, size_t, int);
static int (*next_posix_advice)(void *, size_t, int);
static int (*next_file_advice)(int, off_t, off_t, int);

__attribute__((constructor)) static void find_next(void)
{
    *(void **)&next_map = dlsym(RTLD_NEXT, "mmap");
    *(void **)&next_unmap = dlsym(RTLD_NEXT, "munmap");
    *(void **)&next_remap = dlsym(RTLD_NEXT, "mremap");
    *(void **)&next_protect = dlsym(RTLD_NEXT, "mprotect");
    *(void **)&next_advice = dlsym(RTLD_NEXT, "madvise");
    *(void **)&next_posix_advice = dlsym(RTLD_NEXT, "posix_madvise");
    *(void **)&next_file_advice = dlsym(RTLD_NEXT, "posix_fadvise");
}

static inline bool is_boosted(void)
{
    return __builtin_expect(atomic_load_explicit(&tt_boost_on, memory_order_relaxed), 0);
}

/* --- mapping --- */

static void *map(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    if (next_map) return next_map(at, size, protection, flags, fd, offset);
    /* The kernel's result is an address. */
    return (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset); // NOLINT
}

/* Also over weights of ours. */
static void *map_anywhere(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    const bool over = flags & MAP_FIXED && is_boosted() && tt_boost_leave_begin(at, size, NULL, 0);
    void *got = map(at, size, protection, flags, fd, offset);
    if (over) tt_boost_leave_end();
    return got;
}

static void *map_file(void *at, size_t size, int protection, int *flags, int fd, off_t offset)
{
    const enum tt_boost_file file =
        is_boosted() ? tt_boost_looks(fd, size, protection, *flags) : TT_BOOST_OTHER;
    if (file == TT_BOOST_LARGE) *flags &= ~MAP_POPULATE;
    void *got = map_anywhere(at, size, protection, *flags, fd, offset);
    if (file != TT_BOOST_OTHER && got != MAP_FAILED)
        tt_boost_mapped(got, size, fd, (uint64_t)offset);
    return got;
}

/* Records the flags that the kernel got. */
static void *map_recorded(void *at, size_t size, int protection, int flags, int fd, off_t offset,
                          const void *caller)
{
    tt_loading_call c;
    tt_loading_file(&c, TT_LOAD_MAP, fd, caller);
    void *got = map_file(at, size, protection, &flags, fd, offset);
    const int error = got == MAP_FAILED ? errno : 0;
    const uint8_t what = (uint8_t)((flags & MAP_POPULATE ? TT_MAP_POPULATE : 0) |
                                   ((flags & MAP_TYPE) != MAP_PRIVATE ? TT_MAP_SHARED : 0) |
                                   (flags & MAP_LOCKED ? TT_MAP_LOCKED : 0) |
                                   (flags & MAP_HUGETLB ? TT_MAP_HUGE : 0));
    tt_loading_mapped(&c, got, (uint64_t)offset, size, what, error);
    return got;
}

TT_EXPORT void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    if (fd < 0 || flags & MAP_ANONYMOUS)
        return map_anywhere(at, size, protection, flags, fd, offset);
    return map_recorded(at, size, protection, flags, fd, offset, TT_CALLER);
}

TT_EXPORT void *mmap64(void *at, size_t size, int protection, int flags, int fd, off_t offset)
    __attribute__((alias("mmap")));

/* --- changes of mappings --- */

TT_EXPORT int munmap(void *at, size_t size)
{
    const bool ours = is_boosted() && tt_boost_leave_begin(at, size, NULL, 0);
    const int result = next_unmap ? next_unmap(at, size) : (int)syscall(SYS_munmap, at, size);
    if (ours) tt_boost_leave_end();
    return result;
}

TT_EXPORT void *mremap(void *at, size_t old_size, size_t size, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    void *to = flags & MREMAP_FIXED ? va_arg(rest, void *) : NULL;
    va_end(rest);
    /* The moved mapping replaces what is there. */
    const bool ours = is_boosted() && tt_boost_leave_begin(at, old_size, to, to ? size : 0);
    void *got = next_remap ? next_remap(at, old_size, size, flags, to)
                           : (void *)syscall(SYS_mremap, at, old_size, size, flags, to); // NOLINT
    if (ours) tt_boost_leave_end();
    return got;
}

/* The program's access rights to a file's mapping do not apply to our memory. */
TT_EXPORT int mprotect(void *at, size_t size, int protection)
{
    const enum tt_boost_left left =
        is_boosted() ? tt_boost_leave_begin(at, size, NULL, 0) : TT_BOOST_NONE;
    int result = -1;
    if (left == TT_BOOST_KEPT)
        errno = ENOMEM;
    else if (next_protect)
        result = next_protect(at, size, protection);
    else
        result = (int)syscall(SYS_mprotect, at, size, protection);
    if (left != TT_BOOST_NONE) tt_boost_leave_end();
    return result;
}

/* --- advice --- */

/* The numbers of POSIX_FADV_* and MADV_* up to WILLNEED are the same. */
static uint8_t advice_of(int advice)
{
    switch (advice) {
    case MADV_NORMAL:
        return TT_ADVICE_NORMAL;
    case MADV_RANDOM:
        return TT_ADVICE_RANDOM;
    case MADV_SEQUENTIAL:
        return TT_ADVICE_SEQUENTIAL;
    case MADV_WILLNEED:
        return TT_ADVICE_WILL_NEED;
    case MADV_DONTNEED:
        return TT_ADVICE_DONT_NEED;
    default:
        return TT_ADVICE_OTHER;
    }
}

/* Advice that does not change what a read returns, even for memory that is not a file's. */
static bool is_harmless(int advice)
{
    static const int harmless[] = {MADV_NORMAL,   MADV_RANDOM,     MADV_SEQUENTIAL,   MADV_WILLNEED,
                                   MADV_HUGEPAGE, MADV_NOHUGEPAGE, MADV_DONTDUMP,     MADV_DODUMP,
                                   MADV_COLD,     MADV_PAGEOUT,    MADV_POPULATE_READ};
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
        if (harmless[i] == advice) return true;
    return false;
}

TT_EXPORT int posix_fadvise(int fd, off_t offset, off_t size, int advice)
{
    tt_loading_call c;
    if (!next_file_advice) return 0; /* advice may be ignored */
    tt_loading_file(&c, TT_LOAD_FILE_ADVICE, fd, TT_CALLER);
    const int error = next_file_advice(fd, offset, size, advice);
    tt_loading_done(&c, (uint64_t)offset, (uint64_t)size, advice_of(advice), error);
    return error;
}

TT_EXPORT int posix_fadvise64(int fd, off_t offset, off_t size, int advice)
    __attribute__((alias("posix_fadvise")));

static void advised(tt_loading_call *c, size_t size, int advice, int error)
{
    if (c->recorder) tt_loading_done(c, c->step.file_offset_bytes, size, advice_of(advice), error);
}

TT_EXPORT int posix_madvise(void *at, size_t size, int advice)
{
    tt_loading_call c;
    if (!next_posix_advice) return 0;
    /* Keeps a model that does not fit from being read ahead completely. */
    if (advice == POSIX_MADV_WILLNEED && is_boosted() && tt_boost_has(at, size)) return 0;
    tt_loading_memory(&c, at, TT_CALLER);
    const int error = next_posix_advice(at, size, advice);
    advised(&c, size, advice, error);
    return error;
}

/* A file's pages that a program drops are read again; ours would be zeros. */
TT_EXPORT int madvise(void *at, size_t size, int advice)
{
    tt_loading_call c;
    if (!next_advice) return (int)syscall(SYS_madvise, at, size, advice);
    const enum tt_boost_left left = is_boosted() && !is_harmless(advice)
                                        ? tt_boost_leave_begin(at, size, NULL, 0)
                                        : TT_BOOST_NONE;
    int result = -1;
    if (left == TT_BOOST_KEPT) {
        errno = EAGAIN;
    } else {
        tt_loading_memory(&c, at, TT_CALLER);
        result = next_advice(at, size, advice);
        advised(&c, size, advice, result ? errno : 0);
    }
    if (left != TT_BOOST_NONE) tt_boost_leave_end();
    return result;
}

#endif
