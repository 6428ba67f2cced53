/* File descriptors of our own in another program's process. */
#ifndef TT_BASE_DESCRIPTOR_H
#define TT_BASE_DESCRIPTOR_H

#include <stdbool.h>
#include <stdint.h>

/* Moves fd to a high number, because programs may expect low ones to be free. Returns the new
 * number, or fd itself if that failed or fd is negative. */
int tt_descriptor_raise(int fd);
/* Whether fd is open on this file (st_dev, st_ino): a program may close descriptors that it did not
 * open, and reuse their numbers. */
bool tt_descriptor_is(int fd, uint64_t device, uint64_t inode);
/* Reserves memory or disk space for these bytes of a new file. If the system refuses (as seccomp
 * rules of some containers do), writes zeros. Returns 0 or an errno. */
int tt_descriptor_reserve(int fd, uint64_t offset, uint64_t bytes);
/* Locks the whole file against others that call this, in this process too, until the last copy of
 * fd is closed. False with errno: EAGAIN or EACCES if it is locked; some file systems have no
 * locks. */
bool tt_descriptor_lock(int fd);

#endif
