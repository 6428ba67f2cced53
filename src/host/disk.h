/* The file system and the disk that a file lies on, as far as the kernel tells. Runs in a traced
 * program too. */
#ifndef TT_HOST_DISK_H
#define TT_HOST_DISK_H

#include "host/text.h"

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

/* path: of the file, absolute and without symbolic links; device: its st_dev. root: see text.h. */
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
