#include "record/compact.h"

#include "base/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static tt_status copy_header(tt_copy *c, tt_error *err)
{
    uint8_t header[TT_FILE_HEADER_BYTES];
    if (pread(c->from->fd, header, sizeof header, 0) == (ssize_t)sizeof header &&
        pwrite(c->to.fd, header, sizeof header, 0) == (ssize_t)sizeof header)
        return TT_OK;
    return tt_error_set(err, TT_E_IO, 0, "copying the trace failed: %s", strerror(errno));
}

tt_status tt_copy_begin(tt_copy *c, const tt_sink *from, int fd, tt_error *err)
{
    memset(c, 0, sizeof *c);
    c->from = from;
    tt_sink_continue(&c->to, fd, from->seed, TT_FILE_HEADER_BYTES, NULL, 0);
    c->to.unpaged = true;
    tt_bytes_init(&c->chunk, TT_CHUNK_PAYLOAD_MAX + TT_CHUNK_HEADER_BYTES + 8);
    tt_status status = copy_header(c, err);
    return status == TT_OK ? tt_sink_entries(from, &c->list, &c->n, err) : status;
}

tt_status tt_copy_step(tt_copy *c, size_t budget_bytes, bool *done, tt_error *err)
{
    tt_status status = TT_OK;
    for (size_t copied = 0; c->next < c->n && copied < budget_bytes && status == TT_OK;) {
        const tt_index_entry *e = &c->list[c->next];
        tt_chunk_header h;
        status = tt_sink_read(c->from, e->offset, &c->chunk, &h, err);
        if (status == TT_OK)
            status = tt_sink_put_copy(&c->to, e, (tt_span){c->chunk.data, c->chunk.size}, err);
        copied += c->chunk.size;
        c->next++;
    }
    *done = c->next == c->n;
    return status;
}

void tt_copy_end(tt_copy *c)
{
    tt_sink_close(&c->to);
    free(c->list);
    tt_bytes_free(&c->chunk);
    memset(c, 0, sizeof *c);
    c->to.fd = -1;
}

static int create(const char *path)
{
    (void)unlink(path);
    int fd = tt_descriptor_raise(open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (fd >= 0) (void)tt_descriptor_lock(fd);
    return fd;
}

/* Continues in the copy: the sink takes over the copy's file and index. */
static void go_on_in(tt_sink *s, tt_copy *c)
{
    const tt_sink old = *s;
    s->fd = c->to.fd;
    s->device = c->to.device;
    s->inode = c->to.inode;
    s->offset = c->to.offset;
    s->index = c->to.index;
    s->n_index = c->to.n_index;
    s->capacity = c->to.capacity;
    s->unpaged = true;
    s->page = s->hole_end = s->punched = s->ring_bytes = 0;
    c->to.fd = old.fd;
    c->to.device = old.device;
    c->to.inode = old.inode;
    c->to.index = old.index;
}

tt_status tt_compact(tt_sink *s, const char *path, tt_error *err)
{
    char name[PATH_MAX];
    tt_copy copy;
    bool done = false;
    if (!s->hole_end) return TT_OK;
    int n = snprintf(name, sizeof name, "%s-compact", path);
    int fd = n > 0 && (size_t)n < sizeof name ? create(name) : -1;
    if (fd < 0)
        return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot create %s: %s", name,
                            strerror(errno));
    tt_status status = tt_copy_begin(&copy, s, fd, err);
    if (status == TT_OK) status = tt_copy_step(&copy, SIZE_MAX, &done, err);
    if (status == TT_OK && rename(name, path) != 0)
        status =
            tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot rename %s: %s", name, strerror(errno));
    if (status == TT_OK)
        go_on_in(s, &copy);
    else
        (void)unlink(name);
    tt_copy_end(&copy);
    return status;
}
