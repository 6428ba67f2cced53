#include "host/extents.h"

#include "base/clock.h"

#include <errno.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#define AT_ONCE 256u /* extents of one call */

/* The fragment under way is the last one counted; `list` may be full by then. */
static void close_fragment(tt_host_extents *e, uint64_t size)
{
    if (size > e->largest_bytes) e->largest_bytes = size;
    if (size >= TT_HOST_LONG_BYTES) e->long_bytes += size;
}

void tt_host_extents_add(tt_host_extents *e, const tt_host_fragment *x)
{
    tt_host_fragment *open = &e->open;
    const bool follows = e->fragments && open->flags == x->flags &&
                         !(x->flags & TT_HOST_EXTENT_UNTRUSTED) &&
                         open->offset_bytes + open->size_bytes == x->offset_bytes &&
                         open->disk_bytes + open->size_bytes == x->disk_bytes;
    e->extents++;
    e->mapped_bytes += x->size_bytes;
    e->flags |= x->flags;
    e->walked_bytes = x->offset_bytes + x->size_bytes;
    if (follows) {
        open->size_bytes += x->size_bytes;
    } else {
        if (e->fragments) {
            close_fragment(e, open->size_bytes);
            e->backward += x->disk_bytes < open->disk_bytes + open->size_bytes &&
                           !((x->flags | open->flags) & TT_HOST_EXTENT_UNTRUSTED);
        }
        *open = *x;
        e->fragments++;
        if (e->n < TT_HOST_FRAGMENTS_MAX) e->n++;
    }
    if (e->fragments == e->n) e->list[e->n - 1] = *open;
}

void tt_host_extents_end(tt_host_extents *e, uint64_t size_bytes)
{
    if (e->fragments) close_fragment(e, e->open.size_bytes);
    if (e->whole || e->walked_bytes > size_bytes) e->walked_bytes = size_bytes;
}

static uint8_t flags_of(uint32_t f)
{
    unsigned flags = 0;
    if (f & (FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DELALLOC)) flags |= TT_HOST_EXTENT_UNKNOWN;
    if (f & (FIEMAP_EXTENT_ENCODED | FIEMAP_EXTENT_DATA_ENCRYPTED)) flags |= TT_HOST_EXTENT_ENCODED;
    if (f & (FIEMAP_EXTENT_NOT_ALIGNED | FIEMAP_EXTENT_DATA_INLINE | FIEMAP_EXTENT_DATA_TAIL))
        flags |= TT_HOST_EXTENT_NOT_ALIGNED;
    if (f & FIEMAP_EXTENT_UNWRITTEN) flags |= TT_HOST_EXTENT_UNWRITTEN;
    if (f & FIEMAP_EXTENT_SHARED) flags |= TT_HOST_EXTENT_SHARED;
    return (uint8_t)flags;
}

/* One answer of the kernel; *offset goes on. Whether there is more. */
static bool take(tt_host_extents *e, const struct fiemap *map, uint64_t size, uint64_t *offset)
{
    if (map->fm_mapped_extents == 0) e->whole = true;
    for (uint32_t i = 0; i < map->fm_mapped_extents && i < AT_ONCE; i++) {
        const struct fiemap_extent *x = &map->fm_extents[i];
        /* One that does not go on would never end. */
        if (x->fe_length == 0 || x->fe_logical + x->fe_length <= *offset) return false;
        const uint64_t left = x->fe_logical < size ? size - x->fe_logical : 0;
        const tt_host_fragment one = {x->fe_logical, x->fe_physical,
                                      x->fe_length < left ? x->fe_length : left,
                                      flags_of(x->fe_flags)};
        *offset = x->fe_logical + x->fe_length;
        if (left) tt_host_extents_add(e, &one);
        if (x->fe_flags & FIEMAP_EXTENT_LAST || *offset >= size) e->whole = true;
    }
    return !e->whole;
}

int tt_host_extents_look(int fd, uint64_t size, tt_host_extents *e)
{
    const size_t bytes = sizeof(struct fiemap) + AT_ONCE * sizeof(struct fiemap_extent);
    const uint64_t until = tt_clock_ns(CLOCK_MONOTONIC) + TT_HOST_EXTENTS_NS;
    *e = (tt_host_extents){.list = e->list};
    struct fiemap *map = malloc(bytes);
    uint64_t offset = 0;
    int problem = map ? 0 : ENOMEM;
    bool more = map != NULL;
    while (more) {
        memset(map, 0, bytes);
        map->fm_start = offset;
        map->fm_length = size - offset;
        map->fm_extent_count = AT_ONCE;
        if (ioctl(fd, FS_IOC_FIEMAP, map) != 0) {
            problem = errno;
            break;
        }
        more = take(e, map, size, &offset) && e->extents < TT_HOST_EXTENTS_MAX &&
               tt_clock_ns(CLOCK_MONOTONIC) < until;
    }
    free(map);
    /* What was seen before a failure is right. */
    if (problem && e->extents) problem = 0;
    tt_host_extents_end(e, size);
    return problem;
}
