#include "read/source.h"

#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIPE_STEP 65536u

static tt_status system_error(tt_error *err, const char *what)
{
    return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "%s: %s", what, strerror(errno));
}

static tt_status read_all(tt_source *s, tt_error *err)
{
    tt_bytes all;
    ssize_t got;
    tt_bytes_init(&all, TT_SOURCE_PIPE_MAX);
    do {
        if (!tt_bytes_reserve(&all, PIPE_STEP)) {
            tt_bytes_free(&all);
            return tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET,
                                "more than %u bytes from a pipe; save it to a file and read that",
                                TT_SOURCE_PIPE_MAX);
        }
        do
            got = read(s->fd, all.data + all.size, PIPE_STEP);
        while (got < 0 && errno == EINTR);
        if (got > 0) all.size += (size_t)got;
    } while (got > 0);
    if (got < 0) {
        tt_bytes_free(&all);
        return system_error(err, "cannot be read");
    }
    s->owned = all.data;
    s->data = all.data;
    s->size = all.size;
    return TT_OK;
}

/* In place of an experiment's folder its trace; of a folder of experiments that of the last one
 * requested. *fd stays when there is neither. */
static void enter_folder(int *fd, struct stat *st)
{
    static const char *const names[] = {TT_RUN_TRACE, "current/" TT_RUN_TRACE};
    for (size_t i = 0; i < sizeof names / sizeof *names && S_ISDIR(st->st_mode); i++) {
        const int inside = openat(*fd, names[i], O_RDONLY | O_CLOEXEC);
        if (inside < 0) continue;
        if (fstat(inside, st) != 0) st->st_mode = S_IFDIR;
        (void)close(*fd);
        *fd = inside;
    }
}

tt_status tt_source_open(tt_source *s, const char *path, tt_error *err)
{
    struct stat st;
    tt_status status = TT_OK;
    memset(s, 0, sizeof *s);
    s->fd = open(path, O_RDONLY | O_CLOEXEC);
    const bool is_open = s->fd >= 0 && fstat(s->fd, &st) == 0;
    if (is_open) enter_folder(&s->fd, &st);
    if (!is_open)
        status = system_error(err, "cannot be opened");
    else if (S_ISDIR(st.st_mode))
        status = tt_error_set(err, TT_E_IO, TT_NO_OFFSET,
                              "is a folder, and not one of an experiment; name a .ttrace file");
    else if (S_ISREG(st.st_mode))
        s->size = (uint64_t)st.st_size;
    else
        status = read_all(s, err);
    if (s->fd >= 0 && (status != TT_OK || s->data)) {
        (void)close(s->fd);
        s->fd = -1;
    }
    return status;
}

void tt_source_of_memory(tt_source *s, const void *data, size_t size)
{
    memset(s, 0, sizeof *s);
    s->fd = -1;
    s->data = data;
    s->size = size;
}

void tt_source_close(tt_source *s)
{
    if (s->fd >= 0) (void)close(s->fd);
    free(s->owned);
    memset(s, 0, sizeof *s);
    s->fd = -1;
}

static tt_status read_at(const tt_source *s, uint64_t offset, uint8_t *to, size_t n, tt_error *err)
{
    for (size_t have = 0; have < n;) {
        ssize_t got = pread(s->fd, to + have, n - have, (off_t)(offset + have));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0)
            return tt_error_set(err, TT_E_IO, offset + have, "cannot be read: %s", strerror(errno));
        if (got == 0)
            return tt_error_set(err, TT_E_TRUNCATED, offset + have, "the file became shorter");
        have += (size_t)got;
    }
    return TT_OK;
}

tt_status tt_source_read(const tt_source *s, uint64_t offset, size_t n, tt_bytes *scratch,
                         const uint8_t **out, tt_error *err)
{
    *out = NULL;
    if (offset > s->size || n > s->size - offset)
        return tt_error_set(err, TT_E_TRUNCATED, offset,
                            "%zu bytes are needed here, the file ends at byte %" PRIu64, n,
                            s->size);
    if (s->fd < 0) {
        *out = s->data + offset;
        return TT_OK;
    }
    tt_bytes_clear(scratch);
    if (!tt_bytes_reserve(scratch, n ? n : 1))
        return tt_error_set(err, TT_E_MEMORY, offset, "no memory for %zu bytes", n);
    tt_status status = read_at(s, offset, scratch->data, n, err);
    if (status == TT_OK) {
        scratch->size = n;
        *out = scratch->data;
    }
    return status;
}
