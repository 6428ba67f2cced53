#include "base/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define HIGH_MIN 512
#define INTERRUPTED_MAX 100 /* attempts, in a program whose timers fire constantly */

int tt_descriptor_raise(int fd)
{
    int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, HIGH_MIN);
    if (high < 0) return fd;
    (void)close(fd);
    return high;
}

bool tt_descriptor_is(int fd, uint64_t device, uint64_t inode)
{
    struct stat st;
    return fd >= 0 && fstat(fd, &st) == 0 && (uint64_t)st.st_dev == device &&
           (uint64_t)st.st_ino == inode;
}

static int write_zeros(int fd, uint64_t offset, uint64_t bytes)
{
    static const char zeros[4096];
    while (bytes > 0) {
        size_t part = bytes < sizeof zeros ? (size_t)bytes : sizeof zeros;
        ssize_t n = pwrite(fd, zeros, part, (off_t)offset);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return n < 0 ? errno : ENOSPC;
        offset += (uint64_t)n;
        bytes -= (uint64_t)n;
    }
    return 0;
}

int tt_descriptor_reserve(int fd, uint64_t offset, uint64_t bytes)
{
    int why = EINTR;
    for (int i = 0; why == EINTR && i < INTERRUPTED_MAX; i++)
        why = posix_fallocate(fd, (off_t)offset, (off_t)bytes);
    bool refused = why == EPERM || why == EACCES || why == ENOSYS || why == EOPNOTSUPP;
    return refused ? write_zeros(fd, offset, bytes) : why;
}

bool tt_descriptor_lock(int fd)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_OFD_SETLK, &whole) == 0;
}
