/* Hooks on what maps model files and advises the kernel on them. They are called for whatever the
 * program maps, by allocators and before any constructor too: what is no model's goes on at once,
 * and nothing is looked up by name then. */
#include "adapter/ggml/abi.h"
#include "adapter/ggml/loading.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Where the system call takes the C function's arguments as they are. */
#if defined(__x86_64__) || defined(__aarch64__)

/* Whoever else stands before these functions, or the C library; NULL: not found yet. */
static void *(*next_map)(void *, size_t, int, int, int, off_t);
static int (*next_file_advice)(int, off_t, off_t, int);
static int (*next_posix_advice)(void *, size_t, int);
static int (*next_advice)(void *, size_t, int);

__attribute__((constructor)) static void find_next(void)
{
    *(void **)&next_map = dlsym(RTLD_NEXT, "mmap");
    *(void **)&next_file_advice = dlsym(RTLD_NEXT, "posix_fadvise");
    *(void **)&next_posix_advice = dlsym(RTLD_NEXT, "posix_madvise");
    *(void **)&next_advice = dlsym(RTLD_NEXT, "madvise");
}

static void *map(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    if (next_map) return next_map(at, size, protection, flags, fd, offset);
    /* The kernel's result is an address. */
    return (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset); // NOLINT
}

static void *mapped_file(void *at, size_t size, int protection, int flags, int fd, off_t offset,
                         const void *caller)
{
    tt_loading_call c;
    tt_loading_file(&c, TT_LOAD_MAP, fd, caller);
    void *got = map(at, size, protection, flags, fd, offset);
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
    if (fd < 0 || flags & MAP_ANONYMOUS) return map(at, size, protection, flags, fd, offset);
    return mapped_file(at, size, protection, flags, fd, offset, TT_CALLER);
}

TT_EXPORT void *mmap64(void *at, size_t size, int protection, int flags, int fd, off_t offset)
    __attribute__((alias("mmap")));

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
    tt_loading_memory(&c, at, TT_CALLER);
    const int error = next_posix_advice(at, size, advice);
    advised(&c, size, advice, error);
    return error;
}

TT_EXPORT int madvise(void *at, size_t size, int advice)
{
    tt_loading_call c;
    if (!next_advice) return (int)syscall(SYS_madvise, at, size, advice);
    tt_loading_memory(&c, at, TT_CALLER);
    const int result = next_advice(at, size, advice);
    advised(&c, size, advice, result ? errno : 0);
    return result;
}

#endif
