#include "base/run_delay.h"

#include "base/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* "time on the processor, time waiting for one, number of times it ran". */
bool tt_run_delay_read(int fd, uint64_t *ns)
{
    char text[80];
    const ssize_t n = pread(fd, text, sizeof text - 1, 0);
    if (n <= 0 || n == (ssize_t)sizeof text - 1) return false;
    text[n] = '\0';
    char *at = text, *end;
    uint64_t values[3];
    for (unsigned i = 0; i < 3; i++, at = end) {
        values[i] = strtoull(at, &end, 10);
        if (end == at) return false;
    }
    *ns = values[1];
    /* A thread that runs has begun to at least once, if that is counted. */
    return *end == '\n' && values[2] > 0;
}

int tt_run_delay_open(void)
{
    uint64_t ns;
    const int fd = tt_descriptor_raise(open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC));
    if (fd < 0 || tt_run_delay_read(fd, &ns)) return fd;
    (void)close(fd);
    errno = ENODATA;
    return -1;
}

void tt_run_delay_close(int fd)
{
    uint64_t ns;
    if (fd >= 0 && tt_run_delay_read(fd, &ns)) (void)close(fd);
}
