/* Small files of the kernel: /proc, /sys and below them. Every path is looked up below a `root`:
 * "" for the system itself, a folder in tests. Nothing is allocated. */
#ifndef TT_HOST_TEXT_H
#define TT_HOST_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A number that was not observed, and a limit that is not set. */
#define TT_HOST_UNKNOWN UINT64_MAX
#define TT_HOST_UNLIMITED (UINT64_MAX - 1)

/* The first line of the file at dir/name, without blanks at its end. False, and "", when there is
 * no such file, nothing in it, or a path that is too long. */
bool tt_host_line(const char *dir, const char *name, char *out, size_t size);
/* A number in decimal digits; "max" and "unlimited" are TT_HOST_UNLIMITED. TT_HOST_UNKNOWN for
 * anything else. */
uint64_t tt_host_parse(const char *text);
/* tt_host_parse of the first line. */
uint64_t tt_host_number(const char *dir, const char *name);

/* Where a file system is mounted, as a line of /proc/self/mountinfo says it. */
typedef struct tt_host_mount {
    unsigned major, minor; /* of files on it; of some file systems stat says another one */
    char root[512];        /* the part of the file system that is mounted */
    char point[512];
    char type[32];
    char source[256]; /* "/dev/sda1", "server:/export" */
    char super[256];  /* its options */
} tt_host_mount;

/* Calls `each` for every mount until it returns false. False when the list cannot be read. */
bool tt_host_mounts(const char *root, bool (*each)(void *context, const tt_host_mount *mount),
                    void *context);

/* What is left of path below folder: "" for itself, "/a/b"; NULL: it is not below. */
const char *tt_host_below(const char *path, const char *folder);

#endif
