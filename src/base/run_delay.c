#include "base/run_delay.h"

#include "base/descriptor.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

int tt_run_delay_open(void)
{
    return tt_descriptor_raise(open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC));
}

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
