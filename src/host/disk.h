/* Where a file is on its disk, as the file system reports it (FIEMAP). Also runs in a traced
 * program.
 *
 * Extents that are adjacent both in the file and on the disk form one fragment. */
#ifndef TT_HOST_DISK_H
#define TT_HOST_DISK_H

#include "host/system.h"

#include <stdbool.h>
#include <stdint.h>

#define TT_HOST_FRAGMENTS_MAX 8192u    /* listed at most */
#define TT_HOST_EXTENTS_MAX (1u << 20) /* examined at most */
#define TT_HOST_EXTENTS_NS 100000000u  /* time limit */
#define TT_HOST_LONG_BYTES (1u << 20)  /* a fragment from this size on costs little to seek to */

/* Reasons why an offset on the disk cannot be taken literally. */
enum {
    TT_HOST_EXTENT_UNKNOWN = 1,     /* not on the disk yet, or the file system does not report
                                       where */
    TT_HOST_EXTENT_ENCODED = 2,     /* compressed or encrypted: sizes differ on the disk */
    TT_HOST_EXTENT_NOT_ALIGNED = 4, /* inside a block with other data */
    TT_HOST_EXTENT_UNWRITTEN = 8,   /* reserved: reads as zeros, without the disk */
    TT_HOST_EXTENT_SHARED = 16      /* shared with other files: valid until somebody writes */
};
/* With one of these, the offset is not reliable. */
#define TT_HOST_EXTENT_UNTRUSTED                                                                   \
    (TT_HOST_EXTENT_UNKNOWN | TT_HOST_EXTENT_ENCODED | TT_HOST_EXTENT_NOT_ALIGNED)

typedef struct tt_host_fragment {
    uint64_t offset_bytes, disk_bytes, size_bytes; /* in the file; on the device; of the fragment */
    uint8_t flags;
} tt_host_fragment;

typedef struct tt_host_extents {
    uint64_t walked_bytes; /* everything below is about the file up to here */
    bool whole;            /* that is the whole file: no limit was reached */
    uint64_t extents;      /* as counted by the file system */
    uint64_t fragments;
    uint64_t backward;      /* fragments that begin before the end of the previous one */
    uint64_t mapped_bytes;  /* in extents; the rest are holes */
    uint64_t largest_bytes; /* of the largest fragment */
    uint64_t long_bytes;    /* in fragments of TT_HOST_LONG_BYTES and more */
    uint8_t flags;          /* of any fragment */
    tt_host_fragment open;  /* private: the last fragment so far */
    uint32_t n;             /* of `list`: the first fragments */
    tt_host_fragment *list; /* TT_HOST_FRAGMENTS_MAX, the caller's */
} tt_host_extents;

/* Examines the first size_bytes of the file fd; e->list is set. 0, or an errno: the file system
 * does not report extents (EOPNOTSUPP, ENOTTY), ... */
int tt_host_extents_look(int fd, uint64_t size_bytes, tt_host_extents *e);

/* Private, for tests: adds an extent, in file order. */
void tt_host_extents_add(tt_host_extents *e, const tt_host_fragment *extent);
/* Private, for tests: call it after the last one. */
void tt_host_extents_end(tt_host_extents *e, uint64_t size_bytes);

/* The file system and the disk of a file, as far as the kernel reports them. Also runs in a traced
 * program. */

/* Texts: "" if not known. */
typedef struct tt_host_disk {
    uint64_t device;      /* st_dev of files on it */
    char file_system[32]; /* "ext4" */
    char name[64];        /* of the file system's block device: "nvme0n1p2", "dm-0" */
    char disk[64];        /* of the disk under that: "nvme0n1" */
    char disk_model[96];
    char scheduler[32];
    bool rotational_known, is_rotational;
    uint64_t read_ahead_bytes; /* the most that the kernel reads around a missing page */
    char unknown[128];         /* what is not known, and why, for people */
} tt_host_disk;

/* path: of the file, absolute and without symbolic links; device: its st_dev. root: see
 * host/system.h. */
void tt_host_disk_look(const char *root, const char *path, uint64_t device, tt_host_disk *d);

/* Reports each known fact: its ENVIRONMENT key, device_MAJOR:MINOR_..., and its value. */
void tt_host_disk_report(const tt_host_disk *d,
                         void (*report)(void *context, const char *key, const char *value),
                         void *context);
/* The inverse: sets what `find` returns for the keys of d->device; the rest is unknown. */
void tt_host_disk_read(tt_host_disk *d, uint64_t device,
                       const char *(*find)(const void *context, const char *key),
                       const void *context);

#endif
