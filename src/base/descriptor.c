#include "base/descriptor.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define HIGH_MIN 512

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

bool tt_descriptor_lock(int fd)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_OFD_SETLK, &whole) == 0;
}
