/* Where on its disk a file lies, as the file system tells (FIEMAP). Runs in a traced program too.
 *
 * Extents that follow each other both in the file and on the disk are one fragment. */
#ifndef TT_HOST_DISK_H
#define TT_HOST_DISK_H

#include "host/system.h"

#include <stdbool.h>
#include <stdint.h>

#define TT_HOST_FRAGMENTS_MAX 8192u    /* that are listed */
#define TT_HOST_EXTENTS_MAX (1u << 20) /* that are looked at */
#define TT_HOST_EXTENTS_NS 100000000u  /* and for how long */
#define TT_HOST_LONG_BYTES (1u << 20)  /* reading on costs less than going there */

/* What keeps a place on the disk from being meant as it is written. */
enum {
    TT_HOST_EXTENT_UNKNOWN = 1,     /* not on the disk yet, or the file system does not say where */
    TT_HOST_EXTENT_ENCODED = 2,     /* compressed or encrypted: bytes of it are not bytes there */
    TT_HOST_EXTENT_NOT_ALIGNED = 4, /* among other data: inside of a block */
    TT_HOST_EXTENT_UNWRITTEN = 8,   /* reserved: reads as zeros, without the disk */
    TT_HOST_EXTENT_SHARED = 16      /* other files have the same bytes: right, for as long as nobody
                                       writes */
};
/* With one of these the place is not to be trusted. */
#define TT_HOST_EXTENT_UNTRUSTED                                                                   \
    (TT_HOST_EXTENT_UNKNOWN | TT_HOST_EXTENT_ENCODED | TT_HOST_EXTENT_NOT_ALIGNED)

typedef struct tt_host_fragment {
    uint64_t offset_bytes, disk_bytes, size_bytes; /* in the file; on the device; of it */
    uint8_t flags;
} tt_host_fragment;

typedef struct tt_host_extents {
    uint64_t walked_bytes; /* the file up to here is what all of the following is of */
    bool whole;            /* that is all of it: there was no limit in the way */
    uint64_t extents;      /* as the file system counts them */
    uint64_t fragments;
    uint64_t backward;      /* fragments that begin before the end of the one before */
    uint64_t mapped_bytes;  /* in extents; the rest are holes */
    uint64_t largest_bytes; /* of the largest fragment */
    uint64_t long_bytes;    /* in fragments of TT_HOST_LONG_BYTES and more */
    uint8_t flags;          /* of any */
    tt_host_fragment open;  /* private: the last one so far */
    uint32_t n;             /* of `list`: the first fragments */
    tt_host_fragment *list; /* TT_HOST_FRAGMENTS_MAX, the caller's */
} tt_host_extents;

/* Looks at the first size_bytes of the file fd; e->list is set. 0, or an errno: the file system
 * does not tell (EOPNOTSUPP, ENOTTY), ... */
int tt_host_extents_look(int fd, uint64_t size_bytes, tt_host_extents *e);

/* Private, for tests: takes one extent, in the order of the file. */
void tt_host_extents_add(tt_host_extents *e, const tt_host_fragment *extent);
/* Private, for tests: after the last one. */
void tt_host_extents_end(tt_host_extents *e, uint64_t size_bytes);

/* The file system and the disk that a file lies on, as far as the kernel tells. Runs in a traced
 * program too. */

/* Texts: "" where it is not known. */
typedef struct tt_host_disk {
    uint64_t device;      /* st_dev of files on it */
    char file_system[32]; /* "ext4" */
    char name[64];        /* of the block device that the file system is on: "nvme0n1p2", "dm-0" */
    char disk[64];        /* of the disk below that: "nvme0n1" */
    char disk_model[96];
    char scheduler[32];
    bool rotational_known, is_rotational;
    uint64_t read_ahead_bytes; /* how much around a missing page the kernel reads at most */
    char unknown[128];         /* what is not known, and why, for people */
} tt_host_disk;

/* path: of the file, absolute and without symbolic links; device: its st_dev. root: see
 * host/system.h. */
void tt_host_disk_look(const char *root, const char *path, uint64_t device, tt_host_disk *d);

/* Tells of each fact that is known its ENVIRONMENT key, device_MAJOR:MINOR_..., and its value. */
void tt_host_disk_report(const tt_host_disk *d,
                         void (*tell)(void *context, const char *key, const char *value),
                         void *context);
/* The other way: what `find` knows under the keys of d->device; the rest is unknown. */
void tt_host_disk_read(tt_host_disk *d, uint64_t device,
                       const char *(*find)(const void *context, const char *key),
                       const void *context);

#endif
