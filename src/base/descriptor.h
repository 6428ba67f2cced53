/* Descriptors of our own in a program that is not ours. */
#ifndef TT_BASE_DESCRIPTOR_H
#define TT_BASE_DESCRIPTOR_H

#include <stdbool.h>
#include <stdint.h>

/* Moves fd to a high number: low ones are the program's, which may expect them free. The new
 * number; fd itself when that failed, or when it is negative. */
int tt_descriptor_raise(int fd);
/* Whether fd is open on that file (st_dev, st_ino): the program may close descriptors that it did
 * not open, and open files of its own under their numbers. */
bool tt_descriptor_is(int fd, uint64_t device, uint64_t inode);
/* Sees to it that there is memory, or room on the disk, behind these bytes of a new file, which may
 * be written with zeros for that: where the system refuses to do it otherwise, as the seccomp rules
 * of some containers have it. 0 or an errno. */
int tt_descriptor_reserve(int fd, uint64_t offset, uint64_t bytes);
/* Locks the whole file against others that do the same, in this process too, until the last copy of
 * fd is closed. False with errno: EAGAIN or EACCES when somebody holds it; some file systems have
 * no locks. */
bool tt_descriptor_lock(int fd);

#endif
