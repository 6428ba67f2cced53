#include "analyze/model_file.h"

#include "base/checksum.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD_BYTES 65536u /* hashed in a MODEL record's head_hash: docs/format.md */

static const char *differs(const tt_model_file *f, int fd)
{
    struct stat st;
    uint8_t *head = malloc(HEAD_BYTES);
    const char *why = NULL;
    if (!head || fd < 0 || fstat(fd, &st) != 0) {
        why = strerror(errno);
    } else if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size != f->size_bytes) {
        why = "its size is not that of the file that was traced";
    } else {
        ssize_t n = pread(fd, head, HEAD_BYTES, 0);
        if (n < 0)
            why = strerror(errno);
        else if (tt_checksum(head, (size_t)n) != f->head_hash)
            why = "it is another file than was traced";
    }
    free(head);
    return why;
}

const char *tt_model_file_open(const tt_model_file *f, const char *path, int *fd)
{
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* it may be a pipe */
    const char *why = differs(f, *fd);
    if (why && *fd >= 0) {
        (void)close(*fd);
        *fd = -1;
    }
    return why;
}

bool tt_model_file_is_modified(const tt_model_file *f, int fd)
{
    struct stat st;
    return fstat(fd, &st) != 0 ||
           (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec != f->mtime_ns;
}
