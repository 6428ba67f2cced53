#include "host/disk.h"

#include "base/clock.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define AT_ONCE 256u /* extents per call */

/* The open fragment is the last one counted; `list` may be full by then. */
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

/* Processes one result of the kernel and advances *offset. Whether there is more. */
static bool take(tt_host_extents *e, const struct fiemap *map, uint64_t size, uint64_t *offset)
{
    if (map->fm_mapped_extents == 0) e->whole = true;
    for (uint32_t i = 0; i < map->fm_mapped_extents && i < AT_ONCE; i++) {
        const struct fiemap_extent *x = &map->fm_extents[i];
        /* An extent that makes no progress would loop forever. */
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
    /* What was seen before a failure is valid. */
    if (problem && e->extents) problem = 0;
    tt_host_extents_end(e, size);
    return problem;
}

#define LEVELS_MAX 8 /* of stacked devices */

/* --- the file system --- */

typedef struct search {
    const char *path;
    uint64_t device;
    size_t length; /* of the mount point found */
    bool by_device;
    tt_host_mount found;
} search;

/* The innermost mount that contains the path; one with the file's own device takes precedence (on
 * btrfs none has it). Of two on the same point the later one hides the other. */
static bool see_mount(void *context, const tt_host_mount *m)
{
    search *s = context;
    const bool by_device = makedev(m->major, m->minor) == (dev_t)s->device;
    const size_t length = strlen(m->point);
    if (!tt_host_below(s->path, m->point) || by_device < s->by_device) return true;
    if (by_device == s->by_device && length < s->length) return true;
    s->found = *m;
    s->length = length;
    s->by_device = by_device;
    return true;
}

/* --- the device --- */

static bool exists(const char *dir, const char *name)
{
    char path[PATH_MAX];
    const int n = snprintf(path, sizeof path, "%s/%s", dir, name);
    return n > 0 && (size_t)n < sizeof path && access(path, F_OK) == 0;
}

/* Cuts off the last part of a path. */
static void up(char *path)
{
    char *last = strrchr(path, '/');
    if (last) *last = '\0';
}

/* A device's folder in `sys`; false: the kernel has no such device. */
static bool device_folder(const char *root, uint64_t device, char real[PATH_MAX])
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/sys/dev/block/%u:%u", root, major((dev_t)device),
                   minor((dev_t)device));
    return realpath(path, real) != NULL;
}

/* Goes from a device to the underlying one. 1: done; 0: there is none; 2 and more: their number. */
static unsigned go_below(char dir[PATH_MAX])
{
    char path[PATH_MAX], below[PATH_MAX] = "";
    unsigned n = 0;
    if ((size_t)snprintf(path, sizeof path, "%s/slaves", dir) >= sizeof path) return 0;
    DIR *list = opendir(path);
    for (const struct dirent *e; list && (e = readdir(list));) {
        if (e->d_name[0] == '.') continue;
        if ((size_t)snprintf(below, sizeof below, "%s/%s", path, e->d_name) < sizeof below) n++;
    }
    if (list) (void)closedir(list);
    if (n == 1 && !realpath(below, dir)) return 0;
    return n;
}

/* The kernel's readahead for the file system: of a whole device, or of a virtual one. */
static uint64_t read_ahead(const char *root, const char *device)
{
    char dir[PATH_MAX];
    (void)snprintf(dir, sizeof dir, "%s/sys/class/bdi/%s", root, device);
    const uint64_t kib = tt_host_number(dir, "read_ahead_kb");
    return kib < UINT64_MAX >> 11 ? kib * 1024 : TT_HOST_UNKNOWN;
}

/* Names of devices are short: a longer one is invalid. */
static void copy_base_name(char out[64], const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    const size_t n = strlen(name) + 1;
    out[0] = '\0';
    if (n <= 64) memcpy(out, name, n);
}

/* "mq-deadline [none] bfq": the one in brackets, or a single word. */
static void read_scheduler(const char *dir, char *out, size_t size)
{
    char line[256];
    if (!tt_host_line(dir, "queue/scheduler", line, sizeof line)) return;
    const char *begin = strchr(line, '[');
    begin = begin ? begin + 1 : line;
    (void)snprintf(out, size, "%.*s", (int)strcspn(begin, "] "), begin);
}

/* dir: the folder of the file system's device. */
static void look_at_device(const char *root, char dir[PATH_MAX], tt_host_disk *d)
{
    char number[32];
    unsigned below = 1;
    copy_base_name(d->name, dir);
    if (exists(dir, "partition")) up(dir);
    /* A partition has the readahead of its disk, a logical volume its own. */
    if (d->read_ahead_bytes == TT_HOST_UNKNOWN && tt_host_line(dir, "dev", number, sizeof number))
        d->read_ahead_bytes = read_ahead(root, number);
    for (int level = 0; below == 1 && level < LEVELS_MAX; level++) {
        below = go_below(dir);
        if (exists(dir, "partition")) up(dir);
    }
    if (below > 1) {
        (void)snprintf(d->unknown, sizeof d->unknown, "which disk: %s is made of %u devices",
                       d->name, below);
        return;
    }
    copy_base_name(d->disk, dir);
    read_scheduler(dir, d->scheduler, sizeof d->scheduler);
    const uint64_t rotational = tt_host_number(dir, "queue/rotational");
    d->rotational_known = rotational <= 1;
    d->is_rotational = rotational == 1;
    if (!tt_host_line(dir, "device/model", d->disk_model, sizeof d->disk_model) &&
        !tt_host_line(dir, "loop/backing_file", d->disk_model, sizeof d->disk_model))
        (void)snprintf(d->unknown, sizeof d->unknown, "the disk's model: %s does not say it",
                       d->disk);
}

static void explain_none(tt_host_disk *d)
{
    static const struct {
        const char *type, *why;
    } known[] = {
        {"tmpfs", "tmpfs is memory: there is no disk"},
        {"ramfs", "ramfs is memory: there is no disk"},
        {"overlay", "which disk: an overlay does not say which of its layers holds a file"},
        {"btrfs", "which disk: btrfs may be on several, and the one it names cannot be seen"},
        {"zfs", "which disk: zfs does not say it"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(d->file_system, known[i].type) == 0) {
            (void)snprintf(d->unknown, sizeof d->unknown, "%s", known[i].why);
            return;
        }
    (void)snprintf(d->unknown, sizeof d->unknown,
                   "which disk: the kernel names no block device for it%s%s",
                   d->file_system[0] ? " with " : "", d->file_system);
}

void tt_host_disk_look(const char *root, const char *path, uint64_t device, tt_host_disk *d)
{
    search s = {.path = path, .device = device};
    char dir[PATH_MAX], number[32], source[PATH_MAX];
    struct stat st;
    memset(d, 0, sizeof *d);
    d->device = device;
    if (tt_host_mounts(root, see_mount, &s))
        (void)snprintf(d->file_system, sizeof d->file_system, "%s", s.found.type);
    (void)snprintf(number, sizeof number, "%u:%u", major((dev_t)device), minor((dev_t)device));
    d->read_ahead_bytes = read_ahead(root, number);
    bool found = device_folder(root, device, dir);
    /* Some file systems have numbers of their own, and name their device. */
    if (!found && s.found.source[0] == '/') {
        (void)snprintf(source, sizeof source, "%s%s", root, s.found.source);
        found = stat(source, &st) == 0 && S_ISBLK(st.st_mode) &&
                device_folder(root, (uint64_t)st.st_rdev, dir);
    }
    if (found)
        look_at_device(root, dir, d);
    else
        explain_none(d);
}

/* --- as ENVIRONMENT --- */

static const struct text_member {
    const char *key;
    size_t offset, size;
} texts[] = {
#define TEXT(member)                                                                               \
    {                                                                                              \
#member, offsetof(tt_host_disk, member), sizeof((tt_host_disk *)0)->member                 \
    }
    TEXT(file_system), TEXT(name), TEXT(disk), TEXT(disk_model), TEXT(scheduler), TEXT(unknown),
#undef TEXT
};
#define N_TEXTS (sizeof texts / sizeof *texts)

static void make_key(char *out, size_t size, uint64_t device, const char *what)
{
    (void)snprintf(out, size, "device_%u:%u_%s", major((dev_t)device), minor((dev_t)device), what);
}

void tt_host_disk_report(const tt_host_disk *d,
                         void (*report)(void *context, const char *key, const char *value),
                         void *context)
{
    char key[64], number[32];
    for (size_t i = 0; i < N_TEXTS; i++) {
        const char *text = (const char *)d + texts[i].offset;
        make_key(key, sizeof key, d->device, texts[i].key);
        if (*text) report(context, key, text);
    }
    make_key(key, sizeof key, d->device, "is_rotational");
    if (d->rotational_known) report(context, key, d->is_rotational ? "1" : "0");
    make_key(key, sizeof key, d->device, "read_ahead_bytes");
    (void)snprintf(number, sizeof number, "%" PRIu64, d->read_ahead_bytes);
    if (d->read_ahead_bytes != TT_HOST_UNKNOWN) report(context, key, number);
}

void tt_host_disk_read(tt_host_disk *d, uint64_t device,
                       const char *(*find)(const void *context, const char *key),
                       const void *context)
{
    char key[64];
    memset(d, 0, sizeof *d);
    d->device = device;
    for (size_t i = 0; i < N_TEXTS; i++) {
        make_key(key, sizeof key, device, texts[i].key);
        const char *text = find(context, key);
        if (text) (void)snprintf((char *)d + texts[i].offset, texts[i].size, "%s", text);
    }
    make_key(key, sizeof key, device, "is_rotational");
    const char *rotational = find(context, key);
    d->rotational_known = rotational && tt_host_parse(rotational) <= 1;
    d->is_rotational = d->rotational_known && *rotational == '1';
    make_key(key, sizeof key, device, "read_ahead_bytes");
    const char *bytes = find(context, key);
    d->read_ahead_bytes = bytes ? tt_host_parse(bytes) : TT_HOST_UNKNOWN;
    if (d->read_ahead_bytes == TT_HOST_UNLIMITED) d->read_ahead_bytes = TT_HOST_UNKNOWN;
}
